/* From the raw lattice of the search to a word lattice.
 *
 *     trl__determinizer_create(&determinizer, err);                                     // one per thread; memory is reused
 *     trl__determinize(determinizer, raw, words, &options, &lattice, &beam, err);
 */
#ifndef TRL_DECODE_LATTICE_DETERMINIZE_H
#define TRL_DECODE_LATTICE_DETERMINIZE_H

#include "decode/decoder.h"
#include "decode/lattice_data.h"

typedef struct trl__determinize_options {
    double acoustic_scale; /* the search's: ways are compared by graph cost + acoustic_scale * acoustic cost */
    double beam;           /* above the best path; INFINITY: none */
    size_t most_bytes;     /* of memory on the way; where they do not suffice, the beam gets narrower; 0: 256 MiB */
} trl__determinize_options;

typedef struct trl__determinizer trl__determinizer;

int trl__determinizer_create(trl__determinizer **out, trl_error *err);
void trl__determinizer_destroy(trl__determinizer *determinizer);

/* Every word string that has a way within the beam, once, by its best way. Arcs of a state are sorted by word; all is on a path within the beam. `words`
 * (or NULL) gets one more owner. *beam: what was asked for, or less where memory ended. Returns 0, TRL_ELIMIT, TRL_ENOMEM. */
int trl__determinize(trl__determinizer *determinizer, const trl__raw_lattice *raw, trl_symbols *words,
                     const trl__determinize_options *options, trl_lattice **out, double *beam, trl_error *err);

#endif
