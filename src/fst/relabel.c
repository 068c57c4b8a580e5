/* Labels of one side become others, all at once. O(pairs + arcs). */
#include "base/fail.h"
#include "fst/fst_data.h"
#include "base/tuple_table.h"

#include <trellis/fst_structure.h>

static int read_pairs(trl__tuples *table, const int32_t *from, const int32_t *to, size_t count, trl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (from[i] < 0 || to[i] < 0)
            return trl__fail(err, TRL_EINVAL, "label %d can't become %d: labels are not negative", (int)from[i],
                             (int)to[i]);
        int64_t entry = trl__tuples_add(table, &from[i]);
        if (entry < 0)
            return trl__fail_memory(err);
        if ((size_t)entry < i)
            return trl__fail(err, TRL_EINVAL, "label %d is given twice, to become %d and %d", (int)from[i],
                             (int)to[entry], (int)to[i]);
    }
    return 0;
}

int trl_fst_relabel(trl_fst *fst, trl_side side, const int32_t *from, const int32_t *to, size_t count, trl_error *err)
{
    trl__tuples table = {.width = 1};
    int code = read_pairs(&table, from, to, count, err);
    for (int32_t s = 0; code == 0 && s < fst->states; s++) {
        trl__range range = fst->range[s];
        for (uint64_t i = range.first; i < range.first + range.count; i++) {
            int32_t *label = &trl__arc_labels(fst, i)[side == TRL_SIDE_OUTPUT];
            int64_t entry = trl__tuples_find(&table, label);
            *label = entry < 0 ? *label : to[entry];
        }
    }
    trl__tuples_free(&table);
    return code;
}
