/* Log-likelihoods for a search, of a model or from a matrix.
 *
 *     trl__scorer_create(device, tied_states, &scorer, err);                   // one per thread
 *     trl__scorer_begin(scorer, parameters, frames, err);                      // a model on the device …
 *     trl__scorer_begin_likelihoods(scorer, matrix);                           // … or a matrix: a column per tied state
 *     trl__scorer_search(scorer, decoder, err);                                // all of these frames through the search
 */
#ifndef TRL_DECODE_SCORER_H
#define TRL_DECODE_SCORER_H

#include "backend/backend.h"
#include "decode/decoder.h"

typedef struct trl__scorer trl__scorer;

/* device: NULL where there will be matrices only. */
int trl__scorer_create(trl__device *device, int32_t tied_states, trl__scorer **out, trl_error *err);
void trl__scorer_destroy(trl__scorer *scorer);

/* Frames, matrix and parameters must stay as they are until the utterance is done. TRL_ENUMBER: a value is not finite. */
int trl__scorer_begin(trl__scorer *scorer, const trl__parameters *parameters, const trl_matrix *frames, trl_error *err);
void trl__scorer_begin_likelihoods(trl__scorer *scorer, const trl_matrix *likelihoods);

/* The frames from `begin` on, as a group for the decoder, valid until the next call. Tied states are scored when the search first asks for them, from that frame
 * to the end of the group. A group is long enough for the kernels to work well, and so short that most of what is scored is used: 16 frames. What the scores are does
 * not depend on it. A matrix has all scores. */
void trl__scorer_open(trl__scorer *scorer, int32_t begin, trl__score_group **group);

/* Advances the decoder by all frames, group by group. */
int trl__scorer_search(trl__scorer *scorer, trl__decoder *decoder, trl_error *err);

#endif
