/* Determinization of lattices over words, arcs without a word being followed on the way (Povey et al., "Generating exact lattices in the WFST framework",
 * 2012).
 *
 * A state of the result is a subset: raw states, each with the cost and the transitions of the best way to it that are still to be said. From it, a pass over
 * the raw states in topological order follows the arcs without words (the closure), and what arcs with a word lead to is, for each word, the next subset. The
 * best member's cost and the transitions that all members begin with go to the arc. Two subsets are the same when raw states, costs and remaining
 * transitions are.
 *
 * Arcs are taken in order of the best path through them, which is known: way here + cost to the raw end. So the first arc to a subset is on its best
 * way, what is beyond the beam is never made, and when memory ends, all that is better has been done: that is a lattice with a narrower beam.
 *
 * Transitions of a way are a trace: nodes that point to the one before, back to the first frame. A closure makes one node per raw state, and nothing is
 * copied; a raw state has a time, so places in a trace are found by counting. What traces have in common is found by walking them together.
 *
 * Cost: the closures, O(subsets * raw arcs of a word), and O(members * frames of a word) for the walks.
 */
#include "decode/lattice_determinize.h"
#include "base/fail.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define NEAR \
    1e-3 /* costs of members as near as this are the same: many roundings of floats, and less than anybody asks for */
#define DEFAULT_BYTES ((size_t)256 << 20)

typedef struct trace {
    uint32_t before; /* NONE: the first frame */
    int32_t transition;
} trace;

/* Of a subset. Costs are those above the subset's best member. */
typedef struct member {
    int32_t state; /* raw */
    uint32_t trace;
    double graph, acoustic;
} member;

typedef struct subset {
    size_t first; /* member */
    uint32_t count;
    int32_t time;       /* frames that the arcs to it have */
    double cost;        /* of the best way to its best member */
    size_t arc;         /* first of its arcs, which lie side by side */
    uint32_t arcs;      /* how many */
    uint32_t end_trace; /* of the end's transitions */
    double end_graph, end_acoustic;
    uint64_t hash;
} subset;

/* An arc of the result. Before it is taken (next is -1) its members have costs from the best member of its source. */
typedef struct word_arc {
    int32_t from, next, word;
    uint32_t count;
    size_t first; /* member */
    double graph, acoustic;
    double total; /* of the best path through it */
    uint32_t trace;
    int32_t trace_time; /* frames of that trace */
} word_arc;

/* A raw state in a closure. */
typedef struct place {
    double rest; /* cost to the end, of the whole lattice */
    double total, graph, acoustic;
    uint32_t stamp; /* of the closure that the rest is from */
    uint32_t trace; /* before `transition`, which follows it where it is not 0 */
    int32_t transition;
} place;

/* An arc with a word that a closure came to. */
typedef struct found_arc {
    int32_t word, state;
    uint32_t trace;
    double graph, acoustic, total;
} found_arc;

typedef struct bucket {
    int32_t word;
    uint32_t count;
    size_t first; /* member */
    double total; /* of the best path, from the subset's best member */
} bucket;

struct trl__determinizer {
    const trl__raw_lattice *raw;
    double scale, limit, best;
    size_t most_bytes;

    place *places;
    size_t place_capacity;
    uint64_t *waiting;                     /* bits by raw state: reached, and its arcs not followed yet */
    size_t waiting_capacity, last_waiting; /* the last word of bits that has any */
    uint32_t stamp;

    trace *traces;
    size_t trace_count, trace_capacity;
    member *members;
    size_t member_count, member_capacity;
    subset *subsets;
    size_t subset_count, subset_capacity;
    word_arc *arcs;
    size_t arc_count, arc_capacity;
    uint32_t *heap; /* arcs to be taken, the best first */
    size_t heap_count, heap_capacity;
    uint32_t *slots; /* hash table: subset + 1 */
    size_t slot_count;

    found_arc *found;
    size_t found_count, found_capacity;
    bucket *buckets;
    size_t bucket_count, bucket_capacity;
    uint64_t *word_bucket; /* by word: stamp << 32 | bucket */
    size_t word_capacity;

    trl__scratch walk, order, numbers, string;
};

int trl__determinizer_create(trl__determinizer **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    return *out ? 0 : trl__fail_memory(err);
}

void trl__determinizer_destroy(trl__determinizer *d)
{
    if (!d)
        return;
    trl__free(d->places);
    trl__free(d->waiting);
    trl__free(d->traces);
    trl__free(d->members);
    trl__free(d->subsets);
    trl__free(d->arcs);
    trl__free(d->heap);
    trl__free(d->slots);
    trl__free(d->found);
    trl__free(d->buckets);
    trl__free(d->word_bucket);
    trl__scratch_free(&d->walk);
    trl__scratch_free(&d->order);
    trl__scratch_free(&d->numbers);
    trl__scratch_free(&d->string);
    trl__free(d);
}

/* ---- the raw lattice ---- */

static double raw_cost(const trl__determinizer *d, const trl__raw_arc *arc)
{
    return (double)arc->graph + d->scale * (double)arc->acoustic;
}

static int32_t most_word(const trl__raw_lattice *raw)
{
    int32_t most = 0;
    for (uint32_t a = 0; a < raw->first[raw->states]; a++)
        most = raw->arcs[a].word > most ? raw->arcs[a].word : most;
    return most;
}

/* Costs to the end, backwards over the states. */
static void find_rests(trl__determinizer *d)
{
    const trl__raw_lattice *raw = d->raw;
    for (int32_t s = raw->states - 1; s >= 0; s--) {
        double rest = (double)raw->final[s];
        for (uint32_t a = raw->first[s]; a < raw->first[s + 1]; a++) {
            double cost = raw_cost(d, &raw->arcs[a]) + d->places[raw->arcs[a].next].rest;
            rest = cost < rest ? cost : rest;
        }
        d->places[s].rest = rest;
    }
}

static int begin(trl__determinizer *d, const trl__raw_lattice *raw, const trl__determinize_options *o, trl_error *err)
{
    size_t states = (size_t)raw->states, bits = states / 64 + 1, words = (size_t)most_word(raw) + 1;
    d->raw = raw;
    d->scale = o->acoustic_scale;
    d->most_bytes = o->most_bytes > 0 ? o->most_bytes : DEFAULT_BYTES;
    d->trace_count = d->member_count = d->subset_count = d->arc_count = d->heap_count = 0;
    if (TRL_GROW(d->places, d->place_capacity, states) < 0 || TRL_GROW(d->waiting, d->waiting_capacity, bits) < 0 ||
        TRL_GROW(d->word_bucket, d->word_capacity, words) < 0)
        return trl__fail_memory(err);
    for (size_t s = 0; s < states; s++)
        d->places[s].stamp = 0;
    memset(d->waiting, 0, bits * sizeof *d->waiting);
    memset(d->word_bucket, 0, words * sizeof *d->word_bucket);
    if (d->slot_count > 0)
        memset(d->slots, 0, d->slot_count * sizeof *d->slots);
    d->stamp = 0;
    find_rests(d);
    d->best = d->places[0].rest;
    /* Sums come in different orders. A way that leads nowhere costs INFINITY and is beyond any limit. */
    d->limit = fmin(d->best + o->beam + 1e-6 + 1e-9 * fabs(d->best), DBL_MAX);
    return 0;
}

/* ---- traces ---- */

static int add_trace(trl__determinizer *d, uint32_t before, int32_t transition, uint32_t *out, trl_error *err)
{
    if (d->trace_count == NONE)
        return trl__fail(err, TRL_ELIMIT, "the lattice is too large; choose a narrower lattice beam");
    if (d->trace_count == d->trace_capacity && TRL_GROW(d->traces, d->trace_capacity, d->trace_count + 1) < 0)
        return trl__fail_memory(err);
    d->traces[d->trace_count] = (trace){before, transition};
    *out = (uint32_t)d->trace_count++;
    return 0;
}

static uint32_t walk_back(const trl__determinizer *d, uint32_t at, int32_t steps)
{
    while (steps-- > 0)
        at = d->traces[at].before;
    return at;
}

/* The most frames that the traces of these members have in common; `from` of them are known to be. */
static int common_time(trl__determinizer *d, const member *m, uint32_t count, int32_t from, int32_t *out,
                       trl_error *err)
{
    const int32_t *time = d->raw->time;
    uint32_t *at = trl__scratch_get(&d->walk, count, sizeof *at), walking = 0;
    int32_t least = time[m[0].state], common;
    if (!at)
        return trl__fail_memory(err);
    for (uint32_t i = 1; i < count; i++)
        least = time[m[i].state] < least ? time[m[i].state] : least;
    common = least;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = walk_back(d, m[i].trace, time[m[i].state] - least);
        if (walking == 0 || node != at[walking - 1])
            at[walking++] = node;
    }
    for (int32_t t = least; walking > 1 && t > from; t--) {
        int32_t transition = d->traces[at[0]].transition;
        uint32_t still = 0;
        for (uint32_t i = 0; i < walking; i++) {
            trace node = d->traces[at[i]];
            if (node.transition != transition)
                common = t - 1;
            if (still == 0 || node.before != at[still - 1])
                at[still++] = node.before;
        }
        walking = still;
    }
    *out = common;
    return 0;
}

/* Do two traces of so many frames agree behind the first `from`? */
static int same_rest(const trl__determinizer *d, uint32_t a, uint32_t b, int32_t frames, int32_t from)
{
    for (; a != b && frames > from; frames--) {
        if (d->traces[a].transition != d->traces[b].transition)
            return 0;
        a = d->traces[a].before;
        b = d->traces[b].before;
    }
    return 1;
}

/* ---- subsets ---- */

static uint64_t hash_members(const member *m, uint32_t count, int32_t time)
{
    uint64_t hash = (uint64_t)(uint32_t)time + 1;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ (uint32_t)m[i].state) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
}

static int is_same(const trl__determinizer *d, const subset *s, const member *m, uint32_t count, int32_t time)
{
    const member *own = d->members + s->first;
    if (s->count != count || s->time != time)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (own[i].state != m[i].state || fabs(own[i].graph - m[i].graph) > NEAR ||
            d->scale * fabs(own[i].acoustic - m[i].acoustic) > NEAR)
            return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!same_rest(d, own[i].trace, m[i].trace, d->raw->time[m[i].state], time))
            return 0;
    return 1;
}

static int enlarge_table(trl__determinizer *d, trl_error *err)
{
    size_t size = d->slot_count ? 2 * d->slot_count : 256;
    uint32_t *slots = trl__alloc_zero(size, sizeof *slots);
    if (!slots)
        return trl__fail_memory(err);
    for (size_t i = 0; i < d->subset_count; i++) {
        size_t at = d->subsets[i].hash & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = (uint32_t)i + 1;
    }
    trl__free(d->slots);
    d->slots = slots;
    d->slot_count = size;
    return 0;
}

/* The subset of these members; *is_new: it was not there. */
static int find_subset(trl__determinizer *d, size_t first, uint32_t count, int32_t time, int32_t *out, int *is_new,
                       trl_error *err)
{
    const member *m = d->members + first;
    uint64_t hash = hash_members(m, count, time);
    *is_new = 0;
    if (2 * d->subset_count >= d->slot_count && enlarge_table(d, err) < 0)
        return TRL_ENOMEM;
    size_t at = hash & (d->slot_count - 1);
    for (; d->slots[at]; at = (at + 1) & (d->slot_count - 1)) {
        *out = (int32_t)d->slots[at] - 1;
        if (d->subsets[*out].hash == hash && is_same(d, &d->subsets[*out], m, count, time))
            return 0;
    }
    if (d->subset_count == INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the lattice is too large; choose a narrower lattice beam");
    if (TRL_GROW(d->subsets, d->subset_capacity, d->subset_count + 1) < 0)
        return trl__fail_memory(err);
    *out = (int32_t)d->subset_count++;
    d->slots[at] = (uint32_t)d->subset_count;
    d->subsets[*out] = (subset){.first = first, .count = count, .time = time, .hash = hash, .end_graph = INFINITY};
    *is_new = 1;
    return 0;
}

/* ---- the heap of arcs ---- */

static int is_better(const trl__determinizer *d, uint32_t a, uint32_t b)
{
    return d->arcs[a].total != d->arcs[b].total ? d->arcs[a].total < d->arcs[b].total : a < b;
}

static int push(trl__determinizer *d, uint32_t arc, trl_error *err)
{
    if (TRL_GROW(d->heap, d->heap_capacity, d->heap_count + 1) < 0)
        return trl__fail_memory(err);
    size_t at = d->heap_count++;
    for (; at > 0 && is_better(d, arc, d->heap[(at - 1) / 2]); at = (at - 1) / 2)
        d->heap[at] = d->heap[(at - 1) / 2];
    d->heap[at] = arc;
    return 0;
}

static uint32_t pop(trl__determinizer *d)
{
    uint32_t top = d->heap[0], last = d->heap[--d->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < d->heap_count; child = 2 * at + 1) {
        if (child + 1 < d->heap_count && is_better(d, d->heap[child + 1], d->heap[child]))
            child++;
        if (!is_better(d, d->heap[child], last))
            break;
        d->heap[at] = d->heap[child];
        at = child;
    }
    d->heap[at] = last;
    return top;
}

/* ---- the closure of a subset ---- */

static double member_total(const trl__determinizer *d, const member *m)
{
    return m->graph + d->scale * m->acoustic;
}

/* A way to a raw state; the better one stays. */
static void reach(trl__determinizer *d, int32_t state, double total, double graph, double acoustic, uint32_t from,
                  int32_t transition)
{
    place *p = &d->places[state];
    if (p->stamp == d->stamp && p->total <= total)
        return;
    p->stamp = d->stamp;
    p->total = total;
    p->graph = graph;
    p->acoustic = acoustic;
    p->trace = from;
    p->transition = transition;
    size_t word = (size_t)state / 64;
    d->waiting[word] |= (uint64_t)1 << (state % 64);
    d->last_waiting = word > d->last_waiting ? word : d->last_waiting;
}

static void consider_end(const trl__determinizer *d, subset *s, int32_t state, double *best)
{
    const place *p = &d->places[state];
    double total = p->total + (double)d->raw->final[state];
    if (s->cost + total > d->limit || total >= *best)
        return;
    *best = total;
    s->end_graph = p->graph + (double)d->raw->final[state];
    s->end_acoustic = p->acoustic;
    s->end_trace = p->trace;
}

static int find_word_arc(trl__determinizer *d, const place *p, const trl__raw_arc *arc, double total, trl_error *err)
{
    if (d->found_count == d->found_capacity && TRL_GROW(d->found, d->found_capacity, d->found_count + 1) < 0)
        return trl__fail_memory(err);
    found_arc *f = &d->found[d->found_count++];
    *f = (found_arc){.word = arc->word,
                     .state = arc->next,
                     .trace = p->trace,
                     .graph = p->graph + (double)arc->graph,
                     .acoustic = p->acoustic + (double)arc->acoustic,
                     .total = total};
    return arc->transition ? add_trace(d, p->trace, arc->transition, &f->trace, err) : 0;
}

static int follow_arcs(trl__determinizer *d, int32_t state, double room, trl_error *err)
{
    const trl__raw_lattice *raw = d->raw;
    place *p = &d->places[state];
    int code = 0;
    if (p->transition) {
        code = add_trace(d, p->trace, p->transition, &p->trace, err);
        p->transition = 0;
    }
    for (uint32_t a = raw->first[state]; code == 0 && a < raw->first[state + 1]; a++) {
        const trl__raw_arc *arc = &raw->arcs[a];
        double total = p->total + raw_cost(d, arc);
        if (total + d->places[arc->next].rest > room)
            continue;
        if (arc->word)
            code = find_word_arc(d, p, arc, total, err);
        else
            reach(d, arc->next, total, p->graph + (double)arc->graph, p->acoustic + (double)arc->acoustic, p->trace,
                  arc->transition);
    }
    return code;
}

/* Raw states in rising order, which is a topological one. */
static int close_subset(trl__determinizer *d, subset *s, trl_error *err)
{
    double end = INFINITY;
    int code = 0;
    const member *m = d->members + s->first;
    d->stamp++;
    d->found_count = 0;
    d->last_waiting = 0;
    for (uint32_t i = 0; i < s->count; i++)
        reach(d, m[i].state, member_total(d, &m[i]), m[i].graph, m[i].acoustic, m[i].trace, 0);
    for (size_t w = (size_t)m[0].state / 64; code == 0 && w <= d->last_waiting; w++)
        while (code == 0 && d->waiting[w]) {
            int32_t state = (int32_t)(64 * w) + __builtin_ctzll(d->waiting[w]);
            d->waiting[w] &= d->waiting[w] - 1;
            code = follow_arcs(d, state, d->limit - s->cost, err);
            if (d->raw->final[state] < INFINITY)
                consider_end(d, s, state, &end);
        }
    return code;
}

/* ---- the arcs of a subset ---- */

static int by_word(const void *a, const void *b)
{
    const bucket *x = a, *y = b;
    return (x->word > y->word) - (x->word < y->word);
}

/* What was found by word: buckets in the order of words, and their numbers by word. */
static int count_words(trl__determinizer *d, trl_error *err)
{
    uint64_t mark = (uint64_t)d->stamp << 32;
    d->bucket_count = 0;
    for (size_t i = 0; i < d->found_count; i++) {
        int32_t word = d->found[i].word;
        if (d->word_bucket[word] >> 32 != d->stamp) {
            if (TRL_GROW(d->buckets, d->bucket_capacity, d->bucket_count + 1) < 0)
                return trl__fail_memory(err);
            d->word_bucket[word] = mark | d->bucket_count;
            d->buckets[d->bucket_count++] = (bucket){.word = word, .total = INFINITY};
        }
        d->buckets[(uint32_t)d->word_bucket[word]].count++;
    }
    if (d->bucket_count > 1)
        qsort(d->buckets, d->bucket_count, sizeof *d->buckets, by_word);
    for (size_t b = 0; b < d->bucket_count; b++)
        d->word_bucket[d->buckets[b].word] = mark | b;
    return 0;
}

/* Puts a member among those of its bucket, by state; of two with the same state the better one stays. They come nearly sorted. */
static void insert_member(const trl__determinizer *d, bucket *b, member m)
{
    member *list = d->members + b->first;
    uint32_t at = b->count;
    while (at > 0 && list[at - 1].state > m.state)
        at--;
    if (at > 0 && list[at - 1].state == m.state) {
        if (member_total(d, &m) < member_total(d, &list[at - 1]))
            list[at - 1] = m;
        return;
    }
    memmove(list + at + 1, list + at, (b->count - at) * sizeof *list);
    list[at] = m;
    b->count++;
}

static int place_members(trl__determinizer *d, trl_error *err)
{
    size_t first = d->member_count;
    if (TRL_GROW(d->members, d->member_capacity, first + d->found_count) < 0)
        return trl__fail_memory(err);
    for (size_t b = 0; b < d->bucket_count; b++) {
        d->buckets[b].first = first;
        first += d->buckets[b].count;
        d->buckets[b].count = 0;
    }
    for (size_t i = 0; i < d->found_count; i++) {
        const found_arc *f = &d->found[i];
        bucket *b = &d->buckets[(uint32_t)d->word_bucket[f->word]];
        double total = f->total + d->places[f->state].rest;
        b->total = total < b->total ? total : b->total;
        insert_member(d, b, (member){f->state, f->trace, f->graph, f->acoustic});
    }
    d->member_count = first;
    return 0;
}

static int make_arcs(trl__determinizer *d, int32_t from, trl_error *err)
{
    subset *s = &d->subsets[from];
    int code = 0;
    if (d->arc_count + d->bucket_count >= NONE)
        return trl__fail(err, TRL_ELIMIT, "the lattice is too large; choose a narrower lattice beam");
    if (TRL_GROW(d->arcs, d->arc_capacity, d->arc_count + d->bucket_count) < 0)
        return trl__fail_memory(err);
    s->arc = d->arc_count;
    s->arcs = (uint32_t)d->bucket_count;
    for (size_t i = 0; code == 0 && i < d->bucket_count; i++) {
        const bucket *b = &d->buckets[i];
        d->arcs[d->arc_count] = (word_arc){.from = from,
                                           .next = -1,
                                           .word = b->word,
                                           .first = b->first,
                                           .count = b->count,
                                           .total = s->cost + b->total};
        code = push(d, (uint32_t)d->arc_count++, err);
    }
    return code;
}

static int expand(trl__determinizer *d, int32_t number, trl_error *err)
{
    int code = close_subset(d, &d->subsets[number], err);
    if (code == 0)
        code = count_words(d, err);
    if (code == 0)
        code = place_members(d, err);
    return code < 0 ? code : make_arcs(d, number, err);
}

/* ---- taking an arc ---- */

/* The best member's costs, and the frames that all have, go to the arc. */
static int normalise(trl__determinizer *d, word_arc *arc, int32_t *time, trl_error *err)
{
    member *m = d->members + arc->first;
    uint32_t best = 0;
    for (uint32_t i = 1; i < arc->count; i++)
        best = member_total(d, &m[i]) < member_total(d, &m[best]) ? i : best;
    arc->graph = m[best].graph;
    arc->acoustic = m[best].acoustic;
    arc->trace = m[best].trace;
    arc->trace_time = d->raw->time[m[best].state];
    for (uint32_t i = 0; i < arc->count; i++) {
        m[i].graph -= arc->graph;
        m[i].acoustic -= arc->acoustic;
    }
    return common_time(d, m, arc->count, d->subsets[arc->from].time, time, err);
}

static int take_arc(trl__determinizer *d, uint32_t number, trl_error *err)
{
    word_arc *arc = &d->arcs[number];
    int is_new = 0;
    int32_t time = 0, next = 0;
    int code = normalise(d, arc, &time, err);
    if (code == 0)
        code = find_subset(d, arc->first, arc->count, time, &next, &is_new, err);
    if (code < 0)
        return code;
    arc->next = next;
    if (!is_new)
        return 0;
    d->subsets[next].cost = d->subsets[arc->from].cost + arc->graph + d->scale * arc->acoustic;
    return expand(d, next, err);
}

static int start(trl__determinizer *d, trl_error *err)
{
    int32_t number = 0;
    int is_new = 0;
    if (TRL_GROW(d->members, d->member_capacity, 1) < 0)
        return trl__fail_memory(err);
    d->members[d->member_count++] = (member){0, NONE, 0, 0};
    int code = find_subset(d, 0, 1, 0, &number, &is_new, err);
    return code < 0 ? code : expand(d, number, err);
}

static size_t bytes_used(const trl__determinizer *d)
{
    return d->trace_count * sizeof(trace) + d->member_count * sizeof(member) + d->subset_count * sizeof(subset) +
           d->arc_count * sizeof(word_arc);
}

/* Ways as good as the best are followed whatever they take. */
static int take_arcs(trl__determinizer *d, double *beam, trl_error *err)
{
    double as_good = d->best + 1e-6 + 1e-9 * fabs(d->best);
    int code = start(d, err);
    while (code == 0 && d->heap_count > 0) {
        uint32_t arc = pop(d);
        double total = d->arcs[arc].total;
        if (bytes_used(d) > d->most_bytes && total > as_good) {
            *beam = total - d->best;
            d->limit = total;
            break;
        }
        code = take_arc(d, arc, err);
    }
    return code;
}

/* ---- the result ---- */

typedef struct sorted {
    int32_t *order;  /* subsets in topological order */
    int32_t *number; /* by subset: of the result; -1: none */
    double *ahead;   /* by subset: cost of the best way to it */
    double *rest;    /* and to the end */
} sorted;

/* Arcs that were never taken lead nowhere; every subset can be reached. */
static void sort_subsets(const trl__determinizer *d, sorted *s)
{
    size_t done = 0, known = 0;
    int32_t *missing = s->number; /* arcs into it that are still to come */
    for (size_t i = 0; i < d->subset_count; i++)
        missing[i] = 0;
    for (size_t a = 0; a < d->arc_count; a++)
        if (d->arcs[a].next >= 0)
            missing[d->arcs[a].next]++;
    s->order[known++] = 0;
    while (done < known) {
        const subset *now = &d->subsets[s->order[done++]];
        for (size_t a = now->arc; a < now->arc + now->arcs; a++)
            if (d->arcs[a].next >= 0 && --missing[d->arcs[a].next] == 0)
                s->order[known++] = d->arcs[a].next;
    }
}

static double arc_cost(const trl__determinizer *d, const word_arc *arc)
{
    return arc->graph + d->scale * arc->acoustic;
}

static double end_cost(const trl__determinizer *d, const subset *s)
{
    return s->end_graph < INFINITY ? s->end_graph + d->scale * s->end_acoustic : INFINITY;
}

static void find_costs(const trl__determinizer *d, const sorted *s)
{
    for (size_t i = 0; i < d->subset_count; i++)
        s->ahead[i] = i == 0 ? 0 : INFINITY;
    for (size_t i = 0; i < d->subset_count; i++) {
        const subset *now = &d->subsets[s->order[i]];
        for (size_t a = now->arc; a < now->arc + now->arcs; a++) {
            int32_t next = d->arcs[a].next;
            double cost = s->ahead[s->order[i]] + arc_cost(d, &d->arcs[a]);
            if (next >= 0 && cost < s->ahead[next])
                s->ahead[next] = cost;
        }
    }
    for (size_t i = d->subset_count; i-- > 0;) {
        const subset *now = &d->subsets[s->order[i]];
        double rest = end_cost(d, now);
        for (size_t a = now->arc; a < now->arc + now->arcs; a++)
            if (d->arcs[a].next >= 0)
                rest = fmin(rest, arc_cost(d, &d->arcs[a]) + s->rest[d->arcs[a].next]);
        s->rest[s->order[i]] = rest;
    }
}

static int sort_result(trl__determinizer *d, sorted *s, trl_error *err)
{
    int32_t *numbers = trl__scratch_get(&d->numbers, 2 * d->subset_count, sizeof *numbers);
    double *costs = trl__scratch_get(&d->order, 2 * d->subset_count, sizeof *costs);
    if (!numbers || !costs)
        return trl__fail_memory(err);
    *s = (sorted){numbers, numbers + d->subset_count, costs, costs + d->subset_count};
    sort_subsets(d, s);
    find_costs(d, s);
    int32_t number = 0;
    for (size_t i = 0; i < d->subset_count; i++) {
        int32_t now = s->order[i];
        s->number[now] = s->ahead[now] + s->rest[now] <= d->limit ? number++ : -1;
    }
    return 0;
}

/* Transitions [first, end) of a trace that has `frames` of them. */
static int32_t *spell(trl__determinizer *d, uint32_t at, int32_t frames, int32_t first, int32_t end)
{
    int32_t *string = trl__scratch_get(&d->string, (size_t)(end - first) + 1, sizeof *string);
    at = walk_back(d, at, frames - end);
    for (int32_t t = end; string && t > first; t--) {
        string[t - 1 - first] = d->traces[at].transition;
        at = d->traces[at].before;
    }
    return string;
}

static int write_arc(trl__determinizer *d, const sorted *s, const word_arc *arc, trl_lattice *out, trl_error *err)
{
    if (arc->next < 0 || s->ahead[arc->from] + arc_cost(d, arc) + s->rest[arc->next] > d->limit)
        return 0;
    int32_t from = d->subsets[arc->from].time, to = d->subsets[arc->next].time;
    const trl_lattice_arc written = {.next = s->number[arc->next],
                                     .word = arc->word,
                                     .graph = (float)arc->graph,
                                     .acoustic = (float)arc->acoustic,
                                     .duration = (uint32_t)(to - from)};
    int32_t *string = spell(d, arc->trace, arc->trace_time, from, to);
    return string ? trl__lattice_add_arc(out, &written, string, err) : trl__fail_memory(err);
}

static int write_end(trl__determinizer *d, const sorted *s, int32_t number, trl_lattice *out, trl_error *err)
{
    const subset *now = &d->subsets[number];
    int32_t frames = d->raw->frames;
    if (s->ahead[number] + end_cost(d, now) > d->limit || now->end_graph == INFINITY)
        return 0;
    const trl_lattice_end end = {(float)now->end_graph, (float)now->end_acoustic, 0, (uint32_t)(frames - now->time)};
    int32_t *string = spell(d, now->end_trace, frames, now->time, frames);
    return string ? trl__lattice_set_end(out, &end, string, err) : trl__fail_memory(err);
}

static int write_states(trl__determinizer *d, trl_lattice *out, trl_error *err)
{
    sorted s = {0};
    int code = sort_result(d, &s, err);
    for (size_t i = 0; code == 0 && i < d->subset_count; i++) {
        int32_t number = s.order[i];
        const subset *now = &d->subsets[number];
        if (s.number[number] < 0)
            continue;
        code = trl__lattice_add_state(out, err);
        for (size_t a = now->arc; code == 0 && a < now->arc + now->arcs; a++)
            code = write_arc(d, &s, &d->arcs[a], out, err);
        if (code == 0)
            code = write_end(d, &s, number, out, err);
    }
    return code;
}

int trl__determinize(trl__determinizer *d, const trl__raw_lattice *raw, trl_symbols *words,
                     const trl__determinize_options *options, trl_lattice **out, double *beam, trl_error *err)
{
    trl_lattice *lattice = NULL;
    double kept = options->beam;
    *out = NULL;
    int code = trl__lattice_create(words, &lattice, err);
    if (code == 0 && raw->states > 0)
        code = begin(d, raw, options, err);
    if (code == 0 && raw->states > 0 && d->best < INFINITY) {
        code = take_arcs(d, &kept, err);
        if (code == 0)
            code = write_states(d, lattice, err);
    }
    if (code == 0)
        code = trl__lattice_finish(lattice, err);
    if (code < 0) {
        trl_lattice_destroy(lattice);
        return code;
    }
    lattice->frames = raw->frames;
    lattice->reached_end = raw->reached_end;
    *beam = kept;
    *out = lattice;
    return 0;
}
