/* Extraction with more work for the threads: each does something with the frames it made, before they are delivered in
 * order. */
#ifndef TRL_FEAT_EXTRACT_WORK_H
#define TRL_FEAT_EXTRACT_WORK_H

#include <trellis/extract.h>

typedef struct trl__extract_work {
    /* Called by any thread, each worker one at a time; `seconds` of sound. Results wait in the caller's slot of this
     * number until `use`. A failure ends the whole extraction. NULL: nothing to do. */
    int (*work)(void *user, const trl_utterance *utterance, const trl_matrix *frames, double seconds, size_t slot,
                int worker, trl_error *err);
    /* In corpus order, one call at a time. */
    int (*use)(void *user, const trl_utterance *utterance, const trl_matrix *frames, size_t slot, trl_error *err);
    void *user;
} trl__extract_work;

size_t trl__extract_slots(const trl_pool *pool); /* slots are numbered below this */

/* As trl_extract_corpus. */
int trl__extract_corpus(const trl_corpus *corpus, const trl_frontend *frontend, const trl_extract_options *options,
                        trl_pool *pool, trl_findings *skipped, const trl__extract_work *work,
                        trl_extract_summary *summary, trl_error *err);

#endif
