/* Difference of acceptors: the first machine walks along with the second, which is deterministic and so is in one
 * state, or has fallen out of what it accepts. What ends where the second does not is left. O(states of the first *
 * states of the second). */
#include "fst/matching.h"
#include "fst/product.h"

#include <trellis/fst_compose.h>

TRL__EACH(int, fst_difference, (const trl_fst *a, const trl_fst *b, int64_t most_states, trl_fst *out, trl_error *err));

#define OUTSIDE TRL_NO_STATE /* of the second machine */

static int32_t step(side *b, int32_t state, int32_t label)
{
    if (state == OUTSIDE || arc_count(b->fst, state) == 0)
        return OUTSIDE;
    uint32_t at = side_find(b, state, label, 0);
    const arc *y = arcs_of(b->fst, state) + at;
    return at < arc_count(b->fst, state) && y->ilabel == label ? y->next : OUTSIDE;
}

static int expand(product *p, const trl_fst *a, side *b, trl_error *err)
{
    const int32_t *tuple = product_tuple(p);
    int32_t first = tuple[0], second = tuple[1];
    int traits = second == OUTSIDE ? SIDE_SORTED : side_traits(b, second, 0), code = 0;
    if (!traits)
        return trl__fail_memory(err);
    if (!(traits & SIDE_SORTED))
        return trl__fail(err, TRL_EINVAL, "state %d of the second machine is not sorted by label; sort it",
                         (int)second);
    if (second == OUTSIDE || is_zero(final_of(b->fst, second)))
        set_final(p->out, p->state, final_of(a, first));
    for (const arc *x = arcs_of(a, first), *end = x + arc_count(a, first); code == 0 && x < end; x++)
        code = product_arc(p, *x, x->next, x->olabel == 0 ? second : step(b, second, x->olabel), 0, err);
    return code;
}

int FN(fst_difference)(const trl_fst *a, const trl_fst *b, int64_t most_states, trl_fst *out, trl_error *err)
{
    if (a->start == TRL_NO_STATE)
        return 0;
    side second;
    product p;
    int code = product_open(&p, out, most_states, err);
    if (side_open(&second, b) < 0)
        code = trl__fail_memory(err);
    if (code == 0)
        code = product_start(&p, (int32_t[]){a->start, b->start, 0}, err);
    while (code == 0 && (code = product_next(&p, err)) > 0)
        code = expand(&p, a, &second, err);
    side_close(&second);
    product_close(&p);
    return code;
}

#if TRL__FIRST
/* The second machine must say of every string at once whether it accepts it. */
static int check(const trl_fst *a, const trl_fst *b, trl_error *err)
{
    uint32_t second = 0;
    int code = trl__fst_check_semirings(a, b, err);
    if (code == 0)
        code = trl_fst_properties(b, &second, err);
    if (code < 0)
        return code;
    const char *wrong = !(second & TRL_FST_ACCEPTOR)         ? "second machine is not an acceptor; project it"
                        : !(second & TRL_FST_NO_EPSILONS)    ? "second machine has epsilons; remove them"
                        : !(second & TRL_FST_IDETERMINISTIC) ? "second machine is not deterministic; determinize it"
                        : !(second & TRL_FST_UNWEIGHTED)     ? "second machine has weights; remove them"
                        : !trl__fst_is_acceptor(a)           ? "first machine is not an acceptor; project it"
                                                             : NULL;
    return wrong ? trl__fail(err, TRL_EINVAL, "the %s", wrong) : 0;
}

static int dispatch(const trl_fst *a, const trl_fst *b, int64_t most_states, trl_fst *out, trl_error *err)
{
    TRL__DISPATCH(a->semiring, fst_difference, (a, b, most_states, out, err));
}

int trl_fst_difference(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                       trl_error *err)
{
    trl_compose_options defaults = trl_compose_defaults();
    options = options ? options : &defaults;
    *out = NULL;
    int code = check(a, b, err);
    if (code == 0)
        code = trl__fst_like(a, out, err);
    if (code == 0)
        code = dispatch(a, b, options->most_states, *out, err);
    if (code == 0 && options->connect)
        code = trl__fst_drop_dead_ends(*out, err);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}
#endif
