/* What determinization works on: subsets, their members, traces of transitions, and arcs on their way to the result. See lattice_determinize.c. */
#ifndef TRL_DECODE_LATTICE_SUBSETS_H
#define TRL_DECODE_LATTICE_SUBSETS_H

#include "base/memory.h"
#include "decode/lattice_determinize.h"

#define TRL__NO_TRACE UINT32_MAX

typedef struct trl__trace {
    uint32_t before; /* TRL__NO_TRACE: the first frame */
    int32_t transition;
} trl__trace;

/* Of a subset. Costs are those above the subset's best member. */
typedef struct trl__member {
    int32_t state; /* raw */
    uint32_t trace;
    double graph, acoustic;
} trl__member;

typedef struct trl__subset {
    size_t first; /* member */
    uint32_t count;
    int32_t time;       /* frames that the arcs to it have */
    double cost;        /* of the best way to its best member */
    size_t arc;         /* first of its arcs, which lie side by side */
    uint32_t arcs;      /* how many */
    uint32_t end_trace; /* of the end's transitions */
    double end_graph, end_acoustic;
    uint64_t hash;
} trl__subset;

/* An arc of the result. Before it is taken (next is -1) its members have costs from the best member of its source. */
typedef struct trl__word_arc {
    int32_t from, next, word;
    uint32_t count;
    size_t first; /* member */
    double graph, acoustic;
    double total; /* of the best path through it */
    uint32_t trace;
    int32_t trace_time; /* frames of that trace */
} trl__word_arc;

/* A raw state in a closure. */
typedef struct trl__raw_place {
    double rest; /* cost to the end, of the whole lattice */
    double total, graph, acoustic;
    uint32_t stamp; /* of the closure that the rest is from */
    uint32_t trace; /* before `transition`, which follows it where it is not 0 */
    int32_t transition;
} trl__raw_place;

/* An arc with a word that a closure came to. */
typedef struct trl__found_arc {
    int32_t word, state;
    uint32_t trace;
    double graph, acoustic, total;
} trl__found_arc;

typedef struct trl__word_bucket {
    int32_t word;
    uint32_t count;
    size_t first; /* member */
    double total; /* of the best path, from the subset's best member */
} trl__word_bucket;

struct trl__determinizer {
    const trl__raw_lattice *raw;
    double scale, beam, limit, best;
    size_t most_bytes;

    trl__raw_place *places;
    size_t place_capacity;
    uint64_t *waiting;                     /* bits by raw state: reached, and its arcs not followed yet */
    size_t waiting_capacity, last_waiting; /* the last word of bits that has any */
    uint32_t stamp;

    trl__trace *traces;
    size_t trace_count, trace_capacity;
    trl__member *members;
    size_t member_count, member_capacity;
    trl__subset *subsets;
    size_t subset_count, subset_capacity;
    trl__word_arc *arcs;
    size_t arc_count, arc_capacity;
    uint32_t *heap; /* arcs to be taken, the best first */
    size_t heap_count, heap_capacity;
    uint32_t *slots; /* hash table: subset + 1 */
    size_t slot_count;

    trl__found_arc *found;
    size_t found_count, found_capacity;
    trl__word_bucket *buckets;
    size_t bucket_count, bucket_capacity;
    uint64_t *word_bucket; /* by word: stamp << 32 | bucket */
    size_t word_capacity;

    trl__scratch walk, order, numbers, string;
};

static inline double trl__member_total(const trl__determinizer *d, const trl__member *m)
{
    return m->graph + d->scale * m->acoustic;
}

/* One frame more. */
int trl__add_trace(trl__determinizer *d, uint32_t before, int32_t transition, uint32_t *out, trl_error *err);
uint32_t trl__walk_back(const trl__determinizer *d, uint32_t at, int32_t steps);

/* The most frames that the traces of these members have in common; `from` of them are known to be. */
int trl__common_time(trl__determinizer *d, const trl__member *m, uint32_t count, int32_t from, int32_t *out,
                     trl_error *err);

/* The subset of `count` members, from `first` on; *is_new: it was not there. */
int trl__find_subset(trl__determinizer *d, size_t first, uint32_t count, int32_t time, int32_t *out, int *is_new,
                     trl_error *err);

/* Arcs that are still to be taken; the one with the best path comes first. */
int trl__push_arc(trl__determinizer *d, uint32_t arc, trl_error *err);
uint32_t trl__pop_arc(trl__determinizer *d);

/* All that is on a path within d->limit, in topological order. */
int trl__collect_subsets(trl__determinizer *d, trl_lattice *out, trl_error *err);

#endif
