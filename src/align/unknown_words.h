/* Transcripts as lexicon words, and what becomes of words that the lexicon does not have (trellis/align.h). */
#ifndef TRL_ALIGN_UNKNOWN_WORDS_H
#define TRL_ALIGN_UNKNOWN_WORDS_H

#include "corpus/unknown_list.h"

#include <trellis/align.h>

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

/* Unknown words of transcripts, or of hypotheses, as they are gone through. Initialise with {.list.lexicon = …}. */
typedef struct trl__unknown_count {
    trl__unknown_list list;
    size_t words, utterances, unknown_utterances; /* words: known ones too */
} trl__unknown_count;

/* Those of one transcript; the utterance itself is counted by the caller. Returns 0 or TRL_ENOMEM. */
int trl__unknown_count_add(trl__unknown_count *count, const trl__transcript *transcript, trl__word_place place,
                           trl_error *err);
/* Names them, and decides what becomes of them; frees the count. Returns as trl_unknown_words_find. */
int trl__unknown_count_end(trl__unknown_count *count, const trl_model *model, int choice, trl_findings *words,
                           trl_unknown_summary *summary, trl_error *err);

/* A finding that names a transcript's unknown words: the utterance is left out. */
int trl__unknown_words_skip(trl__unknown_list *unknown, const trl_utterance *utterance,
                            const trl__transcript *transcript, trl_findings *findings, trl_error *err);

#endif
