/* What the parts of `trellis-bench fst` share. */
#ifndef TRELLIS_BENCH_FST_BENCH_H
#define TRELLIS_BENCH_FST_BENCH_H

#include "bench.h"
#include "fst_peer.h"
#include "fst_corpus.h"

/* How large things are: in full, with --quick, with --tiny. */
typedef struct fst_sizes {
    size_t lines[4];      /* of the texts that transducers are made of; 0: no more */
    size_t grammar_lines; /* of the text behind the large grammar */
    size_t sentences;     /* with a path, that are decoded */
    size_t figure_sentences;
    size_t letters; /* of the long input for the method prefix */
    int runs;       /* alternating ones, the best counts */
    int operation_runs;
} fst_sizes;

typedef struct fst_bench {
    const bench_options *options;
    json_t *result;
    fst_sizes sizes;
    fst_corpus corpus;
} fst_bench;

void fst_measure_translation(fst_bench *b); /* [002]'s experiment, Tables 2 to 4 and Fig. 4 */
void fst_measure_letters(fst_bench *b);     /* one very long input */
void fst_measure_operations(fst_bench *b);  /* compose, determinize, minimize, rmepsilon, shortestpath */

#endif
