/* A picture of an utterance: waveform, mel spectrogram, coefficients; drawn by gnuplot. */
#ifndef TRELLIS_PLOT_H
#define TRELLIS_PLOT_H

#include <stddef.h>
#include <trellis/frontend.h>

typedef struct plot_input {
    const char *title; /* the utterance's id and words */
    const float *samples;
    size_t count;
    double rate;
    const trl_matrix *frames;
    size_t block; /* coefficients before the first deltas; a line is drawn after each block of so many */
    double shift_ms;
} plot_input;

/* Is this a picture's name? Returns 0 or TRL_EUNSUPPORTED. */
int plot_check_name(const char *path, trl_error *err);

/* Writes PNG, SVG or PDF by the path's ending; the file appears when it is complete. Returns 0, TRL_EUNSUPPORTED (other
 * ending), TRL_ENOENT (no gnuplot, or no such folder), TRL_EIO. */
int plot_utterance(const char *path, const plot_input *input, trl_error *err);

#endif
