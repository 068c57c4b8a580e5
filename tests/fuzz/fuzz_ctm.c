/* Any bytes as a ctm file. What is accepted can be scored, against an stm file that has some of its names. */
#include "fuzzed_scores.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char segments[] = "f A s1 0 1 a { b / @ }\nf A s2 1 2 c\nf B s1 0 9 a\n";
    trl_transcripts *said = fuzzed_transcripts(segments, strlen(segments), TRL_TRANSCRIPTS_STM);
    trl_transcripts *heard = fuzzed_transcripts(data, size, TRL_TRANSCRIPTS_CTM);
    trl_counts c;
    if (fuzzed_score(said, heard, &c) && (c.words != c.correct + c.substitutions + c.deletions || c.utterances != 3))
        abort();
    return 0;
}
