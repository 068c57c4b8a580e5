/* Mean and variance normalisation; the sums are in trellis/frontend.h. */
#ifndef TRL_FEAT_CMVN_H
#define TRL_FEAT_CMVN_H

#include <trellis/frontend.h>

/* As trl_cmvn_add; with `loud`, without the frames whose first coefficient is negative, if any is not. */
void trl__cmvn_add(trl_cmvn *cmvn, const trl_matrix *frames, int loud);

/* y = x * scale + offset, from sums: mean 0, and with `variance` variance 1. */
void trl__cmvn_affine(const trl_cmvn *cmvn, int variance, float *scale, float *offset);

/* Normalisation over a window that slides with the frames. Rows go in one by one and come out, in order, as soon as the
 * window of a row is complete. */
typedef struct trl__sliding trl__sliding;

int trl__sliding_create(const trl_frontend_options *options, size_t dim, trl__sliding **out, trl_error *err);
void trl__sliding_destroy(trl__sliding *sliding);
void trl__sliding_reset(trl__sliding *sliding);
void trl__sliding_put(trl__sliding *sliding, const float *row);

/* Writes the next row that is ready, 1; or 0. `ended`: no more rows will come. */
int trl__sliding_take(trl__sliding *sliding, int ended, float *row);

#endif
