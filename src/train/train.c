/* Training: the data, then stage after stage; a checkpoint after each iteration (iterate.c). */
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/input_guard.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "train/misfits.h"
#include "train/train_history.h"
#include "train/train_options.h"
#include "train/training.h"

#include <stdio.h>
#include <string.h>

/* ---- Stages by name ---- */

static const trl__stage *const all_stages[] = {&trl__stage_mono, &trl__stage_tri, &trl__stage_lda, &trl__stage_sat};
#define STAGES (sizeof all_stages / sizeof *all_stages)

static const trl__stage *find_stage(const char *name, size_t length)
{
    for (size_t i = 0; i < STAGES; i++)
        if (strlen(all_stages[i]->name) == length && strncmp(all_stages[i]->name, name, length) == 0)
            return all_stages[i];
    return NULL;
}

/* Appends the stage that a part of the list names. */
static int add_stage(const trl__stage **stages, int *count, const char *name, size_t length, trl_error *err)
{
    const trl__stage *stage = find_stage(name, length);
    if (!stage)
        return trl__fail(err, TRL_EINVAL, "there is no stage '%.*s': stages are mono, tri, lda and sat", (int)length,
                         name);
    if (*count == TRL_MOST_STAGES)
        return trl__fail(err, TRL_EINVAL, "more than %d stages", TRL_MOST_STAGES);
    if (stage == &trl__stage_mono && *count > 0)
        return trl__fail(err, TRL_EINVAL, "the stage mono can only be the first");
    if (stage == &trl__stage_tri && *count > 0 && stages[*count - 1] == &trl__stage_sat)
        return trl__fail(err, TRL_EINVAL,
                         "the stage tri can't come after sat: its model would be for adapted frames, without mixtures "
                         "for a first pass");
    stages[(*count)++] = stage;
    return 0;
}

int trl__parse_stages(const trl_train_options *o, const trl__stage **stages, int *count, trl_error *err)
{
    const char *at = o->stages;
    *count = 0;
    for (int more = *at != '\0', code; more; more = *at++ == ',') {
        size_t length = strcspn(at, ",");
        code = add_stage(stages, count, at, length, err);
        if (code < 0)
            return code;
        at += length;
    }
    if (*count == 0)
        return trl__fail(err, TRL_EINVAL, "no stages are given: mono, tri, lda, sat");
    if (stages[0] != &trl__stage_mono && !o->from)
        return trl__fail(err, TRL_EINVAL, "without a model to start from, the first stage is mono, not %s",
                         stages[0]->name);
    return 0;
}

/* ---- A first model ---- */

static int set_texts(trl__training *t, trl_error *err)
{
    const trl_train_options *o = t->options;
    char *options = trl__train_options_print(o);
    const char *given = o->provenance ? o->provenance : "";
    size_t size = options ? strlen(given) + strlen(options) + 1 : 0;
    char *text = options ? trl__alloc(size, 1) : NULL;
    if (text)
        snprintf(text, size, "%s%s", given, options);
    int code = text ? trl__model_set_text(&t->model->provenance, text, err) : trl__fail_memory(err);
    trl__free(options);
    trl__free(text);
    return code;
}

static int create_model(trl__training *t, trl_error *err)
{
    const trl_train_options *o = t->options;
    trl_model_options m = trl__train_model_options(o, t->lexicon);
    int code = trl_model_create(t->lexicon, t->data->frontend, t->data->dim, &m, &t->model, err);
    if (code < 0)
        return code;
    char text[600];
    snprintf(text, sizeof text, "%.300s: %s", o->lexicon_name ? o->lexicon_name : "-", trl_model_lexicon(t->model));
    return trl__model_set_text(&t->model->lexicon, text, err);
}

/* A model from elsewhere brings its front end: the data must be able to show such frames. */
static int copy_model(trl__training *t, trl_error *err)
{
    const trl_model *from = t->options->from;
    const char *description = *trl_model_frontend(from) ? trl_model_frontend(from) : t->data->frontend;
    int code = trl__view_from(description, t->data->frontend, &t->data->view, err);
    if (code < 0)
        return code;
    size_t dim = trl__view_dim(&t->data->view, (size_t)t->data->dim);
    if (dim != (size_t)trl_model_dim(from))
        return trl__fail(err, TRL_EINVAL, "the model to start from is for frames of %d values, the features have %zu",
                         trl_model_dim(from), dim);
    if (trl_model_codebooks(from).codebooks > 0)
        return trl__fail(err, TRL_EUNSUPPORTED, "the model to start from has tied mixtures, which can't be trained");
    code = trl__model_copy(from, &t->model, err);
    return code < 0 ? code : trl__model_set_text(&t->model->history, "", err);
}

static int first_model(trl__training *t, trl_error *err)
{
    int code = t->options->from ? copy_model(t, err) : create_model(t, err);
    return code < 0 ? code : set_texts(t, err);
}

/* There is nothing to begin with: the flat start is an iteration, and a model that is given is taken as it is. */
static int begin_mono(trl__training *t, trl_error *err)
{
    if (t->model->tree)
        return trl__fail(err, TRL_EINVAL, "the model to start from has phones in context: begin with tri, lda or sat");
    return 0;
}

const trl__stage trl__stage_mono = {.name = "mono", .begin = begin_mono};
const trl__stage trl__stage_tri = {.name = "tri", .begin = trl__begin_contexts};

/* ---- Going on ---- */

/* Whatever the last run wrote with times; without it the journal starts anew. */
static int load_journal(trl__training *t, int iterations, trl_error *err)
{
    trl__text text;
    if (!t->options->journal || trl__text_read(t->options->journal, &text, NULL) < 0)
        return 0;
    char *line;
    size_t length;
    int code = 0;
    for (int i = 0; code == 0 && i < iterations && trl__text_line(&text, &line, &length); i++)
        code = trl__history_append(&t->journal, line, err);
    trl__text_free(&text);
    return code;
}

static int load_model(trl__training *t, trl_error *err)
{
    char *path = trl__checkpoint_model(t->checkpoint, t->checkpoint->iteration);
    trl_model *mapped = NULL;
    int code = path ? trl_model_read(path, &mapped, err) : trl__fail_memory(err);
    trl__free(path);
    if (code == 0) {
        trl_model_destroy(t->model);
        t->model = NULL;
        code = trl__model_copy(mapped, &t->model, err);
    }
    trl_model_destroy(mapped);
    trl__view_free(&t->data->view);
    if (code == 0)
        code = trl__view_from(trl_model_frontend(t->model), t->data->frontend, &t->data->view, err);
    return code;
}

static int load_alignments(trl__training *t, trl_error *err)
{
    char *path = trl__checkpoint_alignments(t->checkpoint, t->checkpoint->iteration);
    int code = path ? trl__alignment_store_open(path, &t->alignments, err) : trl__fail_memory(err);
    if (code == 0 && trl__alignment_store_count(t->alignments) != t->data->count)
        code = trl__fail(err, TRL_ECORRUPT, "%s: %zu alignments for %zu utterances", path,
                         trl__alignment_store_count(t->alignments), t->data->count);
    trl__free(path);
    return code;
}

static int resume(trl__training *t, trl_error *err)
{
    int code = trl__checkpoint_resume(t->checkpoint, err);
    if (code == 0)
        code = load_model(t, err);
    if (code == 0)
        code = load_alignments(t, err);
    if (code == 0)
        code = trl__load_speakers(t, err);
    if (code == 0)
        code = trl__load_lexicon(t, err);
    if (code == 0) {
        t->history = trl__strdup(t->model->history);
        code = t->history ? load_journal(t, t->checkpoint->iteration, err) : trl__fail_memory(err);
    }
    return trl__fail_in(err, code, t->checkpoint->folder);
}

/* ---- Beginning and end ---- */

/* The model, not yet trained, says which lexicon and which options. */
static uint64_t fingerprint(const trl__training *t)
{
    const char *texts[] = {trl_model_lexicon(t->model), trl_model_provenance(t->model),
                           t->options->device ? t->options->device : "cpu"};
    uint64_t hash = t->data->fingerprint;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = hash * UINT64_C(0x9E3779B97F4A7C15) + trl__hash(texts[i], strlen(texts[i]));
    if (t->options->from) {
        size_t means = (size_t)trl_model_gaussians(t->model) * (size_t)t->model->dim * sizeof(float);
        hash = hash * UINT64_C(0x9E3779B97F4A7C15) + trl__hash((const char *)t->model->mean, means);
    }
    return hash;
}

static int prepare_data(trl__training *t, const trl_corpus *corpus, const trl_frontend *frontend, trl_error *err)
{
    const trl_train_options *o = t->options;
    int code = trl__device_open(o->device ? o->device : "cpu", &t->device, err);
    if (code == 0)
        code = trl__device_check_threads(t->device, t->pool ? trl_pool_threads(t->pool) : 1, err);
    if (code == 0)
        code = trl__checkpoint_create(o->folder, &t->checkpoint, err);
    if (code < 0)
        return code;
    if (!o->resume)
        trl__checkpoint_forget(t->checkpoint);
    char *features = trl__checkpoint_features(t->checkpoint);
    code = features ? trl__training_data_create(corpus, t->lexicon, frontend, o, features, o->resume, t->pool,
                                                t->skipped, &t->data, err)
                    : trl__fail_memory(err);
    trl__free(features);
    if (code == 0 && !(t->named = trl__alloc_zero(t->data->count, 1)))
        code = trl__fail_memory(err);
    if (code < 0 && !o->resume)
        trl__checkpoint_clean(t->checkpoint, o->features); /* there is nothing to go on from */
    return code;
}

/* What a given model's frames are made from. */
static int base_frontend(const trl_model *model, trl_frontend **out, trl_error *err)
{
    trl_frontend_options o;
    char *base = NULL;
    if (!*trl_model_frontend(model))
        return trl__fail(err, TRL_EINVAL, "the model to start from does not say what its front end is: give features");
    int code = trl__view_base(trl_model_frontend(model), &base, err);
    if (code == 0)
        code = trl_frontend_preset(&o, "mfcc", err);
    if (code == 0)
        code = trl_frontend_parse(&o, base, "the model's front end", err);
    if (code == 0)
        code = trl_frontend_create(&o, out, err);
    trl__free(base);
    return code;
}

/* What a later stage can't do without is asked for before the first begins. */
static int check_features(const trl__training *t, trl_error *err)
{
    int code = 0;
    size_t statics = 0;
    for (int i = 0; code == 0 && i < t->stage_count; i++)
        if (t->stages[i] == &trl__stage_lda)
            code = trl__view_statics(t->data->frontend, &statics, err);
    if (code == 0 && statics > (size_t)t->data->dim)
        code = trl__fail(err, TRL_EINVAL, "the features have %d values per frame, their front end makes %zu and more",
                         t->data->dim, statics);
    return code;
}

static int prepare(trl__training *t, const trl_corpus *corpus, const trl_frontend *frontend, trl_error *err)
{
    const trl_train_options *o = t->options;
    trl_frontend *base = NULL;
    int code = o->from && !frontend && !o->features ? base_frontend(o->from, &base, err) : 0;
    if (code == 0)
        code = prepare_data(t, corpus, base ? base : frontend, err);
    trl_frontend_destroy(base);
    if (code == 0)
        code = check_features(t, err);
    if (code == 0)
        code = first_model(t, err);
    if (code == 0)
        code = trl__check_questions(t, err);
    if (code != 0) {
        if (!o->resume && !o->features && t->checkpoint)
            trl__checkpoint_clean(t->checkpoint, o->features); /* there is nothing to go on from */
        return code;
    }
    t->checkpoint->fingerprint = fingerprint(t);
    return o->resume ? resume(t, err) : 0;
}

/* What is left of the stage in hand, from its beginning where nothing of it is done. */
static int run_stage(trl__training *t, trl_error *err)
{
    trl__checkpoint *c = t->checkpoint;
    int code = 0;
    t->stage_start = trl__wall_seconds();
    if (c->iteration + 1 == c->stage_first)
        code = t->stages[c->stage]->begin(t, err);
    if (code == 0)
        trl__plan_stage(t);
    for (int i = c->iteration + 1; code == 0 && i < c->stage_first + t->iterations; i++)
        code = trl__iterate(t, i, err);
    return code;
}

static int run_stages(trl__training *t, trl_error *err)
{
    trl__checkpoint *c = t->checkpoint;
    int code = c->iteration == 0 && t->options->from ? trl__align_first(t, err) : 0;
    while (code == 0) {
        code = run_stage(t, err);
        if (code < 0 || c->stage + 1 == t->stage_count)
            break;
        c->stage++;
        c->stage_first = c->iteration + 1;
    }
    return code;
}

/* A checkpoint of a training that is complete: only the warnings are left. */
static int is_complete(trl__training *t)
{
    if (t->checkpoint->iteration == 0 || t->checkpoint->stage + 1 < t->stage_count)
        return 0;
    trl__plan_stage(t);
    return t->checkpoint->iteration == t->checkpoint->stage_first + t->iterations - 1;
}

int trl_train(const trl_corpus *corpus, const trl_lexicon *lexicon, const trl_frontend *frontend,
              const trl_train_options *options, trl_pool *pool, trl_findings *skipped, trl_model **out, trl_error *err)
{
    trl_train_options own = *options;
    own.resume = options->resume && options->folder && trl_train_interrupted(options->folder);
    trl__training t = {.options = &own, .lexicon = lexicon, .pool = pool, .skipped = skipped};
    int code = trl_train_options_check(options, err);
    if (code == 0)
        code = trl__parse_stages(options, t.stages, &t.stage_count, err);
    if (code == 0)
        code = options->journal ? trl__guard_own(options->journal, err) : 0;
    if (code == 0)
        code = prepare(&t, corpus, frontend, err);
    if (code == 0 && is_complete(&t))
        code = trl__find_misfits(t.data, lexicon, t.model, t.device, t.alignments, pool, skipped,
                                 &(trl__pass_result){0}, err);
    else if (code == 0)
        code = run_stages(&t, err);
    trl__alignment_store_close(t.alignments);
    trl__training_data_destroy(t.data);
    trl__checkpoint_destroy(t.checkpoint);
    trl__device_close(t.device);
    trl_lexicon_destroy(t.counted);
    trl__free(t.named);
    trl__free(t.history);
    trl__free(t.journal);
    if (code == 0)
        *out = t.model;
    else
        trl_model_destroy(t.model);
    return code;
}
