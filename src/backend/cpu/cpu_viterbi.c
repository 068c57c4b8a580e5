/* Step 2a ([000] 3.2): the best path to each node, frame after frame.
 *
 * Two buffers of scores change places; the nodes whose band covers the frame are in a list. Nearly all nodes have at
 * most two incoming arcs, which are kept in the node's own record; where there are more, the others lie apart. Two
 * scores stand for places outside: one that is never reached, and the start, which only frame 0 can come from.
 *
 * Cost: a few nanoseconds per (node, frame) in a band.
 */
#include "backend/cpu/node_window.h"
#include "base/fail.h"

#include <math.h>

typedef struct arc {
    double weight;
    int32_t from; /* place in the buffers */
} arc;

typedef struct node {
    double weight[2];
    int32_t from[2];
    const arc *more, *more_end; /* the arcs behind the first two */
    const float *score;         /* of frame s->begin; only those in the band are there */
    int64_t bit;                /* of the next back-pointer */
} node;

typedef struct search {
    const trl__search *s;
    int32_t nodes; /* those of the call, numbered from s->node_begin; place `nodes` is never, `nodes` + 1 the start */
    node *node;
    arc *more; /* the arcs of all nodes behind the first two */
    double *before, *now;
    trl__node_window window;
} search;

static int32_t place_of(const search *w, int32_t from)
{
    if (from == TRL__START)
        return w->nodes + 1;
    return from >= w->s->node_begin && from < w->s->node_end ? from - w->s->node_begin : w->nodes;
}

/* `more` is where its arcs behind the first two go; returns what is behind them. */
static arc *set_up_arcs(const search *w, int32_t n, node *own, arc *more)
{
    const trl__search *s = w->s;
    int32_t a = s->arc_first[n], end = s->arc_first[n + 1];
    for (int k = 0; k < 2; k++, a += a < end) {
        own->from[k] = a < end ? place_of(w, s->arc_from[a]) : w->nodes;
        own->weight[k] = a < end ? (double)s->arc_weight[a] : 0;
    }
    own->more = more;
    for (; a < end; a++)
        *more++ = (arc){(double)s->arc_weight[a], place_of(w, s->arc_from[a])};
    own->more_end = more;
    return more;
}

static void set_up_node(const search *w, int32_t n, node *own)
{
    const trl__search *s = w->s;
    const trl__row *row = &s->row[s->node_row[n]];
    if (s->node_first[n] >= s->node_end_frame[n])
        return;
    int32_t first = s->node_first[n] > s->begin ? s->node_first[n] : s->begin;
    own->score = s->scores + row->offset + (first - row->first);
    own->bit = s->back_offset[n] + (int64_t)(first - s->node_first[n]) * s->back_bits;
}

static void lay_out(void *user, trl__pieces *pieces)
{
    search *w = user;
    const trl__search *s = w->s;
    size_t nodes = (size_t)w->nodes, arcs = (size_t)(s->arc_first[s->node_end] - s->arc_first[s->node_begin]);
    w->node = trl__take(pieces, nodes, sizeof *w->node);
    w->more = trl__take(pieces, arcs, sizeof *w->more);
    w->before = trl__take(pieces, nodes + 2, sizeof *w->before);
    w->now = trl__take(pieces, nodes + 2, sizeof *w->now);
    trl__node_window_lay_out(&w->window, s, pieces);
}

static void set_up(search *w)
{
    const trl__search *s = w->s;
    arc *more = w->more;
    trl__node_window_begin(&w->window, s, 0);
    for (int32_t i = 0; i < w->nodes + 2; i++)
        w->before[i] = w->now[i] = -INFINITY;
    for (int32_t i = 0; i < w->nodes; i++) {
        more = set_up_arcs(w, s->node_begin + i, &w->node[i], more);
        set_up_node(w, s->node_begin + i, &w->node[i]);
        if (s->begin > 0)
            w->before[i] = s->alpha[s->node_begin + i];
    }
    if (s->begin == 0)
        w->before[w->nodes + 1] = 0;
}

/* Arcs behind the first two. */
static inline double more_arcs(const double *before, const node *own, double best, uint32_t *which)
{
    for (const arc *a = own->more; a < own->more_end; a++) {
        double score = before[a->from] + a->weight;
        if (score > best) {
            best = score;
            *which = (uint32_t)(a - own->more) + 2;
        }
    }
    return best;
}

/* One frame. `bits` is a constant where it matters: compilers make a function for it. */
static inline __attribute__((always_inline)) void advance(search *w, int32_t step, const int bits)
{
    const double *before = w->before;
    double *now = w->now;
    const int32_t *active = w->window.active, *goes = w->window.goes;
    node *nodes = w->node;
    uint8_t *back = w->s->back;
    for (int32_t i = 0, count = w->window.count; i < count; i++) {
        int32_t n = active[i];
        node *own = &nodes[n];
        if (step >= goes[n]) {
            now[n] = -INFINITY;
            continue;
        }
        double first = before[own->from[0]] + own->weight[0], second = before[own->from[1]] + own->weight[1];
        uint32_t which = second > first;
        double best = which ? second : first;
        if (own->more < own->more_end)
            best = more_arcs(before, own, best, &which);
        now[n] = best + (double)*own->score++;
        trl__set_back(back, own->bit, bits, which);
        own->bit += bits;
    }
}

int trl__cpu_viterbi(trl__cpu_stream *stream, trl__search *s, trl_error *err)
{
    search w = {.s = s, .nodes = s->node_end - s->node_begin};
    if (trl__scratch_lay_out(&stream->work, lay_out, &w) < 0)
        return trl__fail_memory(err);
    set_up(&w);
    for (int32_t step = 0; step < s->end - s->begin; step++) {
        trl__node_window_step(&w.window, step);
        if (s->back_bits == 1)
            advance(&w, step, 1);
        else
            advance(&w, step, s->back_bits);
        double *swapped = w.before;
        w.before = w.now;
        w.now = swapped;
        for (int32_t i = 0; step == 0 && i < w.nodes + 2; i++)
            w.now[i] = -INFINITY; /* where the path was before, and the start */
    }
    for (int32_t i = 0; i < w.nodes; i++)
        s->alpha[s->node_begin + i] = w.before[i];
    return 0;
}
