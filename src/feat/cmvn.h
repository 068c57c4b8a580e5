/* Mean and variance normalisation; the sums are in trellis/frontend.h. */
#ifndef TRL_FEAT_CMVN_H
#define TRL_FEAT_CMVN_H

#include <math.h>
#include <trellis/frontend.h>

/* The static row of a frame that holds nothing starts with NaN. */
static inline int trl__row_holds(const float *row)
{
    return !isnan(row[0]);
}

double trl__mean_value(const trl_static_mean *mean, size_t i); /* 0 beyond what it has */

/* As trl_cmvn_add; with `loud`, without the frames whose first coefficient is negative, if any is not. */
void trl__cmvn_add(trl_cmvn *cmvn, const trl_matrix *frames, int loud);

void trl__cmvn_clear(trl_cmvn *cmvn);
void trl__cmvn_merge(trl_cmvn *to, const trl_cmvn *from);

/* y = x * scale + offset, from sums: mean 0, and with `variance` variance 1. */
void trl__cmvn_affine(const trl_cmvn *cmvn, int variance, float *scale, float *offset);

/* Sphinx's live normalisation: the mean so far is taken off, which at first is the prior, as if of 500 frames; when 800 are together the
 * mean is made anew, and counts as one of 500. Frames whose first coefficient is negative are passed through. */
typedef struct trl__live {
    size_t dim;
    double frames, *mean, *sum;
    const trl_frontend_options *options;
} trl__live;

int trl__live_init(trl__live *live, const trl_frontend_options *options, size_t dim,
                   trl_error *err); /* freed by trl__free(live->mean) */
void trl__live_reset(trl__live *live);
void trl__live_apply(trl__live *live, const float *row, float *out);

/* Normalisation over a window that slides with the frames. Rows go in one by one and come out, in order, as soon as the
 * window of a row is complete. */
typedef struct trl__sliding trl__sliding;

int trl__sliding_create(const trl_frontend_options *options, size_t dim, trl__sliding **out, trl_error *err);
void trl__sliding_destroy(trl__sliding *sliding);
void trl__sliding_reset(trl__sliding *sliding);
void trl__sliding_put(trl__sliding *sliding, const float *row);

/* Writes the next row that is ready, 1; or 0. One that holds nothing comes out as such. `ended`: no more rows will
 * come. */
int trl__sliding_take(trl__sliding *sliding, int ended, float *row);

#endif
