/* Do likelihoods from a file have the length of their utterance's sound?
 *
 * Networks differ at the ends of a sound: with padding they give a row for each step that has begun, without it only
 * for what whole windows are there for, and convolutions without padding lose some more (two rows of four frames,
 * with the first layers of a Zipformer). All of that is allowed; anything else belongs to another sound or has
 * another step, and its times would be wrong.
 */
#ifndef TRL_ALIGN_LIKELIHOOD_LENGTH_H
#define TRL_ALIGN_LIKELIHOOD_LENGTH_H

#include <trellis/corpus.h>
#include <trellis/frontend.h>

#define TRL__SUBSAMPLING_MOST 100

/* 0, or TRL_EINVAL: no number of frames, or one without likelihoods, to which alone it belongs. */
int trl__subsampling_check(int subsampling, const char *likelihoods, trl_error *err);

/* The description of rows that stand for so many frames each: such a row's window is all of theirs, and so boundaries
 * between rows are boundaries between frames. */
void trl__subsample(trl_frontend_options *frontend, int subsampling);

/* How long the utterance's sound is, by its file's header and the times of the corpus. Returns 1; 0: there is no
 * sound, or none that can be read; TRL_ENOMEM. */
int trl__utterance_seconds(const trl_utterance *utterance, double *seconds, trl_error *err);

/* `frontend`: of the model's frames. Returns 0, or TRL_EINVAL: the error has both lengths, and what fits. */
int trl__likelihood_length_check(const char *path, size_t rows, const trl_frontend_options *frontend, int subsampling,
                                 double seconds, trl_error *err);

#endif
