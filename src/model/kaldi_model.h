/* Inside the reader and writer of Kaldi's models.
 *
 * A model file (final.mdl) is a transition model and a GMM for every pdf-id:
 *
 *     <TransitionModel> <Topology> … </Topology> <Triples> n (phone state pdf)… </Triples>
 *     <LogProbs> vector </LogProbs> </TransitionModel> <DIMENSION> d <NUMPDFS> n <DiagGMM> <GCONSTS> vector
 *     <WEIGHTS> vector <MEANS_INVVARS> matrix <INV_VARS> matrix </DiagGMM> …
 *
 * Newer ones have <Tuples> with two pdfs, which are equal in GMM systems. Phones count from 1: unit u is phone u + 1.
 * Pdf-ids are tied states, transition-states triples (from 1), transition-ids transitions. State 0 is where a phone
 * begins; its last state, which emits nothing, is the exit.
 */
#ifndef TRL_MODEL_KALDI_MODEL_H
#define TRL_MODEL_KALDI_MODEL_H

#include "base/text_file.h"
#include "model/kaldi_io.h"
#include "model/model_data.h"

/* From a source; `phones` is phones.txt or NULL, `phones_name` stands for it in messages. `tree`, or NULL, is read
 * where states have several tied states. */
int trl__kaldi_model_read(trl__source *source, trl__text *phones, const char *phones_name, trl__source *tree,
                          trl_model **out, trl_error *err);

/* For a model that has units with names, topologies and mixtures. */
int trl__kaldi_tree_read(trl__source *source, const trl_model *model, trl__tree **out, trl_error *err);

/* <Topology> … </Topology>: fills topologies, and *topology_of (by unit; the caller frees it) for all units. */
int trl__kaldi_topology_read(trl__kaldi_in *in, trl_model *model, int32_t **topology_of, size_t *units);
void trl__kaldi_topology_write(trl__kaldi_out *out, const trl_model *model);

/* The parts of a model in a file each; TRL_EUNSUPPORTED says why a model can't be written. */
int trl__kaldi_model_write(const trl_model *model, const char *path, int binary, trl_error *err);
int trl__kaldi_tree_write(const trl_model *model, const char *path, int binary, trl_error *err);
int trl__kaldi_phones_write(const trl_model *model, const char *path, trl_error *err);

/* Kaldi's constant of a Gaussian: log weight - (d log 2 pi + sum of log variance + mean² / variance) / 2. */
float trl__kaldi_constant(float weight, const float *mean_by_variance, const float *inverse_variance, int32_t dim);

#endif
