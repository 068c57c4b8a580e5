/* What the readers of Sphinx's two binary language models share. */
#ifndef TRL_FST_SPHINX_LM_H
#define TRL_FST_SPHINX_LM_H

#include "fst/ngram_machine.h"

/* The next bytes of the file, as a copy with 8 zeros behind it, so that 8 can be read anywhere; freed by trl__free. */
int trl__sphinx_take(trl__ngrams *ngrams, uint64_t size, unsigned char **out);

/* Reads the words, at the end of the file: the length of all, then each with a NUL. labels[i] becomes the label of
 * word i, or one of TRL__NGRAM_…. `big`: the computer that wrote the file was big-endian. */
int trl__sphinx_words(trl__ngrams *ngrams, int big, uint32_t count, int32_t *labels);

/* A logarithm of the file as a cost: `scale` is the natural logarithm of its base. */
int trl__sphinx_cost(const trl__ngrams *ngrams, float value, double scale, float *cost);

#endif
