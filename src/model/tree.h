/* Phonetic decision trees: which tied state a unit's state has among its neighbours.
 *
 *     int32_t window[3] = {left, unit, right};                     // units; TRL__NOTHING beyond the utterance
 *     int32_t tied = trl__tree_find(model->tree, window, state);
 *
 * Each state of each unit has a root; units that share their tied states (the places of a phone in the word) share
 * it. An inner node asks whether the unit at one position of the window is in a set, a leaf has a tied state. Every
 * context falls to a leaf, whether training saw it or not. Finding it costs the depth of the tree.
 *
 * Indices: position 0 is the farthest left neighbour, position `centre` the unit itself; nodes from 0, children
 * behind their parent.
 */
#ifndef TRL_MODEL_TREE_H
#define TRL_MODEL_TREE_H

#include "base/string_table.h"

#include <stdint.h>
#include <trellis/error.h>

#define TRL__NOTHING (-1)      /* the unit before the first and behind the last of an utterance */
#define TRL__WIDEST_CONTEXT 15 /* units of a window */
#define TRL__DEEPEST_TREE 1000 /* questions on the way to a leaf */
#define TRL__LEAF (-1)

/* Sets of units, a row of bits each: bit u for unit u, bit `units` for TRL__NOTHING. Initialise with {.units = n}. */
typedef struct trl__unit_sets {
    int32_t units, count;
    int32_t words;      /* of 64 bits, per set */
    uint64_t *bits;     /* count * words; bits above `units` are 0 */
    size_t capacity;    /* of bits, in words */
    trl__strings rows;  /* the same bits by content, to find equal ones */
    trl__strings names; /* count of them, distinct: "Nasal", or "M N NG" where nobody gave a name */
} trl__unit_sets;

static inline int32_t trl__unit_set_words(int32_t units)
{
    return units / 64 + 1;
}

static inline int trl__unit_set_has(const trl__unit_sets *sets, int32_t set, int32_t unit)
{
    uint32_t bit = (uint32_t)(unit == TRL__NOTHING ? sets->units : unit);
    return (int)(sets->bits[(size_t)set * (size_t)sets->words + bit / 64] >> bit % 64 & 1);
}

typedef struct trl__tree_node {
    int32_t position; /* of the window; TRL__LEAF: there is nothing to ask */
    int32_t value;    /* the set asked about; of a leaf: the tied state */
    int32_t yes, no;  /* nodes; of a leaf: -1 */
} trl__tree_node;

typedef struct trl__tree {
    int32_t width, centre; /* of the window: 3 and 1 for triphones, 5 and 2 for quinphones, 1 and 0 without context */
    int32_t units, states; /* states: the most of any unit */
    int32_t *root;         /* unit * states + state: a node; -1: the unit has no such state */
    int32_t nodes;
    trl__tree_node *node;
    int32_t leaves; /* tied states are 0 … leaves - 1, each at one leaf or more */
    trl__unit_sets sets;
} trl__tree;

/* The tied state of the window's unit; -1: the unit has no such state. */
int32_t trl__tree_find(const trl__tree *tree, const int32_t *window, int32_t state);

/* The tied states that a unit's state has in any context, rising, without doubles. Questions about the unit itself are
 * answered; all others go both ways. `out` has room for tree->leaves. Returns how many. The tree must have passed
 * trl__tree_check. */
int32_t trl__tree_tied_states(const trl__tree *tree, int32_t unit, int32_t state, int32_t *out);

/* Checks all indices, that children come behind their parents and belong to one parent each, that every node is reached
 * and every tied state is at a leaf: for trees from files. TRL_ECORRUPT with `name` as the file; TRL_ELIMIT: deeper
 * than TRL__DEEPEST_TREE. */
int trl__tree_check(const trl__tree *tree, const char *name, trl_error *err);

/* Without nodes: all roots are -1. node and leaves are for the caller to fill. */
int trl__tree_create(int32_t width, int32_t centre, int32_t units, int32_t states, trl__tree **out, trl_error *err);
int trl__tree_copy(const trl__tree *tree, trl__tree **out, trl_error *err);
void trl__tree_destroy(trl__tree *tree); /* with all its arrays */

/* The set's number (an equal one's, if there is one), or -1: out of memory. `bits` has trl__unit_set_words(units)
 * words. A name that another set has gets a number behind it. */
int trl__unit_sets_add(trl__unit_sets *sets, const char *name, const uint64_t *bits);
void trl__unit_sets_free(trl__unit_sets *sets);

/* What a set is called where nobody gave it a name: its units, "M N NG", with "(nothing)" for TRL__NOTHING. With word
 * positions, the four places of a phone are called like the phone. NULL: out of memory; freed by trl__free. */
char *trl__unit_set_name(const trl__strings *units, int word_positions, const uint64_t *bits);

#endif
