/* Counts become levels: n-grams sorted by the bytes of their words, whatever order they came in. Level by level, n-grams
 * are sorted by history (counting sort) and then by word; after that nothing needs the hash tables any more. The suffix
 * of an n-gram is found among the n-grams that continue the suffix of its history, by bisection.
 * O(n-grams (order + log vocabulary)).
 */
#include "base/fail.h"
#include "base/memory.h"
#include "lm/lm_data.h"

#include <stdlib.h>
#include <string.h>

/* An n-gram of the counts, and its last word by new number. */
typedef struct entry {
    int32_t word, ngram;
} entry;

static int compare_entries(const void *a, const void *b)
{
    int32_t x = ((const entry *)a)->word, y = ((const entry *)b)->word;
    return (x > y) - (x < y);
}

static int compare_words(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int allocate_level(trl__lm_level *level, size_t histories, size_t count, trl_error *err)
{
    size_t room = count + 1; /* never nothing */
    *level = (trl__lm_level){.count = count,
                             .first = trl__alloc_zero(histories + 1, sizeof *level->first),
                             .word = trl__alloc(room, sizeof *level->word),
                             .suffix = trl__alloc_zero(room, sizeof *level->suffix),
                             .seen = trl__alloc_zero(room, sizeof *level->seen),
                             .events = trl__alloc_zero(room, sizeof *level->events),
                             .probability = trl__alloc_zero(room, sizeof *level->probability),
                             .backoff = trl__alloc_zero(room, sizeof *level->backoff),
                             .dropped = trl__alloc_zero(room, sizeof *level->dropped)};
    return level->first && level->word && level->suffix && level->seen && level->events && level->probability &&
                   level->backoff && level->dropped
               ? 0
               : trl__fail_memory(err);
}

/* Level 1: every word, also those that were never there; <unk> only in open models. number[w] becomes the new number of
 * word w of the counts. */
static int sort_words(trl__lm_counts *counts, trl_lm *lm, int32_t *number, trl_error *err)
{
    lm->texts = counts->words;
    counts->words = (trl__strings){.count = 0};
    size_t count = 0, all = lm->texts.count;
    lm->words = trl__alloc(all, sizeof *lm->words);
    if (!lm->words)
        return trl__fail_memory(err);
    for (size_t i = 0; i < all; i++)
        if (i != TRL__LM_UNKNOWN_ID || !counts->closed)
            lm->words[count++] = lm->texts.texts[i];
    qsort(lm->words, count, sizeof *lm->words, compare_words);
    int code = allocate_level(&lm->levels[1], 1, count, err);
    if (code < 0)
        return code;
    trl__lm_level *level = &lm->levels[1];
    level->first[1] = (uint32_t)count;
    lm->unknown = -1;
    for (size_t i = 0; i < count; i++) {
        long old = trl__strings_find(&lm->texts, lm->words[i], strlen(lm->words[i]));
        number[old] = level->word[i] = (int32_t)i;
        level->seen[i] = (size_t)old < counts->capacity[1] ? counts->seen[1][old] : 0;
        if (old == TRL__LM_UNKNOWN_ID)
            lm->unknown = (int32_t)i;
    }
    level->begin[0] = (uint32_t)number[TRL__LM_BEGIN_ID];
    level->begin[1] = level->begin[0] + 1;
    return 0;
}

/* Groups the n-grams by new history, in `sorted`; then each group by word. */
static void sort_by_history(const trl__tuples *ngrams, const int32_t *history, const int32_t *number, size_t histories,
                            uint32_t *first, entry *sorted)
{
    for (size_t i = 0; i < ngrams->count; i++)
        first[history[trl__tuples_get(ngrams, (int64_t)i)[0]] + 1]++;
    for (size_t h = 0; h < histories; h++)
        first[h + 1] += first[h];
    for (size_t i = 0; i < ngrams->count; i++) { /* first[h] runs to the end of h's n-grams … */
        const int32_t *key = trl__tuples_get(ngrams, (int64_t)i);
        sorted[first[history[key[0]]]++] = (entry){number[key[1]], (int32_t)i};
    }
    memmove(first + 1, first, histories * sizeof *first); /* … which is where the next one's begin */
    first[0] = 0;
    for (size_t h = 0; h < histories; h++)
        if (first[h + 1] - first[h] > 1)
            qsort(sorted + first[h], first[h + 1] - first[h], sizeof *sorted, compare_entries);
}

/* Level k from the counts of order k, which are freed. *place: the place in level k - 1 of an n-gram of the counts; it
 * becomes that of level k. */
static int sort_level(trl__lm_counts *counts, trl_lm *lm, int k, const int32_t *number, int32_t **place, trl_error *err)
{
    trl__tuples *ngrams = &counts->ngrams[k];
    trl__lm_level *level = &lm->levels[k], *below = &lm->levels[k - 1];
    entry *sorted = trl__alloc(ngrams->count + 1, sizeof *sorted);
    int32_t *next = trl__alloc(ngrams->count + 1, sizeof *next);
    int code = sorted && next ? allocate_level(level, below->count, ngrams->count, err) : trl__fail_memory(err);
    if (code == 0) {
        sort_by_history(ngrams, *place, number, below->count, level->first, sorted);
        for (size_t i = 0; i < level->count; i++) {
            level->word[i] = sorted[i].word;
            level->seen[i] = counts->seen[k][sorted[i].ngram];
            next[sorted[i].ngram] = (int32_t)i;
        }
        level->begin[0] = level->first[below->begin[0]];
        level->begin[1] = level->first[below->begin[1]];
        trl__free(*place);
        *place = next;
        next = NULL;
    }
    trl__free(next);
    trl__free(sorted);
    trl__tuples_free(ngrams);
    trl__free(counts->seen[k]);
    counts->seen[k] = NULL;
    return code;
}

/* The n-gram that continues this history with this word; it is there. */
static uint32_t find_ngram(const trl__lm_level *level, uint32_t history, int32_t word)
{
    uint32_t low = level->first[history], high = level->first[history + 1];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (level->word[middle] <= word)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void find_suffixes(trl_lm *lm, int k)
{
    trl__lm_level *level = &lm->levels[k];
    const trl__lm_level *below = &lm->levels[k - 1];
    for (uint32_t h = 0; h < below->count; h++)
        for (uint32_t i = level->first[h]; i < level->first[h + 1]; i++)
            level->suffix[i] = find_ngram(below, below->suffix[h], level->word[i]);
}

int trl__lm_levels(trl__lm_counts *counts, trl_lm *lm, trl_error *err)
{
    lm->order = counts->order;
    lm->text = counts->text;
    size_t words = counts->words.count;
    int32_t *number = trl__alloc_zero(words, sizeof *number), *place = trl__alloc(words, sizeof *place);
    int code = number && place ? allocate_level(&lm->levels[0], 0, 1, err) : trl__fail_memory(err);
    if (code == 0)
        code = sort_words(counts, lm, number, err);
    if (code == 0)
        memcpy(place, number, words * sizeof *place);
    for (int k = 2; code == 0 && k <= lm->order; k++) {
        code = sort_level(counts, lm, k, number, &place, err);
        if (code == 0)
            find_suffixes(lm, k);
    }
    trl__free(number);
    trl__free(place);
    trl__lm_counts_free(counts);
    return code;
}
