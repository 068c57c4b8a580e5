/* Pushing: weights and output labels as near to the start (or the ends) as they can be. Weights by the distances to the
 * ends as potentials, so that in the log and real semirings the arcs and the end of each state sum up to one, and in
 * the others the best of them weighs one (Mohri, "Weighted automata algorithms", 2009). Labels: push_labels.c.
 */
#include "fst/distance.h"
#include "fst/push_labels.h"

#include <trellis/fst_optimize.h>

TRL__EACH(int, push_weights, (trl_fst * fst, const trl_push_options *options, trl_error *err));

/* Of all paths together: towards the ends, what arrives there. */
static distance total_weight(const trl_fst *fst, const distance *far, int to_final)
{
    if (!to_final)
        return far[fst->start];
    distance sum = FAR;
    for (int32_t s = 0; s < fst->states; s++)
        if (!is_zero(final_of(fst, s)))
            sum = together(sum, beyond(far[s], final_of(fst, s)));
    return sum;
}

int FN(push_weights)(trl_fst *fst, const trl_push_options *options, trl_error *err)
{
    if (fst->start == TRL_NO_STATE)
        return 0;
    distance *far;
    int code = FN(distances)(fst, !options->to_final, options->delta, &far, NULL, err);
    if (code < 0)
        return code;
    distance total = total_weight(fst, far, options->to_final);
    if (!is_far(total))
        code = FN(reweight)(fst, far, options->to_final, options->remove_total_weight ? &total : NULL, err);
    trl__free(far);
    return code;
}

#if TRL__FIRST
trl_push_options trl_push_defaults(void)
{
    return (trl_push_options){.weights = 1, .delta = TRL__DISTANCE_DELTA};
}

static int push_weights(trl_fst *fst, const trl_push_options *options, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, push_weights, (fst, options, err));
}

int trl_fst_push(trl_fst *fst, const trl_push_options *options, trl_error *err)
{
    trl_push_options o = options ? *options : trl_push_defaults();
    o.delta = o.delta > 0 ? o.delta : TRL__DISTANCE_DELTA;
    int code = o.weights ? push_weights(fst, &o, err) : 0;
    if (code == 0 && o.labels)
        code = trl__fst_push_labels(fst, o.to_final, o.remove_common_affix, err);
    return code;
}
#endif
