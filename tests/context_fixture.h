/* For tests of trees: models of a few phones, random statistics per context, and likelihoods by their definition. */
#ifndef TEST_CONTEXT_FIXTURE_H
#define TEST_CONTEXT_FIXTURE_H

#include "model_fixture.h"
#include "model/sums.h"
#include "model/tree_build.h"

static inline void must_work(int code, const trl_error *err)
{
    if (code < 0)
        fail_msg("%s", err->text);
}

/* SIL, SPN and phones P0 … */
static inline trl_model *model_of_phones(int phones, int states, int word_positions, int32_t dim)
{
    char text[1000];
    size_t length = 0;
    trl_model_options o = trl_model_defaults();
    o.states = states;
    o.word_positions = word_positions;
    for (int i = 0; i < phones; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "W%d P%d\n", i, i);
    return model_of(text, dim, &o);
}

static inline trl__context_stats *stats_for(int32_t width, int32_t centre, int32_t dim)
{
    trl_error err;
    trl__context_stats *stats;
    must_work(trl__context_stats_create(width, centre, dim, &stats, &err), &err);
    return stats;
}

/* A frame whose mean depends on all units of the window and the state. */
static inline void random_frame(dice *d, const trl__context_stats *stats, const int32_t *key, float *frame)
{
    for (int32_t k = 0; k < stats->dim; k++) {
        double value = (double)trl__random_normal(d->seed, 5, d->next++);
        for (int32_t p = 0; p <= stats->width; p++)
            value += (double)trl__random_normal(77, (uint64_t)100 * (uint64_t)p + (uint64_t)(key[p] + 1), (uint64_t)k);
        frame[k] = (float)value;
    }
}

static inline void add_frames(dice *d, trl__context_stats *stats, const int32_t *key, int frames)
{
    float frame[16];
    double *slot = trl__context_stats_slot(stats, key);
    assert_non_null(slot);
    for (int i = 0; i < frames; i++) {
        random_frame(d, stats, key, frame);
        trl__context_stats_add(slot, stats->dim, frame);
    }
}

/* Any units of the model around any unit, up to `most` frames each; the last unit is never a centre. */
static inline void random_contexts(dice *d, trl__context_stats *stats, const trl_model *model, int contexts, int most)
{
    int32_t key[TRL__WIDEST_CONTEXT + 1], units = trl_model_units(model);
    for (int i = 0; i < contexts; i++) {
        for (int32_t p = 0; p < stats->width; p++)
            key[p] = p == stats->centre ? roll(d, 0, units > 1 ? units - 2 : 0) : roll(d, TRL__NOTHING, units - 1);
        key[stats->width] = roll(d, 0, trl_model_unit(model, key[stats->centre]).states - 1);
        add_frames(d, stats, key, roll(d, 1, most));
    }
}

/* Sets of random units at random positions. */
static inline trl__questions *random_questions(dice *d, const trl_model *model, int32_t width, int count)
{
    trl_error err;
    trl__questions *questions;
    must_work(trl__questions_create(model, &questions, &err), &err);
    for (int i = 0; i < count; i++) {
        uint64_t bits[4] = {0};
        for (int32_t u = 0; u <= trl_model_units(model); u++)
            if (roll(d, 0, 2) == 0)
                trl__unit_bits_set(bits, u);
        must_work(trl__questions_add(questions, model, NULL, bits, (uint32_t)roll(d, 1, (1 << width) - 1), &err), &err);
    }
    return questions;
}

/* ---- by definition ---- */

static inline double plain_likelihood(const double *sums, int32_t dim, double floor)
{
    double logs = 0, n = sums[0];
    for (int32_t k = 0; k < dim; k++) {
        double mean = sums[1 + k] / n;
        logs += log(fmax(sums[1 + dim + k] / n - mean * mean, floor));
    }
    return n > 0 ? -0.5 * n * (dim * (1 + log(2 * acos(-1))) + logs) : 0;
}

/* The likelihood of those contexts that are marked. */
static inline double likelihood_of(const trl__context_stats *stats, const uint8_t *marked, double floor, double *frames)
{
    double sums[64] = {0};
    size_t size = trl__sums_size(stats->dim);
    for (size_t i = 0; i < stats->keys.count; i++)
        for (size_t k = 0; marked[i] && k < size; k++)
            sums[k] += stats->slots[i * size + k];
    *frames = sums[0];
    return plain_likelihood(sums, stats->dim, floor);
}

#endif
