/* What the public options of recognition mean for the search. */
#ifndef TRL_DECODE_DECODE_OPTIONS_H
#define TRL_DECODE_DECODE_OPTIONS_H

#include "decode/best_words.h"

#include <trellis/decode.h>

trl__decode_options trl__search_options_of(const trl_decode_options *options);

/* How the best words are chosen. */
trl_lattice_scale trl__lattice_scale_of(const trl_decode_options *options);

/* A word's text; "?" where the graph has none. */
const char *trl__word_label(const trl_graph *graph, int32_t word);

#endif
