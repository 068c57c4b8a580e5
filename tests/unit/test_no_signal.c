/* Frames that hold nothing: which ones do, what stands for them, and that they count nowhere. */
#include "front_end.h"

#include "feat/cmvn.h"
#include "feat/no_signal.h"

#define RATE 16000
#define LENGTH 400 /* samples of a frame */
#define SHIFT 160

static trl_error err;

/* ---- Which frames ---- */

static int holds(const float *samples)
{
    trl_frontend_options o = options_of("");
    return trl__holds_signal(&o, samples, LENGTH);
}

/* As 16-bit samples are: rounded. */
static void add_noise(float *samples, size_t from, size_t to, double deviation, uint64_t seed)
{
    for (size_t i = from; i < to; i++)
        samples[i] += rintf((float)deviation * trl__random_normal(seed, 1, i));
}

static void test_noise_of_one_unit_is_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        float samples[LENGTH];
        for (size_t i = 0; i < LENGTH; i++)
            samples[i] = (float)(seed * 150) - 15000; /* an offset */
        assert_false(holds(samples));
        add_noise(samples, 0, LENGTH, 1, seed);
        assert_false(holds(samples));
        add_noise(samples, 0, LENGTH, 2, seed + 1000);
        assert_true(holds(samples));
    }
}

/* A wave of amplitude a has the deviation a / sqrt(2). */
static void test_quiet_tones_are_sound(void **state)
{
    (void)state;
    for (int hz = 150; hz < 8000; hz += 317) {
        float loud[LENGTH], faint[LENGTH];
        for (size_t i = 0; i < LENGTH; i++) {
            loud[i] = (float)(2.2 * sin(turn * hz * (double)i / RATE + 0.3));
            faint[i] = (float)(1.4 * sin(turn * hz * (double)i / RATE + 0.3));
        }
        assert_true(holds(loud));
        assert_false(holds(faint));
    }
}

static void test_most_of_the_window_decides(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++)
        for (size_t zeros = 0; zeros <= LENGTH; zeros += 40) {
            float samples[LENGTH] = {0};
            add_noise(samples, end ? zeros : 0, end ? LENGTH : LENGTH - zeros, 30, zeros);
            assert_int_equal(holds(samples), zeros <= LENGTH / 2);
        }
}

static void test_emphasised_noise_is_nothing(void **state)
{
    (void)state;
    trl_frontend_options o = options_of("preset=sphinx");
    float raw[LENGTH + 1] = {0}, samples[LENGTH];
    for (uint64_t seed = 0; seed < 50; seed++) {
        memset(raw, 0, sizeof raw);
        add_noise(raw, 0, LENGTH + 1, 1, seed);
        for (size_t i = 0; i < LENGTH; i++)
            samples[i] = raw[i + 1] - 0.97f * raw[i];
        assert_false(trl__holds_signal(&o, samples, LENGTH));
    }
}

/* ---- What stands for them ---- */

static void test_to_and_fro(void **state)
{
    (void)state;
    static const size_t wanted[] = {0, 1, 2, 3, 2, 1, 0, 1, 2};
    for (int64_t t = 0; t < 9; t++)
        assert_int_equal(trl__to_and_fro(4, t), wanted[t]);
    assert_int_equal(trl__to_and_fro(1, 7), 0);
    assert_int_equal(trl__to_and_fro(2, 3), 1);
}

static void test_quietest_rows(void **state)
{
    (void)state;
    trl_frontend_options o = options_of("");
    float data[2 * 40];
    trl_matrix rows = {.data = data, .rows = 40, .cols = 2, .stride = 2};
    size_t first = 99;
    for (size_t t = 0; t < 40; t++)
        data[2 * t] = t >= 17 && t < 27 ? -5 : 1;
    data[2 * 3] = -40; /* a single row is no stretch */
    assert_int_equal(trl__quiet_rows(&o, &rows, &first), TRL__QUIET_ROWS);
    assert_int_equal(first, 17);
    data[2 * 20] = NAN;
    assert_int_equal(trl__quiet_rows(&o, &rows, &first), TRL__QUIET_ROWS);
    assert_int_equal(first, 0); /* 9 - 40 together, where those behind row 20 have -30 + 4 */
    for (size_t t = 0; t < 40; t += 4)
        data[2 * t] = NAN;
    assert_int_equal(trl__quiet_rows(&o, &rows, &first), 3);
    assert_int_equal(first, 1);
    for (size_t t = 0; t < 40; t++)
        data[2 * t] = NAN;
    assert_int_equal(trl__quiet_rows(&o, &rows, &first), 0);
}

/* ---- Whole sounds ---- */

#define COUNT 24000 /* zeros in front, in between and at the end */
static const size_t silent[][2] = {{0, 4000}, {11000, 14600}, {22000, COUNT}};

static float *gappy_sound(void)
{
    float *samples = make_signal(SIGNAL_SPEECH, COUNT, RATE, 4);
    for (size_t g = 0; g < 3; g++)
        for (size_t i = silent[g][0]; i < silent[g][1]; i++)
            samples[i] = 0;
    return samples;
}

/* By its samples alone: more than half of the window is zeros. */
static int is_empty(size_t frame)
{
    size_t zeros = 0;
    for (size_t i = frame * SHIFT; i < frame * SHIFT + LENGTH; i++)
        for (size_t g = 0; g < 3; g++)
            zeros += i >= silent[g][0] && i < silent[g][1];
    return zeros > LENGTH / 2;
}

static trl_matrix gappy_frames(const char *settings)
{
    trl_frontend *f = frontend_of(settings);
    float *samples = gappy_sound();
    trl_matrix frames = frames_of(f, samples, COUNT);
    assert_int_equal(frames.rows, trl_frontend_frames(f, COUNT));
    free(samples);
    trl_frontend_destroy(f);
    return frames;
}

/* Frames with sound are the same bits, others are among the sounding ones; or, if it is given, the mean. */
static void test_only_empty_frames_change(void **state)
{
    (void)state;
    trl_matrix plain = gappy_frames(""), filled = gappy_frames("silence=fill"),
               mean = gappy_frames("num_ceps=3 lifter=0 silence=fill silence_mean=7,8,-9");
    size_t empty = 0;
    for (size_t t = 0; t < plain.rows; t++) {
        const float *row = trl_matrix_row(&filled, t), *given = trl_matrix_row(&mean, t);
        if (!is_empty(t)) {
            assert_memory_equal(row, trl_matrix_row(&plain, t), plain.cols * sizeof *row);
            continue;
        }
        size_t same = 0;
        while (same < plain.rows &&
               (is_empty(same) || memcmp(row, trl_matrix_row(&plain, same), plain.cols * sizeof *row) != 0))
            same++;
        assert_true(same < plain.rows);
        assert_true(given[0] == 7 && given[1] == 8 && given[2] == -9);
        empty++;
    }
    assert_in_range(empty, 50, 80); /* 9600 zeros are 60 shifts */
    trl_matrix_free(&plain);
    trl_matrix_free(&filled);
    trl_matrix_free(&mean);
}

/* Mean and variance over the utterance are those of the frames with sound. */
static void test_empty_frames_do_not_count(void **state)
{
    (void)state;
    trl_matrix plain = gappy_frames(""), filled = gappy_frames("silence=fill cmvn=utterance cmvn_variance=1");
    for (size_t i = 0; i < plain.cols; i++) {
        double n = 0, sum = 0, square = 0;
        for (size_t t = 0; t < plain.rows; t++)
            if (!is_empty(t)) {
                double x = (double)trl_matrix_row(&plain, t)[i];
                n++;
                sum += x;
                square += x * x;
            }
        double mean = sum / n, deviation = sqrt(square / n - mean * mean);
        for (size_t t = 0; t < plain.rows; t++)
            if (!is_empty(t))
                assert_true(fabs((double)trl_matrix_row(&filled, t)[i] -
                                 ((double)trl_matrix_row(&plain, t)[i] - mean) / deviation) < 1e-3);
    }
    trl_matrix_free(&plain);
    trl_matrix_free(&filled);
}

/* Derivatives are those of the rows that were filled in: of a long silence with one mean, 0 inside, and no leap of
 * energy at its edge. */
static void test_derivatives_follow(void **state)
{
    (void)state;
    trl_matrix f = gappy_frames("num_ceps=2 deltas=1 silence=fill silence_mean=1,2");
    for (size_t t = 2; t + 2 < f.rows; t++)
        for (size_t i = 0; i < 2; i++) {
            double wanted = 0;
            for (int j = 1; j <= 2; j++) /* Kaldi's regression over two frames on either side */
                wanted += j / 10.0 *
                          ((double)trl_matrix_row(&f, t + (size_t)j)[i] - (double)trl_matrix_row(&f, t - (size_t)j)[i]);
            assert_true(fabs((double)trl_matrix_row(&f, t)[2 + i] - wanted) < 1e-4);
        }
    assert_true(is_empty(10) && fabs((double)trl_matrix_row(&f, 10)[2]) < 1e-6);
    trl_matrix_free(&f);
}

/* ---- Normalisation along the sound ---- */

/* A window reaches over a gap: rows come out as if there were none. */
static void test_sliding_reaches_over(void **state)
{
    (void)state;
    for (int center = 0; center < 2; center++) {
        trl_frontend_options o = options_of("cmvn=sliding cmvn_window=30 cmvn_min_window=20 cmvn_variance=1");
        o.cmvn_center = center;
        trl_matrix rows = random_matrix(120, 3, 3);
        trl__sliding *dense, *gappy;
        assert_int_equal(trl__sliding_create(&o, 3, &dense, &err), 0);
        assert_int_equal(trl__sliding_create(&o, 3, &gappy, &err), 0);
        for (size_t t = 0; t < rows.rows; t++) {
            trl__sliding_put(dense, trl_matrix_row(&rows, t));
            trl__sliding_put(gappy, trl_matrix_row(&rows, t));
            for (int i = 0; i < 9 && t % 40 == 39; i++)
                trl__sliding_put(gappy, (const float[]){NAN, 0, 0});
            if (t < 40)
                continue; /* more than the look-ahead, less than what is kept */
            float a[3], b[3];
            while (trl__sliding_take(dense, t + 1 == rows.rows, a)) {
                do
                    assert_int_equal(trl__sliding_take(gappy, t + 1 == rows.rows, b), 1);
                while (isnan(b[0]));
                assert_memory_equal(a, b, sizeof a);
            }
        }
        trl_matrix_free(&rows);
        trl__sliding_destroy(dense);
        trl__sliding_destroy(gappy);
    }
}

/* A row is not held back by silence for longer than by sound, and what holds nothing is not held back behind it. */
static void test_sliding_does_not_wait(void **state)
{
    (void)state;
    trl_frontend_options o = options_of("cmvn=sliding cmvn_window=30 cmvn_min_window=20");
    trl__sliding *s;
    float row[1], empty[1] = {NAN}, sound[2] = {1, 3};
    assert_int_equal(trl__sliding_create(&o, 1, &s, &err), 0);
    for (int i = 0; i < 100; i++) {
        trl__sliding_put(s, empty);
        assert_int_equal(trl__sliding_take(s, 0, row), 1);
        assert_true(isnan(row[0]));
    }
    trl__sliding_put(s, &sound[0]);
    trl__sliding_put(s, &sound[1]);
    int puts = 0;
    for (; !trl__sliding_take(s, 0, row); puts++)
        trl__sliding_put(s, empty);
    assert_in_range(puts, 18, 20);
    assert_true(row[0] == -1); /* the mean is 2 */
    trl__sliding_destroy(s);
}

/* ---- What can't be ---- */

static void test_refused(void **state)
{
    (void)state;
    trl_frontend *f = frontend_of("silence=fill");
    trl_extractor *x = extractor_of(f);
    assert_int_equal(trl_extractor_begin(x, NULL, &err), TRL_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "silence_mean"));
    trl_extractor_destroy(x);
    trl_frontend_destroy(f);
    trl_frontend_options o = options_of("silence=fill silence_mean=1,2");
    assert_int_equal(trl_frontend_create(&o, &f, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "silence_mean has 2 numbers; the front end makes 13"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise_of_one_unit_is_nothing),
        cmocka_unit_test(test_quiet_tones_are_sound),
        cmocka_unit_test(test_most_of_the_window_decides),
        cmocka_unit_test(test_emphasised_noise_is_nothing),
        cmocka_unit_test(test_to_and_fro),
        cmocka_unit_test(test_quietest_rows),
        cmocka_unit_test(test_only_empty_frames_change),
        cmocka_unit_test(test_empty_frames_do_not_count),
        cmocka_unit_test(test_derivatives_follow),
        cmocka_unit_test(test_sliding_reaches_over),
        cmocka_unit_test(test_sliding_does_not_wait),
        cmocka_unit_test(test_refused),
    };
    return RUN(tests);
}
