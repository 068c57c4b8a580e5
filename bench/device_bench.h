/* What the parts of `trellis-bench devices` share. */
#ifndef TRELLIS_BENCH_DEVICE_BENCH_H
#define TRELLIS_BENCH_DEVICE_BENCH_H

#include "bench.h"

/* Transducers on the processor and on the first OpenCL device (device_machines.c): operations of each into `operations`, and
 * fst_viterbi_opencl_vs_serial. */
void device_machines(const bench_options *options, json_t *result, json_t *operations);

#endif
