/* Word error rates on the Free Spoken Digit Dataset: one digit per recording. */
#include "decode_bench.h"

void decode_measure_fsdd(decode_bench *b)
{
    char place[4096];
    if (!bench_shared("fsdd", place))
        bench_absent(b->result, "fsdd_wer", "../shared/data/fsdd is not there");
}
