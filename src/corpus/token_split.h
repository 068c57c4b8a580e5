/* A token that nobody has as a whole, in parts that somebody has: twenty-one, it's, l'homme. */
#ifndef TRL_CORPUS_TOKEN_SPLIT_H
#define TRL_CORPUS_TOKEN_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#define TRL__PARTS_MOST 24 /* of a token */

typedef struct trl__part {
    size_t first, end; /* letters */
} trl__part;

/* Is this a word? */
typedef int (*trl__is_word_fn)(void *user, const int32_t *letters, size_t count);

/* The fewest parts that are all words, of those the ones with the longest first part, then the longest second one …:
 * cut at marks, which are dropped, but for apostrophes, which stay with the part before or behind; never at a mark
 * between digits. Returns how many, at least 2, or 0: there is no such way. At most 4 TRL__PARTS_MOST^2 questions. */
size_t trl__split_token(const int32_t *letters, size_t count, trl__is_word_fn is_word, void *user,
                        trl__part parts[TRL__PARTS_MOST]);

#endif
