/* What the searches for best paths share: a queue of candidates, and how a path is written. */
#ifndef TRL_FST_BEST_PATHS_H
#define TRL_FST_BEST_PATHS_H

#include "fst/distance.h"

/* A path that is known but not yet written: it leaves the known ones at a node, by that node's option of this rank. */
typedef struct candidate {
    distance cost; /* of the whole path */
    int32_t node;
    uint32_t option;
} candidate;

typedef struct candidates {
    candidate *heap;
    size_t count, capacity;
} candidates;

/* Between equals, what was found first. */
static inline int goes_before(const candidate *a, const candidate *b)
{
    if (nearer(a->cost, b->cost) || nearer(b->cost, a->cost))
        return nearer(a->cost, b->cost);
    return a->node != b->node ? a->node < b->node : a->option < b->option;
}

static inline int candidates_put(candidates *c, candidate new)
{
    if (TRL_GROW(c->heap, c->capacity, c->count + 1) < 0)
        return -1;
    size_t i = c->count++;
    for (; i > 0 && goes_before(&new, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = new;
    return 0;
}

static inline candidate candidates_take(candidates *c)
{
    candidate best = c->heap[0], last = c->heap[--c->count];
    size_t i = 0;
    for (size_t child = 1; child < c->count; child = 2 * i + 1) {
        if (child + 1 < c->count && goes_before(&c->heap[child + 1], &c->heap[child]))
            child++;
        if (!goes_before(&c->heap[child], &last))
            break;
        c->heap[i] = c->heap[child];
        i = child;
    }
    c->heap[i] = last;
    return best;
}

/* A path as the arcs it takes, gathered from its end. */
typedef struct path_arcs {
    arc *arcs;
    size_t count, capacity;
} path_arcs;

static inline int path_put(path_arcs *path, arc a)
{
    if (TRL_GROW(path->arcs, path->capacity, path->count + 1) < 0)
        return -1;
    path->arcs[path->count++] = a;
    return 0;
}

/* Appends the path to a machine whose start is state 0, and empties it. */
static inline int path_write(path_arcs *path, weight final, trl_fst *out, trl_error *err)
{
    int32_t from = 0;
    if (out->states == 0 && (out->start = push_state(out, err)) < 0)
        return out->start;
    while (path->count > 0) {
        arc a = path->arcs[--path->count];
        a.next = push_state(out, err);
        int code = a.next < 0 ? a.next : push_arc(out, from, a, err);
        if (code < 0)
            return code;
        from = a.next;
    }
    set_final(out, from, final);
    return 0;
}

/* The same, unless the machine would get too many states: then *full becomes 1. */
static inline int path_write_if_fits(path_arcs *path, weight final, const trl_shortestpath_options *o, trl_fst *out,
                                     int *full, trl_error *err)
{
    int64_t states = out->states + (out->states == 0) + (int64_t)path->count;
    *full = o->most_states > 0 && states > o->most_states;
    return *full ? 0 : path_write(path, final, out, err);
}

/* A table with -1 for every state. */
static inline void *no_entries(int32_t states, size_t size)
{
    void *table = trl__alloc((size_t)states, size);
    return table ? memset(table, 0xff, (size_t)states * size) : NULL;
}

/* Costs beyond this are out of the question. */
static inline distance cost_limit(const trl_shortestpath_options *o, distance best)
{
    return o->has_prune ? beyond(best, from_public(o->prune)) : FAR;
}

/* Paths with different inputs only (shortestpath_unique.c). far[] and rank[] are those to the ends. */
int FN(unique_paths)(const trl_fst *fst, const trl_shortestpath_options *o, const distance *far, const int32_t *rank,
                     trl_fst *out, trl_error *err);

/* The arc that the best path from a state goes on by, to a state of lower rank, or UINT32_MAX: it ends there. */
static inline uint32_t best_arc(const trl_fst *fst, int32_t s, const distance *far, const int32_t *rank)
{
    const arc *arcs = arcs_of(fst, s);
    uint32_t best = UINT32_MAX;
    distance least = is_zero(final_of(fst, s)) ? FAR : to_distance(final_of(fst, s));
    for (uint32_t i = 0; i < arc_count(fst, s); i++) {
        int32_t next = arcs[i].next;
        distance d = beyond(far[next], arcs[i].weight);
        if (rank[next] < rank[s] && !is_far(far[next]) && nearer(d, least)) {
            least = d;
            best = i;
        }
    }
    return best;
}

#endif
