/* Intersection: of acceptors, composition. */
#include "base/fail.h"
#include "fst/fst_data.h"

#include <trellis/fst_compose.h>

int trl_fst_intersect(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                      trl_error *err)
{
    *out = NULL;
    if (!trl__fst_is_acceptor(a) || !trl__fst_is_acceptor(b))
        return trl__fail(err, TRL_EINVAL, "the %s machine is not an acceptor; project it",
                         trl__fst_is_acceptor(a) ? "second" : "first");
    return trl_fst_compose(a, b, options, out, err);
}
