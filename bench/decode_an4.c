/* Word error rates on CMU AN4: a uniform loop over its words, as in Kaldi's recipe, and its trigram model. */
#include "decode_bench.h"

static const char *const keys[] = {"an4_wer_mono", "an4_wer_tri", "an4_wer_lda", "an4_wer_sat", "an4_wer_trigram"};

void decode_measure_an4(decode_bench *b)
{
    char place[4096];
    if (bench_shared("an4", place))
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        bench_absent(b->result, keys[i], i == 0 ? "../shared/data/an4 is not there" : "");
}
