/* Word alignment by IBM Model 1 (Brown et al., "The mathematics of statistical machine translation", 1993). */
#ifndef TRELLIS_BENCH_IBM_MODEL1_H
#define TRELLIS_BENCH_IBM_MODEL1_H

#include "fst_corpus.h"

/* For every token of the first lines of `to`: the place (from 0) in its line of `from` of the word that most probably
 * produced it, or -1: of none of them. EM starts from equal probabilities and runs for so many iterations. `link` has
 * room for them. */
void ibm_model1_align(const fst_text *from, const fst_text *to, size_t lines, int iterations, int16_t *link);

#endif
