/* For tests of training in stages: speech drawn from a known model of phones in context, by speakers whose frames are
 * distorted each in his own way, as a corpus with packed features in the temporary folder. All from a seed.
 *
 * Phone p has a place in the space of static coefficients. The first of its three states lies on the way from the phone
 * before, the last on the way to the phone behind, so that phones in context fit better than phones. Noise is the same
 * everywhere, and its coefficients are correlated, so that a rotation helps. A speaker's frames go through an affine
 * transform. Static coefficients are what is drawn; what follows them (deltas) is the front end's.
 */
#ifndef TEST_STAGE_SPEECH_H
#define TEST_STAGE_SPEECH_H

#include "temp_folder.h"
#include "front_end.h"

#include "base/text_file.h"
#include "corpus/corpus_builder.h"

#include <trellis/feature_file.h>
#include <trellis/train.h>

#define SPEECH_STATICS 8   /* at most */
#define SPEECH_FRAMES 4000 /* of an utterance, at most */

static const char speech_lexicon[] =
    "AB a b\nBA b a\nCAB c a b\nDAC d a c\nBED b e d\nDEB d e b\nACE a c e\nACE(2) e c\n"
    "ECE e c e\nDAD d a d\nCEA c e a\nBEE b e\n";

typedef struct speech_options {
    uint64_t seed;
    int speakers, utterances, words; /* utterances of each speaker; words of an utterance */
    int statics;                     /* coefficients drawn */
    const char *frontend;            /* settings beside num_ceps */
    const char *lexicon;
    double distortion; /* of the speakers */
    double scale;      /* of all values */
    int longest;       /* frames of a state: 1 to so many */
    int constant;      /* the last coefficient is always 3 */
    int last_words;    /* the last speaker has one utterance of so many words; 0: as all */
    int mute;          /* frames are silence from end to end */
} speech_options;

static inline speech_options speech_defaults(void)
{
    return (speech_options){.seed = 1,
                            .speakers = 5,
                            .utterances = 24,
                            .words = 3,
                            .statics = 4,
                            .frontend = "deltas=1",
                            .lexicon = speech_lexicon,
                            .distortion = 0.3,
                            .scale = 1,
                            .longest = 6};
}

typedef struct stage_speech {
    speech_options options;
    trl_lexicon *lexicon;
    trl_findings *findings;
    trl_corpus *corpus;
    trl_frontend *frontend;
    char features[300];
    uint64_t drawn;
    float rows[SPEECH_FRAMES][SPEECH_STATICS];
    size_t count; /* rows */
} stage_speech;

static inline void must_do(int code, const trl_error *err)
{
    if (code < 0)
        fail_msg("%s", err->text);
}

static inline float speech_normal(stage_speech *s)
{
    return trl__random_normal(s->options.seed, 1, s->drawn++);
}

static inline int speech_below(stage_speech *s, int n)
{
    return (int)(trl__random_uniform(s->options.seed, 1, s->drawn++) * (float)n);
}

/* Where a phone lies; silence, -1, in the middle. */
static inline float speech_place(const stage_speech *s, int phone, int k)
{
    return phone < 0 ? 0 : 3 * trl__random_normal(s->options.seed, 2, (uint64_t)phone * SPEECH_STATICS + (uint64_t)k);
}

/* The speaker's transform, number (k, j); column `statics` is the offset. */
static inline float speech_distortion(const stage_speech *s, int speaker, int k, int j)
{
    uint64_t place = ((uint64_t)speaker * SPEECH_STATICS + (uint64_t)k) * (SPEECH_STATICS + 1) + (uint64_t)j;
    return (k == j ? 1 : 0) + (float)s->options.distortion * trl__random_normal(s->options.seed, 3, place);
}

/* One frame that lies between two phones, `share` of the way. */
static inline void speech_frame(stage_speech *s, int speaker, int from, int to, float share, float noise)
{
    float clean[SPEECH_STATICS], *row = s->rows[s->count++];
    int statics = s->options.statics;
    assert_true(s->count < SPEECH_FRAMES);
    for (int k = 0; k < statics; k++) {
        float own = noise * speech_normal(s);
        clean[k] = (1 - share) * speech_place(s, from, k) + share * speech_place(s, to, k) + own;
        for (int j = 0; j < k; j++)
            clean[j] += 0.6f * own;
    }
    for (int k = 0; k < statics; k++) {
        row[k] = speech_distortion(s, speaker, k, statics);
        for (int j = 0; j < statics; j++)
            row[k] += speech_distortion(s, speaker, k, j) * clean[j];
        row[k] *= (float)s->options.scale;
    }
    if (s->options.constant)
        row[statics - 1] = 3;
}

static inline void speech_pause(stage_speech *s, int speaker)
{
    for (int f = 5 + speech_below(s, 10); f > 0; f--)
        speech_frame(s, speaker, -1, -1, 0, 0.2f);
}

static inline void speech_phone(stage_speech *s, int speaker, int before, int phone, int behind)
{
    for (int state = 0; state < 3; state++)
        for (int f = 1 + speech_below(s, s->options.longest); f > 0; f--)
            speech_frame(s, speaker, phone, state == 0 ? before : behind, state == 1 ? 0 : 0.45f, 0.6f);
}

/* Some words, a pause at both ends and now and then between them: frames, and the text. */
static inline void speech_say(stage_speech *s, int speaker, int words, char *text, size_t room)
{
    int phones[200], count = 0;
    s->count = 0;
    text[0] = '\0';
    phones[count++] = -1;
    for (int w = 0; w < words; w++) {
        size_t word = (size_t)speech_below(s, (int)trl_lexicon_words(s->lexicon));
        size_t variant = (size_t)speech_below(s, (int)trl_lexicon_pronunciations(s->lexicon, word));
        trl_pronunciation p = trl_lexicon_pronunciation(s->lexicon, word, variant);
        for (size_t i = 0; i < p.length; i++)
            phones[count++] = p.phones[i];
        if (w + 1 == words || speech_below(s, 4) == 0)
            phones[count++] = -1;
        snprintf(text + strlen(text), room - strlen(text), "%s%s", w > 0 ? " " : "",
                 trl_lexicon_word(s->lexicon, word));
    }
    for (int i = 0; i < count; i++)
        if (phones[i] < 0 || s->options.mute)
            speech_pause(s, speaker);
        else
            speech_phone(s, speaker, phones[i - 1], phones[i], phones[i + 1]);
}

static inline trl_matrix speech_features(stage_speech *s)
{
    trl_matrix statics = {
        .data = s->rows[0], .rows = s->count, .cols = (size_t)s->options.statics, .stride = SPEECH_STATICS};
    return finished(s->frontend, &statics, NULL);
}

static inline void speech_add(stage_speech *s, trl_feature_writer *writer, int speaker, int number, int words)
{
    trl_error err;
    char id[40], name[20], text[2000];
    size_t at;
    snprintf(id, sizeof id, "s%02d-%03d", speaker, number);
    snprintf(name, sizeof name, "s%02d", speaker);
    speech_say(s, speaker, words, text, sizeof text);
    trl_matrix frames = speech_features(s);
    must_do(trl_feature_writer_add(writer, id, &frames, &err), &err);
    trl_matrix_free(&frames);
    const trl_utterance u = {.id = id, .speaker = name, .path = "none", .channel = -1, .end = -1, .source = "made"};
    must_do(trl__corpus_add(s->corpus, &u, &at, &err), &err);
    must_do(trl__corpus_set_text(s->corpus, at, text, strlen(text), "made", 0, &err), &err);
}

static inline trl_lexicon *speech_words(const char *content)
{
    trl_error err;
    trl__text text;
    trl_lexicon *lexicon;
    must_do(trl__text_from_memory("lexicon", content, strlen(content), &text, &err), &err);
    must_do(trl__lexicon_parse("lexicon", &text, NULL, &lexicon, &err), &err);
    trl__text_free(&text);
    return lexicon;
}

/* The temporary folder must be there; the features are the file NAME in it. */
static inline void speech_make(stage_speech *s, const speech_options *options, const char *name)
{
    trl_error err;
    char settings[300];
    *s = (stage_speech){.options = *options};
    snprintf(s->features, sizeof s->features, "%s", temp_path(name));
    snprintf(settings, sizeof settings, "num_ceps=%d cmvn=none %s", options->statics, options->frontend);
    s->lexicon = speech_words(options->lexicon);
    s->frontend = frontend_of(settings);
    must_do(trl_findings_create(&s->findings, &err), &err);
    must_do(trl__corpus_create("made", TRL_CORPUS_KALDI, 1, s->findings, &s->corpus, &err), &err);
    trl_feature_writer_options w = trl_feature_writer_defaults();
    trl_feature_writer *writer;
    w.frontend = trl_frontend_description(s->frontend);
    must_do(trl_feature_writer_open(s->features, &w, &writer, &err), &err);
    for (int speaker = 0; speaker < options->speakers; speaker++) {
        int is_short = options->last_words > 0 && speaker + 1 == options->speakers;
        for (int u = 0; u < (is_short ? 1 : options->utterances); u++)
            speech_add(s, writer, speaker, u, is_short ? options->last_words : options->words);
    }
    must_do(trl_feature_writer_commit(writer, &err), &err);
    must_do(trl__corpus_finish(s->corpus, &err), &err);
}

static inline void speech_free(stage_speech *s)
{
    trl_corpus_destroy(s->corpus);
    trl_findings_destroy(s->findings);
    trl_frontend_destroy(s->frontend);
    trl_lexicon_destroy(s->lexicon);
}

/* ---- Training with it ---- */

/* Small numbers of everything, so that a training takes a moment. */
static inline trl_train_options speech_training(const stage_speech *s, const char *stages)
{
    trl_train_options o = trl_train_defaults();
    o.features = s->features;
    o.stages = stages;
    o.iterations = 2;
    o.components = 2;
    o.leaves = 40;
    o.least_leaf_frames = 20;
    o.context_gaussians = 80;
    o.lda_splice = 1;
    o.lda_dim = 6;
    o.model.silence_states = 3;
    return o;
}

#endif
