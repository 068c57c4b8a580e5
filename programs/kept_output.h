/* OUTPUT.part, where results are kept until the output is complete (trellis/kept.h), and what is said about it.
 *
 *     kept_output_open(&kept, &v->common, v->output, v->resume);     // options.kept = kept.kept
 *     return kept_output_failure(&kept, &err);                       // instead of cli_failure
 *     kept_output_done(&kept);                                       // the output is in place
 *     kept_output_close(&kept);                                      // in any case
 */
#ifndef TRELLIS_KEPT_OUTPUT_H
#define TRELLIS_KEPT_OUTPUT_H

#include "cli.h"

#include <trellis/kept.h>

typedef struct kept_output {
    trl_kept *kept; /* NULL: nothing is kept */
    char *where;    /* in words */
} kept_output;

/* Returns 0 or an exit code. */
int kept_output_open(kept_output *k, const cli_common *common, const char *output, int resume);
int kept_output_failure(const kept_output *k, const trl_error *err);
void kept_output_done(kept_output *k);
void kept_output_close(kept_output *k);

#define KEPT_OUTPUT_OPTION(type)                                                                                   \
    {                                                                                                              \
        "resume", 0, CLI_FLAG, offsetof(type, resume), NULL,                                                       \
            "go on after an interruption, with what is kept beside the output, in OUTPUT.part; where nothing is, " \
            "begin"                                                                                                \
    }

#endif
