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
#include <string.h>

#define NOT_YET UINT64_MAX /* in place of the first arc */
#define MOST_WAYS 16       /* to a word, of which one can make another needless */
#define BEST_SLOTS 262144  /* of the cache of look-ahead */
#define LONG_ROW 32        /* words of a row that is worth it */
#define BATCH 64           /* states that are expanded together */
#define STATES_AHEAD 4     /* memory that states and arcs will need is asked for so long before */
#define ARCS_AHEAD 8

/* What the best word of a set costs behind a history, and the first of the histories that it backs off to, or itself, whose own row has one of the words. */
typedef struct look_ahead {
    float cost;
    int32_t begin;
} look_ahead;

typedef struct best_slot {
    uint32_t set; /* 0: free */
    int32_t history;
    look_ahead best;
} best_slot;

/* An arc of a state that is being expanded: one of the loop's, and where it leads. */
typedef struct drafted_arc {
    const trl__network_arc *arc;
    int32_t history;
    float cost; /* without look-ahead */
} drafted_arc;

/* A state that is being expanded, its arcs up to `end` of those that are drafted, and from which on they read. */
typedef struct drafted_state {
    int32_t state;
    size_t emitting, end;
} drafted_state;

struct trl__lazy_graph {
    const trl_graph *loop;
    const trl__ngram_rows *rows;
    size_t limit, room; /* bytes: between utterances, and within one */
    trl_graph
        view; /* its arrays are ours; where a state is not expanded, first[] and end[] are NOT_YET, and emitting[] is the same unless it has arcs that read nothing */
    size_t state_capacity, arc_count, arc_capacity;
    float *bonus;      /* by state */
    int32_t *begin;    /* by state: rows of longer histories than this have none of the words that it leads to */
    trl__tuples pairs; /* by state: that of the loop, history */
    int32_t *wanted;   /* states to be expanded */
    size_t wanted_count, wanted_capacity;
    drafted_state drafts[BATCH];
    drafted_arc *arcs; /* of these */
    size_t draft_count, draft_capacity;
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
    lazy->best = trl__alloc_large(BEST_SLOTS, sizeof *lazy->best);
    if (lazy->best) {
        memset(lazy->best, 0, BEST_SLOTS * sizeof *lazy->best);
        return 0;
    }
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
    trl__free(lazy->begin);
    trl__tuples_free(&lazy->pairs);
    lazy->view.first = lazy->view.emitting = lazy->view.end = NULL;
    lazy->view.arcs = NULL;
    lazy->view.final = lazy->bonus = NULL;
    lazy->begin = NULL;
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
    trl__free(lazy->wanted);
    trl__free(lazy->arcs);
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
    size_t state =
        3 * sizeof *lazy->view.first + 2 * sizeof *lazy->view.final + sizeof *lazy->view.level + sizeof *lazy->begin;
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
    size_t needed = (size_t)g->states + 1, capacity[7];
    if (needed <= lazy->state_capacity)
        return 0;
    for (int i = 0; i < 7; i++)
        capacity[i] = lazy->state_capacity;
    if (TRL_GROW(g->first, capacity[0], needed) < 0 || TRL_GROW(g->emitting, capacity[1], needed) < 0 ||
        TRL_GROW(g->end, capacity[2], needed) < 0 || TRL_GROW(g->final, capacity[3], needed) < 0 ||
        TRL_GROW(g->level, capacity[4], needed) < 0 || TRL_GROW(lazy->bonus, capacity[5], needed) < 0 ||
        TRL_GROW(lazy->begin, capacity[6], needed) < 0)
        return -1;
    lazy->state_capacity = capacity[0];
    for (int i = 1; i < 7; i++)
        lazy->state_capacity = capacity[i] < lazy->state_capacity ? capacity[i] : lazy->state_capacity;
    return 0;
}

static best_slot *best_slot_of(const trl__lazy_graph *lazy, uint32_t set, int32_t history)
{
    return &lazy->best[trl__tuple_hash((const int32_t[]){(int32_t)set, history}, 2) & (BEST_SLOTS - 1)];
}

/* Long rows are those of short histories, which are asked for again and again: the last answers are remembered. */
static look_ahead look(trl__lazy_graph *lazy, uint32_t set, int32_t history)
{
    const trl__ngram_rows *r = lazy->rows;
    best_slot *slot = NULL;
    if (r->shorter[history] < 0)
        return (look_ahead){trl__ngram_rows_own_best(r, set, history), history};
    if (r->first[history + 1] - r->first[history] > LONG_ROW) {
        slot = best_slot_of(lazy, set, history);
        if (slot->set == set && slot->history == history)
            return slot->best;
    }
    float own = trl__ngram_rows_own_best(r, set, history);
    look_ahead best = look(lazy, set, r->shorter[history]); /* chains are short */
    best.cost += r->backing[history];
    best.cost = own < best.cost ? own : best.cost;
    best.begin = isinf(own) ? best.begin : history;
    if (slot)
        *slot = (best_slot){set, history, best};
    return best;
}

/* A cost behind `begin`, behind the history that backs off to it: summed up in the order of look(). */
static float back_off(const trl__ngram_rows *r, int32_t history, int32_t begin, float cost)
{
    return history == begin ? cost : back_off(r, r->shorter[history], begin, cost) + r->backing[history];
}

/* Sets the bonus of state s, which is reached without a word from another; -1: it may be anything that leads to it. Whatever words it leads to the other one does, too: most
 * often to the same, and rows that had none for the other have none for this one. */
static void set_bonus(trl__lazy_graph *lazy, int32_t s, int32_t from, int32_t loop_state, int32_t history)
{
    const trl__loop_state *state = &lazy->rows->states[loop_state];
    const int32_t *pair = from < 0 ? NULL : trl__tuples_get(&lazy->pairs, from);
    uint32_t set = pair && pair[1] == history ? lazy->rows->states[pair[0]].set : 0; /* the other one's */
    int32_t begin = set ? lazy->begin[from] : history;
    lazy->bonus[s] = 0;
    lazy->begin[s] = begin;
    if (state->set && state->set == set) {
        lazy->bonus[s] = lazy->bonus[from];
    } else if (state->set) {
        look_ahead best = look(lazy, state->set, begin);
        lazy->bonus[s] = back_off(lazy->rows, history, begin, best.cost) - state->set_ahead;
        lazy->begin[s] = best.begin;
    }
}

static int make_state(trl__lazy_graph *lazy, int32_t from, int32_t loop_state, int32_t history, trl_error *err)
{
    const trl__loop_state *state = &lazy->rows->states[loop_state];
    trl_graph *g = &lazy->view;
    if (grow_states(lazy) < 0)
        return trl__fail_memory(err);
    int32_t s = g->states++;
    set_bonus(lazy, s, from, loop_state, history);
    g->first[s] = g->end[s] = NOT_YET;
    g->emitting[s] = state->silent ? 0 : NOT_YET;
    g->level[s] = state->level;
    g->final[s] = isinf(state->final)
                      ? INFINITY
                      : state->final - lazy->rows->end_ahead + lazy->rows->final[history] - lazy->bonus[s];
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

/* ---- Drafts of arcs ---- */

/* What finding its end reads lies all over memory: it is asked for now, and needed when the drafts are carried out. */
static int draft_arc(trl__lazy_graph *lazy, const trl__network_arc *arc, int32_t history, float cost, trl_error *err)
{
    if (TRL_GROW(lazy->arcs, lazy->draft_capacity, lazy->draft_count + 1) < 0)
        return trl__fail_memory(err);
    lazy->arcs[lazy->draft_count++] = (drafted_arc){arc, history, cost};
    trl__tuples_expect(&lazy->pairs, (const int32_t[]){arc->next, history});
    __builtin_prefetch(&lazy->rows->states[arc->next]);
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

/* All ways to the word behind the history that are needed; rows before that of `begin` lack it. Those beyond MOST_WAYS are not compared. */
static int draft_word(trl__lazy_graph *lazy, const trl__network_arc *arc, int32_t history, int32_t begin,
                      trl_error *err)
{
    const trl__ngram_rows *r = lazy->rows;
    word_way ways[MOST_WAYS];
    int count = 0, code = 0;
    float before = arc->cost - r->ahead[arc->word];
    for (; history != begin; history = r->shorter[history])
        before += r->backing[history];
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
            code = draft_arc(lazy, arc, way.history, way.cost, err);
        }
    return code;
}

static int draft_state(trl__lazy_graph *lazy, int32_t s, drafted_state *draft, trl_error *err)
{
    const int32_t *pair = trl__tuples_get(&lazy->pairs, s);
    const trl__loop_state *state = &lazy->rows->states[pair[0]];
    const trl__network_arc *arcs = lazy->loop->arcs + state->first;
    int32_t history = pair[1], begin = lazy->begin[s];
    int code = 0;
    draft->state = s;
    for (uint32_t i = 0; code == 0 && i < state->arcs; i++) {
        if (i == state->silent)
            draft->emitting = lazy->draft_count;
        code = arcs[i].word ? draft_word(lazy, &arcs[i], history, begin, err)
                            : draft_arc(lazy, &arcs[i], history, arcs[i].cost, err);
    }
    draft->end = lazy->draft_count;
    if (state->silent == state->arcs)
        draft->emitting = draft->end;
    return code;
}

/* ---- Arcs ---- */

static int add_arc(trl__lazy_graph *lazy, int32_t from, const drafted_arc *draft, trl_error *err)
{
    const trl__network_arc *arc = draft->arc;
    const int32_t *here = trl__tuples_get(&lazy->pairs, from);
    int is_loop = arc->next == here[0] && draft->history == here[1];
    int32_t next = is_loop ? from : find_state(lazy, arc->word ? -1 : from, arc->next, draft->history, err);
    if (next < 0)
        return next;
    if (isinf(lazy->bonus[next])) /* none of its words can follow */
        return 0;
    if (TRL_GROW(lazy->view.arcs, lazy->arc_capacity, lazy->arc_count + 1) < 0)
        return trl__fail_memory(err);
    int code =
        arc->transition == 0 && trl__lazy_graph_is_silent(lazy, next) ? trl__lazy_graph_want(lazy, next, err) : 0;
    float cost = draft->cost + (lazy->bonus[next] - lazy->bonus[from]);
    lazy->view.arcs[lazy->arc_count++] = (trl__network_arc){next, arc->transition, arc->word, cost};
    return code;
}

/* Asks for what its end's look-ahead reads, and for the end's key where it is there already. */
static void expect_arc(const trl__lazy_graph *lazy, const drafted_arc *draft)
{
    const trl__ngram_rows *r = lazy->rows;
    int32_t history = draft->history;
    uint32_t set = r->states[draft->arc->next].set;
    trl__tuples_expect_key(&lazy->pairs, (const int32_t[]){draft->arc->next, history});
    __builtin_prefetch(&r->set_first[set]);
    __builtin_prefetch(best_slot_of(lazy, set, history));
    if (r->shorter[history] >= 0)
        __builtin_prefetch(best_slot_of(lazy, set, r->shorter[history]));
}

static int carry_out(trl__lazy_graph *lazy, const drafted_state *draft, size_t first, trl_error *err)
{
    int code = 0;
    if (trl__lazy_graph_is_expanded(lazy, draft->state)) /* it was wanted twice */
        return 0;
    lazy->view.first[draft->state] = lazy->arc_count;
    for (size_t i = first; code == 0 && i < draft->end; i++) {
        if (i == draft->emitting)
            lazy->view.emitting[draft->state] = lazy->arc_count;
        if (i + ARCS_AHEAD < lazy->draft_count)
            expect_arc(lazy, &lazy->arcs[i + ARCS_AHEAD]);
        code = add_arc(lazy, draft->state, &lazy->arcs[i], err);
    }
    if (draft->emitting == draft->end)
        lazy->view.emitting[draft->state] = lazy->arc_count;
    lazy->view.end[draft->state] = lazy->arc_count;
    return code;
}

/* ---- Many states ---- */

int trl__lazy_graph_want(trl__lazy_graph *lazy, int32_t state, trl_error *err)
{
    if (TRL_GROW(lazy->wanted, lazy->wanted_capacity, lazy->wanted_count + 1) < 0)
        return trl__fail_memory(err);
    lazy->wanted[lazy->wanted_count++] = state;
    return 0;
}

/* Asks for what drafting reads: of a state that is still far away, then of its arcs. */
static void expect_state(const trl__lazy_graph *lazy, size_t wanted)
{
    if (wanted >= lazy->wanted_count)
        return;
    const int32_t *pair = trl__tuples_get(&lazy->pairs, lazy->wanted[wanted]);
    __builtin_prefetch(&lazy->rows->states[pair[0]]);
    __builtin_prefetch(&lazy->rows->first[pair[1]]);
    __builtin_prefetch(&lazy->rows->shorter[pair[1]]);
    __builtin_prefetch(&lazy->rows->backing[pair[1]]);
}

static void expect_arcs(const trl__lazy_graph *lazy, size_t wanted)
{
    if (wanted >= lazy->wanted_count)
        return;
    const int32_t *pair = trl__tuples_get(&lazy->pairs, lazy->wanted[wanted]);
    __builtin_prefetch(&lazy->loop->arcs[lazy->rows->states[pair[0]].first]);
    __builtin_prefetch(&lazy->rows->word[lazy->rows->first[pair[1]]]);
}

/* Some states from wanted[first] on; returns through *end where the next begin. */
static int expand_batch(trl__lazy_graph *lazy, size_t first, size_t *end, trl_error *err)
{
    int code = 0;
    size_t count = 0, at = first, from = 0;
    lazy->draft_count = 0;
    for (; code == 0 && count < BATCH && at < lazy->wanted_count; at++) {
        expect_state(lazy, at + (size_t)2 * STATES_AHEAD);
        expect_arcs(lazy, at + STATES_AHEAD);
        if (!trl__lazy_graph_is_expanded(lazy, lazy->wanted[at]))
            code = draft_state(lazy, lazy->wanted[at], &lazy->drafts[count++], err);
    }
    for (size_t i = 0; i < ARCS_AHEAD && i < lazy->draft_count; i++)
        expect_arc(lazy, &lazy->arcs[i]);
    for (size_t i = 0; code == 0 && i < count; from = lazy->drafts[i++].end)
        code = carry_out(lazy, &lazy->drafts[i], from, err);
    *end = at;
    return code;
}

int trl__lazy_graph_expand(trl__lazy_graph *lazy, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < lazy->wanted_count;)
        code = expand_batch(lazy, i, &i, err);
    lazy->wanted_count = 0;
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
    lazy->wanted_count = 0;
    lazy->is_broken = 0;
    int32_t start = find_state(lazy, -1, lazy->loop->start, lazy->rows->start, err);
    lazy->view.start = start;
    lazy->is_broken = start < 0;
    int code = start < 0 ? start : trl__lazy_graph_want(lazy, start, err);
    return code < 0 ? code : trl__lazy_graph_expand(lazy, err);
}

int32_t trl__lazy_graph_take_over(trl__lazy_graph *lazy, const trl__lazy_graph *other, int32_t state, trl_error *err)
{
    const int32_t *pair = trl__tuples_get(&other->pairs, state);
    int32_t s = find_state(lazy, -1, pair[0], pair[1], err);
    if (s < 0)
        return s;
    int code = 0;
    if (trl__lazy_graph_is_expanded(other, state) && (code = trl__lazy_graph_want(lazy, s, err)) == 0)
        code = trl__lazy_graph_expand(lazy, err);
    return code < 0 ? code : s;
}
