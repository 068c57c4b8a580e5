/* The page of `trellis report`: one HTML file that needs nothing else, no script, no other file, no network. */
#ifndef TRELLIS_REPORT_PAGE_H
#define TRELLIS_REPORT_PAGE_H

#include "report_plots.h"

#include <stdio.h>
#include <trellis/model.h>

typedef struct report_input {
    const char *name; /* of the model's file, without its folder */
    const trl_model *model;
    const training_story *story;
    const char *plots[REPORT_PLOTS]; /* SVG; NULL: none */
    const char *no_plots;            /* why there are none; NULL: there are */
    const char *journal;             /* the file that times would be in */
} report_input;

extern const char report_style[]; /* CSS */

/* The same input gives the same bytes. Returns 0 or TRL_ENOMEM. */
int report_page_write(FILE *out, const report_input *input, trl_error *err);

#endif
