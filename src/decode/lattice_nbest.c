/* The n best word strings of a lattice.
 *
 * The ways on from a state, arcs and its end, are sorted by what the best path over them costs. A path is then a list of ranks, nearly all of them 0, and each
 * path but the best is another one up to some state, there the next rank, and 0 from then on. A heap has those that come next: a path that is taken adds, for
 * each state behind the one where it left the other, the path that leaves it there; the totals are known before, from the costs to the end. So the n-th
 * path costs O(its states * log of the heap).
 */
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "decode/lattice_data.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct trl_nbest {
    int32_t *words;
    size_t word_count, word_capacity;
    size_t *first; /* count + 1 */
    double *costs; /* graph and acoustic of each */
    size_t count, first_capacity, cost_capacity;
};

/* A way on from a state: an arc, or its end (NONE). */
typedef struct option {
    uint32_t arc;
    double cost; /* of the best path over it, from the state on */
} option;

/* A state on the way of a path. */
typedef struct step {
    uint32_t before; /* step; NONE: the start */
    uint32_t option; /* taken there */
    int32_t state;
    double cost; /* before the option */
} step;

typedef struct candidate {
    uint32_t step;
    double total;
} candidate;

typedef struct nbest_search {
    const trl_lattice *lattice;
    const trl_lattice_scale *scale;
    double *rest;
    option *options; /* of state s: from first[s] + s on, one more than arcs; those that lead nowhere at the end */
    step *steps;
    size_t step_count, step_capacity;
    candidate *heap;
    size_t heap_count, heap_capacity;
    int32_t *words; /* of the path in hand */
    size_t word_count, word_capacity;
    trl__map seen;
    trl__arena keys;
} nbest_search;

/* ---- options ---- */

static int by_cost(const void *a, const void *b)
{
    const option *x = a, *y = b;
    return x->cost != y->cost ? (x->cost > y->cost) - (x->cost < y->cost) : (x->arc > y->arc) - (x->arc < y->arc);
}

static uint32_t first_option(const trl_lattice *l, int32_t state)
{
    return l->first[state] + (uint32_t)state;
}

static int prepare(nbest_search *n, trl_error *err)
{
    const trl_lattice *l = n->lattice;
    size_t states = (size_t)l->states, arcs = states > 0 ? l->first[states] : 0;
    n->rest = trl__alloc(states + 1, sizeof *n->rest);
    n->options = trl__alloc(arcs + states + 1, sizeof *n->options);
    if (!n->rest || !n->options)
        return trl__fail_memory(err);
    trl__lattice_rests(l, n->scale, n->rest);
    for (int32_t s = 0; s < l->states; s++) {
        option *o = n->options + first_option(l, s);
        size_t count = 0;
        for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++)
            o[count++] = (option){a, trl__lattice_arc_cost(&l->arcs[a], n->scale) + n->rest[l->arcs[a].next]};
        o[count++] = (option){NONE, trl__lattice_end_cost(&l->ends[s], n->scale)};
        if (count > 1)
            qsort(o, count, sizeof *o, by_cost);
    }
    return 0;
}

/* ---- the heap ---- */

static int push(nbest_search *n, uint32_t number, double total, trl_error *err)
{
    if (TRL_GROW(n->heap, n->heap_capacity, n->heap_count + 1) < 0)
        return trl__fail_memory(err);
    size_t at = n->heap_count++;
    for (; at > 0 && total < n->heap[(at - 1) / 2].total; at = (at - 1) / 2)
        n->heap[at] = n->heap[(at - 1) / 2];
    n->heap[at] = (candidate){number, total};
    return 0;
}

static candidate pop(nbest_search *n)
{
    candidate top = n->heap[0], last = n->heap[--n->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < n->heap_count; child = 2 * at + 1) {
        if (child + 1 < n->heap_count && n->heap[child + 1].total < n->heap[child].total)
            child++;
        if (n->heap[child].total >= last.total)
            break;
        n->heap[at] = n->heap[child];
        at = child;
    }
    n->heap[at] = last;
    return top;
}

/* ---- paths ---- */

static int add_step(nbest_search *n, step s, uint32_t *number, trl_error *err)
{
    if (n->step_count == NONE)
        return trl__fail(err, TRL_ELIMIT, "so many best paths can't be found; ask for fewer");
    if (TRL_GROW(n->steps, n->step_capacity, n->step_count + 1) < 0)
        return trl__fail_memory(err);
    *number = (uint32_t)n->step_count;
    n->steps[n->step_count++] = s;
    return 0;
}

/* The path that takes the next option at this step comes into the heap. */
static int add_sibling(nbest_search *n, step s, trl_error *err)
{
    const trl_lattice *l = n->lattice;
    uint32_t number = 0;
    if (++s.option > first_option(l, s.state) + l->first[s.state + 1] - l->first[s.state] ||
        n->options[s.option].cost == INFINITY)
        return 0;
    int code = add_step(n, s, &number, err);
    return code < 0 ? code : push(n, number, s.cost + n->options[s.option].cost, err);
}

/* Goes on from a step with the best options to the end; *end becomes the last step. */
static int complete(nbest_search *n, uint32_t number, uint32_t *end, trl_error *err)
{
    const trl_lattice *l = n->lattice;
    int code = 0;
    for (;;) {
        step s = n->steps[number];
        uint32_t arc = n->options[s.option].arc;
        code = add_sibling(n, s, err);
        *end = number;
        if (code < 0 || arc == NONE)
            return code;
        int32_t next = l->arcs[arc].next;
        code = add_step(
            n, (step){number, first_option(l, next), next, s.cost + trl__lattice_arc_cost(&l->arcs[arc], n->scale)},
            &number, err);
        if (code < 0)
            return code;
    }
}

/* The path's words, and its costs unscaled. */
static int read_path(nbest_search *n, uint32_t end, double *graph, double *acoustic, trl_error *err)
{
    const trl_lattice *l = n->lattice;
    n->word_count = 0;
    *graph = (double)l->ends[n->steps[end].state].graph;
    *acoustic = (double)l->ends[n->steps[end].state].acoustic;
    for (uint32_t at = n->steps[end].before; at != NONE; at = n->steps[at].before) {
        const trl_lattice_arc *arc = &l->arcs[n->options[n->steps[at].option].arc];
        *graph += (double)arc->graph;
        *acoustic += (double)arc->acoustic;
        if (arc->word == 0)
            continue;
        if (TRL_GROW(n->words, n->word_capacity, n->word_count + 1) < 0)
            return trl__fail_memory(err);
        n->words[n->word_count++] = arc->word;
    }
    for (size_t i = 0; i < n->word_count / 2; i++) {
        int32_t kept = n->words[i];
        n->words[i] = n->words[n->word_count - 1 - i];
        n->words[n->word_count - 1 - i] = kept;
    }
    return 0;
}

/* 1: these words are new, 0: there has been a better path with them. */
static int is_new(nbest_search *n, trl_error *err)
{
    uint64_t value = 0;
    size_t bytes = n->word_count * sizeof *n->words;
    char *key = trl__arena_alloc(&n->keys, bytes + 1);
    if (!key)
        return trl__fail_memory(err);
    if (bytes > 0)
        memcpy(key, n->words, bytes);
    int added = trl__map_add(&n->seen, key, bytes, &value);
    return added < 0 ? trl__fail_memory(err) : added;
}

static int keep_path(const nbest_search *n, double graph, double acoustic, trl_nbest *list, trl_error *err)
{
    if (TRL_GROW(list->words, list->word_capacity, list->word_count + n->word_count + 1) < 0 ||
        TRL_GROW(list->first, list->first_capacity, list->count + 2) < 0 ||
        TRL_GROW(list->costs, list->cost_capacity, 2 * list->count + 2) < 0)
        return trl__fail_memory(err);
    if (n->word_count > 0)
        memcpy(list->words + list->word_count, n->words, n->word_count * sizeof *n->words);
    list->first[list->count] = list->word_count;
    list->word_count += n->word_count;
    list->costs[2 * list->count] = graph;
    list->costs[2 * list->count + 1] = acoustic;
    list->first[++list->count] = list->word_count;
    return 0;
}

static int find_paths(nbest_search *n, size_t most, trl_nbest *list, trl_error *err)
{
    uint32_t number = 0, end = 0;
    int code = prepare(n, err);
    if (code < 0 || n->lattice->states == 0 || n->rest[0] == INFINITY || most == 0)
        return code;
    code = add_step(n, (step){.before = NONE}, &number, err);
    if (code == 0)
        code = push(n, number, n->rest[0], err);
    while (code == 0 && n->heap_count > 0 && list->count < most) {
        double graph = 0, acoustic = 0;
        code = complete(n, pop(n).step, &end, err);
        if (code == 0)
            code = read_path(n, end, &graph, &acoustic, err);
        int fresh = code < 0 ? code : is_new(n, err);
        code = fresh > 0 ? keep_path(n, graph, acoustic, list, err) : fresh;
    }
    return code;
}

int trl_lattice_nbest(const trl_lattice *lattice, const trl_lattice_scale *scale, size_t most, trl_nbest **out,
                      trl_error *err)
{
    nbest_search n = {.lattice = lattice, .scale = scale};
    *out = NULL;
    int code = trl__lattice_check_scale(scale, err);
    if (code < 0)
        return code;
    trl_nbest *list = trl__alloc_zero(1, sizeof *list);
    code = list ? find_paths(&n, most, list, err) : trl__fail_memory(err);
    trl__free(n.rest);
    trl__free(n.options);
    trl__free(n.steps);
    trl__free(n.heap);
    trl__free(n.words);
    trl__map_free(&n.seen);
    trl__arena_free(&n.keys);
    if (code < 0)
        trl_nbest_destroy(list);
    else
        *out = list;
    return code;
}

/* ---- the list ---- */

size_t trl_nbest_count(const trl_nbest *list)
{
    return list->count;
}

trl_sentence trl_nbest_get(const trl_nbest *list, size_t i)
{
    return (trl_sentence){list->words + list->first[i], list->first[i + 1] - list->first[i], list->costs[2 * i],
                          list->costs[2 * i + 1]};
}

void trl_nbest_destroy(trl_nbest *list)
{
    if (!list)
        return;
    trl__free(list->words);
    trl__free(list->first);
    trl__free(list->costs);
    trl__free(list);
}
