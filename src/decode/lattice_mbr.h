/* What a lattice says about words that were found otherwise. */
#ifndef TRL_DECODE_LATTICE_MBR_H
#define TRL_DECODE_LATTICE_MBR_H

#include "decode/lattice_data.h"

/* Sets the confidences of words in their order; their times need only be near. *errors: as in trl_hypothesis. Returns as trl_lattice_best. */
int trl__lattice_judge(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_lattice_word *words,
                       size_t count, double *errors, trl_error *err);

#endif
