/* The words of a transcript as numbers of a lexicon. */
#ifndef TRL_CORPUS_TRANSCRIPT_H
#define TRL_CORPUS_TRANSCRIPT_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/lexicon.h>

#define TRL__UNKNOWN_WORD (-1)
#define TRL__WORD_SIZE 128 /* bytes of an unknown word that messages show */

typedef struct trl__words {
    int32_t *items; /* a lexicon's word, or TRL__UNKNOWN_WORD */
    size_t count, capacity;
} trl__words;

/* Appends the words of `text` (separated by single blanks). *unknown counts those that the lexicon lacks, `first` is the first of them
 * (cut to TRL__WORD_SIZE - 1 bytes). Returns 0 or TRL_ENOMEM. */
int trl__transcript_words(const char *text, const trl_lexicon *lexicon, trl__words *words, size_t *unknown,
                          char first[TRL__WORD_SIZE], trl_error *err);

#endif
