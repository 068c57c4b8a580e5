/* Transducers: smaller and faster machines that mean the same, and whether two do; with OpenFst's meaning.
 *
 *     trl_fst_rmepsilon(fst, NULL, &err);
 *     trl_determinize_options o = trl_determinize_defaults();
 *     trl_fst_determinize(fst, &o, &small, &err);
 *     trl_fst_minimize(small, NULL, &err);
 *
 * Options may be NULL: the defaults. What can't end (determinization of a machine without the twins property, epsilon cycles of negative
 * weight) is stopped by most_states with TRL_ELIMIT.
 */
#ifndef TRELLIS_FST_OPTIMIZE_H
#define TRELLIS_FST_OPTIMIZE_H

#include <trellis/fst.h>
#include <trellis/fst_structure.h>

TRL_BEGIN_DECLS

typedef enum trl_determinize_kind {
    TRL_DETERMINIZE_FUNCTIONAL,    /* one output for each input (TRL_EINVAL when there are two) */
    TRL_DETERMINIZE_NONFUNCTIONAL, /* several outputs follow each other by epsilon at the end */
    TRL_DETERMINIZE_DISAMBIGUATE   /* of several outputs the best one; path semirings */
} trl_determinize_kind;

typedef struct trl_determinize_options {
    trl_determinize_kind kind;
    float delta;         /* weights as near as this are the same state; default TRL_DELTA */
    int64_t most_states; /* TRL_ELIMIT beyond; 0: 2^31 - 1 */
    trl_weight prune; /* keep what is within this of the best path; zero (trl_weight_zero): all. Path semirings only */
    int has_prune;
    int32_t subsequential_label; /* on the arcs that write what is left at the end; default 0 */
    int increment_subsequential; /* each such arc of a state has a label of its own */
} trl_determinize_options;
TRL_API trl_determinize_options trl_determinize_defaults(void);

/* Weighted determinization on the input side; epsilon is a label like any other. Acceptors and transducers. */
TRL_API int trl_fst_determinize(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out,
                                trl_error *err);

/* At most one path for each input; acceptors stay as nondeterministic as they are otherwise. */
TRL_API int trl_fst_disambiguate(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out,
                                 trl_error *err);

typedef struct trl_minimize_options {
    float delta;                /* weights as near as this are the same; default 1e-6 */
    int allow_nondeterministic; /* then by bisimulation: smaller, not the smallest */
} trl_minimize_options;
TRL_API trl_minimize_options trl_minimize_defaults(void);

/* The smallest deterministic machine: weights and labels pushed towards the start, then equal states joined (acyclic: Revuz; cyclic: Hopcroft).
 * TRL_EINVAL: not deterministic. */
TRL_API int trl_fst_minimize(trl_fst *fst, const trl_minimize_options *options, trl_error *err);

typedef struct trl_rmepsilon_options {
    int connect;         /* default 1 */
    float delta;         /* of shortest distances; default 1e-6 */
    int64_t most_states; /* kept with `prune`: TRL_NO_STATE: all */
    trl_weight prune;    /* has_prune: keep what is within this of the best path. Path semirings only */
    int has_prune;
} trl_rmepsilon_options;
TRL_API trl_rmepsilon_options trl_rmepsilon_defaults(void);

/* Removes arcs with epsilon on both sides. */
TRL_API int trl_fst_rmepsilon(trl_fst *fst, const trl_rmepsilon_options *options, trl_error *err);

/* Epsilons of one side come last on every path. */
TRL_API int trl_fst_epsnormalize(const trl_fst *fst, trl_side side, trl_fst **out, trl_error *err);

/* Delays of the two sides kept small: labels as early as they can be. TRL_ELIMIT: the delay grows without end. */
TRL_API int trl_fst_synchronize(const trl_fst *fst, int64_t most_states, trl_fst **out, trl_error *err);

typedef struct trl_push_options {
    int weights, labels; /* what is pushed; default weights */
    int to_final;        /* towards the end instead of the start */
    int remove_total_weight;
    int remove_common_affix;
    float delta;
} trl_push_options;
TRL_API trl_push_options trl_push_defaults(void);
TRL_API int trl_fst_push(trl_fst *fst, const trl_push_options *options, trl_error *err);

/* Is it the same? *yes becomes 1 or 0. */
TRL_API int trl_fst_equal(const trl_fst *a, const trl_fst *b, float delta, int *yes,
                          trl_error *err); /* states and arcs in the same order */
TRL_API int trl_fst_isomorphic(const trl_fst *a, const trl_fst *b, float delta, int *yes,
                               trl_error *err); /* up to names of states, order of arcs */
/* Deterministic acceptors without epsilon (TRL_EINVAL otherwise): the same weight for every string? */
TRL_API int trl_fst_equivalent(const trl_fst *a, const trl_fst *b, float delta, int *yes, trl_error *err);
/* The same by chance: `paths` random paths of each get the same weight in both, up to delta. Any machines whose composition with a string is finite. */
TRL_API int trl_fst_randequivalent(const trl_fst *a, const trl_fst *b, int32_t paths, float delta, uint64_t seed,
                                   int32_t longest, int *yes, trl_error *err);

TRL_END_DECLS

#endif
