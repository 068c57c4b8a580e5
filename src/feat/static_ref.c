/* Samples to static coefficients, the plain way: one frame at a time, in double precision, every step as its definition
 * reads. The fast kernels are compared with this one; TRELLIS_CPU=ref runs it.
 */
#include "feat/static_kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* The working memory is sized for eight floats per value, so a double fits. */
static double *doubles(float *array)
{
    return (double *)(void *)array;
}

static double sum_of_squares(const double *x, int length)
{
    double total = 0;
    for (int i = 0; i < length; i++)
        total += x[i] * x[i];
    return total;
}

static void remove_mean(double *x, int length)
{
    double total = 0;
    for (int i = 0; i < length; i++)
        total += x[i];
    for (int i = 0; i < length; i++)
        x[i] -= total / length;
}

static void window(const trl_frontend *f, trl__static_work *w, const float *samples, size_t count)
{
    (void)count; /* always 1 */
    const trl_frontend_options *o = &f->options;
    double *x = doubles(w->time);
    for (int i = 0; i < f->length; i++)
        x[i] = (double)samples[i];
    if (o->remove_dc)
        remove_mean(x, f->length);
    double energy = sum_of_squares(x, f->length), emphasis = o->preemphasis_across ? 0 : o->preemphasis;
    for (int i = f->length - 1; i > 0; i--)
        x[i] -= emphasis * x[i - 1];
    x[0] -= emphasis * x[0];
    for (int i = 0; i < f->length; i++)
        x[i] *= (double)f->window[i];
    if (o->energy == TRL_ENERGY_WINDOWED)
        energy = sum_of_squares(x, f->length);
    *doubles(w->energy) = log(fmax(energy, fmax(o->energy_floor, (double)FLT_EPSILON)));
}

/* The discrete Fourier transform of a real signal of n points, recursively: even and odd samples apart, then joined.
 * `step` is the distance between samples; z receives n complex values. */
static void fourier(const double *x, int n, int step, double *z)
{
    if (n == 1) {
        z[0] = x[0];
        z[1] = 0;
        return;
    }
    int half = n / 2;
    fourier(x, half, 2 * step, z);
    fourier(x + step, half, 2 * step, z + 2 * (size_t)half);
    for (int k = 0; k < half; k++) {
        double c = cos(-2 * pi * k / n), s = sin(-2 * pi * k / n);
        double *a = z + 2 * (size_t)k, *b = z + 2 * (size_t)(half + k);
        double re = c * b[0] - s * b[1], im = c * b[1] + s * b[0];
        b[0] = a[0] - re;
        b[1] = a[1] - im;
        a[0] += re;
        a[1] += im;
    }
}

static void transform(const trl_frontend *f, trl__static_work *w)
{
    double *x = doubles(w->time), *z = doubles(w->spectrum), *padded = z + 2 * (size_t)f->fft;
    memset(padded, 0, (size_t)f->fft * sizeof *padded);
    memcpy(padded, x, (size_t)f->length * sizeof *padded);
    fourier(padded, f->fft, 1, z);
    for (int k = 0; k <= f->fft / 2; k++) {
        double power = z[2 * k] * z[2 * k] + z[2 * k + 1] * z[2 * k + 1];
        x[k] = f->options.spectrum == TRL_MAGNITUDE ? sqrt(power) : power;
    }
}

static void filterbank(const trl_frontend *f, trl__static_work *w)
{
    const double *power = doubles(w->time);
    double *mel = doubles(w->mel);
    for (int b = 0; b < f->options.mel_bins; b++) {
        mel[b] = 0;
        for (int i = 0; i < f->filters[b].count; i++)
            mel[b] += (double)f->filters[b].weights[i] * power[f->filters[b].first + i];
        mel[b] = fmax(mel[b] + (double)f->mel_added, (double)f->mel_least);
    }
}

static void mel_cepstra(const trl_frontend *f, const double *mel, double *row)
{
    int bins = f->options.mel_bins;
    for (int i = 0; i < f->options.num_ceps; i++) {
        row[i] = 0;
        for (int b = 0; b < bins; b++)
            row[i] += (double)f->cosines[i * bins + b] * log(mel[b]);
    }
}

/* Solves the normal equations by Levinson's recursion, as far as rounding lets |k| < 1; returns the residual. */
static double linear_prediction(int order, const double *r, double *a)
{
    double residual = r[0];
    int predictable = 1;
    for (int i = 0; i < order; i++) {
        double k = r[i + 1], previous[TRL__MOST_ORDER + 1];
        for (int j = 0; j < i; j++)
            k += a[j] * r[i - j];
        k /= residual;
        predictable = predictable && k * k < 1;
        k = predictable ? k : 0;
        residual *= fmax(1 - k * k, 1e-5);
        memcpy(previous, a, (size_t)i * sizeof *a);
        for (int j = 0; j < i; j++)
            a[j] = previous[j] - k * previous[i - 1 - j];
        a[i] = -k;
    }
    return residual;
}

static void plp_cepstra(const trl_frontend *f, const double *mel, double *row)
{
    int bins = f->options.mel_bins, width = bins + 2;
    double loud[TRL__MOST_BINS + 2] = {0}, r[TRL__MOST_ORDER + 1] = {0}, a[TRL__MOST_ORDER + 1] = {0},
                                 c[TRL__MOST_ORDER + 1];
    for (int b = 0; b < bins; b++)
        loud[b + 1] = pow(mel[b] * (double)f->loudness[b], f->options.compress);
    loud[0] = loud[1];
    loud[width - 1] = loud[width - 2];
    for (int i = 0; i <= f->options.lpc_order; i++) {
        r[i] = 0;
        for (int j = 0; j < width; j++)
            r[i] += (double)f->autocosines[i * width + j] * loud[j];
    }
    c[0] = fmax(log(fmax(linear_prediction(f->options.lpc_order, r, a), (double)FLT_MIN)), (double)FLT_EPSILON);
    for (int i = 1; i < f->options.num_ceps; i++) {
        c[i] = -a[i - 1];
        for (int j = 1; j < i; j++)
            c[i] -= (double)(i - j) / i * a[j - 1] * c[i - j];
    }
    for (int i = 0; i < f->options.num_ceps; i++)
        row[f->cepstrum_index[i]] = c[i] * (double)f->lifter[i];
}

static void cepstra(const trl_frontend *f, trl__static_work *w, size_t count, float *out, size_t stride)
{
    (void)count;
    (void)stride;
    const double *mel = doubles(w->mel);
    double *row = doubles(w->rows);
    if (f->options.kind == TRL_MFCC)
        mel_cepstra(f, mel, row);
    else if (f->options.kind == TRL_PLP)
        plp_cepstra(f, mel, row);
    else
        for (int b = 0; b < f->options.mel_bins; b++)
            row[(f->energy_index == 0) + b] = log(mel[b]);
    if (f->energy_index >= 0)
        row[f->energy_index] = *doubles(w->energy);
    for (int i = 0; i < f->static_dim; i++)
        out[i] = (float)row[i];
}

const trl__static_kernel trl__static_ref = {"ref", 1, window, transform, filterbank, cepstra};
