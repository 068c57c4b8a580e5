/* Pruning: an arc stays when the best path through it, d(s) w h(t) with d the distance from the start and h that to the
 * ends, is within the threshold of the best path of all. Then so is every arc of that path, and no state that stays is
 * useless. O(states + arcs) beyond distances.
 */
#include "fst/distance.h"

#include <stdlib.h>
#include <trellis/fst_paths.h>
#include <trellis/fst_structure.h>

TRL__EACH(int, fst_prune, (trl_fst * fst, trl_weight threshold, int64_t most_states, trl_error *err));

#if HAS_PATH
typedef struct pruning {
    distance *to_start, *to_end;
    distance limit;
    uint8_t *keep; /* by state */
} pruning;

/* Is a path too long? What is longer by rounding is not. */
static int too_long(const pruning *p, distance d)
{
    return is_far(d) || (nearer(p->limit, d) && gain(d, p->limit) > 1e-9 * (1 + fabs(gain(d, NEAR))));
}

static distance through(const pruning *p, int32_t s)
{
    return is_far(p->to_start[s]) || is_far(p->to_end[s]) ? FAR : joined(p->to_start[s], p->to_end[s]);
}

typedef struct ranked {
    distance through;
    int32_t state;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return nearer(x->through, y->through)   ? -1
           : nearer(y->through, x->through) ? 1
                                            : (x->state > y->state) - (x->state < y->state);
}

/* Only the most_states states on the best paths stay. */
static int keep_best(pruning *p, int32_t states, int64_t most_states, trl_error *err)
{
    ranked *order = trl__alloc((size_t)states, sizeof *order);
    if (!order)
        return trl__fail_memory(err);
    for (int32_t s = 0; s < states; s++)
        order[s] = (ranked){through(p, s), s};
    qsort(order, (size_t)states, sizeof *order, compare_ranked);
    for (int64_t i = most_states; i < states; i++)
        p->keep[order[i].state] = 0;
    trl__free(order);
    return 0;
}

static void prune_state(trl_fst *fst, const pruning *p, int32_t s)
{
    arc *arcs = arcs_of(fst, s);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < arc_count(fst, s); i++)
        if (p->keep[arcs[i].next] &&
            !too_long(p, joined(beyond(p->to_start[s], arcs[i].weight), p->to_end[arcs[i].next])))
            arcs[kept++] = arcs[i];
    fst->range[s].count = kept;
    if (!is_zero(final_of(fst, s)) && too_long(p, beyond(p->to_start[s], final_of(fst, s))))
        set_final(fst, s, ZERO);
}

static int prune_all(trl_fst *fst, pruning *p, int64_t most_states, trl_error *err)
{
    int32_t states = fst->states;
    for (int32_t s = 0; s < states; s++)
        p->keep[s] = !too_long(p, through(p, s));
    int code = most_states > 0 && most_states < states ? keep_best(p, states, most_states, err) : 0;
    if (code < 0)
        return code;
    for (int32_t s = 0; s < states; s++)
        if (p->keep[s])
            prune_state(fst, p, s);
    code = trl__fst_keep(fst, p->keep, err);
    return code == 0 && most_states > 0 ? trl_fst_connect(fst, err) : code;
}

int FN(fst_prune)(trl_fst *fst, trl_weight threshold, int64_t most_states, trl_error *err)
{
    if (!trl_weight_is_member(fst->semiring, threshold) || less(from_public(threshold), ONE))
        return trl__fail(err, TRL_EINVAL, "the threshold of pruning is a cost that is not negative");
    pruning p = {0};
    int code = FN(distances)(fst, 0, TRL__DISTANCE_DELTA, &p.to_start, NULL, err);
    if (code == 0)
        code = FN(distances)(fst, 1, TRL__DISTANCE_DELTA, &p.to_end, NULL, err);
    p.keep = code == 0 ? trl__alloc_zero((size_t)fst->states, 1) : NULL;
    if (code == 0 && !p.keep)
        code = trl__fail_memory(err);
    if (code == 0) {
        distance best = fst->start == TRL_NO_STATE ? FAR : p.to_end[fst->start];
        p.limit = is_far(best) ? FAR : beyond(best, from_public(threshold));
        code = prune_all(fst, &p, most_states, err);
    }
    trl__free(p.to_start);
    trl__free(p.to_end);
    trl__free(p.keep);
    return code;
}
#else
int FN(fst_prune)(trl_fst *fst, trl_weight threshold, int64_t most_states, trl_error *err)
{
    (void)threshold, (void)most_states;
    return trl__fail(err, TRL_EINVAL, "there is no best path in the %s semiring; prune in the tropical one",
                     trl_semiring_name(fst->semiring));
}
#endif

#if TRL__FIRST
int trl_fst_prune(trl_fst *fst, trl_weight threshold, int64_t most_states, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_prune, (fst, threshold, most_states, err));
}
#endif
