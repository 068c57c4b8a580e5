/* fMLLR (constrained MLLR; Gales 1998): an affine transform of a speaker's frames, so that they fit the model best.
 *
 *     trl__fmllr_stats_add(stats, model, &frames, tied_of_frame, err);   // along an alignment
 *     trl__fmllr_estimate(stats, &options, &transform, &summary, err);   // dim x (dim + 1): o becomes A o + b
 *     trl__fmllr_apply(&transform, &frames, &out, err);
 *
 * A frame counts with the posteriors of its state's Gaussians. For row r, with e = (o, 1): G_r = sum of e e' / v_r, k_r
 * = sum of m_r e / v_r. Given the other rows, a row is the better solution of a quadratic equation; the objective, n
 * log |det A| plus the expected log-likelihood, never falls. Statistics add up, over utterances and machines.
 */
#ifndef TRL_ADAPT_FMLLR_H
#define TRL_ADAPT_FMLLR_H

#include "model/model_data.h"

#include <trellis/matrix.h>

typedef struct trl__fmllr_stats {
    int32_t dim;
    double frames;
    double *k; /* dim * (dim + 1) */
    double *g; /* dim packed upper triangles of (dim + 1) rows */
} trl__fmllr_stats;

/* Numbers of such a triangle. */
static inline size_t trl__fmllr_packed(int32_t dim)
{
    return ((size_t)dim + 1) * ((size_t)dim + 2) / 2;
}

typedef struct trl__fmllr_options {
    double least_frames; /* with fewer the transform stays the identity; default 500 */
    int32_t rounds;      /* over all rows, at most; default 40 */
} trl__fmllr_options;

typedef struct trl__fmllr_summary {
    double frames;
    double gain;    /* objective per frame over the identity; never negative */
    double log_det; /* of A: what a frame's likelihood in the old space has on top */
    int estimated;  /* 0: too few frames, the identity */
} trl__fmllr_summary;

trl__fmllr_options trl__fmllr_defaults(void);
int trl__fmllr_stats_create(int32_t dim, trl__fmllr_stats **out, trl_error *err);
void trl__fmllr_stats_destroy(trl__fmllr_stats *stats);
void trl__fmllr_stats_zero(trl__fmllr_stats *stats);
/* Does a frame of such a unit count? Silence and noise say little of a speaker, but if they did not count at all,
 * nothing would hold them in their place: a transform made for speech alone throws silence, which lies apart, anywhere.
 * So every tenth frame of them does. */
static inline int trl__fmllr_counts(int unit_kind, size_t frame)
{
    return unit_kind == TRL_UNIT_PHONE || frame % 10 == 0;
}

/* tied_of: by frame; -1: left out. */
int trl__fmllr_stats_add(trl__fmllr_stats *stats, const trl_model *model, const trl_matrix *frames,
                         const int32_t *tied_of, trl_error *err);
int trl__fmllr_stats_merge(trl__fmllr_stats *stats, const trl__fmllr_stats *other, trl_error *err);
int trl__fmllr_estimate(const trl__fmllr_stats *stats, const trl__fmllr_options *options, trl_matrix *transform,
                        trl__fmllr_summary *summary, trl_error *err);

int trl__fmllr_identity(int32_t dim, trl_matrix *transform, trl_error *err);

/* out may be `frames` itself. */
int trl__fmllr_apply(const trl_matrix *transform, const trl_matrix *frames, trl_matrix *out, trl_error *err);

/* One transform that does what `first` and then `second` do: an estimate from frames that were adapted already goes on
 * top. */
int trl__fmllr_compose(const trl_matrix *second, const trl_matrix *first, trl_matrix *out, trl_error *err);

/* log |det A|; -inf where A has no inverse. */
int trl__fmllr_log_det(const trl_matrix *transform, double *log_det, trl_error *err);

#endif
