/* Alignment in several passes, with speakers whose sound goes through filters of their own. */
#include "align_fixture.h"
#include "make_sound.h"

#include "align/adapt_pass.h"

#include <sys/stat.h>
#include <trellis/align.h>
#include <trellis/extract.h>

#define RATE 16000
#define PHONES 3
#define UTTERANCES 4 /* of each speaker but the last */
#define DIM 13

static trl_findings *findings;
static trl_lexicon *lexicon;
static trl_model *model; /* for anna's voice; and for a first pass, for anna's and bert's */
static trl_corpus *corpus;
static trl_pool *pool;

/* ---- voices ---- */

typedef struct voice {
    const char *name;
    float gain, pole; /* y[n] = gain x[n] + pole y[n - 1] */
} voice;

static const voice voices[] = {{"anna", 1, 0}, {"bert", 0.3f, 0.6f}, {"carl", 0.5f, -0.4f}};

/* A phone is a tone and its octave in noise, both of changing strength. Returns the samples. */
static size_t play(int phone, double seconds, const voice *v, float *samples, dice *d)
{
    static const double pitch[PHONES] = {400, 1000, 2200};
    size_t count = (size_t)(seconds * RATE + 0.5);
    float last = 0;
    double noise = 0.02, first = 0.2, second = 0.1;
    for (size_t i = 0; i < count; i++) {
        if (i % 160 == 0) {
            noise = 0.01 + 0.03 * (double)roll(d);
            first = 0.1 + 0.2 * (double)roll(d);
            second = 0.02 + 0.2 * (double)roll(d);
        }
        double turn = 6.283185307179586 * pitch[phone] * (double)i / RATE;
        double x = first * sin(turn) + second * sin(2 * turn) + noise * ((double)roll(d) - 0.5);
        samples[i] = last = v->gain * (float)x + v->pole * last;
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

/* All speech, no silence: what is gained, all frames gain. */
static void add_utterance(const voice *v, int number, int words)
{
    static float samples[10 * RATE];
    static const char *const word[] = {"AB", "CA", "BC"};
    static const int phones[][2] = {{0, 1}, {2, 0}, {1, 2}};
    char id[40], wav[60], text[200] = "";
    dice d = {.seed = 3, .stream = (uint64_t)(v->name[0] * 100 + number)};
    size_t used = 0;
    snprintf(id, sizeof id, "%s-%d", v->name, number);
    snprintf(wav, sizeof wav, "%s.wav", id);
    for (int i = 0; i < words; i++) {
        int w = roll_int(&d, 0, 2);
        strcat(text, word[w]);
        strcat(text, i + 1 < words ? " " : "");
        for (int k = 0; k < 2; k++)
            used += play(phones[w][k], 0.1 + 0.1 * (double)roll(&d), v, samples + used, &d);
    }
    write_floats(temp_path(wav), SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 1, samples, used);
    add_line("wav.scp", id, wav);
    add_line("text", id, text);
    add_line("utt2spk", id, v->name);
}

/* ---- the model ---- */

/* Mean and variance of a phone's frames, of the first so many voices together. */
static void fit_phone(trl_extractor *extractor, int phone, int voice_count)
{
    static float samples[2 * RATE];
    double sum[DIM] = {0}, square[DIM] = {0}, rows = 0;
    for (int v = 0; v < voice_count; v++) {
        dice d = {.seed = 4, .stream = (uint64_t)phone};
        trl_matrix frames = {0};
        size_t count = play(phone, 2, &voices[v], samples, &d);
        must(trl_extractor_run(extractor, samples, count, NULL, &frames, &err));
        for (size_t t = 0; t < frames.rows; t++, rows++)
            for (int k = 0; k < DIM; k++) {
                double x = (double)trl_matrix_row(&frames, t)[k];
                sum[k] += x;
                square[k] += x * x;
            }
        trl_matrix_free(&frames);
    }
    char name[] = {(char)('A' + phone), '\0'};
    for (int32_t s = 0; s < 3; s++) {
        int32_t tied = trl__model_triple(model, trl_model_find_unit(model, name), s)->tied;
        for (int k = 0; k < DIM; k++) {
            model->mean[tied * DIM + k] = (float)(sum[k] / rows);
            model->variance[tied * DIM + k] = (float)(square[k] / rows - sum[k] / rows * sum[k] / rows) + 1;
        }
    }
}

static void *copy_of(const void *from, size_t size)
{
    void *to = trl__alloc(size, 1);
    memcpy(to, from, size);
    return to;
}

/* The mixtures as they are become those of the first pass. */
static void keep_for_first_pass(void)
{
    size_t states = (size_t)model->tied_states;
    trl__model_set_independent(model, copy_of(model->first_gaussian, (states + 1) * sizeof(int32_t)),
                               copy_of(model->log_weight, states * sizeof(float)),
                               copy_of(model->mean, states * DIM * sizeof(float)),
                               copy_of(model->variance, states * DIM * sizeof(float)));
}

static void make_model(void)
{
    trl_frontend_options o;
    trl_frontend *frontend;
    trl_extractor *extractor;
    trl_model_options m = trl_model_defaults();
    m.states = m.silence_states = 3;
    must(trl_frontend_preset(&o, "mfcc", &err));
    o.cmvn = TRL_CMVN_NONE;
    o.deltas = 0;
    must(trl_frontend_create(&o, &frontend, &err));
    assert_int_equal(trl_frontend_dim(frontend), DIM);
    must(trl_extractor_create(frontend, &extractor, &err));
    must(trl_model_create(lexicon, trl_frontend_description(frontend), DIM, &m, &model, &err));
    for (size_t i = 0; i < (size_t)model->tied_states * DIM; i++)
        model->mean[i] = -1000; /* silence is nowhere */
    for (int count = 2; count > 0; count--) {
        for (int phone = 0; phone < PHONES; phone++)
            fit_phone(extractor, phone, count);
        if (count == 2)
            keep_for_first_pass();
    }
    trl_extractor_destroy(extractor);
    trl_frontend_destroy(frontend);
}

static int set_up(void **state)
{
    if (temp_folder_make(state) != 0)
        return -1;
    must(trl_findings_create(&findings, &err));
    must(trl_pool_create(2, &pool, &err));
    lexicon = lexicon_of("AB A B\nCA C A\nBC B C\nLong A B C A B C A B C A B C\n");
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < UTTERANCES; i++)
            add_utterance(&voices[v], i, 7);
    add_utterance(&voices[2], 0, 3);
    make_model();
    return 0;
}

static int tear_down(void **state)
{
    trl_corpus_destroy(corpus);
    trl_model_destroy(model);
    trl_lexicon_destroy(lexicon);
    trl_findings_destroy(findings);
    trl_pool_destroy(pool);
    corpus = NULL;
    return temp_folder_remove(state);
}

/* ---- alignment ---- */

typedef struct delivery {
    char text[40000]; /* everything, as text */
    size_t size;
    char one[3][4000]; /* by speaker: the first utterance */
    double log_likelihood[3], frames[3];
    size_t count;
} delivery;

static delivery d;

static int deliver(void *user, const trl_alignment *a, trl_error *e)
{
    (void)user;
    (void)e;
    size_t from = d.size;
    int speaker = a->utterance->speaker[0] - 'a';
    d.size += (size_t)snprintf(d.text + d.size, sizeof d.text - d.size, "%s %a %a\n", a->utterance->id,
                               a->log_likelihood, a->fit);
    for (size_t i = 0; i < a->phones.count; i++) {
        const trl_segment *s = &a->phones.items[i];
        d.size += (size_t)snprintf(d.text + d.size, sizeof d.text - d.size, "%s %d %a\n", s->label, s->first,
                                   (double)s->confidence);
        assert_true(d.size < sizeof d.text);
    }
    assert_true(d.size - from < sizeof *d.one);
    if (d.frames[speaker] == 0)
        memcpy(d.one[speaker], d.text + from, d.size - from);
    d.log_likelihood[speaker] += a->log_likelihood * a->frames;
    d.frames[speaker] += a->frames;
    d.count++;
    return 0;
}

static int align(const trl_align_options *o, trl_align_summary *summary)
{
    trl_corpus_destroy(corpus);
    must(trl_corpus_read(temp_folder, NULL, findings, &corpus, &err));
    d = (delivery){0};
    return trl_align_corpus(model, lexicon, corpus, o, pool, findings, deliver, NULL, summary, &err);
}

static double per_frame(int speaker)
{
    return d.log_likelihood[speaker] / d.frames[speaker];
}

/* With one set of mixtures alone, in one pass. */
static void align_plainly(int first_pass)
{
    trl_model *kept = model, *other;
    trl_align_options o = trl_align_defaults();
    trl_model view = trl__model_first_pass(model);
    if (!first_pass) {
        view = *model;
        memset(&view.independent, 0, sizeof view.independent);
    }
    must(trl__model_copy(&view, &other, &err));
    model = other;
    assert_int_equal(trl_align_passes(model, &o), 1);
    must(align(&o, NULL));
    trl_model_destroy(other);
    model = kept;
}

static void test_speakers_are_adapted(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    double before[3], raw[3];
    char carl[sizeof *d.one];
    align_plainly(0);
    for (int i = 0; i < 3; i++)
        raw[i] = per_frame(i);
    align_plainly(1);
    for (int i = 0; i < 3; i++)
        before[i] = per_frame(i);
    memcpy(carl, d.one[2], sizeof carl);

    assert_int_equal(trl_align_passes(model, &o), 3);
    must(align(&o, &summary));
    assert_int_equal(summary.utterances, 2 * UTTERANCES + 1);
    assert_int_equal(summary.adapted, 2); /* carl has said too little … */
    assert_true(d.frames[0] > 500 && d.frames[1] > 500 && d.frames[2] < 500);
    assert_string_equal(d.one[2], carl); /* … and stays with the mixtures of the first pass */
    for (int i = 0; i < 2; i++)
        assert_true(per_frame(i) > before[i] + 1 && per_frame(i) > raw[i]);
    assert_true(per_frame(1) > raw[1] + 5); /* bert is far from the model's voice */
    assert_int_equal(trl_findings_count(findings), 0);
}

/* A Gaussian in each state: the likelihood rises by the gain, up to the few frames where paths differ. */
static void test_gain_is_that_of_the_likelihood(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    align_plainly(0);
    double before = d.log_likelihood[0] + d.log_likelihood[1];
    o.adapt = 1;
    must(align(&o, &summary));
    double frames = d.frames[0] + d.frames[1];
    double gain = (d.log_likelihood[0] + d.log_likelihood[1] - before) / frames;
    if (fabs(gain - summary.gain) > 0.02 * gain)
        fail_msg("the likelihood rose by %g, the transforms said %g", gain, summary.gain);
}

/* Further estimates are from better paths and start where the last ended. */
static void test_more_estimates(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    double last = -INFINITY;
    for (o.adapt = 0; o.adapt < 4; o.adapt++) {
        trl_align_summary summary;
        must(align(&o, &summary));
        assert_true(per_frame(1) >= last - 1e-4);
        assert_int_equal(summary.adapted, o.adapt ? 2 : 0);
        assert_true((summary.gain > 0) == (o.adapt > 0));
        last = per_frame(1);
    }
    o.adapt = -1;
    assert_int_equal(trl_align_options_check(&o, &err), TRL_EINVAL);
}

static void test_without_adaptation(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    static char text[sizeof d.text];
    align_plainly(1);
    memcpy(text, d.text, sizeof text);
    o.adapt = 0;
    assert_int_equal(trl_align_passes(model, &o), 1);
    must(align(&o, NULL));
    assert_string_equal(d.text, text);
    assert_true(d.size > 1000);
}

static void test_same_for_any_number_of_threads(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    static char text[sizeof d.text];
    double gain = 0;
    int threads[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        trl_align_summary summary;
        trl_pool_destroy(pool);
        must(trl_pool_create(threads[i], &pool, &err));
        must(align(&o, &summary));
        if (i > 0)
            assert_string_equal(d.text, text);
        assert_true(i == 0 || gain == summary.gain);
        memcpy(text, d.text, sizeof text);
        gain = summary.gain;
    }
}

static void test_one_utterance(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    o.only = "bert-1";
    must(align(&o, &summary));
    assert_int_equal(d.count, 1);
    assert_int_equal(summary.adapted, 0); /* two seconds alone are too few */
}

/* Along a path with so many frames of speech between silence and noise. */
static size_t adapt_to(int speech)
{
    int32_t unit[] = {trl_model_find_unit(model, "SIL"), trl_model_find_unit(model, "A"),
                      trl_model_find_unit(model, "SPN")};
    int32_t node_tied[3], node_phone[] = {0, 1, 2}, path[1200];
    trl__graph_phone phone[3] = {{0}};
    dice chance = {.seed = 9};
    trl_matrix frames = random_frames(&chance, 1200, DIM);
    trl__adaptation *a;
    for (int i = 0; i < 3; i++) {
        assert_true(unit[i] >= 0);
        phone[i].unit = unit[i];
        node_tied[i] = trl__model_triple(model, unit[i], 0)->tied;
    }
    for (int t = 0; t < 1200; t++)
        path[t] = t < 100 ? 0 : t < 100 + speech ? 1 : 2;
    const trl__graph graph = {
        .nodes = 3, .phones = 3, .node_tied = node_tied, .node_phone = node_phone, .phone = phone};
    const trl_utterance *u = trl_corpus_get(corpus, 0);
    must(trl__adaptation_create(model, corpus, u->id, 1, 1, &a, &err));
    trl__adaptation_begin(a);
    must(trl__adaptation_gather(a, &frames, &graph, path, 0, 0, &err));
    must(trl__adaptation_add(a, u, 0, &err));
    size_t speakers = trl__adaptation_summarise(a).speakers; /* with the last utterance, not at the end */
    must(trl__adaptation_end(a, &err));
    assert_int_equal(trl__adaptation_summarise(a).speakers, speakers);
    trl__adaptation_destroy(a);
    trl_matrix_free(&frames);
    return speakers;
}

/* Every tenth frame of them: 10 before the speech, 67 behind it. 500 are needed. */
static void test_silence_and_noise_count_little(void **state)
{
    (void)state;
    must(trl_corpus_read(temp_folder, NULL, findings, &corpus, &err));
    assert_int_equal(adapt_to(0), 0);
    assert_int_equal(adapt_to(422), 0);
    assert_int_equal(adapt_to(423), 1);
}

/* ---- faults ---- */

static void test_faults_are_named_once(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_align_summary summary;
    add_line("wav.scp", "anna-8", "anna-0.wav");
    add_line("text", "anna-8", "AB XYZ");
    add_line("utt2spk", "anna-8", "anna");
    add_line("wav.scp", "bert-8", "carl-0.wav");
    add_line("text", "bert-8", "Long Long Long Long Long Long Long Long");
    add_line("utt2spk", "bert-8", "bert");
    save(temp_path("broken.wav"), "RIFF this is no sound", 21);
    add_line("wav.scp", "bert-9", "broken.wav");
    add_line("text", "bert-9", "AB");
    add_line("utt2spk", "bert-9", "bert");
    for (int i = 0; i < 2; i++) { /* each ends the first pass, as it would end the only one */
        trl_error expected;
        o.unknown_words = i == 0 ? TRL_UNKNOWN_FAIL : TRL_UNKNOWN_SKIP;
        o.skip_bad = i == 0;
        o.adapt = 0;
        assert_true(align(&o, NULL) < 0);
        expected = err;
        o.adapt = 2;
        assert_true(align(&o, NULL) < 0);
        assert_string_equal(err.text, expected.text);
        assert_int_equal(d.count, 0);
        trl_findings_destroy(findings);
        must(trl_findings_create(&findings, &err));
    }
    o.unknown_words = TRL_UNKNOWN_SKIP;
    o.skip_bad = 1;
    must(align(&o, &summary));
    assert_int_equal(summary.utterances, 2 * UTTERANCES + 1);
    assert_int_equal(summary.skipped, 3);
    assert_int_equal(summary.adapted, 2);
}

static void test_pipes_are_read_once(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    must(align(&o, NULL));
    assert_true(trl__adaptation_is_possible(corpus));
    assert_int_equal(mkfifo(temp_path("pipe.wav"), 0600), 0);
    add_line("wav.scp", "carl-1", "pipe.wav");
    add_line("text", "carl-1", "AB");
    add_line("utt2spk", "carl-1", "carl");
    trl_corpus_destroy(corpus);
    must(trl_corpus_read(temp_folder, NULL, findings, &corpus, &err));
    assert_false(trl__adaptation_is_possible(corpus));
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    trl_align_options o = trl_align_defaults();
    trl_pool_destroy(pool);
    must(trl_pool_create(1, &pool, &err));
    must(align(&o, NULL));
    for (long n = 1, code = -1; code < 0; n += 1 + n / 6) {
        d = (delivery){0};
        trl__memory_fail_after(n);
        code = trl_align_corpus(model, lexicon, corpus, &o, pool, findings, deliver, NULL, NULL, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        assert_true(n < 100000);
    }
    assert_int_equal(d.count, 2 * UTTERANCES + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_speakers_are_adapted),
        TEST(test_gain_is_that_of_the_likelihood),
        TEST(test_more_estimates),
        TEST(test_without_adaptation),
        TEST(test_same_for_any_number_of_threads),
        TEST(test_one_utterance),
        TEST(test_silence_and_noise_count_little),
        TEST(test_faults_are_named_once),
        TEST(test_pipes_are_read_once),
        TEST(test_every_allocation_may_fail),
    };
    return RUN(tests);
}
