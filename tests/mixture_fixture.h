/* Random mixtures and frames, and a comparison of a kernel with the reference. No test framework: the kernels of other
 * instruction sets are tried with it in programs of their own. */
#ifndef TEST_MIXTURE_FIXTURE_H
#define TEST_MIXTURE_FIXTURE_H

#include "backend/cpu/gmm_kernel.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Chance ---- */

typedef struct chance {
    uint64_t seed, at;
} chance;

static inline int pick(chance *c, int below)
{
    return (int)(trl__random_bits(c->seed, 0, c->at++) % (uint32_t)below);
}

static inline float between(chance *c, float low, float high)
{
    return low + (high - low) * trl__random_uniform(c->seed, 1, c->at++);
}

static inline float gauss(chance *c)
{
    return trl__random_normal(c->seed, 2, c->at++);
}

/* ---- Models ---- */

typedef struct mixture_kind {
    int dim, tied, most_components;
    float spread;         /* of the means of a mixture, around its state's */
    float offset;         /* of all means */
    float least_variance; /* they lie between this and four times it */
} mixture_kind;

/* A model with nothing but mixtures; `transitions` ids. */
static inline trl_model random_mixtures(chance *c, mixture_kind kind, int transitions)
{
    trl_model model = {.dim = kind.dim, .tied_states = kind.tied, .transitions = transitions};
    model.first_gaussian = calloc((size_t)kind.tied + 1, sizeof(int32_t));
    for (int s = 0; s < kind.tied; s++)
        model.first_gaussian[s + 1] = model.first_gaussian[s] + 1 + pick(c, kind.most_components);
    size_t gaussians = (size_t)model.first_gaussian[kind.tied], dim = (size_t)kind.dim;
    model.log_weight = malloc(gaussians * sizeof(float));
    model.mean = malloc(gaussians * dim * sizeof(float));
    model.variance = malloc(gaussians * dim * sizeof(float));
    for (size_t i = 0; i < gaussians * dim; i++) {
        model.mean[i] = kind.offset + kind.spread * gauss(c);
        model.variance[i] = kind.least_variance * between(c, 1, 4);
    }
    for (int s = 0; s < kind.tied; s++) {
        float total = 0;
        for (int g = model.first_gaussian[s]; g < model.first_gaussian[s + 1]; g++)
            total += model.log_weight[g] = between(c, 0.1f, 1);
        for (int g = model.first_gaussian[s]; g < model.first_gaussian[s + 1]; g++)
            model.log_weight[g] = logf(model.log_weight[g] / total);
    }
    return model;
}

static inline void free_mixtures(trl_model *model)
{
    free(model->first_gaussian);
    free(model->log_weight);
    free(model->mean);
    free(model->variance);
}

/* Frames near the means of random Gaussians, a few standard deviations away. */
static inline trl_matrix random_frames(chance *c, const trl_model *model, int count)
{
    size_t dim = (size_t)model->dim;
    trl_matrix frames = {.rows = (size_t)count, .cols = dim, .stride = dim + (size_t)pick(c, 3)};
    frames.data = calloc(frames.rows * frames.stride + 1, sizeof(float));
    for (size_t t = 0; t < frames.rows; t++) {
        size_t g = (size_t)pick(c, model->first_gaussian[model->tied_states]);
        for (size_t k = 0; k < dim; k++)
            frames.data[t * frames.stride + k] =
                model->mean[g * dim + k] + 2 * gauss(c) * sqrtf(model->variance[g * dim + k]);
    }
    return frames;
}

/* ---- A kernel against the reference ---- */

/* How far a score may be off: the sum of powers of two has an error of 3e-6, the dot product one in its last bits. */
static inline double score_tolerance(double score, double allowed)
{
    return allowed + 1e-6 * fabs(score);
}

typedef struct kernel_run {
    trl__mixtures m;
    trl__placed placed;
    float *scratch;
} kernel_run;

static inline int start_run(kernel_run *run, const trl__gmm_kernel *kernel, const trl_model *model,
                            const trl_matrix *frames, int32_t begin)
{
    *run = (kernel_run){0};
    if (trl__mixtures_pack(&run->m, model, kernel, NULL, NULL) < 0 ||
        trl__place(&run->placed, &run->m, kernel, frames, begin, (int32_t)frames->rows, NULL) < 0)
        return -1;
    if (begin < (int32_t)frames->rows)
        trl__place_piece(&run->placed, &run->m, kernel, begin);
    run->scratch = calloc((size_t)(run->m.most_components + TRL__GROUP) * TRL__TILE + 16, sizeof(float));
    return 0;
}

static inline void end_run(kernel_run *run)
{
    trl__mixtures_free(&run->m);
    trl__scratch_free(&run->placed.memory);
    free(run->scratch);
}

static inline trl__gmm_work work_of(const kernel_run *run, int32_t tied, int32_t first, int32_t end)
{
    return (trl__gmm_work){&run->m, &run->placed, run->scratch, tied, first, end, (tied + 1) % run->m.tied_states};
}

/* The score of one component by its definition. */
static inline double exact_score(const trl_model *model, int32_t gaussian, const float *frame)
{
    double score = (double)model->log_weight[gaussian];
    for (size_t k = 0; k < (size_t)model->dim; k++) {
        double variance = (double)model->variance[(size_t)gaussian * (size_t)model->dim + k];
        double difference = (double)frame[k] - (double)model->mean[(size_t)gaussian * (size_t)model->dim + k];
        score -= 0.5 * (log(2 * M_PI * variance) + difference * difference / variance);
    }
    return score;
}

#define LONGEST 700 /* frames of a case */

static inline int compare_scores(const trl__gmm_kernel *kernel, kernel_run *run, kernel_run *reference, int32_t tied,
                                 int32_t first, int32_t end, trl__combine combine, double allowed)
{
    static float out[LONGEST + TRL__ROW_PAD], expected[LONGEST + TRL__ROW_PAD];
    trl__gmm_work work = work_of(run, tied, first, end), same = work_of(reference, tied, first, end);
    kernel->score(&work, combine, out, NULL);
    trl__gmm_ref.score(&same, combine, expected, NULL);
    for (int32_t i = 0; i < end - first; i++)
        if (!(fabs((double)out[i] - (double)expected[i]) <= score_tolerance((double)expected[i], allowed))) {
            printf("%s: dim %d, tied state %d of %d components, frame %d of %d to %d: score %.7g, not %.7g\n",
                   kernel->name, (int)run->m.dim, (int)tied, (int)trl__components(&run->m, tied), (int)(first + i),
                   (int)first, (int)end, (double)out[i], (double)expected[i]);
            return 1;
        }
    return 0;
}

/* Scores come with the same best components, bit by bit. */
static inline int compare_kept_best(const trl__gmm_kernel *kernel, const trl__gmm_work *work, const int32_t *component,
                                    const float *score)
{
    int32_t kept[TRL__TILE];
    float scores[TRL__TILE + TRL__ROW_PAD], kept_score[TRL__TILE];
    size_t size = (size_t)(work->end - work->first) * 4;
    for (int combine = 0; combine < 2; combine++) {
        kernel->score(work, combine ? TRL__MAX : TRL__LOG_ADD, scores, &(trl__gmm_best){kept, kept_score});
        if (memcmp(kept, component, size) != 0 || memcmp(kept_score, score, size) != 0) {
            printf("%s: dim %d, tied state %d: another best component beside the scores\n", kernel->name,
                   (int)work->m->dim, (int)work->tied);
            return 1;
        }
    }
    return 0;
}

/* The chosen component need not be the reference's, but as good. */
static inline int compare_best(const trl__gmm_kernel *kernel, kernel_run *run, const trl_model *model, int32_t tied,
                               int32_t first, int32_t end, double allowed)
{
    int32_t component[TRL__TILE + TRL__ROW_PAD];
    float out[TRL__TILE + TRL__ROW_PAD];
    trl__gmm_work work = work_of(run, tied, first, end);
    kernel->best(&work, &(trl__gmm_best){component, out});
    if (compare_kept_best(kernel, &work, component, out))
        return 1;
    for (int32_t i = 0; i < end - first; i++) {
        const float *frame = trl_matrix_row(run->placed.source, (size_t)first + (size_t)i);
        int32_t g = model->first_gaussian[tied], chosen = g + component[i];
        double largest = -INFINITY;
        for (; g < model->first_gaussian[tied + 1]; g++)
            largest = fmax(largest, exact_score(model, g, frame));
        double tolerance = score_tolerance(largest, allowed);
        if (component[i] < 0 || chosen >= model->first_gaussian[tied + 1] ||
            !(exact_score(model, chosen, frame) >= largest - 2 * tolerance) ||
            !(fabs((double)out[i] - largest) <= tolerance)) {
            printf("%s: dim %d, tied state %d, frame %d: best component %d with %.7g, not %.7g\n", kernel->name,
                   (int)run->m.dim, (int)tied, (int)(first + i), (int)component[i], (double)out[i], largest);
            return 1;
        }
    }
    return 0;
}

static inline int compare_shares(const trl__gmm_kernel *kernel, kernel_run *run, const trl_model *model, int32_t tied,
                                 int32_t first, int32_t end, const float *gamma, double allowed)
{
    float *share = run->scratch;
    trl__gmm_work work = work_of(run, tied, first, end);
    kernel->shares(&work, gamma);
    for (int32_t i = 0; i < end - first; i++) {
        const float *frame = trl_matrix_row(run->placed.source, (size_t)first + (size_t)i);
        double largest = -INFINITY, total = 0;
        for (int32_t g = model->first_gaussian[tied]; g < model->first_gaussian[tied + 1]; g++)
            largest = fmax(largest, exact_score(model, g, frame));
        for (int32_t g = model->first_gaussian[tied]; g < model->first_gaussian[tied + 1]; g++)
            total += exp(exact_score(model, g, frame) - largest);
        for (int32_t c = 0; c < trl__components(&run->m, tied); c++) {
            double got = (double)share[(size_t)c * TRL__TILE + (size_t)i];
            double expected =
                (double)gamma[i] * exp(exact_score(model, model->first_gaussian[tied] + c, frame) - largest) / total;
            if (!(fabs(got - expected) <= 2 * score_tolerance(largest, allowed) * expected + 1e-30)) {
                printf("%s: dim %d, tied state %d, frame %d, component %d: share %.7g, not %.7g\n", kernel->name,
                       (int)run->m.dim, (int)tied, (int)(first + i), (int)c, got, expected);
                return 1;
            }
        }
    }
    return 0;
}

/* A weighted frame into a slot, and nothing beyond it. */
static inline int compare_add_frame(const trl__gmm_kernel *kernel, chance *c)
{
    float frame[70];
    double slot[2 * 70 + 2], expected[2 * 70 + 2], weight = pick(c, 2) ? 1 : (double)between(c, 0, 1);
    size_t dim = 1 + (size_t)pick(c, 70), size = 1 + 2 * dim;
    for (size_t i = 0; i < size + 1; i++)
        slot[i] = expected[i] = (double)gauss(c);
    for (size_t k = 0; k < dim; k++)
        frame[k] = gauss(c);
    expected[0] += weight;
    for (size_t k = 0; k < dim; k++) {
        expected[1 + k] += weight * (double)frame[k];
        expected[1 + dim + k] += weight * (double)frame[k] * (double)frame[k];
    }
    kernel->add_frame(slot, frame, dim, weight);
    for (size_t i = 0; i < size + 1; i++)
        if (!(fabs(slot[i] - expected[i]) <= (i < size ? 1e-14 : 0))) {
            printf("%s: dim %zu, place %zu of a slot is %.17g, not %.17g\n", kernel->name, dim, i, slot[i],
                   expected[i]);
            return 1;
        }
    return 0;
}

/* One random model, its frames, some stretches of them; returns the number of faults, each said. */
static inline int compare_kernel(const trl__gmm_kernel *kernel, uint64_t seed, mixture_kind kind, int frame_count,
                                 double allowed)
{
    chance c = {seed, 0};
    trl_model model = random_mixtures(&c, kind, 0);
    trl_matrix frames = random_frames(&c, &model, frame_count);
    int32_t begin = pick(&c, 2) ? pick(&c, frame_count) : 0;
    kernel_run run, reference;
    int faults = start_run(&run, kernel, &model, &frames, begin) < 0 ||
                 start_run(&reference, &trl__gmm_ref, &model, &frames, begin);
    for (int i = 0; faults == 0 && i < 6; i++) {
        float gamma[TRL__TILE + TRL__ROW_PAD] = {0};
        int32_t tied = pick(&c, kind.tied), first = begin + pick(&c, frame_count - begin);
        int32_t end = first + 1 + pick(&c, frame_count - first),
                short_end = end < first + TRL__TILE ? end : first + TRL__TILE;
        for (int32_t t = first; t < short_end; t++)
            gamma[t - first] = pick(&c, 4) ? between(&c, 0, 1) : 0;
        faults += compare_scores(kernel, &run, &reference, tied, first, end, TRL__LOG_ADD, allowed);
        faults += compare_scores(kernel, &run, &reference, tied, first, end, TRL__MAX, allowed);
        faults += compare_best(kernel, &run, &model, tied, first, short_end, allowed);
        faults += compare_shares(kernel, &run, &model, tied, first, short_end, gamma, allowed);
    }
    end_run(&run);
    end_run(&reference);
    free(frames.data);
    free_mixtures(&model);
    return faults;
}

/* Many kinds of models, each with its tolerance. */
static inline int compare_kernel_with_reference(const trl__gmm_kernel *kernel, int cases)
{
    int faults = 0;
    for (int i = 0; i < cases && faults < 10; i++) {
        chance c = {1000 + (uint64_t)i, 1u << 30};
        mixture_kind usual = {1 + pick(&c, 60), 1 + pick(&c, 4), 1 + pick(&c, pick(&c, 4) ? 9 : 70), 1, 0, 0.5f};
        mixture_kind far = {1 + pick(&c, 60), 2, 1 + pick(&c, 9), 2, 200, 1};
        mixture_kind tiny = {1 + pick(&c, 60), 3, 1 + pick(&c, 9), 1, 10, 1e-5f};
        faults += compare_add_frame(kernel, &c);
        faults += compare_kernel(kernel, (uint64_t)i, usual, 1 + pick(&c, 100), 1e-5);
        faults += compare_kernel(kernel, (uint64_t)i, far, 1 + pick(&c, 60), 1e-4);
        faults += compare_kernel(kernel, (uint64_t)i, tiny, 1 + pick(&c, 60), 2 * TRL__MOST_ERROR);
    }
    faults += compare_kernel(kernel, 1, (mixture_kind){39, 2, 32, 1, 0, 0.5f}, LONGEST, 1e-5);
    faults += compare_kernel(kernel, 2, (mixture_kind){400, 2, 5, 1, 0, 0.5f}, 30, 1e-3);
    faults += compare_kernel(kernel, 3, (mixture_kind){5, 1, 3000, 1, 0, 0.5f}, 30, 1e-5);
    return faults;
}

#endif
