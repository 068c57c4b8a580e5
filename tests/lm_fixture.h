/* Language models from text in memory, and what they say by the rule of ARPA files: the longest n-gram that is there, times
 * the back-off weights of the histories that were too long.
 *
 *     trl_lm *lm = model_of("a b\nb a\n", &options);
 *     double p = model_probability(lm, (int32_t[]){a, b}, 2, word);      // of the word after a b
 */
#ifndef TEST_LM_FIXTURE_H
#define TEST_LM_FIXTURE_H

#include "cmocka_test.h"
#include "lm/lm_data.h"

#include <string.h>

#define UNUSED_OK __attribute__((unused))

UNUSED_OK static int try_model(const char *text, const trl_lm_options *options, trl_lm **lm, trl_error *err)
{
    trl__lm_counts counts;
    trl__lm_input input = {.source = {.fd = -1}};
    *lm = NULL;
    int code = trl__lm_counts_begin(&counts, options, err);
    int opened = code == 0 ? trl__source_from_memory("text", text, strlen(text), &input.source, err) : -1;
    code = code == 0 && opened < 0 ? opened : code;
    if (code == 0)
        code = trl__lm_counts_add(&counts, &input, err);
    if (code == 0)
        code = trl__lm_make(&counts, options, lm, err);
    if (opened == 0)
        trl__source_close(&input.source);
    trl__lm_counts_free(&counts);
    return code;
}

UNUSED_OK static trl_lm *model_of(const char *text, const trl_lm_options *options)
{
    trl_lm *lm;
    trl_error err;
    if (try_model(text, options, &lm, &err) < 0)
        fail_msg("%s", err.text);
    return lm;
}

/* The number of a word, or -1. */
UNUSED_OK static int32_t word_number(const trl_lm *lm, const char *text)
{
    for (size_t i = 0; i < lm->levels[1].count; i++)
        if (strcmp(lm->words[i], text) == 0)
            return (int32_t)i;
    return -1;
}

/* The place of an n-gram that is kept, or -1. */
UNUSED_OK static int64_t model_ngram(const trl_lm *lm, const int32_t *words, int k)
{
    int64_t at = 0;
    for (int n = 1; n <= k && at >= 0; n++) {
        const trl__lm_level *level = &lm->levels[n];
        uint32_t i = level->first[at], end = level->first[at + 1];
        while (i < end && level->word[i] != words[n - 1])
            i++;
        at = i < end ? (int64_t)i : -1;
    }
    return at >= 0 && lm->levels[k].dropped[at] ? -1 : at;
}

UNUSED_OK static double model_probability(const trl_lm *lm, const int32_t *history, int length, int32_t word)
{
    int32_t words[TRL_LM_MOST_ORDER + 1];
    double backoff = 1;
    if (length >= lm->order) {
        history += length - (lm->order - 1);
        length = lm->order - 1;
    }
    for (;; history++, length--) {
        memcpy(words, history, (size_t)length * sizeof *words);
        words[length] = word;
        int64_t at = model_ngram(lm, words, length + 1);
        if (at >= 0)
            return backoff * lm->levels[length + 1].probability[at];
        assert_true(length > 0);
        at = model_ngram(lm, history, length);
        backoff *= at >= 0 ? lm->levels[length].backoff[at] : 1;
    }
}

#endif
