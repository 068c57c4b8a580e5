/* Input and output change places. O(arcs). */
#include "fst/fst_data.h"

#include <trellis/fst_structure.h>

int trl_fst_invert(trl_fst *fst, trl_error *err)
{
    (void)err;
    for (int32_t s = 0; s < fst->states; s++) {
        trl__range range = fst->range[s];
        for (uint64_t i = range.first; i < range.first + range.count; i++) {
            int32_t *label = trl__arc_labels(fst, i), input = label[0];
            label[0] = label[1];
            label[1] = input;
        }
    }
    trl_symbols *symbols = fst->isymbols;
    fst->isymbols = fst->osymbols;
    fst->osymbols = symbols;
    return 0;
}
