/* Statistics per context, from which trees are built: for every window of units and state that occurs, frames, sums and
 * squares. Memory is proportional to the distinct contexts, not to the frames.
 *
 *     double *slot = trl__context_stats_slot(stats, key);          // key: the window's units, then the state
 *     trl__context_stats_add(slot, dim, frame);
 */
#ifndef TRL_MODEL_CONTEXT_STATS_H
#define TRL_MODEL_CONTEXT_STATS_H

#include "base/tuple_table.h"

#include <trellis/error.h>
#include <trellis/model.h>

typedef struct trl__context_stats {
    int32_t width, centre; /* of the window, as in tree.h */
    int32_t dim;
    trl__tuples keys; /* width + 1 numbers each: units (or TRL__NOTHING), state */
    double *slots;    /* by key: 1 + 2 * dim numbers: frames, sums, squares */
    size_t slot_capacity;
} trl__context_stats;

int trl__context_stats_create(int32_t width, int32_t centre, int32_t dim, trl__context_stats **out, trl_error *err);
void trl__context_stats_destroy(trl__context_stats *stats);
void trl__context_stats_zero(trl__context_stats *stats); /* no keys; memory is kept */

/* The context's sums, made (zero) when it is new; valid until the next new one. NULL: out of memory. */
double *trl__context_stats_slot(trl__context_stats *stats, const int32_t *key);
void trl__context_stats_add(double *slot, int32_t dim, const float *frame); /* one frame more */

/* Adds the other's, key by key in its order: blocks that are merged in a fixed order give the same bytes. TRL_EINVAL:
 * another shape. */
int trl__context_stats_merge(trl__context_stats *stats, const trl__context_stats *other, trl_error *err);

/* Are all units and states the model's, and all numbers finite? TRL_EINVAL, TRL_ENUMBER say which are not. */
int trl__context_stats_check(const trl__context_stats *stats, const trl_model *model, trl_error *err);

#endif
