/* Any bytes as a file of transcripts whose format the content tells. What is accepted can be scored: against itself, nothing is wrong. */
#include "fuzzed_scores.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    score_itself(data, size, TRL_TRANSCRIPTS_ANY);
    return 0;
}
