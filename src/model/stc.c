/* Semi-tied covariances (M. J. F. Gales, "Semi-tied covariance matrices for hidden Markov models", IEEE Trans. Speech
 * and Audio Processing 7, 1999): the log-likelihood per frame, as far as the transform a matters, is
 *
 *     log |det a| - sum over rows of a_r G_r a_r' / (2 n).
 *
 * The determinant is linear in each row: det a = a_r c for the row's cofactors c. So the best row, the others given, is
 * known, and rows are taken in turn. Cofactors are columns of the inverse but for a factor, which the row's scale makes
 * good; the inverse follows each new row by a correction of rank one, and is made anew after each round.
 *
 * Cost: dim^3 / 2 multiplications per frame, by matrix products of blocks; dim^4 / 6 for the factors of all G, 5 dim^3
 * for a round.
 */
#include "model/stc.h"
#include "base/fail.h"
#include "base/lapack.h"
#include "base/matrix_product.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define BLOCK 64    /* rows: with 780 products each they take 400 KB, and are read while they are in the cache */
#define TINY 1e-10  /* what the other values leave unexplained of one, in parts of its variance: nothing */
#define ENOUGH 1e-9 /* gain of a round, after which there is no other */

/* ---- Statistics ---- */

static size_t packed_size(size_t dim)
{
    return dim * (dim + 1) / 2;
}

int trl__stc_stats_create(int32_t dim, trl__stc_stats **out, trl_error *err)
{
    *out = NULL;
    size_t d = (size_t)dim, packed = packed_size(d), block = BLOCK * (trl__product_padded(packed) + d) + d;
    trl__stc_stats *stats = trl__alloc_zero(1, sizeof *stats);
    if (!stats)
        return trl__fail_memory(err);
    stats->dim = dim;
    stats->g = trl__alloc_aligned(d * packed, sizeof *stats->g);
    stats->block = trl__alloc_aligned(block, sizeof *stats->block);
    if (!stats->g || !stats->block) {
        trl__stc_stats_destroy(stats);
        return trl__fail_memory(err);
    }
    memset(stats->block, 0, block * sizeof *stats->block);
    trl__stc_stats_zero(stats);
    *out = stats;
    return 0;
}

void trl__stc_stats_destroy(trl__stc_stats *stats)
{
    if (!stats)
        return;
    trl__free(stats->g);
    trl__free(stats->block);
    trl__free(stats);
}

void trl__stc_stats_zero(trl__stc_stats *stats)
{
    stats->frames = 0;
    memset(stats->g, 0, (size_t)stats->dim * packed_size((size_t)stats->dim) * sizeof *stats->g);
}

/* Rows of the block: weights 1 / v, and the sum of the triangles of (o - m)(o - m)' of frames that share them. */
static void add_block(trl__stc_stats *stats, const double *products, const double *weights, size_t rows)
{
    size_t dim = (size_t)stats->dim, packed = packed_size(dim);
    trl__product_add(&(trl__product){.rows = dim,
                                     .cols = packed,
                                     .terms = rows,
                                     .a = weights,
                                     .a_step = dim,
                                     .a_row = 1,
                                     .b = products,
                                     .b_step = trl__product_padded(packed),
                                     .c = stats->g,
                                     .c_row = packed});
}

static void begin_row(const float *variance, size_t dim, double *weights, double *products)
{
    for (size_t k = 0; k < dim; k++)
        weights[k] = 1 / (double)variance[k];
    memset(products, 0, packed_size(dim) * sizeof *products);
}

static void add_to_row(const float *frame, const float *mean, size_t dim, double *difference, double *products)
{
    for (size_t k = 0; k < dim; k++)
        difference[k] = (double)frame[k] - (double)mean[k];
    for (size_t i = 0; i < dim; i++)
        for (size_t j = i; j < dim; j++)
            *products++ += difference[i] * difference[j];
}

static int check_frames(const trl__stc_stats *stats, const trl_model *model, const trl_matrix *frames,
                        const int32_t *gaussian_of, trl_error *err)
{
    int32_t gaussians = model->first_gaussian[model->tied_states];
    if (model->dim != stats->dim || frames->cols != (size_t)stats->dim)
        return trl__fail(err, TRL_EINVAL, "frames of %zu values and a model of %d can't be added to statistics of %d",
                         frames->cols, (int)model->dim, (int)stats->dim);
    for (size_t t = 0; t < frames->rows; t++)
        if (gaussian_of[t] < -1 || gaussian_of[t] >= gaussians)
            return trl__fail(err, TRL_EINVAL, "frame %zu belongs to Gaussian %d, but the model has %d", t,
                             (int)gaussian_of[t], (int)gaussians);
    return 0;
}

int trl__stc_stats_add(trl__stc_stats *stats, const trl_model *model, const trl_matrix *frames,
                       const int32_t *gaussian_of, trl_error *err)
{
    int code = check_frames(stats, model, frames, gaussian_of, err);
    if (code < 0)
        return code;
    size_t dim = (size_t)stats->dim, stride = trl__product_padded(packed_size(dim)), rows = 0;
    double *products = stats->block, *weights = products + BLOCK * stride, *difference = weights + BLOCK * dim;
    int32_t last = -1;
    for (size_t t = 0; t < frames->rows; t++) {
        if (gaussian_of[t] < 0)
            continue;
        size_t first = (size_t)gaussian_of[t] * dim;
        if (gaussian_of[t] != last && rows == BLOCK) {
            add_block(stats, products, weights, rows);
            rows = 0;
        }
        if (gaussian_of[t] != last) { /* a Gaussian's frames in a row cost as much as one */
            begin_row(model->variance + first, dim, weights + rows * dim, products + rows * stride);
            rows++;
        }
        add_to_row(trl_matrix_row(frames, t), model->mean + first, dim, difference, products + (rows - 1) * stride);
        last = gaussian_of[t];
        stats->frames++;
    }
    add_block(stats, products, weights, rows);
    return 0;
}

int trl__stc_stats_merge(trl__stc_stats *stats, const trl__stc_stats *other, trl_error *err)
{
    if (stats->dim != other->dim)
        return trl__fail(err, TRL_EINVAL, "statistics of %d values can't be added to those of %d", (int)other->dim,
                         (int)stats->dim);
    stats->frames += other->frames;
    for (size_t i = 0; i < (size_t)stats->dim * packed_size((size_t)stats->dim); i++)
        stats->g[i] += other->g[i];
    return 0;
}

/* ---- Estimate ---- */

typedef struct estimate {
    size_t dim;
    double frames;
    double *a;       /* the result */
    double *factors; /* of each G */
    double *inverse; /* of a */
    double *work;    /* dim * dim */
    double *cofactors, *row;
    int *pivots;
} estimate;

static void lay_out(void *user, trl__pieces *pieces)
{
    estimate *e = user;
    size_t d = e->dim;
    e->factors = trl__take(pieces, d * packed_size(d), sizeof *e->factors);
    e->inverse = trl__take(pieces, d * d, sizeof *e->inverse);
    e->work = trl__take(pieces, d * d, sizeof *e->work);
    e->cofactors = trl__take(pieces, d, sizeof *e->cofactors);
    e->row = trl__take(pieces, d, sizeof *e->row);
    e->pivots = trl__take(pieces, d, sizeof *e->pivots);
}

static void set_identity(double *a, size_t dim)
{
    memset(a, 0, dim * dim * sizeof *a);
    for (size_t i = 0; i < dim; i++)
        a[i * dim + i] = 1;
}

/* Squares on the factor's diagonal are what is left of each value's variance once the values before it are known. */
static int has_constant(const double *factor, const double *g, size_t dim)
{
    for (size_t i = 0; i < dim; i++) {
        if (!(*factor * *factor > TINY * *g))
            return 1;
        factor += dim - i;
        g += dim - i;
    }
    return 0;
}

/* 1: some direction has no variance. */
static int factorize(estimate *e, const trl__stc_stats *stats)
{
    size_t packed = packed_size(e->dim);
    memcpy(e->factors, stats->g, e->dim * packed * sizeof *e->factors);
    for (size_t r = 0; r < e->dim; r++)
        if (trl__cholesky_packed(e->factors + r * packed, e->dim) ||
            has_constant(e->factors + r * packed, stats->g + r * packed, e->dim))
            return 1;
    return 0;
}

/* The inverse once row r of the matrix is `row`: each column loses a multiple of the old column r, so that the product
 * with the new row is that of an inverse. */
static void correct_inverse(estimate *e, size_t r)
{
    size_t dim = e->dim;
    double *products = e->work;
    memset(products, 0, dim * sizeof *products);
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            products[j] += e->row[i] * e->inverse[i * dim + j];
    double own = products[r];
    products[r] -= 1;
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++)
            e->inverse[i * dim + j] -= e->cofactors[i] * products[j] / own;
}

static void improve_row(estimate *e, size_t r)
{
    size_t dim = e->dim;
    double product = 0;
    for (size_t i = 0; i < dim; i++)
        e->row[i] = e->cofactors[i] = e->inverse[i * dim + r];
    trl__cholesky_solve(e->factors + r * packed_size(dim), dim, e->row);
    for (size_t i = 0; i < dim; i++)
        product += e->cofactors[i] * e->row[i];
    double scale = sqrt(e->frames / product);
    for (size_t i = 0; i < dim; i++)
        e->a[r * dim + i] = e->row[i] *= scale;
    correct_inverse(e, r);
}

/* Rows that are the best for their scale have a_r G_r a_r' = n, so after a round the likelihood is
 * log |det a| - dim / 2. */
static int improve(estimate *e, double identity, int32_t rounds, trl__stc_summary *summary)
{
    set_identity(e->a, e->dim);
    set_identity(e->inverse, e->dim);
    for (double gained = INFINITY; summary->rounds < rounds && gained > ENOUGH; summary->rounds++) {
        double before = summary->gain;
        for (size_t r = 0; r < e->dim; r++)
            improve_row(e, r);
        memcpy(e->inverse, e->a, e->dim * e->dim * sizeof *e->a);
        if (trl__invert(e->inverse, e->dim, e->pivots, e->work, &summary->log_det))
            return 1;
        summary->gain = summary->log_det - (double)e->dim / 2 - identity;
        gained = summary->gain - before;
    }
    return !isfinite(summary->gain);
}

/* Number r of the diagonal stands behind r rows of dim, dim - 1, … numbers. */
static double identity_likelihood(const trl__stc_stats *stats)
{
    size_t dim = (size_t)stats->dim, packed = packed_size(dim);
    double total = 0;
    for (size_t r = 0; r < dim; r++)
        total += stats->g[r * packed + packed - packed_size(dim - r)];
    return -total / (2 * stats->frames);
}

static int is_finite(const trl__stc_stats *stats)
{
    double total = 0;
    for (size_t i = 0; i < (size_t)stats->dim * packed_size((size_t)stats->dim); i++)
        total += fabs(stats->g[i]);
    return isfinite(total);
}

int trl__stc_estimate(const trl__stc_stats *stats, int32_t rounds, double *a, trl__stc_summary *summary, trl_error *err)
{
    estimate e = {.dim = (size_t)stats->dim, .frames = stats->frames, .a = a};
    *summary = (trl__stc_summary){0};
    set_identity(a, e.dim);
    if (stats->frames < 2 * (double)stats->dim)
        return 0;
    if (!is_finite(stats))
        return trl__fail(err, TRL_ENUMBER, "a frame for semi-tied covariances has NaN, infinite or huge values");
    void *memory = trl__lay_out(lay_out, &e);
    if (!memory)
        return trl__fail_memory(err);
    if (factorize(&e, stats) || improve(&e, identity_likelihood(stats), rounds, summary)) {
        *summary = (trl__stc_summary){0};
        set_identity(a, e.dim);
    }
    summary->gain = fmax(summary->gain, 0); /* what rounding may take from nothing */
    trl__free(memory);
    return 0;
}

int trl__stc_apply(trl_model *model, const double *a, trl_error *err)
{
    size_t dim = (size_t)model->dim;
    double *old = trl__alloc(dim, sizeof *old);
    if (!old)
        return trl__fail_memory(err);
    for (int32_t g = 0; g < model->first_gaussian[model->tied_states]; g++) {
        float *mean = model->mean + (size_t)g * dim;
        for (size_t k = 0; k < dim; k++)
            old[k] = (double)mean[k];
        for (size_t r = 0; r < dim; r++) {
            double total = 0;
            for (size_t k = 0; k < dim; k++)
                total += a[r * dim + k] * old[k];
            mean[r] = (float)total;
        }
    }
    trl__free(old);
    return 0;
}
