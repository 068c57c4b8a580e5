/* The dot product in plain C, one Gaussian of one frame at a time: the sequential baseline of the benchmarks. It is
 * compiled -O2. */
#include "backend/cpu/gmm_kernel.h"

#include <math.h>

static float component_score(const trl__gmm_work *w, int32_t c, int32_t t)
{
    const trl__mixtures *m = w->m;
    const float *p = m->packed + m->at[w->tied] + (size_t)c * trl__group_size(m);
    float score = p[0];
    if (m->differences[w->tied]) {
        const float *frame = trl_matrix_row(w->placed->source, (size_t)t);
        for (int32_t k = 0; k < m->dim; k++)
            score += (frame[k] - p[1 + 2 * k]) * (frame[k] - p[1 + 2 * k]) * p[2 + 2 * k];
    } else {
        const float *frame = w->placed->values + (size_t)(t - w->placed->piece) * 2 * (size_t)m->dim;
        float other = 0; /* two sums: one alone would spend its time waiting for the last addition */
        for (int32_t k = 0; k < 2 * m->dim; k += 2) {
            score += p[1 + k] * frame[k];
            other += p[2 + k] * frame[k + 1];
        }
        score += other;
    }
    return score;
}

/* Fills scores, by component; returns the best. */
static int32_t mixture_scores(const trl__gmm_work *w, int32_t t, float *scores)
{
    int32_t count = trl__components(w->m, w->tied), which = 0;
    for (int32_t c = 0; c < count; c++) {
        scores[c] = component_score(w, c, t);
        which = scores[c] > scores[which] ? c : which;
    }
    return which;
}

static void score(const trl__gmm_work *w, trl__combine combine, float *out, const trl__gmm_best *best)
{
    int32_t count = trl__components(w->m, w->tied);
    for (int32_t t = w->first; t < w->end; t++) {
        int32_t which = mixture_scores(w, t, w->scratch);
        float top = w->scratch[which], sum = 0;
        for (int32_t c = 0; combine == TRL__LOG_ADD && c < count; c++)
            sum += expf(w->scratch[c] - top);
        if (out)
            out[t - w->first] = combine == TRL__LOG_ADD ? top + logf(sum) : top;
        if (best) {
            best->component[t - w->first] = which;
            best->score[t - w->first] = top;
        }
    }
}

static void find_best(const trl__gmm_work *w, const trl__gmm_best *best)
{
    score(w, TRL__MAX, NULL, best);
}

static void shares(const trl__gmm_work *w, const float *gamma)
{
    int32_t count = trl__components(w->m, w->tied);
    for (int32_t t = w->first; t < w->end; t++) {
        float *column = w->scratch + (t - w->first), sum = 0, top = TRL__NEVER;
        for (int32_t c = 0; c < count; c++) {
            column[c * TRL__TILE] = component_score(w, c, t);
            top = fmaxf(top, column[c * TRL__TILE]);
        }
        for (int32_t c = 0; c < count; c++)
            sum += column[c * TRL__TILE] = expf(column[c * TRL__TILE] - top);
        for (int32_t c = 0; c < count; c++)
            column[c * TRL__TILE] *= gamma[t - w->first] / sum;
    }
}

const trl__gmm_kernel trl__gmm_scalar = {"scalar", 1, 1, 0, score, find_best, shares, trl__add_frame_plainly};
