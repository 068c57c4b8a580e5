/* Which letters of a text are no part of its words. */
#ifndef TRL_CORPUS_TOKEN_MARKS_H
#define TRL_CORPUS_TOKEN_MARKS_H

#include <stddef.h>
#include <stdint.h>

/* A sign that may stand around a word and is not spoken: punctuation of all scripts, notes, emoji; not & % # @ §,
 * currencies and + = (somebody may have said them). */
int trl__is_mark(int32_t letter);

/* A mark that never stands inside a word: dashes, the ellipsis, quotes, the punctuation of scripts that need no blank
 * behind it. */
int trl__is_separator(int32_t letter);

/* Of an opening bracket the closing one, else 0. */
int32_t trl__closing_bracket(int32_t letter);

/* Apostrophes and hyphens of all kinds become ' and -; soft hyphens and signs for the direction of writing go.
 * Returns how many letters are left. */
size_t trl__tidy_letters(int32_t *letters, size_t count);

#endif
