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

typedef enum trl_queue {                 /* in which order states are worked on */
                         TRL_QUEUE_AUTO, /* topological for acyclic machines, else by components, each with what suits it */
                         TRL_QUEUE_FIFO,
                         TRL_QUEUE_LIFO,
                         TRL_QUEUE_SHORTEST, /* path semirings */
                         TRL_QUEUE_STATE,
                         TRL_QUEUE_TOP
} trl_queue;

/* From the start to each state, or (reverse) from each state to the ends, final weights included. *distance is freed with free(), has one
 * weight per state and is NULL for an empty machine. Returns 0, TRL_EINVAL (top with a cycle; shortest without path semiring), TRL_ELIMIT (does not converge: a
 * cycle of negative cost, or of probability 1 or more), TRL_ENOMEM. */
TRL_API int trl_fst_shortestdistance(const trl_fst *fst, int reverse, trl_queue queue, float delta,
                                     trl_weight **distance, trl_error *err);

typedef struct trl_shortestpath_options {
    int32_t paths; /* how many; 0 counts as 1 */
    int unique; /* different inputs only (the machine is determinized as it goes: acceptors, or transducers by their input side) */
    trl_queue queue;
    float delta;      /* 0: 1e-6 */
    trl_weight prune; /* has_prune: paths within this of the best only */
    int has_prune;
    int64_t most_states; /* of the result; 0: no limit */
} trl_shortestpath_options;

/* A machine with the best paths only; the best from the start first. Path semirings (TRL_EINVAL otherwise). An empty machine: no path. */
TRL_API int trl_fst_shortestpath(const trl_fst *fst, const trl_shortestpath_options *options, trl_fst **out,
                                 trl_error *err);

/* Removes states and arcs that are on no path within `threshold` (times) of the best one. Path semirings. most_states 0: no limit. */
TRL_API int trl_fst_prune(trl_fst *fst, trl_weight threshold, int64_t most_states, trl_error *err);

/* Moves weights along by potentials, one for each state: towards the start, or the ends. */
TRL_API int trl_fst_reweight(trl_fst *fst, const trl_weight *potential, int to_final, trl_error *err);

typedef enum trl_randgen_kind { TRL_RANDGEN_UNIFORM, TRL_RANDGEN_LOG_PROBABILITY } trl_randgen_kind;
typedef struct trl_randgen_options {
    int32_t paths; /* 0 counts as 1 */
    uint64_t seed;
    int32_t longest;              /* arcs; 0: 2^31 - 1. Longer ones are cut off and not there */
    trl_randgen_kind kind;        /* all choices alike, or by weight */
    int remove_weights, weighted; /* weighted: a tree with the counts as weights */
} trl_randgen_options;
TRL_API int trl_fst_randgen(const trl_fst *fst, const trl_randgen_options *options, trl_fst **out, trl_error *err);

TRL_END_DECLS

#endif
