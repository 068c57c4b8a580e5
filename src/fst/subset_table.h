/* The subsets of a weighted subset construction: sets of (state, string, weight), numbered from 0 in order of arrival.
 *
 *     trl__subsets table;
 *     trl__subsets_make(&table, states, delta, has_heads);
 *     size_t begin = table.used;
 *     trl__subsets_push(&table, (trl__element){state, string, weight});      // … the elements of one subset
 *     int64_t subset = trl__subsets_find(&table, begin, head);               // old, or new; -1: out of memory
 *     trl__subsets_free(&table);
 *
 * All elements lie one behind the other. A subset that is there already is taken back; a new one stays where it is.
 * Weights are compared as multiples of delta, but kept as they came first, so that rounding does not add up.
 */
#ifndef TRL_FST_SUBSET_TABLE_H
#define TRL_FST_SUBSET_TABLE_H

#include "fst/label_strings.h"
#include "fst/weight_key.h"

typedef struct trl__element {
    int32_t state, string;
    weight weight;
} trl__element;

typedef struct trl__subsets {
    float scale; /* 1 / delta */
    int has_heads;
    trl__element *elements;
    size_t used, element_capacity;
    size_t count;
    size_t *first; /* by subset, and one more, which begins where the last ends: element */
    size_t first_capacity;
    int32_t *head; /* by subset, with has_heads: a number that tells apart subsets with the same elements */
    size_t head_capacity;
    uint64_t *slots; /* hash, subset + 1; 0: free */
    size_t slot_count, slots_used;
    int32_t *single; /* by state: the subset of that state alone, which owes nothing; -1: none yet */
} trl__subsets;

/* For subsets of the states 0 … states - 1. Returns 0, or -1: out of memory. */
static inline int trl__subsets_make(trl__subsets *t, int32_t states, float delta, int has_heads)
{
    *t = (trl__subsets){.scale = 1 / delta, .has_heads = has_heads};
    t->single = trl__alloc((size_t)states, sizeof *t->single);
    if (t->single)
        memset(t->single, 0xff, (size_t)states * sizeof *t->single);
    return t->single ? 0 : -1;
}

static inline void trl__subsets_free(trl__subsets *t)
{
    trl__free(t->elements);
    trl__free(t->first);
    trl__free(t->head);
    trl__free(t->slots);
    trl__free(t->single);
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

static inline int trl__subsets_equal(const trl__subsets *t, size_t old, const trl__element *e, size_t count,
                                     int32_t head)
{
    const trl__element *mine = t->elements + t->first[old];
    if (t->first[old + 1] - t->first[old] != count || (t->has_heads && t->head[old] != head))
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
    uint64_t *slots = trl__alloc_zero(size, sizeof *slots);
    if (!slots)
        return -1;
    for (size_t i = 0; i < t->slot_count; i++) {
        if (!t->slots[i])
            continue;
        size_t at = t->slots[i] >> 32 & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = t->slots[i];
    }
    trl__free(t->slots);
    t->slots = slots;
    t->slot_count = size;
    return 0;
}

/* The elements from `begin` on are a new subset. */
static inline int64_t trl__subsets_add(trl__subsets *t, size_t begin, int32_t head)
{
    if (t->count == INT32_MAX || TRL_GROW(t->first, t->first_capacity, t->count + 2) < 0 ||
        (t->has_heads && TRL_GROW(t->head, t->head_capacity, t->count + 1) < 0))
        return -1;
    if (t->has_heads)
        t->head[t->count] = head;
    t->first[t->count] = begin;
    t->first[t->count + 1] = t->used;
    return (int64_t)t->count++;
}

static inline int64_t trl__subsets_find_single(trl__subsets *t, size_t begin, int32_t *single)
{
    int64_t subset = *single;
    if (subset >= 0)
        t->used = begin;
    else
        subset = trl__subsets_add(t, begin, -1);
    *single = (int32_t)subset;
    return subset;
}

/* The number of the subset whose elements begin at `begin` and end the array. Most have one element, and need no
 * hashing. */
static inline int64_t trl__subsets_find(trl__subsets *t, size_t begin, int32_t head)
{
    const trl__element *e = t->elements + begin;
    size_t count = t->used - begin;
    if (count == 1 && !t->has_heads && e->state >= 0 && e->string == TRL__EMPTY &&
        trl__weight_key(e->weight, t->scale) == trl__weight_key(ONE, t->scale))
        return trl__subsets_find_single(t, begin, &t->single[e->state]);
    if (4 * t->slots_used >= 3 * t->slot_count && trl__subsets_enlarge(t) < 0)
        return -1;
    uint64_t hash = trl__subsets_hash(t, e, count, head);
    size_t mask = t->slot_count - 1, at = hash & mask;
    for (; t->slots[at]; at = (at + 1) & mask) {
        size_t old = (uint32_t)t->slots[at] - 1;
        if (t->slots[at] >> 32 == hash && trl__subsets_equal(t, old, e, count, head)) {
            t->used = begin;
            return (int64_t)old;
        }
    }
    int64_t subset = trl__subsets_add(t, begin, head);
    if (subset >= 0) {
        t->slots[at] = hash << 32 | (uint64_t)(subset + 1);
        t->slots_used++;
    }
    return subset;
}

#endif
