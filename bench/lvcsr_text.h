/* The words of large-vocabulary speech: a vocabulary, a language model, and sentences to be spoken.
 *
 *     lvcsr_text text;
 *     lvcsr_text_read(&text, &sizes);                   // Europarl, in words as they are spoken
 *     lvcsr_text_write(&text, folder);                  // folder/lexicon.txt, folder/words.arpa
 *     lvcsr_text_line(&text.test.text, text.test.spoken[i], line, sizeof line);
 *     lvcsr_text_free(&text);
 *
 * The vocabulary is the text's most frequent words that the CMU dictionary has, filled up with others of the dictionary. Sentences that are spoken have words of
 * the vocabulary only. The language model is made of all sentences but those of the test, which it has not seen in any other place either.
 */
#ifndef TRELLIS_BENCH_LVCSR_TEXT_H
#define TRELLIS_BENCH_LVCSR_TEXT_H

#include "fst_corpus.h"

#include <trellis/lexicon.h>

typedef struct lvcsr_text_sizes {
    size_t lines; /* of Europarl that are read */
    size_t words; /* of the vocabulary */
    double prune; /* of the language model, see lm.h */
} lvcsr_text_sizes;

/* Sentences, and which of them can be spoken. */
typedef struct lvcsr_sentences {
    fst_text text;
    size_t *spoken; /* lines */
    size_t spoken_count;
} lvcsr_sentences;

typedef struct lvcsr_text {
    lvcsr_text_sizes sizes;
    lvcsr_sentences train, test;
    trl_lexicon *dictionary;
    unsigned char *chosen; /* by word of the dictionary: in the vocabulary */
} lvcsr_text;

/* Why speech can't be made of text here: Europarl or the dictionary is missing; NULL: both are there. */
const char *lvcsr_text_missing(void);

/* A number that changes with what the text is made of. */
uint64_t lvcsr_text_hash(void);

void lvcsr_text_read(lvcsr_text *text, const lvcsr_text_sizes *sizes);
void lvcsr_text_write(const lvcsr_text *text, const char *folder);
void lvcsr_text_free(lvcsr_text *text);

/* A line's words with blanks between them; "" where they do not fit. */
const char *lvcsr_text_line(const fst_text *text, size_t line, char *out, size_t size);

#endif
