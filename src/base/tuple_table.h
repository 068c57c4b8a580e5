/* A table of distinct tuples of 32-bit numbers, numbered from 0 in order of arrival: such as the states of a machine
 * that is built from the states of others.
 *
 *     trl__tuples table = {.width = 3};
 *     int64_t state = trl__tuples_add(&table, (int32_t[]){a, b, filter});    // old or new; -1: out of memory
 *     const int32_t *key = trl__tuples_get(&table, state);                   // valid until the next addition
 *     trl__tuples_free(&table);
 *
 * Open addressing; slots have a piece of the hash, so that others' tuples are hardly ever looked at, which lie all over memory. Tuples in one flat
 * array: 4 * width bytes per tuple, and 11 to 21 for its slot.
 */
#ifndef TRL_BASE_TUPLE_TABLE_H
#define TRL_BASE_TUPLE_TABLE_H

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

typedef struct trl__tuple_slot {
    uint32_t number; /* tuple + 1; 0: free */
    uint32_t tag;    /* of its hash, the upper half */
} trl__tuple_slot;

typedef struct trl__tuples {
    size_t width;
    int32_t *keys; /* count * width */
    size_t count, capacity;
    trl__tuple_slot *slots;
    size_t slot_count;
} trl__tuples;

static inline uint64_t trl__tuple_hash(const int32_t *key, size_t width)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < width; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): a key has `width` numbers */
        hash = (hash ^ (uint32_t)key[i]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
}

static inline int trl__tuples_enlarge(trl__tuples *table)
{
    size_t size = table->slot_count ? 2 * table->slot_count : 64;
    trl__tuple_slot *slots = trl__alloc_large(size, sizeof *slots);
    if (!slots)
        return -1;
    memset(slots, 0, size * sizeof *slots);
    for (size_t i = 0; i < table->count; i++) {
        uint64_t hash = trl__tuple_hash(table->keys + i * table->width, table->width);
        size_t at = hash & (size - 1);
        while (slots[at].number)
            at = (at + 1) & (size - 1);
        slots[at] = (trl__tuple_slot){(uint32_t)i + 1, (uint32_t)(hash >> 32)};
    }
    trl__free(table->slots);
    table->slots = slots;
    table->slot_count = size;
    return 0;
}

static inline int trl__tuple_same(const int32_t *a, const int32_t *b, size_t width)
{
    int32_t difference = 0;
    for (size_t i = 0; i < width; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): as above */
        difference |= a[i] ^ b[i];
    return difference == 0;
}

static inline const int32_t *trl__tuples_get(const trl__tuples *table, int64_t tuple)
{
    return table->keys + (size_t)tuple * table->width;
}

/* Where the tuple is, or the free slot where it belongs; there are slots. */
static inline size_t trl__tuples_slot(const trl__tuples *table, const int32_t *key, uint64_t hash)
{
    size_t mask = table->slot_count - 1, at = hash & mask;
    while (table->slots[at].number &&
           (table->slots[at].tag != (uint32_t)(hash >> 32) ||
            !trl__tuple_same(trl__tuples_get(table, table->slots[at].number - 1), key, table->width)))
        at = (at + 1) & mask;
    return at;
}

/* The tuple's number, or -1 when it is not there. */
static inline int64_t trl__tuples_find(const trl__tuples *table, const int32_t *key)
{
    if (table->slot_count == 0)
        return -1;
    return (int64_t)table->slots[trl__tuples_slot(table, key, trl__tuple_hash(key, table->width))].number - 1;
}

/* Its number, adding it when it is new; -1: out of memory, or more than 2^31 - 1 tuples. */
static inline int64_t trl__tuples_add(trl__tuples *table, const int32_t *key)
{
    if (3 * table->slot_count <= 4 * table->count && trl__tuples_enlarge(table) < 0)
        return -1;
    uint64_t hash = trl__tuple_hash(key, table->width);
    trl__tuple_slot *slot = &table->slots[trl__tuples_slot(table, key, hash)];
    if (slot->number)
        return slot->number - 1;
    void *keys = table->keys;
    size_t capacity = table->capacity;
    if (table->count == INT32_MAX || trl__grow(&keys, &capacity, table->count + 1, table->width * sizeof *key) < 0)
        return -1;
    table->keys = keys;
    table->capacity = capacity;
    memcpy(table->keys + table->count * table->width, key, table->width * sizeof *key);
    *slot = (trl__tuple_slot){(uint32_t)++table->count, (uint32_t)(hash >> 32)};
    return (int64_t)table->count - 1;
}

/* Brings what trl__tuples_add will read first, and then (not before the first has arrived) second, towards the
 * processor. */
static inline void trl__tuples_expect(const trl__tuples *table, const int32_t *key)
{
    if (table->slot_count)
        __builtin_prefetch(&table->slots[trl__tuple_hash(key, table->width) & (table->slot_count - 1)]);
}

static inline void trl__tuples_expect_key(const trl__tuples *table, const int32_t *key)
{
    if (table->slot_count == 0)
        return;
    uint64_t hash = trl__tuple_hash(key, table->width);
    trl__tuple_slot slot = table->slots[hash & (table->slot_count - 1)];
    if (slot.number && slot.tag == (uint32_t)(hash >> 32))
        __builtin_prefetch(trl__tuples_get(table, slot.number - 1));
}

static inline void trl__tuples_free(trl__tuples *table)
{
    trl__free(table->keys);
    trl__free(table->slots);
    *table = (trl__tuples){.width = table->width};
}

#endif
