#include "transduce/search.h"

#include <math.h>
#include <string.h>

double trl__log_add(double a, double b)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return high == INFINITY ? low : low - log1p(exp(low - high));
}

void trl__out_free(trl__out *out)
{
    trl__free(out->outputs);
    trl__free(out->final_states);
    trl__free(out->arcs);
    trl__free(out->counts);
    trl__free(out->final_counts);
}

int trl__nodes_begin(trl_transduce_work *w)
{
    w->nodes = w->run_count = w->edge_count = w->out.arc_count = w->out.output_count = w->out.final_count = 0;
    if (TRL_GROW(w->node_first, w->first_capacity, w->plan.positions + 1) < 0 ||
        TRL_GROW(w->node_base, w->base_capacity, w->plan.positions) < 0)
        return -1;
    w->node_first[0] = 0;
    return 0;
}

trl__alive trl__nodes_enter(trl_transduce_work *w, size_t position)
{
    const uint32_t *state = w->node_state + w->node_first[position];
    size_t count = w->node_first[position + 1] - w->node_first[position];
    for (size_t i = 0; i < count; i++) {
        w->bits[state[i] / 64] |= (uint64_t)1 << state[i] % 64;
        w->node[state[i]] = (uint32_t)i;
    }
    return (trl__alive){state, count, w->bits, w->node};
}

void trl__nodes_leave(trl_transduce_work *w, size_t position)
{
    for (size_t i = w->node_first[position]; i < w->node_first[position + 1]; i++)
        w->bits[w->node_state[i] / 64] = 0;
}

size_t trl__nodes_find(const trl_transduce_work *w, size_t position, uint32_t state)
{
    for (size_t i = w->node_first[position]; i < w->node_first[position + 1]; i++)
        if (w->node_state[i] == state)
            return i;
    return SIZE_MAX;
}

int64_t trl__row_of(const trl_transducer *t, const trl__symbol *s, uint32_t source)
{
    if (s->has_bitmap) {
        uint64_t word = t->bits[s->place + source / 64], bit = (uint64_t)1 << source % 64;
        return word & bit ? (int64_t)t->rank[s->place + source / 64] + __builtin_popcountll(word & (bit - 1)) : -1;
    }
    const uint32_t *listed = t->row_source + s->place;
    uint32_t low = 0, high = s->rows;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (listed[middle] < source)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->rows && listed[low] == source ? (int64_t)low : -1;
}
