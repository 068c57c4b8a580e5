/* A transducer by input symbol: what a search walks through, as flat arrays that are written to files and mapped as
 * they are.
 *
 *     symbol[a]       the arcs that read label symbol[a].label, by source, target, output, weight
 *     arc[k]          target and weight: 8 bytes, all that a search needs of an arc
 *     source[k], output[k]
 *     row_first[r]    arcs of one symbol and source are a row; relative to the symbol's first arc; one more entry per
 *                     symbol says where its last row ends
 *
 * How the row of a source is found: a symbol with many rows has a bitmap of its sources, and by 64 states the number of
 * rows in front; the others list their rows' sources.
 *
 *     bits[w], rank[w]   place + state / 64: bitmap, rows of the symbol before this word
 *     row_source[i]      place + row
 */
#ifndef TRL_TRANSDUCE_TRANSDUCER_DATA_H
#define TRL_TRANSDUCE_TRANSDUCER_DATA_H

#include "base/container.h"

#include <stdatomic.h>
#include <trellis/transduce.h>

typedef struct trl__symbol {
    uint64_t arc, row, place; /* where its part of the arrays begins */
    uint64_t hash;            /* of its part of all arrays */
    uint32_t arcs, rows;
    int32_t label;
    uint32_t has_bitmap;
} trl__symbol;

typedef struct trl__symbol_arc {
    uint32_t target;
    float weight;
} trl__symbol_arc;

/* The graph of arcs without input. Ranks number the states so that its arcs lead to higher ranks, or stay within a
 * cyclic component, which is a range of ranks. */
typedef struct trl__epsilons {
    int32_t symbol; /* -1: there are none; else 0 */
    int has_cycles;
    uint32_t *rank;        /* by state */
    uint32_t *state;       /* by rank */
    uint32_t *first, *end; /* by rank: its component's ranks; end 0: no cycle */
} trl__epsilons;

struct trl_transducer {
    int32_t states, start;
    uint32_t symbols;
    uint64_t arcs;
    uint64_t rows, words, listed; /* sizes of row_first (without the ends), bits, row_source */
    const trl__symbol *symbol;    /* by label, rising */
    const trl__symbol_arc *arc;
    const uint32_t *source;
    const int32_t *output;
    const uint32_t *row_first, *row_source, *rank;
    const uint64_t *bits;
    const float *final;      /* by state; infinite: not final */
    float smallest, largest; /* of all weights */
    trl__epsilons epsilons;
    trl_symbols *isymbols, *osymbols;
    trl__container *container; /* not NULL: the arrays are its; NULL: they are this object's */
    void *memory;              /* not NULL: the container's large arrays were copied here */
    atomic_uchar *checked;     /* by symbol, of a container's: was looked at and is right */
};

static inline size_t trl__words(int32_t states)
{
    return ((size_t)states + 63) / 64;
}

/* The label's symbol, or -1. */
int32_t trl__transducer_find(const trl_transducer *transducer, int32_t label);

/* To be called before a symbol's arcs are walked: looks at those of a mapped file once. Returns 0 or TRL_ECORRUPT. */
int trl__transducer_check(const trl_transducer *transducer, uint32_t symbol, trl_error *err);

uint64_t trl__symbol_hash(const trl_transducer *transducer, const trl__symbol *symbol);

/* Fills in `epsilons`, the last step of making a transducer. Returns 0, TRL_ELIMIT (a cycle of negative cost),
 * TRL_ENOMEM. */
int trl__epsilons_prepare(trl_transducer *transducer, trl_error *err);
void trl__epsilons_free(trl__epsilons *epsilons);

/* Takes the container over, even in failure. */
int trl__transducer_from_container(trl__container *container, trl_transducer **out, trl_error *err);

#define TRL__TRANSDUCER_KIND "transducer"
#define TRL__TRANSDUCER_VERSION 1

#endif
