/* Sorting the arcs of each state: by insertion where they are few, else by radix, from the lowest digit of the label
 * up; both keep the order of equal labels. O(arcs). */
#include "fst/weighted.h"

#include <trellis/fst_structure.h>

TRL__EACH(int, fst_arcsort, (trl_fst * fst, int output, trl_error *err));

#define FEW 24
#define DIGIT 8 /* bits */

static int is_sorted(const arc *arcs, uint32_t count, int output)
{
    for (uint32_t i = 1; i < count; i++)
        if (label_of(&arcs[i], output) < label_of(&arcs[i - 1], output))
            return 0;
    return 1;
}

static void insert_each(arc *arcs, uint32_t count, int output)
{
    for (uint32_t i = 1; i < count; i++) {
        arc a = arcs[i];
        uint32_t to = i;
        for (; to > 0 && label_of(&arcs[to - 1], output) > label_of(&a, output); to--)
            arcs[to] = arcs[to - 1];
        arcs[to] = a;
    }
}

/* One digit: where arcs with each value of it begin, then every arc to its place. */
static void distribute(const arc *from, arc *to, uint32_t count, int output, int shift)
{
    uint32_t place[1 << DIGIT] = {0}, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        place[(label_of(&from[i], output) >> shift) & ((1 << DIGIT) - 1)]++;
    for (int d = 0; d < 1 << DIGIT; d++) {
        uint32_t here = place[d];
        place[d] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++)
        to[place[(label_of(&from[i], output) >> shift) & ((1 << DIGIT) - 1)]++] = from[i];
}

static void radix_sort(arc *arcs, uint32_t count, int output, arc *scratch)
{
    int32_t all = 0;
    arc *from = arcs, *to = scratch;
    for (uint32_t i = 0; i < count; i++)
        all |= label_of(&arcs[i], output);
    for (int shift = 0; shift < 32 && all >> shift; shift += DIGIT) {
        distribute(from, to, count, output, shift);
        arc *other = from;
        from = to;
        to = other;
    }
    if (from != arcs)
        memcpy(arcs, from, count * sizeof *arcs);
}

int FN(fst_arcsort)(trl_fst *fst, int output, trl_error *err)
{
    uint32_t most = 0;
    for (int32_t s = 0; s < fst->states; s++)
        most = arc_count(fst, s) > most ? arc_count(fst, s) : most;
    arc *scratch = most > FEW ? trl__alloc(most, sizeof *scratch) : NULL;
    if (most > FEW && !scratch)
        return trl__fail_memory(err);
    for (int32_t s = 0; s < fst->states; s++) {
        uint32_t count = arc_count(fst, s);
        if (is_sorted(arcs_of(fst, s), count, output))
            continue;
        if (count <= FEW)
            insert_each(arcs_of(fst, s), count, output);
        else
            radix_sort(arcs_of(fst, s), count, output, scratch);
    }
    trl__free(scratch);
    return 0;
}

#if TRL__FIRST
int trl_fst_arcsort(trl_fst *fst, trl_side side, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_arcsort, (fst, side == TRL_SIDE_OUTPUT, err));
}
#endif
