/* Trimming: only states on a path from the start to a final state stay.
 *
 * Which states reach an end is found by sweeps from the last state to the first over those that are not known to: a
 * state does when one of its arcs leads to one that does, and mostly the first arc decides. Machines that are numbered
 * the way they were built need a few sweeps; where they do not suffice, the components tell (components.h). O(states +
 * arcs).
 */
#include "base/fail.h"
#include "base/memory.h"
#include "fst/components.h"

#include <string.h>
#include <trellis/fst_structure.h>

#define MOST_SWEEPS 12

static int mark_accessible(const trl_fst *fst, uint8_t *marks)
{
    int32_t *queue = trl__alloc((size_t)fst->states + 1, sizeof *queue), first = 0, last = 0;
    if (!queue)
        return -1;
    if (fst->start != TRL_NO_STATE)
        marks[queue[last++] = fst->start] = 1;
    for (; first < last; first++) {
        trl__range range = fst->range[queue[first]];
        for (uint64_t i = range.first; i < range.first + range.count; i++)
            if (!marks[*trl__arc_next(fst, i)])
                marks[queue[last++] = *trl__arc_next(fst, i)] = 1;
    }
    trl__free(queue);
    return 0;
}

static int leads_to_marked(const trl_fst *fst, int32_t state, const uint8_t *marks)
{
    trl__range range = fst->range[state];
    for (uint64_t i = range.first; i < range.first + range.count; i++)
        if (marks[*trl__arc_next(fst, i)])
            return 1;
    return 0;
}

/* Marks the states that reach an end. Returns 1, 0 when the sweeps did not suffice, or -1: out of memory. */
static int sweep(const trl_fst *fst, uint8_t *marks)
{
    int32_t *open = trl__alloc((size_t)fst->states + 1, sizeof *open), count = 0;
    if (!open)
        return -1;
    for (int32_t s = fst->states - 1; s >= 0; s--) {
        marks[s] = !trl_weight_is_zero(fst->semiring, trl_fst_final(fst, s)) || leads_to_marked(fst, s, marks);
        open[count] = s;
        count += !marks[s];
    }
    int moved = count > 0;
    for (int sweeps = 1; moved && sweeps < MOST_SWEEPS; sweeps++) {
        int32_t left = 0;
        for (int32_t i = 0; i < count; i++) {
            marks[open[i]] = (uint8_t)leads_to_marked(fst, open[i], marks);
            open[left] = open[i];
            left += !marks[open[i]];
        }
        moved = left < count;
        count = left;
    }
    trl__free(open);
    return !moved;
}

static int mark_coaccessible(const trl_fst *fst, uint8_t *marks, trl_error *err)
{
    int done = sweep(fst, marks);
    if (done != 0)
        return done > 0 ? 0 : trl__fail_memory(err);
    trl__components c;
    int code = trl__components_find(fst, &c, err);
    if (code == 0) {
        memcpy(marks, c.coaccessible, (size_t)fst->states);
        trl__components_free(&c);
    }
    return code;
}

int trl__fst_drop_dead_ends(trl_fst *fst, trl_error *err)
{
    uint8_t *alive = trl__alloc_zero((size_t)fst->states + 1, 1);
    int code = alive ? mark_coaccessible(fst, alive, err) : trl__fail_memory(err);
    if (code == 0 && memchr(alive, 0, (size_t)fst->states))
        code = trl__fst_keep(fst, alive, err);
    trl__free(alive);
    return code;
}

int trl_fst_connect(trl_fst *fst, trl_error *err)
{
    uint8_t *reached = trl__alloc_zero((size_t)fst->states + 1, 1);
    int code = reached && mark_accessible(fst, reached) == 0 ? 0 : trl__fail_memory(err);
    if (code == 0 && memchr(reached, 0, (size_t)fst->states))
        code = trl__fst_keep(fst, reached, err);
    trl__free(reached);
    return code == 0 ? trl__fst_drop_dead_ends(fst, err) : code;
}
