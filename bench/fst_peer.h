/* OpenFst in this process, called from C: bench/peers/openfst_peer.cc, where libfst was installed at configure time. */
#ifndef TRELLIS_BENCH_FST_PEER_H
#define TRELLIS_BENCH_FST_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer_arc {
    int32_t ilabel, olabel;
    float weight;
    int32_t next;
} peer_arc;

typedef struct peer_fst peer_fst; /* a VectorFst<StdArc> */

/* What is done to a sentence: lazy composition of it with a transducer, and one of these. */
typedef enum peer_task {
    PEER_VITERBI,         /* ShortestPath with a FIFO queue */
    PEER_VITERBI_DEFAULT, /* with the queue it chooses */
    PEER_FORWARD,         /* ShortestDistance in the log semiring, FIFO queue */
    PEER_COMBINED         /* composition expanded, distances both ways, expected counts of all arcs */
} peer_task;
#define PEER_TASKS 4

typedef enum peer_operation {
    PEER_COMPOSE,
    PEER_DETERMINIZE,
    PEER_MINIMIZE,
    PEER_RMEPSILON,
    PEER_SHORTESTPATH
} peer_operation;
#define PEER_OPERATIONS 5

typedef struct peer_functions {
    const char *name; /* of the library's file */
    peer_fst *(*create)(int32_t states, int32_t start);
    void (*destroy)(peer_fst *fst); /* NULL is fine */
    void (*fill)(peer_fst *fst, int32_t state, const peer_arc *arcs, size_t count,
                 float final);         /* INFINITY: not final */
    void (*sort_input)(peer_fst *fst); /* and computes its properties, so that no sentence pays for that */
    int32_t (*states)(const peer_fst *fst);
    uint64_t (*arcs)(const peer_fst *fst);

    /* The cost of the sentence (negative logarithm); infinite: it has no path. */
    double (*decode)(const peer_fst *transducer, const int32_t *labels, size_t count, peer_task task);

    /* The result of an operation with OpenFst's default options, as a machine of its own, and the wall seconds it took:
     * copying what is changed in place is not counted. `b` is for compose alone. `begins`, if not NULL, is called
     * between the two. */
    peer_fst *(*operate)(peer_operation operation, const peer_fst *a, const peer_fst *b, void (*begins)(void),
                         double *seconds);

    /* Whether both give the same weights to so many random paths of either. */
    int (*equivalent)(const peer_fst *a, const peer_fst *b, int paths);
} peer_functions;

const peer_functions *openfst(void); /* NULL: there is none */

#ifdef __cplusplus
}
#endif
#endif
