/* Samples to static coefficients, LANES frames at once: one frame per SIMD lane, through every step.
 *
 * Included by one file per instruction set, which is compiled for it and defines LANES (4 for SSE2 and NEON, 8 for
 * AVX2: one register), KERNEL and KERNEL_NAME. The code is GCC's vector extension, which clang has too. No step mixes
 * lanes, and nothing is contracted, so a frame's numbers depend neither on its neighbours nor on the instruction set.
 *
 * Cost per LANES frames of 400 samples, 512 points, 23 bins, 13 cepstra, in vector operations: 3,500 for the window,
 * 12,000 for the transform, 1,400 for filters, logarithms and cepstra; with 8 lanes the working set of 30 KB stays in
 * the first-level cache.
 */
#include "feat/static_kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t lane_ints __attribute__((vector_size(4 * LANES)));

static inline lanes splat(float x)
{
    return x - (lanes){0}; /* x - 0 is x, also for -0 */
}

static inline lanes load(const float *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void store(float *to, lanes v)
{
    memcpy(to, &v, sizeof v);
}

static inline lanes larger(lanes a, lanes b)
{
    lane_ints mask = a > b;
    return (lanes)((mask & (lane_ints)a) | (~mask & (lane_ints)b));
}

/* ln x for normal positive x, relative error below 2e-7. x = 2^e m with m in [sqrt(1/2), sqrt(2)); with s = (m - 1) /
 * (m + 1), ln m = 2 (s + s³/3 + s⁵/5 + …), |s| < 0.1716, so five terms leave 7e-10. */
static inline lanes logarithm(lanes x)
{
    lane_ints bits = (lane_ints)x;
    lane_ints exponent = (bits - 0x3F3504F3) >> 23; /* 0x3F3504F3: sqrt(1/2) */
    lanes m = (lanes)(bits - (exponent << 23));
    lanes s = (m - 1.0f) / (m + 1.0f), square = s * s;
    lanes series = splat(2.0f / 9);
    series = series * square + 2.0f / 7;
    series = series * square + 2.0f / 5;
    series = series * square + 2.0f / 3;
    lanes e = __builtin_convertvector(exponent, lanes);
    /* ln 2 in two parts: e times the first is exact */
    return e * 0.693145751953125f + (e * 1.42860682030941723e-6f + (s * square * series + s * 2.0f));
}

/* e^x for |x| < 80: x = k ln 2 + r, |r| <= ln(2)/2; eight terms of the series leave 5e-9. */
static inline lanes exponential(lanes x)
{
    lane_ints k =
        __builtin_convertvector(x * 1.44269504f + 128.5f, lane_ints) - 128; /* rounds down: the argument is positive */
    lanes kf = __builtin_convertvector(k, lanes);
    lanes r = (x - kf * 0.693145751953125f) - kf * 1.42860682030941723e-6f;
    lanes series = splat(1.0f / 5040);
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 0.5f;
    series = series * r + 1.0f;
    series = series * r + 1.0f;
    return (lanes)((lane_ints)series + (k << 23));
}

/* Rows of LANES samples, one per frame, become LANES vectors, one per time: halves are exchanged at distance 1, 2, 4.
 */
#if LANES == 8
static inline void transpose(lanes v[8])
{
    lanes t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i++) {
        int low = i & ~2;
        u[i] = i & 2 ? __builtin_shufflevector(t[low], t[low + 2], 2, 3, 10, 11, 6, 7, 14, 15)
                     : __builtin_shufflevector(t[low], t[low + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#else
static inline void transpose(lanes v[4])
{
    lanes t[4];
    for (int i = 0; i < 4; i += 2) {
        t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 4, 2, 6);
        t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 5, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        v[i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
        v[i + 2] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
    }
}
#endif

/* Reads the frames into lanes and returns the sum of each; lanes without a frame repeat the last one. */
static lanes gather(const trl_frontend *f, trl__static_work *w, const float *samples, size_t count)
{
    lanes total = splat(0);
    for (int i = 0; i < f->length; i += LANES) {
        lanes rows[LANES];
        for (size_t lane = 0; lane < LANES; lane++)
            rows[lane] = load(samples + (lane < count ? lane : count - 1) * (size_t)f->shift + i);
        transpose(rows);
        for (int j = 0; j < LANES; j++)
            store(w->time + (size_t)(i + j) * LANES, rows[j]);
        for (int j = 0; j < LANES && i + j < f->length; j++)
            total += rows[j];
    }
    return total;
}

/* One sample: mean, pre-emphasis, window; *previous is the sample before it, without its mean. */
static inline lanes shape(const trl_frontend *f, const trl__static_work *w, int i, lanes mean, lanes emphasis,
                          lanes *previous, lanes *raw, lanes *windowed)
{
    lanes x = load(w->time + (size_t)i * LANES) - mean;
    lanes y = (x - emphasis * *previous) * f->window[i];
    *previous = x;
    *raw += x * x;
    *windowed += y * y;
    return y;
}

static void window(const trl_frontend *f, trl__static_work *w, const float *samples, size_t count)
{
    lanes mean = gather(f, w, samples, count) / (float)f->length;
    if (!f->options.remove_dc)
        mean = splat(0);
    lanes emphasis = splat(f->preemphasis), raw = splat(0), windowed = splat(0);
    lanes previous = load(w->time) - mean; /* before the first sample stands the first sample itself */
    int pairs = f->length / 2;
    for (int j = 0; j < f->fft / 2; j++) {
        float *to = w->spectrum + (size_t)f->position[j] * 2 * LANES;
        lanes even = splat(0), odd = splat(0);
        if (2 * j < f->length)
            even = shape(f, w, 2 * j, mean, emphasis, &previous, &raw, &windowed);
        if (j < pairs)
            odd = shape(f, w, 2 * j + 1, mean, emphasis, &previous, &raw, &windowed);
        store(to, even);
        store(to + LANES, odd);
    }
    lanes energy = f->options.energy == TRL_ENERGY_WINDOWED ? windowed : raw;
    float least = f->options.energy_floor > FLT_EPSILON ? (float)f->options.energy_floor : FLT_EPSILON;
    store(w->energy, logarithm(larger(energy, splat(least))));
}

typedef struct complex_lanes {
    lanes re, im;
} complex_lanes;

static inline complex_lanes load_complex(const float *z, int index)
{
    return (complex_lanes){load(z + (size_t)index * 2 * LANES), load(z + (size_t)index * 2 * LANES + LANES)};
}

static inline void store_complex(float *z, int index, lanes re, lanes im)
{
    store(z + (size_t)index * 2 * LANES, re);
    store(z + (size_t)index * 2 * LANES + LANES, im);
}

static inline complex_lanes times(complex_lanes a, const float *factor)
{
    return (complex_lanes){a.re * factor[0] - a.im * factor[1], a.re * factor[1] + a.im * factor[0]};
}

static void pass_of_two(float *z, int points)
{
    for (int i = 0; i < points; i += 2) {
        complex_lanes a = load_complex(z, i), b = load_complex(z, i + 1);
        store_complex(z, i, a.re + b.re, a.im + b.im);
        store_complex(z, i + 1, a.re - b.re, a.im - b.im);
    }
}

static inline void butterfly_of_four(float *z, int at, int span, complex_lanes a, complex_lanes b, complex_lanes c,
                                     complex_lanes d)
{
    lanes ac_re = a.re + c.re, ac_im = a.im + c.im, a_c_re = a.re - c.re, a_c_im = a.im - c.im;
    lanes bd_re = b.re + d.re, bd_im = b.im + d.im, b_d_re = b.re - d.re, b_d_im = b.im - d.im;
    store_complex(z, at, ac_re + bd_re, ac_im + bd_im);
    store_complex(z, at + span, a_c_re + b_d_im, a_c_im - b_d_re);
    store_complex(z, at + 2 * span, ac_re - bd_re, ac_im - bd_im);
    store_complex(z, at + 3 * span, a_c_re - b_d_im, a_c_im + b_d_re);
}

static void pass_of_four(float *z, int points, const trl__fft_stage *stage)
{
    int span = stage->span;
    for (int i = 0; i < points; i += 4 * span) /* j = 0: all factors are 1 */
        butterfly_of_four(z, i, span, load_complex(z, i), load_complex(z, i + span), load_complex(z, i + 2 * span),
                          load_complex(z, i + 3 * span));
    for (int j = 1; j < span; j++) {
        const float *factors = stage->twiddles + (size_t)j * 6;
        for (int i = j; i < points; i += 4 * span)
            butterfly_of_four(z, i, span, load_complex(z, i), times(load_complex(z, i + span), factors),
                              times(load_complex(z, i + 2 * span), factors + 2),
                              times(load_complex(z, i + 3 * span), factors + 4));
    }
}

static inline lanes root(lanes v)
{
    for (int i = 0; i < LANES; i++)
        v[i] = sqrtf(v[i]);
    return v;
}

/* The packed transform Z of x(2j) + i x(2j+1) holds two real ones: E = (Z(k) + Z*(n-k)) / 2 of the even, O = (Z(k) -
 * Z*(n-k)) / 2i of the odd samples, and X(k) = E + w O, X(n-k) = (E - w O)* with w = e^(-2 pi i k / 2n). Only |X|² is
 * kept. */
static void split_real(const trl_frontend *f, trl__static_work *w)
{
    int points = f->fft / 2, magnitude = f->options.spectrum == TRL_MAGNITUDE;
    for (int k = 0; k <= points / 2; k++) {
        complex_lanes a = load_complex(w->spectrum, k), b = load_complex(w->spectrum, (points - k) % points);
        complex_lanes even = {a.re + b.re, a.im - b.im}, odd = {a.im + b.im, b.re - a.re};
        odd = times(odd, f->split + 2 * (size_t)k);
        lanes re = even.re + odd.re, im = even.im + odd.im, mirrored_re = even.re - odd.re,
              mirrored_im = even.im - odd.im;
        lanes low = 0.25f * (re * re + im * im), high = 0.25f * (mirrored_re * mirrored_re + mirrored_im * mirrored_im);
        store(w->time + (size_t)k * LANES, magnitude ? root(low) : low);
        store(w->time + (size_t)(points - k) * LANES, magnitude ? root(high) : high);
    }
}

static void transform(const trl_frontend *f, trl__static_work *w)
{
    int points = f->fft / 2;
    for (int s = 0; s < f->stage_count; s++)
        if (f->stages[s].radix == 2)
            pass_of_two(w->spectrum, points);
        else
            pass_of_four(w->spectrum, points, &f->stages[s]);
    split_real(f, w);
}

/* Mel energies, floored; two sums run side by side to hide the additions' latency. */
static void filterbank(const trl_frontend *f, trl__static_work *w)
{
    lanes least = splat(f->mel_least), added = splat(f->mel_added);
    for (int b = 0; b < f->options.mel_bins; b++) {
        const trl__mel_filter *filter = &f->filters[b];
        const float *power = w->time + (size_t)filter->first * LANES;
        lanes even = splat(0), odd = splat(0);
        int i = 0;
        for (; i + 1 < filter->count; i += 2) {
            even += filter->weights[i] * load(power + (size_t)i * LANES);
            odd += filter->weights[i + 1] * load(power + (size_t)(i + 1) * LANES);
        }
        if (i < filter->count)
            even += filter->weights[i] * load(power + (size_t)i * LANES);
        store(w->mel + (size_t)b * LANES, larger(even + odd + added, least));
    }
}

static void take_logarithms(const trl_frontend *f, trl__static_work *w)
{
    for (int b = 0; b < f->options.mel_bins; b++)
        store(w->mel + (size_t)b * LANES, logarithm(load(w->mel + (size_t)b * LANES)));
}

static void mel_cepstra(const trl_frontend *f, trl__static_work *w, float *rows)
{
    int bins = f->options.mel_bins;
    for (int i = 0; i < f->options.num_ceps; i++) {
        lanes total = splat(0);
        for (int b = 0; b < bins; b++)
            total += f->cosines[i * bins + b] * load(w->mel + (size_t)b * LANES);
        store(rows + (size_t)i * LANES, total);
    }
}

/* Loudness^0.33 of the bins, with the outermost doubled; then its autocorrelation. */
static void autocorrelation(const trl_frontend *f, trl__static_work *w, lanes *r)
{
    int bins = f->options.mel_bins, width = bins + 2;
    lanes loud[TRL__MOST_BINS + 2];
    for (int b = 0; b < bins; b++)
        loud[b + 1] = exponential(larger(
            (float)f->options.compress * logarithm(load(w->mel + (size_t)b * LANES) * f->loudness[b]), splat(-80)));
    loud[0] = loud[1];
    loud[width - 1] = loud[width - 2];
    for (int i = 0; i <= f->options.lpc_order; i++) {
        lanes total = splat(0);
        for (int j = 0; j < width; j++)
            total += f->autocosines[i * width + j] * loud[j];
        r[i] = total;
    }
}

/* Levinson-Durbin: prediction coefficients a (signs of the inverse filter) and the residual energy. Where rounding
 * leaves nothing to predict (|k| >= 1, or residual 0), the coefficients so far stand. */
static lanes linear_prediction(int order, const lanes *r, lanes *a)
{
    lanes residual = r[0], previous[TRL__MOST_ORDER + 1];
    lane_ints predictable = ~(lane_ints){0};
    for (int i = 0; i < order; i++) {
        lanes k = r[i + 1];
        for (int j = 0; j < i; j++)
            k += a[j] * r[i - j];
        k /= residual;
        predictable &= k * k < 1.0f; /* false for NaN */
        k = (lanes)((lane_ints)k & predictable);
        residual *= larger(1.0f - k * k, splat(1e-5f));
        memcpy(previous, a, (size_t)i * sizeof *a);
        for (int j = 0; j < i; j++)
            a[j] = previous[j] - k * previous[i - 1 - j];
        a[i] = -k;
    }
    return residual;
}

static void plp_cepstra(const trl_frontend *f, trl__static_work *w, float *rows)
{
    int order = f->options.lpc_order;
    lanes r[TRL__MOST_ORDER + 1] = {{0}}, a[TRL__MOST_ORDER + 1], c[TRL__MOST_ORDER + 1];
    autocorrelation(f, w, r);
    lanes residual = logarithm(larger(linear_prediction(order, r, a), splat(FLT_MIN)));
    c[0] = larger(residual, splat(FLT_EPSILON)); /* Kaldi's floor of the logarithm */
    for (int i = 1; i < f->options.num_ceps; i++) {
        lanes total = splat(0);
        for (int j = 1; j < i; j++)
            total += (float)(i - j) * a[j - 1] * c[i - j];
        c[i] = -a[i - 1] - total / (float)i;
    }
    for (int i = 0; i < f->options.num_ceps; i++)
        store(rows + (size_t)f->cepstrum_index[i] * LANES, c[i] * f->lifter[i]);
}

/* Lanes become rows, with log energy in its place. */
static void write_rows(const trl_frontend *f, const float *rows, size_t count, float *out, size_t stride)
{
    for (int i = 0; i < f->static_dim; i++)
        for (size_t lane = 0; lane < count; lane++)
            out[lane * stride + (size_t)i] = rows[(size_t)i * LANES + lane];
}

static void cepstra(const trl_frontend *f, trl__static_work *w, size_t count, float *out, size_t stride)
{
    float *rows = w->rows;
    if (f->options.kind == TRL_PLP) {
        plp_cepstra(f, w, rows);
    } else {
        take_logarithms(f, w);
        if (f->options.kind == TRL_MFCC)
            mel_cepstra(f, w, rows);
        else
            memcpy(rows + (f->energy_index == 0 ? LANES : 0), w->mel,
                   (size_t)f->options.mel_bins * LANES * sizeof *rows);
    }
    if (f->energy_index >= 0)
        memcpy(rows + (size_t)f->energy_index * LANES, w->energy, LANES * sizeof *rows);
    write_rows(f, rows, count, out, stride);
}

const trl__static_kernel KERNEL = {KERNEL_NAME, LANES, window, transform, filterbank, cepstra};
