/* The reducer ([001] III-A2): one pass over sorted records, with a stack of the M-phones that are not complete yet and their samples.
 *
 *     trl__reducer_create(&header, &options, pool, NULL, emit, user, &reducer, err);
 *     trl__reducer_add(reducer, &record, err);                                       // in the order of their bytes
 *     trl__reducer_finish(reducer, NULL, err);                                       // and the counts
 *
 * An M-phone comes when all that back off to it have come (bam_key.h). When it is complete its mixture is estimated and its sample joins that of
 * the M-phone it backs off to, which lies below it on the stack.
 *
 * A part of a stream can be reduced alone, whatever records it begins and ends with, also within those of one key. M-phones that have frames on both sides of a cut are then written
 * as samples, under their keys; samples of one key from all parts, put together, are its sample. `first`, the first key of the part, says what may
 * have begun before; `end`, the first key behind it (NULL: the stream ends), what may go on.
 */
#ifndef TRL_BAM_REDUCER_H
#define TRL_BAM_REDUCER_H

#include "bam/bam_stream.h"
#include "bam/grow_mixture.h"

typedef struct trl__reducer trl__reducer;

/* What is emitted comes in the order of its keys, the counts last. first: NULL for the beginning of a stream. Header, options and pool must outlive it. */
int trl__reducer_create(const trl__bam_header *header, const trl_bam_options *options, trl_pool *pool,
                        const unsigned char *first, trl__bam_emit emit, void *user, trl__reducer **out, trl_error *err);
void trl__reducer_destroy(trl__reducer *reducer);

/* Frames, samples and back-offs. TRL_ECORRUPT: out of order, or something is missing. */
int trl__reducer_add(trl__reducer *reducer, const trl__bam_record *record, trl_error *err);
int trl__reducer_finish(trl__reducer *reducer, const unsigned char *end, trl_error *err);
const trl_bam_counts *trl__reducer_counts(const trl__reducer *reducer);

/* Was the record made with these options of estimation? TRL_EINVAL says with which. */
int trl__bam_counts_fit(const trl__bam_record *record, const trl_bam_options *options, trl_error *err);
/* Counts of a record added to others. */
void trl__bam_counts_add(const trl__bam_header *header, const trl__bam_record *record, trl_bam_counts *counts);

/* Frames of a record, of a run or a sample, into a reservoir. */
void trl__bam_sample(const trl__bam_record *record, trl__reservoir *reservoir);

/* A mixture as a record, made in the scratch; NULL: out of memory. */
unsigned char *trl__bam_mixture_body(const trl__bam_header *header, const unsigned char *key, const trl_model *mixture,
                                     const trl__reservoir *frames, trl__scratch *scratch, size_t *size);

#endif
