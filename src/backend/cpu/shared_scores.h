/* Scores of tied mixtures (model/shared_mixtures.h): every codebook's densities once per frame, then the weights of the
 * tied states that are wanted. */
#ifndef TRL_BACKEND_CPU_SHARED_SCORES_H
#define TRL_BACKEND_CPU_SHARED_SCORES_H

#include "backend/cpu/gmm_kernel.h"

typedef struct trl__shared_gmms trl__shared_gmms; /* packed */

#define TRL__SHARED_PAD 32 /* floats: rows of densities are filled up to whole ones */

/* Log densities, in one version per instruction set (shared_lanes.h). */
typedef void trl__shared_densities(const float *constant, const float *mean, const float *half, const float *frame,
                                   size_t dims, size_t count, float *out);
trl__shared_densities trl__shared_densities_base, trl__shared_densities_avx2;

int trl__shared_gmms_create(const trl_model *model, trl__shared_gmms **out, trl_error *err);
void trl__shared_gmms_destroy(trl__shared_gmms *gmms);

/* Densities of frames that were scored lately, of a stream. Initialise with {0}. */
typedef struct trl__shared_cache {
    trl__scratch memory;
    const trl__shared_gmms *gmms; /* what they are of; NULL: nothing is there */
    const trl_matrix *frames;
    int32_t slots;
    int32_t *frame; /* by slot: which frame, or -1 */
} trl__shared_cache;

/* Checks the frames, which stay where they are. TRL_ENUMBER: a value is not finite or beyond TRL__MOST_VALUE. */
int trl__shared_place(trl__placed *placed, int32_t dim, const trl_matrix *frames, int32_t begin, int32_t end,
                      trl_error *err);

/* Step 1 for a search whose rows were checked. A search asks for the tied states of a frame in several calls; its densities are computed in
 * the first. The cache must forget (gmms = NULL) when frames change. */
int trl__shared_score(const trl__shared_gmms *gmms, trl__shared_cache *cache, trl__search *search, trl_error *err);

/* Such models are used, not trained. */
int trl__shared_refuse(trl_error *err);

#endif
