/* The best path of a raw lattice: its words with times, and its transitions.
 *
 *     trl__best_words best = {0};
 *     trl__best_words_find(&best, raw, &scale, err);
 *     trl__best_words_time(&best, model, parser, err); // where words begin and end, by the model's units
 */
#ifndef TRL_DECODE_BEST_WORDS_H
#define TRL_DECODE_BEST_WORDS_H

#include "decode/decoder.h"
#include "decode/word_parser.h"
#include "model/model_data.h"

#include <trellis/lattice.h>

typedef struct trl__best_word {
    int32_t word;
    int32_t first, end; /* frames [first, end) */
} trl__best_word;

typedef struct trl__best_words {
    int is_found; /* 0: the lattice has no path */
    int reached_end;
    int32_t frames;
    trl__best_word *words; /* before they are timed: from one word's arc to the next one's */
    size_t count, capacity;
    int32_t *transitions; /* by frame */
    size_t transition_capacity;
    double graph, acoustic; /* costs, unscaled */
    trl__scratch costs, arcs;
} trl__best_words;

int trl__best_words_find(trl__best_words *best, const trl__raw_lattice *raw, const trl_lattice_scale *scale,
                         trl_error *err);
void trl__best_words_free(trl__best_words *best);

/* Determinization moves a word's label to where it is told from others, so arcs do not say where words begin; the parser does, by the units. Without one
 * (NULL), or where units do not fit the words, a word has the phones between two pauses, and words without a pause between them part at their labels. */
int trl__best_words_time(trl__best_words *best, const trl_model *model, trl__word_parser *parser, trl_error *err);

/* The last frame of silence or noise before which as many words were spoken as written: what lies before it can be timed alone. 0: none. *count: the words
 * before it. */
int trl__best_words_pause(trl__best_words *best, const trl_model *model, trl__word_parser *parser, int32_t *pause,
                          size_t *count, trl_error *err);

#endif
