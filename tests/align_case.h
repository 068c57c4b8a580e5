/* For tests of alignment: a model, a transcript and its graph, an aligner. */
#ifndef TEST_ALIGN_CASE_H
#define TEST_ALIGN_CASE_H

#include "align_fixture.h"

typedef struct align_case {
    trl_lexicon *lexicon;
    trl_model *model;
    trl__device *device;
    trl__parameters *parameters;
    trl__unit_map *map;
    trl__graph graph;
    trl__aligner *aligner;
    trl_matrix frames;
    int32_t *words;
    size_t word_count;
} align_case;

/* From a lexicon and a model: what is needed to align. */
static inline void open_case(align_case *c, const char *device)
{
    must(trl__device_open(device, &c->device, &err));
    must(trl__device_load_model(c->device, c->model, NULL, &c->parameters, &err));
    must(trl__unit_map_create(c->model, c->lexicon, &c->map, &err));
    must(trl__aligner_create(c->device, &c->aligner, &err));
}

static inline void say(align_case *c, const int32_t *words, size_t count)
{
    c->words = realloc(c->words, (count + 1) * sizeof *c->words);
    if (count > 0)
        memcpy(c->words, words, count * sizeof *words);
    c->word_count = count;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed with the case */
    must(trl__graph_build(&c->graph, c->map, c->lexicon, c->words, count, &err));
}

static inline void begin_case(align_case *c)
{
    must(trl__aligner_begin(c->aligner, c->parameters, &c->frames, &c->graph, &err));
}

static inline void close_case(align_case *c)
{
    trl__aligner_destroy(c->aligner);
    trl__graph_free(&c->graph);
    trl__unit_map_destroy(c->map);
    trl__parameters_free(c->parameters);
    trl__device_close(c->device);
    trl_matrix_free(&c->frames);
    trl_model_destroy(c->model);
    trl_lexicon_destroy(c->lexicon);
    free(c->words);
    *c = (align_case){0};
}

static inline trl__search_result search_case(align_case *c, int margin, double beam, const trl__run *previous,
                                             size_t count)
{
    trl__search_options o = {.margin = margin, .auto_margin = 4, .beam = beam};
    trl__search_result result;
    must(trl__aligner_search(c->aligner, &o, previous, count, &result, &err));
    return result;
}

/* ---- bands by their definition in aligner.h ---- */

/* The first frame of a run, those before the first and behind the last counting as at the ends. */
static inline int32_t start_of(const trl__run *runs, size_t count, int64_t run)
{
    int32_t t = 0;
    for (size_t i = 0; i < count && (int64_t)i < run; i++)
        t += runs[i].frames;
    return t;
}

static inline int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Runs [from, to) and `margin` around them, and as many runs before and behind them as there are neighbours. */
static inline void define_band(const align_case *c, const trl__run *runs, size_t count, int64_t from, int64_t to,
                               int margin, int neighbours, int32_t *first, int32_t *end)
{
    *first = larger(0, smaller(start_of(runs, count, from) - margin, start_of(runs, count, from - neighbours)));
    *end = larger(start_of(runs, count, to) + margin, start_of(runs, count, to == 0 ? 0 : to + neighbours));
    *end = smaller(*end, (int32_t)c->frames.rows);
}

/* Are they the same state of the same phone, maybe in two copies? */
static inline int is_same_state(const trl__graph *g, int32_t a, int32_t b)
{
    const trl__graph_phone *x = &g->phone[g->node_phone[a]], *y = &g->phone[g->node_phone[b]];
    return x->slot == y->slot && x->variant == y->variant && x->place == y->place &&
           g->node_state[a] == g->node_state[b];
}

static inline void define_bands(const align_case *c, const trl__run *runs, size_t count, int margin, int neighbours,
                                trl__bands bands)
{
    int64_t begin = 0;
    for (int32_t s = 0; s < c->graph.slots; s++) {
        const trl__graph_slot *slot = &c->graph.slot[s];
        int64_t end = begin;
        while (end < (int64_t)count && runs[end].node >= slot->first_node && runs[end].node < slot->end_node)
            end++;
        for (int32_t n = slot->first_node; n < slot->end_node; n++) {
            int64_t from = -1, to = -1;
            for (int64_t i = begin; i < end; i++)
                if (is_same_state(&c->graph, runs[i].node, n)) {
                    from = from < 0 ? i : from;
                    to = i + 1;
                }
            define_band(c, runs, count, from < 0 ? begin : from, from < 0 ? end : to, margin, neighbours,
                        &bands.first[n], &bands.end[n]);
        }
        begin = end;
    }
}

/* Those of an automatic margin that began at `least`: it and the neighbours were doubled together. */
static inline void define_auto_bands(const align_case *c, const trl__run *runs, size_t count, trl__search_result result,
                                     int least, trl__bands bands)
{
    int start = least > TRL__GUARD ? least : TRL__GUARD + 1;
    define_bands(c, runs, count, result.last_margin, TRL__NEIGHBOURS * (result.last_margin / start), bands);
}

static inline void check_guard(const align_case *c, trl__search_result result, trl__bands bands)
{
    int32_t t = 0;
    for (size_t r = 0; r < result.run_count; t += result.runs[r++].frames) {
        int32_t first = bands.first[result.runs[r].node], end = bands.end[result.runs[r].node];
        assert_true(first == 0 || t >= first + TRL__GUARD);
        assert_true(end == (int32_t)c->frames.rows || t + result.runs[r].frames <= end - TRL__GUARD);
    }
}

#endif
