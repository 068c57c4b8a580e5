/* The kernels that turn samples into static coefficients: the Fourier transform against KissFFT, the fast kernels
 * against the reference in double, and against each other bit by bit.
 *
 * Tolerance: 1e-3 per coefficient on noise and on speech-like sound. A float transform carries noise of about 1e-7 of
 * the frame's largest amplitudes into every point, so on tones and constants, whose mel bins lie up to 200 dB apart,
 * the logarithm of the small ones says nothing. There the mel floor of the description is raised to about 60 dB below
 * the frame's energy, and the tolerance is the same.
 */
#include "front_end.h"

#include "base/cpu.h"
#include "base/memory.h"
#include "feat/static_kernel.h"

#include <kissfft/kiss_fftr.h>

static const trl__static_kernel *kernels[3];
static size_t kernel_count;

static void find_kernels(void)
{
    kernels[kernel_count++] = &trl__static_ref;
    kernels[kernel_count++] = &trl__static_base;
#if TRELLIS_SIMD
    if (__builtin_cpu_supports("avx2"))
        kernels[kernel_count++] = &trl__static_avx2;
#endif
}

/* ---- The transform ---- */

static double spectrum_value(const trl__static_kernel *kernel, const trl__static_work *work, size_t k, size_t lane)
{
    return kernel == &trl__static_ref ? ((const double *)(const void *)work->time)[k]
                                      : (double)work->time[k * kernel->lanes + lane];
}

/* Compares amplitudes; the error allowed is relative to the root mean square of all of them. */
static void check_spectrum(const trl__static_kernel *kernel, const trl_frontend *f, const trl__static_work *work,
                           const float *samples, size_t frame, kiss_fftr_cfg plan)
{
    float *padded = calloc((size_t)f->fft, sizeof *padded);
    kiss_fft_cpx *expected = malloc(((size_t)f->fft / 2 + 1) * sizeof *expected);
    double energy = 0;
    memcpy(padded, samples + frame * (size_t)f->shift, (size_t)f->length * sizeof *padded);
    for (int i = 0; i < f->length; i++)
        energy += (double)padded[i] * (double)padded[i];
    kiss_fftr(plan, padded, expected);
    for (size_t k = 0; k <= (size_t)f->fft / 2; k++) {
        double amplitude = hypot((double)expected[k].r, (double)expected[k].i);
        double got = spectrum_value(kernel, work, k, frame);
        if (f->options.spectrum == TRL_POWER)
            got = sqrt(got);
        if (!(fabs(got - amplitude) <= 2e-6 * sqrt(energy)))
            fail_msg("%s, %d points, frame %zu: |X(%zu)| is %g, not %g", kernel->name, f->fft, frame, k, got,
                     amplitude);
    }
    free(padded);
    free(expected);
}

static void check_transform(const trl__static_kernel *kernel, int points, int length, int magnitude)
{
    trl_error err;
    char settings[200];
    snprintf(settings, sizeof settings,
             "kind=fbank rate=8000 mel_bins=3 low_hz=0 window=rectangular preemphasis=0 remove_dc=0 fft_length=%d "
             "frame_ms=%.4f "
             "shift_ms=1 spectrum=%s",
             points, length / 8.0, magnitude ? "magnitude" : "power");
    trl_frontend *f = frontend_of(settings);
    assert_int_equal(f->length, length);
    assert_int_equal(f->fft, points);
    size_t count = kernel->lanes, size = (size_t)length + (count - 1) * (size_t)f->shift + 8;
    float *samples = malloc(size * sizeof *samples);
    for (size_t i = 0; i < size; i++)
        samples[i] = 1000 * trl__random_normal(4, (uint64_t)length, i);
    trl__static_work work;
    assert_int_equal(trl__static_work_create(f, &work, &err), 0);
    kernel->window(f, &work, samples, count);
    kernel->transform(f, &work);
    kiss_fftr_cfg plan = kiss_fftr_alloc(points, 0, NULL, NULL);
    for (size_t frame = 0; frame < count; frame++)
        check_spectrum(kernel, f, &work, samples, frame, plan);
    kiss_fftr_free(plan);
    trl__free(work.time);
    free(samples);
    trl_frontend_destroy(f);
}

static void test_transform(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_count; i++)
        for (int points = 16; points <= 4096; points *= 2)
            for (int variant = 0; variant < 4; variant++) {
                int lengths[] = {points, points - 1, points / 2 + 1, 16};
                check_transform(kernels[i], points, lengths[variant], variant == 1);
            }
}

/* ---- Kernels against each other ---- */

/* Rows 0 … frames-1 of `samples` (16-bit units), `group` frames per call. */
static trl_matrix rows_of(const trl__static_kernel *kernel, const trl_frontend *f, const float *samples, size_t frames,
                          size_t group)
{
    trl_error err;
    trl_matrix rows = {0};
    trl__static_work work;
    assert_int_equal(trl_matrix_resize(&rows, frames, (size_t)f->static_dim, &err), 0);
    assert_int_equal(trl__static_work_create(f, &work, &err), 0);
    for (size_t t = 0; t < frames; t += group)
        trl__static_frames(kernel, f, &work, samples + t * (size_t)f->shift, frames - t < group ? frames - t : group,
                           trl_matrix_row(&rows, t), rows.stride, NULL);
    trl__free(work.time);
    return rows;
}

/* Full scale becomes 16-bit units, with eight samples behind the last frame that the kernels may read. */
static float *scaled_signal(signal_kind kind, size_t count, double rate, uint64_t seed)
{
    float *samples = make_signal(kind, count + 8, rate, seed);
    for (size_t i = 0; i < count + 8; i++)
        samples[i] *= TRL__SAMPLE_SCALE;
    return samples;
}

static void assert_close(const trl_matrix *a, const trl_matrix *b, double tolerance, const char *what)
{
    for (size_t t = 0; t < a->rows; t++)
        for (size_t i = 0; i < a->cols; i++) {
            double x = (double)trl_matrix_row(a, t)[i], y = (double)trl_matrix_row(b, t)[i];
            if (!(fabs(x - y) <= tolerance)) /* NaN too */
                fail_msg("%s: row %zu, coefficient %zu is %g, the reference says %g", what, t, i, x, y);
        }
}

static uint32_t pick(uint64_t combination, uint64_t option, uint32_t below)
{
    return trl__random_bits(7, combination, option) % below;
}

/* A description by chance; `flat`: of a sound whose mel bins may be far below the frame's energy. */
static void random_settings(uint64_t n, int flat, char *text, size_t size)
{
    static const char *const kinds[] = {"mfcc", "plp", "fbank"}, *const rates[] = {"8000", "16000", "44100"},
                             *const frames[] = {"25", "20.3", "32"}, *const energies[] = {"none", "raw", "windowed"},
                             *const windows[] = {"povey", "hamming", "hann", "rectangular", "blackman"},
                             *const lifters[] = {"0", "22", "12.5"}, *const layouts[] = {"kaldi", "htk"},
                             *const emphases[] = {"0", "0.97"}, *const lows[] = {"0", "20", "100"},
                             *const highs[] = {"0", "-300", "3700"}, *const bins[] = {"15", "20", "23"};
    int magnitude = pick(n, 0, 2) == 1;
    const char *floor = flat ? (magnitude ? "1e4" : "1e8") : magnitude ? "1" : "1.1920929e-07";
    snprintf(text, size,
             "kind=%s rate=%s frame_ms=%s energy=%s window=%s lifter=%s layout=%s preemphasis=%s low_hz=%s high_hz=%s "
             "mel_bins=%s spectrum=%s floor=%s remove_dc=%u num_ceps=%u lpc_order=%u cepstral_scale=%s energy_floor=%s",
             kinds[n % 3], rates[pick(n, 1, 3)], frames[pick(n, 2, 3)], energies[pick(n, 3, 3)], windows[pick(n, 4, 5)],
             lifters[pick(n, 5, 3)], layouts[pick(n, 6, 2)], emphases[pick(n, 7, 2)], lows[pick(n, 8, 3)],
             highs[pick(n, 9, 3)], bins[pick(n, 10, 3)], magnitude ? "magnitude" : "power", floor, pick(n, 11, 2),
             1 + pick(n, 12, 12), 11 + pick(n, 13, 4), pick(n, 14, 2) ? "1" : "10", pick(n, 15, 2) ? "0" : "1000");
}

static void check_combination(uint64_t n, signal_kind kind)
{
    char settings[600], what[700];
    random_settings(n, kind >= SIGNAL_TONE, settings, sizeof settings);
    trl_frontend *f = frontend_of(settings);
    size_t frames = 11, count = (size_t)f->length + (frames - 1) * (size_t)f->shift; /* 11: groups that are not full */
    float *samples = scaled_signal(kind, count, f->options.rate, n);
    trl_matrix reference = rows_of(&trl__static_ref, f, samples, frames, 1), base = {0};
    double scale = f->options.kind == TRL_PLP ? f->options.cepstral_scale : 1;
    for (size_t i = 1; i < kernel_count; i++) {
        snprintf(what, sizeof what, "%s, %s, %s", kernels[i]->name, signal_names[kind], settings);
        trl_matrix rows = rows_of(kernels[i], f, samples, frames, kernels[i]->lanes);
        trl_matrix single = rows_of(kernels[i], f, samples, frames, 1);
        assert_close(&rows, &reference, 2e-4 * scale, what);
        assert_same_bits(&single, &rows, what); /* neither its neighbours nor its lane matter to a frame */
        if (i > 1)
            assert_same_bits(&rows, &base, what);
        trl_matrix_free(&single);
        trl_matrix_free(&base);
        base = rows;
    }
    trl_matrix_free(&base);
    trl_matrix_free(&reference);
    free(samples);
    trl_frontend_destroy(f);
}

static void test_kernels_agree(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 90; n++)
        for (int kind = 0; kind < SIGNAL_KINDS; kind++)
            check_combination(n, (signal_kind)kind);
}

/* Whatever stands behind the last frame, or in the other lanes, changes nothing. */
static void test_neighbours_do_not_matter(void **state)
{
    (void)state;
    const char *const settings[] = {"", "preset=plp frame_ms=25.2", "preset=fbank energy=windowed", "preset=htk"};
    for (size_t s = 0; s < 4; s++) {
        trl_frontend *f = frontend_of(settings[s]);
        size_t length = (size_t)f->length, shift = (size_t)f->shift, count = length + 7 * shift;
        float *samples = scaled_signal(SIGNAL_SPEECH, count, 16000, 1), *alone = malloc((length + 8) * sizeof *alone);
        for (size_t i = 1; i < kernel_count; i++) {
            trl_matrix rows = rows_of(kernels[i], f, samples, 8, kernels[i]->lanes);
            for (size_t t = 0; t < 8; t++) {
                memcpy(alone, samples + t * shift, length * sizeof *alone);
                for (size_t j = 0; j < 8; j++)
                    alone[length + j] = 1e9f;
                trl_matrix row = rows_of(kernels[i], f, alone, 1, 1);
                assert_memory_equal(row.data, trl_matrix_row(&rows, t), rows.cols * sizeof(float));
                trl_matrix_free(&row);
            }
            trl_matrix_free(&rows);
        }
        free(alone);
        free(samples);
        trl_frontend_destroy(f);
    }
}

/* Descriptions at the edge of what is allowed still give numbers. */
static void test_extremes_are_finite(void **state)
{
    (void)state;
    const char *const settings[] = {
        "kind=plp compress=1 mel_bins=100 lpc_order=100 num_ceps=101 fft_length=4096",
        "kind=plp floor=1e-30 low_hz=0 mel_bins=100 lpc_order=100 num_ceps=101 fft_length=4096",
        "kind=plp floor=1e30 compress=1",
        "kind=plp floor=1e-30 compress=1 low_hz=0 mel_bins=300 fft_length=16384",
        "kind=fbank floor=1e-30",
        "floor=1e30 energy=windowed energy_floor=1e30",
        "frame_ms=1 shift_ms=0.1 mel_bins=3 num_ceps=3",
    };
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        trl_frontend *f = frontend_of(settings[s]);
        size_t count = (size_t)f->length + 4 * (size_t)f->shift;
        for (int kind = 0; kind < SIGNAL_KINDS; kind++) {
            float *samples = scaled_signal((signal_kind)kind, count, 16000, 1);
            for (size_t i = 0; i < kernel_count; i++) {
                trl_matrix rows = rows_of(kernels[i], f, samples, 5, kernels[i]->lanes);
                for (size_t j = 0; j < rows.rows * rows.cols; j++)
                    if (!isfinite(rows.data[j]))
                        fail_msg("%s, %s, %s: %g", kernels[i]->name, signal_names[kind], settings[s],
                                 (double)rows.data[j]);
                trl_matrix_free(&rows);
            }
            free(samples);
        }
        trl_frontend_destroy(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transform),
        cmocka_unit_test(test_kernels_agree),
        cmocka_unit_test(test_neighbours_do_not_matter),
        cmocka_unit_test(test_extremes_are_finite),
    };
    find_kernels();
    return RUN(tests);
}
