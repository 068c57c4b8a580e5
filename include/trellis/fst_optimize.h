/* Transducers: smaller and faster machines that mean the same, and whether two do; with OpenFst's meaning.
 *
 *     trl_fst_rmepsilon(fst, NULL, &err);
 *     trl_determinize_options o = trl_determinize_defaults();
 *     trl_fst_determinize(fst, &o, &small, &err);
 *     trl_fst_minimize(small, NULL, &err);
 *
 * Options may be NULL: the defaults. What can't end (determinization of a machine without the twins property, epsilon
 * cycles of negative weight) is stopped by most_states with TRL_ELIMIT.
 */
#ifndef TRELLIS_FST_OPTIMIZE_H
#define TRELLIS_FST_OPTIMIZE_H

#include <trellis/fst.h>
#include <trellis/fst_structure.h>

TRL_BEGIN_DECLS

#define TRL_MOST_STATES 1000000 /* where no limit is given: so many, */
#define TRL_MOST_STATES_EACH 16 /* and so many for each state of the machine */

typedef enum trl_determinize_kind {
    TRL_DETERMINIZE_FUNCTIONAL,    /* one output for each input (TRL_EINVAL when there are two) */
    TRL_DETERMINIZE_NONFUNCTIONAL, /* several outputs follow each other's common beginning, one arc each, at the end */
    TRL_DETERMINIZE_DISAMBIGUATE   /* of several outputs the best one; path semirings */
} trl_determinize_kind;

typedef struct trl_determinize_options {
    trl_determinize_kind kind;
    float delta; /* weights as near as this are the same state; default TRL_DELTA. Probabilities: their logarithms */
    int64_t
        most_states; /* TRL_ELIMIT beyond; 0: TRL_MOST_STATES and TRL_MOST_STATES_EACH for every state of the machine */
    trl_weight prune; /* has_prune: only what is on a path within this of the best one. Path semirings */
    int has_prune;
    int32_t subsequential_label; /* on the input side of arcs that write what is left at the end; default 0 */
    int increment_subsequential; /* each such arc of a state has a label of its own: that, the next … */
} trl_determinize_options;
TRL_API trl_determinize_options trl_determinize_defaults(void);

/* Weighted determinization on the input side: no state of *out has two arcs with one input label, except those with the
 * subsequential label. Epsilon is a label like any other. Acceptors and transducers; arcs with weight zero are left
 * out. With pruning the machine is unfolded only as far as needed, so that machines without a deterministic form have
 * one, too. Returns 0, TRL_EINVAL (not functional, an option that the semiring does not have), TRL_ELIMIT (most_states;
 * a cycle of negative cost with pruning), TRL_ENOMEM. */
TRL_API int trl_fst_determinize(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out,
                                trl_error *err);

/* At most one path for each input, with the weight of all that there were. Arcs stay as nondeterministic as they are
 * otherwise, and so some machines can be disambiguated that have no deterministic form. Time and memory can grow with
 * the square of the machine. Not with the nonfunctional kind (TRL_EINVAL); otherwise as determinization. */
TRL_API int trl_fst_disambiguate(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out,
                                 trl_error *err);

typedef struct trl_minimize_options {
    float delta;                /* weights as near as this are the same; default 1e-6, as in OpenFst */
    int allow_nondeterministic; /* then by bisimulation: smaller, not the smallest. Path semirings */
} trl_minimize_options;
TRL_API trl_minimize_options trl_minimize_defaults(void);

/* The smallest deterministic machine: weights and labels pushed towards the start, then equal states joined (acyclic:
 * Revuz; cyclic: Hopcroft). Where an arc is then to write several labels, states that only write follow it. What all
 * paths cost or write together comes to stand before a start that is entered again. TRL_EINVAL: not deterministic; only
 * the order of arcs has changed. After any other failure the machine must be destroyed. */
TRL_API int trl_fst_minimize(trl_fst *fst, const trl_minimize_options *options, trl_error *err);

typedef struct trl_rmepsilon_options {
    int connect;         /* trim the result; default 1 */
    float delta;         /* of shortest distances; default 1e-6 */
    int64_t most_states; /* so many are kept, those on the best paths; default TRL_NO_STATE: all. Path semirings only */
    trl_weight prune;    /* has_prune: keep what is within this of the best path. Path semirings only */
    int has_prune;
} trl_rmepsilon_options;
TRL_API trl_rmepsilon_options trl_rmepsilon_defaults(void);

/* Removes arcs with epsilon on both sides; arcs of a state that become alike are joined. Returns 0, TRL_ELIMIT (an
 * epsilon cycle of negative cost, or of probability 1 or more), TRL_EINVAL (pruning where there is no best path),
 * TRL_ENOMEM. */
TRL_API int trl_fst_rmepsilon(trl_fst *fst, const trl_rmepsilon_options *options, trl_error *err);

/* Epsilons of one side come last on every path. TRL_ELIMIT: no finite machine does that, because a cycle has more
 * labels on the other side. */
TRL_API int trl_fst_epsnormalize(const trl_fst *fst, trl_side side, trl_fst **out, trl_error *err);

/* Both sides advance together: on every path, labels on both sides of an arc (or on neither) until one side has no
 * more. TRL_ELIMIT: a cycle has more labels on one side than on the other, or there would be more than most_states (0:
 * as in determinization) states. */
TRL_API int trl_fst_synchronize(const trl_fst *fst, int64_t most_states, trl_fst **out, trl_error *err);

typedef struct trl_push_options {
    int weights, labels;     /* what is pushed; default weights. Labels are those of the output */
    int to_final;            /* towards the end instead of the start */
    int remove_total_weight; /* all paths together weigh one then */
    int remove_common_affix; /* what all outputs begin (to_final: end) with */
    float delta;             /* of shortest distances; default 1e-6 */
} trl_push_options;
TRL_API trl_push_options trl_push_defaults(void);

/* Weights and labels as near to the start, or the ends, as they can be. Towards the start, the arcs and the end of each
 * state then sum up to one. Returns 0, TRL_ELIMIT (there are no distances: a cycle of negative cost, or of probability
 * 1 or more), TRL_ENOMEM. */
TRL_API int trl_fst_push(trl_fst *fst, const trl_push_options *options, trl_error *err);

/* Is it the same? *yes becomes 1 or 0. Both machines must have one semiring (TRL_EINVAL); symbol tables are not
 * compared. */

/* States and arcs in the same order, weights up to delta. */
TRL_API int trl_fst_equal(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err);

/* The same up to the names of states and the order of arcs, as far as the start leads. TRL_EINVAL: can't be told,
 * because a state has several arcs with the same labels and nearly the same weight; never for deterministic
 * machines. */
TRL_API int trl_fst_isomorphic(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err);

/* The same weight for every string? Deterministic acceptors without epsilon (TRL_EINVAL otherwise). Weights are
 * compared as if pushed to the start: costs by their difference, probabilities by their ratio. TRL_ELIMIT: distances to
 * the ends don't converge. */
TRL_API int trl_fst_equivalent(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err);

/* The same by chance: what `paths` random paths of each read and write weighs the same in both, up to delta. Any
 * machines. longest: arcs of a path, 0: 2^31 - 1. */
TRL_API int trl_fst_randequivalent(const trl_fst *a, const trl_fst *b, int32_t paths, float delta, uint64_t seed,
                                   int32_t longest, int *yes, trl_error *err);

TRL_END_DECLS

#endif
