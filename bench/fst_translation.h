/* [002]'s experiment: an unsmoothed bigram model of English and a table of word translations, composed into one
 * transducer that reads French and writes English.
 *
 * States are the English words, and one more, <s>, where it starts; state e is where e was the last word. For every
 * bigram (e, e') and every French word f that e' was aligned with there is an arc from e to e': it reads f, writes e'
 * and costs -log P(e' | e) P(f | e'). What the paper's </s> costs are the final weights. */
#ifndef TRELLIS_BENCH_FST_TRANSLATION_H
#define TRELLIS_BENCH_FST_TRANSLATION_H

#include "fst_peer.h"
#include "fst_rows.h"
#include "fst_corpus.h"

typedef struct translation {
    int32_t english, french; /* words */
    int32_t states, start;   /* english + 1; english */
    fst_rows bigrams;        /* by state: the English words that follow */
    fst_rows table;          /* by English word: its translations */
    float *final;            /* by state; INFINITY: no sentence ends there */
    uint64_t arcs;
} translation;

/* From the first lines of both languages; threads 1 or 2: one per direction of the alignment. */
void translation_create(translation *t, const fst_corpus *corpus, size_t lines, int threads);
void translation_free(translation *t);

/* The labels that arcs carry: 0 is epsilon. */
#define TRANSLATION_LABEL(word) ((word) + 1)

/* The arcs of a state, in the order of the words that follow, then of their translations. Initialise with {0}; used
 * again and again, freed with trl__free(list.arc). */
typedef struct translation_list {
    peer_arc *arc;
    size_t count, capacity;
} translation_list;
void translation_arcs(const translation *t, int32_t state, translation_list *list);

#endif
