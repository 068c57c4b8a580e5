/* The files of a CMU Sphinx model, each read by a file of its own here; sphinx_model.c makes a model of them.
 *
 *     mdef                   sphinx_mdef.c: phones, triphones and their tied states ("senones")
 *     means, variances, mixture_weights or sendump, transition_matrices, feature_transform      sphinx_parameters.c
 *     feat.params            sphinx_features.c: the front end
 *
 * Indices: phones without context come first and are numbered like their names; "senones" are our tied states.
 */
#ifndef TRL_MODEL_SPHINX_MODEL_H
#define TRL_MODEL_SPHINX_MODEL_H

#include "base/byte_source.h"
#include "model/model_data.h"

#include <trellis/matrix.h>

/* Where in a word a triphone was. */
enum { TRL__SPHINX_INSIDE, TRL__SPHINX_BEGIN, TRL__SPHINX_END, TRL__SPHINX_SINGLE, TRL__SPHINX_PLACES };

typedef struct trl__sphinx_phone {
    int32_t base, left, right; /* of a phone without context: itself, -1, -1 */
    int32_t place;
    int32_t matrix;  /* of transitions */
    int32_t senones; /* the first of its states' in mdef.senone */
} trl__sphinx_phone;

typedef struct trl__sphinx_mdef {
    trl__strings names; /* of the phones without context */
    uint8_t *filler;    /* by name */
    int32_t silence;    /* the phone SIL; -1: there is none */
    int32_t states, senones, matrices;
    int32_t phones; /* all */
    trl__sphinx_phone *phone;
    int32_t *senone;
    size_t phone_capacity, senone_count, senone_capacity;
} trl__sphinx_mdef;

/* Text (0.3) or binary. TRL_EFORMAT, TRL_ECORRUPT, TRL_EUNSUPPORTED (phones with different numbers of states), TRL_ENOMEM. */
int trl__sphinx_mdef_read(trl__source *source, trl__sphinx_mdef *out, trl_error *err);
void trl__sphinx_mdef_free(trl__sphinx_mdef *mdef);

/* An array of floats with up to three sizes before the last: means have codebooks, streams, densities and per stream its
 * dimensions; weights have senones, streams, densities; transitions matrices, sources, targets. */
typedef struct trl__sphinx_array {
    int32_t size[3];
    int32_t *stream_dim; /* of means and variances; else NULL */
    float *value;
    uint64_t count;
} trl__sphinx_array;

int trl__sphinx_array_read(trl__source *source, int has_streams, trl__sphinx_array *out, trl_error *err);
void trl__sphinx_array_free(trl__sphinx_array *array);

/* Weights of one byte (or four bits): value[(senone * streams + stream) * densities + density], natural logarithms. The
 * sizes are what the other files say. */
int trl__sphinx_sendump_read(trl__source *source, const int32_t *size, trl__sphinx_array *out, trl_error *err);

/* The front end of a feat.params (NULL: none, all defaults), for frames of `dim` values. `lda` as in feature_transform,
 * or without rows. *description is freed by trl__free. */
int trl__sphinx_features(trl__source *params, const trl_matrix *lda, int32_t dim, char **description, trl_error *err);

/* Units, topologies, triples and tree of a model, from phones and transitions. The matrices are probabilities. */
int trl__sphinx_units(const trl__sphinx_mdef *mdef, const trl__sphinx_array *transitions, trl_model *model,
                      trl_error *err);
int trl__sphinx_contexts(const trl__sphinx_mdef *mdef, trl_model *model, trl_error *err);

/* The model in a folder. */
int trl__sphinx_model_read(const char *folder, trl_model **out, trl_error *err);

#endif
