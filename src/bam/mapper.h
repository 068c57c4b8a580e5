/* The mapper ([001] III-A1): utterances are aligned with the first-pass model, and each state that was passed through gives its frames under the key of
 * its longest M-phone, and the keys that it backs off to.
 *
 *     trl__map_corpus(model, lexicon, corpus, &options, &aligning, pool, skipped, &target, &summary, err);
 *
 * Records are made by all threads, and handed over in corpus order.
 */
#ifndef TRL_BAM_MAPPER_H
#define TRL_BAM_MAPPER_H

#include "bam/bam_stream.h"

typedef struct trl__map_target {
    trl__bam_emit emit; /* one record after the other */
    /* After the last record of an utterance; may be NULL. */
    int (*next_utterance)(void *user, const trl_alignment *alignment, trl_error *err);
    int (*passes_over)(void *user, const trl_utterance *utterance); /* as in align_visit.h */
    void *user;
} trl__map_target;

/* What all records of this model have in common; its phones are the caller's. TRL_EINVAL: options. */
int trl__map_header(const trl_model *model, const trl_bam_options *options, trl__bam_header *header, trl_error *err);

int trl__map_corpus(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                    const trl__bam_header *header, const trl_align_options *aligning, trl_pool *pool,
                    trl_findings *skipped, const trl__map_target *target, trl_align_summary *summary, trl_error *err);

#endif
