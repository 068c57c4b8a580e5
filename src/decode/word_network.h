/* Words with alternatives, and the best alignment of two such networks. */
#ifndef TRL_DECODE_WORD_NETWORK_H
#define TRL_DECODE_WORD_NETWORK_H

#include "decode/word_align.h"

/* A word on its way from one node to another. The words before it, `before_count` from `before` of the network's list, end where it begins;
 * word 0 stands at the beginning and is none. */
typedef struct trl__network_word {
    const char *text;
    int32_t id;
    uint32_t place; /* which word of the utterance, alternatives counted as one */
    unsigned char absent, optional;
    size_t before, before_count;
} trl__network_word;

typedef struct trl__network {
    trl__network_word *words;
    size_t count, room;
    uint32_t *list;
    size_t list_count, list_room;
    size_t last, last_count; /* of the list: the words that end the utterance */
    uint32_t places;
} trl__network;

/* The words of an utterance (transcripts.h) with their numbers; initialise the network with {0}. optional: words in parentheses may be left
 * out, and their numbers are those of what is inside. Returns 0 or TRL_ENOMEM. */
int trl__network_build(trl__network *net, const char *const *words, const int32_t *ids, size_t count, int optional,
                       trl_error *err);
void trl__network_free(trl__network *net);

/* Is it more than a string of words? */
int trl__is_network(const char *const *words, size_t count, int optional);
int trl__is_optional(const char *word);

typedef struct trl__network_step {
    uint32_t said, heard; /* 0: none */
    char kind;
} trl__network_step;

/* `steps` has room for the words of both. Returns 0, TRL_ELIMIT, TRL_ENOMEM. */
int trl__network_align(const trl__network *said, const trl__network *heard, const trl__align_costs *costs,
                       trl__scratch *scratch, trl__network_step *steps, size_t *count, trl_error *err);

#endif
