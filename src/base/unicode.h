/* Text as code points, in composed form (NFC): é is one letter, however it was typed. By utf8proc; nothing depends on
 * the locale. */
#ifndef TRL_BASE_UNICODE_H
#define TRL_BASE_UNICODE_H

#include <stddef.h>
#include <stdint.h>

#define TRL__LETTERS_MOST 256 /* code points of a word; a longer one is no word */

/* The code points of UTF-8 in composed form; with `fold`, of small letters, as Unicode's full case folding has them
 * (ß becomes ss). Returns how many, or -1: not valid UTF-8, or more than TRL__LETTERS_MOST. */
long trl__letters_of(const char *text, size_t length, int fold, int32_t letters[TRL__LETTERS_MOST]);

#define TRL__LETTERS_BYTES (4 * TRL__LETTERS_MOST + 1)

/* UTF-8 of code points with a NUL behind it; returns its length. */
size_t trl__letters_text(const int32_t *letters, size_t count, char out[TRL__LETTERS_BYTES]);

/* The word in composed form: itself where it is ASCII (nothing is done then) or can't be composed, else in `out`. */
const char *trl__composed(const char *word, size_t *length, char out[TRL__LETTERS_BYTES]);

/* The general category of a code point, two letters, as in Unicode's data: "Lu", "Po" … */
const char *trl__category_of(int32_t letter);

#endif
