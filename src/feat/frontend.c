/* The tables of a front end: window, transform factors, mel filters, cosine bases, delta filters.
 *
 * Everything is computed in double from the definitions and rounded once. Mel scale: mel(f) = 1127 ln(1 + f / 700).
 * Conventions follow Kaldi (and, by options, HTK): triangular filters on the mel axis, orthonormal DCT-II, sinusoidal
 * lifter; PLP after Hermansky 1990 with the mel filters in place of the Bark ones.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "feat/frontend_tables.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static double mel(double hz)
{
    return 1127 * log(1 + hz / 700);
}

static double inverse_mel(double m)
{
    return 700 * (exp(m / 1127) - 1);
}

static int is_memory_short(const void *block, trl_error *err)
{
    return block ? 0 : trl__fail_memory(err);
}

static double window_value(const trl_frontend_options *o, int i, int length)
{
    double phase = 2 * pi * i / (length - 1);
    switch (o->window) {
    case TRL_POVEY: return pow(0.5 - 0.5 * cos(phase), 0.85);
    case TRL_HAMMING: return 0.54 - 0.46 * cos(phase);
    case TRL_HANN: return 0.5 - 0.5 * cos(phase);
    case TRL_BLACKMAN: return o->blackman - 0.5 * cos(phase) + (0.5 - o->blackman) * cos(2 * phase);
    default: return 1;
    }
}

static int make_window(trl_frontend *f, trl_error *err)
{
    f->window = trl__alloc_aligned((size_t)f->length, sizeof *f->window);
    for (int i = 0; f->window && i < f->length; i++)
        f->window[i] = (float)window_value(&f->options, i, f->length);
    return is_memory_short(f->window, err);
}

/* The passes of a complex transform of `points`: radix 4, with one pass of radix 2 at the start where needed. */
static void plan_stages(trl_frontend *f, int points)
{
    int span = 1;
    for (int rest = points; rest > 1;) {
        int radix = span == 1 && (__builtin_ctz((unsigned)points) & 1) ? 2 : 4;
        f->stages[f->stage_count++] = (trl__fft_stage){radix, span, NULL};
        span *= radix;
        rest /= radix;
    }
}

/* Decimation in time: the last pass joins `radix` transforms of every radix-th input, each planned the same way. */
static int input_position(const trl_frontend *f, int input)
{
    int position = 0;
    for (int s = f->stage_count - 1; s >= 0; s--) {
        position += input % f->stages[s].radix * f->stages[s].span;
        input /= f->stages[s].radix;
    }
    return position;
}

static int make_transform(trl_frontend *f, trl_error *err)
{
    int points = f->fft / 2, factors = 0;
    plan_stages(f, points);
    for (int s = 0; s < f->stage_count; s++)
        factors += (f->stages[s].radix - 1) * f->stages[s].span;
    f->position = trl__alloc((size_t)points, sizeof *f->position);
    f->twiddles = trl__alloc((size_t)factors * 2, sizeof *f->twiddles);
    f->split = trl__alloc((size_t)(f->fft / 4 + 1) * 2, sizeof *f->split);
    if (!f->position || !f->twiddles || !f->split)
        return trl__fail_memory(err);
    for (int j = 0; j < points; j++)
        f->position[j] = input_position(f, j);
    float *next = f->twiddles;
    for (int s = 0; s < f->stage_count; s++) {
        trl__fft_stage *stage = &f->stages[s];
        stage->twiddles = next;
        for (int j = 0; j < stage->span; j++)
            for (int q = 1; q < stage->radix; q++) {
                double angle = -2 * pi * j * q / (stage->radix * stage->span);
                *next++ = (float)cos(angle);
                *next++ = (float)sin(angle);
            }
    }
    for (int k = 0; k <= f->fft / 4; k++) {
        f->split[2 * k] = (float)cos(-2 * pi * k / f->fft);
        f->split[2 * k + 1] = (float)sin(-2 * pi * k / f->fft);
    }
    return 0;
}

/* Weight of FFT bin k in the triangle whose corners are left, center, right on the mel axis. */
static double triangle(double m, double left, double center, double right)
{
    if (m <= left || m >= right)
        return 0;
    return m <= center ? (m - left) / (center - left) : (right - m) / (right - center);
}

static double mel_corner(const trl_frontend *f, int corner)
{
    const trl_frontend_options *o = &f->options;
    double high = o->high_hz > 0 ? o->high_hz : o->rate / 2 + o->high_hz;
    return mel(o->low_hz) + corner * (mel(high) - mel(o->low_hz)) / (o->mel_bins + 1);
}

/* The same with straight sides on the frequency axis. Corners may fall together; then that side is vertical. */
static double hertz_triangle(const trl_frontend_options *o, double hz, const double *corner)
{
    double height = o->filter_unit_area ? 2 / (corner[2] - corner[0]) : 1;
    if (hz < corner[0] || hz > corner[2] || corner[2] <= corner[0])
        return 0;
    double up = corner[1] > corner[0] ? (hz - corner[0]) / (corner[1] - corner[0]) : 1;
    double down = corner[2] > corner[1] ? (corner[2] - hz) / (corner[2] - corner[1]) : 1;
    return height * fmin(up, down);
}

/* The corners of a filter, on the axis where its sides are straight. */
static void find_corners(const trl_frontend *f, int filter, double *corner)
{
    const trl_frontend_options *o = &f->options;
    double step = o->rate / f->fft;
    for (int c = 0; c < 3; c++) {
        corner[c] = mel_corner(f, filter + c);
        if (o->filter_axis == TRL_FILTERS_HERTZ)
            corner[c] = inverse_mel(corner[c]);
        if (o->filter_axis == TRL_FILTERS_HERTZ && o->filter_round)
            corner[c] = floor(corner[c] / step + 0.5) * step;
    }
}

static double filter_weight(const trl_frontend *f, const double *corner, int k)
{
    double hz = f->options.rate * k / f->fft;
    return f->options.filter_axis == TRL_FILTERS_HERTZ ? hertz_triangle(&f->options, hz, corner)
                                                       : triangle(mel(hz), corner[0], corner[1], corner[2]);
}

/* The FFT bin at the Nyquist frequency never counts, as in Kaldi, HTK and Sphinx. */
static int make_filters(trl_frontend *f, trl_error *err)
{
    int bins = f->options.mel_bins, points = f->fft / 2;
    f->filters = trl__alloc_zero((size_t)bins, sizeof *f->filters);
    f->mel_weights = trl__alloc((size_t)points * 2 + (size_t)bins * 3, sizeof *f->mel_weights);
    if (!f->filters || !f->mel_weights)
        return trl__fail_memory(err);
    float *next = f->mel_weights;
    for (int b = 0; b < bins; b++) {
        trl__mel_filter *filter = &f->filters[b];
        double corner[3];
        find_corners(f, b, corner);
        filter->weights = next;
        for (int k = 0; k < points; k++) {
            double weight = filter_weight(f, corner, k);
            if (weight <= 0)
                continue;
            if (filter->count == 0)
                filter->first = k;
            filter->count++;
            *next++ = (float)weight;
        }
        if (filter->count == 0)
            return trl__fail(err, TRL_EINVAL,
                             "mel filter %d of %d covers no FFT bin: take fewer mel_bins or a larger fft_length", b + 1,
                             bins);
    }
    return 0;
}

static double lifter_value(const trl_frontend_options *o, int i)
{
    return o->lifter > 0 ? 1 + 0.5 * o->lifter * sin(pi * i / o->lifter) : 1;
}

/* Where cepstrum i goes: HTK puts number 0 last. */
static int cepstrum_place(const trl_frontend_options *o, int i)
{
    return o->layout == TRL_LAYOUT_KALDI ? i : i == 0 ? o->num_ceps - 1 : i - 1;
}

/* Old Sphinx models have the first bin counted half and no other scale than the number of bins. */
static double cosine_scale(const trl_frontend_options *o, int i)
{
    if (o->dct == TRL_DCT_LEGACY)
        return 1.0 / o->mel_bins;
    return sqrt((i == 0 && o->layout == TRL_LAYOUT_KALDI && o->dct != TRL_DCT_HTK ? 1.0 : 2.0) / o->mel_bins);
}

static int make_cosines(trl_frontend *f, trl_error *err)
{
    const trl_frontend_options *o = &f->options;
    int bins = o->mel_bins;
    f->cosines = trl__alloc_aligned((size_t)o->num_ceps * (size_t)bins, sizeof *f->cosines);
    if (!f->cosines)
        return trl__fail_memory(err);
    for (int i = 0; i < o->num_ceps; i++) {
        double scale = cosine_scale(o, i) * lifter_value(o, i);
        float *row = f->cosines + cepstrum_place(o, i) * bins;
        for (int b = 0; b < bins; b++)
            row[b] = (float)(scale * cos(pi / bins * (b + 0.5) * i));
        if (o->dct == TRL_DCT_LEGACY)
            row[0] /= 2;
    }
    return 0;
}

/* Equal-loudness curve of Hermansky's PLP, at the filter's center. */
static double equal_loudness(double hz)
{
    double square = hz * hz, part = square / (square + 1.6e5);
    return part * part * (square + 1.44e6) / (square + 9.61e6);
}

/* The bins with the first and last doubled are samples of an even spectrum from 0 to pi; row i gives autocorrelation i.
 */
static void fill_autocosines(trl_frontend *f)
{
    int width = f->options.mel_bins + 2;
    double scale = 0.5 / (width - 1);
    for (int i = 0; i <= f->options.lpc_order; i++)
        for (int j = 0; j < width; j++)
            f->autocosines[i * width + j] =
                (float)((j == 0 || j == width - 1 ? 1 : 2) * scale * cos(pi * i * j / (width - 1)));
}

static int make_plp(trl_frontend *f, trl_error *err)
{
    const trl_frontend_options *o = &f->options;
    f->loudness = trl__alloc((size_t)o->mel_bins, sizeof *f->loudness);
    f->autocosines = trl__alloc((size_t)(o->lpc_order + 1) * (size_t)(o->mel_bins + 2), sizeof *f->autocosines);
    f->lifter = trl__alloc((size_t)o->num_ceps, sizeof *f->lifter);
    f->cepstrum_index = trl__alloc((size_t)o->num_ceps, sizeof *f->cepstrum_index);
    if (!f->loudness || !f->autocosines || !f->lifter || !f->cepstrum_index)
        return trl__fail_memory(err);
    for (int b = 0; b < o->mel_bins; b++)
        f->loudness[b] = (float)equal_loudness(inverse_mel(mel_corner(f, b + 1)));
    fill_autocosines(f);
    for (int i = 0; i < o->num_ceps; i++) {
        f->lifter[i] = (float)(lifter_value(o, i) * o->cepstral_scale);
        f->cepstrum_index[i] = cepstrum_place(o, i);
    }
    return 0;
}

/* Filter k is filter k-1 convolved with the regression slope: sum over j of j x(t + j), over sum of j². */
static int make_deltas(trl_frontend *f, trl_error *err)
{
    int window = f->options.delta_window, orders = f->options.deltas;
    size_t total = 1;
    for (int k = 1; k <= orders; k++)
        total += (size_t)(2 * k * window + 1);
    double *filters = trl__alloc_zero(total, sizeof *filters);
    f->delta_filters = trl__alloc(total, sizeof *f->delta_filters);
    if (!filters || !f->delta_filters) {
        trl__free(filters);
        return trl__fail_memory(err);
    }
    double norm = 0, *previous = filters;
    for (int j = -window; j <= window; j++)
        norm += (double)j * j;
    filters[0] = 1;
    for (int k = 1; k <= orders; k++) {
        int reach = (k - 1) * window;
        double *current = previous + 2 * reach + 1;
        for (int i = 0; i <= 2 * reach; i++)
            for (int j = -window; j <= window; j++)
                current[i + j + window] += previous[i] * j / norm;
        previous = current;
    }
    for (size_t i = 0; i < total; i++)
        f->delta_filters[i] = (float)filters[i];
    trl__free(filters);
    return 0;
}

int trl__frontend_statics(const trl_frontend_options *o)
{
    return o->kind == TRL_FBANK ? o->mel_bins + (o->energy != TRL_ENERGY_NONE) : o->num_ceps;
}

static void set_dimensions(trl_frontend *f)
{
    const trl_frontend_options *o = &f->options;
    int with_energy = o->energy != TRL_ENERGY_NONE;
    f->length = (int)(o->rate * o->frame_ms / 1000);
    f->shift = (int)(o->rate * o->shift_ms / 1000);
    f->fft = o->fft_length ? o->fft_length : 16;
    while (f->fft < f->length)
        f->fft *= 2;
    f->static_dim = trl__frontend_statics(o);
    f->preemphasis = o->preemphasis_across ? 0 : (float)o->preemphasis;
    f->mel_least = o->floor_added || o->denoise ? 1e-30F : (float)o->floor; /* noise_removal.c adds it at last */
    f->mel_added = o->floor_added && !o->denoise ? (float)o->floor : 0;
    f->energy_index = !with_energy ? -1 : o->layout == TRL_LAYOUT_HTK ? f->static_dim - 1 : 0;
    f->delta_dim = f->static_dim * (1 + o->deltas);
    f->spliced_dim = f->delta_dim * (1 + o->splice_left + o->splice_right);
    f->dim = o->transform.rows > 0 ? (int)o->transform.rows : f->spliced_dim;
}

static int is_finite(const trl_matrix *m)
{
    for (size_t r = 0; r < m->rows; r++)
        for (size_t c = 0; c < m->cols; c++)
            if (!isfinite(trl_matrix_row(m, r)[c]))
                return 0;
    return 1;
}

static int copy_transform(trl_frontend *f, const trl_matrix *given, trl_error *err)
{
    f->options.transform = (trl_matrix){0};
    if (given->rows == 0)
        return 0;
    if (given->rows > TRL__MOST_TRANSFORM || !is_finite(given))
        return trl__fail(err, TRL_EINVAL, "the transform has more than %d rows, or NaN or infinite numbers",
                         TRL__MOST_TRANSFORM);
    int code = trl__affine_init(&f->affine, given, (size_t)f->spliced_dim, err);
    if (code == 0)
        code = trl_matrix_resize(&f->options.transform, given->rows, given->cols, err);
    for (size_t r = 0; code == 0 && r < given->rows; r++)
        memcpy(trl_matrix_row(&f->options.transform, r), trl_matrix_row(given, r), given->cols * sizeof(float));
    return code;
}

static int make_tables(trl_frontend *f, const trl_matrix *transform, trl_error *err)
{
    int code = copy_transform(f, transform, err);
    if (code == 0)
        code = make_window(f, err);
    if (code == 0)
        code = make_transform(f, err);
    if (code == 0)
        code = make_filters(f, err);
    if (code == 0 && f->options.kind == TRL_MFCC)
        code = make_cosines(f, err);
    if (code == 0 && f->options.kind == TRL_PLP)
        code = make_plp(f, err);
    if (code == 0)
        code = make_deltas(f, err);
    return code == 0 ? trl__frontend_describe(&f->options, &f->description, err) : code;
}

int trl_frontend_create(const trl_frontend_options *options, trl_frontend **out, trl_error *err)
{
    *out = NULL;
    int code = trl_frontend_check(options, err);
    if (code < 0)
        return code;
    trl_frontend *frontend = trl__alloc_zero(1, sizeof *frontend);
    if (!frontend)
        return trl__fail_memory(err);
    frontend->options = *options;
    set_dimensions(frontend);
    code = make_tables(frontend, &options->transform, err);
    if (code < 0) {
        trl_frontend_destroy(frontend);
        return code;
    }
    *out = frontend;
    return 0;
}

void trl_frontend_destroy(trl_frontend *f)
{
    if (!f)
        return;
    trl_matrix_free(&f->options.transform);
    trl__affine_free(&f->affine);
    void *blocks[] = {f->description, f->window,         f->position,     f->twiddles, f->split,
                      f->filters,     f->mel_weights,    f->cosines,      f->loudness, f->autocosines,
                      f->lifter,      f->cepstrum_index, f->delta_filters};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        trl__free(blocks[i]);
    trl__free(f);
}

const trl_frontend_options *trl_frontend_get(const trl_frontend *frontend)
{
    return &frontend->options;
}

const char *trl_frontend_description(const trl_frontend *frontend)
{
    return frontend->description;
}

int trl_frontend_dim(const trl_frontend *frontend)
{
    return frontend->dim;
}

int trl_frontend_static_dim(const trl_frontend *frontend)
{
    return frontend->static_dim;
}

size_t trl_frontend_frames(const trl_frontend *frontend, size_t samples)
{
    size_t length = (size_t)frontend->length, shift = (size_t)frontend->shift;
    if (!frontend->options.snip_edges)
        return (samples + shift / 2) / shift;
    size_t whole = samples < length ? 0 : 1 + (samples - length) / shift;
    return whole + (frontend->options.pad_end && samples > whole * shift);
}
