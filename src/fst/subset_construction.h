/* What determinization and disambiguation share: the weighted subset construction, operations/determinize.c. */
#ifndef TRL_FST_SUBSET_CONSTRUCTION_H
#define TRL_FST_SUBSET_CONSTRUCTION_H

#include "base/tuple_table.h"
#include "fst/weighted.h"

#include <trellis/fst_optimize.h>

/* With heads, a state of the result stands for a state of the machine, its head, and for those states beside it that
 * share a future with it; it has the arcs of its head only. The machine's arcs are sorted by input label. */
typedef struct trl__heads {
    trl__tuples related; /* pairs of states with a common future, the lower one first */
    int32_t *head;       /* result: by state of the output; TRL_NO_STATE for states that only write what is left */
} trl__heads;

TRL__EACH(int, subset_construction,
          (const trl_fst *fst, const trl_determinize_options *options, trl__heads *heads, trl_fst **out,
           trl_error *err));

#endif
