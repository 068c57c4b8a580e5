/* The dot product in plain C, one Gaussian of one frame at a time: the sequential baseline of the benchmarks. It is compiled -O2. */
#include "backend/cpu/gmm_kernel.h"

#include <math.h>

static float component_score(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t c, int32_t t)
{
    const float *p = m->packed + m->at[tied] + (size_t)c * trl__group_size(m);
    float score = p[0];
    if (m->differences[tied]) {
        const float *frame = trl_matrix_row(placed->source, (size_t)t);
        for (int32_t k = 0; k < m->dim; k++)
            score += (frame[k] - p[1 + 2 * k]) * (frame[k] - p[1 + 2 * k]) * p[2 + 2 * k];
    } else {
        const float *frame = placed->values + (size_t)(t - placed->begin) * 2 * (size_t)m->dim;
        for (int32_t k = 0; k < 2 * m->dim; k++)
            score += p[1 + k] * frame[k];
    }
    return score;
}

/* Fills scores, by component; returns the best. */
static int32_t mixture_scores(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t t, float *scores)
{
    int32_t count = trl__components(m, tied), which = 0;
    for (int32_t c = 0; c < count; c++) {
        scores[c] = component_score(m, placed, tied, c, t);
        which = scores[c] > scores[which] ? c : which;
    }
    return which;
}

static void score(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t first, int32_t end,
                  trl__combine combine, int32_t next, float *scratch, float *out)
{
    (void)next;
    int32_t count = trl__components(m, tied);
    for (int32_t t = first; t < end; t++) {
        float top = scratch[mixture_scores(m, placed, tied, t, scratch)], sum = 0;
        for (int32_t c = 0; combine == TRL__LOG_ADD && c < count; c++)
            sum += expf(scratch[c] - top);
        out[t - first] = combine == TRL__LOG_ADD ? top + logf(sum) : top;
    }
}

static void best(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t first, int32_t end,
                 float *scratch, int32_t *component, float *out)
{
    for (int32_t t = first; t < end; t++) {
        component[t - first] = mixture_scores(m, placed, tied, t, scratch);
        out[t - first] = scratch[component[t - first]];
    }
}

static void shares(const trl__mixtures *m, const trl__placed *placed, int32_t tied, int32_t first, int32_t end,
                   const float *gamma, float *share)
{
    int32_t count = trl__components(m, tied);
    for (int32_t t = first; t < end; t++) {
        float *column = share + (t - first), sum = 0, top = TRL__NEVER;
        for (int32_t c = 0; c < count; c++) {
            column[c * TRL__TILE] = component_score(m, placed, tied, c, t);
            top = fmaxf(top, column[c * TRL__TILE]);
        }
        for (int32_t c = 0; c < count; c++)
            sum += column[c * TRL__TILE] = expf(column[c * TRL__TILE] - top);
        for (int32_t c = 0; c < count; c++)
            column[c * TRL__TILE] *= gamma[t - first] / sum;
    }
}

const trl__gmm_kernel trl__gmm_scalar = {"scalar", 1, 1, 0, score, best, shares};
