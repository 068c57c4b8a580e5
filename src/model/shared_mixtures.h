/* Tied mixtures: tied states that share their Gaussians and have weights of their own (Sphinx's semi-continuous and
 * phonetically tied models; Huang and Jack 1989).
 *
 * A codebook has `densities` Gaussians in each of its streams; a stream is a range of the frame's dimensions. The score of
 * tied state s with codebook c is the sum over streams of ln (sum over densities k of w(s, stream, k) N(c, stream, k)). As in Sphinx, only
 * the `top` best densities of a codebook and stream may count, and none is taken for worse than `floor` below the
 * stream's best in any codebook: both belong to what a model's scores are.
 *
 * A model that has them has no other mixtures: first_gaussian is all 0.
 */
#ifndef TRL_MODEL_SHARED_MIXTURES_H
#define TRL_MODEL_SHARED_MIXTURES_H

#include <stdint.h>
#include <trellis/error.h>

#define TRL__STREAMS_MOST 16
#define TRL__DENSITIES_MOST 65536

typedef struct trl__shared_mixtures {
    int32_t codebooks, densities, streams;
    int32_t top;            /* 0: all count */
    float floor;            /* nats; 0: none */
    int32_t *stream_dim;    /* by stream; together the model's dimensions */
    int32_t *codebook;      /* by tied state */
    float *log_weight;      /* (tied * streams + stream) * densities + density */
    float *mean, *variance; /* (codebook * densities + density) * dim + k */
} trl__shared_mixtures;

/* Arrays for these sizes, which must be possible; stream_dim is copied. */
int trl__shared_mixtures_create(int32_t codebooks, int32_t densities, int32_t streams, const int32_t *stream_dim,
                                int32_t tied_states, trl__shared_mixtures **out, trl_error *err);
void trl__shared_mixtures_destroy(trl__shared_mixtures *mixtures);
int trl__shared_mixtures_copy(const trl__shared_mixtures *from, int32_t dim, int32_t tied_states,
                              trl__shared_mixtures **out, trl_error *err);

/* All numbers; weights of a tied state and stream sum up to at most about 1. */
int trl__shared_mixtures_check(const trl__shared_mixtures *mixtures, int32_t dim, int32_t tied_states, const char *name,
                               trl_error *err);

#endif
