/* How many errors a word string has, expected over all paths of a lattice. */
#ifndef TRL_DECODE_LATTICE_ERRORS_H
#define TRL_DECODE_LATTICE_ERRORS_H

#include "decode/lattice_data.h"

/* The sum over all paths of probability * edit distance between the path's words and these, which may shift by 12 words against each other. *errors is negative where it would take too long to find out.
 * Returns 0, TRL_ELIMIT, TRL_ENOMEM. */
int trl__lattice_expected_errors(const trl_lattice *lattice, const trl_lattice_scale *scale, const int32_t *words,
                                 size_t count, double *errors, trl_error *err);

#endif
