/* A priority queue of nodes by distance, each in it at most once: four children per entry, so that a step down reads
 * one or two cache lines and there are half as many steps as with two.
 *
 *     heap h;
 *     heap_make(&h, nodes);                                              // -1: out of memory
 *     heap_put(&h, node, far);                                           // or nearer, when it is there
 *     while (h.count > 0) node = heap_take(&h);                          // the nearest
 *     heap_free(&h);
 */
#ifndef TRL_FST_DISTANCE_HEAP_H
#define TRL_FST_DISTANCE_HEAP_H

#include "fst/distance.h"

typedef struct heap_entry {
    distance key;
    int32_t node;
} heap_entry;

typedef struct heap {
    heap_entry *entry;
    size_t count, capacity;
    int32_t *at; /* by node: its entry, or -1 */
} heap;

static inline int heap_make(heap *h, int32_t nodes)
{
    *h = (heap){.at = trl__alloc((size_t)nodes, sizeof *h->at)};
    if (!h->at || TRL_GROW(h->entry, h->capacity, 16) < 0)
        return -1;
    memset(h->at, 0xff, (size_t)nodes * sizeof *h->at);
    return 0;
}

static inline void heap_free(heap *h)
{
    trl__free(h->entry);
    trl__free(h->at);
}

static inline void heap_rise(heap *h, size_t i, heap_entry e)
{
    for (; i > 0 && nearer(e.key, h->entry[(i - 1) / 4].key); i = (i - 1) / 4) {
        h->entry[i] = h->entry[(i - 1) / 4];
        h->at[h->entry[i].node] = (int32_t)i;
    }
    h->entry[i] = e;
    h->at[e.node] = (int32_t)i;
}

static inline void heap_sink(heap *h, heap_entry e)
{
    size_t i = 0;
    for (;;) {
        size_t best = 4 * i + 1, end = best + 4 < h->count ? best + 4 : h->count;
        if (best >= h->count)
            break;
        for (size_t c = best + 1; c < end; c++)
            best = nearer(h->entry[c].key, h->entry[best].key) ? c : best;
        if (!nearer(h->entry[best].key, e.key))
            break;
        h->entry[i] = h->entry[best];
        h->at[h->entry[i].node] = (int32_t)i;
        i = best;
    }
    h->entry[i] = e;
    h->at[e.node] = (int32_t)i;
}

/* The new key is nearer than the old one of a node that is there. Returns 0 or -1: out of memory. */
static inline int heap_put(heap *h, int32_t node, distance key)
{
    size_t i = h->at[node] >= 0 ? (size_t)h->at[node] : h->count;
    if (i == h->count) {
        if (h->count == h->capacity && TRL_GROW(h->entry, h->capacity, h->count + 1) < 0)
            return -1;
        h->count++;
    }
    heap_rise(h, i, (heap_entry){key, node});
    return 0;
}

static inline int32_t heap_take(heap *h)
{
    int32_t node = h->entry[0].node;
    h->at[node] = -1;
    heap_entry last = h->entry[--h->count];
    if (h->count > 0)
        heap_sink(h, last);
    return node;
}

#endif
