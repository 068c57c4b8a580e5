/* Front ends: the description and its way through text, what is refused, dimensions, memory that runs out. */
#include "front_end.h"

#include "base/memory.h"
#include "feat/frontend_tables.h"

#define RATE 16000

static trl_error err;

/* Among them numbers that need all digits. */
static const char *const described[] = {
    "",
    "preset=fbank",
    "preset=plp",
    "preset=plp8k splice_left=4 splice_right=4",
    "preset=sphinx low_hz=130 high_hz=6800 mel_bins=25 dct=layout lifter=22 cmvn=live cmvn_prior=40.1,3,-0.3333333",
    "preset=htk energy=raw energy_normalise=1 cmvn=utterance cmvn_variance=1",
    "rate=22050.5 frame_ms=31.7 shift_ms=9.99 dither=0.1 seed=9223372036854775807 preemphasis=0.3333333333333333",
    "cmvn=sliding cmvn_window=300 cmvn_min_window=7 cmvn_center=1 deltas=3 delta_window=5 floor=1e-20",
    "window=blackman blackman=0.4000000059604645 high_hz=-400 low_hz=64.123456789 energy_floor=0.5 snip_edges=0",
};

static void assert_says(const char *part)
{
    if (!strstr(err.text, part))
        fail_msg("no '%s' in: %s", part, err.text);
}

/* ---- The description ---- */

static void check_round_trip(const trl_frontend *first)
{
    trl_frontend_options o = options_of("preset=fbank mel_bins=99 deltas=8 cmvn=speaker"); /* everything is replaced */
    const char *text = trl_frontend_description(first);
    if (trl_frontend_parse(&o, text, "description", &err) < 0)
        fail_msg("%s", err.text);
    trl_frontend *second = frontend_from(&o);
    assert_string_equal(trl_frontend_description(second), text);
    trl_matrix_free(&o.transform);
    trl_frontend_destroy(second);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof described / sizeof *described; i++) {
        trl_frontend *frontend = frontend_of(described[i]);
        check_round_trip(frontend);
        trl_frontend_destroy(frontend);
    }
}

static void test_round_trip_of_transform(void **state)
{
    (void)state;
    trl_frontend_options o = options_of("num_ceps=5 splice_left=1");
    o.transform = random_matrix(3, 11, 1);
    o.transform.data[0] = 1e-38f;
    o.transform.data[1] = -0.0f;
    o.transform.data[2] = 3.4028235e38f;
    trl_frontend *frontend = frontend_from(&o);
    check_round_trip(frontend);
    trl_frontend_options back = options_of("");
    assert_int_equal(trl_frontend_parse(&back, trl_frontend_description(frontend), "d", &err), 0);
    assert_same_bits(&back.transform, &o.transform, "transform");
    trl_matrix_free(&back.transform);
    trl_matrix_free(&o.transform);
    trl_frontend_destroy(frontend);
}

/* Every field is in the table, has help, and is in the description. */
static void test_fields(void **state)
{
    (void)state;
    trl_frontend *frontend = frontend_of("");
    const trl_frontend_field *f;
    size_t count = 0;
    for (; (f = trl_frontend_field_at(count)); count++) {
        char line[64];
        snprintf(line, sizeof line, "%s%s = ", count ? "\n" : "", f->name);
        assert_non_null(strstr(trl_frontend_description(frontend), line));
        assert_true(strlen(f->help) > 3 && strlen(f->values) > 3);
    }
    assert_true(count >= 35);
    trl_frontend_destroy(frontend);
}

static void test_parsing(void **state)
{
    (void)state;
    trl_frontend_options o = options_of("");
    const char *text = "# comment\r\n\r\n  preset = fbank \r\n\tframe-ms=20\r\nwindow = hann\n";
    assert_int_equal(trl_frontend_parse(&o, text, "f", &err), 0);
    assert_true(o.kind == TRL_FBANK && o.frame_ms == 20 && o.window == TRL_HANN);
    const struct {
        const char *text, *saying, *also;
        int code;
    } wrong[] = {
        {"rate = 8000\nframe_ms = -3", "conf:2: frame_ms = -3", "from 1 to 1000", TRL_EINVAL},
        {"window = triangle", "conf:1: window = triangle", "povey | hamming", TRL_EINVAL},
        {"\n\nfoo = 3", "conf:3: a front end has no 'foo'", "mel_bins", TRL_EINVAL},
        {"rate", "conf:1: not a line", "key = value", TRL_EFORMAT},
        {"= 3", "conf:1: not a line", "", TRL_EFORMAT},
        {"rate of it = 8000", "conf:1: not a line", "", TRL_EFORMAT},
        {"preset = foo", "conf:1: there is no preset 'foo'", "plp8k", TRL_EINVAL},
        {"mel_bins = 23.5", "mel_bins = 23.5", "whole number", TRL_EINVAL},
        {"mel_bins = 23x", "mel_bins = 23x", "whole number", TRL_EINVAL},
        {"mel_bins = ", "mel_bins = ", "whole number", TRL_EINVAL},
        {"mel_bins = 99999999999", "mel_bins = 99999999999", "3 to 512", TRL_EINVAL},
        {"rate = nan", "rate = nan", "", TRL_EINVAL},
        {"rate = inf", "rate = inf", "", TRL_EINVAL},
        {"seed = -1", "seed = -1", "", TRL_EINVAL},
        {"seed = 18446744073709551615", "seed = 18446744073709551615", "", TRL_EINVAL},
        {"snip_edges = 2", "snip_edges = 2", "0 | 1", TRL_EINVAL},
        {"transform = 2 2 1 2 3", "conf:1: transform: number 4 of 4", "", TRL_EFORMAT},
        {"transform = 1 2 1 2 3", "more than 1 x 2", "", TRL_EFORMAT},
        {"transform = 1000000 1000000 1", "transform: rows, columns", "", TRL_EFORMAT},
        {"transform = -1 -1 1", "transform: rows, columns", "", TRL_EFORMAT},
        {"transform = 1 1 1e39", "number 1 of 1", "", TRL_EFORMAT},
        {"transform = 1 1 nan", "number 1 of 1", "", TRL_EFORMAT},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o = options_of("");
        if (trl_frontend_parse(&o, wrong[i].text, "conf", &err) != wrong[i].code)
            fail_msg("'%s' is not refused with %d", wrong[i].text, wrong[i].code);
        assert_int_equal(err.code, wrong[i].code);
        assert_says(wrong[i].saying);
        assert_says(wrong[i].also);
        trl_matrix_free(&o.transform);
    }
    assert_int_equal(trl_frontend_set(&o, "mel_bins_", "23", &err), TRL_EINVAL);
    assert_int_equal(trl_frontend_set(&o, "mel", "23", NULL), TRL_EINVAL);
    assert_int_equal(trl_frontend_read(&o, "/nonexistent/conf", &err), TRL_ENOENT);
    assert_says("/nonexistent/conf");
}

/* A preset, wherever it stands, replaces everything, a transform too (and frees it); the last transform counts. */
static void test_preset_over_transform(void **state)
{
    (void)state;
    trl_frontend_options o = options_of("");
    assert_int_equal(trl_frontend_parse(&o, "transform = 1 2 1 2\ntransform = 2 1 3 4", "f", &err), 0);
    assert_true(o.transform.rows == 2 && o.transform.data[1] == 4);
    assert_int_equal(trl_frontend_parse(&o, "preset = plp", "f", &err), 0);
    assert_true(o.kind == TRL_PLP && o.transform.rows == 0 && o.transform.data == NULL);
}

/* ---- What is refused ---- */

static void assert_refused(const trl_frontend_options *o, const char *name)
{
    trl_frontend *frontend;
    if (trl_frontend_check(o, &err) != TRL_EINVAL)
        fail_msg("a bad %s is not refused", name);
    assert_says(name);
    assert_int_equal(trl_frontend_create(o, &frontend, NULL), TRL_EINVAL);
    assert_null(frontend);
}

#define REFUSE(member, value)                    \
    do {                                         \
        trl_frontend_options o = options_of(""); \
        o.member = value;                        \
        assert_refused(&o, #member);             \
    } while (0)
#define REFUSE_NUMBER(member, low, high) \
    do {                                 \
        REFUSE(member, low);             \
        REFUSE(member, high);            \
        REFUSE(member, NAN);             \
    } while (0)
#define REFUSE_WHOLE(member, low, high) \
    do {                                \
        REFUSE(member, low);            \
        REFUSE(member, high);           \
    } while (0)

static void test_numbers_out_of_range(void **state)
{
    (void)state;
    REFUSE_NUMBER(rate, 999, 384001);
    REFUSE_NUMBER(frame_ms, 0, 1001);
    REFUSE_NUMBER(shift_ms, -10, INFINITY);
    REFUSE_NUMBER(dither, -1, 1001);
    REFUSE_NUMBER(preemphasis, -0.1, 1.1);
    REFUSE_NUMBER(blackman, -0.1, 1.1);
    REFUSE_NUMBER(low_hz, -1, 192001);
    REFUSE_NUMBER(high_hz, -192001, 192001);
    REFUSE_NUMBER(floor, 0, INFINITY);
    REFUSE_NUMBER(lifter, -1, 1001);
    REFUSE_NUMBER(energy_floor, -1, INFINITY);
    REFUSE_NUMBER(compress, 0, 1.1);
    REFUSE_NUMBER(cepstral_scale, 0, INFINITY);
    REFUSE(seed, UINT64_MAX);
}

static void test_whole_numbers_out_of_range(void **state)
{
    (void)state;
    REFUSE_WHOLE(fft_length, -1, 131072);
    REFUSE_WHOLE(mel_bins, 2, 513);
    REFUSE_WHOLE(num_ceps, 0, 513);
    REFUSE_WHOLE(lpc_order, 0, 101);
    REFUSE_WHOLE(cmvn_window, 1, 1000001);
    REFUSE_WHOLE(cmvn_min_window, 0, 1000001);
    REFUSE_WHOLE(deltas, -1, 101);
    REFUSE_WHOLE(delta_window, 0, 1001);
    REFUSE_WHOLE(splice_left, -1, 101);
    REFUSE_WHOLE(splice_right, -1, 101);
    REFUSE_WHOLE(kind, -1, 3);
    REFUSE_WHOLE(snip_edges, -1, 2);
    REFUSE_WHOLE(remove_dc, -1, 2);
    REFUSE_WHOLE(window, -1, 5);
    REFUSE_WHOLE(spectrum, -1, 2);
    REFUSE_WHOLE(energy, -1, 3);
    REFUSE_WHOLE(energy_normalise, -1, 2);
    REFUSE_WHOLE(layout, -1, 2);
    REFUSE_WHOLE(cmvn, -1, 5);
    REFUSE_WHOLE(cmvn_variance, -1, 2);
    REFUSE_WHOLE(cmvn_center, -1, 2);
}

static void test_what_does_not_go_together(void **state)
{
    (void)state;
    const char *const wrong[][2] = {
        {"fft_length=500", "fft_length = 500"},
        {"fft_length=256", "fft_length = 256"},
        {"frame_ms=1 rate=1000", "frames of 1 "},
        {"shift_ms=0.1 rate=1000", "every 0"},
        {"rate=384000 frame_ms=1000", "frame_ms"},
        {"high_hz=8001", "8001"},
        {"high_hz=-7990", "filterbank"},
        {"low_hz=8000", "filterbank"},
        {"num_ceps=24", "num_ceps = 24"},
        {"kind=plp num_ceps=14", "num_ceps = 14"},
        {"kind=plp lpc_order=24", "lpc_order = 24"},
        {"energy=none energy_normalise=1", "energy_normalise"},
        {"cmvn=sliding cmvn_window=50", "cmvn_min_window = 100"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        trl_frontend_options o = options_of(wrong[i][0]);
        assert_refused(&o, wrong[i][1]);
    }
    trl_frontend *frontend;
    trl_frontend_options o = options_of("mel_bins=200"); /* the lowest filters fall between two points of the FFT */
    assert_int_equal(trl_frontend_create(&o, &frontend, &err), TRL_EINVAL);
    assert_says("covers no FFT bin");
    o = options_of("");
    o.transform = random_matrix(2, 12, 1);
    assert_int_equal(trl_frontend_create(&o, &frontend, &err), TRL_EINVAL);
    assert_says("12 columns, but frames have 13");
    o.transform.cols = o.transform.stride = 13;
    o.transform.rows = 1;
    o.transform.data[12] = NAN; /* a description could not hold it */
    o.transform.data[13] = 0;
    assert_int_equal(trl_frontend_create(&o, &frontend, &err), TRL_EINVAL);
    assert_says("NaN");
    trl_matrix_free(&o.transform);
}

/* ---- Dimensions ---- */

static void test_presets(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("preset=plp8k splice_left=4 splice_right=4"); /* the paper's front end */
    const trl_frontend_options *o = trl_frontend_get(f);
    assert_true(o->kind == TRL_PLP && o->rate == 8000 && o->num_ceps == 13);
    assert_int_equal(f->length, 200);
    assert_int_equal(f->shift, 80);
    assert_int_equal(f->fft, 512);
    assert_int_equal(trl_frontend_static_dim(f), 13);
    assert_int_equal(trl_frontend_dim(f), 117);
    for (int i = 0; i < 200; i++) /* raised cosine */
        assert_true(fabs((double)f->window[i] - (0.5 - 0.5 * cos(turn * i / 199))) < 1e-7);
    trl_frontend_destroy(f);
    f = frontend_of("preset=htk deltas=2");
    assert_int_equal(trl_frontend_dim(f), 39);
    assert_int_equal(trl_frontend_get(f)->mel_bins, 26);
    trl_frontend_destroy(f);
    f = frontend_of("preset=fbank energy=raw");
    assert_int_equal(trl_frontend_dim(f), 24);
    trl_frontend_destroy(f);
    trl_frontend_options unused;
    assert_int_equal(trl_frontend_preset(&unused, "MFCC", &err), TRL_EINVAL);
    assert_says("mfcc, fbank, plp, plp8k, htk");
}

static size_t frames_by_counting(int snip, size_t length, size_t shift, size_t samples)
{
    size_t frames = 0;
    while (snip ? frames * shift + length <= samples : frames * shift + (shift - shift / 2) <= samples)
        frames++;
    return frames;
}

/* snip_edges: as many as fit; without: every shift whose middle (rounded up) lies in the sound. */
static void test_frame_counts(void **state)
{
    (void)state;
    const char *const settings[] = {"rate=1000 frame_ms=25 shift_ms=10 snip_edges=%d mel_bins=3 num_ceps=3",
                                    "rate=1000 frame_ms=7 shift_ms=1 snip_edges=%d mel_bins=3 num_ceps=3",
                                    "rate=1000 frame_ms=10 shift_ms=23 snip_edges=%d mel_bins=3 num_ceps=3",
                                    "rate=1000 frame_ms=16 shift_ms=16 snip_edges=%d mel_bins=3 num_ceps=3"};
    float *samples = make_signal(SIGNAL_NOISE, 200, 1000, 1);
    for (int i = 0; i < 8; i++) {
        char text[200];
        snprintf(text, sizeof text, settings[i / 2], i % 2);
        trl_frontend *f = frontend_of(text);
        for (size_t n = 0; n < 130; n++) {
            size_t expected = frames_by_counting(i % 2, (size_t)f->length, (size_t)f->shift, n);
            assert_int_equal(trl_frontend_frames(f, n), expected);
            trl_matrix frames = frames_of(f, samples, n);
            assert_int_equal(frames.rows, expected);
            trl_matrix_free(&frames);
        }
        trl_frontend_destroy(f);
    }
    free(samples);
}

/* ---- Memory that runs out ---- */

static void test_memory(void **state)
{
    (void)state;
    const char *settings = "kind=plp cmvn=sliding cmvn_window=100 deltas=2 splice_left=1";
    trl_frontend_options o = options_of(settings);
    o.transform = random_matrix(3, 78, 1);
    float *samples = make_signal(SIGNAL_NOISE, 4000, RATE, 1);
    int code = TRL_ENOMEM;
    long n = 1;
    for (; code == TRL_ENOMEM && n < 200; n++) {
        trl_frontend *f = NULL;
        trl_extractor *x = NULL;
        trl_matrix frames = {0};
        trl__memory_fail_after(n);
        code = trl_frontend_create(&o, &f, &err);
        if (code == 0)
            code = trl_extractor_create(f, &x, &err);
        if (code == 0)
            code = trl_extractor_run(x, samples, 4000, NULL, &frames, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || (code == TRL_ENOMEM && err.code == TRL_ENOMEM));
        trl_matrix_free(&frames);
        trl_extractor_destroy(x);
        trl_frontend_destroy(f);
    }
    assert_int_equal(code, 0);
    assert_true(n > 20);
    trl_matrix_free(&o.transform);
    free(samples);
}

/* ---- Samples and matrices that don't fit ---- */

static void test_samples_that_are_no_sound(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY, 2e10f};
    float samples[20000] = {0};
    trl_frontend *f = frontend_of("");
    trl_extractor *x = extractor_of(f);
    trl_matrix frames = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        samples[17000] = bad[i];
        assert_int_equal(trl_extractor_run(x, samples, 20000, NULL, &frames, &err), TRL_ENUMBER);
        assert_non_null(strstr(err.text, "sample 17000 is"));
    }
    samples[17000] = 1e10f; /* the loudest that counts: every number stays finite */
    assert_int_equal(trl_extractor_run(x, samples, 20000, NULL, &frames, &err), 0);
    for (size_t i = 0; i < frames.rows * frames.cols; i++)
        assert_true(isfinite(frames.data[i]));
    trl_matrix_free(&frames);
    trl_extractor_destroy(x);
    trl_frontend_destroy(f);
}

static void test_rows_of_another_width(void **state)
{
    (void)state;
    float samples[2000] = {0};
    trl_frontend *f = frontend_of("");
    trl_extractor *x = extractor_of(f);
    trl_matrix frames = {0};
    assert_int_equal(trl_matrix_resize(&frames, 1, 12, &err), 0);
    assert_int_equal(trl_extractor_begin(x, NULL, &err), 0);
    assert_int_equal(trl_extractor_push(x, samples, 2000, &frames, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "rows of 13 values can't be added to a matrix of 12 columns"));
    trl_matrix_free(&frames);
    trl_extractor_destroy(x);
    trl_frontend_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_round_trip_of_transform),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_parsing),
        cmocka_unit_test(test_preset_over_transform),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_whole_numbers_out_of_range),
        cmocka_unit_test(test_what_does_not_go_together),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_frame_counts),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_samples_that_are_no_sound),
        cmocka_unit_test(test_rows_of_another_width),
    };
    return RUN(tests);
}
