/* Rescored N-best lists with a reference, as `bam tune` and `bam eval` take them, and rows like the paper's Tables I to III. */
#ifndef TRELLIS_BAM_SCORED_H
#define TRELLIS_BAM_SCORED_H

#include "cli.h"

#include <trellis/bam_rescore.h>

typedef struct bam_scored {
    trl_pool *pool;
    trl_transcripts *said;
    trl_bam_lists **lists; /* by file */
    size_t count;
} bam_scored;

/* REF, then LISTS…: errors of all hypotheses are counted. Returns 0 or an exit code; freed whatever it returns. */
int bam_scored_read(const cli_common *common, int only_true, int count, char **arguments, bam_scored *scored);
void bam_scored_free(bam_scored *scored);

/* What the lists were rescored with: "BAM Nmin = 4k, …". */
void bam_run_text(const trl_bam_run *run, char *text, size_t size);

void bam_print_head(void);
void bam_print_row(const char *label, const trl_bam_weights *weights, int with_back_off, trl_counts counts,
                   uint64_t gaussians);

#endif
