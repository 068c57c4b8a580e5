/* Text as numbers: what `trellis-bench fst` makes language models, translation tables and test sentences of, and `trellis-bench lvcsr` speech. */
#ifndef TRELLIS_BENCH_FST_CORPUS_H
#define TRELLIS_BENCH_FST_CORPUS_H

#include "base/string_table.h"

#include <stdint.h>

/* Lines of words. Words are numbered in order of arrival, so those of the first lines of a text are the first words. */
typedef struct fst_text {
    trl__strings words;
    int32_t *token;
    size_t tokens, token_capacity;
    size_t *first; /* by line, lines + 1: token[first[n]] is line n's first */
    size_t lines, line_capacity;
} fst_text;

/* Two languages, line by line, and lines of the first one for tests. */
typedef struct fst_corpus {
    fst_text french, english;
    fst_text test; /* numbered on its own: look words up by name */
    int synthetic; /* 1: not Europarl */
} fst_corpus;

/* Europarl from ../shared/data/text, tokenised and in small letters as it is there; where that folder is missing, or
 * when `synthetic` is asked for, `lines` lines of words by Zipf's law and a noisy translation of them. */
void fst_corpus_read(fst_corpus *corpus, size_t lines, int synthetic);
void fst_corpus_free(fst_corpus *corpus);

/* Up to `most` lines of ../shared/data/NAME, which must be there; NAME.xz is unpacked. */
void fst_text_read(fst_text *text, const char *name, size_t most);
void fst_text_free(fst_text *text);

void fst_text_add_word(fst_text *text, const char *word, size_t length);
void fst_text_end_line(fst_text *text);

/* How many different words the first lines have. */
int32_t fst_text_words(const fst_text *text, size_t lines);

void *fst_must(void *block); /* ends the program when it is NULL: out of memory */

#endif
