/* Random paths: from the start, at every state one of its arcs or its end is chosen, all alike or by their weights,
 * until the end is. Random numbers are those of (seed, path, step), so path i is the same however many are asked for.
 *
 * A path that gets where no end can be reached is given up there: it would go round in circles for ever.
 *
 * By weight, the choices of a state are the sums of their probabilities so far: a step costs O(arcs of the state).
 */
#include "base/random.h"
#include "fst/components.h"
#include "fst/distance.h"

#include <trellis/fst_paths.h>

TRL__EACH(int, fst_randgen, (const trl_fst *fst, const trl_randgen_options *o, trl_fst **out, trl_error *err));

#define END UINT32_MAX        /* in place of an arc */
#define DEAD (UINT32_MAX - 1) /* nothing can be chosen */

typedef struct generator {
    const trl_fst *fst;
    const trl_randgen_options *options;
    const uint8_t *ends; /* by state: an end can be reached */
    uint64_t path, step;
    arc *arcs; /* of the path so far */
    size_t count, capacity;
} generator;

/* Uniform in [0, 1), 53 bits. */
static double next_uniform(generator *g)
{
    uint64_t high = trl__random_bits(g->options->seed, g->path, 2 * g->step);
    uint64_t low = trl__random_bits(g->options->seed, g->path, 2 * g->step++ + 1);
    return (double)((high << 32 | low) >> 11) * 0x1p-53;
}

static double probability(weight w)
{
#if TRL__SEMIRING == 2
    return w > 0 ? (double)w : 0;
#elif TRL__SEMIRING == 3
    return exp(-(double)w.value - (double)w.second);
#else
    return exp(-(double)w);
#endif
}

static uint32_t choose_alike(generator *g, int32_t s)
{
    uint32_t count = arc_count(g->fst, s);
    int ends = !is_zero(final_of(g->fst, s));
    if (count == 0 && !ends)
        return DEAD;
    uint32_t chosen = (uint32_t)(next_uniform(g) * ((double)count + ends));
    return chosen < count ? chosen : END;
}

static uint32_t choose_by_weight(generator *g, int32_t s)
{
    const arc *arcs = arcs_of(g->fst, s);
    double end = probability(final_of(g->fst, s)), total = end;
    for (uint32_t i = 0; i < arc_count(g->fst, s); i++)
        total += probability(arcs[i].weight);
    if (!(total > 0))
        return DEAD;
    double mark = next_uniform(g) * total, sum = 0;
    uint32_t last = DEAD; /* what rounding may leave over */
    for (uint32_t i = 0; i < arc_count(g->fst, s); i++) {
        double p = probability(arcs[i].weight);
        sum += p;
        last = p > 0 ? i : last;
        if (mark < sum)
            return i;
    }
    return end > 0 ? END : last;
}

/* One path. Returns the state where it ends, TRL_NO_STATE (it is too long, or there is no way on), or TRL_ENOMEM. */
static int32_t walk(generator *g)
{
    int32_t s = g->fst->start, longest = g->options->longest > 0 ? g->options->longest : INT32_MAX;
    g->count = 0;
    g->step = 0;
    while (g->ends[s]) {
        uint32_t chosen = g->options->kind == TRL_RANDGEN_UNIFORM ? choose_alike(g, s) : choose_by_weight(g, s);
        if (chosen == END)
            return s;
        if (chosen == DEAD || g->count == (size_t)longest)
            return TRL_NO_STATE;
        if (TRL_GROW(g->arcs, g->capacity, g->count + 1) < 0)
            return TRL_ENOMEM;
        g->arcs[g->count] = arcs_of(g->fst, s)[chosen];
        s = g->arcs[g->count++].next;
    }
    return TRL_NO_STATE;
}

/* ---- Paths side by side ---- */

static int write_path(generator *g, int32_t end, trl_fst *out, trl_error *err)
{
    int bare = g->options->remove_weights;
    int32_t from = out->start;
    for (size_t i = 0; i < g->count; i++) {
        arc a = g->arcs[i];
        a.weight = bare ? ONE : a.weight;
        a.next = push_state(out, err);
        int code = a.next < 0 ? a.next : push_arc(out, from, a, err);
        if (code < 0)
            return code;
        from = a.next;
    }
    weight final = bare ? ONE : final_of(g->fst, end);
    if (g->count > 0) {
        set_final(out, from, final);
        return 0;
    }
    int32_t state = push_state(out, err); /* an empty path is one of many: it is an arc of its own */
    if (state < 0)
        return state;
    set_final(out, state, final);
    return push_arc(out, from, (arc){0, 0, ONE, state}, err);
}

/* ---- A tree of all paths ---- */

/* Where the tree goes on by an arc; arcs and ends count the paths, in `second` of no semiring but as plain numbers
 * beside the machine. */
typedef struct tree {
    trl_fst *out;
    int32_t *origin; /* by state of the tree: that of the machine */
    double *passed, *ended;
    size_t origin_capacity, passed_capacity, ended_capacity;
} tree;

static int32_t tree_state(tree *t, int32_t origin, trl_error *err)
{
    int32_t s = push_state(t->out, err);
    size_t count = (size_t)t->out->states;
    if (s < 0)
        return s;
    if (TRL_GROW(t->origin, t->origin_capacity, count) < 0 || TRL_GROW(t->passed, t->passed_capacity, count) < 0 ||
        TRL_GROW(t->ended, t->ended_capacity, count) < 0)
        return trl__fail_memory(err);
    t->origin[s] = origin;
    t->passed[s] = t->ended[s] = 0;
    return s;
}

static int grow_tree(tree *t, const generator *g, trl_error *err)
{
    int32_t s = t->out->start;
    t->passed[s]++;
    for (size_t i = 0; i < g->count; i++) {
        int32_t next = TRL_NO_STATE;
        for (uint32_t k = 0; k < arc_count(t->out, s) && next == TRL_NO_STATE; k++) {
            const arc *a = &arcs_of(t->out, s)[k];
            if (a->ilabel == g->arcs[i].ilabel && a->olabel == g->arcs[i].olabel &&
                t->origin[a->next] == g->arcs[i].next)
                next = a->next;
        }
        if (next == TRL_NO_STATE) {
            next = tree_state(t, g->arcs[i].next, err);
            arc a = {g->arcs[i].ilabel, g->arcs[i].olabel, ONE, next};
            int code = next < 0 ? next : push_arc(t->out, s, a, err);
            if (code < 0)
                return code;
        }
        s = next;
        t->passed[s]++;
    }
    t->ended[s]++;
    return 0;
}

/* A share of all paths as a weight. */
static weight share(double part, double of)
{
#if TRL__SEMIRING == 2
    return (weight)(part / of);
#elif TRL__SEMIRING == 3
    return (weight){(float)-log(part / of), 0};
#else
    return (weight)-log(part / of);
#endif
}

static void weigh_tree(tree *t)
{
    for (int32_t s = 0; s < t->out->states; s++) {
        arc *arcs = arcs_of(t->out, s);
        for (uint32_t i = 0; i < arc_count(t->out, s); i++)
            arcs[i].weight = share(t->passed[arcs[i].next], t->passed[s]);
        if (t->ended[s] > 0)
            set_final(t->out, s, share(t->ended[s], t->passed[s]));
    }
}

static int generate(generator *g, tree *t, trl_error *err)
{
    t->out->start = tree_state(t, g->fst->start, err);
    int code = t->out->start < 0 ? t->out->start : 0;
    int32_t paths = g->options->paths > 0 ? g->options->paths : 1;
    for (int32_t i = 0; code == 0 && i < paths; i++) {
        g->path = (uint64_t)i;
        int32_t end = walk(g);
        if (end == TRL_ENOMEM)
            code = trl__fail_memory(err);
        else if (end >= 0)
            code = g->options->weighted ? grow_tree(t, g, err) : write_path(g, end, t->out, err);
    }
    if (code == 0 && g->options->weighted)
        weigh_tree(t);
    return code;
}

int FN(fst_randgen)(const trl_fst *fst, const trl_randgen_options *o, trl_fst **out, trl_error *err)
{
    int code = trl__fst_like(fst, out, err);
    if (code < 0 || fst->start == TRL_NO_STATE)
        return code;
    trl__components components;
    generator g = {.fst = fst, .options = o};
    tree t = {.out = *out};
    code = trl__components_find(fst, &components, err);
    if (code == 0) {
        g.ends = components.coaccessible;
        code = generate(&g, &t, err);
        trl__components_free(&components);
    }
    trl__free(g.arcs);
    trl__free(t.origin);
    trl__free(t.passed);
    trl__free(t.ended);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

#if TRL__FIRST
int trl_fst_randgen(const trl_fst *fst, const trl_randgen_options *options, trl_fst **out, trl_error *err)
{
    trl_randgen_options o = options ? *options : (trl_randgen_options){0};
    *out = NULL;
    if (o.paths < 0 || o.longest < 0)
        return trl__fail(err, TRL_EINVAL, "numbers of paths and arcs are not negative");
    TRL__DISPATCH(fst->semiring, fst_randgen, (fst, &o, out, err));
}
#endif
