/* Semi-tied covariances (Gales 1999; [001] IV-B): one square transform for all Gaussians, in whose space diagonal
 * covariances lose least.
 *
 *     trl__stc_stats_add(stats, model, &frames, gaussian_of_frame, err);
 *     trl__stc_estimate(stats, 20, a, &summary, err);
 *     trl__stc_apply(model, a, err);                               // means turned; frames o become a o
 *
 * For row r, G_r = sum over frames of (o - m)(o - m)' / v_r, with mean and variance of the frame's Gaussian. Given the
 * other rows, the best row is G_r^-1 c scaled to sqrt(n / (c' G_r^-1 c)), c its row of cofactors; the likelihood never
 * falls.
 */
#ifndef TRL_MODEL_STC_H
#define TRL_MODEL_STC_H

#include "model/model_data.h"

#include <trellis/matrix.h>

typedef struct trl__stc_stats {
    int32_t dim;
    double frames;
    double *g;     /* dim matrices, each the packed upper triangle: dim * (dim + 1) / 2 numbers */
    double *block; /* frames on their way into the sums */
} trl__stc_stats;

typedef struct trl__stc_summary {
    double gain;    /* log-likelihood per frame over the identity; never negative */
    double log_det; /* log |det a| */
    int32_t rounds; /* over all rows */
} trl__stc_summary;

int trl__stc_stats_create(int32_t dim, trl__stc_stats **out, trl_error *err);
void trl__stc_stats_destroy(trl__stc_stats *stats);
void trl__stc_stats_zero(trl__stc_stats *stats);
/* gaussian_of: by frame, the model's number; -1: left out. Cost per frame: dim^3 multiplications, by matrix product. */
int trl__stc_stats_add(trl__stc_stats *stats, const trl_model *model, const trl_matrix *frames,
                       const int32_t *gaussian_of, trl_error *err);
int trl__stc_stats_merge(trl__stc_stats *stats, const trl__stc_stats *other, trl_error *err);

/* a: dim * dim, row by row, starting from the identity. Too few frames (fewer than 2 * dim), or directions without
 * variance: the identity, gain 0. */
int trl__stc_estimate(const trl__stc_stats *stats, int32_t rounds, double *a, trl__stc_summary *summary,
                      trl_error *err);

/* Means become a m; variances stay (they were those of the old space: the next estimate mends them). The model's arrays
 * must be its own (trl__model_copy), not a file's. */
int trl__stc_apply(trl_model *model, const double *a, trl_error *err);

#endif
