/* What the measurements of speed share: a model of AN4, its graph, and what is to be recognised. */
#ifndef TRELLIS_BENCH_DECODE_SPEED_H
#define TRELLIS_BENCH_DECODE_SPEED_H

#include "decode_bench.h"

#include <trellis/decode.h>

typedef struct speed_task {
    decode_bench *bench;
    const char *name;  /* "mono", "tri" … */
    double kaldi;      /* CPU seconds per second of sound that Kaldi needed */
    char place[4096];  /* of AN4 */
    char folder[4096]; /* for files of this run */
    char said[4200];   /* the folder of `test` */
    trl_findings *findings;
    trl_corpus *train, *test;
    trl_lexicon *lexicon;
    trl_pool *one, *two; /* threads */
    trl_model *model;
    trl_graph *graph;
    double seconds; /* of sound in `test` */
} speed_task;

/* beam 13, lattice beam 6, lattices: what Kaldi's figures were measured with. */
trl_decode_options speed_options(void);

/* Reports under "WHAT_NAME". */
void speed_report(const speed_task *t, const char *what, double value, const char *unit, const char *meaning);

void speed_measure_shares(speed_task *t); /* decode_shares.c: of front end, scoring, search, lattice */
void speed_measure_search(speed_task *t); /* decode_search.c: the search alone, beside kaldi-decoder's */

#endif
