/* Strings of labels as numbers: equal strings are the same number. A string is its first label and the string behind
 * it, so what is shared behind is stored once, and taking the first label off costs nothing.
 *
 *     trl__tuples strings = {.width = 2};
 *     int32_t s = trl__string_put(&strings, 7, TRL__EMPTY);              // "7"; TRL__FAILED: out of memory
 *     s = trl__string_put(&strings, 5, s);                               // "5 7"
 *     trl__string_first(&strings, s);                                    // 5
 *     trl__string_rest(&strings, s);                                     // "7"
 *     trl__tuples_free(&strings);
 */
#ifndef TRL_FST_LABEL_STRINGS_H
#define TRL_FST_LABEL_STRINGS_H

#include "base/tuple_table.h"

#define TRL__EMPTY (-1)
#define TRL__FAILED (-2)

static inline int32_t trl__string_first(const trl__tuples *strings, int32_t s)
{
    return trl__tuples_get(strings, s)[0];
}

static inline int32_t trl__string_rest(const trl__tuples *strings, int32_t s)
{
    return trl__tuples_get(strings, s)[1];
}

/* The label in front of the string; epsilon adds nothing. */
static inline int32_t trl__string_put(trl__tuples *strings, int32_t label, int32_t s)
{
    if (label == 0)
        return s;
    int64_t cell = trl__tuples_add(strings, (int32_t[]){label, s});
    return cell < 0 ? TRL__FAILED : (int32_t)cell;
}

/* n labels in front of a string. */
static inline int32_t trl__string_join(trl__tuples *strings, const int32_t *labels, size_t n, int32_t tail)
{
    while (n > 0 && tail != TRL__FAILED)
        tail = trl__string_put(strings, labels[--n], tail);
    return tail;
}

#endif
