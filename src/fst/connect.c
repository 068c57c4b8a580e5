/* Trimming: only states on a path from the start to a final state stay. O(states + arcs). */
#include "fst/components.h"

#include <trellis/fst_structure.h>

int trl_fst_connect(trl_fst *fst, trl_error *err)
{
    trl__components c;
    int code = trl__components_find(fst, &c, err);
    if (code < 0)
        return code;
    for (int32_t s = 0; s < fst->states; s++)
        c.accessible[s] &= c.coaccessible[s];
    code = trl__fst_keep(fst, c.accessible, err);
    trl__components_free(&c);
    return code;
}
