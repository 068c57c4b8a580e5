/* What the parts of `trellis-bench train` share. */
#ifndef TRELLIS_BENCH_TRAIN_BENCH_H
#define TRELLIS_BENCH_TRAIN_BENCH_H

#include "bench.h"
#include "train_workload.h"

/* How large things are: in full, with --quick, with --tiny. */
typedef struct train_sizes {
    double hours;    /* of sound that is generated */
    int tied_states; /* of the generated model */
    int copies;      /* how often it is repeated, so that what is done once per iteration weighs as in a large corpus */
    int runs;        /* alternating ones, the best counts */
    int scalar_runs; /* of the slow baseline */
    int figure_per_step; /* utterances per length in Fig. 10 */
    int peer_frames;     /* for hmmlearn */
    double memory_hours; /* the smallest of three corpora */
    int an4_iterations;  /* per round of the monophone training: 8 make 41 passes */
} train_sizes;

/* How an iteration is run. */
typedef struct train_how {
    const char *label;  /* in the list of runs */
    const char *device; /* "cpu", "cpu:scalar" */
    int threads;
    int margin;   /* frames, TRL_MARGIN_AUTO, TRL_MARGIN_FULL */
    double audit; /* share of utterances searched in full as well */
    int first;    /* 1: there are no alignments yet: a beam */
    int em;       /* trl_em */
    int m_step;   /* 1: with it */
} train_how;

/* What an iteration took. */
typedef struct train_cost {
    trl_iteration numbers; /* of the pass */
    double wall, cpu;      /* seconds: statistics made, pass, alignments written, M-step */
    double steps;          /* seconds in steps 0 to 3, all threads */
} train_cost;

typedef struct train_bench {
    const bench_options *options;
    json_t *result, *runs;
    train_sizes sizes;
    double peak; /* FLOP/s of a core */
    workload w;
    train_set many; /* w.all, `copies` times */
} train_bench;

/* One iteration as `trellis train` runs it: trl__pass_run, alignments to a file, then the M-step (on a copy, so that
 * the next run starts from the same model). Adds itself to the list of runs. `aligned` gets the new alignments; NULL:
 * dropped. `stats` gets the sums; NULL: freed. */
train_cost train_iterate(train_bench *b, const train_set *set, const trl_lexicon *lexicon, const trl_model *model,
                         const train_how *how, trl__alignment_store **aligned, trl__stats **stats);

/* The front end of `trellis train`. */
trl_frontend *train_frontend(void);

/* What a margin is called. */
const char *train_margin_name(int margin, char text[16]);

void train_measure_memory(train_bench *b);  /* first: a child process starts with what its parent holds */
void train_measure_tables(train_bench *b);  /* [000] Table 4, Fig. 7 */
void train_measure_pruning(train_bench *b); /* Fig. 10 */
void train_measure_an4(train_bench *b);     /* a real corpus; aligning it beside pocketsphinx */
void train_measure_hmmlearn(train_bench *b);

/* Runs bench/peers/SCRIPT with the virtual environment's Python: the JSON that it prints, or NULL when it can't. */
json_t *train_run_peer(const char *script, const char *arguments);

#endif
