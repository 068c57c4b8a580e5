/* The composition. A way through the loop up to a word costs what the word has ahead; where the word is written this is taken off, and what the model has for the
 * word behind the history is put on. Before that the search should know as much as it can: a state's cost has what the best of the words that it leads to costs
 * behind its history, above what the loop has put in already (its `bonus`), so that each arc has the difference of the bonuses at its ends (Mohri, Pereira and
 * Riley 2008; look-ahead of n-grams by ranges of words).
 *
 * Backing off is a choice. Of the ways to a word, by the row of the history and by those that it backs off to, one that ends in a shorter history is left out where
 * the way before it, backing off behind the word, costs no more: whatever follows, it is never needed.
 *
 * Cost: a state's arcs are made once; a look-up in a row is a binary search. */
#include "decode/lazy_graph.h"

#include "base/fail.h"
#include "base/memory.h"
#include "base/tuple_table.h"

#include <math.h>

#define NOT_YET UINT64_MAX /* in place of the first arc */
#define MOST_WAYS 16       /* to a word, of which one can make another needless */
#define BEST_SLOTS 262144  /* of the cache of look-ahead */
#define LONG_ROW 32        /* words of a row that is worth it */
#define AHEAD 8            /* arcs */

typedef struct best_slot {
    uint32_t set; /* 0: free */
    int32_t history;
    float cost;
} best_slot;

struct trl__lazy_graph {
    const trl_graph *loop;
    const trl__ngram_rows *rows;
    size_t limit, room; /* bytes: between utterances, and within one */
    trl_graph
        view; /* its arrays are ours; where a state is not expanded, first[] and end[] are NOT_YET, and emitting[] is the same unless it has arcs that read nothing */
    size_t state_capacity, arc_count, arc_capacity;
    float *bonus;      /* by state */
    trl__tuples pairs; /* by state: that of the loop, history */
    int32_t *pending;  /* reached by arcs that read nothing, and has such arcs itself: to be expanded at once */
    size_t pending_count, pending_capacity;
    best_slot *best;
    int is_broken; /* an expansion failed halfway */
};

/* ---- Making one ---- */

int trl__lazy_graph_create(const trl_graph *graph, size_t limit, trl__lazy_graph **out, trl_error *err)
{
    trl__lazy_graph *lazy = *out = trl__alloc_zero(1, sizeof *lazy);
    if (!lazy)
        return trl__fail_memory(err);
    lazy->loop = graph;
    lazy->rows = graph->rows;
    lazy->limit = lazy->room = limit;
    lazy->pairs.width = 2;
    lazy->view = *graph;
    lazy->view.rows = NULL;
    lazy->view.file = NULL;
    lazy->view.first = lazy->view.emitting = lazy->view.end = NULL;
    lazy->view.arcs = NULL;
    lazy->view.final = NULL;
    lazy->view.level = NULL;
    lazy->view.pairs = NULL;
    lazy->view.states = 0;
    lazy->best = trl__alloc_zero(BEST_SLOTS, sizeof *lazy->best);
    if (lazy->best)
        return 0;
    trl__lazy_graph_destroy(lazy);
    *out = NULL;
    return trl__fail_memory(err);
}

static void empty(trl__lazy_graph *lazy)
{
    trl__free(lazy->view.first);
    trl__free(lazy->view.emitting);
    trl__free(lazy->view.end);
    trl__free(lazy->view.arcs);
    trl__free(lazy->view.final);
    trl__free(lazy->view.level);
    trl__free(lazy->bonus);
    trl__tuples_free(&lazy->pairs);
    lazy->view.first = lazy->view.emitting = lazy->view.end = NULL;
    lazy->view.arcs = NULL;
    lazy->view.final = lazy->bonus = NULL;
    lazy->view.level = NULL;
    lazy->view.pairs = NULL;
    lazy->view.states = 0;
    lazy->state_capacity = lazy->arc_count = lazy->arc_capacity = 0;
}

void trl__lazy_graph_destroy(trl__lazy_graph *lazy)
{
    if (!lazy)
        return;
    empty(lazy);
    trl__free(lazy->pending);
    trl__free(lazy->best);
    trl__free(lazy);
}

const trl_graph *trl__lazy_graph_view(const trl__lazy_graph *lazy)
{
    return &lazy->view;
}

const trl_graph *trl__lazy_graph_loop(const trl__lazy_graph *lazy)
{
    return lazy->loop;
}

int trl__lazy_graph_is_expanded(const trl__lazy_graph *lazy, int32_t state)
{
    return lazy->view.first[state] != NOT_YET;
}

int trl__lazy_graph_is_silent(const trl__lazy_graph *lazy, int32_t state)
{
    return lazy->view.first[state] == NOT_YET && lazy->view.emitting[state] != NOT_YET;
}

int32_t trl__lazy_graph_loop_state(const trl__lazy_graph *lazy, int32_t state)
{
    return trl__tuples_get(&lazy->pairs, state)[0];
}

static size_t bytes_of(const trl__lazy_graph *lazy)
{
    size_t state = 3 * sizeof *lazy->view.first + 2 * sizeof *lazy->view.final + sizeof *lazy->view.level;
    return lazy->state_capacity * state + lazy->arc_capacity * sizeof *lazy->view.arcs +
           lazy->pairs.capacity * 2 * sizeof(int32_t) + lazy->pairs.slot_count * sizeof *lazy->pairs.slots;
}

int trl__lazy_graph_is_full(const trl__lazy_graph *lazy)
{
    return bytes_of(lazy) > lazy->room;
}

int trl__lazy_graph_like(const trl__lazy_graph *lazy, trl__lazy_graph **out, trl_error *err)
{
    return trl__lazy_graph_create(lazy->loop, lazy->limit, out, err);
}

void trl__lazy_graph_make_room(trl__lazy_graph *lazy)
{
    lazy->room = 2 * bytes_of(lazy) > lazy->room ? 2 * bytes_of(lazy) : lazy->room;
}

/* ---- States ---- */

static int grow_states(trl__lazy_graph *lazy)
{
    trl_graph *g = &lazy->view;
    size_t needed = (size_t)g->states + 1, capacity[6];
    if (needed <= lazy->state_capacity)
        return 0;
    for (int i = 0; i < 6; i++)
        capacity[i] = lazy->state_capacity;
    if (TRL_GROW(g->first, capacity[0], needed) < 0 || TRL_GROW(g->emitting, capacity[1], needed) < 0 ||
        TRL_GROW(g->end, capacity[2], needed) < 0 || TRL_GROW(g->final, capacity[3], needed) < 0 ||
        TRL_GROW(g->level, capacity[4], needed) < 0 || TRL_GROW(lazy->bonus, capacity[5], needed) < 0)
        return -1;
    lazy->state_capacity = capacity[0];
    for (int i = 1; i < 6; i++)
        lazy->state_capacity = capacity[i] < lazy->state_capacity ? capacity[i] : lazy->state_capacity;
    return 0;
}

/* What the best word of the set costs behind the history. Long rows are those of short histories, which are asked for again and again: the last answers are
 * remembered. */
static float best_cost(trl__lazy_graph *lazy, uint32_t set, int32_t history)
{
    const trl__ngram_rows *r = lazy->rows;
    best_slot *slot = NULL;
    if (r->shorter[history] < 0)
        return trl__ngram_rows_own_best(r, set, history);
    if (r->first[history + 1] - r->first[history] > LONG_ROW) {
        slot = &lazy->best[trl__tuple_hash((const int32_t[]){(int32_t)set, history}, 2) & (BEST_SLOTS - 1)];
        if (slot->set == set && slot->history == history)
            return slot->cost;
    }
    float cost = trl__ngram_rows_own_best(r, set, history);
    float backed = r->backing[history] + best_cost(lazy, set, r->shorter[history]); /* chains are short */
    cost = backed < cost ? backed : cost;
    if (slot)
        *slot = (best_slot){set, history, cost};
    return cost;
}

/* Of a state that is reached from another; -1: from none. Most lead to the same words as that one. */
static float bonus_of(trl__lazy_graph *lazy, int32_t from, int32_t loop_state, int32_t history)
{
    uint32_t set = lazy->rows->reach[loop_state];
    if (set == 0)
        return 0;
    if (from >= 0) {
        const int32_t *pair = trl__tuples_get(&lazy->pairs, from);
        if (pair[1] == history && lazy->rows->reach[pair[0]] == set)
            return lazy->bonus[from];
    }
    return best_cost(lazy, set, history) - lazy->rows->set_ahead[set];
}

static int make_state(trl__lazy_graph *lazy, int32_t from, int32_t loop_state, int32_t history, trl_error *err)
{
    const trl_graph *loop = lazy->loop;
    trl_graph *g = &lazy->view;
    if (grow_states(lazy) < 0)
        return trl__fail_memory(err);
    int32_t s = g->states++;
    float bonus = bonus_of(lazy, from, loop_state, history);
    int is_silent = loop->first[loop_state] != loop->emitting[loop_state];
    g->first[s] = g->end[s] = NOT_YET;
    g->emitting[s] = is_silent ? 0 : NOT_YET;
    g->level[s] = loop->level[loop_state];
    g->final[s] = isinf(loop->final[loop_state])
                      ? INFINITY
                      : loop->final[loop_state] - lazy->rows->end_ahead + lazy->rows->final[history] - bonus;
    lazy->bonus[s] = bonus;
    return 0;
}

/* The number of a state, new or old, or an error. */
static int32_t find_state(trl__lazy_graph *lazy, int32_t from, int32_t loop_state, int32_t history, trl_error *err)
{
    int64_t state = trl__tuples_add(&lazy->pairs, (const int32_t[]){loop_state, history});
    if (state < 0)
        return trl__fail_memory(err);
    lazy->view.pairs = lazy->pairs.keys;
    int code = state < lazy->view.states ? 0 : make_state(lazy, from, loop_state, history, err);
    return code < 0 ? code : (int32_t)state;
}

/* ---- Arcs ---- */

static int add_arc(trl__lazy_graph *lazy, int32_t from, const trl__network_arc *arc, int32_t history, float cost,
                   trl_error *err)
{
    const int32_t *here = trl__tuples_get(&lazy->pairs, from);
    int is_loop = arc->next == here[0] && history == here[1];
    int32_t next = is_loop ? from : find_state(lazy, from, arc->next, history, err);
    if (next < 0)
        return next;
    if (isinf(lazy->bonus[next])) /* none of its words can follow */
        return 0;
    if (TRL_GROW(lazy->view.arcs, lazy->arc_capacity, lazy->arc_count + 1) < 0)
        return trl__fail_memory(err);
    if (arc->transition == 0 && trl__lazy_graph_is_silent(lazy, next)) {
        if (TRL_GROW(lazy->pending, lazy->pending_capacity, lazy->pending_count + 1) < 0)
            return trl__fail_memory(err);
        lazy->pending[lazy->pending_count++] = next;
    }
    cost += lazy->bonus[next] - lazy->bonus[from];
    lazy->view.arcs[lazy->arc_count++] = (trl__network_arc){next, arc->transition, arc->word, cost};
    return 0;
}

/* A way to a word: where it ends, and what it costs. */
typedef struct word_way {
    int32_t history;
    float cost;
} word_way;

/* Is it as well to take `other` and back off behind the word? */
static int is_needless(const trl__ngram_rows *r, word_way way, word_way other)
{
    float cost = other.cost;
    for (int32_t h = other.history; h >= 0; cost += r->backing[h], h = r->shorter[h])
        if (h == way.history)
            return cost <= way.cost;
    return 0;
}

static uint32_t find_word(const trl__ngram_rows *r, int32_t history, int32_t word)
{
    uint32_t first = r->first[history], end = r->first[history + 1];
    if (first == end || r->word[first] > word)
        return end;
    uint32_t guess = first + (uint32_t)(word - r->word[first]); /* where a row has all words, it is there */
    if (guess < end && r->word[guess] == word && (guess == first || r->word[guess - 1] < word))
        return guess;
    uint32_t at = trl__row_find(r, first, end, word);
    return at < end && r->word[at] == word ? at : end;
}

/* All ways to the word behind the history that are needed. Those beyond MOST_WAYS are not compared. */
static int add_word_arcs(trl__lazy_graph *lazy, int32_t from, const trl__network_arc *arc, int32_t history,
                         trl_error *err)
{
    const trl__ngram_rows *r = lazy->rows;
    word_way ways[MOST_WAYS];
    int count = 0, code = 0;
    float before = arc->cost - r->ahead[arc->word];
    for (int32_t h = history; code == 0 && h >= 0; before += r->backing[h], h = r->shorter[h])
        for (uint32_t i = find_word(r, h, arc->word); code == 0 && i < r->first[h + 1] && r->word[i] == arc->word;
             i++) {
            word_way way = {r->next[i], before + r->cost[i]};
            int needless = 0;
            for (int k = 0; k < count && !needless; k++)
                needless = is_needless(r, way, ways[k]);
            if (needless)
                continue;
            if (count < MOST_WAYS)
                ways[count++] = way;
            code = add_arc(lazy, from, arc, way.history, way.cost, err);
        }
    return code;
}

/* Where words begin there are hundreds of arcs, to states all over the table: what looking for one reads is asked for some arcs before. */
static void expect_arc(const trl__lazy_graph *lazy, uint64_t arc, uint64_t end, int32_t history)
{
    const trl__network_arc *arcs = lazy->loop->arcs;
    if (arc >= end)
        return;
    trl__tuples_expect(&lazy->pairs, (const int32_t[]){arcs[arc].next, history});
    __builtin_prefetch(&lazy->rows->reach[arcs[arc].next]);
    trl__tuples_expect_key(&lazy->pairs, (const int32_t[]){arcs[arc - AHEAD / 2].next, history});
}

static int expand_one(trl__lazy_graph *lazy, int32_t s, trl_error *err)
{
    const trl_graph *loop = lazy->loop;
    int32_t state = trl__tuples_get(&lazy->pairs, s)[0], history = trl__tuples_get(&lazy->pairs, s)[1];
    int code = 0;
    lazy->view.first[s] = lazy->arc_count;
    for (uint64_t i = loop->first[state]; code == 0 && i < loop->end[state]; i++) {
        const trl__network_arc *arc = &loop->arcs[i];
        expect_arc(lazy, i + AHEAD, loop->end[state], history);
        if (i == loop->emitting[state])
            lazy->view.emitting[s] = lazy->arc_count;
        code = arc->word ? add_word_arcs(lazy, s, arc, history, err) : add_arc(lazy, s, arc, history, arc->cost, err);
    }
    if (loop->emitting[state] == loop->end[state])
        lazy->view.emitting[s] = lazy->arc_count;
    lazy->view.end[s] = lazy->arc_count;
    return code;
}

int trl__lazy_graph_expand(trl__lazy_graph *lazy, int32_t state, trl_error *err)
{
    int code = trl__lazy_graph_is_expanded(lazy, state) ? 0 : expand_one(lazy, state, err);
    while (code == 0 && lazy->pending_count > 0) {
        int32_t next = lazy->pending[--lazy->pending_count];
        code = trl__lazy_graph_is_expanded(lazy, next) ? 0 : expand_one(lazy, next, err);
    }
    if (code == 0 && lazy->arc_count > UINT32_MAX)
        code = trl__fail(err, TRL_ELIMIT, "the part of the graph that is searched has more than 2^32 arcs");
    lazy->is_broken |= code < 0;
    return code;
}

int trl__lazy_graph_begin(trl__lazy_graph *lazy, trl_error *err)
{
    if (lazy->is_broken || bytes_of(lazy) > lazy->limit) {
        empty(lazy);
        lazy->room = lazy->limit;
    }
    lazy->pending_count = 0;
    lazy->is_broken = 0;
    int32_t start = find_state(lazy, -1, lazy->loop->start, lazy->rows->start, err);
    lazy->view.start = start;
    lazy->is_broken = start < 0;
    return start < 0 ? start : trl__lazy_graph_expand(lazy, start, err);
}

int32_t trl__lazy_graph_take_over(trl__lazy_graph *lazy, const trl__lazy_graph *other, int32_t state, trl_error *err)
{
    const int32_t *pair = trl__tuples_get(&other->pairs, state);
    int32_t s = find_state(lazy, -1, pair[0], pair[1], err);
    if (s < 0)
        return s;
    int code = trl__lazy_graph_is_expanded(other, state) ? trl__lazy_graph_expand(lazy, s, err) : 0;
    return code < 0 ? code : s;
}
