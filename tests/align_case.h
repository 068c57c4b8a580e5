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
    must(trl__device_open(device, 0, &c->device, &err));
    must(trl__device_load_model(c->device, c->model, &c->parameters, &err));
    must(trl__unit_map_create(c->model, c->lexicon, &c->map, &err));
    must(trl__aligner_create(c->device, &c->aligner, &err));
}

static inline void say(align_case *c, const int32_t *words, size_t count)
{
    c->words = realloc(c->words, (count + 1) * sizeof *c->words);
    memcpy(c->words, words, count * sizeof *words);
    c->word_count = count;
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

#endif
