/* For tests of training: models of small_speech.h, trained an iteration at a time on any device. */
#ifndef TEST_SMALL_TRAINER_H
#define TEST_SMALL_TRAINER_H

#include "small_speech.h"

#include <math.h>
#include <trellis/train.h>

typedef struct trainer {
    small_speech speech;
    trl_model *model;
    trl__device *device;
    trl__aligner *aligner;
    trl__unit_map *map;
    trl__graph graph;
    trl__estimate_options estimate;
    trl_em em;
} trainer;

static trl_error err;

static inline void make_trainer(trainer *t, uint64_t seed, trl_em em, const char *device)
{
    *t = (trainer){.em = em};
    small_speech_make(&t->speech, seed, 1 + (int32_t)(seed % 3));
    trl_model_options o = trl_model_defaults();
    o.states = 1 + (int)(seed % 3);
    o.silence_states = 1;
    assert_int_equal(trl_model_create(t->speech.lexicon, NULL, t->speech.dim, &o, &t->model, &err), 0);
    assert_int_equal(trl__device_open(device, &t->device, &err), 0);
    assert_int_equal(trl__aligner_create(t->device, &t->aligner, &err), 0);
    assert_int_equal(trl__unit_map_create(t->model, t->speech.lexicon, &t->map, &err), 0);
    t->estimate = (trl__estimate_options){.least_count = 1e-9, .least_variance = 1e-5, .least_probability = 1e-12};
}

static inline void free_trainer(trainer *t)
{
    trl__unit_map_destroy(t->map);
    trl__aligner_destroy(t->aligner);
    trl__device_close(t->device);
    trl_model_destroy(t->model);
    trl__graph_free(&t->graph);
    small_speech_free(&t->speech);
}

/* One utterance into the block; returns what the method maximises. */
static inline double add_utterance(trainer *t, const trl__parameters *p, size_t u, int flat, trl__local_stats *local)
{
    const trl__search_options full = {.margin = TRL_MARGIN_FULL,
                                      .beam = 200,
                                      .combine = t->em == TRL_EM_VITERBI ? TRL__MAX : TRL__LOG_ADD,
                                      .shares = t->em == TRL_EM_SHARED};
    const trl__posterior_options all = {.margin = TRL_MARGIN_FULL, .acoustic_scale = 1, .local = local};
    trl__search_result found;
    double score = 0;
    assert_int_equal(
        trl__graph_build(&t->graph, t->map, t->speech.lexicon, t->speech.words[u], t->speech.word_count[u], &err), 0);
    assert_int_equal(trl__aligner_begin(t->aligner, p, &t->speech.frames[u], &t->graph, &err), 0);
    if (flat)
        assert_int_equal(trl__aligner_equal_path(t->aligner, &found, &err), 0);
    else
        assert_int_equal(trl__aligner_search(t->aligner, &full, NULL, 0, &found, &err), 0);
    if (found.status != TRL__ALIGNED)
        return 0;
    if (t->em == TRL_EM_BAUM_WELCH && !flat)
        assert_int_equal(trl__aligner_posteriors(t->aligner, &all, &score, &err), 0);
    else
        assert_int_equal(trl__aligner_accumulate(t->aligner, local, &score, &err), 0);
    return t->em == TRL_EM_SHARED && !flat ? found.log_likelihood : score;
}

/* An E-step and an M-step; the score is that of the model before. */
static inline double iterate(trainer *t, int flat, int split, int64_t *floored)
{
    trl__parameters *p;
    trl__local_stats *local;
    trl__stats *stats;
    trl__estimate_result result;
    double score = 0;
    assert_int_equal(trl__device_load_model(t->device, t->model, NULL, &p, &err), 0);
    assert_int_equal(trl__local_stats_create(t->model, &local, &err), 0);
    assert_int_equal(trl__stats_create(t->model, &stats, &err), 0);
    for (size_t u = 0; u < SMALL_UTTERANCES; u++)
        score += add_utterance(t, p, u, flat, local);
    trl__stats_merge(stats, local);
    assert_int_equal(trl__estimate(t->model, stats, &t->estimate, &result, &err), 0);
    if (split) {
        double *count = stats->count; /* one Gaussian per tied state so far */
        assert_int_equal(trl__split_to_components(t->model, count, 2, 20, &err), 0);
    }
    *floored = result.floored;
    trl__stats_destroy(stats);
    trl__local_stats_destroy(local);
    trl__parameters_free(p);
    return score;
}

#endif
