/* The steps of a front end, each against its definition: tables, deltas, splicing, transform, normalisation, dither. */
#include "front_end.h"

#include "feat/frontend_tables.h"

#define RATE 16000

static trl_error err;

static void assert_says(const char *part)
{
    if (!strstr(err.text, part))
        fail_msg("no '%s' in: %s", part, err.text);
}

/* ---- Tables ---- */

/* Without lifter, with as many cepstra as bins, the cosine transform keeps lengths and angles. */
static void test_cosines_are_orthogonal(void **state)
{
    (void)state;
    for (int bins = 5; bins <= 40; bins += 7) {
        char text[100];
        snprintf(text, sizeof text, "lifter=0 energy=none mel_bins=%d num_ceps=%d", bins, bins);
        trl_frontend *f = frontend_of(text);
        for (int i = 0; i < bins; i++)
            for (int j = 0; j < bins; j++) {
                double product = 0;
                for (int b = 0; b < bins; b++)
                    product += (double)f->cosines[i * bins + b] * (double)f->cosines[j * bins + b];
                assert_true(fabs(product - (i == j)) < 1e-6);
            }
        trl_frontend_destroy(f);
    }
}

/* The same seen from outside: the MFCC of a sound are as long as its log-mel vectors. */
static void test_cepstra_keep_length(void **state)
{
    (void)state;
    float *samples = make_signal(SIGNAL_SPEECH, 8000, RATE, 1);
    trl_frontend *mfcc = frontend_of("lifter=0 energy=none num_ceps=23"), *fbank = frontend_of("preset=fbank");
    trl_matrix a = frames_of(mfcc, samples, 8000), b = frames_of(fbank, samples, 8000);
    assert_int_equal(a.rows, 48);
    for (size_t t = 0; t < a.rows; t++) {
        double x = 0, y = 0;
        for (size_t i = 0; i < 23; i++) {
            x += pow((double)trl_matrix_row(&a, t)[i], 2);
            y += pow((double)trl_matrix_row(&b, t)[i], 2);
        }
        assert_true(fabs(sqrt(x) - sqrt(y)) < 1e-5 * sqrt(y));
    }
    trl_matrix_free(&a);
    trl_matrix_free(&b);
    trl_frontend_destroy(mfcc);
    trl_frontend_destroy(fbank);
    free(samples);
}

static double mel(double hz)
{
    return 1127 * log(1 + hz / 700);
}

static void check_triangles(const char *settings, double low, double high)
{
    trl_frontend *f = frontend_of(settings);
    int bins = f->options.mel_bins, checked = 0;
    double step = (mel(high) - mel(low)) / (bins + 1);
    for (int k = 0; k < f->fft / 2; k++) {
        double position = (mel(f->options.rate * k / f->fft) - mel(low)) / step, total = 0; /* 1: the first centre */
        for (int b = 0; b < bins; b++) {
            const trl__mel_filter *filter = &f->filters[b];
            int at = k - filter->first;
            double weight = at >= 0 && at < filter->count ? (double)filter->weights[at] : 0;
            assert_true(fabs(weight - fmax(0, 1 - fabs(position - (b + 1)))) < 1e-5);
            total += weight;
        }
        checked += position >= 1 && position <= bins;
        if (position >= 1 && position <= bins && fabs(total - 1) > 1e-6)
            fail_msg("%s: the filters add up to %g at %g Hz", settings, total, f->options.rate * k / f->fft);
    }
    assert_true(checked > f->fft / 4);
    trl_frontend_destroy(f);
}

static void test_triangles_add_up_to_one(void **state)
{
    (void)state;
    check_triangles("", 20, 8000);
    check_triangles("preset=htk", 0, 8000);
    check_triangles("mel_bins=40 low_hz=64 high_hz=-400", 64, 7600);
    check_triangles("rate=8000 mel_bins=15 low_hz=100 high_hz=3800", 100, 3800);
}

/* ---- Deltas, splicing, transform: on rows that the test makes ---- */

/* Column i of row t: slope (i + 1) of t, plus curve (i + 1) of t². */
static trl_matrix curve_rows(size_t rows, double slope, double curve)
{
    trl_matrix m = random_matrix(rows, 13, 1);
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < 13; i++)
            trl_matrix_row(&m, t)[i] = (float)((double)(i + 1) * (slope * (double)t + curve * (double)(t * t)) + 5);
    return m;
}

static void test_deltas_of_curves(void **state)
{
    (void)state;
    for (int window = 1; window <= 4; window++) {
        char text[100];
        snprintf(text, sizeof text, "deltas=3 delta_window=%d", window);
        trl_frontend *f = frontend_of(text);
        for (int curved = 0; curved < 2; curved++) {
            double slope = 0.25, curve = curved ? 0.125 : 0;
            trl_matrix rows = curve_rows(60, slope, curve), frames = finished(f, &rows, NULL);
            assert_true(frames.rows == 60 && frames.cols == 52);
            for (size_t t = 3 * (size_t)window; t + 3 * (size_t)window < 60; t++)
                for (size_t i = 0; i < 13; i++) {
                    double x = (double)(i + 1);
                    const float *row = trl_matrix_row(&frames, t);
                    assert_true(row[i] == trl_matrix_row(&rows, t)[i]);
                    assert_true(fabs((double)row[13 + i] - x * (slope + 2 * curve * (double)t)) < 2e-3);
                    assert_true(fabs((double)row[26 + i] - x * 2 * curve) < 1e-3);
                    assert_true(fabs((double)row[39 + i]) < 1e-3);
                }
            trl_matrix_free(&rows);
            trl_matrix_free(&frames);
        }
        trl_frontend_destroy(f);
    }
}

/* The slope of the regression line through 2 w + 1 rows, the first and last repeated. */
static void test_first_delta_at_the_ends(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("deltas=1 delta_window=3");
    for (size_t count = 1; count < 12; count++) {
        trl_matrix rows = random_matrix(count, 13, 2), frames = finished(f, &rows, NULL);
        for (long t = 0; t < (long)count; t++) {
            double total = 0;
            for (long j = -3; j <= 3; j++) {
                long s = t + j < 0 ? 0 : t + j >= (long)count ? (long)count - 1 : t + j;
                total += (double)j * (double)trl_matrix_row(&rows, (size_t)s)[7] / 28;
            }
            assert_true(fabs((double)trl_matrix_row(&frames, (size_t)t)[13 + 7] - total) < 1e-6);
        }
        trl_matrix_free(&rows);
        trl_matrix_free(&frames);
    }
    trl_frontend_destroy(f);
}

static void test_splicing(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("splice_left=2 splice_right=5");
    for (size_t count = 1; count < 20; count += 3) {
        trl_matrix rows = random_matrix(count, 13, 3), frames = finished(f, &rows, NULL);
        assert_true(frames.rows == count && frames.cols == 8 * 13);
        for (long t = 0; t < (long)count; t++)
            for (long j = -2; j <= 5; j++) {
                long s = t + j < 0 ? 0 : t + j >= (long)count ? (long)count - 1 : t + j;
                assert_memory_equal(trl_matrix_row(&frames, (size_t)t) + (j + 2) * 13, trl_matrix_row(&rows, (size_t)s),
                                    13 * sizeof(float));
            }
        trl_matrix_free(&rows);
        trl_matrix_free(&frames);
    }
    trl_frontend_destroy(f);
}

static void check_transform(size_t columns)
{
    trl_frontend_options o = options_of("deltas=1 splice_left=1");
    trl_frontend *plain = frontend_from(&o);
    o.transform = random_matrix(7, columns, 4);
    trl_frontend *f = frontend_from(&o);
    memset(o.transform.data, 0, o.transform.rows * o.transform.cols * sizeof(float)); /* the front end has a copy */
    trl_matrix_free(&o.transform);
    o.transform = random_matrix(7, columns, 4);
    trl_matrix rows = random_matrix(9, 13, 5), before = finished(plain, &rows, NULL), after = finished(f, &rows, NULL);
    assert_int_equal(trl_frontend_dim(f), 7);
    assert_true(before.cols == 52 && after.rows == 9 && after.cols == 7);
    for (size_t t = 0; t < 9; t++)
        for (size_t r = 0; r < 7; r++) {
            const float *weights = trl_matrix_row(&o.transform, r);
            double total = columns == 53 ? (double)weights[52] : 0;
            for (size_t i = 0; i < 52; i++)
                total += (double)weights[i] * (double)trl_matrix_row(&before, t)[i];
            assert_true(fabs((double)trl_matrix_row(&after, t)[r] - total) < 1e-5);
        }
    trl_matrix_free(&rows);
    trl_matrix_free(&before);
    trl_matrix_free(&after);
    trl_matrix_free(&o.transform);
    trl_frontend_destroy(plain);
    trl_frontend_destroy(f);
}

static void test_transform(void **state)
{
    (void)state;
    check_transform(52);
    check_transform(53);
}

/* ---- Normalisation ---- */

static void check_moments(const trl_matrix *frames, int variance)
{
    for (size_t i = 0; i < 13; i++) {
        double sum = 0, square = 0, n = (double)frames->rows;
        for (size_t t = 0; t < frames->rows; t++) {
            double x = (double)trl_matrix_row(frames, t)[i];
            sum += x;
            square += x * x;
        }
        assert_true(fabs(sum / n) < 1e-5);
        if (variance)
            assert_true(fabs(square / n - 1) < 1e-4);
    }
}

static void test_utterance_cmvn(void **state)
{
    (void)state;
    float *samples = make_signal(SIGNAL_SPEECH, 16000, RATE, 1);
    for (int variance = 0; variance < 2; variance++) {
        trl_frontend *f = frontend_of(variance ? "cmvn=utterance cmvn_variance=1" : "cmvn=utterance");
        trl_frontend *plain = frontend_of("");
        trl_matrix frames = frames_of(f, samples, 16000), raw = frames_of(plain, samples, 16000);
        check_moments(&frames, variance);
        double before = (double)(trl_matrix_row(&raw, 1)[3] - trl_matrix_row(&raw, 0)[3]);
        double after = (double)(trl_matrix_row(&frames, 1)[3] - trl_matrix_row(&frames, 0)[3]);
        assert_true((fabs(before - after) < 1e-4) == !variance); /* without variance only the mean moves */
        trl_matrix_free(&frames);
        trl_matrix_free(&raw);
        trl_frontend_destroy(f);
        trl_frontend_destroy(plain);
    }
    free(samples);
}

/* A speaker's sums over two utterances give both together mean 0 and variance 1. */
static void test_speaker_cmvn(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("cmvn=speaker cmvn_variance=1");
    trl_extractor *x = extractor_of(f);
    trl_matrix a = curve_rows(20, 0.1, 0), b = random_matrix(30, 13, 6), frames = {0}, both = {0};
    trl_cmvn *speaker, *other;
    assert_int_equal(trl_cmvn_create(13, &speaker, &err), 0);
    assert_int_equal(trl_cmvn_create(12, &other, &err), 0);
    trl_cmvn_add(speaker, &a);
    trl_cmvn_add(speaker, &b);
    assert_int_equal(trl_matrix_resize(&both, 50, 13, &err), 0);
    assert_int_equal(trl_extractor_finish(x, &a, speaker, &frames, &err), 0);
    memcpy(both.data, frames.data, 20 * 13 * sizeof(float));
    assert_int_equal(trl_extractor_finish(x, &b, speaker, &frames, &err), 0);
    memcpy(both.data + 20 * 13, frames.data, 30 * 13 * sizeof(float));
    check_moments(&both, 1);
    assert_int_equal(trl_extractor_finish(x, &a, NULL, &frames, &err), TRL_EINVAL);
    assert_says("speaker's sums over 13");
    assert_int_equal(trl_extractor_finish(x, &a, other, &frames, &err), TRL_EINVAL);
    assert_int_equal(trl_extractor_begin(x, other, &err), TRL_EINVAL);
    assert_int_equal(trl_extractor_begin(x, NULL, &err), TRL_EINVAL);
    assert_int_equal(trl_extractor_begin(x, speaker, &err), 0);
    a.cols = a.stride = 12;
    assert_int_equal(trl_extractor_finish(x, &a, speaker, &frames, &err), TRL_EINVAL);
    assert_says("12 values");
    trl_matrix_free(&a);
    trl_matrix_free(&b);
    trl_matrix_free(&both);
    trl_matrix_free(&frames);
    trl_cmvn_destroy(speaker);
    trl_cmvn_destroy(other);
    trl_extractor_destroy(x);
    trl_frontend_destroy(f);
}

/* HTK's ENORMALISE: E becomes 1 - 0.1 (max - E), and never less than what 50 dB below the maximum gives. */
static void check_normalised_energy(const char *preset, size_t column)
{
    char settings[100];
    snprintf(settings, sizeof settings, "preset=%s energy=raw", preset);
    trl_frontend *plain = frontend_of(settings);
    strcat(settings, " energy_normalise=1");
    trl_frontend *f = frontend_of(settings);
    float *samples = make_signal(SIGNAL_SPEECH, 16000, RATE, 1);
    for (size_t i = 8000; i < 12000; i++)
        samples[i] *= 1e-4f; /* far below 50 dB */
    trl_matrix raw = frames_of(plain, samples, 16000), frames = frames_of(f, samples, 16000);
    double most = -1e9;
    size_t cut = 0;
    for (size_t t = 0; t < raw.rows; t++)
        most = fmax(most, (double)trl_matrix_row(&raw, t)[column]);
    for (size_t t = 0; t < raw.rows; t++) {
        double energy = (double)trl_matrix_row(&raw, t)[column], least = most - 5 * log(10);
        cut += energy < least;
        double expected = 1 - 0.1 * (most - fmax(energy, least));
        assert_true(fabs((double)trl_matrix_row(&frames, t)[column] - expected) < 1e-5);
        assert_true(trl_matrix_row(&frames, t)[5] == trl_matrix_row(&raw, t)[5]);
    }
    assert_true(cut > 5);
    trl_matrix_free(&raw);
    trl_matrix_free(&frames);
    trl_frontend_destroy(plain);
    trl_frontend_destroy(f);
    free(samples);
}

static void test_normalised_energy(void **state)
{
    (void)state;
    check_normalised_energy("mfcc", 0);
    check_normalised_energy("htk", 12);
    check_normalised_energy("plp", 0);
}

static void test_what_cannot_stream(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("cmvn=utterance");
    trl_extractor *x = extractor_of(f);
    assert_int_equal(trl_extractor_begin(x, NULL, &err), TRL_EUNSUPPORTED);
    assert_says("cmvn = sliding");
    trl_extractor_destroy(x);
    trl_frontend_destroy(f);
    f = frontend_of("energy_normalise=1");
    x = extractor_of(f);
    assert_int_equal(trl_extractor_begin(x, NULL, &err), TRL_EUNSUPPORTED);
    assert_says("energy_normalise");
    /* Static rows that were taken away piece by piece can't be normalised any more. */
    float *samples = make_signal(SIGNAL_NOISE, 8000, RATE, 1);
    trl_matrix frames = {0};
    assert_int_equal(trl_extractor_begin_static(x, &err), 0);
    assert_int_equal(trl_extractor_push(x, samples, 8000, &frames, &err), 0);
    frames.rows = 0;
    assert_int_equal(trl_extractor_end(x, &frames, &err), TRL_EINVAL);
    trl_matrix_free(&frames);
    free(samples);
    trl_extractor_destroy(x);
    trl_frontend_destroy(f);
}

/* ---- Dither ---- */

/* Frames that do not overlap, of raw energy: silence with dither d has d² per sample, another seed other numbers. */
static void test_dither(void **state)
{
    (void)state;
    const char *const seeds[] = {"seed=1", "seed=1", "seed=2"};
    trl_matrix frames[3];
    float *silence = make_signal(SIGNAL_SILENCE, 40000, RATE, 1);
    for (int i = 0; i < 3; i++) {
        char settings[100];
        snprintf(settings, sizeof settings, "dither=3 shift_ms=25 remove_dc=0 %s", seeds[i]);
        trl_frontend *f = frontend_of(settings);
        frames[i] = frames_of(f, silence, 40000);
        trl_frontend_destroy(f);
    }
    assert_same_bits(&frames[0], &frames[1], "the same seed");
    assert_true(memcmp(frames[0].data, frames[2].data, frames[0].rows * 13 * sizeof(float)) != 0);
    double total = 0;
    assert_int_equal(frames[0].rows, 100);
    for (size_t t = 0; t < 100; t++)
        total += exp((double)trl_matrix_row(&frames[0], t)[0]);
    /* 40,000 squares of normal numbers: the mean's standard deviation is 0.7 % */
    assert_true(fabs(total / 40000 / 9 - 1) < 0.03);
    for (int i = 0; i < 3; i++)
        trl_matrix_free(&frames[i]);
    free(silence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cosines_are_orthogonal),
        cmocka_unit_test(test_cepstra_keep_length),
        cmocka_unit_test(test_triangles_add_up_to_one),
        cmocka_unit_test(test_deltas_of_curves),
        cmocka_unit_test(test_first_delta_at_the_ends),
        cmocka_unit_test(test_splicing),
        cmocka_unit_test(test_transform),
        cmocka_unit_test(test_utterance_cmvn),
        cmocka_unit_test(test_speaker_cmvn),
        cmocka_unit_test(test_normalised_energy),
        cmocka_unit_test(test_what_cannot_stream),
        cmocka_unit_test(test_dither),
    };
    return RUN(tests);
}
