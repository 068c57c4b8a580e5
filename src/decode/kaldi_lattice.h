/* One lattice of a Kaldi archive, behind its id: compact or plain, text or binary.
 *
 * Text: a line end, then a line per arc and per end as OpenFst's tools print them, then an empty line.
 *
 *     from to word graph,acoustic,t1_t2_…        compact; the words are those of an acceptor
 *     state graph,acoustic,t1_t2_…
 *     from to transition word [graph,acoustic]   plain; transition and word may be 0
 *     state [graph,acoustic]
 *
 * Binary: an OpenFst machine of type vector with arcs "compactlattice44" or "lattice4". A compact weight is two floats, the number of
 * transitions (int32) and these (int32 each).
 */
#ifndef TRL_DECODE_KALDI_LATTICE_H
#define TRL_DECODE_KALDI_LATTICE_H

#include "base/byte_source.h"
#include "decode/lattice_draft.h"

#include <trellis/file.h>

/* The draft is scratch. Words: of the lattice, where the file has no table of its own. */
int trl__kaldi_lattice_read(trl__source *source, trl__lattice_draft *draft, trl_symbols *words, trl_lattice **out,
                            trl_error *err);

int trl__kaldi_lattice_write(const trl_lattice *lattice, trl_file *file, int text, trl_error *err);       /* compact */
int trl__kaldi_lattice_write_plain(const trl_lattice *lattice, trl_file *file, int text, trl_error *err); /* plain */

#endif
