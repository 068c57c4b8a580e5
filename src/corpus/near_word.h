/* Words of a lexicon that are the same but for capitals and the punctuation around them.
 *
 *     trl__near_words near = {0};
 *     trl__near_words_build(&near, lexicon, err);
 *     trl__near_word(&near, "\"zero,", &found, err);        // found: "ZERO", or NULL
 *     trl__near_words_free(&near);
 */
#ifndef TRL_CORPUS_NEAR_WORD_H
#define TRL_CORPUS_NEAR_WORD_H

#include "base/hash_map.h"
#include "base/memory.h"

#include <trellis/lexicon.h>

typedef struct trl__near_words {
    const trl_lexicon *lexicon;
    trl__map index; /* folded word -> the first word of the lexicon that folds to it */
    trl__arena arena;
} trl__near_words;

/* Both return 0 or TRL_ENOMEM. */
int trl__near_words_build(trl__near_words *near, const trl_lexicon *lexicon, trl_error *err);
int trl__near_word(trl__near_words *near, const char *word, const char **found, trl_error *err);
/* What to do about a word: "; --fold-case takes it" where only capitals differ from the one that was found; of
 * numbers, if none was found (NULL), that --replace says how they are spoken; else "". */
const char *trl__near_word_advice(const char *word, const char *found);

void trl__near_words_free(trl__near_words *near);

#endif
