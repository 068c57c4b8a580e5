/* The arcs of a subset of states, sorted by label and then by the state they lead to; equal ones stay in order.
 *
 * A few are sorted by insertion, mostly they are sorted already. Many by their bytes, from the last to the first, in
 * O(steps) each; bytes in which all agree are passed over.
 */
#ifndef TRL_FST_STEP_SORT_H
#define TRL_FST_STEP_SORT_H

#include "fst/weighted.h"

/* What it writes is in two parts, a string that was there and the arc's own label behind it. */
typedef struct trl__step {
    int32_t label, next;
    int32_t string, olabel;
    weight weight;
} trl__step;

typedef struct trl__steps {
    trl__step *all;
    size_t count, capacity;
    trl__step *others; /* room for sorting, and for a choice of them */
    size_t other_capacity;
} trl__steps;

static inline void trl__steps_free(trl__steps *steps)
{
    trl__free(steps->all);
    trl__free(steps->others);
    *steps = (trl__steps){0};
}

static inline uint64_t trl__step_key(const trl__step *x)
{
    return (uint64_t)(uint32_t)x->label << 32 | (uint32_t)x->next;
}

static inline void trl__insertion_sort(trl__step *x, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        trl__step moved = x[i];
        size_t at = i;
        for (; at > 0 && trl__step_key(&x[at - 1]) > trl__step_key(&moved); at--)
            x[at] = x[at - 1];
        x[at] = moved;
    }
}

/* By one byte of the key. */
static inline void trl__radix_pass(const trl__step *from, trl__step *to, size_t count, int shift)
{
    size_t place[256] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        place[trl__step_key(&from[i]) >> shift & 255]++;
    for (int i = 0; i < 256; i++) {
        size_t here = place[i];
        place[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[place[trl__step_key(&from[i]) >> shift & 255]++] = from[i];
}

/* Returns 0, or -1: out of memory. */
static inline int trl__steps_sort(trl__steps *steps)
{
    uint64_t differ = 0;
    int sorted = 1;
    for (size_t i = 1; i < steps->count; i++) {
        differ |= trl__step_key(&steps->all[i]) ^ trl__step_key(&steps->all[0]);
        sorted &= trl__step_key(&steps->all[i - 1]) <= trl__step_key(&steps->all[i]);
    }
    if (sorted)
        return 0;
    if (steps->count <= 48) {
        trl__insertion_sort(steps->all, steps->count);
        return 0;
    }
    if (TRL_GROW(steps->others, steps->other_capacity, steps->count) < 0)
        return -1;
    for (int shift = 0; shift < 64; shift += 8) {
        if ((differ >> shift & 255) == 0)
            continue;
        trl__radix_pass(steps->all, steps->others, steps->count, shift);
        *steps = (trl__steps){steps->others, steps->count, steps->other_capacity, steps->all, steps->capacity};
    }
    return 0;
}

#endif
