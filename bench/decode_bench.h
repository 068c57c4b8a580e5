/* What the parts of `trellis-bench decode` share. */
#ifndef TRELLIS_BENCH_DECODE_BENCH_H
#define TRELLIS_BENCH_DECODE_BENCH_H

#include "bench.h"

typedef struct decode_bench {
    const bench_options *options;
    json_t *result;
} decode_bench;

void decode_measure_an4(decode_bench *b);  /* word error rates of the ladder */
void decode_measure_fsdd(decode_bench *b); /* of isolated digits */
void decode_measure_speed(decode_bench *b);

#endif
