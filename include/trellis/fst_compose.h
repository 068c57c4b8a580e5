/* Transducers: composition and what is made of it, with OpenFst's meaning.
 *
 *     trl_compose_options o = trl_compose_defaults();
 *     o.look_ahead = 1;
 *     trl_fst_compose(lexicon, grammar, &o, &out, &err);                 // phones to words that the grammar allows
 *
 * Of two states that meet, one must have sorted arcs: the first machine's by output label or the second's by input
 * label. Both are best; where neither has, TRL_EINVAL says which states these are. Looking ahead sorts by itself.
 *
 * The machines are not changed and may be used by other threads meanwhile. States of the result are numbered breadth
 * first from the start, 0. It has the first's input symbols and the second's output symbols. Only the parts of the
 * machines that meet are looked at. Options may be NULL: the defaults. After a failure *out is NULL.
 */
#ifndef TRELLIS_FST_COMPOSE_H
#define TRELLIS_FST_COMPOSE_H

#include <trellis/fst.h>

TRL_BEGIN_DECLS

typedef enum trl_compose_filter {
    TRL_FILTER_AUTO,         /* sequence; looking ahead, the alternative */
    TRL_FILTER_SEQUENCE,     /* epsilons of the first machine before those of the second */
    TRL_FILTER_ALT_SEQUENCE, /* the other way round */
    TRL_FILTER_MATCH,        /* epsilons of both at once where they meet */
    TRL_FILTER_TRIVIAL,      /* all orders of epsilons: repeats paths, right for the idempotent semirings only */
    TRL_FILTER_NULL          /* epsilon is a label like others: it meets epsilon */
} trl_compose_filter;

/* Labels of the second machine, met by the first's output, that stand for others; TRL_NO_LABEL: none is used. Its arcs
 * must be sorted, and the first machine must not write them.
 *   phi: followed, without reading, when no arc of the state has the label: a back-off arc. Its weight goes to the
 *        arc that is found behind it. A state that is not final ends as the one behind does. 0: epsilons are these
 *        arcs. One that leads back to its own state reads the label, as rho does.
 *   rho: has every label that no other arc of the state has.
 *   sigma: has every label.
 * The arc of the result has the label that was stood for, on the output side too if the second machine is an
 * acceptor. */
typedef struct trl_compose_options {
    trl_compose_filter filter;
    int connect; /* remove states that lead to no end; default 1 */
    int32_t phi, rho, sigma;

    /* For a first machine that writes late (a determinized lexicon): paths on which it could write nothing that the
     * second reads are not begun, an output is written as soon as no other can follow, and the best of the weights that
     * can follow is paid at once. The meaning is the same, the result smaller. Not together with phi, rho, sigma. */
    int look_ahead;

    int64_t most_states; /* TRL_ELIMIT beyond; 0: 2^31 - 1 */
} trl_compose_options;

TRL_API trl_compose_options trl_compose_defaults(void);

/* Returns 0, TRL_EINVAL (different semirings, arcs that are not sorted, symbol tables that name a label differently,
 * options that exclude each other, failure arcs in a cycle), TRL_ELIMIT, TRL_ENOMEM. */
TRL_API int trl_fst_compose(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                            trl_error *err);

/* What both accept, with the product of their weights. TRL_EINVAL also: one is not an acceptor. */
TRL_API int trl_fst_intersect(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                              trl_error *err);

/* What a accepts, with its weights, and b does not. Both are acceptors, and b is unweighted, deterministic, without
 * epsilons, and sorted (TRL_EINVAL otherwise). Of the options, connect and most_states count. */
TRL_API int trl_fst_difference(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                               trl_error *err);

TRL_END_DECLS

#endif
