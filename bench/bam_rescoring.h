/* Rescoring of 10-best lists with a back-off acoustic model on the disk. */
#ifndef TRELLIS_BENCH_BAM_RESCORING_H
#define TRELLIS_BENCH_BAM_RESCORING_H

#include "bench.h"

/* `rescore_ms_per_utterance` and its parts, of AN4's test set; null where that is not there. The folder is for files. */
void bench_bam_rescoring(const bench_options *options, const char *folder, json_t *result);

#endif
