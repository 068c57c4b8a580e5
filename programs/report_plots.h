/* The pictures of a report, as SVG for a page. */
#ifndef TRELLIS_REPORT_PLOTS_H
#define TRELLIS_REPORT_PLOTS_H

#include "training_story.h"

typedef enum report_plot {
    PLOT_LIKELIHOOD,
    PLOT_GAUSSIANS,
    PLOT_SPEED,
    PLOT_STEPS,
    PLOT_GAINS,
    REPORT_PLOTS
} report_plot;

/* *svg is the element without a heading, its ids its own in a page with all of the pictures; freed by free(). NULL: the
 * story has nothing to draw. Returns 0 or what gnuplot_draw does. */
int report_plot_draw(report_plot plot, const training_story *story, char **svg, trl_error *err);

#endif
