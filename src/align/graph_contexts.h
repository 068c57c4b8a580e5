/* Contexts in the making of an utterance's graph: what follows every phone, and which copies a phone has.
 *
 *     trl__contexts_begin(graph, map, lexicon, words, count, silence);   // looks ahead, from the end to the start
 *     trl__graph_add_copies(graph, map, &phone);                         // phone by phone, from the start to the end
 *
 * A copy knows what has been and what will be: its history, the last units up to its own, and its promise, the
 * sequences of units of which one will follow. The path decides which; whoever goes on from the copy must keep to it.
 */
#ifndef TRL_ALIGN_GRAPH_CONTEXTS_H
#define TRL_ALIGN_GRAPH_CONTEXTS_H

#include "align/unit_map.h"

/* A set of sequences: some in a row in contexts->sequences, rising, without doubles. */
typedef struct trl__sequence_set {
    size_t first, count;
} trl__sequence_set;

typedef struct trl__contexts {
    const trl__tree *tree;
    int32_t before, behind; /* units of the window before and behind its own */

    int32_t *sequences; /* `behind` units each, TRL__NOTHING beyond the end */
    size_t sequence_count, sequence_capacity;
    trl__sequence_set *following; /* by phone of all pronunciations, the last one first: what may follow it */
    size_t following_count, following_capacity;

    /* By copy, from 1; 0 is the start, whose promise is anything. */
    int32_t *history; /* `before` units each */
    trl__sequence_set *promise;
    size_t history_capacity, promise_capacity;

    /* Of the phone in hand. */
    int32_t *left;        /* by source: the number of its history; -1: it promised something else */
    uint8_t *keeps;       /* source * rights + right: its promise is kept when this follows the phone */
    int32_t *tied;        /* (left * rights + right) * states + state */
    int32_t *group;       /* by left: the first of those it shares copies with */
    int32_t *copy;        /* by right: the first of its copy; -1: none so far */
    trl__triple *triples; /* by state, of a copy */
    int32_t *lefts;       /* histories, `before` units each */
    size_t left_capacity, keeps_capacity, tied_capacity, group_capacity, copy_capacity, triple_capacity, lefts_capacity;
    trl__graph_sources chosen; /* of a copy */
} trl__contexts;

/* 0, TRL_ENOMEM or TRL_ELIMIT, like the functions below. silence: the probability of silence in its slots. */
int trl__contexts_begin(trl__graph *graph, const trl__unit_map *map, const trl_lexicon *lexicon, const int32_t *words,
                        size_t count, float silence);
void trl__contexts_free(trl__contexts *contexts);

/* The copies of a phone, entered from graph->chain; their exits are added to graph->longer. phone: all but its nodes.
 * TRL_ECORRUPT: the tree chooses what is not among the unit's tied states. */
int trl__graph_add_copies(trl__graph *graph, const trl__unit_map *map, const trl__graph_phone *phone);

/* May the utterance end behind this node? */
int trl__contexts_may_end(const trl__graph *graph, int32_t node);

/* One copy, by utterance_graph.c: entered from the sources; triples by state. */
int trl__graph_add_copy(trl__graph *graph, const trl__unit_map *map, const trl__graph_phone *phone,
                        const trl__triple *triples, const trl__graph_sources *sources);

int trl__contexts_reserve(trl__contexts *contexts, size_t more); /* sequences */

static inline int32_t *trl__sequence(const trl__contexts *contexts, size_t number)
{
    return contexts->sequences + number * (size_t)contexts->behind;
}

/* Which of two sequences of so many units comes first: negative, 0, positive. */
static inline int trl__sequence_compare(const int32_t *a, const int32_t *b, int32_t units)
{
    for (int32_t i = 0; i < units; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

#endif
