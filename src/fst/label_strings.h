/* Strings of labels, each kept once and known by a number: what a determinized transducer has read for but not written yet.
 *
 *     trl__strings table = trl__strings_make();
 *     int32_t ab = trl__strings_append(&table, trl__strings_append(&table, TRL__NO_STRING, a), b);
 *     trl__strings_first(&table, ab);                                    // a
 *     trl__strings_rest(&table, ab);                                     // the number of "b"
 *     trl__strings_free(&table);
 *
 * A string is its first label and the rest, so equal strings have equal numbers, and what is read off the front costs nothing. Appending
 * costs the length, which is the delay between the two sides: mostly 0 or 1.
 */
#ifndef TRL_FST_LABEL_STRINGS_H
#define TRL_FST_LABEL_STRINGS_H

#include "fst/tuple_table.h"

#define TRL__NO_STRING 0 /* the empty one */

typedef struct trl__strings {
    trl__tuples cells; /* (first label, rest); string n is cell n - 1 */
    int32_t *letters;  /* scratch */
    size_t letter_capacity;
} trl__strings;

static inline trl__strings trl__strings_make(void)
{
    return (trl__strings){.cells = {.width = 2}};
}

static inline void trl__strings_free(trl__strings *table)
{
    trl__tuples_free(&table->cells);
    trl__free(table->letters);
    *table = trl__strings_make();
}

static inline int32_t trl__strings_first(const trl__strings *table, int32_t string)
{
    return table->cells.keys[2 * (size_t)(string - 1)];
}

static inline int32_t trl__strings_rest(const trl__strings *table, int32_t string)
{
    return table->cells.keys[2 * (size_t)(string - 1) + 1];
}

/* The string with `label` behind it; epsilon adds nothing. -1: out of memory. */
static inline int32_t trl__strings_append(trl__strings *table, int32_t string, int32_t label)
{
    if (label == 0)
        return string;
    size_t length = 0;
    for (; string != TRL__NO_STRING; string = trl__strings_rest(table, string)) {
        if (TRL_GROW(table->letters, table->letter_capacity, length + 1) < 0)
            return -1;
        table->letters[length++] = trl__strings_first(table, string);
    }
    int64_t cell = trl__tuples_add(&table->cells, (int32_t[]){label, TRL__NO_STRING});
    while (cell >= 0 && length > 0)
        cell = trl__tuples_add(&table->cells, (int32_t[]){table->letters[--length], (int32_t)cell + 1});
    return cell < 0 || cell == INT32_MAX ? -1 : (int32_t)cell + 1;
}

#endif
