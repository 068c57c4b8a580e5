/* Mixtures and frames in the form that the kernels read: see gmm_kernel.h. */
#include "backend/cpu/gmm_kernel.h"
#include "base/fail.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LN_2 0.6931471805599453
#define LN_2_PI 1.8378770664093453
#define LOG2_E 1.4426950408889634
#define PART 64 /* tied states: what a thread takes at a time */

/* ---- Mixtures ---- */

/* Are all values between least and most (both positive or 0), disregarding signs when they may have some? NaN is not.
 * Compared as integers, which vectors can do at once. */
static int in_range(const float *values, size_t count, float least, float most, int with_signs)
{
    int32_t low, high, mask = with_signs ? INT32_MAX : -1, bad = 0;
    memcpy(&low, &least, sizeof low);
    memcpy(&high, &most, sizeof high);
    for (size_t k = 0; k < count; k++) {
        int32_t bits;
        memcpy(&bits, &values[k], sizeof bits);
        bad |= ((bits & mask) < low) | ((bits & mask) > high);
    }
    return !bad;
}

static int good_value(const float *mean, size_t count)
{
    return in_range(mean, count, 0, (float)TRL__MOST_VALUE, 1);
}

static int good_variance(const float *variance, size_t count)
{
    return in_range(variance, count, (float)TRL__LEAST_VARIANCE, FLT_MAX, 0);
}

static int check_gaussian(const trl_model *model, int32_t tied, int32_t g, trl_error *err)
{
    size_t dim = (size_t)model->dim;
    const float *mean = model->mean + (size_t)g * dim, *variance = model->variance + (size_t)g * dim;
    int component = (int)(g - model->first_gaussian[tied]);
    if (!(model->log_weight[g] <= 1))
        return trl__fail(err, TRL_ENUMBER, "tied state %d, component %d: the logarithm of its weight is %g", (int)tied,
                         component, (double)model->log_weight[g]);
    if (good_value(mean, dim) && good_variance(variance, dim))
        return 0;
    size_t k = 0;
    while (good_value(&mean[k], 1) && good_variance(&variance[k], 1))
        k++;
    if (!good_value(&mean[k], 1))
        return trl__fail(err, TRL_ENUMBER,
                         "tied state %d, component %d: mean %g in dimension %zu; means must lie within ±%g", (int)tied,
                         component, (double)mean[k], k, TRL__MOST_VALUE);
    return trl__fail(err, TRL_ENUMBER, "tied state %d, component %d: variance %g in dimension %zu; the least is %g",
                     (int)tied, component, (double)variance[k], k, TRL__LEAST_VARIANCE);
}

/* What the threads share. A part is PART tied states, whoever works on it: sums do not depend on the threads. */
typedef struct packing {
    trl__mixtures *m;
    const trl_model *model;
    double *sums; /* by part, dim each: of all means */
} packing;

static int32_t part_end(const packing *w, size_t part)
{
    int32_t end = ((int32_t)part + 1) * PART;
    return end < w->m->tied_states ? end : w->m->tied_states;
}

static int check_part(void *user, size_t part, int worker, trl_error *err)
{
    const packing *w = user;
    const trl_model *model = w->model;
    size_t dim = (size_t)model->dim;
    double *sums = w->sums + part * dim;
    (void)worker;
    for (int32_t s = (int32_t)part * PART; s < part_end(w, part); s++) {
        if (model->first_gaussian[s + 1] <= model->first_gaussian[s])
            return trl__fail(err, TRL_EINVAL, "tied state %d has no components", (int)s);
        for (int32_t g = model->first_gaussian[s]; g < model->first_gaussian[s + 1]; g++) {
            int code = check_gaussian(model, s, g, err);
            if (code < 0)
                return code;
            for (size_t k = 0; k < dim; k++)
                sums[k] += (double)model->mean[(size_t)g * dim + k];
        }
    }
    return 0;
}

static int check_model(packing *w, size_t parts, trl_pool *pool, trl_error *err)
{
    size_t dim = (size_t)w->m->dim;
    int32_t gaussians = w->m->first_gaussian[w->m->tied_states];
    int code = trl_pool_for(pool, parts, check_part, w, err);
    for (size_t k = 0; code == 0 && gaussians > 0 && k < dim; k++) {
        double total = 0;
        for (size_t part = 0; part < parts; part++)
            total += w->sums[part * dim + k];
        w->m->centre[k] = (float)(total / gaussians);
    }
    return code;
}

/* ln of the product of all values: one logarithm for all of them. */
static double log_of_product(const float *values, size_t count)
{
    double product = 1;
    int64_t exponents = 0;
    for (size_t k = 0; k < count; k++) {
        int exponent;
        product *= (double)values[k];
        if (k % 4 == 3) { /* four floats above TRL__LEAST_VARIANCE stay within the range of a double */
            product = frexp(product, &exponent);
            exponents += exponent;
        }
    }
    return log(product) + (double)exponents * LN_2;
}

/* The logarithm of weight and normalisation: the score of a frame at the mean. */
static double peak(const trl_model *model, int32_t g)
{
    size_t dim = (size_t)model->dim;
    return (double)model->log_weight[g] -
           0.5 * ((double)dim * LN_2_PI + log_of_product(model->variance + (size_t)g * dim, dim));
}

/* One component into its place in the group. Returns how large the terms of its dot product are: about mean² / var. */
static double pack_component(const trl__mixtures *m, const trl_model *model, int32_t g, int differences, float *group)
{
    const float *mean = model->mean + (size_t)g * (size_t)m->dim, *centre = m->centre;
    const float *variance = model->variance + (size_t)g * (size_t)m->dim;
    const size_t step = (size_t)m->group;
    const double scale = m->scale;
    double size = 0;
    float *p = group + step;
    for (int32_t k = 0; k < m->dim; k++, p += 2 * step) {
        double centred = (double)mean[k] - (double)centre[k], precision = 1 / (double)variance[k];
        size += centred * centred * precision;
        p[0] = differences ? mean[k] : (float)(centred * precision * scale);
        p[step] = (float)(-0.5 * precision * scale);
    }
    group[0] = fmaxf((float)((peak(model, g) - (differences ? 0 : 0.5 * size)) * scale), TRL__NEVER);
    return size;
}

/* Returns the largest term of any component. */
static double pack_mixture(const trl__mixtures *m, const trl_model *model, int32_t tied, int differences)
{
    int32_t count = trl__components(m, tied), padded = (count + m->group - 1) / m->group * m->group;
    size_t size = trl__group_size(m);
    float *packed = m->packed + m->at[tied];
    double worst = 0;
    for (int32_t c = 0; c < padded; c++) {
        float *group = packed + (size_t)(c / m->group) * size + c % m->group;
        if (c < count)
            worst = fmax(worst, pack_component(m, model, m->first_gaussian[tied] + c, differences, group));
        else
            for (size_t j = 0; j < size / (size_t)m->group; j++)
                group[j * (size_t)m->group] = j == 0 ? TRL__ABSENT : 0;
    }
    return worst;
}

static int pack_part(void *user, size_t part, int worker, trl_error *err)
{
    const packing *w = user;
    (void)worker, (void)err;
    for (int32_t s = (int32_t)part * PART; s < part_end(w, part); s++) {
        double rounded = ldexp(pack_mixture(w->m, w->model, s, 0), -24); /* a float's last bit */
        w->m->differences[s] = rounded > TRL__MOST_ERROR;
        if (w->m->differences[s])
            pack_mixture(w->m, w->model, s, 1);
    }
    return 0;
}

static int pack_all(packing *w, size_t parts, trl_pool *pool, trl_error *err)
{
    trl__mixtures *m = w->m;
    size_t total = 0;
    for (int32_t s = 0; s < m->tied_states; s++) {
        size_t groups = (size_t)(trl__components(m, s) + m->group - 1) / (size_t)m->group;
        m->at[s] = total;
        total += (groups * trl__group_size(m) + 15) / 16 * 16; /* whole cache lines */
    }
    m->packed = trl__alloc_large(total + 16, sizeof *m->packed);
    if (!m->packed)
        return trl__fail_memory(err);
    int code = trl_pool_for(pool, parts, pack_part, w, err);
    for (int32_t s = 0; s < m->tied_states; s++)
        m->any_differences |= m->differences[s];
    return code;
}

static int pack_exact(trl__mixtures *m, const trl_model *model, trl_error *err)
{
    size_t dim = (size_t)m->dim, size = 1 + 2 * dim, gaussians = (size_t)m->first_gaussian[m->tied_states];
    m->exact = trl__alloc(gaussians * size + 1, sizeof *m->exact);
    if (!m->exact)
        return trl__fail_memory(err);
    for (size_t g = 0; g < gaussians; g++) {
        double *exact = m->exact + g * size;
        exact[0] = fmax(peak(model, (int32_t)g), (double)TRL__NEVER);
        for (size_t k = 0; k < dim; k++) {
            exact[1 + k] = (double)model->mean[g * dim + k];
            exact[1 + dim + k] = 0.5 / (double)model->variance[g * dim + k];
        }
    }
    return 0;
}

int trl__mixtures_pack(trl__mixtures *m, const trl_model *model, const trl__gmm_kernel *kernel, trl_pool *pool,
                       trl_error *err)
{
    size_t states = (size_t)model->tied_states, parts = (states + PART - 1) / PART, dim = (size_t)model->dim;
    *m = (trl__mixtures){.dim = model->dim,
                         .tied_states = model->tied_states,
                         .group = kernel->group,
                         .scale = kernel->natural ? 1 : LOG2_E};
    m->first_gaussian = trl__alloc(states + 1, sizeof *m->first_gaussian);
    m->centre = trl__alloc_zero(dim + 1, sizeof *m->centre);
    m->at = trl__alloc(states + 1, sizeof *m->at);
    m->differences = trl__alloc_zero(states + 1, 1);
    packing w = {m, model, trl__alloc_zero(parts * dim + 1, sizeof *w.sums)};
    int code = m->first_gaussian && m->centre && m->at && m->differences && w.sums ? 0 : trl__fail_memory(err);
    if (code == 0) {
        memcpy(m->first_gaussian, model->first_gaussian, (states + 1) * sizeof *m->first_gaussian);
        code = check_model(&w, parts, pool, err);
    }
    trl__free(w.sums);
    for (int32_t s = 0; code == 0 && s < m->tied_states; s++)
        if (trl__components(m, s) > m->most_components)
            m->most_components = trl__components(m, s);
    if (code == 0)
        code = kernel->group ? pack_all(&w, parts, pool, err) : pack_exact(m, model, err);
    if (code < 0)
        trl__mixtures_free(m);
    return code;
}

void trl__mixtures_free(trl__mixtures *m)
{
    trl__free(m->first_gaussian);
    trl__free(m->centre);
    trl__free(m->packed);
    trl__free(m->at);
    trl__free(m->differences);
    trl__free(m->exact);
    *m = (trl__mixtures){0};
}

/* ---- Frames ---- */

typedef float four __attribute__((vector_size(16)));

static inline four load_four(const float *from)
{
    four v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* `plain` is how far behind the row its value is kept as it is; 0: nowhere. */
static inline void place_value(four value, float centre, float *row, size_t plain)
{
    four centred = value - centre, square = centred * centred;
    memcpy(row, &centred, sizeof centred);
    memcpy(row + TRL__STRIDE, &square, sizeof square);
    if (plain)
        memcpy(row + plain, &value, sizeof value);
}

/* Four frames become four columns of a block. */
static void place_four(const float *centre, size_t dim, int with_plain, const float *const frame[4], float *row)
{
    const float *f0 = frame[0], *f1 = frame[1], *f2 = frame[2], *f3 = frame[3];
    const size_t step = 2 * TRL__STRIDE;
    size_t k = 0, plain = with_plain ? 2 * dim * TRL__STRIDE : 0, less = with_plain ? TRL__STRIDE : 0;
    for (; k + 4 <= dim; k += 4, row += 4 * step, plain -= 4 * less) {
        four a = load_four(f0 + k), b = load_four(f1 + k), c = load_four(f2 + k), d = load_four(f3 + k);
        four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        four ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        place_value(__builtin_shufflevector(ab, cd, 0, 1, 4, 5), centre[k], row, plain);
        place_value(__builtin_shufflevector(ab, cd, 2, 3, 6, 7), centre[k + 1], row + step, plain - less);
        place_value(__builtin_shufflevector(ab2, cd2, 0, 1, 4, 5), centre[k + 2], row + 2 * step, plain - 2 * less);
        place_value(__builtin_shufflevector(ab2, cd2, 2, 3, 6, 7), centre[k + 3], row + 3 * step, plain - 3 * less);
    }
    for (; k < dim; k++, row += step, plain -= less)
        place_value((four){f0[k], f1[k], f2[k], f3[k]}, centre[k], row, plain);
}

/* Frames `t` … of the utterance into a block: as many as fit. Behind the last, where a tile may still look, it is
 * repeated. */
static void place_block(const trl__placed *placed, const trl__mixtures *m, int32_t t, float *block)
{
    int32_t last = placed->end - 1 - t, count = last + 1 + TRL__TILE;
    for (int32_t i = 0; i < count && i < TRL__STRIDE; i += 4) {
        const float *frame[4];
        for (int32_t j = 0; j < 4; j++)
            frame[j] = trl_matrix_row(placed->source, (size_t)t + (size_t)(i + j < last ? i + j : last));
        place_four(m->centre, (size_t)m->dim, m->any_differences, frame, block + i);
    }
}

/* Frame by frame: centred value and square by turns. */
static void place_frames(const trl__placed *placed, const trl__mixtures *m, int32_t end)
{
    float *to = placed->values;
    for (int32_t t = placed->piece; t < end; t++) {
        const float *from = trl_matrix_row(placed->source, (size_t)t);
        for (int32_t k = 0; k < m->dim; k++) {
            float value = from[k] - m->centre[k];
            *to++ = value;
            *to++ = value * value;
        }
    }
}

int trl__frames_check(const trl_matrix *frames, size_t dim, int32_t begin, int32_t end, trl_error *err)
{
    if (frames->cols != dim)
        return trl__fail(err, TRL_EINVAL,
                         "frames have %zu columns, the model %zu: features and model do not belong together",
                         frames->cols, dim);
    if (begin < 0 || end < begin || (size_t)end > frames->rows)
        return trl__fail(err, TRL_EINVAL, "frames %d to %d of %zu", (int)begin, (int)end, frames->rows);
    for (size_t t = (size_t)begin; t < (size_t)end; t++) {
        const float *row = trl_matrix_row(frames, t);
        if (good_value(row, frames->cols))
            continue;
        size_t k = 0;
        while (good_value(&row[k], 1))
            k++;
        return trl__fail(err, TRL_ENUMBER, "frame %zu, column %zu: %g; features must lie within ±%g", t, k,
                         (double)row[k], TRL__MOST_VALUE);
    }
    return 0;
}

int trl__place(trl__placed *placed, const trl__mixtures *m, const trl__gmm_kernel *kernel, const trl_matrix *frames,
               int32_t begin, int32_t end, trl_error *err)
{
    int code = trl__frames_check(frames, (size_t)m->dim, begin, end, err);
    if (code < 0)
        return code;
    size_t count = (size_t)(end - begin < TRL__PIECE ? end - begin : TRL__PIECE);
    size_t blocks = (count + TRL__BLOCK - 1) / TRL__BLOCK;
    placed->source = frames;
    placed->begin = begin;
    placed->end = end;
    placed->piece = -1;
    if (!kernel->group)
        return 0; /* the reference reads them where they are */
    size_t floats =
        kernel->in_lanes ? blocks * trl__block_rows(m) * TRL__STRIDE : (count + TRL__TILE) * 2 * (size_t)m->dim;
    placed->values = trl__scratch_get(&placed->memory, floats + 1, sizeof(float));
    return placed->values ? 0 : trl__fail_memory(err);
}

void trl__place_piece(trl__placed *placed, const trl__mixtures *m, const trl__gmm_kernel *kernel, int32_t t)
{
    int32_t first = t - (t - placed->begin) % TRL__PIECE;
    int32_t end = placed->end - first < TRL__PIECE ? placed->end : first + TRL__PIECE;
    if (!kernel->group || placed->piece == first)
        return;
    placed->piece = first;
    if (!kernel->in_lanes)
        place_frames(placed, m, placed->end - end < TRL__TILE ? placed->end : end + TRL__TILE);
    float *block = placed->values;
    for (; kernel->in_lanes && first < end; first += TRL__BLOCK, block += trl__block_rows(m) * TRL__STRIDE)
        place_block(placed, m, first, block);
}
