/* Mixtures and frames in the form that the kernels read: see gmm_kernel.h. */
#include "backend/cpu/gmm_kernel.h"
#include "base/fail.h"

#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586
#define LOG2_E 1.4426950408889634

/* ---- Mixtures ---- */

static int check_gaussian(const trl_model *model, int32_t tied, int32_t g, trl_error *err)
{
    const float *mean = model->mean + (size_t)g * (size_t)model->dim;
    const float *variance = model->variance + (size_t)g * (size_t)model->dim;
    for (int32_t k = 0; k < model->dim; k++) {
        if (!(fabsf(mean[k]) <= (float)TRL__MOST_VALUE))
            return trl__fail(
                err, TRL_ENUMBER, "tied state %d, component %d: mean %g in dimension %d; means must lie within ±%g",
                (int)tied, (int)(g - model->first_gaussian[tied]), (double)mean[k], (int)k, TRL__MOST_VALUE);
        if (!(variance[k] >= (float)TRL__LEAST_VARIANCE && isfinite(variance[k])))
            return trl__fail(err, TRL_ENUMBER,
                             "tied state %d, component %d: variance %g in dimension %d; the least is %g", (int)tied,
                             (int)(g - model->first_gaussian[tied]), (double)variance[k], (int)k, TRL__LEAST_VARIANCE);
    }
    if (isnan(model->log_weight[g]) || model->log_weight[g] > 1)
        return trl__fail(err, TRL_ENUMBER, "tied state %d, component %d: the logarithm of its weight is %g", (int)tied,
                         (int)(g - model->first_gaussian[tied]), (double)model->log_weight[g]);
    return 0;
}

static int check_model(const trl_model *model, trl_error *err)
{
    for (int32_t s = 0; s < model->tied_states; s++) {
        if (model->first_gaussian[s + 1] <= model->first_gaussian[s])
            return trl__fail(err, TRL_EINVAL, "tied state %d has no components", (int)s);
        for (int32_t g = model->first_gaussian[s]; g < model->first_gaussian[s + 1]; g++) {
            int code = check_gaussian(model, s, g, err);
            if (code < 0)
                return code;
        }
    }
    return 0;
}

static void find_centre(trl__mixtures *m, const trl_model *model)
{
    int32_t gaussians = m->first_gaussian[m->tied_states];
    for (int32_t k = 0; k < m->dim; k++) {
        double total = 0;
        for (int32_t g = 0; g < gaussians; g++)
            total += (double)model->mean[(size_t)g * (size_t)m->dim + (size_t)k];
        m->centre[k] = gaussians > 0 ? (float)(total / gaussians) : 0;
    }
}

/* The logarithm of weight and normalisation: the score of a frame at the mean. */
static double peak(const trl_model *model, int32_t g)
{
    const float *variance = model->variance + (size_t)g * (size_t)model->dim;
    double h = (double)model->log_weight[g];
    for (int32_t k = 0; k < model->dim; k++)
        h -= 0.5 * log(TWO_PI * (double)variance[k]);
    return h;
}

/* The terms of the dot product are about mean² / var large and are rounded to 24 bits each. */
static int needs_differences(const trl__mixtures *m, const trl_model *model, int32_t tied)
{
    double worst = 0;
    for (int32_t g = m->first_gaussian[tied]; g < m->first_gaussian[tied + 1]; g++) {
        double size = 0;
        for (size_t k = 0; k < (size_t)m->dim; k++) {
            double mean = (double)model->mean[(size_t)g * (size_t)m->dim + k] - (double)m->centre[k];
            size += mean * mean / (double)model->variance[(size_t)g * (size_t)m->dim + k];
        }
        worst = fmax(worst, size);
    }
    return ldexp(worst, -24) > TRL__MOST_ERROR;
}

/* One component into its place in the group. */
static void pack_component(const trl__mixtures *m, const trl_model *model, int32_t g, int differences, float *group)
{
    const float *mean = model->mean + (size_t)g * (size_t)m->dim;
    const float *variance = model->variance + (size_t)g * (size_t)m->dim;
    size_t step = (size_t)m->group;
    double h = peak(model, g);
    float *p = group + step;
    for (int32_t k = 0; k < m->dim; k++, p += 2 * step) {
        double centred = (double)mean[k] - (double)m->centre[k], precision = 1 / (double)variance[k];
        if (!differences)
            h -= 0.5 * centred * centred * precision;
        p[0] = differences ? mean[k] : (float)(centred * precision * m->scale);
        p[step] = (float)(-0.5 * precision * m->scale);
    }
    group[0] = fmaxf((float)(h * m->scale), TRL__NEVER);
}

static void pack_mixture(trl__mixtures *m, const trl_model *model, int32_t tied)
{
    int32_t count = trl__components(m, tied), padded = (count + m->group - 1) / m->group * m->group;
    size_t size = trl__group_size(m);
    float *packed = m->packed + m->at[tied];
    for (int32_t c = 0; c < padded; c++) {
        float *group = packed + (size_t)(c / m->group) * size + c % m->group;
        if (c < count) {
            pack_component(m, model, m->first_gaussian[tied] + c, m->differences[tied], group);
        } else {
            for (size_t j = 0; j < size / (size_t)m->group; j++)
                group[j * (size_t)m->group] = j == 0 ? TRL__NEVER : 0;
        }
    }
}

static int pack_all(trl__mixtures *m, const trl_model *model, trl_error *err)
{
    size_t total = 0;
    for (int32_t s = 0; s < m->tied_states; s++) {
        size_t groups = (size_t)(trl__components(m, s) + m->group - 1) / (size_t)m->group;
        m->at[s] = total;
        total += (groups * trl__group_size(m) + 15) / 16 * 16; /* whole cache lines */
    }
    m->packed = trl__alloc_large(total + 16, sizeof *m->packed);
    if (!m->packed)
        return trl__fail_memory(err);
    for (int32_t s = 0; s < m->tied_states; s++) {
        m->differences[s] = (uint8_t)needs_differences(m, model, s);
        m->any_differences |= m->differences[s];
        pack_mixture(m, model, s);
    }
    return 0;
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

int trl__mixtures_pack(trl__mixtures *m, const trl_model *model, const trl__gmm_kernel *kernel, trl_error *err)
{
    size_t states = (size_t)model->tied_states;
    int code = check_model(model, err);
    if (code < 0)
        return code;
    *m = (trl__mixtures){.dim = model->dim,
                         .tied_states = model->tied_states,
                         .group = kernel->group,
                         .scale = kernel->natural ? 1 : LOG2_E};
    m->first_gaussian = trl__alloc(states + 1, sizeof *m->first_gaussian);
    m->centre = trl__alloc_zero((size_t)m->dim + 1, sizeof *m->centre);
    m->at = trl__alloc(states + 1, sizeof *m->at);
    m->differences = trl__alloc_zero(states + 1, 1);
    if (!m->first_gaussian || !m->centre || !m->at || !m->differences) {
        trl__mixtures_free(m);
        return trl__fail_memory(err);
    }
    memcpy(m->first_gaussian, model->first_gaussian, (states + 1) * sizeof *m->first_gaussian);
    for (int32_t s = 0; s < m->tied_states; s++)
        if (trl__components(m, s) > m->most_components)
            m->most_components = trl__components(m, s);
    find_centre(m, model);
    code = kernel->group ? pack_all(m, model, err) : pack_exact(m, model, err);
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

/* Frames `t` … of the utterance into a block: as many as fit, zeros behind the last. */
static void place_block(const trl__placed *placed, const trl__mixtures *m, int32_t t, float *block)
{
    size_t dim = (size_t)m->dim, stride = placed->source->stride;
    int32_t count = placed->end - t < TRL__STRIDE ? placed->end - t : TRL__STRIDE;
    const float *from = trl_matrix_row(placed->source, (size_t)t);
    for (size_t k = 0; k < dim; k++) {
        float *value = block + 2 * k * TRL__STRIDE, *square = value + TRL__STRIDE, centre = m->centre[k];
        for (int32_t i = 0; i < count; i++)
            value[i] = from[(size_t)i * stride + k] - centre;
        for (int32_t i = count; i < TRL__STRIDE; i++)
            value[i] = 0;
        for (int32_t i = 0; i < TRL__STRIDE; i++)
            square[i] = value[i] * value[i];
        if (m->any_differences) {
            float *plain = block + (2 * dim + k) * TRL__STRIDE;
            for (int32_t i = 0; i < TRL__STRIDE; i++)
                plain[i] = i < count ? from[(size_t)i * stride + k] : 0;
        }
    }
}

/* Frame by frame: centred value and square by turns. */
static void place_frames(const trl__placed *placed, const trl__mixtures *m)
{
    float *to = placed->values;
    for (int32_t t = placed->begin; t < placed->end; t++) {
        const float *from = trl_matrix_row(placed->source, (size_t)t);
        for (int32_t k = 0; k < m->dim; k++) {
            float value = from[k] - m->centre[k];
            *to++ = value;
            *to++ = value * value;
        }
    }
}

static int check_frames(const trl_matrix *frames, int32_t begin, int32_t end, trl_error *err)
{
    for (size_t t = (size_t)begin; t < (size_t)end; t++) {
        const float *row = trl_matrix_row(frames, t);
        int good = 1;
        for (size_t k = 0; k < frames->cols; k++)
            good &= fabsf(row[k]) <= (float)TRL__MOST_VALUE; /* false for NaN */
        for (size_t k = 0; !good && k < frames->cols; k++)
            if (!(fabsf(row[k]) <= (float)TRL__MOST_VALUE))
                return trl__fail(err, TRL_ENUMBER, "frame %zu, column %zu: %g; features must lie within ±%g", t, k,
                                 (double)row[k], TRL__MOST_VALUE);
    }
    return 0;
}

int trl__place(trl__placed *placed, const trl__mixtures *m, const trl__gmm_kernel *kernel, const trl_matrix *frames,
               int32_t begin, int32_t end, trl_error *err)
{
    if (frames->cols != (size_t)m->dim)
        return trl__fail(err, TRL_EINVAL,
                         "frames have %zu columns, the model %d: features and model do not belong together",
                         frames->cols, (int)m->dim);
    if (begin < 0 || end < begin || (size_t)end > frames->rows)
        return trl__fail(err, TRL_EINVAL, "frames %d to %d of %zu", (int)begin, (int)end, frames->rows);
    int code = check_frames(frames, begin, end, err);
    if (code < 0)
        return code;
    size_t count = (size_t)(end - begin), blocks = (count + TRL__BLOCK - 1) / TRL__BLOCK;
    size_t block = trl__block_rows(m) * TRL__STRIDE;
    placed->source = frames;
    placed->begin = begin;
    placed->end = end;
    if (!kernel->group)
        return 0; /* the reference reads them where they are */
    placed->values = kernel->in_lanes
                         ? trl__scratch_get(&placed->memory, blocks * block + 1, sizeof(float))
                         : trl__scratch_get(&placed->memory, count * 2 * (size_t)m->dim + 1, sizeof(float));
    if (!placed->values)
        return trl__fail_memory(err);
    if (!kernel->in_lanes)
        place_frames(placed, m);
    for (size_t b = 0; kernel->in_lanes && b < blocks; b++)
        place_block(placed, m, begin + (int32_t)(b * TRL__BLOCK), placed->values + b * block);
    return 0;
}
