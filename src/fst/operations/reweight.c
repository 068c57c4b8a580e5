/* Weights moved along by potentials: an arc from s to t takes in what t has to give and gives back what s has taken,
 *     towards the start   w' = p(s)^-1 w p(t),   f' = p(s)^-1 f
 *     towards the ends    w' = p(s) w p(t)^-1,   f' = p(s) f
 * so that along a path all but the start's potential cancels. States without potential, on no path, keep their weights.
 */
#include "fst/distance.h"

#include <trellis/fst_paths.h>

TRL__EACH(int, fst_reweight, (trl_fst * fst, const trl_weight *potential, int to_final, trl_error *err));

static weight moved(weight w, distance in, distance out)
{
    return is_zero(w) ? w : to_weight(without(beyond(in, w), out));
}

/* All that begins at the start is multiplied; a start that is come back to gets a state before it. */
static int put_in_front(trl_fst *fst, distance factor, trl_error *err)
{
    if (trl__fst_leads_to(fst, fst->start)) {
        int32_t first = push_state(fst, err);
        int code = first < 0 ? first : push_arc(fst, first, (arc){0, 0, to_weight(factor), fst->start}, err);
        if (code == 0)
            fst->start = first;
        return code;
    }
    arc *arcs = arcs_of(fst, fst->start);
    for (uint32_t i = 0; i < arc_count(fst, fst->start); i++)
        arcs[i].weight = moved(arcs[i].weight, factor, NEAR);
    set_final(fst, fst->start, moved(final_of(fst, fst->start), factor, NEAR));
    return 0;
}

static void reweight_state(trl_fst *fst, int32_t s, const distance *potential, int to_final)
{
    distance here = potential[s];
    arc *arcs = arcs_of(fst, s);
    for (uint32_t i = 0; i < arc_count(fst, s); i++) {
        distance there = potential[arcs[i].next];
        if (!is_far(there))
            arcs[i].weight = to_final ? moved(arcs[i].weight, here, there) : moved(arcs[i].weight, there, here);
    }
    weight final = final_of(fst, s);
    set_final(fst, s, to_final ? moved(final, here, NEAR) : moved(final, NEAR, here));
}

int FN(reweight)(trl_fst *fst, const distance *potential, int to_final, const distance *removed, trl_error *err)
{
    if (fst->start == TRL_NO_STATE || is_far(potential[fst->start]))
        return 0;
    distance front = to_final ? without(NEAR, potential[fst->start]) : potential[fst->start];
    for (int32_t s = 0; s < fst->states; s++)
        if (!is_far(potential[s]))
            reweight_state(fst, s, potential, to_final);
    for (int32_t s = 0; removed && to_final && s < fst->states; s++)
        set_final(fst, s, moved(final_of(fst, s), NEAR, *removed));
    if (removed && !to_final)
        front = without(front, *removed);
    return same(to_weight(front), ONE) ? 0 : put_in_front(fst, front, err);
}

int FN(fst_reweight)(trl_fst *fst, const trl_weight *potential, int to_final, trl_error *err)
{
    distance *far = trl__alloc((size_t)fst->states, sizeof *far);
    if (!far)
        return trl__fail_memory(err);
    int code = 0;
    for (int32_t s = 0; s < fst->states; s++) {
        far[s] = to_distance(from_public(potential[s]));
        if (!is_member(from_public(potential[s])))
            code = trl__fail(err, TRL_ENUMBER, "the potential of state %d is not in the %s semiring", (int)s,
                             trl_semiring_name(fst->semiring));
    }
    if (code == 0)
        code = FN(reweight)(fst, far, to_final, NULL, err);
    trl__free(far);
    return code;
}

#if TRL__FIRST
int trl_fst_reweight(trl_fst *fst, const trl_weight *potential, int to_final, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_reweight, (fst, potential, to_final, err));
}
#endif
