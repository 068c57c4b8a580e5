/* Transducers: composition and what is made of it, with OpenFst's meaning.
 *
 *     trl_compose_options o = trl_compose_defaults();
 *     trl_fst_compose(lexicon, grammar, &o, &out, &err);                 // phones to words that the grammar allows
 *
 * One side must be sorted: the first machine's arcs by output label or the second's by input label (TRL_EINVAL says which); both are best.
 * The machines are not changed and may be used by other threads meanwhile. The result has the first's input symbols and the second's
 * output symbols.
 */
#ifndef TRELLIS_FST_COMPOSE_H
#define TRELLIS_FST_COMPOSE_H

#include <trellis/fst.h>

TRL_BEGIN_DECLS

typedef enum trl_compose_filter {
    TRL_FILTER_AUTO,         /* sequence */
    TRL_FILTER_SEQUENCE,     /* epsilons of the first machine before those of the second */
    TRL_FILTER_ALT_SEQUENCE, /* the other way round */
    TRL_FILTER_MATCH,        /* epsilons of both at once where they meet */
    TRL_FILTER_TRIVIAL,      /* all orders of epsilons: repeats paths, right for the idempotent semirings only */
    TRL_FILTER_NULL          /* no epsilons on either side */
} trl_compose_filter;

/* Labels of the second machine (matched against the first's output) that stand for others; TRL_NO_LABEL: none is used.
 *   phi: taken, without reading, when no other arc of the state matches: a back-off arc.
 *   rho: matches every label that no other arc of the state matches.
 *   sigma: matches every label. */
typedef struct trl_compose_options {
    trl_compose_filter filter;
    int connect; /* trim the result; default 1 */
    int32_t phi, rho, sigma;
    int look_ahead; /* avoid paths of the first machine's output epsilons that no label of the second can end: for lexicon ∘ grammar; pushes weights and labels ahead */
    int64_t most_states; /* TRL_ELIMIT beyond; 0: 2^31 - 1 */
} trl_compose_options;

TRL_API trl_compose_options trl_compose_defaults(void);

/* Returns 0, TRL_EINVAL (different semirings, neither side sorted, phi with a filter that can't), TRL_ELIMIT, TRL_ENOMEM. */
TRL_API int trl_fst_compose(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                            trl_error *err);

/* Of acceptors. TRL_EINVAL: one is not. */
TRL_API int trl_fst_intersect(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                              trl_error *err);

/* What a accepts and b does not; b unweighted, without epsilons and deterministic (TRL_EINVAL otherwise). */
TRL_API int trl_fst_difference(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                               trl_error *err);

TRL_END_DECLS

#endif
