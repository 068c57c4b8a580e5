#include "model/assign.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>

struct trl__assigner {
    const trl_model *model;
    float *constant;  /* by Gaussian: log weight - sum of log variance / 2; what all have in common is left out */
    float *precision; /* Gaussian * dim + k: 1 / variance */
};

static void prepare(trl__assigner *a, int64_t gaussians)
{
    const trl_model *m = a->model;
    for (int64_t g = 0; g < gaussians; g++) {
        double sum = 0;
        for (int32_t k = 0; k < m->dim; k++) {
            float variance = m->variance[g * m->dim + k];
            sum += log((double)variance);
            a->precision[g * m->dim + k] = 1 / variance;
        }
        a->constant[g] = m->log_weight[g] - (float)(0.5 * sum);
    }
}

int trl__assigner_create(const trl_model *model, trl__assigner **out, trl_error *err)
{
    *out = NULL;
    int64_t gaussians = trl_model_gaussians(model);
    trl__assigner *a = trl__alloc_zero(1, sizeof *a);
    if (!a)
        return trl__fail_memory(err);
    a->model = model;
    a->constant = trl__alloc_aligned((size_t)gaussians, sizeof *a->constant);
    a->precision = trl__alloc_aligned((size_t)gaussians * (size_t)model->dim, sizeof *a->precision);
    if (!a->constant || !a->precision) {
        trl__assigner_destroy(a);
        return trl__fail_memory(err);
    }
    prepare(a, gaussians);
    *out = a;
    return 0;
}

void trl__assigner_destroy(trl__assigner *a)
{
    if (!a)
        return;
    trl__free(a->constant);
    trl__free(a->precision);
    trl__free(a);
}

#define LANES 8 /* sums side by side, so that the compiler can use vectors; the result is the same on every machine */

static float score(const trl__assigner *a, int32_t g, const float *frame)
{
    int32_t dim = a->model->dim, k = 0;
    const float *mean = a->model->mean + (size_t)g * (size_t)dim, *precision = a->precision + (size_t)g * (size_t)dim;
    float sums[LANES] = {0}, distance = 0;
    for (; k + LANES <= dim; k += LANES)
        for (int32_t i = 0; i < LANES; i++) {
            float d = frame[k + i] - mean[k + i];
            sums[i] += d * d * precision[k + i];
        }
    for (; k < dim; k++) {
        float d = frame[k] - mean[k];
        distance += d * d * precision[k];
    }
    for (int32_t i = 0; i < LANES; i++)
        distance += sums[i];
    return a->constant[g] - 0.5f * distance;
}

void trl__assign(const trl__assigner *a, const trl_matrix *frames, const int32_t *tied, int32_t *gaussian)
{
    const int32_t *first = a->model->first_gaussian;
    for (size_t t = 0; t < frames->rows; t++) {
        float best = -INFINITY;
        gaussian[t] = tied[t] < 0 ? -1 : first[tied[t]];
        for (int32_t g = tied[t] < 0 ? 0 : first[tied[t]]; tied[t] >= 0 && g < first[tied[t] + 1]; g++) {
            float s = score(a, g, trl_matrix_row(frames, t));
            if (s > best) {
                best = s;
                gaussian[t] = g;
            }
        }
    }
}
