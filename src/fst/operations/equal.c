/* Are two machines the same: state by state; up to the names of states; in what they mean.
 *
 * Isomorphic machines are walked along together from their starts, arcs sorted by their labels and weights. Where a
 * state has several arcs with the same labels and nearly the same weight, which one belongs to which can't be seen;
 * then only a success is an answer.
 *
 * Equivalence of deterministic acceptors is Hopcroft and Karp's ("A linear algorithm for testing equivalence of finite
 * automata", 1971): states that the same string leads to are joined, and joined states must agree. Weights are compared
 * as if they were pushed to the start: each one relative to the distances from its two states to the ends. Almost
 * linear in states, times the sorting of arcs.
 */
#include "fst/arc_order.h"
#include "fst/components.h"
#include "fst/distance.h"

#include <trellis/fst_optimize.h>

TRL__EACH(int, fst_equal, (const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err));
TRL__EACH(int, fst_isomorphic, (const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err));
TRL__EACH(int, fst_equivalent, (const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err));

int FN(fst_equal)(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    (void)err;
    *yes = a->start == b->start && a->states == b->states;
    for (int32_t s = 0; *yes && s < a->states; s++) {
        const arc *x = arcs_of(a, s), *y = arcs_of(b, s);
        *yes = arc_count(a, s) == arc_count(b, s) && nearly(final_of(a, s), final_of(b, s), delta);
        for (uint32_t i = 0; *yes && i < arc_count(a, s); i++)
            *yes = x[i].ilabel == y[i].ilabel && x[i].olabel == y[i].olabel && x[i].next == y[i].next &&
                   nearly(x[i].weight, y[i].weight, delta);
    }
    return 0;
}

/* ---- Pairs of states of two machines, in the order they were found ---- */

typedef struct pair {
    int32_t a, b;
} pair;

typedef struct walk {
    const trl_fst *a, *b;
    float delta;
    pair *pairs;
    size_t count, capacity;
    trl__scratch scratch_a, scratch_b;
} walk;

static void free_walk(walk *w)
{
    trl__free(w->pairs);
    trl__scratch_free(&w->scratch_a);
    trl__scratch_free(&w->scratch_b);
}

static int add_pair(walk *w, int32_t a, int32_t b)
{
    if (TRL_GROW(w->pairs, w->capacity, w->count + 1) < 0)
        return -1;
    w->pairs[w->count++] = (pair){a, b};
    return 0;
}

/* The arcs of a state whose next state is alive, sorted by labels and weight; alive may be NULL: all. */
static arc *sorted_arcs(const trl_fst *fst, int32_t s, const uint8_t *alive, trl__scratch *scratch, uint32_t *count)
{
    const arc *arcs = arcs_of(fst, s);
    arc *copy = trl__scratch_get(scratch, (size_t)arc_count(fst, s) + 1, sizeof *copy);
    *count = 0;
    for (uint32_t i = 0; copy && i < arc_count(fst, s); i++)
        if (!alive || (alive[arcs[i].next] && !is_zero(arcs[i].weight)))
            copy[(*count)++] = arcs[i];
    if (copy)
        trl__order_arcs(copy, *count);
    return copy;
}

/* ---- Isomorphic ---- */

typedef struct partners {
    int32_t *of_a, *of_b; /* by state: the other machine's, or TRL_NO_STATE */
    int unsure;           /* arcs could have been matched in another way */
} partners;

/* 1: they are or become partners; 0: they can't. */
static int join(walk *w, partners *p, int32_t a, int32_t b)
{
    if (p->of_a[a] == b && p->of_b[b] == a)
        return 1;
    if (p->of_a[a] != TRL_NO_STATE || p->of_b[b] != TRL_NO_STATE)
        return 0;
    p->of_a[a] = b;
    p->of_b[b] = a;
    return add_pair(w, a, b) < 0 ? TRL_ENOMEM : 1;
}

/* 1: the arcs of the two states match; 0: they don't. */
static int match_states(walk *w, partners *p, pair states)
{
    uint32_t count, other;
    if (!nearly(final_of(w->a, states.a), final_of(w->b, states.b), w->delta))
        return 0;
    arc *x = sorted_arcs(w->a, states.a, NULL, &w->scratch_a, &count);
    arc *y = sorted_arcs(w->b, states.b, NULL, &w->scratch_b, &other);
    if (!x || !y)
        return TRL_ENOMEM;
    int result = count == other;
    for (uint32_t i = 0; result == 1 && i < count; i++) {
        p->unsure |= i > 0 && x[i].ilabel == x[i - 1].ilabel && x[i].olabel == x[i - 1].olabel &&
                     nearly(x[i].weight, x[i - 1].weight, 2 * w->delta);
        result = x[i].ilabel == y[i].ilabel && x[i].olabel == y[i].olabel && nearly(x[i].weight, y[i].weight, w->delta);
        if (result)
            result = join(w, p, x[i].next, y[i].next);
    }
    return result;
}

static int isomorphic(walk *w, partners *p, int *yes, trl_error *err)
{
    int result = join(w, p, w->a->start, w->b->start);
    for (size_t i = 0; result == 1 && i < w->count; i++)
        result = match_states(w, p, w->pairs[i]);
    if (result < 0)
        return trl__fail_memory(err);
    *yes = result;
    if (!result && p->unsure)
        return trl__fail(err, TRL_EINVAL,
                         "a state has several arcs with the same labels and weight: whether the machines are the same "
                         "up to the names of states can't be told; determinize or encode them first");
    return 0;
}

static int32_t *no_states(int32_t count)
{
    int32_t *states = trl__alloc((size_t)count + 1, sizeof *states);
    if (states)
        memset(states, 0xff, ((size_t)count + 1) * sizeof *states);
    return states;
}

int FN(fst_isomorphic)(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    *yes = a->start == TRL_NO_STATE && b->start == TRL_NO_STATE;
    if (a->start == TRL_NO_STATE || b->start == TRL_NO_STATE)
        return 0;
    walk w = {.a = a, .b = b, .delta = delta};
    partners p = {no_states(a->states), no_states(b->states), 0};
    int code = p.of_a && p.of_b ? isomorphic(&w, &p, yes, err) : trl__fail_memory(err);
    trl__free(p.of_a);
    trl__free(p.of_b);
    free_walk(&w);
    return code;
}

/* ---- Equivalent ---- */

typedef struct side {
    const trl_fst *fst;
    trl__components parts; /* coaccessible[]: arcs elsewhere mean nothing */
    distance *to_end;      /* NULL: all are one */
} side;

/* The weight as if distances had been pushed to the start; `next` is TRL_NO_STATE for a final weight. */
static weight pushed(const side *x, int32_t s, weight w, int32_t next)
{
    if (!x->to_end)
        return w;
    distance onwards = next == TRL_NO_STATE ? to_distance(w) : beyond(x->to_end[next], w);
    return is_far(onwards) ? ZERO : to_weight(without(onwards, x->to_end[s]));
}

/* The representative of a set of states; a's come first, then b's. Paths are halved on the way. */
static int32_t find_set(int32_t *parent, int32_t s)
{
    while (parent[s] != s)
        s = parent[s] = parent[parent[s]];
    return s;
}

/* Costs by their difference, probabilities by their ratio: unlikely strings count, too. */
static int agree(weight a, weight b, float delta)
{
    return nearly(a, b, TRL__SEMIRING == TRL_REAL ? delta * fabsf(to_public(a).value) : delta);
}

/* 1: final weights and arcs of the two states agree. Where the arcs lead is looked at later. */
static int states_agree(walk *w, const side *x, const side *y, pair states)
{
    uint32_t count, other;
    if (!agree(pushed(x, states.a, final_of(x->fst, states.a), TRL_NO_STATE),
               pushed(y, states.b, final_of(y->fst, states.b), TRL_NO_STATE), w->delta))
        return 0;
    arc *p = sorted_arcs(x->fst, states.a, x->parts.coaccessible, &w->scratch_a, &count);
    arc *q = sorted_arcs(y->fst, states.b, y->parts.coaccessible, &w->scratch_b, &other);
    if (!p || !q)
        return TRL_ENOMEM;
    if (count != other)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        if (p[i].ilabel != q[i].ilabel ||
            !agree(pushed(x, states.a, p[i].weight, p[i].next), pushed(y, states.b, q[i].weight, q[i].next), w->delta))
            return 0;
        if (add_pair(w, p[i].next, q[i].next) < 0)
            return TRL_ENOMEM;
    }
    return 1;
}

/* Pairs are taken from the end, so that few wait at a time. */
static int equivalent(walk *w, const side *x, const side *y, int32_t *parent)
{
    int32_t first_of_b = x->fst->states;
    int result = add_pair(w, x->fst->start, y->fst->start) < 0 ? TRL_ENOMEM : 1;
    while (result == 1 && w->count > 0) {
        pair states = w->pairs[--w->count];
        int32_t a = find_set(parent, states.a), b = find_set(parent, first_of_b + states.b);
        if (a == b)
            continue;
        parent[a > b ? a : b] = a > b ? b : a;
        result = states_agree(w, x, y, states);
    }
    return result;
}

static int look_at(side *x, const trl_fst *fst, const char *which, int *unweighted, trl_error *err)
{
    uint32_t properties, wanted = TRL_FST_ACCEPTOR | TRL_FST_NO_EPSILONS | TRL_FST_IDETERMINISTIC;
    x->fst = fst;
    int code = trl_fst_properties(fst, &properties, err);
    if (code < 0)
        return code;
    if ((properties & wanted) != wanted)
        return trl__fail(err, TRL_EINVAL,
                         "the %s machine is not a deterministic acceptor without epsilons; encode, remove epsilons "
                         "and determinize first, or compare random paths",
                         which);
    *unweighted &= (properties & TRL_FST_UNWEIGHTED) != 0;
    return trl__components_find(fst, &x->parts, err);
}

/* All strings together weigh the same: one divided by the other is one. */
static int totals_agree(const side *x, const side *y, float delta)
{
    return nearly(to_weight(without(x->to_end[x->fst->start], y->to_end[y->fst->start])), ONE, delta);
}

static int compare_sides(side *x, side *y, int unweighted, float delta, int *yes, trl_error *err)
{
    int code = 0, empty = !x->parts.coaccessible[x->fst->start];
    *yes = empty && !y->parts.coaccessible[y->fst->start];
    if (empty || !y->parts.coaccessible[y->fst->start])
        return 0;
    if (!unweighted)
        code = FN(distances)(x->fst, 1, TRL__DISTANCE_DELTA, &x->to_end, NULL, err);
    if (code == 0 && !unweighted)
        code = FN(distances)(y->fst, 1, TRL__DISTANCE_DELTA, &y->to_end, NULL, err);
    if (code < 0 || (!unweighted && !totals_agree(x, y, delta)))
        return code;
    int64_t states = (int64_t)x->fst->states + y->fst->states;
    if (states > INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the two machines have more than %d states together", INT32_MAX);
    int32_t *parent = trl__alloc((size_t)states, sizeof *parent);
    walk w = {.a = x->fst, .b = y->fst, .delta = delta};
    for (int32_t s = 0; parent && s < states; s++)
        parent[s] = s;
    int result = parent ? equivalent(&w, x, y, parent) : TRL_ENOMEM;
    trl__free(parent);
    free_walk(&w);
    *yes = result == 1;
    return result < 0 ? trl__fail_memory(err) : 0;
}

int FN(fst_equivalent)(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    side x = {0}, y = {0};
    int unweighted = 1;
    *yes = 0;
    int code = look_at(&x, a, "first", &unweighted, err);
    if (code == 0)
        code = look_at(&y, b, "second", &unweighted, err);
    if (code == 0 && a->start != TRL_NO_STATE && b->start != TRL_NO_STATE)
        code = compare_sides(&x, &y, unweighted, delta, yes, err);
    else if (code == 0) /* one of them has no strings: the same if the other has none either */
        *yes = (a->start == TRL_NO_STATE || !x.parts.coaccessible[a->start]) &&
               (b->start == TRL_NO_STATE || !y.parts.coaccessible[b->start]);
    trl__components_free(&x.parts);
    trl__components_free(&y.parts);
    trl__free(x.to_end);
    trl__free(y.to_end);
    return code;
}

#if TRL__FIRST
static int check_semirings(const trl_fst *a, const trl_fst *b, trl_error *err)
{
    if (a->semiring != b->semiring)
        return trl__fail(err, TRL_EINVAL, "one machine is of the %s semiring, the other of the %s semiring",
                         trl_semiring_name(a->semiring), trl_semiring_name(b->semiring));
    return 0;
}

static int equal(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    TRL__DISPATCH(a->semiring, fst_equal, (a, b, delta, yes, err));
}

static int isomorphic_machines(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    TRL__DISPATCH(a->semiring, fst_isomorphic, (a, b, delta, yes, err));
}

static int equivalent_machines(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    TRL__DISPATCH(a->semiring, fst_equivalent, (a, b, delta, yes, err));
}

int trl_fst_equal(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    int code = check_semirings(a, b, err);
    return code < 0 ? code : equal(a, b, delta, yes, err);
}

int trl_fst_isomorphic(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    int code = check_semirings(a, b, err);
    return code < 0 ? code : isomorphic_machines(a, b, delta, yes, err);
}

int trl_fst_equivalent(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err)
{
    int code = check_semirings(a, b, err);
    return code < 0 ? code : equivalent_machines(a, b, delta, yes, err);
}
#endif
