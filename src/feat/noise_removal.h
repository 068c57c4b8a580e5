/* Sphinx's removal of noise: each frame's mel energies, in their order, are weighted by what stands out of the noise.
 *
 *     trl__noise_create(bins, added, least, &noise, err);          // freed by trl__free
 *     trl__noise_reset(noise);                                     // before an utterance
 *     trl__noise_remove(noise, mel, stride);                       // mel[b * stride], frame after frame
 */
#ifndef TRL_FEAT_NOISE_REMOVAL_H
#define TRL_FEAT_NOISE_REMOVAL_H

#include <stddef.h>
#include <trellis/error.h>

typedef struct trl__noise trl__noise;

/* At the end `added` is added to every energy, and no energy is below `least`. */
int trl__noise_create(int bins, double added, double least, trl__noise **out, trl_error *err);
void trl__noise_reset(trl__noise *noise);
void trl__noise_remove(trl__noise *state, float *mel, size_t stride);
void trl__noise_remove_wide(trl__noise *state, double *mel); /* the same, in double, side by side */

#endif
