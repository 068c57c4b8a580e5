/* Words that a lexicon lacks: each once, with how often and where first.
 *
 *     trl__unknown_list list = {.lexicon = lexicon};
 *     trl__unknown_list_add(&list, "HMM", 1, &utterance, err);
 *     trl__unknown_list_name(&list, findings, err);               // a finding per word, the most frequent first
 *     trl__unknown_list_free(&list);
 *
 * One thread at a time. What can fail returns 0 or TRL_ENOMEM.
 */
#ifndef TRL_CORPUS_UNKNOWN_LIST_H
#define TRL_CORPUS_UNKNOWN_LIST_H

#include "base/string_table.h"
#include "corpus/near_word.h"

#include <trellis/finding.h>

/* Where a word is: strings are the caller's and outlive the list. */
typedef struct trl__word_place {
    const char *file, *utterance;
    int64_t line;
} trl__word_place;

typedef struct trl__unknown_word {
    const char *word;
    size_t times;
    trl__word_place first;
} trl__unknown_word;

typedef struct trl__unknown_list {
    const trl_lexicon *lexicon;
    trl__near_words near; /* built when a word is first asked for */
    trl__strings words;
    trl__unknown_word *items; /* in order of arrival until trl__unknown_list_name sorts them */
    size_t capacity;
    size_t times; /* of all words */
} trl__unknown_list;

int trl__unknown_list_add(trl__unknown_list *list, const char *word, size_t times, trl__word_place place,
                          trl_error *err);

/* The lexicon's own form of a word, when it has one that differs in capitals or punctuation only; else NULL. */
int trl__unknown_list_near(trl__unknown_list *list, const char *word, const char **near, trl_error *err);

/* A finding for each word. The list is in their order afterwards, and takes no more words. */
int trl__unknown_list_name(trl__unknown_list *list, trl_findings *findings, trl_error *err);
void trl__unknown_list_free(trl__unknown_list *list);

#endif
