/* Minimization: weights and labels are pushed towards the start, which gives states with the same future the same arcs,
 * and such states are joined.
 *
 * Without cycles (Revuz, "Minimisation of acyclic deterministic automata in linear time", 1992): states are taken after
 * all they lead to. Arcs then already lead to the one state that stands for all its likes, so two states are alike when
 * their final weights and arcs are the same, and a table of those seen finds out. O(arcs), in place. With cycles:
 * partition refinement (bisimulation.c), with pairs of labels and a weight as one label. O(arcs log arcs).
 *
 * Weights are compared as multiples of delta, and those of the first of a class are kept.
 */
#include "fst/arc_order.h"
#include "fst/bisimulation.h"
#include "fst/components.h"
#include "base/tuple_table.h"
#include "fst/weight_key.h"

#include <trellis/fst_optimize.h>

TRL__EACH(int, minimize, (trl_fst * fst, const trl_minimize_options *options, trl_error *err));

typedef struct minimizer {
    trl_fst *fst;
    trl_error *err;
    float scale; /* 1 / delta */
    int deterministic;
    int32_t *same; /* by state: the one that stands for it */
} minimizer;

/* ---- What kind of machine it is ---- */

typedef struct kind {
    int deterministic, acceptor, unweighted;
} kind;

/* Sorts arcs on the way. */
static kind look_at(const trl_fst *fst)
{
    kind k = {1, 1, 1};
    for (int32_t s = 0; s < fst->states; s++) {
        arc *arcs = arcs_of(fst, s);
        trl__order_arcs(arcs, arc_count(fst, s));
        for (uint32_t i = 0; i < arc_count(fst, s); i++) {
            k.deterministic &= i == 0 || arcs[i].ilabel != arcs[i - 1].ilabel;
            k.acceptor &= arcs[i].ilabel == arcs[i].olabel;
            k.unweighted &= same(arcs[i].weight, ONE);
        }
        weight final = final_of(fst, s);
        k.unweighted &= is_zero(final) || same(final, ONE);
    }
    return k;
}

/* ---- Without cycles ---- */

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint32_t hash_state(const minimizer *m, int32_t s)
{
    const arc *arcs = arcs_of(m->fst, s);
    uint32_t count = arc_count(m->fst, s);
    weight final = final_of(m->fst, s);
    uint64_t hash = is_zero(final) ? 0 : mix(1, trl__weight_key(final, m->scale));
    for (uint32_t i = 0; i < count; i++) {
        hash = mix(hash, (uint64_t)(uint32_t)arcs[i].ilabel << 32 | (uint32_t)arcs[i].olabel);
        hash = mix(hash, trl__weight_key(arcs[i].weight, m->scale));
        hash = mix(hash, (uint32_t)arcs[i].next);
    }
    return (uint32_t)(hash >> 16);
}

static inline int same_weight(const minimizer *m, weight a, weight b)
{
    return trl__weight_key(a, m->scale) == trl__weight_key(b, m->scale);
}

static inline int same_arc(const minimizer *m, const arc *a, const arc *b)
{
    return a->ilabel == b->ilabel && a->olabel == b->olabel && a->next == b->next &&
           same_weight(m, a->weight, b->weight);
}

static int alike(const minimizer *m, int32_t a, int32_t b)
{
    const arc *x = arcs_of(m->fst, a), *y = arcs_of(m->fst, b);
    uint32_t count = arc_count(m->fst, a);
    weight p = final_of(m->fst, a), q = final_of(m->fst, b);
    if (count != arc_count(m->fst, b) || is_zero(p) != is_zero(q) || (!is_zero(p) && !same_weight(m, p, q)))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!same_arc(m, &x[i], &y[i]))
            return 0;
    return 1;
}

/* Arcs lead to the states that stand for those they led to; of arcs that have become equal one stays. */
static void redirect(const minimizer *m, int32_t s)
{
    arc *arcs = arcs_of(m->fst, s);
    uint32_t count = arc_count(m->fst, s), kept = 0;
    for (uint32_t i = 0; i < count; i++)
        arcs[i].next = m->same[arcs[i].next];
    if (m->deterministic)
        return;
    trl__order_arcs(arcs, count);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || !same_arc(m, &arcs[kept - 1], &arcs[i]))
            arcs[kept++] = arcs[i];
    m->fst->range[s].count = kept;
}

/* order[]: the states, each after all it leads to. */
static int join_acyclic(minimizer *m, const int32_t *order)
{
    size_t size = 64;
    while (size < 2 * (size_t)m->fst->states)
        size *= 2;
    uint64_t *slots = trl__alloc_zero(size, sizeof *slots); /* hash, state + 1 */
    if (!slots)
        return trl__fail_memory(m->err);
    for (int32_t i = 0; i < m->fst->states; i++) {
        int32_t s = order[i];
        redirect(m, s);
        uint32_t hash = hash_state(m, s);
        size_t at = hash & (size - 1);
        while (slots[at] && (slots[at] >> 32 != hash || !alike(m, (int32_t)(uint32_t)slots[at] - 1, s)))
            at = (at + 1) & (size - 1);
        if (!slots[at])
            slots[at] = (uint64_t)hash << 32 | (uint32_t)(s + 1);
        m->same[s] = (int32_t)(uint32_t)slots[at] - 1;
    }
    trl__free(slots);
    return 0;
}

/* ---- With cycles ---- */

/* Arcs as three arrays, with a number for labels and weight together. */
typedef struct arc_lists {
    int32_t *from, *label, *to;
    trl__tuples labels;
} arc_lists;

static int list_arcs(const minimizer *m, arc_lists *lists, int32_t arcs)
{
    size_t size = (size_t)arcs + 1, n = 0;
    lists->labels.width = 4;
    lists->from = trl__alloc(size, sizeof *lists->from);
    lists->label = trl__alloc(size, sizeof *lists->label);
    lists->to = trl__alloc(size, sizeof *lists->to);
    if (!lists->from || !lists->label || !lists->to)
        return -1;
    for (int32_t s = 0; s < m->fst->states; s++) {
        const arc *a = arcs_of(m->fst, s);
        for (uint32_t i = 0; i < arc_count(m->fst, s); i++, n++) {
            uint64_t key = trl__weight_key(a[i].weight, m->scale);
            int64_t label = trl__tuples_add(
                &lists->labels, (int32_t[]){a[i].ilabel, a[i].olabel, (int32_t)(key >> 32), (int32_t)(uint32_t)key});
            if (label < 0)
                return -1;
            lists->from[n] = s;
            lists->label[n] = (int32_t)label;
            lists->to[n] = a[i].next;
        }
    }
    return 0;
}

static void free_lists(arc_lists *lists)
{
    trl__free(lists->from);
    trl__free(lists->label);
    trl__free(lists->to);
    trl__tuples_free(&lists->labels);
}

/* States with different final weights or different labels are surely different: a first partition, by a hash of these.
 * The set of labels counts, so each adds bits that are there or not. */
static int first_classes(const minimizer *m, const arc_lists *lists, int32_t arcs)
{
    int32_t states = m->fst->states;
    trl__tuples classes = {.width = 4};
    uint64_t *bits = trl__alloc_zero((size_t)states + 1, sizeof *bits);
    int code = bits ? 0 : -1;
    for (int32_t i = 0; code == 0 && i < arcs; i++) {
        uint64_t hash = mix(7, (uint32_t)lists->label[i]);
        bits[lists->from[i]] |= (uint64_t)1 << (hash & 63) | (uint64_t)1 << (hash >> 6 & 63);
    }
    for (int32_t s = 0; code == 0 && s < states; s++) {
        weight final = final_of(m->fst, s);
        uint64_t key = is_zero(final) ? UINT64_MAX : mix(1, trl__weight_key(final, m->scale));
        int64_t class = trl__tuples_add(&classes, (int32_t[]){(int32_t)(key >> 32), (int32_t)(uint32_t)key,
                                                              (int32_t)(bits[s] >> 32), (int32_t)(uint32_t)bits[s]});
        m->same[s] = (int32_t) class;
        code = class < 0 ? -1 : 0;
    }
    trl__tuples_free(&classes);
    trl__free(bits);
    return code;
}

/* same[] has classes; the first state of each is to stand for it. */
static int choose_first(minimizer *m, int32_t classes)
{
    int32_t *first = trl__alloc((size_t)classes, sizeof *first);
    if (!first)
        return trl__fail_memory(m->err);
    memset(first, 0xff, (size_t)classes * sizeof *first);
    for (int32_t s = 0; s < m->fst->states; s++) {
        int32_t class = m->same[s];
        first[class] = first[class] == TRL_NO_STATE ? s : first[class];
        m->same[s] = first[class];
    }
    for (int32_t s = 0; s < m->fst->states; s++)
        redirect(m, s);
    trl__free(first);
    return 0;
}

static int join_cyclic(minimizer *m)
{
    uint64_t arcs = trl_fst_arcs(m->fst);
    if (arcs > INT32_MAX - 1)
        return trl__fail(m->err, TRL_ELIMIT, "a machine with cycles and more than %d arcs can't be minimized",
                         INT32_MAX);
    arc_lists lists = {0};
    int code = list_arcs(m, &lists, (int32_t)arcs) < 0 || first_classes(m, &lists, (int32_t)arcs) < 0
                   ? trl__fail_memory(m->err)
                   : 0;
    if (code == 0) {
        trl__bisimulation g = {.states = m->fst->states,
                               .arcs = (int32_t)arcs,
                               .labels = (int32_t)lists.labels.count,
                               .from = lists.from,
                               .label = lists.label,
                               .to = lists.to,
                               .deterministic = m->deterministic};
        code = trl__bisimulation_find(&g, m->same, m->err);
    }
    free_lists(&lists);
    return code < 0 ? code : choose_first(m, code);
}

/* ---- All together ---- */

static int join(minimizer *m, int acyclic)
{
    if (!acyclic)
        return join_cyclic(m);
    trl__components c;
    int code = trl__components_find(m->fst, &c, m->err);
    if (code < 0)
        return code;
    int32_t *order = c.component; /* without cycles the component of a state is its place */
    for (int32_t s = 0; s < m->fst->states; s++)
        m->same[order[s]] = s;
    memcpy(order, m->same, (size_t)m->fst->states * sizeof *order);
    code = join_acyclic(m, order);
    trl__components_free(&c);
    return code;
}

/* Only those that stand for others stay. */
static int drop_joined(minimizer *m)
{
    uint8_t *keep = trl__alloc((size_t)m->fst->states, 1);
    if (!keep)
        return trl__fail_memory(m->err);
    for (int32_t s = 0; s < m->fst->states; s++)
        keep[s] = m->same[s] == s;
    m->fst->start = m->same[m->fst->start];
    int code = trl__fst_keep(m->fst, keep, m->err);
    trl__free(keep);
    return code;
}

static int check(const kind *k, const trl_minimize_options *o, trl_error *err)
{
    if (!(o->delta > 0) || o->delta > 1e9f)
        return trl__fail(err, TRL_EINVAL, "delta is %g; it must be positive", (double)o->delta);
    if (k->deterministic)
        return 0;
    if (!HAS_PATH)
        return trl__fail(err, TRL_EINVAL,
                         "the machine is not deterministic; in the %s semiring only deterministic machines can be "
                         "minimized: determinize it first",
                         trl_semiring_name((trl_semiring)TRL__SEMIRING));
    if (!o->allow_nondeterministic)
        return trl__fail(err, TRL_EINVAL,
                         "the machine is not deterministic: determinize it first, or allow nondeterministic machines");
    return 0;
}

/* Leaves out useless states, and sees whether cycles are left. */
static int trim(trl_fst *fst, int *acyclic, trl_error *err)
{
    trl__components c;
    int code = trl__components_find(fst, &c, err), useless = 0;
    if (code < 0)
        return code;
    *acyclic = 1;
    for (int32_t s = 0; s < fst->states; s++) {
        c.accessible[s] &= c.coaccessible[s];
        useless |= !c.accessible[s];
        *acyclic &= !(c.accessible[s] && c.cyclic[c.component[s]]);
    }
    if (useless)
        code = trl__fst_keep(fst, c.accessible, err);
    trl__components_free(&c);
    return code;
}

int FN(minimize)(trl_fst *fst, const trl_minimize_options *options, trl_error *err)
{
    kind k = look_at(fst);
    int acyclic = 0, code = check(&k, options, err);
    if (code == 0)
        code = trim(fst, &acyclic, err);
    if (code < 0 || fst->start == TRL_NO_STATE)
        return code;
    if (!k.acceptor || !k.unweighted) {
        trl_push_options push = trl_push_defaults();
        push.weights = !k.unweighted;
        push.labels = !k.acceptor;
        code = trl_fst_push(fst, &push, err);
        if (code < 0)
            return code;
    }
    minimizer m = {.fst = fst, .err = err, .scale = 1 / options->delta, .deterministic = k.deterministic};
    m.same = trl__alloc((size_t)fst->states, sizeof *m.same);
    code = m.same ? join(&m, acyclic) : trl__fail_memory(err);
    if (code == 0)
        code = drop_joined(&m);
    trl__free(m.same);
    return code;
}

#if TRL__FIRST
trl_minimize_options trl_minimize_defaults(void)
{
    return (trl_minimize_options){.delta = 1e-6f};
}

int trl_fst_minimize(trl_fst *fst, const trl_minimize_options *options, trl_error *err)
{
    trl_minimize_options defaults = trl_minimize_defaults();
    options = options ? options : &defaults;
    TRL__DISPATCH(fst->semiring, minimize, (fst, options, err));
}
#endif
