/* What reducers of parts of a stream wrote becomes what one reducer would have written: samples of M-phones that lie on both sides of a cut are put
 * together and their mixtures estimated. All in the order of keys, without counts records. */
#ifndef TRL_BAM_PART_JOIN_H
#define TRL_BAM_PART_JOIN_H

#include "bam/reducer.h"

/* Readers of all parts, just opened. *counts becomes the sum of theirs and of what is estimated here. */
int trl__join_parts(trl__bam_reader *parts, size_t count, const trl_bam_options *options, trl_pool *pool,
                    trl__bam_emit emit, void *user, trl_bam_counts *counts, trl_error *err);

#endif
