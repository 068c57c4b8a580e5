/* Union, concatenation and closure as Thompson joins machines ("Regular expression search algorithm", 1968): by epsilon
 * arcs that carry the final weights they replace. O(states + arcs) of the machine that is added. */
#include "fst/weighted.h"

#include <trellis/fst_structure.h>

TRL__EACH(int, fst_union, (trl_fst * fst, const trl_fst *other, trl_error *err));
TRL__EACH(int, fst_concat, (trl_fst * fst, const trl_fst *behind, trl_error *err));
TRL__EACH(int, fst_closure, (trl_fst * fst, trl_closure kind, trl_error *err));

static int join(trl_fst *fst, int32_t from, int32_t to, weight w, trl_error *err)
{
    return push_arc(fst, from, (arc){0, 0, w, to}, err);
}

/* Does the state end paths, and have arcs that lie somewhere? */
static int is_busy_end(const trl_fst *fst, int32_t s)
{
    return !is_zero(final_of(fst, s)) && fst->range[s].room > 0 && fst->range[s].room < UINT32_MAX;
}

/* Each end is about to get an arc. A range that grows moves behind all others; where most arcs would, they are moved
 * apart in place instead, from the last to the first, each by as many as there are ends before it: that touches no new
 * memory. */
static int make_room_at_ends(trl_fst *fst, trl_error *err)
{
    uint64_t ends = 0, moving = 0, behind = 0;
    for (int32_t s = 0; s < fst->states; s++)
        if (is_busy_end(fst, s)) {
            ends++;
            moving += fst->range[s].count;
        }
    if (moving < fst->used / 4)
        return 0;
    for (int32_t s = 0; s < fst->states; s++) {
        trl__range range = fst->range[s];
        if (range.room > 0 && range.first < behind)
            return 0; /* not in the order of the states */
        behind = range.room > 0 ? range.first + range.room : behind;
    }
    int code = trl__fst_make_room(fst, fst->states, fst->used + ends, err);
    if (code < 0)
        return code;
    arc *arcs = fst->arcs;
    uint64_t end = fst->used;
    fst->used += ends;
    for (int32_t s = fst->states - 1; ends > 0 && s >= 0; s--) {
        trl__range *range = &fst->range[s];
        if (is_busy_end(fst, s)) {
            uint64_t first = range->first + range->room++;
            memmove(arcs + first + ends, arcs + first, (end - first) * sizeof *arcs);
            end = first;
            ends--;
        }
        range->first += ends;
    }
    return 0;
}

static int is_entered_again(const trl_fst *fst, int32_t state)
{
    for (int32_t s = 0; s < fst->states; s++)
        for (uint32_t i = 0; i < arc_count(fst, s); i++)
            if (arcs_of(fst, s)[i].next == state)
                return 1;
    return 0;
}

/* A start that no arc leads to also leads to the other machine; else both get a new one. */
int FN(fst_union)(trl_fst *fst, const trl_fst *other, trl_error *err)
{
    if (other->start == TRL_NO_STATE)
        return 0;
    int32_t start = fst->start, second = other->start + fst->states;
    int again = start != TRL_NO_STATE && is_entered_again(fst, start);
    int code = trl__fst_append(fst, other, err);
    if (code < 0)
        return code;
    if (start == TRL_NO_STATE)
        return trl_fst_set_start(fst, second, err);
    if (!again)
        return join(fst, start, second, ONE, err);
    int32_t before = push_state(fst, err);
    if (before < 0)
        return before;
    fst->start = before;
    code = join(fst, before, start, ONE, err);
    return code < 0 ? code : join(fst, before, second, ONE, err);
}

int FN(fst_concat)(trl_fst *fst, const trl_fst *behind, trl_error *err)
{
    int32_t states = fst->states, second = behind->start == TRL_NO_STATE ? TRL_NO_STATE : behind->start + states;
    int code = make_room_at_ends(fst, err);
    if (code == 0)
        code = trl__fst_append(fst, behind, err);
    for (int32_t s = 0; code == 0 && s < states; s++) {
        weight final = final_of(fst, s);
        set_final(fst, s, ZERO);
        if (second != TRL_NO_STATE && !is_zero(final))
            code = join(fst, s, second, final, err);
    }
    return code;
}

/* Ends lead back to the start. A new start may also end at once; the old one may not, as it may be entered again. */
int FN(fst_closure)(trl_fst *fst, trl_closure kind, trl_error *err)
{
    int32_t states = fst->states, start = fst->start;
    int code = start == TRL_NO_STATE ? 0 : make_room_at_ends(fst, err);
    for (int32_t s = 0; code == 0 && start != TRL_NO_STATE && s < states; s++)
        if (!is_zero(final_of(fst, s)))
            code = join(fst, s, start, final_of(fst, s), err);
    if (code < 0 || kind == TRL_CLOSURE_PLUS)
        return code;
    int32_t before = push_state(fst, err);
    if (before < 0)
        return before;
    set_final(fst, before, ONE);
    fst->start = before;
    return start == TRL_NO_STATE ? 0 : join(fst, before, start, ONE, err);
}

#if TRL__FIRST
int trl_fst_union(trl_fst *fst, const trl_fst *other, trl_error *err)
{
    int code = trl__fst_check_semirings(fst, other, err);
    if (code < 0)
        return code;
    TRL__DISPATCH(fst->semiring, fst_union, (fst, other, err));
}

int trl_fst_concat(trl_fst *fst, const trl_fst *behind, trl_error *err)
{
    int code = trl__fst_check_semirings(fst, behind, err);
    if (code < 0)
        return code;
    TRL__DISPATCH(fst->semiring, fst_concat, (fst, behind, err));
}

int trl_fst_closure(trl_fst *fst, trl_closure kind, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_closure, (fst, kind, err));
}
#endif
