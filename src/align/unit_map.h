/* What graphs are built from: the lexicon's phones as units, and topologies turned around. */
#ifndef TRL_ALIGN_UNIT_MAP_H
#define TRL_ALIGN_UNIT_MAP_H

#include "align/utterance_graph.h"

#include <math.h>

#define TRL__POSITIONS 4           /* begin, inside, end, single */
#define TRL__NEVER (INT32_MAX / 2) /* frames of what can't be passed through */

typedef struct trl__inner_arc {
    int32_t from, number; /* the number-th arc that leaves state `from` */
} trl__inner_arc;

/* A topology turned around: what leads into each state. */
typedef struct trl__shape {
    int32_t states, inner_arcs, entries, exits;
    int32_t *first;        /* states + 1: of the inner arcs into each state, its loop first */
    trl__inner_arc *inner; /* from state to state */
    trl__inner_arc *exit;  /* out of the unit */
    float *entry;          /* by state: log probability of beginning there; -inf: none */
    float skip;            /* log probability of passing over the unit; -inf: can't be */
    int32_t least;         /* frames of the shortest way through that is not passing over */
} trl__shape;

struct trl__unit_map {
    const trl_model *model;
    int32_t *phone_unit;    /* phone * TRL__POSITIONS + position; -1: not in the model */
    int lacks_phones;       /* some of them are not */
    int32_t silence, noise; /* units; -1: none */
    trl__shape *shapes;     /* by topology */
};

static inline int32_t trl__unit_of(const trl__unit_map *map, trl_pronunciation p, size_t phone)
{
    size_t position = p.length == 1 ? 3 : phone == 0 ? 0 : phone + 1 == p.length ? 2 : 1;
    return map->phone_unit[(size_t)p.phones[phone] * TRL__POSITIONS + position];
}

static inline const trl__shape *trl__shape_of(const trl__unit_map *map, int32_t unit)
{
    return &map->shapes[map->model->unit_topology[unit]];
}

static inline float trl__log_of(float probability)
{
    return probability > 0 ? logf(probability) : -INFINITY;
}

/* A phone of the word that the model lacks is an error. */
int trl__check_phones(const trl__unit_map *map, const trl_lexicon *lexicon, size_t word, trl_error *err);

#endif
