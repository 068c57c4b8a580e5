/* OpenFst in this process, called from C: bench/peers/openfst_peer.cc where libfst is installed, else nothing (peer_version returns NULL, and nothing
 * else may be called). */
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

const char *peer_version(void);

/* `start` is a state; final weights are infinite where they are not given. */
peer_fst *peer_fst_create(int32_t states, int32_t start);
void peer_fst_destroy(peer_fst *fst);
void peer_fst_fill(peer_fst *fst, int32_t state, const peer_arc *arcs, size_t count, float final);
void peer_fst_sort_input(peer_fst *fst); /* and computes its properties, so that no sentence pays for that */
int32_t peer_fst_states(const peer_fst *fst);
uint64_t peer_fst_arcs(const peer_fst *fst);

/* What is done to a sentence: lazy composition of it with a transducer, and one of these. */
typedef enum peer_task {
    PEER_VITERBI,         /* ShortestPath with a FIFO queue */
    PEER_VITERBI_DEFAULT, /* with the queue it chooses */
    PEER_FORWARD,         /* ShortestDistance in the log semiring, FIFO queue */
    PEER_COMBINED         /* composition expanded, distances both ways, expected counts of all arcs */
} peer_task;
#define PEER_TASKS 4

/* The cost of the sentence (negative logarithm); infinite: it has no path. */
double peer_decode(const peer_fst *transducer, const int32_t *labels, size_t count, peer_task task);

typedef enum peer_operation {
    PEER_COMPOSE,
    PEER_DETERMINIZE,
    PEER_MINIMIZE,
    PEER_RMEPSILON,
    PEER_SHORTESTPATH
} peer_operation;
#define PEER_OPERATIONS 5

/* The result of an operation with OpenFst's default options, as a machine of its own, and the wall seconds it took: copying what is changed in
 * place is not counted. `b` is for compose alone. `begins`, if not NULL, is called between the two. */
peer_fst *peer_operate(peer_operation operation, const peer_fst *a, const peer_fst *b, void (*begins)(void),
                       double *seconds);

/* Whether both give the same weights to so many random paths of either. */
int peer_equivalent(const peer_fst *a, const peer_fst *b, int paths);

#ifdef __cplusplus
}
#endif
#endif
