/* Shortest distances, component by component.
 *
 * Strongly connected components come in topological order, so each is done once, with all that leads into it (from the
 * start) or out of it (to the ends) known. A component without a cycle is one state: its arcs are looked at, no queue
 * is needed. One with cycles is made a graph of its own, and graph_distances.c has the rest. O(states + arcs) without
 * cycles.
 *
 * In the log semiring a sum is kept as (base, sum) with the value base - log sum: one exponential per arc, one
 * logarithm per state.
 */
#include "fst/components.h"
#include "fst/distance.h"

#include <trellis/fst_paths.h>

TRL__EACH(int, fst_shortestdistance,
          (const trl_fst *fst, int reverse, trl_queue queue, float delta, trl_weight **out, trl_error *err));

/* ---- Sums that grow ---- */

#if TRL__SEMIRING == 1
typedef struct total {
    double base, sum;
} total;
#define NOTHING ((total){INFINITY, 0})
static inline void add(total *t, distance d)
{
    double gap = t->base - d;
    if (gap <= 30)
        t->sum += exp(gap);
    else if (d < INFINITY) /* the first, or so likely that it becomes the base */
        *t = (total){d, 1 + (t->sum > 0 ? t->sum * exp(-gap) : 0)};
}
static inline distance value_of(total t)
{
    return t.sum == 1 ? t.base : t.base - log(t.sum);
}
#else
typedef distance total;
#define NOTHING FAR
static inline void add(total *t, distance d)
{
    *t = together(*t, d);
}
static inline distance value_of(total t)
{
    return t;
}
#endif

/* ---- The work ---- */

typedef struct work {
    const trl_fst *fst;
    int reverse;
    float delta;
    trl__components components;
    int32_t *member; /* states by component, */
    int32_t *begin;  /* by component: its first; count + 1 */
    int32_t *place;  /* by state: among the members of its component */
    distance *far;
    total *arrived; /* by state; from the start only. far itself where a total is a distance */
    int32_t *rank;
    graph part;
    distance *part_far;
    int32_t *part_order;
    size_t node_capacity, far_capacity, order_capacity, edge_capacity;
} work;

static int find_members(work *w)
{
    w->place = trl__alloc((size_t)w->fst->states, sizeof *w->place);
    if (!w->place || trl__components_members(&w->components, w->fst->states, &w->member, &w->begin) < 0)
        return -1;
    for (int32_t c = 0; c < w->components.count; c++)
        for (int32_t i = w->begin[c]; i < w->begin[c + 1]; i++)
            w->place[w->member[i]] = i - w->begin[c];
    return 0;
}

/* The arcs inside a component; backwards when distances are those to the ends. */
static int make_part(work *w, int32_t c)
{
    graph *g = &w->part;
    const int32_t *member = w->member + w->begin[c], *component = w->components.component;
    g->nodes = w->begin[c + 1] - w->begin[c];
    size_t nodes = (size_t)g->nodes;
    if (TRL_GROW(g->first, w->node_capacity, nodes + 2) < 0 || TRL_GROW(w->part_far, w->far_capacity, nodes) < 0 ||
        (w->rank && TRL_GROW(w->part_order, w->order_capacity, nodes) < 0))
        return -1;
    memset(g->first, 0, (nodes + 2) * sizeof *g->first);
    for (int fill = 0; fill < 2; fill++) {
        for (int32_t i = 0; i < g->nodes; i++) {
            const arc *arcs = arcs_of(w->fst, member[i]);
            for (uint32_t k = 0; k < arc_count(w->fst, member[i]); k++) {
                if (component[arcs[k].next] != c || is_zero(arcs[k].weight))
                    continue;
                int32_t from = w->reverse ? w->place[arcs[k].next] : i;
                if (!fill)
                    g->first[from + 2]++;
                else
                    g->edges[g->first[from + 1]++] = (edge){w->reverse ? i : w->place[arcs[k].next], arcs[k].weight};
            }
        }
        for (size_t i = 2; !fill && i < nodes + 2; i++)
            g->first[i] += g->first[i - 1];
        if (!fill && TRL_GROW(g->edges, w->edge_capacity, g->first[nodes + 1]) < 0)
            return -1;
    }
    return 0;
}

/* What a state sends along its arcs to other components. */
static void send(work *w, int32_t s)
{
    const int32_t *component = w->components.component;
    const arc *arcs = arcs_of(w->fst, s);
    for (uint32_t k = 0; k < arc_count(w->fst, s); k++)
        if (component[arcs[k].next] != component[s])
            add(&w->arrived[arcs[k].next], beyond(w->far[s], arcs[k].weight));
}

/* What a state gets from its end and its arcs to other components. */
static distance receive(const work *w, int32_t s)
{
    const int32_t *component = w->components.component;
    const arc *arcs = arcs_of(w->fst, s);
    total t = NOTHING;
    add(&t, to_distance(final_of(w->fst, s)));
    for (uint32_t k = 0; k < arc_count(w->fst, s); k++)
        if (component[arcs[k].next] != component[s])
            add(&t, beyond(w->far[arcs[k].next], arcs[k].weight));
    return value_of(t);
}

static int do_component(work *w, int32_t c, trl_error *err)
{
    const int32_t *member = w->member + w->begin[c];
    int32_t count = w->begin[c + 1] - w->begin[c], alive = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t s = member[i];
        w->far[s] = w->reverse ? receive(w, s) : value_of(w->arrived[s]);
        alive |= !is_far(w->far[s]);
        if (w->rank)
            w->rank[s] = w->begin[c];
    }
    if (!alive || !w->components.cyclic[c])
        return 0;
    if (make_part(w, c) < 0)
        return trl__fail_memory(err);
    for (int32_t i = 0; i < count; i++)
        w->part_far[i] = w->far[member[i]];
    int code = FN(graph_distances)(&w->part, w->delta, w->part_far, w->rank ? w->part_order : NULL, err);
    for (int32_t i = 0; code == 0 && i < count; i++) {
        w->far[member[i]] = w->part_far[i];
        if (w->rank)
            w->rank[member[i]] = w->part_order[i] == INT32_MAX ? INT32_MAX : w->begin[c] + w->part_order[i];
    }
    return code;
}

static int do_all(work *w, trl_error *err)
{
    int32_t count = w->components.count;
    int code = 0;
    for (int32_t k = 0; code == 0 && k < count; k++) {
        int32_t c = w->reverse ? k : count - 1 - k;
        code = do_component(w, c, err);
        for (int32_t i = w->begin[c]; code == 0 && !w->reverse && i < w->begin[c + 1]; i++)
            if (!is_far(w->far[w->member[i]]))
                send(w, w->member[i]);
    }
    return code;
}

static total *arrivals(work *w)
{
#if TRL__SEMIRING == 1
    return trl__alloc(w->reverse ? 1 : (size_t)w->fst->states, sizeof *w->arrived);
#else
    return w->far;
#endif
}

static int make(work *w, trl_error *err)
{
    int code = trl__components_find(w->fst, &w->components, err);
    if (code < 0)
        return code;
    size_t states = (size_t)w->fst->states;
    w->far = trl__alloc(states, sizeof *w->far);
    w->arrived = arrivals(w);
    if (!w->far || !w->arrived || find_members(w) < 0)
        return trl__fail_memory(err);
    for (size_t s = 0; s < states && !w->reverse; s++)
        w->arrived[s] = NOTHING;
    if (!w->reverse && w->fst->start != TRL_NO_STATE)
        add(&w->arrived[w->fst->start], NEAR);
    return 0;
}

static void free_work(work *w)
{
    trl__components_free(&w->components);
    trl__free(w->member);
    trl__free(w->begin);
    trl__free(w->place);
    if (TRL__SEMIRING == 1)
        trl__free(w->arrived);
    trl__free(w->part.first);
    trl__free(w->part.edges);
    trl__free(w->part_far);
    trl__free(w->part_order);
}

int FN(distances)(const trl_fst *fst, int reverse, float delta, distance **out, int32_t *rank, trl_error *err)
{
    work w = {.fst = fst, .reverse = reverse, .delta = delta};
    w.rank = rank;
    int code = make(&w, err);
    if (code == 0)
        code = do_all(&w, err);
    free_work(&w);
    if (code < 0)
        trl__free(w.far);
    *out = code < 0 ? NULL : w.far;
    return code;
}

int FN(check_queue)(const trl_fst *fst, trl_queue queue, trl_error *err)
{
    if (queue == TRL_QUEUE_SHORTEST && !HAS_PATH)
        return trl__fail(err, TRL_EINVAL, "shortest first has no meaning in the %s semiring; use the queue auto",
                         trl_semiring_name(fst->semiring));
    if (queue != TRL_QUEUE_TOP)
        return 0;
    trl__components c;
    int code = trl__components_find(fst, &c, err);
    if (code == 0 && !c.acyclic)
        code = trl__fail(err, TRL_EINVAL, "a machine with a cycle has no topological order; use the queue auto");
    trl__components_free(&c);
    return code;
}

int FN(fst_shortestdistance)(const trl_fst *fst, int reverse, trl_queue queue, float delta, trl_weight **out,
                             trl_error *err)
{
    *out = NULL;
    int code = FN(check_queue)(fst, queue, err);
    if (code < 0 || fst->states == 0)
        return code;
    distance *far;
    code = FN(distances)(fst, reverse, delta > 0 ? delta : TRL__DISTANCE_DELTA, &far, NULL, err);
    if (code < 0)
        return code;
    *out = trl__alloc((size_t)fst->states, sizeof **out);
    for (int32_t s = 0; *out && s < fst->states; s++)
        (*out)[s] = to_public(to_weight(far[s]));
    trl__free(far);
    return *out ? 0 : trl__fail_memory(err);
}

#if TRL__FIRST
int trl_fst_shortestdistance(const trl_fst *fst, int reverse, trl_queue queue, float delta, trl_weight **out,
                             trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_shortestdistance, (fst, reverse, queue, delta, out, err));
}
#endif
