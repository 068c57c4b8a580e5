/* Transcripts as lexicon words, and what to say of words that the lexicon does not have. */
#ifndef TRL_ALIGN_UNKNOWN_WORDS_H
#define TRL_ALIGN_UNKNOWN_WORDS_H

#include "base/string_table.h"
#include "corpus/near_word.h"

#include <trellis/corpus.h>

/* One transcript; memory is reused. Initialise with {0}. */
typedef struct trl__transcript {
    int32_t *words; /* indices into the lexicon; -1 (TRL__WORD_NOISE): unknown */
    char **labels;  /* the words as they are written; pieces of `text` */
    size_t count, unknown_count;
    char *text;
    size_t word_capacity, label_capacity, text_capacity;
} trl__transcript;

int trl__transcript_split(trl__transcript *transcript, const trl_lexicon *lexicon, const char *text, trl_error *err);
void trl__transcript_free(trl__transcript *transcript);

typedef struct trl__unknown_place {
    const trl_utterance *first;
    size_t count;
} trl__unknown_place;

/* Initialise with {.lexicon = …}. One thread at a time. */
typedef struct trl__unknown_words {
    const trl_lexicon *lexicon;
    trl__near_words near; /* built at the first unknown word */
    trl__strings words;
    trl__unknown_place *places; /* by word */
    size_t place_capacity;
} trl__unknown_words;

/* An error, TRL_EINVAL, that names the transcript's unknown words and the choices there are. */
int trl__unknown_words_fail(trl__unknown_words *unknown, const trl_utterance *utterance,
                            const trl__transcript *transcript, trl_error *err);
/* A finding that says the same: the utterance is left out. */
int trl__unknown_words_skip(trl__unknown_words *unknown, const trl_utterance *utterance,
                            const trl__transcript *transcript, trl_findings *findings, trl_error *err);
/* Counts them, for a finding per word at the end. */
int trl__unknown_words_count(trl__unknown_words *unknown, const trl_utterance *utterance,
                             const trl__transcript *transcript, trl_error *err);
int trl__unknown_words_name(trl__unknown_words *unknown, trl_findings *findings, trl_error *err);
void trl__unknown_words_free(trl__unknown_words *unknown);

#endif
