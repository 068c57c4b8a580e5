/* The nodes whose band covers the present frame, while the frames pass by.
 *
 * Steps count from 0 in the direction of the search: forwards frame begin + step, backwards end - 1 - step. A node
 * stays in the list for two steps behind its last one, in which the search clears what it left in its two buffers.
 */
#ifndef TRL_BACKEND_CPU_NODE_WINDOW_H
#define TRL_BACKEND_CPU_NODE_WINDOW_H

#include "backend/cpu/cpu_backend.h"

#include <string.h>

typedef struct trl__node_window {
    int32_t *head;   /* by step: the first node that comes then; -1: none */
    int32_t *gone;   /* by step: how many nodes leave the list */
    int32_t *link;   /* by node: the next one that comes with it */
    int32_t *goes;   /* by node: the first step behind its band */
    int32_t *active; /* the list */
    int32_t count;
} trl__node_window;

static inline void trl__node_window_lay_out(trl__node_window *w, const trl__search *s, trl__pieces *pieces)
{
    size_t nodes = (size_t)(s->node_end - s->node_begin), steps = (size_t)(s->end - s->begin);
    w->head = trl__take(pieces, steps, sizeof *w->head);
    w->gone = trl__take(pieces, steps + 3, sizeof *w->gone);
    w->link = trl__take(pieces, nodes, sizeof *w->link);
    w->goes = trl__take(pieces, nodes, sizeof *w->goes);
    w->active = trl__take(pieces, nodes, sizeof *w->active);
}

/* Laid out for the same search. Nodes are numbered from s->node_begin here. */
static inline void trl__node_window_begin(trl__node_window *w, const trl__search *s, int backwards)
{
    int32_t nodes = s->node_end - s->node_begin, steps = s->end - s->begin;
    w->count = 0;
    memset(w->head, -1, (size_t)steps * sizeof *w->head);
    memset(w->gone, 0, (size_t)(steps + 3) * sizeof *w->gone);
    for (int32_t i = nodes - 1; i >= 0; i--) { /* backwards, so that nodes come in their order */
        int32_t first = s->node_first[s->node_begin + i], end = s->node_end_frame[s->node_begin + i];
        first = first < s->begin ? s->begin : first;
        end = end > s->end ? s->end : end;
        if (first >= end)
            continue;
        int32_t comes = backwards ? s->end - end : first - s->begin;
        w->goes[i] = backwards ? s->end - first : end - s->begin;
        w->gone[w->goes[i] + 2]++;
        w->link[i] = w->head[comes];
        w->head[comes] = i;
    }
}

static inline void trl__node_window_step(trl__node_window *w, int32_t step)
{
    int32_t kept = w->gone[step] ? 0 : w->count;
    for (int32_t i = 0; w->gone[step] && i < w->count; i++) {
        w->active[kept] = w->active[i];
        kept += step < w->goes[w->active[i]] + 2;
    }
    for (int32_t n = w->head[step]; n >= 0; n = w->link[n])
        w->active[kept++] = n;
    w->count = kept;
}

#endif
