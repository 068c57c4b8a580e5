/* Linear discriminant analysis (Fisher 1936, Rao 1948; [001] IV-B).
 *
 * With W the covariance within classes and B that of the class means, both are diagonalised at once: first W, by its
 * eigenvectors, in units of each feature's standard deviation; directions that do not vary are left out, and the others
 * scaled to variance 1. There, what is left of B is diagonalised by a rotation, which W does not feel.
 *
 * Cost: dim^2 / 2 multiplications per frame, by matrix products of blocks; dim^3 for the estimate, and dim^2 per class.
 */
#include "model/lda.h"
#include "base/fail.h"
#include "base/lapack.h"
#include "base/matrix_product.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define BLOCK 128  /* frames: of 120 numbers they take 120 KB, and are read while they are in the cache */
#define STRIPE 24  /* rows of the triangle that begin at the same column */
#define TINY 1e-10 /* variance, compared with that of all frames, or with the mean square: none */

/* ---- Statistics ---- */

static size_t square_size(const trl__lda_stats *stats)
{
    return (size_t)stats->dim * (size_t)stats->dim;
}

int trl__lda_stats_create(int32_t dim, int32_t classes, trl__lda_stats **out, trl_error *err)
{
    *out = NULL;
    trl__lda_stats *stats = trl__alloc_zero(1, sizeof *stats);
    if (!stats)
        return trl__fail_memory(err);
    stats->dim = dim;
    stats->classes = classes;
    stats->count = trl__alloc((size_t)classes, sizeof *stats->count);
    stats->sum = trl__alloc((size_t)classes * (size_t)dim, sizeof *stats->sum);
    stats->square = trl__alloc_aligned(square_size(stats), sizeof *stats->square);
    stats->block = trl__alloc_aligned(BLOCK * trl__product_padded((size_t)dim), sizeof *stats->block);
    if (!stats->count || !stats->sum || !stats->square || !stats->block) {
        trl__lda_stats_destroy(stats);
        return trl__fail_memory(err);
    }
    memset(stats->block, 0, BLOCK * trl__product_padded((size_t)dim) * sizeof *stats->block);
    trl__lda_stats_zero(stats);
    *out = stats;
    return 0;
}

void trl__lda_stats_destroy(trl__lda_stats *stats)
{
    if (!stats)
        return;
    trl__free(stats->count);
    trl__free(stats->sum);
    trl__free(stats->square);
    trl__free(stats->block);
    trl__free(stats);
}

void trl__lda_stats_zero(trl__lda_stats *stats)
{
    memset(stats->count, 0, (size_t)stats->classes * sizeof *stats->count);
    memset(stats->sum, 0, (size_t)stats->classes * (size_t)stats->dim * sizeof *stats->sum);
    memset(stats->square, 0, square_size(stats) * sizeof *stats->square);
}

/* The block's share of the triangle, stripe by stripe; each has numbers below the diagonal too, which nobody reads. */
static void add_squares(trl__lda_stats *stats, size_t frames)
{
    size_t dim = (size_t)stats->dim, stride = trl__product_padded(dim);
    for (size_t i = 0; i < dim; i += STRIPE)
        trl__product_add(&(trl__product){.rows = dim - i < STRIPE ? dim - i : STRIPE,
                                         .cols = dim - i,
                                         .terms = frames,
                                         .a = stats->block + i,
                                         .a_step = stride,
                                         .a_row = 1,
                                         .b = stats->block + i,
                                         .b_step = stride,
                                         .c = stats->square + i * dim + i,
                                         .c_row = dim});
}

int trl__lda_stats_add(trl__lda_stats *stats, const trl_matrix *frames, const int32_t *class_of, trl_error *err)
{
    size_t dim = (size_t)stats->dim, stride = trl__product_padded(dim), filled = 0;
    if (frames->cols != dim)
        return trl__fail(err, TRL_EINVAL, "frames of %zu values can't be added to the statistics of %zu", frames->cols,
                         dim);
    for (size_t t = 0; t < frames->rows; t++)
        if (class_of[t] < -1 || class_of[t] >= stats->classes)
            return trl__fail(err, TRL_EINVAL, "frame %zu is of class %d, but there are %d", t, (int)class_of[t],
                             (int)stats->classes);
    for (size_t t = 0; t < frames->rows; t++) {
        if (class_of[t] < 0)
            continue;
        const float *frame = trl_matrix_row(frames, t);
        double *wide = stats->block + filled * stride, *sum = stats->sum + (size_t)class_of[t] * dim;
        for (size_t k = 0; k < dim; k++)
            sum[k] += wide[k] = (double)frame[k];
        stats->count[class_of[t]]++;
        if (++filled == BLOCK) {
            add_squares(stats, filled);
            filled = 0;
        }
    }
    add_squares(stats, filled);
    return 0;
}

int trl__lda_stats_merge(trl__lda_stats *stats, const trl__lda_stats *other, trl_error *err)
{
    if (stats->dim != other->dim || stats->classes != other->classes)
        return trl__fail(err, TRL_EINVAL, "statistics of %d values and %d classes can't be added to those of %d and %d",
                         (int)other->dim, (int)other->classes, (int)stats->dim, (int)stats->classes);
    for (size_t c = 0; c < (size_t)stats->classes; c++)
        stats->count[c] += other->count[c];
    for (size_t i = 0; i < (size_t)stats->classes * (size_t)stats->dim; i++)
        stats->sum[i] += other->sum[i];
    for (size_t i = 0; i < square_size(stats); i++)
        stats->square[i] += other->square[i];
    return 0;
}

/* ---- Estimate ---- */

typedef struct estimate {
    size_t dim, usable;
    double frames;
    int32_t seen;
    double *mean, *scale;    /* dim; scale: 1 / standard deviation, 0 for a constant feature */
    double *within;          /* dim * dim; then its eigenvectors */
    double *between;         /* dim * dim */
    double *whitening;       /* usable * dim: within becomes the identity */
    double *rotated, *means; /* usable * usable: between; usable * dim: on the way to it */
    double *values;          /* dim */
} estimate;

static void lay_out(void *user, trl__pieces *pieces)
{
    estimate *e = user;
    double **const vectors[] = {&e->mean, &e->scale, &e->values};
    double **const matrices[] = {&e->within, &e->between, &e->whitening, &e->means, &e->rotated};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = trl__take_zero(pieces, e->dim, sizeof(double));
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        *matrices[i] = trl__take_zero(pieces, e->dim * e->dim, sizeof(double));
}

static int count_frames(estimate *e, const trl__lda_stats *stats, trl_error *err)
{
    double check = 0;
    for (int32_t c = 0; c < stats->classes; c++) {
        e->frames += stats->count[c];
        e->seen += stats->count[c] > 0;
    }
    for (size_t c = 0; c < (size_t)stats->classes; c++)
        for (size_t k = 0; k < e->dim; k++)
            e->mean[k] += stats->sum[c * e->dim + k];
    for (size_t i = 0; i < e->dim; i++)
        for (size_t j = i; j < e->dim; j++)
            check += fabs(e->mean[i]) + fabs(stats->square[i * e->dim + j]);
    if (!isfinite(check))
        return trl__fail(err, TRL_ENUMBER, "a frame for LDA has NaN, infinite or huge values");
    if (e->seen < 2)
        return trl__fail(err, TRL_EINVAL,
                         "LDA needs frames of two classes at least, but %.0f frames are of %d; give it more data",
                         e->frames, (int)e->seen);
    for (size_t k = 0; k < e->dim; k++)
        e->mean[k] /= e->frames;
    return 0;
}

/* W = (sum of o o' - sum over classes of n m m') / frames, B = sum over classes of n (m - mean)(m - mean)' / frames. */
static void find_covariances(estimate *e, const trl__lda_stats *stats)
{
    size_t dim = e->dim;
    for (size_t i = 0; i < dim; i++)
        for (size_t j = i; j < dim; j++)
            e->within[i * dim + j] = stats->square[i * dim + j] / e->frames;
    for (int32_t c = 0; c < stats->classes; c++) {
        double n = stats->count[c], share = n / e->frames, *m = e->values;
        for (size_t k = 0; n > 0 && k < dim; k++)
            m[k] = stats->sum[(size_t)c * dim + k] / n;
        for (size_t i = 0; n > 0 && i < dim; i++)
            for (size_t j = i; j < dim; j++) {
                e->within[i * dim + j] -= share * m[i] * m[j];
                e->between[i * dim + j] += share * (m[i] - e->mean[i]) * (m[j] - e->mean[j]);
            }
    }
}

static void scale_features(estimate *e)
{
    size_t dim = e->dim;
    for (size_t k = 0; k < dim; k++) {
        double variance = e->within[k * dim + k] + e->between[k * dim + k], square = e->mean[k] * e->mean[k];
        e->scale[k] = variance > TINY * (variance + square) ? 1 / sqrt(variance) : 0;
    }
    for (size_t i = 0; i < dim; i++)
        for (size_t j = i; j < dim; j++) {
            e->within[i * dim + j] *= e->scale[i] * e->scale[j];
            e->between[i * dim + j] *= e->scale[i] * e->scale[j];
            e->between[j * dim + i] = e->between[i * dim + j];
        }
}

static int whiten(estimate *e, trl_error *err)
{
    size_t dim = e->dim;
    int code = trl__eigen_symmetric(e->within, dim, e->values, err);
    for (size_t k = 0; code == 0 && k < dim; k++)
        if (e->values[k] > TINY) {
            for (size_t i = 0; i < dim; i++)
                e->whitening[e->usable * dim + i] = e->within[k * dim + i] / sqrt(e->values[k]);
            e->usable++;
        }
    return code;
}

/* out = a b, all row by row: rows x inner times inner x cols. */
static void multiply(const double *a, const double *b, size_t rows, size_t inner, size_t cols, double *out)
{
    for (size_t i = 0; i < rows; i++) {
        memset(out + i * cols, 0, cols * sizeof *out);
        for (size_t k = 0; k < inner; k++)
            for (size_t j = 0; j < cols; j++)
                out[i * cols + j] += a[i * inner + k] * b[k * cols + j];
    }
}

static int rotate(estimate *e, trl_error *err)
{
    size_t dim = e->dim, usable = e->usable;
    multiply(e->whitening, e->between, usable, dim, dim, e->means);
    for (size_t i = 0; i < usable; i++)
        for (size_t j = i; j < usable; j++) {
            double total = 0;
            for (size_t k = 0; k < dim; k++)
                total += e->means[i * dim + k] * e->whitening[j * dim + k];
            e->rotated[i * usable + j] = total;
        }
    return trl__eigen_symmetric(e->rotated, usable, e->values, err);
}

/* Rows from the largest eigenvalue down; the largest number of each is positive. */
static int fill_transform(estimate *e, size_t keep, trl_matrix *transform, trl_error *err)
{
    size_t dim = e->dim;
    int code = trl_matrix_resize(transform, keep, dim + 1, err);
    for (size_t r = 0; code == 0 && r < keep; r++) {
        double *row = e->means, offset = 0;
        size_t largest = 0;
        multiply(e->rotated + (e->usable - 1 - r) * e->usable, e->whitening, 1, e->usable, dim, row);
        for (size_t k = 0; k < dim; k++) {
            row[k] *= e->scale[k];
            if (fabs(row[k]) > fabs(row[largest]))
                largest = k;
        }
        double sign = row[largest] < 0 ? -1 : 1;
        for (size_t k = 0; k < dim; k++) {
            trl_matrix_row(transform, r)[k] = (float)(sign * row[k]);
            offset -= sign * row[k] * e->mean[k];
        }
        trl_matrix_row(transform, r)[dim] = (float)offset;
    }
    return code;
}

static double share_of_largest(const estimate *e, size_t keep)
{
    double kept = 0, all = 0;
    for (size_t k = e->usable; k-- > 0;) {
        double value = fmax(e->values[k], 0);
        all += value;
        kept += k + keep >= e->usable ? value : 0;
    }
    return all > 0 ? kept / all : 1;
}

/* keep: how many directions are wanted; then, how many are kept. */
static int find_transform(estimate *e, const trl__lda_stats *stats, size_t *keep, trl_matrix *transform, trl_error *err)
{
    int code = count_frames(e, stats, err);
    if (code < 0)
        return code;
    find_covariances(e, stats);
    scale_features(e);
    code = whiten(e, err);
    if (code < 0)
        return code;
    if (*keep < 1 || *keep > e->dim || e->usable == 0)
        return trl__fail(err, TRL_EINVAL,
                         "LDA can't keep %zu directions: of %zu, %zu vary within the classes (%.0f frames of %d "
                         "classes); keep fewer, or give it more data",
                         *keep, e->dim, e->usable, e->frames, (int)e->seen);
    *keep = *keep < e->usable ? *keep : e->usable;
    code = rotate(e, err);
    return code == 0 ? fill_transform(e, *keep, transform, err) : code;
}

int trl__lda_estimate(const trl__lda_stats *stats, int32_t keep, trl_matrix *transform, trl__lda_summary *summary,
                      trl_error *err)
{
    estimate e = {.dim = (size_t)stats->dim};
    size_t kept = keep > 0 ? (size_t)keep : 0;
    void *memory = trl__lay_out(lay_out, &e);
    int code = memory ? find_transform(&e, stats, &kept, transform, err) : trl__fail_memory(err);
    if (code == 0)
        *summary = (trl__lda_summary){
            .kept = share_of_largest(&e, kept), .seen = e.seen, .constant = (int32_t)(e.dim - e.usable)};
    trl__free(memory);
    return code;
}
