/* From statistics to parameters: the M-step ([000] eqs. 4 to 7), and splitting. */
#ifndef TRL_MODEL_ESTIMATE_H
#define TRL_MODEL_ESTIMATE_H

#include "model/statistics.h"

#include <trellis/pool.h>

typedef struct trl__estimate_options {
    trl_pool *pool;           /* its threads share the work; NULL: one thread. The result is the same bytes */
    double least_count;       /* frames of a component below which it is dropped (its mixture keeps at least one) */
    double variance_floor;    /* share of the variance of all data, per dimension; 0: no floor but least_variance */
    double least_variance;    /* absolute floor */
    double variance_prior;    /* frames; see below. 0: none */
    int unseen_as_all;        /* 1: tied states without frames take the mean and variance of all frames (flat start) */
    double least_probability; /* of a transition; the others of the state give it */
} trl__estimate_options;

typedef struct trl__estimate_result {
    int64_t gaussians;        /* after dropping */
    int64_t dropped;          /* components that had too little data */
    int64_t kept_states;      /* tied states without data, or too little for any component: parameters as they were */
    int64_t floored;          /* variances that were raised to the floor, counted by dimension */
    int64_t kept_transitions; /* triples (or pools) without data */
} trl__estimate_result;

trl__estimate_options trl__estimate_defaults(void); /* 3 frames, 0.01, 1e-5, no prior, 0.01 */

/* Changes the model in place. The rules, which docs/commands/train.md states too: a component with less than
 * least_count frames is dropped and the rest of its mixture re-weighted; when all are, the one with the most frames
 * stays, with its old mean and variance when it has less than least_count; a tied state without any frame keeps
 * everything.
 *
 * With a prior, a component's variances are as if it had variance_prior frames more whose variances about its mean were
 * those within the components of its state, all taken together: the mode of an inverse gamma distribution (MAP).
 * Variances from a few dozen frames vary by a quarter, and what is too narrow by chance fits no other speaker. A
 * component alone in its state has nobody to borrow from. */
int trl__estimate(trl_model *model, const trl__stats *stats, const trl__estimate_options *options,
                  trl__estimate_result *result, trl_error *err);

/* Varmix ([001] eq. 1): log components = log beta + alpha * log frames, to the nearest whole number, at least 1. More
 * than most_frames count as most_frames. Below least_frames the rule would give a Gaussian less and less data: there
 * the components fall in proportion to the frames, so that none has fewer than at the threshold (0: the rule holds
 * everywhere). */
typedef struct trl__varmix {
    double alpha, beta;
    double least_frames, most_frames;
} trl__varmix;

trl__varmix trl__varmix_defaults(
    void); /* 0.3, 2.2, 500, 256000: [001]'s, but for the lower threshold, which is for small corpora */
int32_t trl__varmix_components(const trl__varmix *rule, double frames);

/* Mixtures grow. `count` (by tied state: frames) comes from the last statistics. Splitting a component: its weight is
 * halved and the means go 0.2 standard deviations to either side. The heaviest component (by weight, then the first) is
 * split first, so sizes need not be powers of two. A tied state gets no more than count / least_frames (0: no limit),
 * and never shrinks. to_components: every state to `components`. to_total: to `total` in all, shares in proportion to
 * count^power; fewer where the limits don't allow so many. by_frames: every state to what the rule gives for its
 * frames, times `share` (above 0, up to 1), rounded up. Rounds whose shares double, … 1/4, 1/2, 1, double every mixture
 * until each has its own size in the last one. */
int trl__split_to_components(trl_model *model, const double *count, int32_t components, double least_frames,
                             trl_error *err);
int trl__split_to_total(trl_model *model, const double *count, int64_t total, double power, double least_frames,
                        trl_error *err);
int trl__split_by_frames(trl_model *model, const double *count, const trl__varmix *rule, double share,
                         double least_frames, trl_error *err);

#endif
