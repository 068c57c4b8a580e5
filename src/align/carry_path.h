/* A path through one model's graph as a path through another's: so that a model that was just made, with another
 * tree, can go on from the alignments of the last one. */
#ifndef TRL_ALIGN_CARRY_PATH_H
#define TRL_ALIGN_CARRY_PATH_H

#include "align/aligner.h"

/* Both graphs are of the same words, and their models of the same lexicon, with the same units and topologies; trees
 * may differ, or be there in one only. The path keeps its slots, variants, places, states and frames; of each phone
 * it takes the copy for its own context. out: room for `count` runs, of which each comes from one of the old ones.
 * TRL_EINVAL: there is no such path. */
int trl__graph_carry_path(const trl__graph *from, const trl__run *runs, size_t count, const trl__graph *to,
                          trl__run *out, trl_error *err);

#endif
