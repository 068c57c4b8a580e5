/* Sorted sequences of records become one. Records that are there twice come once.
 *
 *     trl__merge_open(count, &merge, err);
 *     trl__merge_add(merge, trl__run_next, cursor, err);              // any sequence: 1 and a record, 0 at its end, or an error
 *     while (trl__merge_next(merge, &record, err) > 0) …
 */
#ifndef TRL_BAM_RECORD_MERGE_H
#define TRL_BAM_RECORD_MERGE_H

#include "bam/bam_stream.h"

typedef int (*trl__record_next)(void *sequence, trl__bam_record *record, trl_error *err);
typedef struct trl__merge trl__merge;

int trl__merge_open(size_t most, trl__merge **out, trl_error *err);
int trl__merge_add(trl__merge *merge, trl__record_next next, void *sequence, trl_error *err);
/* The record is good until the next call. */
int trl__merge_next(trl__merge *merge, trl__bam_record *record, trl_error *err);
/* The sequence that the record came from; and one whose record has been left out so far because another had the same, or NULL. */
void *trl__merge_sequence(const trl__merge *merge);
void *trl__merge_twin(const trl__merge *merge);
void trl__merge_close(trl__merge *merge);

#endif
