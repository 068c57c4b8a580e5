#include "ladder_workload.h"
#include "bench.h"
#include "train_bench.h"
#include "workload_dice.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 10000
#define COMPONENTS 8
#define SPEAKER_UTTERANCES 200
#define STAY 0.72           /* 10.7 frames per phone */
#define SILENCE_STAY 0.85   /* 20 frames per silence */
#define END_SILENCE 0.5     /* share of utterances that begin (end) with silence */
#define MIDDLE_SILENCE 0.15 /* share of gaps between words */
#define NOISES (1 << 20)

enum { STREAM_WORDS = 1, STREAM_SOUNDS, STREAM_NOISE, STREAM_SPEAKERS = 1000, STREAM_UTTERANCES = 100000 };

/* ---- Sounds ---- */

struct speech_sounds {
    float base[SPEECH_PHONES + 1][SPEECH_STATES][SPEECH_DIM];
    float left[SPEECH_PHONES + 1][SPEECH_PHONES + 1][SPEECH_DIM]; /* by phone and neighbour */
    float right[SPEECH_PHONES + 1][SPEECH_PHONES + 1][SPEECH_DIM];
    float component[SPEECH_PHONES + 1][SPEECH_STATES][COMPONENTS][SPEECH_DIM];
    float noise[NOISES + SPEECH_DIM];
};

static const float towards_left[] = {0.35f, 0.15f, 0.05f}, towards_right[] = {0.05f, 0.15f, 0.35f}; /* by state */

void speech_mean(const speech_sounds *s, int left, int phone, int right, int state, float mean[SPEECH_DIM])
{
    const float *own = s->base[phone][state], *before = s->base[left][SPEECH_STATES - 1], *behind = s->base[right][0];
    float l = phone == SPEECH_SILENCE ? 0 : towards_left[state], r = phone == SPEECH_SILENCE ? 0 : towards_right[state];
    for (int k = 0; k < SPEECH_DIM; k++)
        mean[k] = own[k] + l * (before[k] - own[k] + s->left[phone][left][k]) +
                  r * (behind[k] - own[k] + s->right[phone][right][k]);
}

/* The states of a phone are nearer to each other than to those of other phones. */
static void make_phone(speech_sounds *s, int phone, dice *d)
{
    for (int k = 0; k < SPEECH_DIM; k++) {
        float far = spread(k, SPEECH_DIM), whole = 1.2f * far * normal(d);
        for (int state = 0; state < SPEECH_STATES; state++) {
            s->base[phone][state][k] = whole + 0.6f * far * normal(d);
            for (int c = 0; c < COMPONENTS; c++)
                s->component[phone][state][c][k] = 0.5f * normal(d);
        }
        for (int other = 0; other <= SPEECH_PHONES; other++) {
            s->left[phone][other][k] = 0.6f * far * normal(d);
            s->right[phone][other][k] = 0.6f * far * normal(d);
        }
    }
}

static void make_sounds(speech *w)
{
    w->sounds = trl__alloc(1, sizeof *w->sounds);
    if (!w->sounds)
        exit(3);
    dice d = {w->seed, STREAM_SOUNDS, 0}, noise = {w->seed, STREAM_NOISE, 0};
    for (int phone = 0; phone <= SPEECH_PHONES; phone++)
        make_phone(w->sounds, phone, &d);
    for (size_t i = 0; i < NOISES + SPEECH_DIM; i++)
        w->sounds->noise[i] = 0.8f * normal(&noise);
}

/* ---- Lexicon ---- */

static FILE *create(const speech *w, const char *name, char path[4200])
{
    snprintf(path, 4200, "%s/%s", w->folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(3);
    }
    return file;
}

/* Words go through all phones in turn before they draw any, so that each phone is in the lexicon. */
static void make_lexicon(speech *w)
{
    char path[4200];
    trl_error err;
    FILE *file = create(w, "lexicon.txt", path);
    dice d = {w->seed, STREAM_WORDS, 0};
    int in_turn = 0;
    for (int word = 0; word < WORDS; word++) {
        fprintf(file, "w%d", word);
        for (int i = 2 + below(&d, 5); i > 0; i--)
            fprintf(file, " p%d", in_turn < SPEECH_PHONES ? in_turn++ : below(&d, SPEECH_PHONES));
        fputc('\n', file);
    }
    fclose(file);
    bench_check(trl_lexicon_read(path, NULL, &w->lexicon, &err), &err);
}

/* ---- Utterances ---- */

typedef struct talker {
    const speech *w;
    dice dice;
    float scale[SPEECH_DIM], shift[SPEECH_DIM];
    int *phones; /* of the utterance */
    size_t phone_count, phone_capacity;
    float *frames;
    size_t count, capacity; /* of frames; of floats */
} talker;

static void new_speaker(talker *t, unsigned speaker)
{
    dice d = {t->w->seed, STREAM_SPEAKERS + speaker, 0};
    for (int k = 0; k < SPEECH_DIM; k++) {
        t->scale[k] = expf(0.1f * normal(&d));
        t->shift[k] = 0.4f * spread(k, SPEECH_DIM) * normal(&d);
    }
}

static void add_phone(talker *t, int phone)
{
    if (TRL_GROW(t->phones, t->phone_capacity, t->phone_count + 1) < 0)
        exit(3);
    t->phones[t->phone_count++] = phone;
}

static void add_silence(talker *t, double probability)
{
    if (uniform(&t->dice) < probability)
        add_phone(t, SPEECH_SILENCE);
}

/* Phone p7 sounds like number 7. */
static void add_word(talker *t, int word)
{
    trl_pronunciation p = trl_lexicon_pronunciation(t->w->lexicon, (size_t)word, 0);
    for (size_t i = 0; i < p.length; i++)
        add_phone(t, (int)strtol(trl_lexicon_phone(t->w->lexicon, (size_t)p.phones[i]) + 1, NULL, 10));
}

/* Words for about so many seconds; the transcript goes to the manifest. */
static void choose_words(talker *t, FILE *manifest)
{
    double phones = 100 / 10.7 * draw_seconds(&t->dice);
    t->phone_count = 0;
    add_silence(t, END_SILENCE);
    do {
        int word = draw_word(&t->dice, WORDS);
        fprintf(manifest, " w%d", word);
        add_word(t, word);
        add_silence(t, (double)t->phone_count < phones ? MIDDLE_SILENCE : END_SILENCE);
    } while ((double)t->phone_count < phones);
    fputc('\n', manifest);
}

static void say_frame(talker *t, int phone, int state, const float *mean)
{
    const speech_sounds *s = t->w->sounds;
    const float *component = s->component[phone][state][below(&t->dice, COMPONENTS)];
    const float *noise = s->noise + below(&t->dice, NOISES);
    if (TRL_GROW(t->frames, t->capacity, (t->count + 1) * SPEECH_DIM) < 0)
        exit(3);
    float *frame = t->frames + t->count++ * SPEECH_DIM;
    for (int k = 0; k < SPEECH_DIM; k++)
        frame[k] = t->shift[k] + t->scale[k] * (mean[k] + component[k] + noise[k]);
}

static void say_phone(talker *t, size_t at)
{
    int phone = t->phones[at], left = at > 0 ? t->phones[at - 1] : SPEECH_SILENCE;
    int right = at + 1 < t->phone_count ? t->phones[at + 1] : SPEECH_SILENCE;
    double stay = phone == SPEECH_SILENCE ? SILENCE_STAY : STAY;
    for (int state = 0; state < SPEECH_STATES; state++) {
        float mean[SPEECH_DIM];
        speech_mean(t->w->sounds, left, phone, right, state, mean);
        do
            say_frame(t, phone, state, mean);
        while (uniform(&t->dice) < stay);
    }
}

static void say_utterance(talker *t, unsigned number, FILE *manifest)
{
    unsigned speaker = number / SPEAKER_UTTERANCES;
    if (number % SPEAKER_UTTERANCES == 0)
        new_speaker(t, speaker);
    t->dice = (dice){t->w->seed, STREAM_UTTERANCES + number, 0};
    fprintf(manifest, "u%07u\tlexicon.txt\ts%05u\t", number, speaker);
    choose_words(t, manifest);
    t->count = 0;
    for (size_t i = 0; i < t->phone_count; i++)
        say_phone(t, i);
}

static trl_feature_writer *open_writer(const speech *w)
{
    trl_error err;
    trl_feature_writer *writer;
    trl_feature_writer_options o = trl_feature_writer_defaults();
    trl_frontend *frontend = train_frontend(); /* says how many values are statics */
    o.frontend = trl_frontend_description(frontend);
    bench_check(trl_feature_writer_open(w->features, &o, &writer, &err), &err);
    trl_frontend_destroy(frontend);
    return writer;
}

/* The manifest must name a sound that exists; nobody opens it, the features are there already. */
static void make_utterances(speech *w, double hours)
{
    char path[4200], id[32];
    trl_error err;
    trl_feature_writer *writer = open_writer(w);
    FILE *manifest = create(w, "corpus.tsv", path);
    fputs("id\tpath\tspeaker\ttext\n", manifest);
    talker t = {.w = w};
    double frames = 0;
    for (unsigned u = 0; frames < hours * 360000; u++) {
        say_utterance(&t, u, manifest);
        frames += (double)t.count;
        snprintf(id, sizeof id, "u%07u", u);
        trl_matrix m = {.data = t.frames, .rows = t.count, .cols = SPEECH_DIM, .stride = SPEECH_DIM};
        bench_check(trl_feature_writer_add(writer, id, &m, &err), &err);
    }
    trl__free(t.phones);
    trl__free(t.frames);
    fclose(manifest);
    bench_check(trl_feature_writer_commit(writer, &err), &err);
    bench_check(trl_corpus_read(path, NULL, w->findings, &w->corpus, &err), &err);
}

/* ---- The whole ---- */

void speech_create(speech *w, double hours, uint64_t seed)
{
    trl_error err;
    *w = (speech){.seed = seed};
    bench_folder(w->folder, sizeof w->folder);
    snprintf(w->features, sizeof w->features, "%s/generated.trf", w->folder);
    bench_check(trl_findings_create(&w->findings, &err), &err);
    make_lexicon(w);
    make_sounds(w);
    if (hours > 0)
        make_utterances(w, hours);
}

void speech_destroy(speech *w)
{
    trl__free(w->sounds);
    trl_lexicon_destroy(w->lexicon);
    trl_corpus_destroy(w->corpus);
    trl_findings_destroy(w->findings);
    bench_remove_folder(w->folder);
}
