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
    trl__lazy_graph *x = *out = trl__alloc_zero(1, sizeof *x);
    if (!x)
        return trl__fail_memory(err);
    x->loop = graph;
    x->rows = graph->rows;
    x->limit = x->room = limit;
    x->pairs.width = 2;
    x->view = *graph;
    x->view.rows = NULL;
    x->view.file = NULL;
    x->view.first = x->view.emitting = x->view.end = NULL;
    x->view.arcs = NULL;
    x->view.final = NULL;
    x->view.level = NULL;
    x->view.pairs = NULL;
    x->view.states = 0;
    x->best = trl__alloc_zero(BEST_SLOTS, sizeof *x->best);
    if (x->best)
        return 0;
    trl__lazy_graph_destroy(x);
    *out = NULL;
    return trl__fail_memory(err);
}

static void empty(trl__lazy_graph *x)
{
    trl__free(x->view.first);
    trl__free(x->view.emitting);
    trl__free(x->view.end);
    trl__free(x->view.arcs);
    trl__free(x->view.final);
    trl__free(x->view.level);
    trl__free(x->bonus);
    trl__tuples_free(&x->pairs);
    x->view.first = x->view.emitting = x->view.end = NULL;
    x->view.arcs = NULL;
    x->view.final = x->bonus = NULL;
    x->view.level = NULL;
    x->view.pairs = NULL;
    x->view.states = 0;
    x->state_capacity = x->arc_count = x->arc_capacity = 0;
}

void trl__lazy_graph_destroy(trl__lazy_graph *x)
{
    if (!x)
        return;
    empty(x);
    trl__free(x->pending);
    trl__free(x->best);
    trl__free(x);
}

const trl_graph *trl__lazy_graph_view(const trl__lazy_graph *x)
{
    return &x->view;
}

const trl_graph *trl__lazy_graph_loop(const trl__lazy_graph *x)
{
    return x->loop;
}

int trl__lazy_graph_is_expanded(const trl__lazy_graph *x, int32_t state)
{
    return x->view.first[state] != NOT_YET;
}

int trl__lazy_graph_is_silent(const trl__lazy_graph *x, int32_t state)
{
    return x->view.first[state] == NOT_YET && x->view.emitting[state] != NOT_YET;
}

int32_t trl__lazy_graph_loop_state(const trl__lazy_graph *x, int32_t state)
{
    return trl__tuples_get(&x->pairs, state)[0];
}

static size_t bytes_of(const trl__lazy_graph *x)
{
    size_t state = 3 * sizeof *x->view.first + 2 * sizeof *x->view.final + sizeof *x->view.level;
    return x->state_capacity * state + x->arc_capacity * sizeof *x->view.arcs +
           x->pairs.capacity * 2 * sizeof(int32_t) + x->pairs.slot_count * sizeof(uint32_t);
}

int trl__lazy_graph_is_full(const trl__lazy_graph *x)
{
    return bytes_of(x) > x->room;
}

int trl__lazy_graph_like(const trl__lazy_graph *x, trl__lazy_graph **out, trl_error *err)
{
    return trl__lazy_graph_create(x->loop, x->limit, out, err);
}

void trl__lazy_graph_make_room(trl__lazy_graph *x)
{
    x->room = 2 * bytes_of(x) > x->room ? 2 * bytes_of(x) : x->room;
}

/* ---- States ---- */

static int grow_states(trl__lazy_graph *x)
{
    trl_graph *g = &x->view;
    size_t needed = (size_t)g->states + 1, capacity[6];
    if (needed <= x->state_capacity)
        return 0;
    for (int i = 0; i < 6; i++)
        capacity[i] = x->state_capacity;
    if (TRL_GROW(g->first, capacity[0], needed) < 0 || TRL_GROW(g->emitting, capacity[1], needed) < 0 ||
        TRL_GROW(g->end, capacity[2], needed) < 0 || TRL_GROW(g->final, capacity[3], needed) < 0 ||
        TRL_GROW(g->level, capacity[4], needed) < 0 || TRL_GROW(x->bonus, capacity[5], needed) < 0)
        return -1;
    x->state_capacity = capacity[0];
    for (int i = 1; i < 6; i++)
        x->state_capacity = capacity[i] < x->state_capacity ? capacity[i] : x->state_capacity;
    return 0;
}

/* What the best word of the set costs behind the history. Long rows are those of short histories, which are asked for again and again: the last answers are
 * remembered. */
static float best_cost(trl__lazy_graph *x, uint32_t set, int32_t history)
{
    const trl__ngram_rows *r = x->rows;
    best_slot *slot = &x->best[trl__tuple_hash((const int32_t[]){(int32_t)set, history}, 2) & (BEST_SLOTS - 1)];
    int is_long = r->first[history + 1] - r->first[history] > LONG_ROW;
    if (is_long && slot->set == set && slot->history == history)
        return slot->cost;
    float cost = trl__ngram_rows_own_best(r, set, history);
    if (r->shorter[history] >= 0) { /* chains are short */
        float backed = r->backing[history] + best_cost(x, set, r->shorter[history]);
        cost = backed < cost ? backed : cost;
    }
    if (is_long)
        *slot = (best_slot){set, history, cost};
    return cost;
}

/* Of a state that is reached from another; -1: from none. Most lead to the same words as that one. */
static float bonus_of(trl__lazy_graph *x, int32_t from, int32_t loop_state, int32_t history)
{
    uint32_t set = x->rows->reach[loop_state];
    if (set == 0)
        return 0;
    if (from >= 0) {
        const int32_t *pair = trl__tuples_get(&x->pairs, from);
        if (pair[1] == history && x->rows->reach[pair[0]] == set)
            return x->bonus[from];
    }
    return best_cost(x, set, history) - x->rows->set_ahead[set];
}

static int make_state(trl__lazy_graph *x, int32_t from, int32_t loop_state, int32_t history, trl_error *err)
{
    const trl_graph *loop = x->loop;
    trl_graph *g = &x->view;
    if (grow_states(x) < 0)
        return trl__fail_memory(err);
    int32_t s = g->states++;
    float bonus = bonus_of(x, from, loop_state, history);
    int is_silent = loop->first[loop_state] != loop->emitting[loop_state];
    g->first[s] = g->end[s] = NOT_YET;
    g->emitting[s] = is_silent ? 0 : NOT_YET;
    g->level[s] = loop->level[loop_state];
    g->final[s] = isinf(loop->final[loop_state])
                      ? INFINITY
                      : loop->final[loop_state] - x->rows->end_ahead + x->rows->final[history] - bonus;
    x->bonus[s] = bonus;
    return 0;
}

/* The number of a state, new or old, or an error. */
static int32_t find_state(trl__lazy_graph *x, int32_t from, int32_t loop_state, int32_t history, trl_error *err)
{
    int64_t state = trl__tuples_add(&x->pairs, (const int32_t[]){loop_state, history});
    if (state < 0)
        return trl__fail_memory(err);
    x->view.pairs = x->pairs.keys;
    int code = state < x->view.states ? 0 : make_state(x, from, loop_state, history, err);
    return code < 0 ? code : (int32_t)state;
}

/* ---- Arcs ---- */

static int add_arc(trl__lazy_graph *x, int32_t from, const trl__network_arc *arc, int32_t history, float cost,
                   trl_error *err)
{
    const int32_t *here = trl__tuples_get(&x->pairs, from);
    int is_loop = arc->next == here[0] && history == here[1];
    int32_t next = is_loop ? from : find_state(x, from, arc->next, history, err);
    if (next < 0)
        return next;
    if (isinf(x->bonus[next])) /* none of its words can follow */
        return 0;
    if (TRL_GROW(x->view.arcs, x->arc_capacity, x->arc_count + 1) < 0)
        return trl__fail_memory(err);
    if (arc->transition == 0 && trl__lazy_graph_is_silent(x, next)) {
        if (TRL_GROW(x->pending, x->pending_capacity, x->pending_count + 1) < 0)
            return trl__fail_memory(err);
        x->pending[x->pending_count++] = next;
    }
    cost += x->bonus[next] - x->bonus[from];
    x->view.arcs[x->arc_count++] = (trl__network_arc){next, arc->transition, arc->word, cost};
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
static int add_word_arcs(trl__lazy_graph *x, int32_t from, const trl__network_arc *arc, int32_t history, trl_error *err)
{
    const trl__ngram_rows *r = x->rows;
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
            code = add_arc(x, from, arc, way.history, way.cost, err);
        }
    return code;
}

static int expand_one(trl__lazy_graph *x, int32_t s, trl_error *err)
{
    const trl_graph *loop = x->loop;
    int32_t state = trl__tuples_get(&x->pairs, s)[0], history = trl__tuples_get(&x->pairs, s)[1];
    int code = 0;
    x->view.first[s] = x->arc_count;
    for (uint64_t i = loop->first[state]; code == 0 && i < loop->end[state]; i++) {
        const trl__network_arc *arc = &loop->arcs[i];
        if (i == loop->emitting[state])
            x->view.emitting[s] = x->arc_count;
        code = arc->word ? add_word_arcs(x, s, arc, history, err) : add_arc(x, s, arc, history, arc->cost, err);
    }
    if (loop->emitting[state] == loop->end[state])
        x->view.emitting[s] = x->arc_count;
    x->view.end[s] = x->arc_count;
    return code;
}

int trl__lazy_graph_expand(trl__lazy_graph *x, int32_t state, trl_error *err)
{
    int code = trl__lazy_graph_is_expanded(x, state) ? 0 : expand_one(x, state, err);
    while (code == 0 && x->pending_count > 0) {
        int32_t next = x->pending[--x->pending_count];
        code = trl__lazy_graph_is_expanded(x, next) ? 0 : expand_one(x, next, err);
    }
    if (code == 0 && x->arc_count > UINT32_MAX)
        code = trl__fail(err, TRL_ELIMIT, "the part of the graph that is searched has more than 2^32 arcs");
    x->is_broken |= code < 0;
    return code;
}

int trl__lazy_graph_begin(trl__lazy_graph *x, trl_error *err)
{
    if (x->is_broken || bytes_of(x) > x->limit) {
        empty(x);
        x->room = x->limit;
    }
    x->pending_count = 0;
    x->is_broken = 0;
    int32_t start = find_state(x, -1, x->loop->start, x->rows->start, err);
    x->view.start = start;
    x->is_broken = start < 0;
    return start < 0 ? start : trl__lazy_graph_expand(x, start, err);
}

int32_t trl__lazy_graph_take_over(trl__lazy_graph *x, const trl__lazy_graph *other, int32_t state, trl_error *err)
{
    const int32_t *pair = trl__tuples_get(&other->pairs, state);
    int32_t s = find_state(x, -1, pair[0], pair[1], err);
    if (s < 0)
        return s;
    int code = trl__lazy_graph_is_expanded(other, state) ? trl__lazy_graph_expand(x, s, err) : 0;
    return code < 0 ? code : s;
}
