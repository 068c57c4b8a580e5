/* Counting n-grams. An n-gram of order k is the pair of its first k - 1 words, an n-gram of order k - 1 that was met one
 * word before, and its last word; so each word of the text costs one look-up in a table of pairs for every order. Memory
 * grows with the number of different n-grams (about 20 bytes each), not with the text.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "lm/lm_data.h"

#include <string.h>

#define NONE (-1)

/* ---- The vocabulary ---- */

static int is_no_word(const char *text)
{
    return strcmp(text, TRL__LM_BEGIN) == 0 || strcmp(text, TRL__LM_END) == 0 || strcmp(text, "<eps>") == 0;
}

static int read_vocabulary(trl__lm_counts *counts, const char *path, trl_error *err)
{
    trl__source source;
    char *line;
    size_t length;
    int code = trl__source_open_packed(path, &source, err);
    if (code < 0)
        return code;
    while ((code = trl__source_line(&source, &line, &length, err)) > 0) {
        const char *word = trl__next_field(&line);
        if (word && !is_no_word(word) && trl__strings_add(&counts->words, word, trl__word_length(word)) < 0) {
            code = trl__fail_memory(err);
            break;
        }
    }
    trl__source_close(&source);
    counts->fixed = counts->words.count;
    if (code == 0 && counts->fixed == TRL__LM_UNKNOWN_ID + 1)
        code = trl__fail(err, TRL_EFORMAT, "%s: no words; a vocabulary has one on each line", path);
    return code;
}

int trl__lm_counts_begin(trl__lm_counts *counts, const trl_lm_options *options, trl_error *err)
{
    static const char *const special[] = {TRL__LM_BEGIN, TRL__LM_END, TRL__LM_UNKNOWN};
    *counts = (trl__lm_counts){.order = options->order ? options->order : 3, .closed = options->closed};
    for (int k = 0; k <= counts->order; k++)
        counts->ngrams[k].width = 2;
    for (size_t i = 0; i < 3; i++)
        if (trl__strings_add(&counts->words, special[i], strlen(special[i])) < 0)
            return trl__fail_memory(err);
    return options->vocabulary ? read_vocabulary(counts, options->vocabulary, err) : 0;
}

/* The word's number; NONE: it counts for nothing. Or an error. */
static int number_of(trl__lm_counts *counts, const char *text, int32_t *word, trl_error *err)
{
    size_t length = strlen(text);
    long number = counts->fixed ? trl__strings_find(&counts->words, text, length)
                                : trl__strings_add(&counts->words, text, length);
    if (number < 0 && !counts->fixed)
        return trl__fail_memory(err);
    if (number > INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "more than %d different words", INT32_MAX);
    int unknown = number < 0 || number == TRL__LM_UNKNOWN_ID;
    counts->text.words++;
    counts->text.unknown += (uint64_t)unknown;
    *word = !unknown ? (int32_t)number : counts->closed ? NONE : TRL__LM_UNKNOWN_ID;
    return 0;
}

/* ---- N-grams ---- */

/* Room for the counts of n-grams up to this one; new ones are 0. */
static int make_room(trl__lm_counts *counts, int k, size_t ngram, trl_error *err)
{
    size_t before = counts->capacity[k];
    if (ngram < before)
        return 0;
    if (TRL_GROW(counts->seen[k], counts->capacity[k], ngram + 1) < 0)
        return trl__fail_memory(err);
    memset(counts->seen[k] + before, 0, (counts->capacity[k] - before) * sizeof *counts->seen[k]);
    return 0;
}

/* Counts the n-grams that end with this word. past[k] is the one of k words that ended before it, or NONE; it becomes
 * the one that ends here. */
static int count_word(trl__lm_counts *counts, int32_t *past, int32_t word, trl_error *err)
{
    int32_t history = past[1];
    int code = make_room(counts, 1, (size_t)word, err);
    if (code < 0)
        return code;
    counts->seen[1][word]++;
    past[1] = word;
    for (int k = 2; k <= counts->order; k++) {
        int32_t key[4] = {history, word}; /* the table takes as many as its width says */
        history = past[k];
        if (key[0] == NONE) {
            past[k] = NONE;
            continue;
        }
        int64_t ngram = trl__tuples_add(&counts->ngrams[k], key);
        if (ngram < 0)
            return counts->ngrams[k].count == INT32_MAX
                       ? trl__fail(err, TRL_ELIMIT, "more than %d n-grams of %d words", INT32_MAX, k)
                       : trl__fail_memory(err);
        code = make_room(counts, k, (size_t)ngram, err);
        if (code < 0)
            return code;
        counts->seen[k][ngram]++;
        past[k] = (int32_t)ngram;
    }
    return 0;
}

static void forget(int32_t *past)
{
    for (int k = 0; k <= TRL_LM_MOST_ORDER; k++)
        past[k] = NONE;
}

static int count_sentence(trl__lm_counts *counts, const trl__lm_input *input, char *words, trl_error *err)
{
    int32_t past[TRL_LM_MOST_ORDER + 1], number = NONE;
    const char *word;
    int found, code = 0;
    forget(past);
    past[1] = TRL__LM_BEGIN_ID;
    while (code == 0 && (found = trl__lm_word(input, &words, &word, err)) != 0) {
        code = found < 0 ? found : number_of(counts, word, &number, err);
        if (code == 0 && number == NONE)
            forget(past);
        else if (code == 0)
            code = count_word(counts, past, number, err);
    }
    counts->text.sentences++;
    if (code == 0 && counts->text.words + counts->text.sentences > UINT32_MAX)
        code = trl__fail(err, TRL_ELIMIT, "more than %u words; leave some text out", UINT32_MAX);
    return code < 0 ? code : count_word(counts, past, TRL__LM_END_ID, err);
}

int trl__lm_counts_add(trl__lm_counts *counts, trl__lm_input *input, trl_error *err)
{
    char *words;
    int code = 0, found;
    while (code == 0 && (found = trl__lm_sentence(input, &words, err)) != 0)
        code = found < 0 ? found : count_sentence(counts, input, words, err);
    return code;
}

void trl__lm_counts_free(trl__lm_counts *counts)
{
    for (int k = 0; k <= TRL_LM_MOST_ORDER; k++) {
        trl__tuples_free(&counts->ngrams[k]);
        trl__free(counts->seen[k]);
    }
    trl__strings_free(&counts->words);
    *counts = (trl__lm_counts){.order = counts->order};
}
