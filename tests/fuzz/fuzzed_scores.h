/* What the targets that read transcripts share: whatever is accepted can be scored. */
#ifndef TEST_FUZZED_SCORES_H
#define TEST_FUZZED_SCORES_H

#include "decode/transcripts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NULL: refused. */
static inline trl_transcripts *fuzzed_transcripts(const void *data, size_t size, trl_transcripts_format format)
{
    trl__text text;
    trl_transcripts *transcripts = NULL;
    trl_error err;
    if (trl__text_from_memory("fuzz", data, size, &text, &err) < 0 ||
        trl__transcripts_parse("fuzz", &text, format, &transcripts, &err) < 0)
        return NULL;
    return transcripts;
}

/* Takes both over, NULL or not. Returns 1 with their counts, or 0: they can't be scored. */
static inline int fuzzed_score(trl_transcripts *said, trl_transcripts *heard, trl_counts *counts)
{
    trl_score_options options = {.optional_words = 1};
    trl_score *score = NULL;
    trl_error err;
    int scored = said && heard && trl_score_create(said, heard, &options, NULL, &score, &err) == 0;
    if (scored)
        *counts = trl_score_total(score);
    trl_score_destroy(score);
    trl_transcripts_destroy(said);
    trl_transcripts_destroy(heard);
    return scored;
}

/* Against itself, nothing is wrong. */
static inline void score_itself(const uint8_t *data, size_t size, trl_transcripts_format format)
{
    trl_counts c;
    if (fuzzed_score(fuzzed_transcripts(data, size, format), fuzzed_transcripts(data, size, format), &c) &&
        trl_errors(c) > 0)
        abort();
}

#endif
