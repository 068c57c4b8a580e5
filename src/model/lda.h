/* Linear discriminant analysis: the projection that keeps classes (tied states) apart.
 *
 *     trl__lda_stats_add(stats, &frames, class_of_frame, err);     // spliced frames
 *     trl__lda_estimate(stats, 39, &transform, &summary, err);
 *
 * Rows of the transform are the leading eigenvectors of between-class against within-class covariance, scaled so that
 * the within-class covariance becomes the identity; they are sorted by their share of discrimination, and each has its
 * largest number positive, so that the result does not depend on a library's choice of sign.
 */
#ifndef TRL_MODEL_LDA_H
#define TRL_MODEL_LDA_H

#include <stdint.h>
#include <trellis/error.h>
#include <trellis/matrix.h>

typedef struct trl__lda_stats {
    int32_t dim, classes;
    double *count;  /* by class: frames */
    double *sum;    /* class * dim */
    double *square; /* dim * dim: of o o', all classes, upper triangle */
    double *block;  /* frames on their way into the sums */
} trl__lda_stats;

typedef struct trl__lda_summary {
    double kept;      /* share of the sum of eigenvalues */
    int32_t seen;     /* classes with frames */
    int32_t constant; /* directions without variance, which were left out */
} trl__lda_summary;

int trl__lda_stats_create(int32_t dim, int32_t classes, trl__lda_stats **out, trl_error *err);
void trl__lda_stats_destroy(trl__lda_stats *stats);
void trl__lda_stats_zero(trl__lda_stats *stats);
/* class_of: by frame; -1: the frame is left out. */
int trl__lda_stats_add(trl__lda_stats *stats, const trl_matrix *frames, const int32_t *class_of, trl_error *err);
int trl__lda_stats_merge(trl__lda_stats *stats, const trl__lda_stats *other, trl_error *err);

/* transform: keep x (dim + 1), the last column takes the mean of all frames to 0; fewer rows where not so many
 * directions vary within the classes. TRL_EINVAL: fewer than two classes, or nothing that varies; the text says what to
 * do. */
int trl__lda_estimate(const trl__lda_stats *stats, int32_t keep, trl_matrix *transform, trl__lda_summary *summary,
                      trl_error *err);

#endif
