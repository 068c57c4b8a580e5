/* What training sees of stored features is, bit for bit, what the front end that the model describes makes of the sound. */
#include "front_end.h"

#include "base/memory.h"
#include "train/feature_view.h"

enum { CASES = 300, SAMPLES = 4000 };

static trl_error err;

typedef struct dice {
    uint64_t seed, next;
} dice;

static int roll(dice *d, int least, int most)
{
    return least + (int)(trl__random_uniform(d->seed, 7, d->next++) * (float)(most - least + 1));
}

static const char *choose(dice *d, const char *const *list, int count)
{
    return list[roll(d, 0, count - 1)];
}

/* Whatever comes before splicing. */
static void random_settings(dice *d, char *text, size_t size)
{
    static const char *const kinds[] = {"mfcc", "plp", "fbank"}, *const layouts[] = {"kaldi", "htk"},
                             *const norms[] = {"none", "utterance", "speaker", "sliding"},
                             *const energies[] = {"none", "raw", "windowed"};
    const char *kind = choose(d, kinds, 3);
    int bins = roll(d, 15, 25), is_fbank = strcmp(kind, "fbank") == 0;
    snprintf(text, size,
             "preset=%s rate=8000 mel_bins=%d num_ceps=%d layout=%s cmvn=%s cmvn_variance=%d cmvn_window=%d "
             "cmvn_min_window=9 energy=%s deltas=%d delta_window=%d snip_edges=%d",
             kind, bins, roll(d, 2, 13), choose(d, layouts, 2), choose(d, norms, 4), roll(d, 0, 1), roll(d, 10, 40),
             is_fbank ? "none" : choose(d, energies, 3), roll(d, 0, 3), roll(d, 1, 3), roll(d, 0, 1));
}

static trl_cmvn *speaker_of(const trl_frontend *frontend, const float *samples)
{
    trl_cmvn *cmvn;
    trl_matrix statics = {0};
    trl_extractor *extractor = extractor_of(frontend);
    assert_int_equal(trl_cmvn_create((size_t)trl_frontend_static_dim(frontend), &cmvn, &err), 0);
    assert_int_equal(trl_extractor_begin_static(extractor, &err), 0);
    assert_int_equal(trl_extractor_push(extractor, samples, SAMPLES, &statics, &err), 0);
    assert_int_equal(trl_extractor_end(extractor, &statics, &err), 0);
    trl_cmvn_add(cmvn, &statics);
    trl_matrix_free(&statics);
    trl_extractor_destroy(extractor);
    return cmvn;
}

static trl_matrix run(const trl_frontend *frontend, const float *samples, const trl_cmvn *speaker)
{
    trl_matrix frames = {0};
    trl_extractor *extractor = extractor_of(frontend);
    const trl_cmvn *needed = trl_frontend_get(frontend)->cmvn == TRL_CMVN_SPEAKER ? speaker : NULL;
    if (trl_extractor_run(extractor, samples, SAMPLES, needed, &frames, &err) < 0)
        fail_msg("%s", err.text);
    trl_extractor_destroy(extractor);
    return frames;
}

static void random_view(dice *d, size_t statics, trl__feature_view *view)
{
    *view = (trl__feature_view){.columns = statics, .left = roll(d, 0, 4), .right = roll(d, 0, 4)};
    size_t spliced = trl__view_dim(view, 0);
    assert_int_equal(spliced, statics * (size_t)(view->left + view->right + 1));
    if (roll(d, 0, 3) > 0) /* with or without an offset */
        view->transform =
            random_matrix((size_t)roll(d, 1, (int)spliced), spliced + (size_t)roll(d, 0, 1), d->seed + d->next);
}

static void assert_same_view(const trl__feature_view *a, const trl__feature_view *b)
{
    assert_int_equal(a->columns, b->columns);
    assert_int_equal(a->left, b->left);
    assert_int_equal(a->right, b->right);
    assert_same_bits(&a->transform, &b->transform, "the view's transform");
}

/* The view from its description: the same, and so are its frames. A description that the file's own front end has needs no view. */
static void check_way_back(const char *description, const char *base, const trl__feature_view *view,
                           const trl_matrix *stored, const trl_matrix *expected)
{
    trl__feature_view again;
    trl__view_room room = {0};
    trl_matrix seen;
    if (trl__view_from(description, base, &again, &err) < 0)
        fail_msg("%s", err.text);
    if (strcmp(description, base) == 0)
        assert_int_equal(again.columns, 0);
    else
        assert_same_view(&again, view);
    assert_int_equal(trl__view_dim(&again, stored->cols), expected->cols);
    assert_int_equal(trl__view_apply(&again, stored, 0, 1, &room, &seen, &err), 0);
    assert_same_bits(&seen, expected, "frames of the view that was read back");
    trl__view_room_free(&room);
    trl__view_free(&again);
}

static void check_case(uint64_t seed)
{
    dice d = {.seed = seed};
    char settings[400], *description, *without;
    random_settings(&d, settings, sizeof settings);
    trl_frontend *base = frontend_of(settings), *whole;
    float *samples = make_signal(roll(&d, 0, 1) ? SIGNAL_SPEECH : SIGNAL_NOISE, SAMPLES, 8000, seed);
    trl_cmvn *speaker = speaker_of(base, samples);
    trl_matrix stored = run(base, samples, speaker), seen;
    trl__feature_view view;
    trl__view_room room = {0};
    size_t statics;
    assert_int_equal(trl__view_statics(trl_frontend_description(base), &statics, &err), 0);
    random_view(&d, statics, &view);
    assert_int_equal(trl__view_describe(&view, trl_frontend_description(base), &description, &err), 0);
    trl_frontend_options o = options_of("");
    assert_int_equal(trl_frontend_parse(&o, description, "description", &err), 0);
    whole = frontend_from(&o);
    trl_matrix expected = run(whole, samples, speaker);
    assert_int_equal(trl__view_apply(&view, &stored, 0, 1, &room, &seen, &err), 0);
    assert_same_bits(&seen, &expected, settings);
    check_way_back(description, trl_frontend_description(base), &view, &stored, &expected);
    assert_int_equal(trl__view_base(description, &without, &err), 0);
    if (strcmp(description, without) != 0)
        check_way_back(description, without, &view, &stored, &expected); /* statics come first in both files */
    trl__free(without);
    trl__free(description);
    trl__view_room_free(&room);
    trl__view_free(&view);
    trl_matrix_free(&o.transform);
    trl_matrix_free(&stored);
    trl_matrix_free(&expected);
    trl_cmvn_destroy(speaker);
    trl_frontend_destroy(base);
    trl_frontend_destroy(whole);
    free(samples);
}

static void test_view_is_the_front_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        check_case(seed);
}

/* A speaker's transform comes last, and only where it is asked for. */
static void test_speakers_come_last(void **state)
{
    (void)state;
    trl_matrix frames = random_matrix(20, 3, 1), seen;
    trl__view_room room = {0};
    trl__view_speaker speakers[2] = {{.transform = random_matrix(3, 4, 2)}, {.log_det = 0}};
    trl__feature_view view = {.speakers = speakers, .speaker_count = 2};
    assert_int_equal(trl__view_apply(&view, &frames, 0, 0, &room, &seen, &err), 0);
    assert_same_bits(&seen, &frames, "not adapted");
    assert_int_equal(trl__view_apply(&view, &frames, 1, 1, &room, &seen, &err), 0);
    assert_same_bits(&seen, &frames, "a speaker without a transform");
    assert_int_equal(trl__view_apply(&view, &frames, 0, 1, &room, &seen, &err), 0);
    for (size_t t = 0; t < 20; t++)
        for (size_t k = 0; k < 3; k++) {
            const float *row = trl_matrix_row(&speakers[0].transform, k), *o = trl_matrix_row(&frames, t);
            double sum = (double)row[3];
            for (size_t i = 0; i < 3; i++)
                sum += (double)row[i] * (double)o[i];
            assert_true(fabs(sum - (double)trl_matrix_row(&seen, t)[k]) < 1e-5);
        }
    trl__view_room_free(&room);
    trl_matrix_free(&speakers[0].transform);
    trl_matrix_free(&frames);
}

/* What no view of the file can show. */
static void test_foreign_descriptions_are_refused(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"num_ceps=12 splice_left=2", "num_ceps=13"},
                                           {"cmvn=utterance splice_left=2", "cmvn=none"},
                                           {"deltas=2", "deltas=1"},
                                           {"deltas=2 splice_left=1", "deltas=2"},
                                           {"rate=8000 high_hz=0 splice_left=1", "rate=16000 high_hz=0"}};
    trl__feature_view view;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        trl_frontend *wanted = frontend_of(pairs[i][0]), *base = frontend_of(pairs[i][1]);
        int code = trl__view_from(trl_frontend_description(wanted), trl_frontend_description(base), &view, &err);
        if (code != TRL_EINVAL)
            fail_msg("%s from %s: %d", pairs[i][0], pairs[i][1], code);
        assert_non_null(strstr(err.text, "front end"));
        trl_frontend_destroy(wanted);
        trl_frontend_destroy(base);
    }
    size_t statics;
    trl_frontend *spliced = frontend_of("splice_left=2");
    assert_int_equal(trl__view_statics(trl_frontend_description(spliced), &statics, &err), TRL_EINVAL);
    assert_int_equal(trl__view_statics("", &statics, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "do not say"));
    trl_frontend_destroy(spliced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_view_is_the_front_end),
                                       cmocka_unit_test(test_speakers_come_last),
                                       cmocka_unit_test(test_foreign_descriptions_are_refused)};
    return RUN(tests);
}
