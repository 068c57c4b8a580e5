/* Recognition: how many words come out wrong, on connected letters and digits (AN4) and on single digits (FSDD); and how
 * fast. */
#include "decode_bench.h"

static int bench_run(const bench_options *options, json_t *result)
{
    decode_bench b = {.options = options, .result = result};
    decode_measure_an4(&b);
    decode_measure_fsdd(&b);
    decode_measure_speed(&b);
    decode_measure_cross(&b);
    return 0;
}

const bench bench_decode = {"decode", "recognition: word error rates of AN4 and FSDD, and speed", bench_run};
