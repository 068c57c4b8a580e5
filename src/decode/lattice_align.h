/* Lattices whose arcs span their words, with a parser that is used again and again. */
#ifndef TRL_DECODE_LATTICE_ALIGN_H
#define TRL_DECODE_LATTICE_ALIGN_H

#include "decode/lattice_data.h"
#include "decode/word_parser.h"

/* As trl_lattice_align_words. */
int trl__lattice_align(const trl_lattice *lattice, trl__word_parser *parser, trl_lattice **out, trl_error *err);

#endif
