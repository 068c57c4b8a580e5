/* One side's labels on both. O(arcs). */
#include "fst/fst_data.h"

#include <trellis/fst_structure.h>

int trl_fst_project(trl_fst *fst, trl_side side, trl_error *err)
{
    (void)err;
    int keep = side == TRL_SIDE_OUTPUT;
    for (int32_t s = 0; s < fst->states; s++) {
        trl__range range = fst->range[s];
        for (uint64_t i = range.first; i < range.first + range.count; i++) {
            int32_t *label = trl__arc_labels(fst, i);
            label[!keep] = label[keep];
        }
    }
    trl_symbols *symbols = keep ? fst->osymbols : fst->isymbols;
    trl_fst_set_symbols(fst, trl_symbols_share(symbols), trl_symbols_share(symbols));
    return 0;
}
