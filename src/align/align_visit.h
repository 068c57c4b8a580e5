/* Forced alignment of a corpus (trellis/align.h) for those who want the frames too. */
#ifndef TRL_ALIGN_ALIGN_VISIT_H
#define TRL_ALIGN_ALIGN_VISIT_H

#include "align/corpus_passes.h"
#include "align/segments.h"

typedef struct trl__align_visit {
    /* Any thread, once an utterance is aligned: its frames, and words, phones and states, which have no confidence where that was not asked for. Results wait under
     * frames->slot until … */
    int (*work)(void *user, const trl__pass_frames *frames, const trl__segmentation *segments, trl_error *err);
    /* … it is their turn, in corpus order, one at a time. */
    int (*use)(void *user, const trl_alignment *alignment, size_t slot, trl_error *err);
    /* How many slots there are, before the first of these; may be NULL. */
    int (*begin)(void *user, size_t slots, trl_error *err);
    /* 1: this utterance is not wanted; it does not count and is not named. NULL: all are. Any thread. */
    int (*passes_over)(void *user, const trl_utterance *utterance);
    void *user;
} trl__align_visit;

/* As trl_align_corpus. */
int trl__align_visit_corpus(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                            const trl_align_options *options, trl_pool *pool, trl_findings *skipped,
                            const trl__align_visit *visit, trl_align_summary *summary, trl_error *err);

#endif
