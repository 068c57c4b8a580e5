/* From what people write to words of a lexicon: “It’s late,” he said – in 1990. becomes: it 's late he said in 1990,
 * if it, 's, late … are words of the lexicon.
 *
 *     trl__written_words *written;
 *     trl__written_create(lexicon, NULL, &written, err);
 *     trl__written_text(written, text, &spoken, err);
 *     trl__written_destroy(written);
 *
 * A token, what stands between blanks, is looked for as it is; what the lexicon has is never changed. Else, the marks
 * around it are taken off, the fewest first and those behind it before those in front. What is left at each step is
 * looked for
 *   1. as it is,
 *   2. among the replacements,
 *   3. with apostrophes and hyphens of one kind,
 *   4. in small letters, first those of the lexicon's words that are such, then the first word that differs in capitals, then among the replacements.
 * What is not found is cut at separators (dashes, quotes, ..), and the pieces are looked for in the same way; a piece
 * that is not found is cut at its hyphens and other marks, and before or behind its apostrophes, into the fewest
 * parts of which the lexicon has each, the first ones as long as can be; never at a mark between digits. What is then
 * not found is an unknown word, without the marks around it. Tokens of marks alone are no words. Brackets [] <> {}
 * hold no speech: what is in them, one token or several, stays as it is written; so does a single word in ().
 *
 * Letters are in composed form (NFC) throughout. Each distinct token is looked for once. One thread at a time.
 */
#ifndef TRL_CORPUS_WRITTEN_WORDS_H
#define TRL_CORPUS_WRITTEN_WORDS_H

#include <trellis/corpus.h>

typedef struct trl__written_words trl__written_words;

/* What a token is taken for. */
typedef struct trl__spoken_words {
    const char *written, *words; /* words: with single blanks between, maybe none */
    uint32_t count;              /* of words */
    trl_text_change change;
    size_t times;
} trl__spoken_words;

/* A transcript; memory is reused. Initialise with {0}. */
typedef struct trl__spoken_text {
    char *text;       /* words with single blanks between */
    uint32_t *counts; /* by token: how many words it is */
    size_t tokens;
    int changed; /* it differs from what is written */
    size_t used, text_capacity, count_capacity;
} trl__spoken_text;

/* `replace`: a file, see trl_corpus_find_words; NULL: none. The lexicon must outlive it. */
int trl__written_create(const trl_lexicon *lexicon, const char *replace, trl__written_words **out, trl_error *err);
void trl__written_destroy(trl__written_words *written);

/* A token, valid UTF-8; the answer lasts until the next token. NULL: out of memory. */
const trl__spoken_words *trl__written_token(trl__written_words *written, const char *token, size_t length);

/* Tokens with single blanks between. Returns 0 or TRL_ENOMEM. */
int trl__written_text(trl__written_words *written, const char *text, trl__spoken_text *out, trl_error *err);
void trl__spoken_text_free(trl__spoken_text *text);

/* All tokens so far, in order of their first appearance. */
const trl__spoken_words *trl__written_tokens(const trl__written_words *written, size_t *count);

#endif
