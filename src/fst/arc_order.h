/* One order for each set of arcs: by input label, output label, weight, next state. */
#ifndef TRL_FST_ARC_ORDER_H
#define TRL_FST_ARC_ORDER_H

#include "fst/weighted.h"

#include <stdlib.h>

static inline int trl__compare_arcs(const void *x, const void *y)
{
    const arc *a = x, *b = y;
    if (a->ilabel != b->ilabel)
        return a->ilabel < b->ilabel ? -1 : 1;
    if (a->olabel != b->olabel)
        return a->olabel < b->olabel ? -1 : 1;
    if (!same(a->weight, b->weight))
        return less(a->weight, b->weight) ? -1 : 1;
    return (a->next > b->next) - (a->next < b->next);
}

/* Mostly they are sorted already. */
static inline void trl__order_arcs(arc *arcs, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (trl__compare_arcs(&arcs[i - 1], &arcs[i]) > 0) {
            qsort(arcs, count, sizeof *arcs, trl__compare_arcs);
            return;
        }
}

#endif
