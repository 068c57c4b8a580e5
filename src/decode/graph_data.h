/* What a recognition graph is made of: flat arrays, as they lie in its file, in the order that a search wants. */
#ifndef TRL_DECODE_GRAPH_DATA_H
#define TRL_DECODE_GRAPH_DATA_H

#include "base/container.h"

#include <trellis/graph.h>

typedef struct trl__network_arc {
    int32_t next;       /* state */
    int32_t transition; /* id of the model; 0: reads nothing */
    int32_t word;       /* 0: writes nothing */
    float cost;
} trl__network_arc;

typedef struct trl__ngram_rows trl__ngram_rows;

/* The arcs of state s are arcs[first[s]] … arcs[end[s] - 1]; those that read nothing come first, the others from
 * emitting[s] on, each group by transition, word, next. Arcs that read nothing form no cycle. */
struct trl_graph {
    int32_t states, start;
    int32_t words;      /* one above the highest label */
    uint64_t *first;    /* states + 1: they lie one behind the other … */
    uint64_t *end;      /* … so this is first + 1; only of a graph that grows (lazy_graph.h) it is not */
    uint64_t *emitting; /* by state */
    trl__network_arc *arcs;
    float *final;        /* by state: cost of ending there; INFINITY: not an end */
    int32_t *level;      /* by state: the most arcs of a way to it that reads nothing */
    int32_t levels;      /* one above the highest */
    int is_level_mapped; /* level[] is the file's */
    int32_t *tied;       /* by transition id, from 0 (-1): the model's tied state */
    int32_t transitions; /* the highest id */
    uint64_t model;      /* fingerprint of what it fits (trl__model_shape) */
    /* How words are said: word w has the pronunciations spoken_word[w] … spoken_word[w + 1] - 1, and the units of pronunciation i are spoken_units[spoken_first[i]] …
     * spoken_units[spoken_first[i + 1] - 1], at least one. All NULL: that is not known. */
    uint32_t *spoken_word;  /* words + 1 */
    uint32_t *spoken_first; /* pronunciations + 1 */
    int32_t *spoken_units;
    trl__ngram_rows *rows; /* the n-gram model that the search puts in (lazy_graph.h); NULL: it is in the arcs */
    const int32_t *
        pairs; /* of a graph that grows: two numbers by state that tell it from others in any search (trl__state_order); else NULL */
    trl_symbols *symbols;
    char *provenance;
    trl__container *file; /* keeps the mapping; NULL: on the heap */
};

/* An order of states that does not depend on which search met them first. */
static inline uint64_t trl__state_order(const trl_graph *g, int32_t state)
{
    return g->pairs ? (uint64_t)(uint32_t)g->pairs[2 * state] << 32 | (uint32_t)g->pairs[2 * state + 1]
                    : (uint64_t)state;
}

/* Fills level and levels from the arcs. TRL_EINVAL: arcs that read nothing form a cycle, or TRL_ENOMEM. */
int trl__graph_set_levels(trl_graph *graph, trl_error *err);

/* A hash of units, topologies, triples and tree: what a graph depends on but Gaussians and probabilities. */
uint64_t trl__model_shape(const trl_model *model);

#endif
