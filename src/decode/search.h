/* Search: frame after frame through a graph, keeping what is within a beam of the best, with links for the lattice.
 *
 *     trl__search_create(graph, &options, &search, err);                    // one per thread; memory is reused
 *     trl__search_begin(search, err);
 *     while (…) trl__search_advance(search, scores, frames, stride, err);   // any number of frames at a time: the same result
 *     trl__search_partial(search, …)                                        // words so far, that no longer change / best now
 *     trl__search_finish(search, &raw, err);                                // the pruned raw lattice
 *
 * Scores: scores[tied * stride + f] is the log-likelihood of frame f of this call (natural logarithm).
 */
#ifndef TRL_DECODE_SEARCH_H
#define TRL_DECODE_SEARCH_H

#include "decode/graph_data.h"

typedef struct trl__decode_options {
    double beam;           /* cost above the best token of a frame; default 13 */
    double lattice_beam;   /* cost above the best path; 0: only the best path is kept; default 6 */
    int32_t most_active;   /* tokens of a frame; default 7000 */
    int32_t least_active;  /* default 200 */
    double word_beam;      /* of tokens that just ended a word; default: like beam */
    double acoustic_scale; /* default 0.1 */
    int32_t prune_interval; /* frames between prunings of the lattice; default 25 */
} trl__decode_options;

typedef struct trl__decoder trl__decoder;

/* The raw lattice: states are (frame, graph state), arcs as in the graph with their costs; pruned by lattice_beam. */
typedef struct trl__raw_arc {
    int32_t next;
    int32_t transition, word;
    float graph, acoustic; /* acoustic: negative log-likelihood, unscaled */
} trl__raw_arc;

typedef struct trl__raw_lattice {
    int32_t states, frames;
    uint32_t *first; /* states + 1; states in topological order, 0 the start */
    trl__raw_arc *arcs;
    float *final;    /* by state: graph cost; INFINITY: none. Where no end of the graph was reached, every state of the last frame ends at cost 0 */
    int32_t *time;   /* by state: frames before it */
    int reached_end; /* 0: the sound ended in the middle of what the graph has */
} trl__raw_lattice;

trl__decode_options trl__decode_defaults(void);

#endif
