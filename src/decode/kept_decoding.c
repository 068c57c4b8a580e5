#include "decode/kept_decoding.h"
#include "base/fail.h"
#include "base/memory.h"
#include "corpus/utterance_hash.h"
#include "decode/decode_options.h"
#include "decode/graph_data.h"
#include "decode/lattice_data.h"
#include "model/model_hash.h"

#include <string.h>
#include <trellis/version.h>
#include <xxhash.h>

/* ---- which job ---- */

static uint64_t hash_options(const trl_decode_options *o)
{
    const double numbers[] = {
        o->beam,           o->lattice_beam, o->word_beam,       o->most_active, o->least_active, o->acoustic_scale,
        o->language_scale, o->word_penalty, o->posterior_scale, o->lattice,     o->confidence,   o->mbr,
        o->channel,        o->adapt,        o->online,          o->subsampling};
    const char *texts[] = {trl_version(), o->likelihoods, o->only, o->device ? o->device : "cpu"};
    uint64_t h = XXH3_64bits(numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        h = trl__hash_text(h, texts[i]);
    return o->likelihoods ? trl__hash_place_times(h, o->likelihoods) : h;
}

static uint64_t hash_graph(uint64_t h, const trl_graph *g)
{
    if (g->file)
        return h ^ trl__container_hash(g->file);
    h = XXH3_64bits_withSeed(g->arcs, (size_t)g->first[g->states] * sizeof *g->arcs, h);
    return XXH3_64bits_withSeed(g->final, (size_t)g->states * sizeof *g->final, h);
}

uint64_t trl__decoding_job(const trl_model *model, const trl_graph *graph, const trl_corpus *corpus,
                           const trl_decode_options *options)
{
    uint64_t h = hash_graph(hash_options(options), graph);
    const uint64_t own = trl__model_hash(model);
    return trl__hash_corpus(XXH3_64bits_withSeed(&own, sizeof own, h), corpus);
}

/* ---- bytes ---- */

typedef struct fixed {
    double graph, acoustic, expected_errors, seconds, log_det;
    uint64_t words, arcs, transitions; /* how many; transitions: of the lattice */
    int32_t frames, states;            /* states of the lattice; -1: none */
    int32_t is_found, reached_end, is_narrow, lattice_reached_end, lattice_frames, zero;
} fixed;

typedef struct kept_word {
    double start, stop;
    int32_t word, first, end, index;
    float confidence;
    int32_t zero;
} kept_word;

static fixed describe(const trl__decoded *d)
{
    const trl_lattice *l = d->lattice;
    fixed f = {.graph = d->best.graph,
               .acoustic = d->best.acoustic,
               .expected_errors = d->expected_errors,
               .seconds = d->seconds,
               .log_det = d->log_det,
               .words = d->best.count,
               .frames = d->best.frames,
               .states = -1,
               .is_found = d->best.is_found,
               .reached_end = d->best.reached_end,
               .is_narrow = d->is_narrow};
    if (l) {
        f.states = l->states;
        f.arcs = l->arc_count;
        f.transitions = l->transition_count;
        f.lattice_frames = l->frames;
        f.lattice_reached_end = l->reached_end;
    }
    return f;
}

static int put_lattice(const trl_lattice *l, trl__kept_bytes *b)
{
    return trl__kept_put(b, l->first, ((size_t)l->states + 1) * sizeof *l->first) < 0 ||
           trl__kept_put(b, l->arcs, l->arc_count * sizeof *l->arcs) < 0 ||
           trl__kept_put(b, l->ends, (size_t)l->states * sizeof *l->ends) < 0 ||
           trl__kept_put(b, l->transitions, l->transition_count * sizeof *l->transitions) < 0;
}

int trl__decoding_put(const trl__decoded *d, trl__kept_bytes *b, trl_error *err)
{
    const fixed f = describe(d);
    b->size = 0;
    int failed = trl__kept_put(b, &f, sizeof f) < 0;
    for (size_t i = 0; !failed && i < d->best.count; i++) {
        const trl_segment *s = &d->segments[i];
        const kept_word w = {s->start, s->stop, d->best.words[i].word, s->first, s->end, s->index, s->confidence, 0};
        failed = trl__kept_put(b, &w, sizeof w) < 0;
    }
    if (!failed && f.is_found)
        failed = trl__kept_put(b, d->best.transitions, (size_t)f.frames * sizeof *d->best.transitions) < 0;
    if (!failed && d->lattice)
        failed = put_lattice(d->lattice, b);
    return failed ? trl__fail_memory(err) : 0;
}

static int fail_damaged(trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "a result that was kept is damaged; begin anew without --resume");
}

static int take_words(trl__kept_cursor *c, const fixed *f, const trl_graph *graph, trl__decoded *d, trl_error *err)
{
    trl__best_words *best = &d->best;
    if (f->words > c->left / sizeof(kept_word))
        return fail_damaged(err);
    if (TRL_GROW(best->words, best->capacity, f->words + 1) < 0 ||
        TRL_GROW(d->segments, d->segment_capacity, f->words + 1) < 0)
        return trl__fail_memory(err);
    best->count = f->words;
    for (size_t i = 0; i < f->words; i++) {
        kept_word w;
        trl__kept_take(c, &w, sizeof w);
        best->words[i] = (trl__best_word){w.word, w.first, w.end};
        d->segments[i] = (trl_segment){.label = trl__word_label(graph, w.word),
                                       .first = w.first,
                                       .end = w.end,
                                       .start = w.start,
                                       .stop = w.stop,
                                       .confidence = w.confidence,
                                       .index = w.index};
    }
    return 0;
}

static int take_transitions(trl__kept_cursor *c, const fixed *f, trl__best_words *best, trl_error *err)
{
    if (!f->is_found)
        return 0;
    if (f->frames < 0 || (size_t)f->frames > c->left / sizeof *best->transitions)
        return fail_damaged(err);
    if (TRL_GROW(best->transitions, best->transition_capacity, (size_t)f->frames + 1) < 0)
        return trl__fail_memory(err);
    return trl__kept_take(c, best->transitions, (size_t)f->frames * sizeof *best->transitions);
}

/* An array of the lattice, from the bytes; -1: there are not so many, or no memory. */
static int take_array(trl__kept_cursor *c, void **array, size_t *capacity, size_t count, size_t size)
{
    if (count > c->left / size || trl__grow(array, capacity, count + 1, size) < 0)
        return -1;
    return trl__kept_take(c, *array, count * size);
}

static int is_inside(uint32_t from, uint32_t count, size_t all)
{
    return from <= all && count <= all - from;
}

/* Do arcs and transitions lie in their arrays? What they mean is for trl__lattice_finish. */
static int has_range(const trl_lattice *l)
{
    int right = l->first[0] == 0 && l->first[l->states] == l->arc_count;
    for (int32_t s = 0; right && s < l->states; s++)
        right = l->first[s] <= l->first[s + 1] &&
                is_inside(l->ends[s].transition, l->ends[s].duration, l->transition_count);
    for (size_t a = 0; right && a < l->arc_count; a++)
        right = is_inside(l->arcs[a].transition, l->arcs[a].duration, l->transition_count);
    return right;
}

static int take_lattice(trl__kept_cursor *c, const fixed *f, const trl_graph *graph, trl__decoded *d, trl_error *err)
{
    trl_lattice_destroy(d->lattice);
    d->lattice = NULL;
    if (f->states < 0)
        return 0;
    int code = trl__lattice_create(graph->symbols, &d->lattice, err);
    if (code < 0)
        return code;
    trl_lattice *l = d->lattice;
    size_t states = (size_t)f->states;
    if (take_array(c, (void **)&l->first, &l->first_capacity, states + 1, sizeof *l->first) < 0 ||
        take_array(c, (void **)&l->arcs, &l->arc_capacity, f->arcs, sizeof *l->arcs) < 0 ||
        take_array(c, (void **)&l->ends, &l->end_capacity, states, sizeof *l->ends) < 0 ||
        take_array(c, (void **)&l->transitions, &l->transition_capacity, f->transitions, sizeof *l->transitions) < 0)
        return fail_damaged(err);
    l->states = f->states;
    l->arc_count = f->arcs;
    l->transition_count = f->transitions;
    l->reached_end = f->lattice_reached_end;
    if (!has_range(l))
        return fail_damaged(err);
    code = trl__lattice_finish(l, err);
    return code == 0 && l->frames != f->lattice_frames ? fail_damaged(err) : code;
}

int trl__decoding_take(const unsigned char *bytes, size_t size, const trl_graph *graph, trl__decoded *d, trl_error *err)
{
    trl__kept_cursor c = {bytes, size};
    fixed f;
    if (trl__kept_take(&c, &f, sizeof f) < 0)
        return fail_damaged(err);
    d->best.graph = f.graph;
    d->best.acoustic = f.acoustic;
    d->best.frames = f.frames;
    d->best.is_found = f.is_found;
    d->best.reached_end = f.reached_end;
    d->expected_errors = f.expected_errors;
    d->seconds = f.seconds;
    d->log_det = f.log_det;
    d->is_narrow = f.is_narrow;
    int code = take_words(&c, &f, graph, d, err);
    if (code == 0)
        code = take_transitions(&c, &f, &d->best, err);
    if (code == 0)
        code = take_lattice(&c, &f, graph, d, err);
    return code == 0 && c.left > 0 ? fail_damaged(err) : code;
}
