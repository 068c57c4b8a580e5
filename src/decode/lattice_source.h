/* A reader of lattices from an open source, which it takes over, also on failure. */
#ifndef TRL_DECODE_LATTICE_SOURCE_H
#define TRL_DECODE_LATTICE_SOURCE_H

#include "base/byte_source.h"

#include <trellis/lattice_file.h>

int trl__lattice_reader_from_source(trl__source *source, trl_symbols *words, trl_lattice_reader **out, trl_error *err);

#endif
