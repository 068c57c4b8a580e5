/* What a score holds, and which hypotheses belong to which utterance. */
#ifndef TRL_DECODE_SCORE_DATA_H
#define TRL_DECODE_SCORE_DATA_H

#include "base/string_table.h"
#include "base/unicode.h"
#include "decode/transcripts.h"

struct trl_score {
    trl_scored_utterance *utterances;
    size_t count;
    trl_scored_speaker *speakers; /* as many as there are names */
    trl__strings names, extras;
    trl_counts total;
};

typedef struct trl__word_range {
    size_t first, count; /* of a transcript's words */
} trl__word_range;

typedef struct trl__matches {
    size_t *source;              /* by utterance: its transcript of the reference */
    trl__word_range *candidates; /* hypotheses, those of an utterance side by side */
    size_t *first;               /* by utterance: of its candidates; one more at the end */
} trl__matches;

/* Makes the score's utterances, with their ids, and its list of extras. What it allocates belongs to the caller, whatever it returns. */
int trl__match(const trl_transcripts *said, const trl_transcripts *heard, int oracle, trl_score *score,
               trl__matches *out, trl_error *err);

/* The word in composed form, with the small ones of letters that are the same: in place, or in `room`. `letters` is
 * no TRL_LETTERS_USUAL. */
char *trl__fold_letters(int letters, char *word, size_t *length, char room[TRL__LETTERS_BYTES]);

void trl__counts_add(trl_counts *sum, const trl_counts *more);

#endif
