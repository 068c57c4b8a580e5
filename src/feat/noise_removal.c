/* Noise removal after Kim and Stern's power-normalised coefficients (PNCC, IEEE TASLP 24, 2016), in the simpler form that CMU
 * Sphinx has: the same constants, so that its models find the features they were trained on.
 *
 * Of each bin the power is smoothed over time. A lower envelope, which falls quickly and rises slowly, is the noise; what
 * is above it the signal, whose own lower envelope is its floor. What follows a peak closely and is much weaker is masked.
 * Signal over power is the bin's weight, from 1/20 to 20, averaged over four neighbours on either side. O(bins) per frame.
 */
#include "feat/noise_removal.h"

#include "base/fail.h"
#include "base/memory.h"

#include <math.h>

#define SMOOTHING 0.7   /* of the power, from frame to frame */
#define RISE 0.995      /* of an envelope, where the power is above it */
#define FALL 0.5        /* where it is below */
#define PEAK_DECAY 0.85 /* of a peak, per frame; also what counts as much weaker */
#define MASKED 0.2      /* of the peak: what a masked bin gets */
#define MOST_GAIN 20.0  /* of a weight, up and down */
#define NEIGHBOURS 4
#define LEAST_SIGNAL 1.0

struct trl__noise {
    int bins, begun;
    double added, least;
    double *power, *noise, *floor, *peak, *signal, *gain, *mel;
    double memory[];
};

int trl__noise_create(int bins, double added, double least, trl__noise **out, trl_error *err)
{
    size_t n = (size_t)bins;
    trl__noise *noise = *out = trl__alloc_zero(1, sizeof *noise + 7 * n * sizeof(double));
    if (!noise)
        return trl__fail_memory(err);
    noise->bins = bins;
    noise->added = added;
    noise->least = added > 0 ? 0 : least;
    double **arrays[] = {&noise->power,  &noise->noise, &noise->floor, &noise->peak,
                         &noise->signal, &noise->gain,  &noise->mel};
    for (size_t i = 0; i < 7; i++)
        *arrays[i] = noise->memory + i * n;
    return 0;
}

void trl__noise_reset(trl__noise *noise)
{
    noise->begun = 0;
}

/* The first frame is taken for loud speech: the noise lies far below it. */
static void begin(trl__noise *s, const double *mel)
{
    for (int b = 0; b < s->bins; b++) {
        s->power[b] = mel[b];
        s->noise[b] = s->floor[b] = mel[b] / MOST_GAIN;
        s->peak[b] = 0;
    }
    s->begun = 1;
}

static double follow(double envelope, double value)
{
    double keep = value >= envelope ? RISE : FALL;
    return keep * envelope + (1 - keep) * value;
}

static double mask(double *peak, double signal)
{
    *peak *= PEAK_DECAY;
    double kept = signal < PEAK_DECAY * *peak ? MASKED * *peak : signal;
    *peak = fmax(*peak, signal);
    return kept;
}

static void weigh(trl__noise *s, const double *mel)
{
    for (int b = 0; b < s->bins; b++) {
        s->power[b] = SMOOTHING * s->power[b] + (1 - SMOOTHING) * mel[b];
        s->noise[b] = follow(s->noise[b], s->power[b]);
        double signal = fmax(s->power[b] - s->noise[b], LEAST_SIGNAL);
        s->floor[b] = follow(s->floor[b], signal);
        signal = fmax(mask(&s->peak[b], signal), s->floor[b]);
        s->gain[b] = signal < MOST_GAIN * s->power[b] ? signal / s->power[b] : MOST_GAIN;
        s->gain[b] = fmax(s->gain[b], 1 / MOST_GAIN);
    }
}

void trl__noise_remove_wide(trl__noise *s, double *mel)
{
    if (!s->begun)
        begin(s, mel);
    weigh(s, mel);
    for (int b = 0; b < s->bins; b++) {
        int first = b > NEIGHBOURS ? b - NEIGHBOURS : 0;
        int last = b + NEIGHBOURS < s->bins ? b + NEIGHBOURS : s->bins - 1;
        double sum = 0;
        for (int i = first; i <= last; i++)
            sum += s->gain[i];
        mel[b] = fmax(mel[b] * sum / (last - first + 1) + s->added, s->least);
    }
}

void trl__noise_remove(trl__noise *s, float *mel, size_t stride)
{
    for (int b = 0; b < s->bins; b++)
        s->mel[b] = (double)mel[(size_t)b * stride];
    trl__noise_remove_wide(s, s->mel);
    for (int b = 0; b < s->bins; b++)
        mel[(size_t)b * stride] = (float)s->mel[b];
}
