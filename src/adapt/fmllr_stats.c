/* Statistics for fMLLR. A frame has, by dimension r, the weight sum of p / v_r and the target sum of p m_r / v_r over the Gaussians
 * of its state, whose posteriors are p. Frames are sorted by state, so that a state's parameters are laid out once, and gathered in blocks; then
 * all G_r at once are a product of matrices, [weights]' [e e' packed], and all k_r are [targets]' [e]. Cost per frame: the
 * state's Gaussians, and dim * (dim + 1) * (dim + 2) flops at the speed of matrix_product.h. */
#include "adapt/fmllr.h"
#include "base/fail.h"
#include "base/matrix_product.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 128            /* frames that are multiplied together */
#define LEAST_POSTERIOR 1e-9 /* of a Gaussian that counts */

int trl__fmllr_stats_create(int32_t dim, trl__fmllr_stats **out, trl_error *err)
{
    *out = NULL;
    trl__fmllr_stats *s = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    s->dim = dim;
    s->k = trl__alloc_zero((size_t)dim * ((size_t)dim + 1), sizeof *s->k);
    s->g = trl__alloc_zero((size_t)dim * trl__fmllr_packed(dim), sizeof *s->g);
    if (!s->k || !s->g) {
        trl__fmllr_stats_destroy(s);
        return trl__fail_memory(err);
    }
    *out = s;
    return 0;
}

void trl__fmllr_stats_destroy(trl__fmllr_stats *stats)
{
    if (!stats)
        return;
    trl__free(stats->k);
    trl__free(stats->g);
    trl__free(stats);
}

void trl__fmllr_stats_zero(trl__fmllr_stats *stats)
{
    size_t dim = (size_t)stats->dim;
    stats->frames = 0;
    memset(stats->k, 0, dim * (dim + 1) * sizeof *stats->k);
    memset(stats->g, 0, dim * trl__fmllr_packed(stats->dim) * sizeof *stats->g);
}

static void add_to(double *sums, const double *other, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += other[i];
}

int trl__fmllr_stats_merge(trl__fmllr_stats *stats, const trl__fmllr_stats *other, trl_error *err)
{
    size_t dim = (size_t)stats->dim;
    if (stats->dim != other->dim)
        return trl__fail(err, TRL_EINVAL, "statistics of %d dimensions can't be added to those of %d", (int)other->dim,
                         (int)stats->dim);
    stats->frames += other->frames;
    add_to(stats->k, other->k, dim * (dim + 1));
    add_to(stats->g, other->g, dim * trl__fmllr_packed(stats->dim));
    return 0;
}

/* ---- Gathering: frames by state, then in blocks ---- */

typedef struct gathering {
    trl__fmllr_stats *stats;
    const trl_model *model;
    const trl_matrix *frames;
    size_t dim, packed;
    uint64_t *order; /* tied state in the upper half, frame in the lower; rising */
    size_t count;
    /* The state in hand: dimension by dimension, a number for each of its Gaussians. */
    size_t gaussians;
    double *mean, *precision;
    double *peak;  /* by Gaussian: the score at its mean, up to what all share */
    double *score; /* by Gaussian; then the posterior */
    /* The block, frame by frame. */
    size_t filled;
    double *weight, *target; /* dim */
    double *extended;        /* dim + 1 */
    double *product;         /* packed */
    size_t extended_stride, product_stride;
    size_t most_gaussians; /* of a tied state that has frames */
    void *memory;
} gathering;

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int sort_frames(gathering *w, const int32_t *tied_of, trl_error *err)
{
    const trl_model *model = w->model;
    w->order = trl__alloc(w->frames->rows + 1, sizeof *w->order);
    if (!w->order)
        return trl__fail_memory(err);
    for (size_t t = 0; t < w->frames->rows; t++) {
        int32_t tied = tied_of[t];
        if (tied < 0)
            continue;
        if (tied >= model->tied_states)
            return trl__fail(err, TRL_EINVAL, "frame %zu has tied state %d, but the model has %d", t, (int)tied,
                             (int)model->tied_states);
        size_t gaussians = (size_t)(model->first_gaussian[tied + 1] - model->first_gaussian[tied]);
        w->most_gaussians = gaussians > w->most_gaussians ? gaussians : w->most_gaussians;
        w->order[w->count++] = (uint64_t)tied << 32 | t;
    }
    qsort(w->order, w->count, sizeof *w->order, by_number);
    return 0;
}

static void lay_out(void *user, trl__pieces *pieces)
{
    gathering *w = user;
    w->product = trl__take(pieces, BLOCK * w->product_stride, sizeof *w->product);
    w->weight = trl__take(pieces, BLOCK * w->dim, sizeof *w->weight);
    w->target = trl__take(pieces, BLOCK * w->dim, sizeof *w->target);
    w->extended = trl__take(pieces, BLOCK * w->extended_stride, sizeof *w->extended);
    w->mean = trl__take(pieces, w->dim * w->most_gaussians, sizeof *w->mean);
    w->precision = trl__take(pieces, w->dim * w->most_gaussians, sizeof *w->precision);
    w->peak = trl__take(pieces, w->most_gaussians, sizeof *w->peak);
    w->score = trl__take(pieces, w->most_gaussians, sizeof *w->score);
}

static int make_room(gathering *w, trl_error *err)
{
    w->extended_stride = trl__product_padded(w->dim + 1);
    w->product_stride = trl__product_padded(w->packed);
    w->memory = trl__lay_out(lay_out, w);
    return w->memory ? 0 : trl__fail_memory(err);
}

static void load_state(gathering *w, int32_t tied)
{
    size_t first = (size_t)w->model->first_gaussian[tied], count = (size_t)w->model->first_gaussian[tied + 1] - first;
    w->gaussians = count;
    for (size_t g = 0; g < count; g++) {
        const float *mean = w->model->mean + (first + g) * w->dim;
        const float *variance = w->model->variance + (first + g) * w->dim;
        double product = 1, logs = 0;
        for (size_t k = 0; k < w->dim; k++) {
            w->mean[k * count + g] = (double)mean[k];
            w->precision[k * count + g] = 1 / (double)variance[k];
            product *= (double)variance[k];
            if (k % 4 == 3) { /* so many floats stay within the range of a double: a fourth of the logarithms */
                logs += log(product);
                product = 1;
            }
        }
        w->peak[g] = (double)w->model->log_weight[first + g] - 0.5 * (logs + log(product));
    }
}

/* Posteriors of the state's Gaussians, in w->score. */
static int find_posteriors(gathering *w, size_t frame, trl_error *err)
{
    const float *o = trl_matrix_row(w->frames, frame);
    double *restrict score = w->score, best = -INFINITY, sum = 0;
    for (size_t g = 0; g < w->gaussians; g++)
        score[g] = 0;
    for (size_t k = 0; k < w->dim; k++) {
        const double *restrict mean = w->mean + k * w->gaussians, *restrict precision = w->precision + k * w->gaussians;
        double x = (double)o[k];
        for (size_t g = 0; g < w->gaussians; g++)
            score[g] += (x - mean[g]) * (x - mean[g]) * precision[g];
    }
    for (size_t g = 0; g < w->gaussians; g++) {
        score[g] = w->peak[g] - 0.5 * score[g];
        best = score[g] > best ? score[g] : best;
    }
    for (size_t g = 0; g < w->gaussians; g++)
        sum += score[g] = exp(score[g] - best);
    if (!isfinite(sum))
        return trl__fail(err, TRL_ENUMBER, "frame %zu: a value or its likelihood is not finite", frame);
    for (size_t g = 0; g < w->gaussians; g++)
        score[g] /= sum;
    return 0;
}

static void set_weights(gathering *w, int32_t tied)
{
    size_t first = (size_t)w->model->first_gaussian[tied], dim = w->dim;
    double *restrict weight = w->weight + w->filled * dim, *restrict target = w->target + w->filled * dim;
    memset(weight, 0, dim * sizeof *weight);
    memset(target, 0, dim * sizeof *target);
    for (size_t g = 0; g < w->gaussians; g++) {
        const float *restrict mean = w->model->mean + (first + g) * dim;
        const float *restrict variance = w->model->variance + (first + g) * dim;
        if (w->score[g] < LEAST_POSTERIOR)
            continue;
        for (size_t k = 0; k < dim; k++) {
            double share = w->score[g] / (double)variance[k];
            weight[k] += share;
            target[k] += share * (double)mean[k];
        }
    }
}

static void set_products(gathering *w, size_t frame)
{
    const float *o = trl_matrix_row(w->frames, frame);
    double *restrict e = w->extended + w->filled * w->extended_stride;
    double *restrict to = w->product + w->filled * w->product_stride;
    for (size_t k = 0; k < w->dim; k++)
        e[k] = (double)o[k];
    e[w->dim] = 1;
    for (size_t i = 0; i <= w->dim; i++)
        for (size_t j = i; j <= w->dim; j++)
            *to++ = e[i] * e[j];
}

static void add_block(gathering *w)
{
    trl__product g = {.rows = w->dim, .cols = w->packed, .terms = w->filled};
    g.a = w->weight;
    g.a_step = w->dim;
    g.a_row = 1;
    g.b = w->product;
    g.b_step = w->product_stride;
    g.c = w->stats->g;
    g.c_row = w->packed;
    trl__product_add(&g);
    trl__product k = g;
    k.cols = w->dim + 1;
    k.a = w->target;
    k.b = w->extended;
    k.b_step = w->extended_stride;
    k.c = w->stats->k;
    k.c_row = w->dim + 1;
    trl__product_add(&k);
    w->stats->frames += (double)w->filled;
    w->filled = 0;
}

static int gather(gathering *w, trl_error *err)
{
    int code = 0;
    for (size_t i = 0, last = SIZE_MAX; code == 0 && i < w->count; i++) {
        size_t tied = w->order[i] >> 32, frame = w->order[i] & UINT32_MAX;
        if (tied != last)
            load_state(w, (int32_t)tied);
        last = tied;
        code = find_posteriors(w, frame, err);
        if (code < 0)
            return code;
        set_weights(w, (int32_t)tied);
        set_products(w, frame);
        if (++w->filled == BLOCK || i + 1 == w->count)
            add_block(w);
    }
    return code;
}

int trl__fmllr_stats_add(trl__fmllr_stats *stats, const trl_model *model, const trl_matrix *frames,
                         const int32_t *tied_of, trl_error *err)
{
    gathering w = {.stats = stats, .model = model, .frames = frames, .dim = (size_t)stats->dim};
    if (model->dim != stats->dim || frames->cols != w.dim || frames->rows > INT32_MAX)
        return trl__fail(err, TRL_EINVAL, "frames of %zu numbers, a model of %d, statistics of %d: they must be equal",
                         frames->cols, (int)model->dim, (int)stats->dim);
    w.packed = trl__fmllr_packed(stats->dim);
    int code = sort_frames(&w, tied_of, err);
    if (code == 0)
        code = make_room(&w, err);
    if (code == 0)
        code = gather(&w, err);
    trl__free(w.order);
    trl__free(w.memory);
    return code;
}
