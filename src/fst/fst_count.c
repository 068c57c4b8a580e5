/* How many states, arcs and epsilons a machine has, and how many states are of use. */
#include "fst/components.h"

static void count_state(const trl_fst *fst, int32_t state, trl_fst_counts *n)
{
    n->finals += !trl_weight_is_zero(fst->semiring, trl_fst_final(fst, state));
    n->arcs += fst->range[state].count;
    for (uint32_t i = 0; i < fst->range[state].count; i++) {
        trl_arc a = trl_fst_arc(fst, state, i);
        n->iepsilons += a.ilabel == 0;
        n->oepsilons += a.olabel == 0;
        n->epsilons += a.ilabel == 0 && a.olabel == 0;
    }
}

int trl_fst_count(const trl_fst *fst, trl_fst_counts *counts, trl_error *err)
{
    trl__components c;
    int code = trl__components_find(fst, &c, err);
    if (code < 0)
        return code;
    *counts = (trl_fst_counts){.states = fst->states, .components = c.count};
    for (int32_t s = 0; s < fst->states; s++) {
        counts->accessible += c.accessible[s];
        counts->coaccessible += c.coaccessible[s];
        counts->connected += c.accessible[s] & c.coaccessible[s];
        count_state(fst, s, counts);
    }
    trl__components_free(&c);
    return 0;
}
