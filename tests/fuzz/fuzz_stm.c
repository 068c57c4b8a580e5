/* Any bytes as an stm file. What is accepted can be scored with a ctm file. */
#include "fuzzed_scores.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char words[] = "f A 0 1 a\nf A 1 1 b\nf B 3 2 c\nf A 2 1 c\n";
    trl_transcripts *said = fuzzed_transcripts(data, size, TRL_TRANSCRIPTS_STM);
    trl_transcripts *heard = fuzzed_transcripts(words, strlen(words), TRL_TRANSCRIPTS_CTM);
    trl_counts c;
    if (fuzzed_score(said, heard, &c) &&
        (c.words != c.correct + c.substitutions + c.deletions || c.wrong > c.utterances))
        abort();
    return 0;
}
