/* What a model is made of: plain arrays, filled once, then read by everybody. See trellis/model.h for the indices. */
#ifndef TRL_MODEL_MODEL_DATA_H
#define TRL_MODEL_MODEL_DATA_H

#include "base/container.h"
#include "base/string_table.h"
#include "model/shared_mixtures.h"
#include "model/tree.h"

#include <trellis/model.h>

#define TRL__DIM_MOST 65536

typedef struct trl__arc {
    int32_t to;        /* a state, or TRL_EXIT */
    float probability; /* before training; entry arcs keep it */
} trl__arc;

/* Arcs are kept by source: those of the entry first, then state by state. arcs[first[s + 1]] … arcs[first[s + 2] - 1]
 * leave state s, arcs[first[0]] … arcs[first[1] - 1] the entry. An entry arc to TRL_EXIT lets the unit be skipped
 * (HTK's tee model). */
typedef struct trl__topology {
    int32_t states;
    int32_t *first; /* states + 2 */
    trl__arc *arcs;
} trl__topology;

typedef struct trl__triple {
    int32_t unit, state, tied;
    int32_t transition; /* id of its first arc */
    int32_t pool;       /* a triple whose arcs are estimated together with these (HTK's ~t); itself when alone */
} trl__triple;

/* The mixtures of all tied states. */
typedef struct trl__model_mixtures {
    int32_t *first_gaussian; /* tied_states + 1 */
    float *log_weight;       /* by Gaussian */
    float *mean, *variance;  /* Gaussian * dim + k */
    uint8_t mapped;          /* 1: the arrays lie in the model's file; 0: on the heap */
} trl__model_mixtures;

struct trl_model {
    int32_t dim;
    char *frontend, *lexicon, *provenance, *history;
    float silence_between; /* probability */

    trl__strings units;
    uint8_t *unit_kind;     /* trl_unit_kind */
    int32_t *unit_topology; /* index into topologies */
    int32_t *unit_triple;   /* units + 1: the first triple of each */
    uint8_t word_positions; /* 1: phones are NAME_B, NAME_I, NAME_E, NAME_S; look them up by name */

    int32_t topologies;
    trl__topology *topology;

    int32_t triples;
    trl__triple *triple;
    int32_t transitions;        /* the highest id */
    int32_t *transition_triple; /* transitions + 1: of id 1 …; [0] is -1 */
    float *log_probability;     /* transitions + 1, natural logarithm; [0] is 0 */

    int32_t tied_states;
    int32_t *first_gaussian; /* tied_states + 1 */
    float *log_weight;       /* by Gaussian */
    float *mean, *variance;  /* Gaussian * dim + k */
    uint8_t mapped;          /* 1: these four lie in `file`; 0: on the heap */

    trl__shared_mixtures *shared; /* codebooks in place of these; then all first_gaussian are 0. NULL: none */

    trl__tree *tree; /* chooses among the tied states of a unit's state; NULL: there is one for each */

    /* Of a model that was trained on adapted frames: the mixtures for frames as they come, with which a first pass
     * finds what a speaker's transform is estimated from. All NULL: the model is for such frames itself. */
    trl__model_mixtures independent;

    trl__container *file; /* keeps the mapping that mixtures lie in; NULL: none do */
};

/* Empty, with dim set: the pieces are added by whoever makes a model (create, model file, HTK). */
int trl__model_new(int32_t dim, trl_model **out, trl_error *err);

/* Called last by whoever makes a model. Given: units, topologies, sorted triples with pools, mixtures, perhaps a
 * tree; log_probability or NULL (then it is made from the topologies). Numbers the transitions, fills unit_triple and
 * transition_triple, and checks all names, indices, probabilities and variances: weights and probabilities are
 * positive and sum up to 1 within a hundredth; with a tree, a unit's state has a triple for each tied state that the
 * tree can give it and no other, and no unit can be skipped. TRL_ECORRUPT, TRL_ENUMBER, TRL_ELIMIT say what is wrong
 * and where; `name` stands for the file in messages. */
int trl__model_finish(trl_model *model, const char *name, trl_error *err);

/* The first half of it, for triples that come from a file: checks all but the probabilities and Gaussians and numbers
 * the transitions, so that log_probability can be filled; then comes finish. */
int trl__model_structure(trl_model *model, const char *name, trl_error *err);

/* The sum over triples of arcs: what log_probability[] has, less one. Topologies and triples must be valid. */
int64_t trl__model_count_transitions(const trl_model *model);

int trl__model_set_text(char **place, const char *text, trl_error *err); /* frontend, lexicon … : a copy */

/* The triple of a unit's state where there is one per state (models without context). */
static inline const trl__triple *trl__model_triple(const trl_model *model, int32_t unit, int32_t state)
{
    return model->triple + model->unit_triple[unit] + state;
}

/* The triple of these three, found among the unit's; -1: there is none. */
int32_t trl__model_find_triple(const trl_model *model, int32_t unit, int32_t state, int32_t tied);

static inline const trl__topology *trl__unit_topology(const trl_model *model, int32_t unit)
{
    return model->topology + model->unit_topology[unit];
}

/* A deep copy with heap arrays, for training; the new mixtures may have other sizes. */
int trl__model_copy(const trl_model *model, trl_model **out, trl_error *err);

/* Reads a model from an opened file, which it takes over, whatever happens. */
int trl__model_from_container(trl__container *file, trl_model **out, trl_error *err);

/* Replaces the mixtures, those of the first pass; takes over the arrays. */
void trl__model_set_mixtures(trl_model *model, int32_t *first_gaussian, float *log_weight, float *mean,
                             float *variance);
void trl__model_set_independent(trl_model *model, int32_t *first_gaussian, float *log_weight, float *mean,
                                float *variance);

/* The model for a first pass over frames as they come: with the independent mixtures where there are some, else as it
 * is. A view of the same arrays: good as long as the model is not changed, and never destroyed. */
trl_model trl__model_first_pass(const trl_model *model);

#endif
