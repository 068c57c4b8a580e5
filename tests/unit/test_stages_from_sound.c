/* Training in stages from sound files: a model does in use what it did in training, saved and loaded or not. */
#include "front_end.h"
#include "make_sound.h"

#include <trellis/align.h>
#include <trellis/train.h>

#define RATE 8000
#define SPEAKERS 3
#define UTTERANCES 14 /* of each */
#define WORDS 4

static trl_error err;
static trl_findings *findings;
static trl_corpus *corpus;
static trl_lexicon *lexicon;
static trl_frontend *frontend;
static trl_pool *pool;

/* ---- Sound ---- */

static const char *const words[] = {"AB", "CA", "BC", "ACB"};
static const char *const phones[] = {"ab", "ca", "bc", "acb"};

static float draw(uint64_t *at)
{
    return trl__random_uniform(5, 1, (*at)++);
}

/* Two tones in noise, which glide to the next phone's; the speaker's are higher, and filtered. */
static size_t play(char phone, char next, int speaker, float *samples, uint64_t *dice)
{
    static const double low[] = {300, 600, 450}, high[] = {900, 1500, 2400};
    size_t count = (size_t)(RATE * (0.06 + 0.08 * (double)draw(dice)));
    double first = 0, second = 0, last = 0, pitch = 1 + 0.1 * speaker;
    for (size_t i = 0; i < count; i++) {
        double share = 0.7 * (double)i / (double)count;
        first += turn * pitch * ((1 - share) * low[phone - 'a'] + share * low[next - 'a']) / RATE;
        second += turn * pitch * ((1 - share) * high[phone - 'a'] + share * high[next - 'a']) / RATE;
        double x = 0.2 * sin(first) + 0.15 * sin(second) + 0.03 * ((double)draw(dice) - 0.5);
        samples[i] = (float)(last = x + 0.25 * (speaker - 1) * last);
    }
    return count;
}

/* Quiet noise, far from all phones: a transform that was made for them alone would throw it anywhere. */
static size_t play_pause(float *samples, uint64_t *dice)
{
    size_t count = (size_t)(RATE * (0.05 + 0.1 * (double)draw(dice)));
    float level = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % 80 == 0)
            level = 0.005f + 0.02f * draw(dice);
        samples[i] = level * (draw(dice) - 0.5f);
    }
    return count;
}

static void add_line(const char *name, const char *id, const char *text)
{
    FILE *file = fopen(temp_path(name), "a");
    assert_non_null(file);
    fprintf(file, "%s %s\n", id, text);
    assert_int_equal(fclose(file), 0);
}

static void add_utterance(int speaker, int number, uint64_t *dice)
{
    static float samples[10 * RATE];
    char id[40], wav[60], name[20], text[100] = "";
    size_t used = play_pause(samples, dice);
    snprintf(name, sizeof name, "s%d", speaker);
    snprintf(id, sizeof id, "s%d-%02d", speaker, number);
    snprintf(wav, sizeof wav, "%s.wav", id);
    for (int i = 0; i < WORDS; i++) {
        int w = (int)(4 * draw(dice));
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "", words[w]);
        for (const char *p = phones[w]; *p; p++)
            used += play(*p, p[1] ? p[1] : *p, speaker, samples + used, dice);
    }
    used += play_pause(samples + used, dice);
    write_floats(temp_path(wav), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, samples, used);
    add_line("wav.scp", id, wav);
    add_line("text", id, text);
    add_line("utt2spk", id, name);
}

static int set_up(void **state)
{
    static const char content[] = "AB a b\nCA c a\nBC b c\nACB a c b\n";
    uint64_t dice = 0;
    if (temp_folder_make(state))
        return -1;
    for (int s = 0; s < SPEAKERS; s++)
        for (int u = 0; u < UTTERANCES; u++)
            add_utterance(s, u, &dice);
    temp_write("lexicon", content, strlen(content));
    frontend = frontend_of("rate=8000 num_ceps=6 mel_bins=15 deltas=1 cmvn=speaker");
    return trl_findings_create(&findings, &err) < 0 || trl_pool_create(2, &pool, &err) < 0 ||
           trl_lexicon_read(temp_path("lexicon"), NULL, &lexicon, &err) < 0 ||
           trl_corpus_read(temp_folder, NULL, findings, &corpus, &err) < 0;
}

static int tear_down(void **state)
{
    trl_corpus_destroy(corpus);
    trl_lexicon_destroy(lexicon);
    trl_frontend_destroy(frontend);
    trl_findings_destroy(findings);
    trl_pool_destroy(pool);
    return temp_folder_remove(state);
}

/* ---- Training and use ---- */

static trl_train_options options(const char *stages)
{
    trl_train_options o = trl_train_defaults();
    o.stages = stages;
    o.iterations = 4;
    o.components = 2;
    o.leaves = 30;
    o.least_leaf_frames = 20;
    o.context_gaussians = 50;
    o.lda_splice = 2;
    o.lda_dim = 8;
    o.model.silence_states = 1;
    o.model.silence_topology = TRL_TOPOLOGY_LINEAR;
    return o;
}

static trl_model *train(const trl_train_options *o, const trl_frontend *made_by)
{
    trl_model *model;
    if (trl_train(corpus, lexicon, made_by, o, pool, findings, &model, &err) < 0)
        fail_msg("%s", err.text);
    return model;
}

typedef struct scores {
    double log_likelihood[SPEAKERS * UTTERANCES];
    int64_t transitions; /* of all frames, mixed up */
    size_t count;
    trl_align_summary summary;
} scores;

static int keep_score(void *user, const trl_alignment *a, trl_error *e)
{
    (void)e;
    scores *s = user;
    s->log_likelihood[s->count++] = a->log_likelihood;
    for (int32_t t = 0; t < a->frames; t++)
        s->transitions = s->transitions * 31 % 1000003 + a->transitions[t];
    return 0;
}

static scores align(const trl_model *model, int adapt)
{
    scores s = {.count = 0};
    trl_align_options o = trl_align_defaults();
    o.adapt = adapt;
    if (trl_align_corpus(model, lexicon, corpus, &o, pool, findings, keep_score, &s, &s.summary, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(s.count, SPEAKERS * UTTERANCES);
    return s;
}

static void assert_same_scores(const scores *a, const scores *b)
{
    assert_memory_equal(a->log_likelihood, b->log_likelihood, sizeof a->log_likelihood);
    assert_int_equal(a->transitions, b->transitions);
    assert_int_equal(a->summary.adapted, b->summary.adapted);
    assert_true(a->summary.gain == b->summary.gain);
}

static void remember(void *user, const trl_iteration *n)
{
    *(double *)user = n->log_likelihood;
}

/* Likelihoods of use are near those of the last iteration, which was of the model one step before; a model that is read
 * has the same ones. */
static void check_ladder(const char *stages, int is_adapted)
{
    double last = 0;
    trl_model *read = NULL;
    trl_train_options o = options(stages);
    o.report = remember;
    o.user = &last;
    trl_model *model = train(&o, frontend);
    assert_int_equal(trl_findings_count(findings), 0);
    if (trl_model_write(model, temp_path("model.trm"), &err) < 0 ||
        trl_model_read(temp_path("model.trm"), &read, &err) < 0)
        fail_msg("%s", err.text);
    scores before = align(model, 2), after = align(read, 2);
    assert_same_scores(&before, &after);
    assert_int_equal(before.summary.adapted, is_adapted ? SPEAKERS : 0);
    if (fabs(before.summary.log_likelihood - last) > 0.8)
        fail_msg("%s: %g in use, %g in training", stages, before.summary.log_likelihood, last);
    if (is_adapted)
        assert_true(align(read, 0).summary.log_likelihood < before.summary.log_likelihood - 0.3);
    trl_model_destroy(model);
    trl_model_destroy(read);
}

static void test_models_in_use(void **state)
{
    (void)state;
    check_ladder("mono", 0);
    check_ladder("mono,tri", 0);
    check_ladder("mono,tri,lda", 0);
    check_ladder("mono,tri,lda,sat", 1);
}

/* A stage from a model makes the features that it needs: without splicing and transform of its own. */
static void test_from_a_model(void **state)
{
    (void)state;
    trl_train_options o = options("mono,tri,lda"), more = options("sat"), packed = more;
    char features[300], folder[300];
    snprintf(folder, sizeof folder, "%s", temp_path("work"));
    snprintf(features, sizeof features, "%s", temp_path("work/features.trf"));
    o.folder = folder;
    trl_model *lda = train(&o, frontend);
    more.from = packed.from = lda;
    packed.features = features;
    trl_model *sat = train(&more, NULL), *again = train(&packed, NULL);
    scores a = align(sat, 2), b = align(again, 2);
    assert_true(a.summary.adapted == SPEAKERS);
    assert_true(a.summary.log_likelihood > align(lda, 2).summary.log_likelihood);
    assert_true(fabs(a.summary.log_likelihood - b.summary.log_likelihood) < 0.3);
    assert_string_equal(trl_model_frontend(sat), trl_model_frontend(lda));
    trl_model_destroy(lda);
    trl_model_destroy(sat);
    trl_model_destroy(again);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_models_in_use), TEST(test_from_a_model)};
    return RUN(tests);
}
