#include "base/fail.h"
#include "model/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <trellis/bam.h>

trl_bam_options trl_bam_defaults(void)
{
    return (trl_bam_options){.order = 3,
                             .word_boundaries = 1,
                             .seed = 1,
                             .least_frames = 4000,
                             .most_frames = 256000,
                             .alpha = 0.3,
                             .beta = 2.2,
                             .variance_floor = 1e-5,
                             .iterations = 4};
}

int trl_bam_options_check(const trl_bam_options *o, trl_error *err)
{
    if (o->order < 1 || o->order > TRL_BAM_ORDER_MOST)
        return trl__fail(err, TRL_EINVAL, "order is %d; it may be 1 to %d", o->order, TRL_BAM_ORDER_MOST);
    if (o->least_frames < 1 || o->most_frames < o->least_frames || o->most_frames > INT32_MAX)
        return trl__fail(err, TRL_EINVAL,
                         "min-frames is %" PRId64 " and max-frames %" PRId64
                         "; the first must be at least 1, the second not below it nor above %" PRId32,
                         o->least_frames, o->most_frames, INT32_MAX);
    if (!(o->alpha >= 0 && o->alpha <= 1 && o->beta > 0 && isfinite(o->beta)))
        return trl__fail(err, TRL_EINVAL, "alpha is %g and beta %g; alpha may be 0 to 1, beta must be more than 0",
                         o->alpha, o->beta);
    if (!(o->variance_floor > 0 && isfinite(o->variance_floor)))
        return trl__fail(err, TRL_EINVAL, "variance-floor is %g; it must be more than 0", o->variance_floor);
    if (o->iterations < 1)
        return trl__fail(err, TRL_EINVAL, "iterations is %d; it must be at least 1", o->iterations);
    return 0;
}

int32_t trl_bam_components(const trl_bam_options *o, int64_t frames)
{
    const trl__varmix rule = {.alpha = o->alpha, .beta = o->beta, .most_frames = (double)o->most_frames};
    return trl__varmix_components(&rule, (double)frames);
}

trl_bam_cell trl_bam_total(const trl_bam_counts *counts)
{
    trl_bam_cell total = {0};
    for (int left = 0; left <= TRL_BAM_ORDER_MOST; left++)
        for (int right = 0; right <= TRL_BAM_ORDER_MOST; right++) {
            const trl_bam_cell *cell = &counts->cell[left][right];
            total.mphones += cell->mphones;
            total.kept += cell->kept;
            total.sampled += cell->sampled;
            total.gaussians += cell->gaussians;
        }
    return total;
}
