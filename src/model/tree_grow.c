/* Splitting leaves best first (Young, Odell and Woodland, "Tree-based state tying for high accuracy acoustic
 * modelling", 1994).
 *
 * A leaf's best question: for each position, its sums are gathered by the unit there, once; a question's sums are then
 * those of the units in its set. Cost of a leaf: contexts * positions * dim + questions * (units seen) * dim.
 *
 * What a leaf's best question is does not depend on other leaves. So threads look at the children of several of the
 * best leaves ahead of time, BATCH of them, and the splits are then taken one after the other by their gains: the
 * order, and so the result, is that of one thread. A few leaves at the end are looked at in vain.
 */
#include "model/tree_grow.h"
#include "model/sums.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define BATCH 64
#define NO_GAIN 1e-10 /* per frame and dimension: rounding alone makes such gains of constant features */

/* What a thread needs to look at a leaf. */
typedef struct desk {
    double *by_unit;           /* rows of sums, the last for TRL__NOTHING */
    double *total, *yes, *no;  /* sums */
    uint8_t *is_seen;          /* by unit */
    int32_t *seen, seen_count; /* units at the position, in order of arrival */
} desk;

typedef struct grower {
    trl__growth *growth;
    desk *desks; /* by worker */
    int workers;
    int32_t *heap; /* leaves that can be split; the one with the highest gain first */
    size_t heap_count, heap_capacity;
    int32_t batch[BATCH]; /* leaves whose children are to be looked at */
} grower;

/* ---- desks ---- */

static int set_up_desk(desk *d, int32_t units, int32_t dim)
{
    size_t rows = (size_t)units + 1, size = trl__sums_size(dim);
    d->by_unit = trl__alloc_aligned((rows + 3) * size, sizeof *d->by_unit);
    d->is_seen = trl__alloc_zero(rows, sizeof *d->is_seen);
    d->seen = trl__alloc(rows, sizeof *d->seen);
    if (!d->by_unit || !d->is_seen || !d->seen)
        return -1;
    d->total = d->by_unit + rows * size;
    d->yes = d->total + size;
    d->no = d->yes + size;
    return 0;
}

static void free_desk(desk *d)
{
    trl__free(d->by_unit);
    trl__free(d->is_seen);
    trl__free(d->seen);
}

/* ---- the best question of a leaf ---- */

static const double *sums_of(const trl__growth *g, int32_t context)
{
    return g->stats->slots + (size_t)context * trl__sums_size(g->stats->dim);
}

static int32_t unit_at(const trl__growth *g, int32_t context, int32_t position)
{
    return trl__tuples_get(&g->stats->keys, context)[position];
}

/* Which units stand at the position. */
static void find_seen(const trl__growth *g, const trl__growth_node *node, int32_t position, desk *d)
{
    int32_t units = g->questions->sets.units;
    while (d->seen_count > 0)
        d->is_seen[d->seen[--d->seen_count]] = 0;
    for (size_t i = node->first; i < node->end; i++) {
        int32_t unit = unit_at(g, g->order[i], position);
        unit = unit == TRL__NOTHING ? units : unit;
        if (!d->is_seen[unit]) {
            d->is_seen[unit] = 1;
            d->seen[d->seen_count++] = unit;
        }
    }
}

static void gather(const trl__growth *g, const trl__growth_node *node, int32_t position, desk *d)
{
    size_t size = trl__sums_size(g->stats->dim);
    for (int32_t i = 0; i < d->seen_count; i++)
        memset(d->by_unit + (size_t)d->seen[i] * size, 0, size * sizeof *d->by_unit);
    for (size_t i = node->first; i < node->end; i++) {
        int32_t unit = unit_at(g, g->order[i], position);
        size_t row = (size_t)(unit == TRL__NOTHING ? g->questions->sets.units : unit);
        trl__sums_add(d->by_unit + row * size, sums_of(g, g->order[i]), size);
    }
}

/* Sets of units have TRL__NOTHING as their last. */
static int is_in(const trl__growth *g, int32_t set, int32_t unit)
{
    return trl__unit_set_has(&g->questions->sets, set, unit == g->questions->sets.units ? TRL__NOTHING : unit);
}

/* The gain of a question about the position whose sums lie on the desk; 0 where one side has too few frames. */
static double gain_of(const trl__growth *g, const trl__growth_node *node, int32_t set, desk *d)
{
    size_t size = trl__sums_size(g->stats->dim);
    double frames = 0, least = g->options->least_frames, floor = g->options->variance_floor;
    int32_t members = 0;
    for (int32_t i = 0; i < d->seen_count; i++)
        if (is_in(g, set, d->seen[i])) {
            frames += d->by_unit[(size_t)d->seen[i] * size];
            members++;
        }
    if (members == 0 || members == d->seen_count || !(frames > 0 && frames >= least) ||
        !(node->frames - frames > 0 && node->frames - frames >= least))
        return 0;
    memset(d->yes, 0, size * sizeof *d->yes);
    for (int32_t i = 0; i < d->seen_count; i++)
        if (is_in(g, set, d->seen[i]))
            trl__sums_add(d->yes, d->by_unit + (size_t)d->seen[i] * size, size);
    for (size_t i = 0; i < size; i++)
        d->no[i] = d->total[i] - d->yes[i];
    return trl__sums_likelihood(d->yes, g->stats->dim, floor) + trl__sums_likelihood(d->no, g->stats->dim, floor) -
           node->likelihood;
}

static void try_position(const trl__growth *g, trl__growth_node *node, int32_t position, desk *d)
{
    find_seen(g, node, position, d);
    if (d->seen_count < 2)
        return;
    gather(g, node, position, d);
    for (int32_t set = 0; set < g->questions->sets.count; set++) {
        double gain = g->questions->positions[set] >> position & 1 ? gain_of(g, node, set, d) : 0;
        if (gain > node->gain) {
            node->gain = gain;
            node->position = position;
            node->set = set;
        }
    }
}

static void look_at(const trl__growth *g, trl__growth_node *node, int may_split, desk *d)
{
    size_t size = trl__sums_size(g->stats->dim);
    memset(d->total, 0, size * sizeof *d->total);
    for (size_t i = node->first; i < node->end; i++)
        trl__sums_add(d->total, sums_of(g, g->order[i]), size);
    node->frames = d->total[0];
    node->likelihood = trl__sums_likelihood(d->total, g->stats->dim, g->options->variance_floor);
    node->gain = 0;
    node->yes = node->no = -1;
    for (int32_t p = 0; may_split && p < g->stats->width && node->depth < TRL__DEEPEST_TREE; p++)
        try_position(g, node, p, d);
    if (node->gain < g->options->least_gain || node->gain < NO_GAIN * node->frames * g->stats->dim)
        node->gain = 0;
}

/* ---- the heap ---- */

static int goes_before(const grower *w, int32_t a, int32_t b)
{
    double x = w->growth->node[a].gain, y = w->growth->node[b].gain;
    return x > y || (x == y && a < b);
}

static int push(grower *w, int32_t node)
{
    if (w->growth->node[node].gain <= 0)
        return 0;
    if (TRL_GROW(w->heap, w->heap_capacity, w->heap_count + 1) < 0)
        return -1;
    size_t at = w->heap_count++;
    for (; at > 0 && goes_before(w, node, w->heap[(at - 1) / 2]); at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = node;
    return 0;
}

static int32_t pop(grower *w)
{
    int32_t top = w->heap[0], last = w->heap[--w->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < w->heap_count; at = child) {
        if (child + 1 < w->heap_count && goes_before(w, w->heap[child + 1], w->heap[child]))
            child++;
        if (!goes_before(w, w->heap[child], last))
            break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = last;
    return top;
}

/* ---- growing ---- */

static int look_at_root(void *user, size_t index, int worker, trl_error *err)
{
    grower *w = user;
    (void)err;
    look_at(w->growth, &w->growth->node[index], !w->growth->whole[index], &w->desks[worker]);
    return 0;
}

/* Brings the contexts that answer yes to the front. Returns where the others begin. */
static size_t part(const trl__growth *g, const trl__growth_node *node)
{
    size_t yes = node->first, no = node->end;
    while (yes < no) {
        int32_t context = g->order[yes];
        if (trl__unit_set_has(&g->questions->sets, node->set, unit_at(g, context, node->position))) {
            yes++;
        } else {
            g->order[yes] = g->order[--no];
            g->order[no] = context;
        }
    }
    return yes;
}

static int look_at_children(void *user, size_t index, int worker, trl_error *err)
{
    grower *w = user;
    trl__growth *g = w->growth;
    const trl__growth_node *node = &g->node[w->batch[index]];
    trl__growth_node *yes = &g->node[node->yes], *no = &g->node[node->no];
    size_t middle = part(g, node);
    (void)err;
    *yes = (trl__growth_node){.first = node->first, .end = middle, .depth = node->depth + 1};
    *no = (trl__growth_node){.first = middle, .end = node->end, .depth = node->depth + 1};
    look_at(g, yes, 1, &w->desks[worker]);
    look_at(g, no, 1, &w->desks[worker]);
    return 0;
}

/* Makes the children of the best leaves, up to BATCH of them, and no more than could still be split. */
static int look_ahead(grower *w, int32_t leaves_left, trl_error *err)
{
    trl__growth *g = w->growth;
    int32_t popped[BATCH], count = 0, batch = 0;
    while (count < BATCH && count < leaves_left && w->heap_count > 0)
        popped[count++] = pop(w);
    if (TRL_GROW(g->node, g->capacity, (size_t)g->nodes + 2 * (size_t)count) < 0)
        return trl__fail_memory(err);
    for (int32_t i = 0; i < count; i++) {
        trl__growth_node *node = &g->node[popped[i]];
        if (node->yes < 0) {
            node->yes = g->nodes++;
            node->no = g->nodes++;
            w->batch[batch++] = popped[i];
        }
    }
    int code = trl_pool_for(g->options->pool, (size_t)batch, look_at_children, w, err);
    for (int32_t i = 0; code == 0 && i < count; i++)
        code = push(w, popped[i]) < 0 ? trl__fail_memory(err) : 0;
    return code;
}

static int grow(grower *w, trl_error *err)
{
    trl__growth *g = w->growth;
    int code = trl_pool_for(g->options->pool, (size_t)g->roots, look_at_root, w, err);
    for (int32_t r = 0; code == 0 && r < g->roots; r++)
        code = push(w, r) < 0 ? trl__fail_memory(err) : 0;
    while (code == 0 && w->heap_count > 0 && g->roots + g->splits < g->options->most_leaves) {
        if (g->node[w->heap[0]].yes < 0) {
            code = look_ahead(w, g->options->most_leaves - g->roots - g->splits, err);
            continue;
        }
        trl__growth_node *best = &g->node[pop(w)];
        best->taken = 1;
        g->splits++;
        g->last_gain = best->gain;
        if (push(w, best->yes) < 0 || push(w, best->no) < 0)
            code = trl__fail_memory(err);
    }
    return code;
}

int trl__tree_grow(trl__growth *growth, trl_error *err)
{
    grower w = {.growth = growth, .workers = growth->options->pool ? trl_pool_threads(growth->options->pool) : 1};
    w.desks = trl__alloc_zero((size_t)w.workers, sizeof *w.desks);
    int ready = w.desks != NULL;
    for (int i = 0; ready && i < w.workers; i++)
        ready = set_up_desk(&w.desks[i], growth->questions->sets.units, growth->stats->dim) == 0;
    int code = ready ? grow(&w, err) : trl__fail_memory(err);
    for (int i = 0; w.desks && i < w.workers; i++)
        free_desk(&w.desks[i]);
    trl__free(w.desks);
    trl__free(w.heap);
    return code;
}
