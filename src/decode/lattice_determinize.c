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
#include "base/fail.h"
#include "decode/lattice_subsets.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES ((size_t)256 << 20)

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
    d->beam = o->beam + 1e-6 + 1e-9 * fabs(d->best);
    d->limit = fmin(d->best + d->beam, DBL_MAX);
    return 0;
}

/* ---- the closure of a subset ---- */

/* A way to a raw state; the better one stays. */
static void reach(trl__determinizer *d, int32_t state, double total, double graph, double acoustic, uint32_t from,
                  int32_t transition)
{
    trl__raw_place *p = &d->places[state];
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

static void consider_end(const trl__determinizer *d, trl__subset *s, int32_t state, double *best)
{
    const trl__raw_place *p = &d->places[state];
    double total = p->total + (double)d->raw->final[state];
    if (s->cost + total > d->limit || total >= *best)
        return;
    *best = total;
    s->end_graph = p->graph + (double)d->raw->final[state];
    s->end_acoustic = p->acoustic;
    s->end_trace = p->trace;
}

static int find_word_arc(trl__determinizer *d, const trl__raw_place *p, const trl__raw_arc *arc, double total,
                         trl_error *err)
{
    if (d->found_count == d->found_capacity && TRL_GROW(d->found, d->found_capacity, d->found_count + 1) < 0)
        return trl__fail_memory(err);
    trl__found_arc *f = &d->found[d->found_count++];
    *f = (trl__found_arc){.word = arc->word,
                          .state = arc->next,
                          .trace = p->trace,
                          .graph = p->graph + (double)arc->graph,
                          .acoustic = p->acoustic + (double)arc->acoustic,
                          .total = total};
    return arc->transition ? trl__add_trace(d, p->trace, arc->transition, &f->trace, err) : 0;
}

static int follow_arcs(trl__determinizer *d, int32_t state, trl_error *err)
{
    const trl__raw_lattice *raw = d->raw;
    trl__raw_place *p = &d->places[state];
    int code = 0;
    if (p->transition) {
        code = trl__add_trace(d, p->trace, p->transition, &p->trace, err);
        p->transition = 0;
    }
    for (uint32_t a = raw->first[state]; code == 0 && a < raw->first[state + 1]; a++) {
        const trl__raw_arc *arc = &raw->arcs[a];
        double total = p->total + raw_cost(d, arc);
        if (d->places[arc->next].rest == INFINITY)
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
static int close_subset(trl__determinizer *d, trl__subset *s, trl_error *err)
{
    double end = INFINITY;
    int code = 0;
    const trl__member *m = d->members + s->first;
    d->stamp++;
    d->found_count = 0;
    d->last_waiting = 0;
    for (uint32_t i = 0; i < s->count; i++)
        reach(d, m[i].state, trl__member_total(d, &m[i]), m[i].graph, m[i].acoustic, m[i].trace, 0);
    for (size_t w = (size_t)m[0].state / 64; code == 0 && w <= d->last_waiting; w++)
        while (code == 0 && d->waiting[w]) {
            int32_t state = (int32_t)(64 * w) + __builtin_ctzll(d->waiting[w]);
            d->waiting[w] &= d->waiting[w] - 1;
            code = follow_arcs(d, state, err);
            if (d->raw->final[state] < INFINITY)
                consider_end(d, s, state, &end);
        }
    return code;
}

/* ---- the arcs of a subset ---- */

static int by_word(const void *a, const void *b)
{
    const trl__word_bucket *x = a, *y = b;
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
            d->buckets[d->bucket_count++] = (trl__word_bucket){.word = word, .total = INFINITY};
        }
        trl__word_bucket *b = &d->buckets[(uint32_t)d->word_bucket[word]];
        b->count++;
        b->total = fmin(b->total, d->found[i].total + d->places[d->found[i].state].rest);
    }
    if (d->bucket_count > 1)
        qsort(d->buckets, d->bucket_count, sizeof *d->buckets, by_word);
    for (size_t b = 0; b < d->bucket_count; b++)
        d->word_bucket[d->buckets[b].word] = mark | b;
    return 0;
}

/* Puts a member among those of its bucket, by state; of two with the same state the better one stays. They come nearly sorted. */
static void insert_member(const trl__determinizer *d, trl__word_bucket *b, trl__member m)
{
    trl__member *list = d->members + b->first;
    uint32_t at = b->count;
    while (at > 0 && list[at - 1].state > m.state)
        at--;
    if (at > 0 && list[at - 1].state == m.state) {
        if (trl__member_total(d, &m) < trl__member_total(d, &list[at - 1]))
            list[at - 1] = m;
        return;
    }
    memmove(list + at + 1, list + at, (b->count - at) * sizeof *list);
    list[at] = m;
    b->count++;
}

/* A member is left out only where no way to this subset could make it part of the lattice: by what it costs above the best member, and never by what the way
 * here costs. So ways of different costs come to the same subsets. */
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
        const trl__found_arc *f = &d->found[i];
        trl__word_bucket *b = &d->buckets[(uint32_t)d->word_bucket[f->word]];
        if (f->total + d->places[f->state].rest <= b->total + d->beam)
            insert_member(d, b, (trl__member){f->state, f->trace, f->graph, f->acoustic});
    }
    d->member_count = first;
    return 0;
}

static int make_arcs(trl__determinizer *d, int32_t from, trl_error *err)
{
    trl__subset *s = &d->subsets[from];
    int code = 0;
    if (d->arc_count + d->bucket_count >= TRL__NO_TRACE)
        return trl__fail(err, TRL_ELIMIT, "the lattice is too large; choose a narrower lattice beam");
    if (TRL_GROW(d->arcs, d->arc_capacity, d->arc_count + d->bucket_count) < 0)
        return trl__fail_memory(err);
    s->arc = d->arc_count;
    for (size_t i = 0; code == 0 && i < d->bucket_count; i++) {
        const trl__word_bucket *b = &d->buckets[i];
        if (s->cost + b->total > d->limit)
            continue;
        s->arcs++;
        d->arcs[d->arc_count] = (trl__word_arc){.from = from,
                                                .next = -1,
                                                .word = b->word,
                                                .first = b->first,
                                                .count = b->count,
                                                .total = s->cost + b->total};
        code = trl__push_arc(d, (uint32_t)d->arc_count++, err);
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
static int normalise(trl__determinizer *d, trl__word_arc *arc, int32_t *time, trl_error *err)
{
    trl__member *m = d->members + arc->first;
    uint32_t best = 0;
    for (uint32_t i = 1; i < arc->count; i++)
        best = trl__member_total(d, &m[i]) < trl__member_total(d, &m[best]) ? i : best;
    arc->graph = m[best].graph;
    arc->acoustic = m[best].acoustic;
    arc->trace = m[best].trace;
    arc->trace_time = d->raw->time[m[best].state];
    for (uint32_t i = 0; i < arc->count; i++) {
        m[i].graph -= arc->graph;
        m[i].acoustic -= arc->acoustic;
    }
    return trl__common_time(d, m, arc->count, d->subsets[arc->from].time, time, err);
}

static int take_arc(trl__determinizer *d, uint32_t number, trl_error *err)
{
    trl__word_arc *arc = &d->arcs[number];
    int is_new = 0;
    int32_t time = 0, next = 0;
    int code = normalise(d, arc, &time, err);
    if (code == 0)
        code = trl__find_subset(d, arc->first, arc->count, time, &next, &is_new, err);
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
    d->members[d->member_count++] = (trl__member){0, TRL__NO_TRACE, 0, 0};
    int code = trl__find_subset(d, 0, 1, 0, &number, &is_new, err);
    return code < 0 ? code : expand(d, number, err);
}

static size_t bytes_used(const trl__determinizer *d)
{
    return d->trace_count * sizeof(trl__trace) + d->member_count * sizeof(trl__member) +
           d->subset_count * sizeof(trl__subset) + d->arc_count * sizeof(trl__word_arc);
}

/* Ways as good as the best are followed whatever they take. */
static int take_arcs(trl__determinizer *d, double *beam, trl_error *err)
{
    double as_good = d->best + 1e-6 + 1e-9 * fabs(d->best);
    int code = start(d, err);
    while (code == 0 && d->heap_count > 0) {
        uint32_t arc = trl__pop_arc(d);
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

/* ---- the whole ---- */

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
            code = trl__collect_subsets(d, lattice, err);
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
