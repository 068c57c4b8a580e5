/* States in an order in which arcs lead forward. In a machine without cycles every state is a component of its own, and components are
 * numbered against the arcs (components.h). O(states + arcs). */
#include "base/fail.h"
#include "fst/components.h"

#include <trellis/fst_structure.h>

int trl_fst_topsort(trl_fst *fst, trl_error *err)
{
    trl__components c;
    int code = trl__components_find(fst, &c, err);
    if (code < 0)
        return code;
    if (c.acyclic) {
        for (int32_t s = 0; s < fst->states; s++)
            c.component[s] = c.count - 1 - c.component[s];
        code = trl__fst_permute(fst, c.component, err);
    } else
        code = trl__fail(err, TRL_EINVAL, "a machine with a cycle can't be sorted topologically");
    trl__components_free(&c);
    return code;
}
