/* Scores of tied mixtures (model/shared_mixtures.h): every codebook's densities once per frame, then the weights of its tied states. */
#ifndef TRL_BACKEND_CPU_SHARED_SCORES_H
#define TRL_BACKEND_CPU_SHARED_SCORES_H

#include "backend/cpu/gmm_kernel.h"

typedef struct trl__shared_gmms trl__shared_gmms; /* packed */

#define TRL__SHARED_PAD 32   /* floats: rows of densities are filled up to whole ones */
#define TRL__SHARED_STATES 8 /* and a codebook's tied states to whole ones of these */

#define TRL__SHARED_FRAMES 4     /* frames that a kernel takes at once */
#define TRL__SHARED_LEAST 1e-37F /* of a sum; what is below has no logarithm */

/* The Gaussians of a codebook's stream, side by side for each dimension. */
typedef struct trl__shared_gaussians {
    const float *constant, *mean, *half; /* mean, half: k * count + density: half is 1 / (2 variance) */
    size_t dims, count;                  /* a multiple of TRL__SHARED_PAD */
} trl__shared_gaussians;

/* What counts of a codebook's stream in a frame, and the weights of the codebook's tied states. */
typedef struct trl__shared_stream {
    const float *weight; /* density * states + state */
    size_t states;       /* a multiple of TRL__SHARED_STATES */
    const int32_t *which;
    const float *value; /* densities, relative to base */
    size_t count;
    float base; /* log density */
} trl__shared_stream;

/* In one version per instruction set (shared_lanes.h). */
typedef struct trl__shared_kernel {
    void (*densities)(const trl__shared_gaussians *g, const float *const *frame, size_t frames, float *const *out);
    int (*any_above)(const float *density, float least); /* is one of TRL__SHARED_PAD at least as good? */
    void (*scores)(const trl__shared_stream *stream, size_t streams, int is_max, float *out);
} trl__shared_kernel;

extern const trl__shared_kernel trl__shared_base, trl__shared_avx2;

int trl__shared_gmms_create(const trl_model *model, trl__shared_gmms **out, trl_error *err);
void trl__shared_gmms_destroy(trl__shared_gmms *gmms);

/* Scores of frames that were asked for lately, by a stream of the backend. Initialise with {0}. */
typedef struct trl__shared_cache {
    trl__scratch scores, work;
    const trl__shared_gmms *gmms; /* what they are of; NULL: nothing is there */
    const trl_matrix *frames;
    trl__combine combine;
    int32_t *frame; /* by slot: which frame, or -1 */
} trl__shared_cache;

/* Checks the frames, which stay where they are. TRL_ENUMBER: a value is not finite or beyond TRL__MOST_VALUE. */
int trl__shared_place(trl__placed *placed, int32_t dim, const trl_matrix *frames, int32_t begin, int32_t end,
                      trl_error *err);

/* Step 1 for a search whose rows were checked. A search asks for the tied states of a frame in several calls; the scores of all are computed in
 * the first. The cache must forget (gmms = NULL) when frames change. */
int trl__shared_score(const trl__shared_gmms *gmms, trl__shared_cache *cache, trl__search *search, trl_error *err);

/* Such models are used, not trained. */
int trl__shared_refuse(trl_error *err);

#endif
