/* Reversal: arcs are counted by the state they lead to, then each goes to its place. O(states + arcs). */
#include "fst/weighted.h"

#include <trellis/fst_structure.h>

TRL__EACH(int, fst_reverse, (const trl_fst *fst, trl_fst *out, trl_error *err));

/* State s becomes s + 1; state 0 leads to what were ends. */
static void lay_out(const trl_fst *fst, trl_fst *out)
{
    for (int32_t s = 0; s < fst->states; s++) {
        out->range[0].room += !is_zero(final_of(fst, s));
        for (uint32_t i = 0; i < arc_count(fst, s); i++)
            out->range[arcs_of(fst, s)[i].next + 1].room++;
    }
    for (int32_t s = 0; s < out->states; s++) {
        out->range[s].first = out->used;
        out->used += out->range[s].room;
    }
}

static void place(trl_fst *out, int32_t state, arc a)
{
    arcs_of(out, state)[out->range[state].count++] = a;
}

int FN(fst_reverse)(const trl_fst *fst, trl_fst *out, trl_error *err)
{
    int code = trl__fst_make_room(out, 0, trl_fst_arcs(fst) + (uint64_t)fst->states, err);
    if (code == 0)
        code = fst->states == INT32_MAX ? trl__fail(err, TRL_ELIMIT, "a transducer has at most %d states", INT32_MAX)
                                        : trl_fst_add_states(out, fst->states + 1, err);
    if (code < 0)
        return code;
    lay_out(fst, out);
    for (int32_t s = 0; s < fst->states; s++) {
        if (!is_zero(final_of(fst, s)))
            place(out, 0, (arc){0, 0, final_of(fst, s), s + 1});
        for (uint32_t i = 0; i < arc_count(fst, s); i++) {
            arc a = arcs_of(fst, s)[i];
            place(out, a.next + 1, (arc){a.ilabel, a.olabel, a.weight, s + 1});
        }
    }
    out->start = 0;
    if (fst->start != TRL_NO_STATE)
        set_final(out, fst->start + 1, ONE);
    return 0;
}

#if TRL__FIRST
static int dispatch(const trl_fst *fst, trl_fst *out, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, fst_reverse, (fst, out, err));
}

int trl_fst_reverse(const trl_fst *fst, trl_fst **out, trl_error *err)
{
    int code = trl__fst_like(fst, out, err);
    if (code < 0)
        return code;
    code = dispatch(fst, *out, err);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}
#endif
