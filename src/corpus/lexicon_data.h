/* What the files of the lexicon share: its reader (lexicon.c), its writer (lexicon_write.c), and a copy with other
 * probabilities (lexicon_counts.c). */
#ifndef TRL_CORPUS_LEXICON_DATA_H
#define TRL_CORPUS_LEXICON_DATA_H

#include "base/memory.h"
#include "base/string_table.h"

#include <trellis/lexicon.h>

#define TRL__LEXICON_NUMBERS 4 /* at most, between word and phones: Montreal Forced Aligner's dictionaries */

typedef struct trl__pronunciation {
    const int32_t *piece; /* word, then phones */
    size_t length;        /* number of phones */
    float probability;
} trl__pronunciation;

struct trl_lexicon {
    trl__strings words, phones;
    trl__map folded; /* word in small letters -> the first that is the same but for its capitals; empty: not wanted */
    trl__arena arena;
    trl__pronunciation *pronunciations; /* grouped by word */
    size_t count, capacity;
    size_t *first; /* words + 2; of word w: first[w] … first[w + 1] - 1 */
};

#endif
