/* Distances in a graph with cycles, from several nodes at once.
 *
 * Best paths: Dijkstra where no weight is below one. Otherwise the nodes are swept over, in an order that follows the
 * edges as far as it can (depth-first, reverse postorder), until nothing gets better: Bellman and Ford, who prove that
 * more sweeps than nodes mean a cycle that gets better for ever. These distances make all weights non-negative
 * (Johnson), and Dijkstra follows.
 *
 * Sums over all paths: x = b + x P is solved by sweeps of Gauss and Seidel in the same order, carrying on what arrived
 * at a node since it was last looked at (Mohri, "Semiring frameworks and algorithms for shortest-distance problems",
 * 2002); the loop of a node on itself is solved at once. In the log semiring all is scaled by best paths first: then no
 * probability is above one, no sum is below one, and nothing can underflow, so that plain arithmetic does and one
 * exponential per edge is enough. A sum that doesn't end is known by what is carried on: it no longer shrinks.
 */
#include "fst/distance_heap.h"

/* ---- An order that follows the edges ---- */

typedef struct visit {
    int32_t node;
    uint64_t edge;
} visit;

static int32_t visit_from(const graph *g, int32_t root, visit *path, uint8_t *seen, int32_t *sequence, int32_t place)
{
    size_t depth = 0;
    seen[root] = 1;
    path[depth++] = (visit){root, g->first[root]};
    while (depth > 0) {
        visit *top = &path[depth - 1];
        if (top->edge == g->first[top->node + 1]) {
            sequence[--place] = top->node;
            depth--;
            continue;
        }
        int32_t to = g->edges[top->edge++].to;
        if (!seen[to]) {
            seen[to] = 1;
            path[depth++] = (visit){to, g->first[to]};
        }
    }
    return place;
}

/* Nodes that start with something come first. NULL: out of memory. */
static int32_t *find_sequence(const graph *g, const distance *far)
{
    size_t nodes = (size_t)g->nodes;
    int32_t *sequence = trl__alloc(nodes, sizeof *sequence), place = g->nodes;
    visit *path = trl__alloc(nodes, sizeof *path);
    uint8_t *seen = trl__alloc_zero(nodes, 1);
    if (!sequence || !path || !seen) {
        trl__free(sequence);
        sequence = NULL;
    }
    for (int pass = 0; sequence && pass < 2; pass++)
        for (int32_t i = g->nodes; i-- > 0;)
            if (!seen[i] && (pass == 1 || !is_far(far[i])))
                place = visit_from(g, i, path, seen, sequence, place);
    trl__free(path);
    trl__free(seen);
    return sequence;
}

/* ---- Best paths ---- */

#if TRL__SEMIRING != 2
/* Bellman-Ford. A gain of less than delta is none: rounding must not look like a cycle that gets better. */
static int sweep_best(const graph *g, float delta, distance *far, trl_error *err)
{
    int32_t *sequence = find_sequence(g, far);
    uint8_t *awake = trl__alloc((size_t)g->nodes, 1);
    int code = sequence && awake ? 0 : trl__fail_memory(err), moved = 1;
    if (code == 0)
        memset(awake, 1, (size_t)g->nodes);
    for (int32_t pass = 0; code == 0 && moved; pass++) {
        moved = 0;
        for (int32_t k = 0; k < g->nodes; k++) {
            int32_t i = sequence[k];
            if (!awake[i] || is_far(far[i]))
                continue;
            awake[i] = 0;
            for (uint64_t e = g->first[i]; e < g->first[i + 1]; e++) {
                distance there = beyond(far[i], g->edges[e].weight), *old = &far[g->edges[e].to];
                if (!nearer(there, *old) || (!is_far(*old) && gain(*old, there) <= (double)delta))
                    continue;
                *old = there;
                awake[g->edges[e].to] = 1;
                moved = 1;
            }
        }
        if (moved && pass > g->nodes)
            code = trl__fail(err, TRL_ELIMIT, "there are no shortest distances: a cycle has a negative cost");
    }
    trl__free(sequence);
    trl__free(awake);
    return code;
}

/* Cost of an edge after potentials have taken theirs away; what is left below nothing is rounding. */
static distance edge_cost(const edge *e, int32_t from, const distance *potential)
{
    distance cost = to_distance(e->weight);
    if (potential)
        cost = without(joined(potential[from], cost), potential[e->to]);
    return nearer(cost, NEAR) ? NEAR : cost;
}

/* Dijkstra. far[] is relative to the potentials. */
static int settle(const graph *g, const distance *potential, distance *far, int32_t *order)
{
    heap h;
    int code = heap_make(&h, g->nodes);
    for (int32_t i = 0; code == 0 && i < g->nodes; i++) {
        if (order)
            order[i] = INT32_MAX;
        if (!is_far(far[i]))
            code = heap_put(&h, i, far[i]);
    }
    for (int32_t settled = 0; code == 0 && h.count > 0; settled++) {
        int32_t i = heap_take(&h);
        distance here = far[i];
        if (order)
            order[i] = settled;
        for (uint64_t e = g->first[i]; code == 0 && e < g->first[i + 1]; e++) {
            int32_t to = g->edges[e].to;
            distance there = joined(here, edge_cost(&g->edges[e], i, potential));
            if (!nearer(there, far[to]))
                continue;
            far[to] = there;
            code = heap_put(&h, to, there);
        }
    }
    heap_free(&h);
    return code;
}

static int all_cost(const graph *g)
{
    for (uint64_t e = 0; e < g->first[g->nodes]; e++)
        if (less(g->edges[e].weight, ONE))
            return 0;
    return 1;
}

static int best_distances(const graph *g, float delta, distance *far, int32_t *order, trl_error *err)
{
    if (all_cost(g))
        return settle(g, NULL, far, order) < 0 ? trl__fail_memory(err) : 0;
    distance *potential = trl__alloc((size_t)g->nodes, sizeof *potential);
    if (!potential)
        return trl__fail_memory(err);
    memcpy(potential, far, (size_t)g->nodes * sizeof *potential);
    int code = sweep_best(g, delta, potential, err);
    for (int32_t i = 0; code == 0 && i < g->nodes; i++)
        if (!is_far(far[i]))
            far[i] = nearer(far[i], potential[i]) ? NEAR : without(far[i], potential[i]);
    if (code == 0 && settle(g, potential, far, order) < 0)
        code = trl__fail_memory(err);
    for (int32_t i = 0; code == 0 && i < g->nodes; i++)
        far[i] = is_far(far[i]) ? FAR : joined(far[i], potential[i]);
    trl__free(potential);
    return code;
}
#endif

/* ---- Sums over all paths ---- */

#if !HAS_PATH
typedef struct sums {
    const graph *g;
    double *p;    /* by edge; that of a loop is 0 here, */
    double *loop; /* and by node, one over what it leaves */
    double *x;    /* by node: what has been carried on */
    double *rest; /* by node: what has arrived since */
    int32_t *sequence;
} sums;

static int does_not_end(trl_error *err)
{
    return trl__fail(
        err, TRL_ELIMIT,
        "the sum over all paths does not converge: a cycle has a probability of 1 or more; in the tropical "
        "semiring there may be distances");
}

/* Probabilities of edges, with potentials in the log semiring; loops apart. */
static int weigh_edges(sums *s, const distance *potential, trl_error *err)
{
    for (int32_t i = 0; i < s->g->nodes; i++) {
        double loops = 0;
        for (uint64_t e = s->g->first[i]; e < s->g->first[i + 1]; e++) {
            const edge *to = &s->g->edges[e];
            s->p[e] = potential ? exp(potential[to->to] - potential[i] - (double)to->weight) : (double)to->weight;
            if (is_zero(to->weight) || (potential && is_far(potential[i])))
                s->p[e] = 0;
            if (to->to == i) {
                loops += s->p[e];
                s->p[e] = 0;
            }
        }
        if (fabs(loops) >= 1)
            return does_not_end(err);
        s->loop[i] = 1 / (1 - loops);
    }
    return 0;
}

/* One sweep. Returns the mass that is still to be carried on: 0 when nothing that matters is. */
static double sweep_sums(sums *s, double delta)
{
    double left = 0;
    int more = 0;
    for (int32_t k = 0; k < s->g->nodes; k++) {
        int32_t i = s->sequence[k];
        if (fabs(s->rest[i]) <= delta * fabs(s->x[i]))
            continue;
        double carried = s->rest[i] * s->loop[i];
        s->rest[i] = 0;
        s->x[i] += carried;
        for (uint64_t e = s->g->first[i]; e < s->g->first[i + 1]; e++)
            s->rest[s->g->edges[e].to] += carried * s->p[e];
    }
    for (int32_t i = 0; i < s->g->nodes; i++) {
        left += fabs(s->rest[i]);
        more |= fabs(s->rest[i]) > delta * fabs(s->x[i]);
    }
    return more ? left : 0;
}

/* By how much what is left shrinks from sweep to sweep says how much all further sweeps would add, and so when to end.
 * Between two sweeps whose numbers are powers of two it must have become less. */
static int sum_up(sums *s, double delta, trl_error *err)
{
    double last = INFINITY, looked_at = INFINITY, shrinks = 0, left;
    int64_t next_look = 1024;
    for (int64_t sweep = 1; (left = sweep_sums(s, delta * (1 - shrinks))) > 0; sweep++) {
        if (!isfinite(left))
            return does_not_end(err);
        shrinks = fmin(left / last, 1 - 1e-6);
        last = left;
        if (sweep < next_look)
            continue;
        if (left >= 0.999 * looked_at || sweep > 1 << 24)
            return does_not_end(err);
        looked_at = left;
        next_look *= 2;
    }
    int finite = !isnan(left); /* a sum that outgrows all numbers between two looks leaves nothing to compare */
    for (int32_t i = 0; i < s->g->nodes; i++) {
        s->x[i] += s->rest[i] * s->loop[i];
        finite &= isfinite(s->x[i]) != 0;
    }
    return finite ? 0 : does_not_end(err);
}

static int make_sums(sums *s, const distance *far)
{
    size_t nodes = (size_t)s->g->nodes;
    s->sequence = find_sequence(s->g, far); /* first, while its own scratch is all there is */
    s->p = trl__alloc(s->g->first[nodes], sizeof *s->p);
    s->loop = trl__alloc(nodes, sizeof *s->loop);
    s->x = trl__alloc_zero(nodes, sizeof *s->x);
    s->rest = trl__alloc_zero(nodes, sizeof *s->rest);
    return s->p && s->loop && s->x && s->rest && s->sequence ? 0 : -1;
}

static void free_sums(sums *s)
{
    trl__free(s->p);
    trl__free(s->loop);
    trl__free(s->x);
    trl__free(s->rest);
    trl__free(s->sequence);
}
#endif

#if HAS_PATH
int FN(graph_distances)(const graph *g, float delta, distance *far, int32_t *order, trl_error *err)
{
    return best_distances(g, delta, far, order, err);
}
#elif TRL__SEMIRING == 2
int FN(graph_distances)(const graph *g, float delta, distance *far, int32_t *order, trl_error *err)
{
    sums s = {.g = g};
    if (order)
        memset(order, 0, (size_t)g->nodes * sizeof *order);
    int code = make_sums(&s, far) < 0 ? trl__fail_memory(err) : weigh_edges(&s, NULL, err);
    if (code == 0) {
        memcpy(s.rest, far, (size_t)g->nodes * sizeof *far);
        code = sum_up(&s, (double)delta, err);
    }
    if (code == 0)
        memcpy(far, s.x, (size_t)g->nodes * sizeof *far);
    free_sums(&s);
    return code;
}
#else
int FN(graph_distances)(const graph *g, float delta, distance *far, int32_t *order, trl_error *err)
{
    sums s = {.g = g};
    if (order)
        memset(order, 0, (size_t)g->nodes * sizeof *order);
    distance *potential = trl__alloc((size_t)g->nodes, sizeof *potential);
    int code = potential ? 0 : trl__fail_memory(err);
    if (code == 0) {
        memcpy(potential, far, (size_t)g->nodes * sizeof *far);
        code = best_distances(g, delta, potential, NULL, err);
    }
    if (code == 0)
        code = make_sums(&s, far) < 0 ? trl__fail_memory(err) : weigh_edges(&s, potential, err);
    for (int32_t i = 0; code == 0 && i < g->nodes; i++)
        s.rest[i] = is_far(far[i]) ? 0 : exp(potential[i] - far[i]);
    if (code == 0)
        code = sum_up(&s, (double)delta, err);
    for (int32_t i = 0; code == 0 && i < g->nodes; i++)
        far[i] = is_far(potential[i]) ? FAR : potential[i] - log(s.x[i]);
    trl__free(potential);
    free_sums(&s);
    return code;
}
#endif
