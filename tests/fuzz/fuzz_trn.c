/* Any bytes as a trn file. What is accepted can be scored: against itself, nothing is wrong. */
#include "fuzzed_scores.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    score_itself(data, size, TRL_TRANSCRIPTS_TRN);
    return 0;
}
