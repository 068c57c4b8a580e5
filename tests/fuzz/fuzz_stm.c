/* Any bytes as an stm file. What is accepted can be scored with a ctm file. */
#include "decode/transcripts.h"

#include <stdlib.h>
#include <string.h>

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
    static const char words[] = "f A 0 1 a\nf A 1 1 b\nf B 3 2 c\nf A 2 1 c\n";
    trl_transcripts *said = parse(data, size, TRL_TRANSCRIPTS_STM);
    trl_transcripts *heard = parse(words, strlen(words), TRL_TRANSCRIPTS_CTM);
    trl_score_options options = {.optional_words = 1};
    trl_score *score = NULL;
    trl_error err;
    if (said && heard && trl_score_create(said, heard, &options, NULL, &score, &err) == 0) {
        trl_counts c = trl_score_total(score);
        if (c.words != c.correct + c.substitutions + c.deletions || c.wrong > c.utterances)
            abort();
    }
    trl_score_destroy(score);
    trl_transcripts_destroy(said);
    trl_transcripts_destroy(heard);
    return 0;
}
