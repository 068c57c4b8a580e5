/* A frame and its neighbours: the last rows of a stream, with the first and last repeated beyond the ends. Deltas and
 * splicing both look through it. */
#ifndef TRL_FEAT_FRAME_WINDOW_H
#define TRL_FEAT_FRAME_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

typedef struct trl__frame_window {
    float *rows; /* row t is at t % capacity */
    size_t dim;
    int64_t left, right, capacity;
    int64_t received, taken;
} trl__frame_window;

int trl__frame_window_init(trl__frame_window *window, size_t dim, int left, int right, trl_error *err);
void trl__frame_window_free(trl__frame_window *window);
void trl__frame_window_reset(trl__frame_window *window);

/* Where the next row is to be written; it counts at once. */
float *trl__frame_window_put(trl__frame_window *window);

/* Moves to the next frame whose neighbours are complete: its number, or -1. `ended`: no more rows will come. */
int64_t trl__frame_window_next(trl__frame_window *window, int ended);

/* Row t, or the nearest one that exists. */
const float *trl__frame_window_row(const trl__frame_window *window, int64_t t);

#endif
