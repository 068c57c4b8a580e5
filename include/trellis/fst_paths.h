/* Transducers: distances and paths, with OpenFst's meaning.
 *
 *     trl_weight *distance;
 *     trl_fst_shortestdistance(fst, 0, TRL_QUEUE_AUTO, 1e-6f, &distance, &err);   // from the start to every state
 *     trl_fst_shortestpath(fst, &(trl_shortestpath_options){.paths = 10, .unique = 1}, &best, &err);
 *
 * In the log and real semirings a distance is the sum over all paths, found up to delta where there are cycles.
 */
#ifndef TRELLIS_FST_PATHS_H
#define TRELLIS_FST_PATHS_H

#include <trellis/fst.h>

TRL_BEGIN_DECLS

/* In which order states are worked on, as OpenFst's tools have it. The answer is the same for all, and the work is too:
 * components in topological order, each by what suits it. Two promise something, which is checked: top, that the
 * machine has no cycle; shortest, that there are best paths. Fifo, lifo and state count as auto. */
typedef enum trl_queue {
    TRL_QUEUE_AUTO,
    TRL_QUEUE_FIFO,
    TRL_QUEUE_LIFO,
    TRL_QUEUE_SHORTEST,
    TRL_QUEUE_STATE,
    TRL_QUEUE_TOP
} trl_queue;

/* From the start to each state, or (reverse) from each state to the ends, final weights included. *distance is freed
 * with free(), has one weight per state and is NULL for an empty machine. Where all paths count, sums end when what is
 * left is below delta (0: 1e-6) of them. Returns 0, TRL_EINVAL (top with a cycle; shortest in the log and real
 * semirings), TRL_ELIMIT (does not converge: a cycle of negative cost, or of probability 1 or more), TRL_ENOMEM. */
TRL_API int trl_fst_shortestdistance(const trl_fst *fst, int reverse, trl_queue queue, float delta,
                                     trl_weight **distance, trl_error *err);

typedef struct trl_shortestpath_options {
    int32_t paths; /* how many; 0 counts as 1 */
    int unique;    /* different inputs only, each with its best path; epsilons make a difference in OpenFst, not here */
    trl_queue queue;  /* as above */
    float delta;      /* 0: 1e-6 */
    trl_weight prune; /* has_prune: paths within this of the best only */
    int has_prune;
    int64_t most_states; /* of the result, which ends before a path that would go beyond; 0: no limit */
} trl_shortestpath_options;

/* A machine with the best paths only, side by side: arc i of the start begins path i, the best one first. (A path
 * without arcs is the start's final weight.) An empty machine: there is no path. In the tropical and lattice semirings;
 * weights may be negative. Returns 0, TRL_EINVAL (another semiring; the queue top with a cycle), TRL_ELIMIT (a cycle of
 * negative cost), TRL_ENOMEM. */
TRL_API int trl_fst_shortestpath(const trl_fst *fst, const trl_shortestpath_options *options, trl_fst **out,
                                 trl_error *err);

/* Removes states and arcs that are on no path within `threshold` (times) of the best one; zero (trl_weight_zero): all
 * paths stay. Of the states those most_states are kept that are on the best paths; 0: all. Tropical and lattice
 * semirings. Returns as above; TRL_EINVAL: a threshold below one, too. */
TRL_API int trl_fst_prune(trl_fst *fst, trl_weight threshold, int64_t most_states, trl_error *err);

/* Moves weights along by potentials, one for each state (zero: it is left alone), towards the start or the ends; what
 * paths weigh stays as it is. A start that arcs lead back to may get a state before it. TRL_ENUMBER: a potential that
 * is no weight of the semiring. */
TRL_API int trl_fst_reweight(trl_fst *fst, const trl_weight *potential, int to_final, trl_error *err);

/* At each state one of its arcs or its end is chosen: all alike, or by weight. */
typedef enum trl_randgen_kind { TRL_RANDGEN_UNIFORM, TRL_RANDGEN_LOG_PROBABILITY } trl_randgen_kind;
typedef struct trl_randgen_options {
    int32_t paths;   /* 0 counts as 1 */
    uint64_t seed;   /* path i depends on seed and i alone */
    int32_t longest; /* arcs; 0: 2^31 - 1. Paths that would be longer, or have no way to an end, are left out */
    trl_randgen_kind kind;
    int remove_weights; /* one for all, else those of the machine */
    int weighted;       /* a tree of the paths, in which they weigh their shares of all */
} trl_randgen_options;

/* Random paths, side by side: arc i of the start begins a path; one without arcs is an epsilon here. Returns 0,
 * TRL_EINVAL (negative numbers), TRL_ENOMEM. */
TRL_API int trl_fst_randgen(const trl_fst *fst, const trl_randgen_options *options, trl_fst **out, trl_error *err);

TRL_END_DECLS

#endif
