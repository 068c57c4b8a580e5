/* A mixture of Gaussians from a sample of frames, by splitting ([001] II, HTK's way): one Gaussian, then twice as many again and again up to the size that varmix gives,
 * with some iterations of expectation maximisation at each size.
 *
 * Frames go in chunks of fixed size, whose sums are added up in their order: the same bytes for any number of threads. Cost: the scores of about
 * twice as many Gaussians as there are at the end, times the iterations, for every frame.
 */
#ifndef TRL_BAM_GROW_MIXTURE_H
#define TRL_BAM_GROW_MIXTURE_H

#include "bam/reservoir.h"
#include "backend/backend.h"

#include <trellis/bam.h>

typedef struct trl__grower trl__grower;

/* One thread at a time uses a grower; its work is shared by the pool (NULL: one thread). The options must outlive it. */
int trl__grower_create(int32_t dim, const trl_bam_options *options, trl_pool *pool, trl__grower **out, trl_error *err);
void trl__grower_destroy(trl__grower *grower);

/* The mixture is tied state 0 of the model, which is the grower's, good until the next call. The reservoir must be settled, and not empty. TRL_ENUMBER: frames that
 * can't be used. */
int trl__grow_mixture(trl__grower *grower, const trl__reservoir *frames, const trl_model **mixture, trl_error *err);

#endif
