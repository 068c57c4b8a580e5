/* Sound divided in any way gives the same bits as in one go; parts put together are the whole; sliding normalisation is
 * what its definition says. */
#include "front_end.h"

#define RATE 8000
#define MOST 9000 /* samples */

static trl_error err;

static const char *const described[] = {
    "rate=8000",
    "rate=8000 snip_edges=0",
    "rate=8000 dither=1.5 seed=3 deltas=1",
    "rate=8000 snip_edges=0 dither=1 deltas=3 delta_window=4",
    "preset=plp8k deltas=2 splice_left=4 splice_right=4",
    "preset=htk rate=8000 energy=raw deltas=2",
    "preset=sphinx rate=8000 high_hz=3500 mel_bins=15 cmvn=live cmvn_prior=40,3,-1 splice_left=3 splice_right=3",
    "preset=fbank rate=8000 energy=windowed splice_left=3",
    "rate=8000 cmvn=sliding cmvn_window=30 cmvn_min_window=10 deltas=2",
    "rate=8000 cmvn=sliding cmvn_window=30 cmvn_min_window=10 cmvn_variance=1 splice_right=2",
    "rate=8000 cmvn=sliding cmvn_window=21 cmvn_min_window=1 cmvn_center=1 cmvn_variance=1 deltas=1",
    "rate=8000 cmvn=sliding cmvn_window=2 cmvn_min_window=2 cmvn_center=1 snip_edges=0",
    "rate=8000 cmvn=sliding cmvn_window=600 cmvn_min_window=100 cmvn_center=1",
    "rate=8000 frame_ms=10 shift_ms=37 deltas=1",
    "rate=8000 frame_ms=10 shift_ms=37 snip_edges=0 splice_left=1 splice_right=1",
    "rate=8000 frame_ms=200 shift_ms=3 snip_edges=0 mel_bins=10 num_ceps=5",
    /* odd: the last frame of 1036 samples mirrors one that lies before its start */
    "rate=8000 frame_ms=10.2 shift_ms=37 snip_edges=0",
    "rate=8000 cmvn=speaker cmvn_variance=1 deltas=1",
    "rate=8000 deltas=2 num_ceps=2 silence=fill silence_mean=3,-1",
    ("rate=8000 snip_edges=0 cmvn=sliding cmvn_window=30 cmvn_min_window=10 deltas=1 num_ceps=2 silence=fill "
     "silence_mean=3,-1"),
    ("rate=8000 cmvn=sliding cmvn_window=600 cmvn_min_window=100 cmvn_center=1 num_ceps=2 silence=fill "
     "silence_mean=3,-1"),
    ("preset=sphinx rate=8000 high_hz=3500 mel_bins=15 num_ceps=2 cmvn=live cmvn_prior=40,3 silence=fill "
     "silence_mean=3,-1"),
};
#define DESCRIBED (sizeof described / sizeof *described)

static uint32_t pick(uint64_t stream, uint64_t index, uint32_t below)
{
    return trl__random_bits(5, stream, index) % below;
}

/* Any sums serve as a speaker's, if all use the same. */
static trl_cmvn *some_speaker(size_t dim)
{
    trl_cmvn *speaker;
    trl_matrix rows = random_matrix(50, dim, 9);
    assert_int_equal(trl_cmvn_create(dim, &speaker, &err), 0);
    trl_cmvn_add(speaker, &rows);
    trl_matrix_free(&rows);
    return speaker;
}

static trl_matrix in_one_go(trl_extractor *x, const float *samples, size_t count, const trl_cmvn *speaker)
{
    trl_matrix frames = {0};
    if (trl_extractor_run(x, samples, count, speaker, &frames, &err) < 0)
        fail_msg("%s", err.text);
    return frames;
}

/* Pieces of no, one, a few or many samples. */
static trl_matrix in_pieces(trl_extractor *x, const float *samples, size_t count, const trl_cmvn *speaker, uint64_t way)
{
    static const uint32_t sizes[] = {1, 2, 7, 300, 5000};
    trl_matrix frames = {0};
    frames.cols = frames.stride = 1; /* leftovers of an earlier use are nobody's concern */
    assert_int_equal(trl_extractor_begin(x, speaker, &err), 0);
    uint32_t most = sizes[way % 5];
    for (size_t done = 0, i = 0; done < count; i++) {
        size_t piece = pick(way, i, most + 1);
        piece = piece < count - done ? piece : count - done;
        assert_int_equal(trl_extractor_push(x, samples + done, piece, &frames, &err), 0);
        done += piece;
    }
    assert_int_equal(trl_extractor_end(x, &frames, &err), 0);
    return frames;
}

static void check_lengths(const trl_frontend *f, const char *what, const size_t *counts, size_t lengths)
{
    trl_extractor *one = extractor_of(f), *other = extractor_of(f);
    trl_cmvn *speaker = some_speaker((size_t)trl_frontend_static_dim(f));
    float *samples = make_signal(SIGNAL_SPEECH, MOST, RATE, 2);
    memset(samples + 100, 0, 150 * sizeof *samples); /* digital zeros, short and long */
    memset(samples + 1500, 0, 2400 * sizeof *samples);
    for (size_t i = 0; i < lengths; i++) {
        trl_matrix whole = in_one_go(one, samples, counts[i], speaker);
        assert_int_equal(whole.rows, trl_frontend_frames(f, counts[i]));
        for (uint64_t way = i; way < i + 5; way++) {
            trl_matrix pieces = in_pieces(other, samples, counts[i], speaker, way);
            if (whole.rows > 0 || pieces.rows > 0)
                assert_same_bits(&pieces, &whole, what);
            trl_matrix_free(&pieces);
        }
        trl_matrix_free(&whole);
    }
    free(samples);
    trl_cmvn_destroy(speaker);
    trl_extractor_destroy(one);
    trl_extractor_destroy(other);
}

static void test_pieces(void **state)
{
    (void)state;
    for (size_t d = 0; d < DESCRIBED; d++) {
        trl_frontend *f = frontend_of(described[d]);
        const size_t counts[] = {MOST, 0, 1, 2, 39, 40, 41, 199, 200, 201, 279, 280, 281, 1036, 4321};
        check_lengths(f, described[d], counts, sizeof counts / sizeof *counts);
        trl_frontend_destroy(f);
    }
}

/* Longer than the extractor's buffer, so that samples are forgotten in between. */
static void test_long_sound(void **state)
{
    (void)state;
    const char *const settings[] = {"rate=8000 mel_bins=10 num_ceps=5",
                                    "rate=8000 mel_bins=10 num_ceps=5 snip_edges=0 frame_ms=100 shift_ms=130",
                                    "rate=8000 mel_bins=10 num_ceps=5 frame_ms=10 shift_ms=1000 snip_edges=0"};
    size_t count = 70001;
    float *samples = make_signal(SIGNAL_NOISE, count, RATE, 3);
    for (size_t s = 0; s < 3; s++) {
        trl_frontend *f = frontend_of(settings[s]);
        trl_extractor *x = extractor_of(f);
        trl_matrix whole = in_one_go(x, samples, count, NULL);
        for (uint64_t way = 3; way < 5; way++) {
            trl_matrix pieces = in_pieces(x, samples, count, NULL, way);
            assert_same_bits(&pieces, &whole, settings[s]);
            trl_matrix_free(&pieces);
        }
        size_t shift = (size_t)(trl_frontend_get(f)->shift_ms * 8), middle = whole.rows / 2;
        if (trl_frontend_get(f)->snip_edges) { /* and a frame far inside is the frame of its own samples */
            trl_matrix part = in_one_go(x, samples + middle * shift, 200, NULL);
            assert_int_equal(part.rows, 1);
            assert_memory_equal(part.data, trl_matrix_row(&whole, middle), part.cols * sizeof(float));
            trl_matrix_free(&part);
        }
        trl_matrix_free(&whole);
        trl_extractor_destroy(x);
        trl_frontend_destroy(f);
    }
    free(samples);
}

/* An extractor remembers nothing of the sound before, not even of one that was broken off. */
static void test_several_utterances(void **state)
{
    (void)state;
    for (size_t d = 0; d < DESCRIBED; d++) {
        trl_frontend *f = frontend_of(described[d]);
        trl_extractor *x = extractor_of(f);
        trl_cmvn *speaker = some_speaker((size_t)trl_frontend_static_dim(f));
        float *a = make_signal(SIGNAL_SPEECH, 4000, RATE, 4), *b = make_signal(SIGNAL_NOISE, 3000, RATE, 5);
        trl_matrix first = in_one_go(x, a, 4000, speaker), unfinished = {0};
        assert_int_equal(trl_extractor_begin(x, speaker, &err), 0);
        assert_int_equal(trl_extractor_push(x, b, 3000, &unfinished, &err), 0);
        trl_matrix again = in_pieces(x, a, 4000, speaker, 3);
        assert_same_bits(&again, &first, described[d]);
        trl_matrix_free(&again);
        again = in_one_go(x, a, 4000, speaker);
        assert_same_bits(&again, &first, described[d]);
        trl_matrix_free(&again);
        trl_matrix_free(&unfinished);
        trl_matrix_free(&first);
        free(a);
        free(b);
        trl_cmvn_destroy(speaker);
        trl_extractor_destroy(x);
        trl_frontend_destroy(f);
    }
}

/* Static rows of the samples from k shifts on are the rows from k on; parts that overlap by what a frame is longer than
 * a shift, put together, are the whole. */
static void test_parts_are_the_whole(void **state)
{
    (void)state;
    const char *const settings[] = {"rate=8000", "preset=plp8k", "preset=fbank rate=8000",
                                    "preset=htk rate=8000 energy=raw", "rate=8000 frame_ms=10 shift_ms=15"};
    float *samples = make_signal(SIGNAL_SPEECH, MOST, RATE, 6);
    for (size_t s = 0; s < 5; s++) {
        trl_frontend *f = frontend_of(settings[s]);
        trl_extractor *x = extractor_of(f);
        trl_matrix whole = in_one_go(x, samples, MOST, NULL);
        size_t shift = (size_t)(trl_frontend_get(f)->shift_ms * 8),
               length = (size_t)(trl_frontend_get(f)->frame_ms * 8);
        size_t row = 0;
        for (uint64_t i = 0; row < whole.rows; i++) {
            size_t rows = 1 + pick(s, i, 20);
            rows = rows < whole.rows - row ? rows : whole.rows - row;
            trl_matrix part = in_one_go(x, samples + row * shift, (rows - 1) * shift + length, NULL);
            assert_int_equal(part.rows, rows);
            assert_memory_equal(part.data, trl_matrix_row(&whole, row), rows * part.cols * sizeof(float));
            trl_matrix_free(&part);
            row += rows;
        }
        trl_matrix_free(&whole);
        trl_extractor_destroy(x);
        trl_frontend_destroy(f);
    }
    free(samples);
}

/* ---- Sliding normalisation ---- */

typedef struct sliding_case {
    int window, least, center, variance, prior; /* prior: frames of the mean 0.5, -2, 0, 0 … */
} sliding_case;

/* The frames that normalise frame t of n. Not centred: t - window … t, at the beginning at least the first `least`.
 * Centred: `window` frames around t, pushed inwards at both ends. Never beyond the n frames there are. */
static void naive_window(const sliding_case *c, long t, long n, long *from, long *to)
{
    if (c->center) {
        long size = c->window < n ? c->window : n;
        *from = t - c->window / 2;
        *from = *from < 0 ? 0 : *from + size > n ? n - size : *from;
        *to = *from + size;
    } else {
        *from = t < c->window ? 0 : t - c->window;
        *to = t + 1 < c->least ? c->least : t + 1;
        *to = *to < n ? *to : n;
    }
}

static double naive_value(const trl_matrix *rows, const sliding_case *c, long t, size_t i)
{
    long from, to;
    double mean = 0, spread = 0;
    naive_window(c, t, (long)rows->rows, &from, &to);
    for (long s = from; s < to; s++)
        mean += (double)trl_matrix_row(rows, (size_t)s)[i] / (double)(to - from);
    for (long s = from; s < to; s++)
        spread += pow((double)trl_matrix_row(rows, (size_t)s)[i] - mean, 2) / (double)(to - from);
    double prior = i == 0 ? mean : i == 1 ? -2 : 0; /* the level, coefficient 0, has none */
    for (size_t k = 1; k < rows->cols && c->prior > 0;
         k++) { /* 2.5 deviations off, a prior is that of another channel */
        double of = 0, square = 0;
        for (long s = from; s < to; s++) {
            double x = (double)trl_matrix_row(rows, (size_t)s)[k];
            of += x / (double)(to - from);
            square += x * x / (double)(to - from);
        }
        double off = (k == 1 ? -2 : 0) - of;
        if (off * off > 2.5 * 2.5 * fmax(square - of * of, 1e-10))
            return naive_value(rows, &(sliding_case){c->window, c->least, c->center, c->variance, 0}, t, i);
    }
    mean = (mean * (double)(to - from) + prior * c->prior) / (double)(to - from + c->prior);
    double x = (double)trl_matrix_row(rows, (size_t)t)[i] - mean;
    return c->variance ? x / sqrt(fmax(spread, 1e-10)) : x;
}

static void test_sliding_normalisation(void **state)
{
    (void)state;
    const sliding_case cases[] = {{10, 5, 0, 0, 0},    {10, 10, 0, 1, 0},   {10, 1, 1, 0, 0},  {11, 1, 1, 1, 0},
                                  {2, 2, 0, 0, 0},     {3, 1, 1, 0, 0},     {40, 30, 0, 1, 0}, {40, 30, 1, 1, 0},
                                  {600, 100, 0, 0, 0}, {600, 100, 1, 1, 0}, {20, 5, 0, 0, 7},  {20, 20, 1, 1, 100}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t n = 2; n < 110; n += n < 14 ? 1 : 31) {
            char settings[200];
            snprintf(settings, sizeof settings,
                     "cmvn=sliding cmvn_window=%d cmvn_min_window=%d cmvn_center=%d cmvn_variance=%d "
                     "cmvn_prior=0.5,-2 cmvn_prior_frames=%d",
                     cases[c].window, cases[c].least, cases[c].center, cases[c].variance, cases[c].prior);
            trl_frontend *f = frontend_of(settings);
            trl_matrix rows = random_matrix(n, 13, 7), frames = finished(f, &rows, NULL);
            assert_int_equal(frames.rows, n);
            for (size_t t = 0; t < n; t++)
                for (size_t i = 0; i < 13; i++) {
                    double expected = naive_value(&rows, &cases[c], (long)t, i), got = trl_matrix_row(&frames, t)[i];
                    if (!(fabs(got - expected) < 1e-4))
                        fail_msg("%s: row %zu of %zu: %g instead of %g", settings, t, n, got, expected);
                }
            trl_matrix_free(&rows);
            trl_matrix_free(&frames);
            trl_frontend_destroy(f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_long_sound),
        cmocka_unit_test(test_several_utterances),
        cmocka_unit_test(test_parts_are_the_whole),
        cmocka_unit_test(test_sliding_normalisation),
    };
    return RUN(tests);
}
