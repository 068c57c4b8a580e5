/* Word errors of a back-off acoustic model against its data and its size, on synthesised speech: [001] Figs. 2 and 3. */
#ifndef TRELLIS_BENCH_BAM_SERIES_H
#define TRELLIS_BENCH_BAM_SERIES_H

#include "bench.h"

/* `series`: rows of bam_series.sh, in whose folder, under the build folder, lists and plots stay. */
void bench_bam_series(const bench_options *options, json_t *result);

#endif
