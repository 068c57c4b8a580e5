/* The reference: every Gaussian by its definition, in double. */
#include "backend/cpu/gmm_kernel.h"

#include <math.h>

static double component_score(const trl__mixtures *m, const float *frame, int32_t gaussian)
{
    size_t dim = (size_t)m->dim;
    const double *exact = m->exact + (size_t)gaussian * (1 + 2 * dim), *mean = exact + 1, *half_precision = mean + dim;
    double score = exact[0];
    for (size_t k = 0; k < dim; k++) {
        double difference = (double)frame[k] - mean[k];
        score -= difference * difference * half_precision[k];
    }
    return score;
}

/* Returns the best component; *best is its score, *total the logarithm of the sum of all. */
static int32_t mixture_score(const trl__mixtures *m, const float *frame, int32_t tied, double *best, double *total)
{
    int32_t first = m->first_gaussian[tied], end = m->first_gaussian[tied + 1], which = first;
    *best = component_score(m, frame, first);
    for (int32_t g = first + 1; g < end; g++) {
        double score = component_score(m, frame, g);
        if (score > *best) {
            *best = score;
            which = g;
        }
    }
    double sum = 0;
    for (int32_t g = first; g < end; g++)
        sum += exp(component_score(m, frame, g) - *best);
    *total = *best + log(sum);
    return which - first;
}

static void score(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t first, int32_t end,
                  trl__combine combine, int32_t next, float *scratch, float *out)
{
    (void)next, (void)scratch;
    for (int32_t t = first; t < end; t++) {
        double best, total;
        mixture_score(m, trl_matrix_row(placed->source, (size_t)t), tied, &best, &total);
        out[t - first] = (float)(combine == TRL__MAX ? best : total);
    }
}

static void best(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t first, int32_t end,
                 float *scratch, int32_t *component, float *out)
{
    (void)scratch;
    for (int32_t t = first; t < end; t++) {
        double of_best, total;
        component[t - first] = mixture_score(m, trl_matrix_row(placed->source, (size_t)t), tied, &of_best, &total);
        out[t - first] = (float)of_best;
    }
}

static void shares(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t first, int32_t end,
                   const float *gamma, float *share)
{
    for (int32_t t = first; t < end; t++) {
        const float *frame = trl_matrix_row(placed->source, (size_t)t);
        double of_best, total;
        mixture_score(m, frame, tied, &of_best, &total);
        for (int32_t c = 0; c < trl__components(m, tied); c++)
            share[(size_t)c * TRL__TILE + (size_t)(t - first)] =
                (float)((double)gamma[t - first] * exp(component_score(m, frame, m->first_gaussian[tied] + c) - total));
    }
}

const trl__gmm_kernel trl__gmm_ref = {"ref", 0, 1, 0, score, best, shares};
