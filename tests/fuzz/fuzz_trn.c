/* Any bytes as a trn file. What is accepted can be scored: against itself, nothing is wrong. */
#include "decode/transcripts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static trl_transcripts *parse(const void *data, size_t size, trl_transcripts_format format)
{
    trl__text text;
    trl_transcripts *transcripts = NULL;
    trl_error err;
    if (trl__text_from_memory("fuzz", data, size, &text, &err) < 0 ||
        trl__transcripts_parse("fuzz", &text, format, &transcripts, &err) < 0)
        return NULL;
    return transcripts;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl_transcripts *said = parse(data, size, TRL_TRANSCRIPTS_TRN), *heard = parse(data, size, TRL_TRANSCRIPTS_TRN);
    trl_score_options options = {.optional_words = 1};
    trl_score *score = NULL;
    trl_error err;
    if (said && heard && trl_score_create(said, heard, &options, NULL, &score, &err) == 0) {
        trl_counts c = trl_score_total(score);
        if (trl_errors(c) > 0)
            abort();
    }
    trl_score_destroy(score);
    trl_transcripts_destroy(said);
    trl_transcripts_destroy(heard);
    return 0;
}
