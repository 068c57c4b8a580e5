/* Constrained MLLR after Gales, "Maximum likelihood linear transformations for HMM-based speech recognition", Computer Speech and
 * Language 12 (1998), for diagonal covariances.
 *
 * With p the cofactors of row r and the other rows fixed, the best row is w = (alpha p + k) G^-1, where alpha solves
 * a alpha^2 + b alpha = n with a = p G^-1 p', b = p G^-1 k'. Cofactors are a column of the inverse, up to a factor that
 * alpha takes up; the inverse comes from an LU decomposition in each round, and follows the rows within it by
 * rank-one updates. Cost: a Cholesky decomposition per row, then dim^3 per round.
 */
#include "adapt/fmllr.h"
#include "base/fail.h"
#include "base/lapack.h"
#include "base/memory.h"
#include "feat/affine.h"

#include <math.h>
#include <string.h>

#define BLOCK 64              /* frames that are transformed together */
#define LEAST_GAIN 1e-6       /* per frame, of another round */
#define LEAST_SPREAD 1e-4     /* of a dimension beside the model's variance … */
#define LEAST_OF_SQUARE 1e-10 /* … and beside its mean square: below lies rounding */

trl__fmllr_options trl__fmllr_defaults(void)
{
    return (trl__fmllr_options){.least_frames = 500, .rounds = 40};
}

/* ---- Estimation ---- */

typedef struct estimation {
    const trl__fmllr_stats *stats;
    size_t dim, wide, packed; /* wide: dim + 1 */
    /* The dimensions that are adapted, and at their end the constant; others keep their row of the identity, and no row
     * looks at them. */
    size_t *active, count;
    double *rows, *kept;              /* dim * wide: the transform, and as it was before the round */
    double *inverse;                  /* of its left part */
    double log_det;                   /* log |det| of that */
    double *factors;                  /* by active row: the Cholesky factor of its G, packed */
    double *pull;                     /* by active row: G^-1 k */
    uint8_t *is_definite;             /* by active row: G has a factor */
    double *cofactor, *step, *change; /* wide each */
    double *work;                     /* dim * dim */
    int *pivots;
    void *memory;
} estimation;

static size_t packed_at(size_t wide, size_t i, size_t j) /* i <= j */
{
    return i * (2 * wide - i - 1) / 2 + j;
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *restrict to, const double *restrict from, double scale, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += scale * from[i];
}

static void lay_out(void *user, trl__pieces *pieces)
{
    estimation *e = user;
    size_t dim = e->dim, wide = e->wide;
    e->active = trl__take(pieces, wide, sizeof *e->active);
    e->is_definite = trl__take_zero(pieces, wide, sizeof *e->is_definite);
    e->pivots = trl__take(pieces, wide, sizeof *e->pivots);
    e->rows = trl__take_zero(pieces, dim * wide, sizeof *e->rows);
    e->kept = trl__take_zero(pieces, dim * wide, sizeof *e->kept);
    e->pull = trl__take_zero(pieces, dim * wide, sizeof *e->pull);
    e->inverse = trl__take_zero(pieces, dim * dim, sizeof *e->inverse);
    e->work = trl__take_zero(pieces, dim * dim, sizeof *e->work);
    e->factors = trl__take_zero(pieces, dim * e->packed, sizeof *e->factors);
    e->cofactor = trl__take_zero(pieces, wide, sizeof *e->cofactor);
    e->step = trl__take_zero(pieces, wide, sizeof *e->step);
    e->change = trl__take_zero(pieces, wide, sizeof *e->change);
}

static int set_up(estimation *e, trl_error *err)
{
    e->memory = trl__lay_out(lay_out, e);
    if (!e->memory)
        return trl__fail_memory(err);
    for (size_t r = 0; r < e->dim; r++)
        e->rows[r * e->wide + r] = 1;
    return 0;
}

/* A dimension that does not vary, or only as others do, could be scaled up without end: the objective has no bound. Which dimensions are left when
 * one after the other is taken, and what those before it explain is taken away: a Cholesky decomposition of the frames'
 * covariances, which are the mean of what the rows' statistics say of them. Its memory is that of the factors, which come later. */
static void choose_dimensions(estimation *e)
{
    size_t dim = e->dim, wide = e->wide, last = e->packed - 1;
    double *moments = e->factors, *lower = e->inverse;
    memset(moments, 0, e->packed * sizeof *moments);
    for (size_t r = 0; r < dim; r++)
        add_scaled(moments, e->stats->g + r * e->packed, 1 / ((double)dim * e->stats->g[r * e->packed + last]),
                   e->packed);
    for (size_t d = 0; d < dim; d++) {
        double square = moments[packed_at(wide, d, d)], mean = moments[packed_at(wide, d, dim)];
        double left = square - mean * mean, precision = e->stats->g[d * e->packed + last] / e->stats->frames;
        for (size_t j = 0; j < e->count; j++) {
            size_t a = e->active[j];
            double sum = moments[packed_at(wide, a, d)] - moments[packed_at(wide, a, dim)] * mean;
            sum -= dot(lower + a * dim, lower + d * dim, j);
            lower[d * dim + j] = sum / lower[a * dim + j];
            left -= lower[d * dim + j] * lower[d * dim + j];
        }
        if (!(left * precision > LEAST_SPREAD && left > LEAST_OF_SQUARE * square))
            continue;
        lower[d * dim + e->count] = sqrt(left);
        e->active[e->count++] = d;
    }
    e->active[e->count] = dim;
}

/* The factors of the rows' G, and what k says alone. */
static void factor_rows(estimation *e)
{
    size_t wide = e->wide, size = e->count + 1;
    for (size_t i = 0; i < e->count; i++) {
        const double *g = e->stats->g + e->active[i] * e->packed, *k = e->stats->k + e->active[i] * wide;
        double *packed = e->factors + i * e->packed, *to = packed, *pull = e->pull + i * wide;
        for (size_t row = 0; row < size; row++) {
            pull[row] = k[e->active[row]];
            for (size_t column = row; column < size; column++)
                *to++ = g[packed_at(wide, e->active[row], e->active[column])];
        }
        e->is_definite[i] = trl__cholesky_packed(packed, size) == 0;
        if (e->is_definite[i])
            trl__cholesky_solve(packed, size, pull);
    }
}

/* 0, or 1: the matrix has no inverse. */
static int invert(estimation *e)
{
    for (size_t r = 0; r < e->dim; r++)
        memcpy(e->inverse + r * e->dim, e->rows + r * e->wide, e->dim * sizeof *e->inverse);
    return trl__invert(e->inverse, e->dim, e->pivots, e->work, &e->log_det);
}

/* Per frame, but for what does not depend on the transform. */
static double objective(const estimation *e)
{
    double sum = 0;
    for (size_t r = 0; r < e->dim; r++) {
        const double *row = e->rows + r * e->wide, *g = e->stats->g + r * e->packed;
        sum += dot(row, e->stats->k + r * e->wide, e->wide);
        for (size_t i = 0; i < e->wide; g += e->wide - i++)
            sum -= row[i] * (dot(row + i, g, e->wide - i) - 0.5 * row[i] * g[0]);
    }
    return e->log_det + sum / e->stats->frames;
}

/* Of both solutions of a alpha^2 + b alpha = n, that with the higher n log |a alpha + b| - a alpha^2 / 2. */
static double better_root(double a, double b, double n)
{
    double sum = -0.5 * (b + copysign(sqrt(b * b + 4 * a * n), b)); /* without cancellation */
    double roots[2] = {sum / a, -n / sum}, values[2];
    for (int i = 0; i < 2; i++)
        values[i] = n * log(fabs(a * roots[i] + b)) - 0.5 * a * roots[i] * roots[i];
    return values[1] > values[0] ? roots[1] : roots[0];
}

/* The inverse after row r of the matrix has changed by e->change (Sherman and Morrison). */
static void follow(estimation *e, size_t r)
{
    size_t dim = e->dim;
    memset(e->cofactor, 0, dim * sizeof *e->cofactor);
    for (size_t k = 0; k < dim; k++) {
        e->step[k] = e->inverse[k * dim + r];
        add_scaled(e->cofactor, e->inverse + k * dim, e->change[k], dim);
    }
    double scale = 1 + dot(e->change, e->step, dim);
    for (size_t k = 0; k < dim; k++)
        add_scaled(e->inverse + k * dim, e->cofactor, -e->step[k] / scale, dim);
}

static void update_row(estimation *e, size_t i)
{
    size_t r = e->active[i], size = e->count + 1;
    double *row = e->rows + r * e->wide, *pull = e->pull + i * e->wide;
    for (size_t k = 0; k < e->count; k++)
        e->step[k] = e->cofactor[k] = e->inverse[e->active[k] * e->dim + r];
    e->step[e->count] = e->cofactor[e->count] = 0;
    trl__cholesky_solve(e->factors + i * e->packed, size, e->step);
    double a = dot(e->cofactor, e->step, size), b = dot(e->cofactor, pull, size);
    double alpha = better_root(a, b, e->stats->frames);
    if (!(a > 0) || !isfinite(alpha))
        return;
    memset(e->change, 0, e->wide * sizeof *e->change);
    for (size_t k = 0; k < size; k++) {
        double *to = row + e->active[k], value = alpha * e->step[k] + pull[k];
        e->change[e->active[k]] = value - *to;
        *to = value;
    }
    follow(e, r);
}

/* Rounds over all rows; the transform is left as the best round had it. */
static void iterate(estimation *e, int32_t rounds, double *gain, double *log_det)
{
    *gain = *log_det = 0;
    double start = invert(e) == 0 ? objective(e) : NAN, best = start;
    for (int32_t round = 0; round < rounds; round++) {
        memcpy(e->kept, e->rows, e->dim * e->wide * sizeof *e->rows);
        for (size_t i = 0; i < e->count; i++)
            if (e->is_definite[i])
                update_row(e, i);
        double value = invert(e) == 0 ? objective(e) : NAN, step = value - best;
        if (!(step >= 0)) {
            memcpy(e->rows, e->kept, e->dim * e->wide * sizeof *e->rows);
            return;
        }
        best = value;
        *gain = best - start;
        *log_det = e->log_det;
        if (step < LEAST_GAIN)
            return;
    }
}

/* The transform as floats; 0: a number is too large for one. */
static int store(const estimation *e, trl_matrix *transform)
{
    int is_finite = 1;
    for (size_t i = 0; i < e->dim * e->wide; i++) {
        transform->data[i] = (float)e->rows[i];
        is_finite &= isfinite(transform->data[i]) != 0;
    }
    return is_finite;
}

int trl__fmllr_identity(int32_t dim, trl_matrix *transform, trl_error *err)
{
    size_t wide = (size_t)dim + 1;
    int code = trl_matrix_resize(transform, (size_t)dim, wide, err);
    if (code < 0)
        return code;
    memset(transform->data, 0, (size_t)dim * wide * sizeof *transform->data);
    for (size_t r = 0; r + 1 < wide; r++)
        transform->data[r * wide + r] = 1;
    return 0;
}

int trl__fmllr_estimate(const trl__fmllr_stats *stats, const trl__fmllr_options *options, trl_matrix *transform,
                        trl__fmllr_summary *summary, trl_error *err)
{
    trl__fmllr_options o = options ? *options : trl__fmllr_defaults();
    trl__fmllr_summary result = {.frames = stats->frames};
    estimation e = {.stats = stats, .dim = (size_t)stats->dim, .packed = trl__fmllr_packed(stats->dim)};
    e.wide = e.dim + 1;
    int code = trl__fmllr_identity(stats->dim, transform, err);
    if (code == 0 && stats->frames > 0 && stats->frames >= o.least_frames) {
        code = set_up(&e, err);
        if (code == 0) {
            choose_dimensions(&e);
            factor_rows(&e);
            iterate(&e, o.rounds, &result.gain, &result.log_det);
            result.estimated = result.gain > 0 && store(&e, transform);
        }
        trl__free(e.memory);
    }
    if (code == 0 && !result.estimated) {
        result.gain = result.log_det = 0;
        code = trl__fmllr_identity(stats->dim, transform, err);
    }
    if (summary)
        *summary = result;
    return code;
}

/* ---- Use ---- */

static int check_transform(const trl_matrix *transform, trl_error *err)
{
    if (transform->rows == 0 || transform->cols != transform->rows + 1)
        return trl__fail(err, TRL_EINVAL, "a transform of %zu rows and %zu columns; it must have one column more",
                         transform->rows, transform->cols);
    return 0;
}

int trl__fmllr_apply(const trl_matrix *transform, const trl_matrix *frames, trl_matrix *out, trl_error *err)
{
    size_t dim = frames->cols, rows = frames->rows;
    trl__affine affine = {0};
    int code = check_transform(transform, err);
    if (code == 0 && transform->rows != dim)
        code = trl__fail(err, TRL_EINVAL, "frames of %zu numbers and a transform of %zu", dim, transform->rows);
    if (code == 0)
        code = trl__affine_init(&affine, transform, dim, err);
    if (code == 0 && out != frames)
        code = trl_matrix_resize(out, rows, dim, err);
    double *block = code == 0 ? trl__alloc_aligned(BLOCK * dim, sizeof *block) : NULL;
    if (code == 0 && !block)
        code = trl__fail_memory(err);
    for (size_t first = 0, count; code == 0 && first < rows; first += count) {
        count = rows - first < BLOCK ? rows - first : BLOCK;
        for (size_t t = 0; t < count; t++)
            for (size_t k = 0; k < dim; k++)
                block[t * dim + k] = (double)trl_matrix_row(frames, first + t)[k];
        trl__affine_rows(&affine, block, count, dim, trl_matrix_row(out, first), out->stride);
    }
    trl__free(block);
    trl__affine_free(&affine);
    return code;
}

int trl__fmllr_compose(const trl_matrix *second, const trl_matrix *first, trl_matrix *out, trl_error *err)
{
    size_t dim = first->rows;
    int code = check_transform(first, err);
    if (code == 0)
        code = check_transform(second, err);
    if (code == 0 && second->rows != dim)
        code = trl__fail(err, TRL_EINVAL, "transforms of %zu and %zu dimensions", dim, second->rows);
    return code < 0 ? code : trl__affine_compose(second, first, dim, out, err);
}

int trl__fmllr_log_det(const trl_matrix *transform, double *log_det, trl_error *err)
{
    size_t dim = transform->rows;
    int code = check_transform(transform, err);
    double *matrix = code == 0 ? trl__alloc(2 * dim * dim, sizeof *matrix) : NULL;
    int *pivots = code == 0 ? trl__alloc(dim, sizeof *pivots) : NULL;
    if (code == 0 && (!matrix || !pivots))
        code = trl__fail_memory(err);
    if (code == 0) {
        for (size_t i = 0; i < dim * dim; i++)
            matrix[i] = (double)trl_matrix_row(transform, i / dim)[i % dim];
        if (trl__invert(matrix, dim, pivots, matrix + dim * dim, log_det) != 0)
            *log_det = -INFINITY;
    }
    trl__free(matrix);
    trl__free(pivots);
    return code;
}
