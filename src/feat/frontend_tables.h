/* What a front end computes once and every thread reads: see trellis/frontend.h. */
#ifndef TRL_FEAT_FRONTEND_TABLES_H
#define TRL_FEAT_FRONTEND_TABLES_H

#include "feat/affine.h"

#include <trellis/frontend.h>

#define TRL__SAMPLE_SCALE 32768.0f /* full scale in 16-bit units, Kaldi's and HTK's */
#define TRL__MOST_FFT_STAGES 16
#define TRL__MOST_BINS 512            /* mel_bins */
#define TRL__MOST_ORDER 100           /* lpc_order */
#define TRL__MOST_TRANSFORM (1 << 20) /* rows and columns: more than the most spliced values */

/* One mel filter: weights for the FFT bins first … first + count - 1. */
typedef struct trl__mel_filter {
    int first, count;
    const float *weights;
} trl__mel_filter;

/* One pass of the complex FFT: `radix` (2 or 4) transforms of length `span` become one of radix * span. */
typedef struct trl__fft_stage {
    int radix, span;
    const float *twiddles; /* per j < span: cos, sin of the radix - 1 factors */
} trl__fft_stage;

struct trl_frontend {
    trl_frontend_options options;
    char *description;
    int length, shift; /* samples */
    int fft;           /* real points, a power of two */
    int static_dim, delta_dim, spliced_dim, dim;
    float preemphasis;          /* within a frame */
    float mel_least, mel_added; /* what a mel bin is at least, after what is added to it */
    int energy_index;           /* of the coefficient that log energy replaces or adds; -1: none */

    float *window; /* [length] */
    int *position; /* [fft / 2]: where complex input j goes, so that the passes end in natural order */
    trl__fft_stage stages[TRL__MOST_FFT_STAGES];
    int stage_count;
    float *twiddles;          /* all stages' factors */
    float *split;             /* [fft / 4 + 1] cos, sin: the last step of a real transform */
    trl__mel_filter *filters; /* [mel_bins] */
    float *mel_weights;
    float *cosines;       /* MFCC: [num_ceps x mel_bins], lifter and order included */
    float *loudness;      /* PLP: equal-loudness weights [mel_bins] */
    float *autocosines;   /* PLP: [(lpc_order + 1) x (mel_bins + 2)], spectrum to autocorrelation */
    float *lifter;        /* PLP: [num_ceps] by order of the cepstrum, scale included */
    int *cepstrum_index;  /* PLP: [num_ceps] where cepstrum i goes */
    float *delta_filters; /* per order 1 … deltas: [2 * order * delta_window + 1] */
    trl__affine affine;   /* options.transform, if it has rows */
};

int trl__frontend_statics(const trl_frontend_options *options); /* static coefficients */
int trl__frontend_describe(const trl_frontend_options *options, char **out, trl_error *err);

#endif
