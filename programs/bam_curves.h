/* Word errors of a series of stores against the size of their data or of themselves ([001] Figs. 2 and 3), drawn by gnuplot. */
#ifndef TRELLIS_BAM_CURVES_H
#define TRELLIS_BAM_CURVES_H

#include <stddef.h>
#include <trellis/bam_rescore.h>

#define BAM_CURVE_MOST 256 /* points */

typedef struct bam_curve_point {
    const trl_bam_run *run;
    double error_rate; /* percent */
} bam_curve_point;

/* A line for each choice of order, alpha and beta, over the logarithm of hours (by_data) or Gaussians, and the first pass's error rate. SVG; the file appears when it is complete. Returns 0, TRL_EINVAL (a run whose hours
 * are not known), TRL_ENOENT (no gnuplot, no such folder), TRL_EIO. */
int bam_curves_draw(const char *path, int by_data, const bam_curve_point *points, size_t count, double first_pass,
                    trl_error *err);

#endif
