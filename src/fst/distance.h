/* Distances in a machine, in double precision: how operations under fst/operations/ ask for them.
 *
 *     distance *far;
 *     FN(distances)(fst, 1, 1e-6f, &far, NULL, err);                     // from every state to the ends
 *     if (!is_far(far[s])) …                                             // an end is reached from s
 *
 * A distance is a double; in the lattice semiring, a pair of them.
 */
#ifndef TRL_FST_DISTANCE_H
#define TRL_FST_DISTANCE_H

#include "fst/weighted.h"

#include <trellis/fst_paths.h>

#define TRL__DISTANCE_DELTA 1e-6f /* where nothing is said, as in OpenFst */

#if TRL__SEMIRING < 3
typedef double distance;
#define FAR ((distance)ZERO)
#define NEAR ((distance)ONE)
static inline distance to_distance(weight w)
{
    return w;
}
static inline weight to_weight(distance d)
{
    return (weight)d;
}
static inline int is_far(distance d)
{
    return d == FAR;
}
static inline distance beyond(distance d, weight w) /* along one more arc */
{
    return TRL__SEMIRING == 2 ? d * w : d + w;
}
static inline distance joined(distance a, distance b) /* one behind the other */
{
    return TRL__SEMIRING == 2 ? a * b : a + b;
}
static inline distance without(distance a, distance b)
{
    return TRL__SEMIRING == 2 ? a / b : a - b;
}
static inline int nearer(distance a, distance b)
{
    return TRL__SEMIRING == 2 ? a > b : a < b;
}
static inline double gain(distance old, distance better)
{
    return old - better;
}
static inline distance together(distance a, distance b) /* of paths side by side */
{
    return TRL__SEMIRING == 0   ? (a < b ? a : b)
           : TRL__SEMIRING == 2 ? a + b
           : isinf(a)           ? b
           : isinf(b)           ? a
                                : fmin(a, b) - log1p(exp(-fabs(a - b)));
}
#else
typedef struct distance {
    double value, second;
} distance;
#define FAR ((distance){INFINITY, INFINITY})
#define NEAR ((distance){0, 0})
static inline distance to_distance(weight w)
{
    return (distance){w.value, w.second};
}
static inline weight to_weight(distance d)
{
    return (weight){(float)d.value, (float)d.second};
}
static inline int is_far(distance d)
{
    return d.value == INFINITY;
}
static inline distance beyond(distance d, weight w)
{
    return (distance){d.value + w.value, d.second + w.second};
}
static inline distance joined(distance a, distance b)
{
    return (distance){a.value + b.value, a.second + b.second};
}
static inline distance without(distance a, distance b)
{
    return (distance){a.value - b.value, a.second - b.second};
}
static inline int nearer(distance a, distance b)
{
    double sum_a = a.value + a.second, sum_b = b.value + b.second;
    return sum_a != sum_b ? sum_a < sum_b : a.value < b.value;
}
static inline double gain(distance old, distance better)
{
    double of_sum = old.value + old.second - better.value - better.second;
    return of_sum != 0 ? of_sum : old.value - better.value;
}
static inline distance together(distance a, distance b)
{
    return nearer(b, a) ? b : a;
}
#endif

/* A strongly connected part of a machine as a graph of its own: nodes from 0, edges by node. */
typedef struct trl__edge {
    int32_t to;
    weight weight;
} edge;
typedef struct trl__graph {
    int32_t nodes;
    uint64_t *first; /* nodes + 1 */
    edge *edges;
} graph;

/* far[] comes with what each node starts with, and leaves with its distance from all of these together. order[], unless
 * NULL, becomes a number for each node in which each is above the one that its best path comes from (0 where there is
 * no best path). Returns 0, TRL_ELIMIT, TRL_ENOMEM. */
int FN(graph_distances)(const graph *g, float delta, distance *far, int32_t *order, trl_error *err);

/* From the start to each state, or from each state to the ends with final weights; the caller frees. rank[], unless
 * NULL, gets a number for each state: from the state, one of its best paths (reverse) goes on to a state of lower rank.
 * Returns 0, TRL_ELIMIT (does not converge), TRL_ENOMEM. */
int FN(distances)(const trl_fst *fst, int reverse, float delta, distance **out, int32_t *rank, trl_error *err);

/* What a queue promises must hold of the machine. Returns 0, TRL_EINVAL, TRL_ENOMEM. */
int FN(check_queue)(const trl_fst *fst, trl_queue queue, trl_error *err);

/* Moves weights by potentials towards the start or the ends. What the start's potential takes from the machine is given
 * back in front of it, or with `removed` left out; towards the ends, `removed` is the weight that final weights are
 * divided by. */
int FN(reweight)(trl_fst *fst, const distance *potential, int to_final, const distance *removed, trl_error *err);

#endif
