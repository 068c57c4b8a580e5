/* The subsets of a weighted subset construction: sets of (state, string, weight), numbered from 0 in order of arrival.
 *
 *     trl__subsets table = {.scale = 1 / delta};
 *     size_t begin = table.used;
 *     trl__subsets_push(&table, (trl__element){state, string, weight});      // … the elements of one subset, behind all others
 *     int64_t subset = trl__subsets_find(&table, begin, head);               // old, or new; -1: out of memory
 *     trl__subsets_free(&table);
 *
 * All elements lie one behind the other. A subset that is there already is taken back; a new one stays where it is. Weights are
 * compared as multiples of delta, but kept as they came first, so that rounding does not add up.
 */
#ifndef TRL_FST_SUBSET_TABLE_H
#define TRL_FST_SUBSET_TABLE_H

#include "fst/weight_key.h"

typedef struct trl__element {
    int32_t state, string;
    weight weight;
} trl__element;

typedef struct trl__subset {
    size_t first; /* element */
    uint32_t hash;
    int32_t head; /* a number that tells apart subsets with the same elements */
} trl__subset;

typedef struct trl__subsets {
    float scale; /* 1 / delta */
    trl__element *elements;
    size_t used, element_capacity;
    trl__subset *subsets; /* and one more, which begins where the last ends */
    size_t count, capacity;
    uint32_t *slots; /* subset + 1; 0: free */
    size_t slot_count;
} trl__subsets;

static inline void trl__subsets_free(trl__subsets *t)
{
    trl__free(t->elements);
    trl__free(t->subsets);
    trl__free(t->slots);
    *t = (trl__subsets){.scale = t->scale};
}

static inline int trl__subsets_push(trl__subsets *t, trl__element e)
{
    if (t->used == t->element_capacity && TRL_GROW(t->elements, t->element_capacity, t->used + 1) < 0)
        return -1;
    t->elements[t->used++] = e;
    return 0;
}

static inline uint32_t trl__subsets_hash(const trl__subsets *t, const trl__element *e, size_t count, int32_t head)
{
    uint64_t hash = (uint32_t)head;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ trl__weight_key(e[i].weight, t->scale)) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
        hash = (hash ^ ((uint64_t)(uint32_t)e[i].state << 32 | (uint32_t)e[i].string)) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

static inline int trl__subsets_equal(const trl__subsets *t, const trl__subset *old, const trl__element *e, size_t count)
{
    const trl__element *mine = t->elements + old->first;
    if (old[1].first - old->first != count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (mine[i].state != e[i].state || mine[i].string != e[i].string ||
            trl__weight_key(mine[i].weight, t->scale) != trl__weight_key(e[i].weight, t->scale))
            return 0;
    return 1;
}

static inline int trl__subsets_enlarge(trl__subsets *t)
{
    size_t size = t->slot_count ? 2 * t->slot_count : 256;
    uint32_t *slots = trl__alloc_zero(size, sizeof *slots);
    if (!slots)
        return -1;
    for (size_t i = 0; i < t->count; i++) {
        size_t at = t->subsets[i].hash & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = (uint32_t)i + 1;
    }
    trl__free(t->slots);
    t->slots = slots;
    t->slot_count = size;
    return 0;
}

/* The number of the subset whose elements begin at `begin` and end the array. */
static inline int64_t trl__subsets_find(trl__subsets *t, size_t begin, int32_t head)
{
    if (3 * t->slot_count <= 4 * t->count && trl__subsets_enlarge(t) < 0)
        return -1;
    const trl__element *e = t->elements + begin;
    size_t count = t->used - begin, mask = t->slot_count - 1;
    uint32_t hash = trl__subsets_hash(t, e, count, head);
    size_t at = hash & mask;
    for (; t->slots[at]; at = (at + 1) & mask) {
        const trl__subset *old = &t->subsets[t->slots[at] - 1];
        if (old->hash == hash && old->head == head && trl__subsets_equal(t, old, e, count)) {
            t->used = begin;
            return t->slots[at] - 1;
        }
    }
    if (t->count == INT32_MAX || TRL_GROW(t->subsets, t->capacity, t->count + 2) < 0)
        return -1;
    t->subsets[t->count] = (trl__subset){begin, hash, head};
    t->subsets[t->count + 1].first = t->used;
    t->slots[at] = (uint32_t)++t->count;
    return (int64_t)t->count - 1;
}

#endif
