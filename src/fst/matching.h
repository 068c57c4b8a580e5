/* One of the two machines of a composition, seen from the side where labels meet.
 *
 * What must be known of a state is found when it is first asked for, by one look at its arcs: whether they are sorted,
 * and whether some or all are epsilons. So composing something small with something huge costs no more than the states
 * that take part. States with many sorted arcs get a directory at the same time: for every 2^shift labels the position
 * of the first arc, so that a label is found within a few neighbours instead of by a binary search over all.
 */
#ifndef TRL_FST_MATCHING_H
#define TRL_FST_MATCHING_H

#include "fst/weighted.h"

enum { SIDE_KNOWN = 1, SIDE_SORTED = 2, SIDE_NO_EPSILON = 4, SIDE_ALL_EPSILON = 8 };

#define SIDE_FEW 32 /* arcs that need no directory */

typedef struct side {
    const trl_fst *fst;
    uint8_t *traits;     /* by state */
    uint32_t *directory; /* by state: where in entries[]; 0: it has none */
    uint32_t *entries;   /* per directory: shift, number of buckets, the first arc of each, the number of arcs */
    size_t used, capacity;
} side;

static int side_open(side *s, const trl_fst *fst)
{
    *s = (side){.fst = fst, .used = 1}; /* entries[0] is nobody's: 0 in the directory means none */
    s->traits = trl__alloc_zero((size_t)fst->states + 1, sizeof *s->traits);
    s->directory = trl__alloc_zero((size_t)fst->states + 1, sizeof *s->directory);
    return s->traits && s->directory && TRL_GROW(s->entries, s->capacity, s->used) == 0 ? 0 : -1;
}

static void side_close(side *s)
{
    trl__free(s->traits);
    trl__free(s->directory);
    trl__free(s->entries);
}

/* About two arcs in each bucket where labels are spread evenly. */
static int side_index(side *s, int32_t state, int output)
{
    const arc *arcs = arcs_of(s->fst, state);
    uint32_t count = arc_count(s->fst, state), shift = 0, last = (uint32_t)label_of(&arcs[count - 1], output);
    while ((last >> shift) > count / 2)
        shift++;
    uint32_t buckets = (last >> shift) + 1;
    if (s->used + buckets + 3 > UINT32_MAX)
        return 0;
    if (TRL_GROW(s->entries, s->capacity, s->used + buckets + 3) < 0)
        return -1;
    uint32_t *entry = s->entries + s->used, at = 0;
    entry[0] = shift;
    entry[1] = buckets;
    for (uint32_t bucket = 0; bucket < buckets; bucket++) {
        entry[2 + bucket] = at;
        while (at < count && (uint32_t)label_of(&arcs[at], output) >> shift == bucket)
            at++;
    }
    entry[2 + buckets] = count;
    s->directory[state] = (uint32_t)s->used;
    s->used += buckets + 3;
    return 0;
}

static int side_learn(side *s, int32_t state, int output)
{
    const arc *arcs = arcs_of(s->fst, state);
    uint32_t count = arc_count(s->fst, state), epsilons = 0;
    int sorted = 1;
    int32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        int32_t label = label_of(&arcs[i], output);
        epsilons += label == 0;
        sorted &= label >= before;
        before = label;
    }
    int all = epsilons == count && is_zero(final_of(s->fst, state));
    s->traits[state] = (uint8_t)(SIDE_KNOWN | (sorted ? SIDE_SORTED : 0) | (epsilons == 0 ? SIDE_NO_EPSILON : 0) |
                                 (all ? SIDE_ALL_EPSILON : 0));
    return sorted && count > SIDE_FEW ? side_index(s, state, output) : 0;
}

/* What is known of a state's arcs; 0: out of memory. */
static inline int side_traits(side *s, int32_t state, int output)
{
    if (!s->traits[state] && side_learn(s, state, output) < 0)
        return 0;
    return s->traits[state];
}

/* The position of the first arc whose label is not below this one. The arcs are sorted. */
static inline uint32_t side_find(const side *s, int32_t state, int32_t label, int output)
{
    const arc *arcs = arcs_of(s->fst, state);
    uint32_t low = 0, high = arc_count(s->fst, state);
    if (s->directory[state]) {
        const uint32_t *entry = s->entries + s->directory[state];
        uint32_t bucket = (uint32_t)label >> entry[0];
        if (bucket >= entry[1])
            return high;
        low = entry[2 + bucket];
        high = entry[3 + bucket];
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (label_of(&arcs[middle], output) < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
