/* Any bytes as a ctm file. What is accepted can be scored, against an stm file that has some of its names. */
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
    static const char segments[] = "f A s1 0 1 a { b / @ }\nf A s2 1 2 c\nf B s1 0 9 a\n";
    trl_transcripts *said = parse(segments, strlen(segments), TRL_TRANSCRIPTS_STM);
    trl_transcripts *heard = parse(data, size, TRL_TRANSCRIPTS_CTM);
    trl_score_options options = {.optional_words = 1};
    trl_score *score = NULL;
    trl_error err;
    if (said && heard && trl_score_create(said, heard, &options, NULL, &score, &err) == 0) {
        trl_counts c = trl_score_total(score);
        if (c.words != c.correct + c.substitutions + c.deletions || c.utterances != 3)
            abort();
    }
    trl_score_destroy(score);
    trl_transcripts_destroy(said);
    trl_transcripts_destroy(heard);
    return 0;
}
