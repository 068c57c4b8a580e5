/* Which labels a machine can write next: for every state the output labels at the ends of paths that have written
 * nothing yet.
 *
 *     trl__label_reach r;
 *     trl__label_reach_find(a, &r, err);                                 // relabels a's output side
 *     trl__label_reach_relabel(&r, b, err);                              // and b's input side
 *     for (const trl__interval *i = trl__label_reach_of(&r, state, &end); i < end; i++) …   // i->first … i->last
 *     trl__label_reach_free(&r);
 *
 * Labels are renumbered in the order in which a depth-first search along output epsilons leaves them. What can be
 * reached in a tree is then one interval, and a few intervals in a lexicon whose words share more than their
 * beginnings. States of a cycle of epsilons share their intervals, and so do those that only lead to one other. O(arcs
 * log arcs + intervals).
 */
#ifndef TRL_FST_LABEL_REACH_H
#define TRL_FST_LABEL_REACH_H

#include "fst/fst_data.h"
#include "base/tuple_table.h"

typedef struct trl__interval {
    int32_t first, last;
} trl__interval;

/* What a state reaches. States that reach the same have the same `from`, if it is more than one interval. */
typedef struct trl__reach {
    trl__interval all; /* from the first label of the first interval to the last of the last; first > last: none */
    uint32_t count;    /* of intervals */
    uint32_t from;     /* in interval[], if there are several */
} trl__reach;

typedef struct trl__label_reach {
    trl__tuples labels; /* the old label of each new one, less 1 */
    trl__reach *of;     /* by state */
    uint8_t *final;     /* by state: an end is reached without writing */
    trl__interval *interval;
    size_t used, capacity;
} trl__label_reach;

/* Gives the machine's output labels new numbers, sorts it by them, and finds what its states reach. */
int trl__label_reach_find(trl_fst *fst, trl__label_reach *reach, trl_error *err);

/* The same numbers for the input side of another machine, sorted by them; arcs whose label the first never writes are
 * dropped. */
int trl__label_reach_relabel(const trl__label_reach *reach, trl_fst *fst, trl_error *err);

void trl__label_reach_free(trl__label_reach *reach);

static inline const trl__interval *trl__label_reach_of(const trl__label_reach *reach, int32_t state,
                                                       const trl__interval **end)
{
    const trl__reach *r = &reach->of[state];
    const trl__interval *first = r->count > 1 ? reach->interval + r->from : &r->all;
    *end = first + r->count;
    return first;
}

/* The first of the intervals that does not end below the label. */
static inline const trl__interval *trl__interval_find(const trl__interval *low, const trl__interval *high,
                                                      int32_t label)
{
    while (low < high) {
        const trl__interval *middle = low + (high - low) / 2;
        if (middle->last < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
