/* A sample of the frames of an M-phone: those with the smallest hashes.
 *
 *     trl__reservoir_create(most, dim, &reservoir, err);
 *     trl__reservoir_add(reservoir, hash, frame);                       // bytes of floats as they come in a record
 *     trl__reservoir_settle(reservoir);                                 // now `count` frames, in the order of their hashes
 *
 * Hashes are as good as random, so this is a uniform sample, as [001] III-A2 wants it; but it does not depend on the order of the
 * frames, a frame that comes again changes nothing, and the sample of a union is found from the samples of its parts. New frames
 * wait until there are so many that merging them into the rest is cheap: O(1) per frame, and log(n / most) merges each time n doubles.
 *
 * Memory: (4 * dim + 12) * (1 + 1/64) bytes for each of `most` frames; pages that were never written are not there.
 */
#ifndef TRL_BAM_RESERVOIR_H
#define TRL_BAM_RESERVOIR_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

typedef struct trl__reservoir_entry {
    uint64_t hash;
    uint32_t row;
} trl__reservoir_entry;

typedef struct trl__reservoir {
    size_t most, dim, waiting_most;
    size_t count;                  /* frames in order */
    int overflow;                  /* there were more than `most` */
    uint64_t *hash;                /* rising, `count` of them; room for the waiting ones */
    uint32_t *row;                 /* where each lies in `frames` */
    float *frames;                 /* row * dim + k */
    trl__reservoir_entry *waiting; /* not in order yet */
    size_t waiting_count;
    uint32_t *free_rows; /* rows that were given up */
    size_t free_count;
} trl__reservoir;

/* most: 1 … 2^31. */
int trl__reservoir_create(size_t most, size_t dim, trl__reservoir **out, trl_error *err);
void trl__reservoir_destroy(trl__reservoir *reservoir);
void trl__reservoir_empty(trl__reservoir *reservoir);
void trl__reservoir_add(trl__reservoir *reservoir, uint64_t hash, const void *frame);
void trl__reservoir_settle(trl__reservoir *reservoir);

/* All of one to another, which becomes the sample of both. */
void trl__reservoir_merge(trl__reservoir *to, trl__reservoir *from);

static inline const float *trl__reservoir_frame(const trl__reservoir *r, size_t i)
{
    return r->frames + (size_t)r->row[i] * r->dim;
}

#endif
