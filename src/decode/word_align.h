/* The best alignment of two strings of words, as bytes C, S, D, I from left to right. */
#ifndef TRL_DECODE_WORD_ALIGN_H
#define TRL_DECODE_WORD_ALIGN_H

#include "base/memory.h"

#include <stdint.h>
#include <trellis/error.h>

typedef struct trl__align_costs {
    int32_t substitution, gap; /* of a deletion or an insertion */
    int keep_pairs;            /* 1: of equal costs, the pair; 0: only where it is cheaper than both others */
} trl__align_costs;

/* sclite's, and those of Kaldi's compute-wer. */
extern const trl__align_costs trl__sclite_costs, trl__edit_costs;

/* `kinds` has room for n + m. Returns 0, TRL_ELIMIT, TRL_ENOMEM. */
int trl__word_align(const int32_t *said, size_t n, const int32_t *heard, size_t m, const trl__align_costs *costs,
                    trl__scratch *scratch, char *kinds, size_t *count, trl_error *err);

#endif
