/* An alignment's words as they were written: twenty-one. is one, though two words of the lexicon are said. */
#ifndef TRL_ALIGN_WRITTEN_SEGMENTS_H
#define TRL_ALIGN_WRITTEN_SEGMENTS_H

#include "align/segments.h"

#include <trellis/corpus.h>

/* Memory is reused. Initialise with {0}. */
typedef struct trl__written_segments {
    trl__segment_list words, phones;
    char *labels; /* the tokens of the transcript as it was written, each with a NUL */
    const char **token;
    int32_t *token_of; /* by word that is said */
    size_t label_capacity, token_capacity, word_capacity;
} trl__written_segments;

/* Of an utterance that has `written`: a segment per token that has words, from the first one's beginning to the last
 * one's end, with pauses between them; its confidence is the mean over the frames of its words. Phones belong to
 * these segments. Returns 0 or TRL_ENOMEM. */
int trl__written_segments_make(trl__written_segments *out, const trl__segmentation *said,
                               const trl_utterance *utterance, trl_error *err);
void trl__written_segments_free(trl__written_segments *segments);

#endif
