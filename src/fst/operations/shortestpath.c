/* Best paths.
 *
 * One: Dijkstra from the start, until nothing left can end better than what has ended. With negative weights it goes on
 * till nothing gets better, and works again on states that did; that can take for ever, so where it takes long the path
 * goes along the distances to the ends.
 *
 * Several: the distances to the ends are known, and with them what each way to go on from a state will cost in the end.
 * Every path goes some way along a known path, takes another option there than paths before it, and follows the best
 * options to the end. So the next path is the cheapest of these candidates, and brings one new candidate for each of
 * its new states, and one for the state where it left: n paths of length l cost O(n l log(n l)) beyond the distances
 * (after Eppstein, "Finding the k shortest paths", 1998). The options of a state are put in order only when it is
 * visited, and only as far as they are asked for.
 */
#include "fst/best_paths.h"
#include "fst/distance_heap.h"

TRL__EACH(int, fst_shortestpath,
          (const trl_fst *fst, const trl_shortestpath_options *o, trl_fst **out, trl_error *err));

#if HAS_PATH
#define END UINT32_MAX /* in place of an arc: the path ends */

/* ---- One path ---- */

typedef struct step {
    int32_t from;
    uint32_t arc;
} step;

static int all_cost(const trl_fst *fst)
{
    for (int32_t s = 0; s < fst->states; s++) {
        const arc *arcs = arcs_of(fst, s);
        int below = less(final_of(fst, s), ONE);
        for (uint32_t i = 0; i < arc_count(fst, s); i++)
            below |= less(arcs[i].weight, ONE);
        if (below)
            return 0;
    }
    return 1;
}

typedef struct single {
    const trl_fst *fst;
    int costs; /* no weight is negative */
    distance *far;
    step *steps;
    int32_t end; /* where the best path ends, or TRL_NO_STATE */
} single;

/* Returns 0, -1 (out of memory), or 1: it takes too long. */
static int search_one(single *s)
{
    const trl_fst *fst = s->fst;
    int64_t left = 4 * (int64_t)fst->states;
    distance least = FAR;
    heap h;
    int code = heap_make(&h, fst->states);
    s->end = TRL_NO_STATE;
    s->far[fst->start] = NEAR;
    if (code == 0)
        code = heap_put(&h, fst->start, NEAR);
    for (; code == 0 && h.count > 0 && left > 0; left--) {
        int32_t from = heap_take(&h);
        distance here = s->far[from], ending = beyond(here, final_of(fst, from)), limit = s->costs ? least : FAR;
        if (!nearer(here, limit))
            break;
        if (nearer(ending, least)) {
            least = ending;
            s->end = from;
        }
        const arc *arcs = arcs_of(fst, from);
        for (uint32_t i = 0; code == 0 && i < arc_count(fst, from); i++) {
            int32_t next = arcs[i].next;
            distance there = beyond(here, arcs[i].weight);
            if (!nearer(there, s->far[next]) || !nearer(there, limit))
                continue;
            s->far[next] = there;
            s->steps[next] = (step){from, i};
            code = heap_put(&h, next, there);
        }
    }
    heap_free(&h);
    return code < 0 ? -1 : left == 0;
}

/* The steps from the end. Where rounding made a cycle seem to get better, they may have no beginning: returns 1 as
 * well. */
static int trace_one(const single *s, path_arcs *path)
{
    for (int32_t at = s->end; at != s->fst->start; at = s->steps[at].from)
        if (path->count == (size_t)s->fst->states)
            return 1;
        else if (path_put(path, arcs_of(s->fst, s->steps[at].from)[s->steps[at].arc]) < 0)
            return -1;
    return 0;
}

/* Returns 0, a negative code, or 1: the path must be found in another way. */
static int one_path(const trl_fst *fst, trl_fst *out, trl_error *err)
{
    single s = {.fst = fst, .costs = all_cost(fst)};
    path_arcs path = {0};
    s.far = trl__alloc((size_t)fst->states, sizeof *s.far);
    s.steps = trl__alloc((size_t)fst->states, sizeof *s.steps);
    int code = s.far && s.steps ? 0 : -1;
    for (int32_t i = 0; code == 0 && i < fst->states; i++)
        s.far[i] = FAR;
    if (code == 0)
        code = search_one(&s);
    if (code == 0 && s.end != TRL_NO_STATE)
        code = trace_one(&s, &path);
    if (code < 0)
        code = trl__fail_memory(err);
    else if (code == 0 && s.end != TRL_NO_STATE)
        code = path_write(&path, final_of(fst, s.end), out, err);
    trl__free(s.far);
    trl__free(s.steps);
    trl__free(path.arcs);
    return code;
}

/* ---- Several paths ---- */

typedef struct option {
    distance cost; /* from the state to the end */
    uint32_t arc;
} option;

/* The options of a visited state: the best one, and a heap of the others that gets sorted from its end on as they are
 * asked for. */
typedef struct state_options {
    option best;
    uint64_t first; /* in pool */
    uint32_t count, sorted;
} state_options;

/* A state on a path. */
typedef struct node {
    int32_t parent; /* node */
    uint32_t arc;   /* of the parent's state */
    int32_t state;
    distance cost; /* from the start */
} node;

typedef struct search {
    const trl_fst *fst;
    const distance *far;
    const int32_t *rank;
    int32_t *visited; /* by state: its entry in `options`, or -1 */
    state_options *options;
    size_t option_count, option_capacity;
    option *pool;
    size_t pool_count, pool_capacity;
    node *nodes;
    size_t node_count, node_capacity;
    candidates queue;
    path_arcs path;
} search;

static int option_before(const option *a, const option *b)
{
    if (nearer(a->cost, b->cost) || nearer(b->cost, a->cost))
        return nearer(a->cost, b->cost);
    return a->arc < b->arc;
}

static void sink_option(option *options, uint32_t count, uint32_t i)
{
    option o = options[i];
    for (uint64_t child = 2 * (uint64_t)i + 1; child < count; child = 2 * (uint64_t)i + 1) {
        if (child + 1 < count && option_before(&options[child + 1], &options[child]))
            child++;
        if (!option_before(&options[child], &o))
            break;
        options[i] = options[child];
        i = (uint32_t)child;
    }
    options[i] = o;
}

/* Finds the options of a state that is visited for the first time. */
static int visit(search *s, int32_t state)
{
    if (s->visited[state] >= 0)
        return 0;
    uint32_t count = arc_count(s->fst, state);
    const arc *arcs = arcs_of(s->fst, state);
    if (TRL_GROW(s->options, s->option_capacity, s->option_count + 1) < 0 ||
        TRL_GROW(s->pool, s->pool_capacity, s->pool_count + count + 1) < 0)
        return -1;
    state_options *o = &s->options[s->option_count];
    *o = (state_options){.best = {s->far[state], best_arc(s->fst, state, s->far, s->rank)}, .first = s->pool_count};
    option *pool = s->pool + s->pool_count;
    for (uint32_t i = 0; i < count; i++)
        if (i != o->best.arc && !is_far(s->far[arcs[i].next]) && !is_zero(arcs[i].weight))
            pool[o->count++] = (option){beyond(s->far[arcs[i].next], arcs[i].weight), i};
    if (o->best.arc != END && !is_zero(final_of(s->fst, state)))
        pool[o->count++] = (option){to_distance(final_of(s->fst, state)), END};
    for (uint32_t i = o->count / 2; i-- > 0;)
        sink_option(pool, o->count, i);
    s->pool_count += o->count;
    s->visited[state] = (int32_t)s->option_count++;
    return 0;
}

/* Option `rank` of a visited state, or NULL: there are not so many. */
static const option *option_of(search *s, int32_t state, uint32_t rank)
{
    state_options *o = &s->options[s->visited[state]];
    option *others = s->pool + o->first;
    if (rank == 0)
        return &o->best;
    if (rank > o->count)
        return NULL;
    for (; o->sorted < rank; o->sorted++) {
        uint32_t last = o->count - o->sorted - 1;
        option least = others[0];
        others[0] = others[last];
        sink_option(others, last, 0);
        others[last] = least;
    }
    return &others[o->count - rank];
}

static int propose(search *s, int32_t at, uint32_t rank)
{
    const option *o = option_of(s, s->nodes[at].state, rank);
    return o ? candidates_put(&s->queue, (candidate){joined(s->nodes[at].cost, o->cost), at, rank}) : 0;
}

/* A node behind another. Returns its number, or -1. */
static int32_t add_node(search *s, int32_t parent, uint32_t by)
{
    if (s->node_count == INT32_MAX || TRL_GROW(s->nodes, s->node_capacity, s->node_count + 1) < 0)
        return -1;
    node new = {.parent = parent, .arc = by, .state = s->fst->start, .cost = NEAR};
    if (parent >= 0) {
        const arc *a = &arcs_of(s->fst, s->nodes[parent].state)[by];
        new.state = a->next;
        new.cost = beyond(s->nodes[parent].cost, a->weight);
    }
    s->nodes[s->node_count] = new;
    return visit(s, new.state) < 0 ? -1 : (int32_t)s->node_count++;
}

/* Follows a candidate to its end, with new candidates on the way. Returns the node where it ends, or -1: out of
 * memory. */
static int32_t follow(search *s, candidate c)
{
    int32_t at = c.node;
    uint32_t rank = c.option;
    for (;;) {
        if (propose(s, at, rank + 1) < 0)
            return -1;
        uint32_t by = option_of(s, s->nodes[at].state, rank)->arc;
        if (by == END)
            return at;
        at = add_node(s, at, by);
        if (at < 0)
            return -1;
        rank = 0;
    }
}

static int gather_path(search *s, int32_t end)
{
    for (int32_t at = end; s->nodes[at].parent >= 0; at = s->nodes[at].parent)
        if (path_put(&s->path, arcs_of(s->fst, s->nodes[s->nodes[at].parent].state)[s->nodes[at].arc]) < 0)
            return -1;
    return 0;
}

static int write_paths(search *s, const trl_shortestpath_options *o, trl_fst *out, trl_error *err)
{
    distance limit = cost_limit(o, s->far[s->fst->start]);
    if (add_node(s, -1, 0) < 0 || propose(s, 0, 0) < 0)
        return trl__fail_memory(err);
    int code = 0, full = 0;
    for (int32_t found = 0; code == 0 && !full && found < o->paths && s->queue.count > 0; found++) {
        candidate c = candidates_take(&s->queue);
        if (nearer(limit, c.cost))
            break;
        int32_t end = follow(s, c);
        if (end < 0 || gather_path(s, end) < 0)
            return trl__fail_memory(err);
        code = path_write_if_fits(&s->path, final_of(s->fst, s->nodes[end].state), o, out, &full, err);
    }
    return code;
}

static int several_paths(const trl_fst *fst, const trl_shortestpath_options *o, const distance *far,
                         const int32_t *rank, trl_fst *out, trl_error *err)
{
    search s = {.fst = fst, .far = far, .rank = rank};
    s.visited = no_entries(fst->states, sizeof *s.visited);
    int code = s.visited ? write_paths(&s, o, out, err) : trl__fail_memory(err);
    trl__free(s.visited);
    trl__free(s.options);
    trl__free(s.pool);
    trl__free(s.nodes);
    trl__free(s.queue.heap);
    trl__free(s.path.arcs);
    return code;
}

/* ---- Both ---- */

static int find_paths(const trl_fst *fst, const trl_shortestpath_options *o, trl_fst *out, trl_error *err)
{
    int code = FN(check_queue)(fst, o->queue, err);
    if (code < 0)
        return code;
    int found = o->paths == 1 && !o->most_states ? one_path(fst, out, err) : 1;
    if (found <= 0)
        return found;
    int32_t *rank = trl__alloc((size_t)fst->states, sizeof *rank);
    distance *far = NULL;
    code = rank ? FN(distances)(fst, 1, o->delta, &far, rank, err) : trl__fail_memory(err);
    if (code == 0 && !is_far(far[fst->start]))
        code = (o->unique ? FN(unique_paths) : several_paths)(fst, o, far, rank, out, err);
    trl__free(rank);
    trl__free(far);
    return code;
}

int FN(fst_shortestpath)(const trl_fst *fst, const trl_shortestpath_options *o, trl_fst **out, trl_error *err)
{
    int code = trl__fst_like(fst, out, err);
    if (code < 0)
        return code;
    if (fst->start != TRL_NO_STATE)
        code = find_paths(fst, o, *out, err);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}
#else
int FN(fst_shortestpath)(const trl_fst *fst, const trl_shortestpath_options *o, trl_fst **out, trl_error *err)
{
    (void)o;
    *out = NULL;
    return trl__fail(err, TRL_EINVAL, "there is no best path in the %s semiring; map the machine to the tropical one",
                     trl_semiring_name(fst->semiring));
}
#endif

#if TRL__FIRST
int trl_fst_shortestpath(const trl_fst *fst, const trl_shortestpath_options *options, trl_fst **out, trl_error *err)
{
    trl_shortestpath_options o = options ? *options : (trl_shortestpath_options){0};
    o.paths = o.paths == 0 ? 1 : o.paths;
    o.delta = o.delta > 0 ? o.delta : TRL__DISTANCE_DELTA;
    *out = NULL;
    if (o.paths < 0)
        return trl__fail(err, TRL_EINVAL, "%d paths can't be found", (int)o.paths);
    TRL__DISPATCH(fst->semiring, fst_shortestpath, (fst, &o, out, err));
}
#endif
