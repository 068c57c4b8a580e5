/* Training in stages with data that nobody would choose: a model that can be used, and a warning where something is
 * missing, or an error that says what is wrong. */
#include "stage_speech.h"

static stage_speech speech;
static trl_findings *skipped;
static trl_model *model;
static trl_error err;

static int set_up(void **state)
{
    return temp_folder_make(state) || trl_findings_create(&skipped, &err) < 0;
}

static int tear_down(void **state)
{
    trl_model_destroy(model);
    trl_findings_destroy(skipped);
    speech_free(&speech);
    model = NULL;
    speech = (stage_speech){0};
    return temp_folder_remove(state);
}

static trl_train_options make(const speech_options *o)
{
    speech_make(&speech, o, "features.trf");
    return speech_training(&speech, "mono,tri,lda,sat");
}

/* ---- What is looked for ---- */

static void check_iteration(void *user, const trl_iteration *n)
{
    size_t *failed = user;
    if (!isfinite(n->log_likelihood) || !isfinite(n->transform_gain) || !isfinite(n->joint))
        fail_msg("%s %d: log-likelihood %g, gain %g", n->stage, n->number, n->log_likelihood, n->transform_gain);
    *failed = n->failed;
}

static void assert_finite_model(const trl_model *m)
{
    for (int32_t j = 0; j < trl_model_tied_states(m); j++)
        for (int32_t c = 0; c < trl_model_components(m, j); c++) {
            trl_gaussian g = trl_model_gaussian(m, j, c);
            assert_true(g.weight > 0 && g.weight <= 1.0001f);
            for (int32_t k = 0; k < trl_model_dim(m); k++)
                if (!isfinite(g.mean[k]) || !isfinite(g.variance[k]) || !(g.variance[k] > 0))
                    fail_msg("state %d, component %d: mean %g, variance %g", j, c, (double)g.mean[k],
                             (double)g.variance[k]);
        }
    for (int32_t t = 1; t <= trl_model_transitions(m); t++)
        assert_true(trl_model_transition(m, t).log_probability <= 0);
}

/* It can be written, read and trained on, which aligns all utterances. */
static void assert_usable(const trl_model *m, size_t failed)
{
    trl_model *read, *more;
    trl_findings *unused;
    trl_train_options o = speech_training(&speech, "sat");
    size_t failed_again = 0;
    assert_finite_model(m);
    must_do(trl_model_write(m, temp_path("model.trm"), &err), &err);
    must_do(trl_model_read(temp_path("model.trm"), &read, &err), &err);
    must_do(trl_findings_create(&unused, &err), &err);
    o.from = read;
    o.iterations = 1;
    o.context_gaussians = 1;
    o.report = check_iteration;
    o.user = &failed_again;
    must_do(trl_train(speech.corpus, speech.lexicon, NULL, &o, NULL, unused, &more, &err), &err);
    assert_int_equal(failed_again, failed);
    assert_finite_model(more);
    trl_model_destroy(more);
    trl_model_destroy(read);
    trl_findings_destroy(unused);
}

/* All stages work; `failed` utterances can't be aligned. */
static void expect_model(trl_train_options *o, size_t failed)
{
    size_t count = 0;
    o->report = check_iteration;
    o->user = &count;
    must_do(trl_train(speech.corpus, speech.lexicon, NULL, o, NULL, skipped, &model, &err), &err);
    assert_int_equal(count, failed);
    assert_usable(model, failed);
}

static void expect_error(const trl_train_options *o, int code, const char *part)
{
    assert_int_equal(trl_train(speech.corpus, speech.lexicon, NULL, o, NULL, skipped, &model, &err), code);
    if (!strstr(err.text, part))
        fail_msg("no '%s' in: %s", part, err.text);
}

/* Exactly these findings, but for misfits; NULL: none. */
static void expect_findings(const char *first, const char *second)
{
    const char *wanted[] = {first, first ? second : NULL};
    const trl_finding *f;
    size_t found = 0;
    for (size_t i = 0; (f = trl_findings_get(skipped, i)); i++) {
        const char *want = found < 2 ? wanted[found] : NULL;
        if (f->kind == TRL_FINDING_MISFIT)
            continue;
        if (!want || !strstr(f->message, want))
            fail_msg("'%s', where there should be '%s'", f->message, want ? want : "nothing");
        found++;
    }
    if (found < 2 && wanted[found])
        fail_msg("nothing is said of '%s'", wanted[found]);
}

/* ---- Little data ---- */

static void test_one_speaker(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.speakers = 1;
    trl_train_options o = make(&s);
    expect_model(&o, 0);
    expect_findings("only one speaker", NULL);
}

static void test_ten_utterances(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.speakers = 10;
    s.utterances = 1;
    trl_train_options o = make(&s);
    expect_model(&o, 0);
    expect_findings("10 of 10 speakers have too few frames", NULL);
}

/* With the options that a user gets who gives none. */
static void test_ten_utterances_and_defaults(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.speakers = 2;
    s.utterances = 5;
    s.words = 5;
    trl_train_options small = make(&s), o = trl_train_defaults();
    o.features = small.features;
    o.stages = small.stages;
    expect_model(&o, 0);
    expect_findings("instead of 39", NULL);
}

static void test_one_word(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.speakers = s.utterances = s.words = 1;
    trl_train_options o = make(&s);
    expect_model(&o, 0);
    expect_findings("in no word of the corpus", "1 of 1 speakers have too few frames");
}

static void test_speaker_with_one_short_utterance(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.last_words = 1;
    trl_train_options o = make(&s);
    expect_model(&o, 0);
    expect_findings("1 of 5 speakers have too few frames", NULL);
}

/* ---- Odd words ---- */

static void test_phones_never_seen(void **state)
{
    (void)state;
    char lexicon[sizeof speech_lexicon + 40];
    speech_options s = speech_defaults();
    trl_train_options o = make(&s);
    trl_lexicon_destroy(speech.lexicon);
    snprintf(lexicon, sizeof lexicon, "%sXYZ x y z\nSIL SIL\nNOISE SPN\n", speech_lexicon);
    speech.lexicon = speech_words(lexicon);
    expect_model(&o, 0);
    expect_findings("3 of its 10 phones are in no word of the corpus: x y z", NULL);
    assert_true(trl_model_find_unit(model, "x_B") >= 0);
}

/* Phones know their place in the word by default, unless the lexicon says it itself, or nothing but mono is trained. */
static void test_phones_that_have_places(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.lexicon = "A a_S\nB b_S\nC c_S\nD d_S\n";
    trl_train_options o = make(&s);
    o.stages = "mono,tri";
    expect_model(&o, 0);
    expect_findings(NULL, NULL);
    assert_true(trl_model_find_unit(model, "a_S") >= 0);
    assert_int_equal(trl_model_units(model), 4 + 2);
}

static void test_mono_alone_has_no_places(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.lexicon = "A a\nB b\nC c\nD d\n";
    trl_train_options o = make(&s);
    o.stages = "mono";
    must_do(trl_train(speech.corpus, speech.lexicon, NULL, &o, NULL, skipped, &model, &err), &err);
    assert_int_equal(trl_model_units(model), 4 + 2);
    trl_model_destroy(model);
    o.stages = "mono,tri";
    must_do(trl_train(speech.corpus, speech.lexicon, NULL, &o, NULL, skipped, &model, &err), &err);
    assert_int_equal(trl_model_units(model), 4 * 4 + 2);
    trl_model_destroy(model);
    o.model.word_positions = 0;
    must_do(trl_train(speech.corpus, speech.lexicon, NULL, &o, NULL, skipped, &model, &err), &err);
    assert_int_equal(trl_model_units(model), 4 + 2);
}

static void test_words_of_one_phone(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.lexicon = "A a\nB b\nC c\nD d\n";
    trl_train_options o = make(&s);
    o.model.word_positions = 1;
    expect_model(&o, 0);
    expect_findings(NULL, NULL);
}

static void test_one_phone(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.lexicon = "A a\n";
    trl_train_options o = make(&s);
    o.model.states = 1;
    o.model.silence_states = 1;
    o.model.silence_topology = TRL_TOPOLOGY_LINEAR;
    expect_model(&o, 0);
}

static void test_silence_is_all_that_is_said(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.lexicon = "SIL SIL\n";
    trl_train_options o = make(&s);
    expect_model(&o, 0);
    expect_findings("frames have", "5 of 5 speakers have too few frames");
}

static void set_text(const char *id, const char *text)
{
    speech.corpus->findings = speech.findings; /* as while it was made */
    must_do(trl__corpus_set_text(speech.corpus, (size_t)trl_corpus_find(speech.corpus, id), text, strlen(text), "made",
                                 0, &err),
            &err);
}

static void test_utterances_without_words(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    trl_train_options o = make(&s);
    set_text("s00-003", "");
    set_text("s02-000", " \t ");
    expect_model(&o, 0);
    assert_non_null(strstr(trl_model_history(model), "\"utterances\":118,"));
}

static void test_nobody_says_a_word(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.speakers = 1;
    s.utterances = 3;
    trl_train_options o = make(&s);
    for (size_t i = 0; i < 3; i++)
        set_text(trl_corpus_get(speech.corpus, i)->id, "");
    expect_error(&o, TRL_EINVAL, "no utterance is left");
}

/* More words than the sound has frames for. */
static void test_utterance_that_cannot_be_aligned(void **state)
{
    (void)state;
    char text[2000] = "CAB";
    speech_options s = speech_defaults();
    trl_train_options o = make(&s);
    while (strlen(text) + 5 < sizeof text)
        strcat(text, " CAB");
    set_text("s01-007", text);
    expect_model(&o, 1);
    expect_findings("the sound is shorter than its words", NULL);
    assert_string_equal(trl_findings_get(skipped, 0)->utterance, "s01-007");
}

/* ---- Odd frames ---- */

static void test_constant_coefficient(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.constant = 1;
    trl_train_options o = make(&s);
    o.lda_dim = 12; /* of 12 spliced values 3 are constant */
    expect_model(&o, 0);
    expect_findings("frames have 9 values instead of 12", NULL);
}

static void test_nothing_varies(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.constant = s.statics = 1;
    trl_train_options o = make(&s);
    expect_error(&o, TRL_EINVAL, "of 3, 0 vary");
    o.stages = "mono,tri,sat";
    expect_model(&o, 0);
}

static void test_frames_of_one_value(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.statics = 1;
    s.frontend = "deltas=0";
    trl_train_options o = make(&s);
    o.lda_splice = 0;
    expect_model(&o, 0);
    expect_findings("frames have 1 values instead of 6", NULL);
}

static void test_more_dimensions_than_there_are(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    trl_train_options o = make(&s);
    o.lda_dim = 10000;
    o.lda_splice = 8;
    expect_model(&o, 0);
    expect_findings("instead of 10000", NULL);
}

static void test_silence_from_end_to_end(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.mute = 1;
    trl_train_options o = make(&s);
    expect_model(&o, 0);
}

static void test_large_numbers(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    s.distortion = 1e6;
    trl_train_options o = make(&s);
    expect_model(&o, 0);
}

/* ---- Odd descriptions ---- */

/* The same frames in another file. */
static void describe(trl_train_options *o, const char *description)
{
    static char path[300];
    const char *id;
    trl_matrix frames = {0};
    trl_feature_reader *reader;
    trl_feature_writer *writer;
    trl_feature_writer_options w = trl_feature_writer_defaults();
    w.frontend = description;
    snprintf(path, sizeof path, "%s", temp_path("described.trf"));
    must_do(trl_feature_reader_open(speech.features, &reader, &err), &err);
    must_do(trl_feature_writer_open(path, &w, &writer, &err), &err);
    while (trl_feature_reader_next(reader, &id, &frames, &err) > 0)
        must_do(trl_feature_writer_add(writer, id, &frames, &err), &err);
    must_do(trl_feature_writer_commit(writer, &err), &err);
    trl_feature_reader_close(reader);
    o->features = path;
}

/* Before the first iteration, not after those of two stages. */
static void never(void *user, const trl_iteration *n)
{
    (void)user;
    fail_msg("iteration %d", n->number);
}

static void test_descriptions_that_lda_cannot_use(void **state)
{
    (void)state;
    speech_options s = speech_defaults();
    trl_train_options o = make(&s);
    o.report = never;
    describe(&o, NULL);
    expect_error(&o, TRL_EINVAL, "do not say which front end");
    describe(&o, "num_ceps = 13\n");
    expect_error(&o, TRL_EINVAL, "have 8 values per frame, but the front end that they name makes 13");
    describe(&o, "num_ceps = 4\nsplice_left = 1\n");
    expect_error(&o, TRL_EINVAL, "splicing or a transform of its own");
    describe(&o, NULL);
    o.stages = "mono,tri,sat";
    o.report = NULL;
    expect_model(&o, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_one_speaker),
                                       TEST(test_ten_utterances),
                                       TEST(test_ten_utterances_and_defaults),
                                       TEST(test_one_word),
                                       TEST(test_speaker_with_one_short_utterance),
                                       TEST(test_phones_never_seen),
                                       TEST(test_phones_that_have_places),
                                       TEST(test_mono_alone_has_no_places),
                                       TEST(test_words_of_one_phone),
                                       TEST(test_one_phone),
                                       TEST(test_silence_is_all_that_is_said),
                                       TEST(test_utterances_without_words),
                                       TEST(test_nobody_says_a_word),
                                       TEST(test_utterance_that_cannot_be_aligned),
                                       TEST(test_constant_coefficient),
                                       TEST(test_nothing_varies),
                                       TEST(test_frames_of_one_value),
                                       TEST(test_more_dimensions_than_there_are),
                                       TEST(test_silence_from_end_to_end),
                                       TEST(test_large_numbers),
                                       TEST(test_descriptions_that_lda_cannot_use)};
    return RUN(tests);
}
