/* What holds of a machine: labels and weights by one look at every arc, cycles and reachability by its components. */
#include "fst/components.h"
#include "fst/weighted.h"

#include <stdlib.h>

TRL__EACH(int, fst_properties, (const trl_fst *fst, uint32_t *properties, trl_error *err));

/* What one arc shows not to hold; `before` is the arc in front of it, or NULL. */
static uint32_t refuted_by_arc(const arc *a, const arc *before)
{
    uint32_t no = 0;
    no |= a->ilabel != a->olabel ? TRL_FST_ACCEPTOR : 0;
    no |= a->ilabel == 0 ? TRL_FST_NO_IEPSILONS : 0;
    no |= a->olabel == 0 ? TRL_FST_NO_OEPSILONS : 0;
    no |= a->ilabel == 0 && a->olabel == 0 ? TRL_FST_NO_EPSILONS : 0;
    no |= same(a->weight, ONE) ? 0 : TRL_FST_UNWEIGHTED;
    if (before) {
        no |= a->ilabel < before->ilabel ? TRL_FST_ISORTED : 0;
        no |= a->olabel < before->olabel ? TRL_FST_OSORTED : 0;
        no |= a->ilabel == before->ilabel ? TRL_FST_IDETERMINISTIC : 0;
        no |= a->olabel == before->olabel ? TRL_FST_ODETERMINISTIC : 0;
    }
    return no;
}

static int compare_labels(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Is a label of the state's arcs there twice? Sorts a copy: neighbours tell only where arcs are sorted. */
static int any_twice(const arc *arcs, uint32_t count, int output, int32_t *labels)
{
    for (uint32_t i = 0; i < count; i++)
        labels[i] = output ? arcs[i].olabel : arcs[i].ilabel;
    qsort(labels, count, sizeof *labels, compare_labels);
    for (uint32_t i = 1; i < count; i++)
        if (labels[i] == labels[i - 1])
            return 1;
    return 0;
}

static int look_at_state(const trl_fst *fst, int32_t s, trl__scratch *scratch, uint32_t *no)
{
    const arc *arcs = arcs_of(fst, s);
    uint32_t count = arc_count(fst, s), here = 0;
    for (uint32_t i = 0; i < count; i++) {
        here |= refuted_by_arc(&arcs[i], i > 0 ? &arcs[i - 1] : NULL);
        here |= arcs[i].next <= s ? TRL_FST_TOPSORTED : 0;
    }
    uint32_t unsure = ~*no & ~here;
    int ask_input = (here & TRL_FST_ISORTED) && (unsure & TRL_FST_IDETERMINISTIC);
    int ask_output = (here & TRL_FST_OSORTED) && (unsure & TRL_FST_ODETERMINISTIC);
    if (ask_input || ask_output) {
        int32_t *labels = trl__scratch_get(scratch, count, sizeof *labels);
        if (!labels)
            return -1;
        here |= ask_input && any_twice(arcs, count, 0, labels) ? TRL_FST_IDETERMINISTIC : 0;
        here |= ask_output && any_twice(arcs, count, 1, labels) ? TRL_FST_ODETERMINISTIC : 0;
    }
    weight final = final_of(fst, s);
    here |= is_zero(final) || same(final, ONE) ? 0 : TRL_FST_UNWEIGHTED;
    *no |= here;
    return 0;
}

/* One path: each state but the last has one arc, to the state behind it, and the last alone is final. */
static int is_string(const trl_fst *fst)
{
    if (fst->states == 0)
        return 1;
    if (fst->start != 0)
        return 0;
    for (int32_t s = 0; s < fst->states; s++) {
        int last = s == fst->states - 1;
        if (is_zero(final_of(fst, s)) == last || arc_count(fst, s) != !last ||
            (!last && arcs_of(fst, s)->next != s + 1))
            return 0;
    }
    return 1;
}

static uint32_t refuted_by_components(const trl_fst *fst, const trl__components *c)
{
    uint32_t no = c->acyclic ? 0 : TRL_FST_ACYCLIC;
    if (fst->start != TRL_NO_STATE && c->cyclic[c->component[fst->start]])
        no |= TRL_FST_INITIAL_ACYCLIC;
    for (int32_t s = 0; s < fst->states; s++) {
        no |= c->accessible[s] ? 0 : TRL_FST_ACCESSIBLE;
        no |= c->coaccessible[s] ? 0 : TRL_FST_COACCESSIBLE;
        const arc *arcs = arcs_of(fst, s);
        for (uint32_t i = 0; !c->acyclic && i < arc_count(fst, s); i++)
            if (c->component[arcs[i].next] == c->component[s] && !same(arcs[i].weight, ONE))
                no |= TRL_FST_UNWEIGHTED_CYCLES;
    }
    return no;
}

int FN(fst_properties)(const trl_fst *fst, uint32_t *properties, trl_error *err)
{
    uint32_t no = is_string(fst) ? 0 : TRL_FST_STRING;
    trl__scratch scratch = {0};
    int code = 0;
    for (int32_t s = 0; code == 0 && s < fst->states; s++)
        code = look_at_state(fst, s, &scratch, &no);
    trl__scratch_free(&scratch);
    if (code < 0)
        return trl__fail_memory(err);
    trl__components c;
    code = trl__components_find(fst, &c, err);
    if (code < 0)
        return code;
    no |= refuted_by_components(fst, &c);
    trl__components_free(&c);
    *properties = ~no & (2 * TRL_FST_UNWEIGHTED_CYCLES - 1);
    return 0;
}

#if TRL__FIRST
int trl_fst_properties(const trl_fst *fst, uint32_t *properties, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_properties, (fst, properties, err));
}
#endif
