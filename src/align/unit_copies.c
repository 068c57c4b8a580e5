/* The copies of a phone in a graph with contexts. The full expansion would have a copy for each pair of a history and
 * a sequence that may follow. Pairs share a copy where nothing can tell them apart:
 *
 *   - histories share when the tree gives the same tied states whatever follows, and with the phone they become the
 *     same history;
 *   - among those, sequences share when the tied states are the same, and the same sources promised them.
 *
 * So a copy is a rectangle, histories x sequences, and all of a copy's pairs are the same to what is before and
 * behind it: no path is lost, and none is there that the full expansion would not have.
 *
 * Cost per phone: histories x sequences look-ups in the tree per state, and copies x sequences comparisons. Inside a
 * word that is one of each with triphones. */
#include "align/graph_contexts.h"
#include "backend/backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define MOST_WINDOWS ((size_t)1 << 22) /* of one phone */

typedef struct expansion {
    trl__graph *graph;
    const trl__unit_map *map;
    const trl__graph_phone *phone;
    trl__contexts *c;
    trl__sequence_set rights; /* what may follow the phone */
    size_t lefts;             /* distinct histories before it */
    size_t states;
} expansion;

static size_t copy_before(const trl__graph *g, int32_t node)
{
    return node == TRL__START ? 0 : (size_t)g->node_phone[node] + 1;
}

/* ---- who may go on ---- */

/* Says for each right whether the phone and that keep the source's promise. Both sets rise. Returns how many do. */
static size_t compare_promise(const expansion *e, size_t copy, uint8_t *keeps)
{
    const trl__contexts *c = e->c;
    trl__sequence_set promise = c->promise[copy];
    size_t at = 0, kept = 0;
    int anything = copy == 0 || c->behind == 0;
    for (size_t r = 0; r < e->rights.count; r++) {
        int order = 0;
        for (; !anything && at < promise.count; at++) {
            const int32_t *promised = trl__sequence(c, promise.first + at);
            order = (promised[0] > e->phone->unit) - (promised[0] < e->phone->unit);
            if (order == 0)
                order = trl__sequence_compare(promised + 1, trl__sequence(c, e->rights.first + r), c->behind - 1);
            if (order >= 0)
                break;
        }
        keeps[r] = anything || (at < promise.count && order == 0);
        kept += keeps[r];
    }
    return kept;
}

/* The number of a copy's history among the lefts. */
static size_t number_left(expansion *e, size_t copy)
{
    trl__contexts *c = e->c;
    size_t units = (size_t)c->before, left = 0;
    while (left < e->lefts && trl__sequence_compare(c->lefts + left * units, c->history + copy * units, c->before) != 0)
        left++;
    if (left == e->lefts)
        for (size_t k = 0; k < units; k++)
            c->lefts[e->lefts * units + k] = c->history[copy * units + k];
    e->lefts += left == e->lefts;
    return left;
}

static int sort_sources(expansion *e)
{
    trl__contexts *c = e->c;
    const trl__graph_sources *sources = &e->graph->chain;
    size_t rights = e->rights.count;
    if (sources->count > MOST_WINDOWS / (rights + 1))
        return TRL_ELIMIT;
    if (TRL_GROW(c->left, c->left_capacity, sources->count) < 0 ||
        TRL_GROW(c->keeps, c->keeps_capacity, sources->count * rights) < 0 ||
        TRL_GROW(c->lefts, c->lefts_capacity, sources->count * (size_t)c->before + 1) < 0)
        return TRL_ENOMEM;
    e->lefts = 0;
    for (size_t i = 0; i < sources->count; i++) {
        size_t copy = copy_before(e->graph, sources->items[i].node);
        c->left[i] = compare_promise(e, copy, c->keeps + i * rights) > 0 ? (int32_t)number_left(e, copy) : -1;
    }
    return 0;
}

/* ---- what they share ---- */

static int32_t *tied_of(const expansion *e, size_t left, size_t right)
{
    return e->c->tied + (left * e->rights.count + right) * e->states;
}

static int look_up(const expansion *e)
{
    trl__contexts *c = e->c;
    int32_t window[TRL__WIDEST_CONTEXT];
    size_t windows = e->lefts * e->rights.count;
    if (windows > MOST_WINDOWS / e->states)
        return TRL_ELIMIT;
    if (TRL_GROW(c->tied, c->tied_capacity, windows * e->states) < 0)
        return TRL_ENOMEM;
    window[c->before] = e->phone->unit;
    for (size_t l = 0; l < e->lefts; l++) {
        for (int32_t k = 0; k < c->before; k++)
            window[k] = c->lefts[l * (size_t)c->before + (size_t)k];
        for (size_t r = 0; r < e->rights.count; r++) {
            for (int32_t k = 0; k < c->behind; k++)
                window[c->before + 1 + k] = trl__sequence(c, e->rights.first + r)[k];
            for (size_t s = 0; s < e->states; s++)
                tied_of(e, l, r)[s] = trl__tree_find(c->tree, window, (int32_t)s);
        }
    }
    return 0;
}

/* The same tied states whatever follows, and the same history for what comes next. */
static int are_lefts_alike(const expansion *e, size_t a, size_t b)
{
    size_t units = (size_t)e->c->before;
    const int32_t *x = e->c->lefts + a * units, *y = e->c->lefts + b * units;
    return (units == 0 || trl__sequence_compare(x + 1, y + 1, e->c->before - 1) == 0) &&
           memcmp(tied_of(e, a, 0), tied_of(e, b, 0), e->rights.count * e->states * sizeof *e->c->tied) == 0;
}

static int group_lefts(const expansion *e)
{
    trl__contexts *c = e->c;
    if (TRL_GROW(c->group, c->group_capacity, e->lefts) < 0)
        return TRL_ENOMEM;
    for (size_t l = 0; l < e->lefts; l++) {
        size_t first = 0;
        while (first < l && (c->group[first] != (int32_t)first || !are_lefts_alike(e, first, l)))
            first++;
        c->group[l] = (int32_t)first;
    }
    return 0;
}

static int is_in_group(const expansion *e, size_t source, size_t group)
{
    int32_t left = e->c->left[source];
    return left >= 0 && e->c->group[left] == (int32_t)group;
}

/* The same tied states behind this group of lefts, and the same sources lead there. */
static int are_rights_alike(const expansion *e, size_t group, size_t a, size_t b)
{
    if (memcmp(tied_of(e, group, a), tied_of(e, group, b), e->states * sizeof *e->c->tied) != 0)
        return 0;
    for (size_t i = 0; i < e->graph->chain.count; i++) {
        const uint8_t *keeps = e->c->keeps + i * e->rights.count;
        if (is_in_group(e, i, group) && keeps[a] != keeps[b])
            return 0;
    }
    return 1;
}

/* ---- one copy ---- */

static int choose_sources(const expansion *e, size_t group, size_t right)
{
    trl__graph_sources *chosen = &e->c->chosen;
    const trl__graph_sources *sources = &e->graph->chain;
    if (TRL_GROW(chosen->items, chosen->capacity, sources->count) < 0)
        return TRL_ENOMEM;
    chosen->count = 0;
    for (size_t i = 0; i < sources->count; i++)
        if (is_in_group(e, i, group) && e->c->keeps[i * e->rights.count + right])
            chosen->items[chosen->count++] = sources->items[i];
    return 0;
}

static int choose_triples(const expansion *e, size_t group, size_t right)
{
    trl__contexts *c = e->c;
    if (TRL_GROW(c->triples, c->triple_capacity, e->states) < 0)
        return TRL_ENOMEM;
    for (size_t s = 0; s < e->states; s++) {
        int32_t triple = trl__model_find_triple(e->map->model, e->phone->unit, (int32_t)s, tied_of(e, group, right)[s]);
        if (triple < 0)
            return TRL_ECORRUPT;
        c->triples[s] = e->map->model->triple[triple];
    }
    return 0;
}

/* The last copy's history and promise. */
static int note_context(const expansion *e, size_t group, size_t right)
{
    trl__contexts *c = e->c;
    size_t units = (size_t)c->before, copy = (size_t)e->graph->phones;
    if (TRL_GROW(c->history, c->history_capacity, (copy + 1) * units + 1) < 0 ||
        TRL_GROW(c->promise, c->promise_capacity, copy + 1) < 0)
        return TRL_ENOMEM;
    for (size_t k = 0; k < units; k++)
        c->history[copy * units + k] = k + 1 < units ? c->lefts[group * units + k + 1] : e->phone->unit;
    size_t count = 0;
    for (size_t r = right; r < e->rights.count; r++)
        count += c->copy[r] == (int32_t)right;
    c->promise[copy] = e->rights;
    if (count == e->rights.count)
        return 0;
    int code = trl__contexts_reserve(c, count);
    c->promise[copy] = (trl__sequence_set){c->sequence_count, count};
    for (size_t r = right; code == 0 && r < e->rights.count; r++)
        if (c->copy[r] == (int32_t)right)
            memcpy(trl__sequence(c, c->sequence_count++), trl__sequence(c, e->rights.first + r),
                   (size_t)c->behind * sizeof *c->sequences);
    return code;
}

static int add_copy(const expansion *e, size_t group, size_t right)
{
    for (size_t r = right; r < e->rights.count; r++)
        if (e->c->copy[r] < 0 && are_rights_alike(e, group, right, r))
            e->c->copy[r] = (int32_t)right;
    int code = choose_sources(e, group, right);
    if (code == 0)
        code = choose_triples(e, group, right);
    if (code == 0)
        code = trl__graph_add_copy(e->graph, e->map, e->phone, e->c->triples, &e->c->chosen);
    return code < 0 ? code : note_context(e, group, right);
}

static int add_group(const expansion *e, size_t group)
{
    trl__contexts *c = e->c;
    int code = 0;
    if (TRL_GROW(c->copy, c->copy_capacity, e->rights.count) < 0)
        return TRL_ENOMEM;
    for (size_t r = 0; r < e->rights.count; r++)
        c->copy[r] = -1;
    for (size_t r = 0; code == 0 && r < e->rights.count; r++)
        if (c->copy[r] < 0)
            code = add_copy(e, group, r);
    return code;
}

int trl__graph_add_copies(trl__graph *graph, const trl__unit_map *map, const trl__graph_phone *phone)
{
    trl__contexts *c = graph->contexts;
    expansion e = {.graph = graph,
                   .map = map,
                   .phone = phone,
                   .c = c,
                   .rights = c->following[--c->following_count],
                   .states = (size_t)trl__shape_of(map, phone->unit)->states};
    int code = sort_sources(&e);
    if (code == 0)
        code = look_up(&e);
    if (code == 0)
        code = group_lefts(&e);
    for (size_t l = 0; code == 0 && l < e.lefts; l++)
        if (c->group[l] == (int32_t)l)
            code = add_group(&e, l);
    return code;
}

/* Sequences rise, and TRL__NOTHING comes before all units. */
int trl__contexts_may_end(const trl__graph *graph, int32_t node)
{
    const trl__contexts *c = graph->contexts;
    return c->behind == 0 || trl__sequence(c, c->promise[copy_before(graph, node)].first)[0] == TRL__NOTHING;
}
