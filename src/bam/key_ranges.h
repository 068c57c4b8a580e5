/* The keys of sorted runs, cut into ranges of about the same number of bytes: wherever that is, also within the M-phones of one triphone and within the records of one M-phone, so that silence does not weigh
 * on one reducer ([001] IV-F: the largest partition was 35 times the smallest). */
#ifndef TRL_BAM_KEY_RANGES_H
#define TRL_BAM_KEY_RANGES_H

#include "bam/sorted_run.h"

typedef struct trl__key_range {
    const unsigned char *first,
        *end;       /* records [first, end), by the marks of the runs' indices; NULL: from the start, to the end */
    uint64_t bytes; /* of records, about */
    size_t number;  /* in the order of keys */
} trl__key_range;

/* At most `most` ranges, at least one; the largest first; freed by trl__free. They are as even as blocks of runs allow. */
int trl__key_ranges(trl__sorted_run *const *runs, size_t count, size_t most, trl__key_range **out, size_t *ranges,
                    trl_error *err);

#endif
