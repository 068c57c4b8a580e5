/* What the parts of `trellis-bench ladder` share. */
#ifndef TRELLIS_BENCH_LADDER_BENCH_H
#define TRELLIS_BENCH_LADDER_BENCH_H

#include "bench.h"

#include <stdint.h>
#include <trellis/train.h>

#define LADDER_STAGES "mono,tri,lda,sat"
#define LADDER_RUNGS 4

/* How large things are: in full, with --quick, with --tiny. */
typedef struct ladder_sizes {
    int an4_iterations;        /* per round */
    int contexts, tree_leaves; /* of the tree from statistics */
    double gathering_hours;    /* of the corpus that is repeated */
    double hours;              /* of the large ladder; 0: it is left out */
    int leaves;                /* of its trees */
} ladder_sizes;

/* What a stage came to, and where its time went. */
typedef struct ladder_rung {
    char name[8];
    int32_t leaves, iterations;
    int64_t gaussians;
    double log_likelihood; /* per frame, of the last iteration */
    double seconds;        /* wall, of the stage … */
    double passes;         /* … of its E- and M-steps; the rest is how it begins, transforms and checkpoints */
    double load, score, alpha, backtrack, accumulate, estimate; /* CPU seconds */
} ladder_rung;

/* A ladder in the making. */
typedef struct ladder {
    ladder_rung rungs[LADDER_RUNGS];
    const char *folder;              /* of its checkpoints; NULL: models are not kept */
    trl_model *models[LADDER_RUNGS]; /* the rungs' last ones, mapped */
} ladder;

typedef struct ladder_bench {
    const bench_options *options;
    json_t *result;
    ladder_sizes sizes;
} ladder_bench;

/* For trl_train_options.report, with a ladder as `user`. */
void ladder_note(void *user, const trl_iteration *iteration);

/* A table of leaves, Gaussians, likelihoods and times; and the same as objects by the stages' names. */
void ladder_print(const ladder *l);
json_t *ladder_json(const ladder *l);

void ladder_measure_an4(ladder_bench *b);
void ladder_measure_contexts(ladder_bench *b); /* statistics and trees, without training */
void ladder_measure_large(ladder_bench *b);    /* generated speech, 8000 leaves */

#endif
