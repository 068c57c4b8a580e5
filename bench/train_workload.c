#include "train_workload.h"
#include "bench.h"
#include "workload_dice.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS 10000
#define PHONES 40           /* that units sound like */
#define SILENCE_STATES 4    /* and noise's */
#define STATES 3            /* of a unit */
#define STAY 0.72           /* 10.7 frames per unit; with the silence 30 units take 3.6 s */
#define END_SILENCE 0.5     /* share of utterances that begin (end) with silence */
#define MIDDLE_SILENCE 0.15 /* share of gaps between words */

enum { STREAM_WORDS = 1, STREAM_MODEL, STREAM_UTTERANCES = 1000 };

/* ---- Lexicon ---- */

static FILE *create(const workload *w, const char *name, char path[4200])
{
    snprintf(path, 4200, "%s/%s", w->folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(3);
    }
    return file;
}

/* Words go through all units in turn before they draw any, so that each unit is in the lexicon. */
static void make_lexicon(workload *w, int units)
{
    char path[4200];
    trl_error err;
    FILE *file = create(w, "lexicon.txt", path);
    dice d = {w->seed, STREAM_WORDS, 0};
    int in_turn = 0;
    for (int word = 0; word < WORDS; word++) {
        int length = 2 + below(&d, 5), variants = word % 10 == 9 ? 2 : 1, phones[6];
        for (int i = 0; i < length; i++)
            phones[i] = in_turn < units ? in_turn++ : below(&d, units);
        for (int variant = 0; variant < variants; variant++) {
            fprintf(file, variant ? "w%d(2)" : "w%d", word);
            phones[length / 2] = variant ? below(&d, units) : phones[length / 2];
            for (int i = 0; i < length; i++)
                fprintf(file, " u%d", phones[i]);
            fputc('\n', file);
        }
    }
    fclose(file);
    bench_check(trl_lexicon_read(path, NULL, &w->lexicon, &err), &err);
}

/* ---- Model ---- */

typedef struct mixtures {
    int32_t *first;
    float *log_weight, *mean, *variance;
} mixtures;

static mixtures new_mixtures(int states, int components)
{
    size_t gaussians = (size_t)states * (size_t)components;
    mixtures m = {trl__alloc_aligned((size_t)states + 1, sizeof(int32_t)), trl__alloc_aligned(gaussians, sizeof(float)),
                  trl__alloc_aligned(gaussians * WORKLOAD_DIM, sizeof(float)),
                  trl__alloc_aligned(gaussians * WORKLOAD_DIM, sizeof(float))};
    if (!m.first || !m.log_weight || !m.mean || !m.variance)
        exit(3);
    for (int s = 0; s <= states; s++)
        m.first[s] = s * components;
    return m;
}

/* The logarithms of `components` weights, made to sum to one. */
static void normalise(float *log_weight, int components)
{
    double sum = 0;
    for (int c = 0; c < components; c++)
        sum += exp((double)log_weight[c]);
    for (int c = 0; c < components; c++)
        log_weight[c] -= (float)log(sum);
}

/* `phones` holds the centre of each phone's state; silence and noise take the last ones. */
static void make_mixture(mixtures *m, int state, const float *phones, int units_begin, dice *d)
{
    int unit = state < units_begin ? PHONES - 1 - state / SILENCE_STATES : (state - units_begin) / STATES;
    int position = state < units_begin ? state % STATES : (state - units_begin) % STATES;
    const float *phone = phones + ((unit % PHONES) * STATES + position) * WORKLOAD_DIM;
    float centre[WORKLOAD_DIM];
    for (int k = 0; k < WORKLOAD_DIM; k++)
        centre[k] = phone[k] + 0.35f * spread(k, WORKLOAD_DIM) * normal(d);
    for (int c = 0; c < WORKLOAD_COMPONENTS; c++) {
        size_t g = (size_t)state * WORKLOAD_COMPONENTS + (size_t)c;
        m->log_weight[g] = 0.5f * normal(d);
        for (int k = 0; k < WORKLOAD_DIM; k++) {
            m->mean[g * WORKLOAD_DIM + (size_t)k] = centre[k] + 0.5f * normal(d);
            m->variance[g * WORKLOAD_DIM + (size_t)k] = 0.6f + (float)uniform(d);
        }
    }
    normalise(m->log_weight + (size_t)state * WORKLOAD_COMPONENTS, WORKLOAD_COMPONENTS);
}

/* The three states of a phone are nearer to each other than to those of other phones. */
static void make_phones(float *phones, dice *d)
{
    for (int p = 0; p < PHONES; p++)
        for (int k = 0; k < WORKLOAD_DIM; k++) {
            float whole = 0.7f * spread(k, WORKLOAD_DIM) * normal(d);
            for (int s = 0; s < STATES; s++)
                phones[(p * STATES + s) * WORKLOAD_DIM + k] = whole + 0.35f * spread(k, WORKLOAD_DIM) * normal(d);
        }
}

static void make_model(workload *w)
{
    trl_error err;
    trl_model_options o = trl_model_defaults();
    o.states = STATES;
    o.silence_states = SILENCE_STATES;
    o.self_loop = STAY;
    bench_check(trl_model_create(w->lexicon, NULL, WORKLOAD_DIM, &o, &w->model, &err), &err);
    int states = trl_model_tied_states(w->model);
    mixtures m = new_mixtures(states, WORKLOAD_COMPONENTS);
    float phones[PHONES * STATES * WORKLOAD_DIM];
    dice d = {w->seed, STREAM_MODEL, 0};
    make_phones(phones, &d);
    for (int s = 0; s < states; s++)
        make_mixture(&m, s, phones, 2 * SILENCE_STATES, &d);
    trl__model_set_mixtures(w->model, m.first, m.log_weight, m.mean, m.variance);
}

trl_model *workload_model(const workload *w, int components)
{
    trl_error err;
    trl_model *model;
    int states = trl_model_tied_states(w->model);
    mixtures m = new_mixtures(states, components);
    size_t size = (size_t)components * WORKLOAD_DIM;
    for (int s = 0; s < states; s++) {
        size_t from = (size_t)s * WORKLOAD_COMPONENTS, to = (size_t)s * (size_t)components;
        memcpy(m.log_weight + to, w->model->log_weight + from, (size_t)components * sizeof *m.log_weight);
        memcpy(m.mean + to * WORKLOAD_DIM, w->model->mean + from * WORKLOAD_DIM, size * sizeof *m.mean);
        memcpy(m.variance + to * WORKLOAD_DIM, w->model->variance + from * WORKLOAD_DIM, size * sizeof *m.variance);
        normalise(m.log_weight + to, components);
    }
    bench_check(trl__model_copy(w->model, &model, &err), &err);
    trl__model_set_mixtures(model, m.first, m.log_weight, m.mean, m.variance);
    return model;
}

/* ---- Utterances ---- */

typedef struct speaker {
    dice dice;
    const workload *w;
    float shift[WORKLOAD_DIM];
    float *frames;
    size_t count, capacity;
} speaker;

static int draw_component(dice *d, const float *log_weight)
{
    double rest = uniform(d);
    int c = 0;
    while (c < WORKLOAD_COMPONENTS - 1 && (rest -= exp((double)log_weight[c])) > 0)
        c++;
    return c;
}

static void say_state(speaker *s, int32_t tied)
{
    const trl_model *model = s->w->model;
    do {
        size_t first = (size_t)model->first_gaussian[tied];
        size_t g = first + (size_t)draw_component(&s->dice, model->log_weight + first);
        if (TRL_GROW(s->frames, s->capacity, (s->count + 1) * WORKLOAD_DIM) < 0)
            exit(3);
        float *frame = s->frames + s->count++ * WORKLOAD_DIM;
        for (size_t k = 0; k < WORKLOAD_DIM; k++)
            frame[k] = s->shift[k] + model->mean[g * WORKLOAD_DIM + k] +
                       sqrtf(model->variance[g * WORKLOAD_DIM + k]) * normal(&s->dice);
    } while (uniform(&s->dice) < STAY);
}

static void say_unit(speaker *s, int32_t unit)
{
    for (int32_t i = 0; i < trl_model_unit(s->w->model, unit).states; i++)
        say_state(s, trl__model_triple(s->w->model, unit, i)->tied);
}

static void say_word(speaker *s, int word)
{
    size_t variants = trl_lexicon_pronunciations(s->w->lexicon, (size_t)word);
    size_t variant = (size_t)below(&s->dice, (int)variants);
    trl_pronunciation p = trl_lexicon_pronunciation(s->w->lexicon, (size_t)word, variant);
    for (size_t i = 0; i < p.length; i++)
        say_unit(s, trl_model_find_unit(s->w->model, trl_lexicon_phone(s->w->lexicon, p.phones[i])));
}

static void say_silence(speaker *s, double probability)
{
    if (uniform(&s->dice) < probability)
        say_unit(s, 0);
}

/* Words until the time is up; the transcript goes to the manifest. */
static void say_utterance(speaker *s, FILE *manifest)
{
    size_t wanted = (size_t)(100 * draw_seconds(&s->dice));
    for (size_t k = 0; k < WORKLOAD_DIM; k++)
        s->shift[k] = 0.3f * normal(&s->dice);
    s->count = 0;
    say_silence(s, END_SILENCE);
    do {
        int word = draw_word(&s->dice, WORDS);
        fprintf(manifest, " w%d", word);
        say_word(s, word);
        say_silence(s, s->count < wanted ? MIDDLE_SILENCE : END_SILENCE);
    } while (s->count < wanted);
    fputc('\n', manifest);
}

/* The manifest must name a sound that exists; nobody opens it, the features are there already. */
static void make_utterances(workload *w, double hours)
{
    char manifest_path[4200], features[4200], id[32];
    trl_error err;
    trl_feature_writer *writer;
    snprintf(features, sizeof features, "%s/features.trf", w->folder);
    bench_check(trl_feature_writer_open(features, NULL, &writer, &err), &err);
    FILE *manifest = create(w, "corpus.tsv", manifest_path);
    fputs("id\tpath\ttext\n", manifest);
    speaker s = {.w = w};
    double frames = 0;
    for (unsigned u = 0; frames < hours * 360000; u++) {
        s.dice = (dice){w->seed, STREAM_UTTERANCES + u, 0};
        snprintf(id, sizeof id, "u%07u", u);
        fprintf(manifest, "%s\tlexicon.txt\t", id);
        say_utterance(&s, manifest);
        frames += (double)s.count;
        trl_matrix m = {.data = s.frames, .rows = s.count, .cols = WORKLOAD_DIM, .stride = WORKLOAD_DIM};
        bench_check(trl_feature_writer_add(writer, id, &m, &err), &err);
    }
    trl__free(s.frames);
    fclose(manifest);
    bench_check(trl_feature_writer_commit(writer, &err), &err);
    bench_check(trl_corpus_read(manifest_path, NULL, w->findings, &w->corpus, &err), &err);
    trl_train_options o = trl_train_defaults();
    o.features = features;
    bench_check(trl__training_data_create(w->corpus, w->lexicon, NULL, &o, NULL, 0, NULL, w->findings, &w->data, &err),
                &err);
}

/* ---- The whole ---- */

size_t train_set_frames(const trl__training_data *data, size_t utterance)
{
    trl_error err;
    const char *id;
    trl_matrix frames = {0};
    bench_check(trl_feature_reader_get(data->features, data->feature[utterance], &id, &frames, &err), &err);
    return frames.rows;
}

static double hours_of(const trl__training_data *data)
{
    double frames = 0;
    for (size_t u = 0; u < data->count; u++)
        frames += (double)train_set_frames(data, u);
    return frames * data->frame_seconds / 3600;
}

void workload_create(workload *w, double hours, int tied_states, uint64_t seed)
{
    trl_error err;
    *w = (workload){.seed = seed};
    bench_folder(w->folder, sizeof w->folder);
    bench_check(trl_findings_create(&w->findings, &err), &err);
    make_lexicon(w, (tied_states - 2 * SILENCE_STATES) / STATES);
    make_model(w);
    make_utterances(w, hours);
    w->all = (train_set){.data = *w->data, .hours = hours_of(w->data)};
}

void workload_destroy(workload *w)
{
    trl__alignment_store_close(w->all.previous);
    trl__training_data_destroy(w->data);
    trl_model_destroy(w->model);
    trl_lexicon_destroy(w->lexicon);
    trl_corpus_destroy(w->corpus);
    trl_findings_destroy(w->findings);
    bench_remove_folder(w->folder);
}

/* ---- Sets ---- */

/* The alignments of the chosen ones, in a file of their own: a pass wants them by number. */
static trl__alignment_store *select_alignments(const train_set *from, const size_t *chosen, size_t count,
                                               const char *folder)
{
    char path[4200];
    static int number;
    trl_error err;
    trl__alignment_writer *writer;
    trl__alignment_store *store;
    snprintf(path, sizeof path, "%s/selected-%d.tra", folder, number++);
    bench_check(trl__alignment_writer_create(path, &writer, &err), &err);
    for (size_t i = 0; i < count; i++) {
        const trl__run *runs;
        const trl__stored_alignment *a = trl__alignment_store_get(from->previous, chosen[i], &runs);
        bench_check(trl__alignment_writer_add(writer, a->status, a->log_likelihood, runs, a->runs, &err), &err);
    }
    bench_check(trl__alignment_writer_commit(writer, &err), &err);
    bench_check(trl__alignment_store_open(path, &store, &err), &err);
    unlink(path); /* it stays mapped */
    return store;
}

train_set train_set_select(const train_set *from, const size_t *chosen, size_t count, const char *folder)
{
    const trl__training_data *all = &from->data;
    train_set set = {.data = *all, .owns_data = 1};
    trl__training_data *d = &set.data;
    d->count = count;
    d->utterance = trl__alloc(count + 1, sizeof *d->utterance);
    d->feature = trl__alloc(count + 1, sizeof *d->feature);
    d->first_word = trl__alloc_zero(count + 2, sizeof *d->first_word);
    d->words = NULL;
    d->word_count = d->word_capacity = 0;
    if (!d->utterance || !d->feature || !d->first_word)
        exit(3);
    for (size_t i = 0; i < count; i++) {
        size_t u = chosen[i], words = all->first_word[u + 1] - all->first_word[u];
        d->utterance[i] = all->utterance[u];
        d->feature[i] = all->feature[u];
        if (TRL_GROW(d->words, d->word_capacity, d->word_count + words + 1) < 0)
            exit(3);
        memcpy(d->words + d->word_count, all->words + all->first_word[u], words * sizeof *d->words);
        d->word_count += words;
        d->first_word[i + 1] = d->word_count;
    }
    if (from->previous)
        set.previous = select_alignments(from, chosen, count, folder);
    set.hours = hours_of(d);
    return set;
}

train_set train_set_replicate(const train_set *from, int times, const char *folder)
{
    size_t count = from->data.count * (size_t)times;
    size_t *chosen = trl__alloc(count, sizeof *chosen);
    for (size_t i = 0; chosen && i < count; i++)
        chosen[i] = i % from->data.count;
    train_set set = train_set_select(from, chosen, chosen ? count : 0, folder);
    trl__free(chosen);
    return set;
}

void train_set_free(train_set *set)
{
    trl__alignment_store_close(set->previous);
    if (set->owns_data) {
        trl__free(set->data.utterance);
        trl__free(set->data.feature);
        trl__free(set->data.first_word);
        trl__free(set->data.words);
    }
}
