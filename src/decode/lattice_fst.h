/* Lattices as machines with a transition on each arc, which is Kaldi's plain form. */
#ifndef TRL_DECODE_LATTICE_FST_H
#define TRL_DECODE_LATTICE_FST_H

#include "decode/lattice_draft.h"

/* A machine of the lattice semiring that reads transitions, one per arc, and writes words. A word stands on the first arc of those that replace
 * its own, and so do the costs. It has no tables. */
int trl__lattice_frames_fst(const trl_lattice *lattice, trl_fst **out, trl_error *err);

/* A machine's arcs and ends; transitions: 1: what it reads are these. */
int trl__lattice_draft_fst(const trl_fst *fst, trl__lattice_draft *draft, int transitions, trl_error *err);

#endif
