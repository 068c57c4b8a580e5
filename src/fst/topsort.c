/* States in an order in which arcs lead forward: a state comes when no arc leads to it any more from those that have
 * not come yet (Kahn, "Topological sorting of large networks", 1962). O(states + arcs). */
#include "base/fail.h"
#include "base/memory.h"
#include "fst/fst_data.h"

#include <trellis/fst_structure.h>

static void count_incoming(const trl_fst *fst, uint64_t *incoming)
{
    for (int32_t s = 0; s < fst->states; s++) {
        trl__range range = fst->range[s];
        for (uint64_t i = range.first; i < range.first + range.count; i++)
            incoming[*trl__arc_next(fst, i)]++;
    }
}

/* Puts the states in order, and returns how many could be: fewer than all where there is a cycle. */
static int32_t put_in_order(const trl_fst *fst, uint64_t *incoming, int32_t *order)
{
    int32_t count = 0;
    for (int32_t s = 0; s < fst->states; s++)
        if (incoming[s] == 0)
            order[count++] = s;
    for (int32_t k = 0; k < count; k++) {
        trl__range range = fst->range[order[k]];
        for (uint64_t i = range.first; i < range.first + range.count; i++) {
            int32_t next = *trl__arc_next(fst, i);
            if (--incoming[next] == 0)
                order[count++] = next;
        }
    }
    return count;
}

int trl_fst_topsort(trl_fst *fst, trl_error *err)
{
    size_t states = (size_t)fst->states;
    uint64_t *incoming = trl__alloc_zero(states + 1, sizeof *incoming);
    int32_t *order = trl__alloc(states + 1, sizeof *order), *number = trl__alloc(states + 1, sizeof *number);
    int code = incoming && order && number ? 0 : trl__fail_memory(err);
    if (code == 0) {
        count_incoming(fst, incoming);
        if (put_in_order(fst, incoming, order) < fst->states)
            code = trl__fail(err, TRL_EINVAL, "a machine with a cycle can't be sorted topologically");
    }
    for (int32_t k = 0; code == 0 && k < fst->states; k++)
        number[order[k]] = k;
    if (code == 0)
        code = trl__fst_permute(fst, number, err);
    trl__free(incoming);
    trl__free(order);
    trl__free(number);
    return code;
}
