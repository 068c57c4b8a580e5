/* Where words begin and end: the units along a path, read as pronunciations of its words.
 *
 *     trl__word_parser_create(model, graph, &parser, err);                            // one per thread
 *     trl__word_parser_read(parser, words, count, transitions, frames, TRL__GOES_ON, &read, err);
 *     for (size_t i = 0; i < read.count; i++) …                                       // read.items[i]: word, frames; word 0: silence
 *     // words + read.words, transitions + read.frames are still to be read, together with what comes behind them
 *
 * Labels of words move when machines are determinized: a word may be written before, while or after it is said. So what came is read as far as it is certain:
 * up to the first place where two readings differ or more must be known.
 */
#ifndef TRL_DECODE_WORD_PARSER_H
#define TRL_DECODE_WORD_PARSER_H

#include "decode/graph_data.h"
#include "model/model_data.h"

typedef enum trl__path_end {
    TRL__GOES_ON,
    TRL__ENDS,  /* all words are complete */
    TRL__IS_CUT /* the sound ended in the middle of what the graph has */
} trl__path_end;

typedef struct trl__word_piece {
    int32_t word; /* 0: silence, noise, or a word that was never written */
    int32_t frames;
} trl__word_piece;

typedef struct trl__word_reading {
    const trl__word_piece *items; /* the parser's, until the next call */
    size_t count;
    size_t words, frames; /* how many of each the items have */
    int is_wrong;         /* the units are no pronunciations of the words: nothing was read */
} trl__word_reading;

typedef struct trl__word_parser trl__word_parser;

/* Words are told by the graph's pronunciations; without any, by units that know their place in the word. *out is NULL where there are neither. Returns 0,
 * TRL_ENOMEM. Both must outlive the parser. */
int trl__word_parser_create(const trl_model *model, const trl_graph *graph, trl__word_parser **out, trl_error *err);
void trl__word_parser_destroy(trl__word_parser *parser);

/* The first frame begins a unit. After TRL__ENDS and TRL__IS_CUT all is read, or it is wrong. */
int trl__word_parser_read(trl__word_parser *parser, const int32_t *words, size_t count, const int32_t *transitions,
                          size_t frames, trl__path_end end, trl__word_reading *reading, trl_error *err);

#endif
