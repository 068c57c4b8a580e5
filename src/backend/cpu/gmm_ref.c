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

static void score(const trl__gmm_work *w, trl__combine combine, float *out, const trl__gmm_best *best)
{
    for (int32_t t = w->first; t < w->end; t++) {
        double of_best, total;
        int32_t which = mixture_score(w->m, trl_matrix_row(w->placed->source, (size_t)t), w->tied, &of_best, &total);
        if (out)
            out[t - w->first] = (float)(combine == TRL__MAX ? of_best : total);
        if (best) {
            best->component[t - w->first] = which;
            best->score[t - w->first] = (float)of_best;
        }
    }
}

static void find_best(const trl__gmm_work *w, const trl__gmm_best *best)
{
    score(w, TRL__MAX, NULL, best);
}

static void shares(const trl__gmm_work *w, const float *gamma)
{
    int32_t first = w->m->first_gaussian[w->tied], end = w->m->first_gaussian[w->tied + 1];
    for (int32_t t = w->first; t < w->end; t++) {
        const float *frame = trl_matrix_row(w->placed->source, (size_t)t);
        double of_best, total;
        mixture_score(w->m, frame, w->tied, &of_best, &total);
        for (int32_t g = first; g < end; g++)
            w->scratch[(size_t)(g - first) * TRL__TILE + (size_t)(t - w->first)] =
                (float)((double)gamma[t - w->first] * exp(component_score(w->m, frame, g) - total));
    }
}

void trl__add_frame_plainly(double *slot, const float *frame, size_t dim, double weight)
{
    trl__add_frame(slot, frame, dim, weight);
}

const trl__gmm_kernel trl__gmm_ref = {"ref", 0, 1, 0, score, find_best, shares, trl__add_frame_plainly};
