/* An n-gram model on its way to an acceptor: readers of the formats give it n-grams, and it makes states and arcs.
 *
 *     trl__ngrams ngrams;
 *     code = trl__ngrams_begin(&ngrams, source, &options, err);
 *     trl__ngrams_word(&ngrams, "word", &words[0]);                       // labels of the words
 *     trl__ngrams_add(&ngrams, words, 1, cost, backoff);                  // shorter n-grams before longer ones
 *     code = trl__ngrams_finish(&ngrams, code, &fst, &skipped);           // whatever the codes were
 *
 * Costs are negative natural logarithms; the sum of few of them is kept in float, as arcs have it.
 */
#ifndef TRL_FST_NGRAM_MACHINE_H
#define TRL_FST_NGRAM_MACHINE_H

#include "base/byte_source.h"
#include "base/tuple_table.h"

#include <trellis/fst_file.h>

#define TRL__NGRAM_MOST_ORDER 20
enum { TRL__NGRAM_END = -1, TRL__NGRAM_BEGIN = -2, TRL__NGRAM_NONE = -3 }; /* </s>, <s>, a word that is not known */

typedef struct trl__ngram_node {
    int32_t parent, word;
    int32_t suffix; /* the longest proper suffix that is a node */
    int32_t state;  /* or TRL_NO_STATE */
    float cost, backoff;
    uint8_t has_cost, has_children;
} trl__ngram_node;

typedef struct trl__ngrams {
    trl__source *source; /* for the place in messages */
    trl_arpa_options options;
    trl__tuples index; /* (parent, word): node - 1 */
    trl__ngram_node *nodes;
    size_t count, capacity;
    uint64_t skipped; /* n-grams with words that are not known, or <s> and </s> where nothing can be read */
    trl_error *err;
} trl__ngrams;

int trl__ngrams_begin(trl__ngrams *builder, trl__source *source, const trl_arpa_options *options, trl_error *err);

/* The label of a word, or one of the numbers above. A new word is added where the options say so. */
int trl__ngrams_word(const trl__ngrams *builder, const char *text, int32_t *word);

/* Returns 0, also for one that is skipped; TRL_EFORMAT for one that is there already, TRL_ELIMIT, TRL_ENOMEM. */
int trl__ngrams_add(trl__ngrams *builder, const int32_t *words, int count, float cost, float backoff);

/* The machine of the n-grams, unless `code`, of what came before, is an error: then that is returned. The builder's memory is freed either way.
 * skipped: may be NULL. */
int trl__ngrams_finish(trl__ngrams *builder, int code, trl_fst **out, uint64_t *skipped);

#endif
