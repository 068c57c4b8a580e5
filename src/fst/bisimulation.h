/* The coarsest partition of states in which states of one class have arcs with the same labels to the same classes.
 *
 *     trl__bisimulation g = {.states = n, .arcs = m, .from = from, .label = label, .to = to, .labels = k};
 *     trl__bisimulation_find(&g, classes, err);      // classes[]: in, where to begin from 0 on; out, the partition
 */
#ifndef TRL_FST_BISIMULATION_H
#define TRL_FST_BISIMULATION_H

#include <stdint.h>
#include <trellis/error.h>

typedef struct trl__bisimulation {
    int32_t states, arcs, labels;
    const int32_t *from, *label, *to; /* by arc; labels count from 0 */
    int deterministic;                /* no state has two arcs with one label */
} trl__bisimulation;

/* Returns the number of classes, or TRL_ENOMEM. */
int32_t trl__bisimulation_find(const trl__bisimulation *g, int32_t *classes, trl_error *err);

#endif
