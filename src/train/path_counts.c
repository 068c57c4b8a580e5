/* What is counted along the paths of the last iteration without looking at frames: frames by tied state, for samples; pronunciations and
 * pauses. */
#include "align/usage.h"
#include "base/fail.h"
#include "base/memory.h"
#include "train/training.h"

#include <string.h>

/* ---- Samples ---- */

typedef struct state_counts {
    int32_t states;
    double *count;
} state_counts;

static int create_counts(void *user, void **out, trl_error *err)
{
    const state_counts *all = user;
    state_counts *c = trl__alloc_zero(1, sizeof *c);
    *out = c;
    if (!c)
        return trl__fail_memory(err);
    c->states = all->states;
    c->count = trl__alloc((size_t)c->states, sizeof *c->count);
    return c->count ? 0 : trl__fail_memory(err);
}

static void destroy_counts(void *sum)
{
    trl__free(((state_counts *)sum)->count);
    trl__free(sum);
}

static void zero_counts(void *sum)
{
    state_counts *c = sum;
    memset(c->count, 0, (size_t)c->states * sizeof *c->count);
}

static int visit_counts(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    (void)user;
    (void)err;
    for (int32_t t = 0; t < v->frame_count; t++)
        ((state_counts *)sum)->count[v->tied[t]]++;
    return 0;
}

static int merge_counts(void *user, size_t group, void *sum, trl_error *err)
{
    (void)group;
    (void)err;
    state_counts *all = user;
    for (int32_t j = 0; j < all->states; j++)
        all->count[j] += ((state_counts *)sum)->count[j];
    return 0;
}

/* Costs the graphs of the corpus; a corpus without so many frames costs nothing. */
int trl__choose_sample(const trl__training *t, float **sample, trl_error *err)
{
    *sample = NULL;
    if (!t->alignments || t->data->frames <= t->options->sample_frames)
        return 0;
    int32_t states = t->model->tied_states;
    state_counts all = {.states = states, .count = trl__alloc_zero((size_t)states, sizeof *all.count)};
    *sample = trl__alloc((size_t)states, sizeof **sample);
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_counts,
                                .destroy = destroy_counts,
                                .zero = zero_counts,
                                .visit = visit_counts,
                                .merge = merge_counts,
                                .user = &all,
                                .without_frames = 1};
    int code = all.count && *sample ? trl__walk_run(&walk, &gathering, err) : trl__fail_memory(err);
    if (code < 0 || trl__sample_shares(all.count, states, t->options->sample_frames, *sample) == 0) {
        trl__free(*sample);
        *sample = NULL;
    }
    trl__free(all.count);
    return code;
}

/* ---- Pronunciations and pauses ---- */

typedef struct usage_work {
    const trl__training *training;
    trl__usage *all;
} usage_work;

static int create_usage(void *user, void **out, trl_error *err)
{
    trl__usage *usage = NULL;
    int code = trl__usage_create(((const usage_work *)user)->training->lexicon, &usage, err);
    *out = usage;
    return code;
}

static void destroy_usage(void *sum)
{
    trl__usage_destroy(sum);
}

static void zero_usage(void *sum)
{
    trl__usage *u = sum;
    memset(u->pronunciation, 0, u->pronunciations * sizeof *u->pronunciation);
    u->silences = u->pauses = 0;
}

static int visit_usage(void *user, void *sum, const trl__visit *v, trl_error *err)
{
    (void)err;
    const trl__training_data *d = ((const usage_work *)user)->training->data;
    trl__usage_add(sum, v->graph, d->words + d->first_word[v->utterance], v->runs, v->run_count);
    return 0;
}

static int merge_usage(void *user, size_t group, void *sum, trl_error *err)
{
    (void)group;
    (void)err;
    trl__usage_merge(((usage_work *)user)->all, sum);
    return 0;
}

static int gather_usage(trl__training *t, usage_work *w, trl_error *err)
{
    trl__walk walk = trl__training_walk(t);
    trl__gathering gathering = {.create = create_usage,
                                .destroy = destroy_usage,
                                .zero = zero_usage,
                                .visit = visit_usage,
                                .merge = merge_usage,
                                .user = w,
                                .without_frames = 1};
    int code = trl__usage_create(t->lexicon, &w->all, err);
    return code < 0 ? code : trl__walk_run(&walk, &gathering, err);
}

/* The lexicon goes through its file, so that a training that goes on later has the same numbers. */
static int keep_lexicon(trl__training *t, const trl_lexicon *counted, trl_error *err)
{
    char *path = trl__checkpoint_lexicon(t->checkpoint, t->checkpoint->stage);
    int code = path ? trl_lexicon_write(counted, path, err) : trl__fail_memory(err);
    trl__free(path);
    return code < 0 ? code : trl__load_lexicon(t, err);
}

int trl__load_lexicon(trl__training *t, trl_error *err)
{
    trl_lexicon *lexicon = NULL;
    trl_error problem;
    char *path = trl__checkpoint_lexicon(t->checkpoint, t->checkpoint->stage);
    if (!path)
        return trl__fail_memory(err);
    int code = trl_lexicon_read(path, NULL, &lexicon, &problem), is_there = code != TRL_ENOENT;
    if (code < 0 && is_there)
        trl__fail(err, code, "%s", problem.text);
    if (code == 0 && trl_lexicon_words(lexicon) != trl_lexicon_words(t->lexicon))
        code = trl__fail(err, TRL_ECORRUPT,
                         "%s: the lexicon in the training's folder has other words than the one given", path);
    trl__free(path);
    if (code < 0) {
        trl_lexicon_destroy(lexicon);
        return is_there ? code : 0; /* a stage without contexts uses what was given */
    }
    trl_lexicon_destroy(t->counted);
    t->counted = lexicon;
    t->lexicon = lexicon;
    return 0;
}

int trl__count_usage(trl__training *t, trl_error *err)
{
    usage_work w = {.training = t};
    trl_lexicon *counted = NULL;
    int code = gather_usage(t, &w, err);
    if (code == 0)
        code = trl_lexicon_with_counts(t->lexicon, w.all->pronunciation, TRL_PRONUNCIATION_SMOOTHING, &counted, err);
    if (code == 0)
        code = keep_lexicon(t, counted, err);
    if (code == 0)
        t->model->silence_between = trl__usage_silence(w.all, t->model->silence_between);
    trl_lexicon_destroy(counted);
    trl__usage_destroy(w.all);
    return code;
}
