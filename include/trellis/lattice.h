/* Lattices: what may have been said, with times and with the costs of grammar and sound apart.
 *
 * A word lattice has no cycle and, once determinized, no two paths with the same words. An arc has a word, two costs, and the transition ids of its
 * frames: their number is its length in time, and all paths from the start to a state are equally long.
 *
 *     trl_lattice_best(lattice, scale, &path, &err);                      // the best path
 *     trl_lattice_nbest(lattice, scale, 10, &list, &err);                 // distinct word strings, the best first
 *     trl_lattice_posteriors(lattice, scale, arcs, &err);                 // forward-backward
 *     trl_lattice_consensus(lattice, scale, &words, &err);                // minimum Bayes risk, with confidences
 *
 * Scales: a path costs graph + acoustic / scale.language … see trl_lattice_scale.
 * Indices: states from 0 in topological order, 0 is the start; arcs of state s are arcs[first[s]] … arcs[first[s + 1] - 1].
 */
#ifndef TRELLIS_LATTICE_H
#define TRELLIS_LATTICE_H

#include <trellis/fst.h>

TRL_BEGIN_DECLS

typedef struct trl_lattice_arc {
    int32_t word; /* 0: none */
    int32_t next;
    float graph, acoustic;       /* costs: negative natural logarithms, the acoustic one unscaled */
    uint32_t first, transitions; /* its ids are ids[first] … ids[first + transitions - 1] */
} trl_lattice_arc;

typedef struct trl_lattice_end {
    float graph, acoustic; /* INFINITY: not an end */
    uint32_t first, transitions;
} trl_lattice_end;

typedef struct trl_lattice {
    int32_t states, frames;
    uint32_t *first; /* states + 1 */
    trl_lattice_arc *arcs;
    trl_lattice_end *ends; /* by state */
    int32_t *time;         /* by state: frames before it */
    int32_t *ids;          /* transition ids */
    size_t id_count;
} trl_lattice;

/* How costs make a score: acoustic * acoustic_scale + graph * graph_scale + words * insertion. */
typedef struct trl_lattice_scale {
    double acoustic, graph; /* default 1 and 1 */
    double insertion;       /* cost of each word; default 0 */
} trl_lattice_scale;

TRL_API void trl_lattice_destroy(trl_lattice *lattice);

TRL_END_DECLS

#endif
