/* Small random lattices, and all their paths, one by one.
 *
 *     trl__raw_lattice raw = random_raw(&random);              // costs are multiples of 1/8: sums are exact
 *     path_list all = raw_paths(&raw);
 *     path_list strings = lattice_paths(lattice);
 */
#ifndef TEST_LATTICE_FIXTURE_H
#define TEST_LATTICE_FIXTURE_H

#include "fst_fixture.h"

#include "decode/lattice_determinize.h"

#define MOST_WORDS 32
#define MOST_FRAMES 20
#define MOST_PATHS 20000

typedef struct lattice_path {
    int32_t words[MOST_WORDS], transitions[MOST_FRAMES],
        ends[MOST_WORDS]; /* ends: frames when the word's arc is passed */
    int count, frames;
    double graph, acoustic;
} lattice_path;

typedef struct path_list {
    lattice_path *items;
    size_t count;
    int is_too_long;
} path_list;

UNUSED_OK static int same_words(const lattice_path *a, const lattice_path *b)
{
    return a->count == b->count && memcmp(a->words, b->words, (size_t)a->count * sizeof *a->words) == 0;
}

UNUSED_OK static void add_path(path_list *list, const lattice_path *p)
{
    if (list->count == MOST_PATHS) {
        list->is_too_long = 1;
        return;
    }
    if ((list->count & (list->count - 1)) == 0)
        list->items = realloc(list->items, (list->count ? 2 * list->count : 1) * sizeof *list->items);
    list->items[list->count++] = *p;
}

/* ---- raw lattices ---- */

typedef struct raw_kind {
    int32_t frames, most_states; /* most_states: of a frame */
    int32_t labels, transitions;
    double words; /* chance that an arc has one */
    double arcs;  /* chance that there is an arc from one state to another */
} raw_kind;

UNUSED_OK static raw_kind random_raw_kind(random_source *r)
{
    return (raw_kind){.frames = (int32_t)random_below(r, 8),
                      .most_states = 2 + (int32_t)random_below(r, 3),
                      .labels = 1 + (int32_t)random_below(r, 3),
                      .transitions = 1 + (int32_t)random_below(r, 3),
                      .words = 0.1 + 0.1 * random_below(r, 6),
                      .arcs = 0.5 + 0.1 * random_below(r, 6)};
}

UNUSED_OK static float random_cost(random_source *r)
{
    return (float)random_below(r, 65) / 8 - 2;
}

UNUSED_OK static trl__raw_lattice random_raw(const raw_kind *kind, random_source *r)
{
    trl__raw_lattice raw = {.frames = kind->frames, .reached_end = (int)random_below(r, 2)};
    size_t most = (size_t)(kind->frames + 1) * (size_t)kind->most_states, arcs = 0;
    raw.first = calloc(most + 1, sizeof *raw.first);
    raw.final = calloc(most, sizeof *raw.final);
    raw.time = calloc(most, sizeof *raw.time);
    raw.arcs = calloc(2 * most * most, sizeof *raw.arcs);
    for (int32_t t = 0; t <= kind->frames; t++)
        for (uint32_t n = 1 + random_below(r, (uint32_t)kind->most_states); n > 0; n--)
            raw.time[raw.states++] = t;
    for (int32_t s = 0; s < raw.states; s++) {
        for (int32_t next = s + 1; next < raw.states && raw.time[next] <= raw.time[s] + 1; next++)
            for (int i = 0; i < 2; i++) {
                int frame = raw.time[next] > raw.time[s];
                if (!random_chance(r, i == 0 && frame ? kind->arcs : 0.3 * kind->arcs))
                    continue;
                raw.arcs[arcs++] = (trl__raw_arc){
                    .next = next,
                    .transition = frame ? 1 + (int32_t)random_below(r, (uint32_t)kind->transitions) : 0,
                    .word = random_chance(r, kind->words) ? 1 + (int32_t)random_below(r, (uint32_t)kind->labels) : 0,
                    .graph = random_cost(r),
                    .acoustic = frame ? random_cost(r) : 0};
            }
        raw.first[s + 1] = (uint32_t)arcs;
        raw.final[s] = raw.time[s] == kind->frames && random_chance(r, 0.7) ? random_cost(r) : INFINITY;
    }
    return raw;
}

UNUSED_OK static void free_raw(trl__raw_lattice *raw)
{
    free(raw->first);
    free(raw->arcs);
    free(raw->final);
    free(raw->time);
}

UNUSED_OK static void raw_paths_from(const trl__raw_lattice *raw, int32_t s, const lattice_path *sofar, path_list *out)
{
    if (out->is_too_long)
        return;
    if (raw->final[s] < INFINITY) {
        lattice_path p = *sofar;
        p.graph += (double)raw->final[s];
        add_path(out, &p);
    }
    for (uint32_t a = raw->first[s]; a < raw->first[s + 1]; a++) {
        const trl__raw_arc *arc = &raw->arcs[a];
        lattice_path p = *sofar;
        p.graph += (double)arc->graph;
        p.acoustic += (double)arc->acoustic;
        if (arc->transition)
            p.transitions[p.frames++] = arc->transition;
        if (arc->word) {
            assert_true(p.count < MOST_WORDS);
            p.words[p.count++] = arc->word;
        }
        raw_paths_from(raw, arc->next, &p, out);
    }
}

UNUSED_OK static path_list raw_paths(const trl__raw_lattice *raw)
{
    path_list list = {0};
    raw_paths_from(raw, 0, &(lattice_path){.count = 0}, &list);
    return list;
}

/* ---- word lattices ---- */

UNUSED_OK static void lattice_paths_from(const trl_lattice_view *l, int32_t s, const lattice_path *sofar,
                                         path_list *out)
{
    if (l->ends[s].graph < INFINITY) {
        lattice_path p = *sofar;
        p.graph += (double)l->ends[s].graph;
        p.acoustic += (double)l->ends[s].acoustic;
        for (uint32_t i = 0; i < l->ends[s].duration; i++)
            p.transitions[p.frames++] = l->transitions[l->ends[s].transition + i];
        add_path(out, &p);
    }
    for (uint32_t a = l->first[s]; a < l->first[s + 1]; a++) {
        const trl_lattice_arc *arc = &l->arcs[a];
        lattice_path p = *sofar;
        p.graph += (double)arc->graph;
        p.acoustic += (double)arc->acoustic;
        for (uint32_t i = 0; i < arc->duration; i++)
            p.transitions[p.frames++] = l->transitions[arc->transition + i];
        if (arc->word) {
            assert_true(p.count < MOST_WORDS);
            p.ends[p.count] = p.frames;
            p.words[p.count++] = arc->word;
        }
        lattice_paths_from(l, arc->next, &p, out);
    }
}

UNUSED_OK static path_list lattice_paths(const trl_lattice *lattice)
{
    path_list list = {0};
    trl_lattice_view view = trl_lattice_look(lattice);
    if (view.states > 0)
        lattice_paths_from(&view, 0, &(lattice_path){.count = 0}, &list);
    return list;
}

UNUSED_OK static double path_cost(const lattice_path *p, const trl_lattice_scale *scale)
{
    return scale->acoustic * p->acoustic + scale->graph * p->graph + scale->insertion * p->count;
}

/* A random raw lattice's, determinized; all paths are kept. */
UNUSED_OK static trl_lattice *random_lattice(random_source *r, double acoustic_scale)
{
    for (;;) {
        raw_kind kind = random_raw_kind(r);
        trl__raw_lattice raw = random_raw(&kind, r);
        trl__determinizer *d;
        trl__determinize_options o = {.acoustic_scale = acoustic_scale, .beam = INFINITY};
        trl_lattice *lattice;
        double beam;
        assert_int_equal(trl__determinizer_create(&d, NULL), 0);
        assert_int_equal(trl__determinize(d, &raw, NULL, &o, &lattice, &beam, NULL), 0);
        trl__determinizer_destroy(d);
        free_raw(&raw);
        path_list all = lattice_paths(lattice);
        free(all.items);
        if (all.count > 0 && !all.is_too_long)
            return lattice;
        trl_lattice_destroy(lattice);
    }
}

#endif
