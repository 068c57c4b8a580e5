/* An n-gram model while it is made: levels of n-grams, and the steps that fill them.
 *
 *     trl__lm_counts counts;                                // lm_count.c: n-grams of texts, in a hash table
 *     trl__lm_levels(&counts, lm, err);                     // lm_levels.c: sorted, with their suffixes
 *     trl__lm_smooth(lm, …);                                // lm_smooth.c: probabilities and back-off weights
 *     trl__lm_prune(lm, threshold);                         // lm_prune.c
 *     trl_lm_write(lm, path, err);                          // lm_write.c
 *
 * Level k has the n-grams of k words, sorted by the bytes of their words. A history is an n-gram of the level below: the
 * n-grams that continue history h of level k - 1 are first[h] … first[h + 1] - 1 of level k. Level 0 is the empty
 * history alone. The n-grams that begin with <s> are one range of each level.
 */
#ifndef TRL_LM_LM_DATA_H
#define TRL_LM_LM_DATA_H

#include "base/byte_source.h"
#include "base/string_table.h"
#include "base/tuple_table.h"

#include <trellis/lm.h>

#define TRL__LM_BEGIN "<s>"
#define TRL__LM_END "</s>"
#define TRL__LM_UNKNOWN "<unk>"
enum { TRL__LM_BEGIN_ID, TRL__LM_END_ID, TRL__LM_UNKNOWN_ID }; /* words of the counts */

typedef struct trl__lm_level {
    size_t count;
    uint32_t *first;    /* by history, one more than there are */
    int32_t *word;      /* the last one; words are numbered by their bytes, as level 1 is */
    uint32_t *suffix;   /* the n-gram without its first word, in the level below */
    uint32_t *seen;     /* how often it was there; 0: <s>, and words that never were */
    uint32_t *events;   /* what the smoothing counts */
    float *probability; /* of the last word after the others */
    float *backoff;     /* where it is a history; 1 where nothing follows */
    uint8_t *dropped;
    uint32_t begin[2]; /* the range of those that begin with <s> */
} trl__lm_level;

struct trl_lm {
    int order;
    const char **words; /* by number, which is the order of their bytes */
    trl__strings texts; /* what they point into */
    int32_t unknown;    /* number of <unk>, or -1 */
    trl__lm_level levels[TRL_LM_MOST_ORDER + 1];
    trl_lm_text text;
};

/* A text; initialise with {.source = {.fd = -1}}. */
typedef struct trl__lm_input {
    trl__source source;
    int has_ids; /* each line begins with an id, which is no word */
} trl__lm_input;

/* The n-grams of order k are pairs (n-gram of order k - 1, word), numbered as they come. */
typedef struct trl__lm_counts {
    int order, closed;
    trl__strings words;
    size_t fixed;                              /* words of a given vocabulary, the first so many; 0: all words */
    trl__tuples ngrams[TRL_LM_MOST_ORDER + 1]; /* from order 2 */
    uint32_t *seen[TRL_LM_MOST_ORDER + 1];     /* of each, how often */
    size_t capacity[TRL_LM_MOST_ORDER + 1];
    trl_lm_text text;
} trl__lm_counts;

int trl__lm_counts_begin(trl__lm_counts *counts, const trl_lm_options *options, trl_error *err);
int trl__lm_counts_add(trl__lm_counts *counts, trl__lm_input *input, trl_error *err);
void trl__lm_counts_free(trl__lm_counts *counts);

/* Takes the counts over, which are empty afterwards. */
int trl__lm_levels(trl__lm_counts *counts, trl_lm *lm, trl_error *err);

void trl__lm_smooth(trl_lm *lm, const trl_lm_options *options);
int trl__lm_prune(trl_lm *lm, double threshold, trl_error *err);

/* All steps after counting, which takes the counts over. */
int trl__lm_make(trl__lm_counts *counts, const trl_lm_options *options, trl_lm **out, trl_error *err);

/* Recognises the form where it is not given. The input's source is closed by trl__source_close. */
int trl__lm_input_open(const char *path, trl_lm_form form, trl__lm_input *out, trl_error *err);

/* The next sentence of a text, without the marks at its ends: 1, 0 at the end of the text, or an error. The fields are read with trl__lm_word
 * from *words. */
int trl__lm_sentence(trl__lm_input *input, char **words, trl_error *err);

/* The next word of a sentence: 1, 0 at its end, or an error (a mark inside the sentence). */
int trl__lm_word(const trl__lm_input *input, char **words, const char **word, trl_error *err);

#endif
