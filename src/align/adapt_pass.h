/* Passes over a corpus that adapt to its speakers, before the pass that aligns for good.
 *
 *     trl__adaptation_create(model, corpus, only, slots, workers, &a, err);
 *     for each estimate:
 *         trl__adaptation_begin(a);
 *         trl__adaptation_frames(a, u, &frames, worker, &log_det, err);         // any thread: adapted, where it is time
 *         trl__adaptation_gather(a, frames, graph, path, slot, worker, err);    // any thread: along the path
 *         trl__adaptation_add(a, u, slot, err);                                 // in corpus order, one at a time
 *         trl__adaptation_end(a, err);
 *
 * The first pass finds paths with the mixtures for frames as they come; from these a transform is estimated for each
 * speaker, so that his frames fit the model's own mixtures. Further passes do the same with adapted frames, and their
 * transforms are put behind the first. Of silence and noise every tenth frame counts. A speaker with too few frames
 * gets no transform, and stays with the first mixtures.
 *
 * Statistics of an utterance wait in its slot; they are added to the speaker's in corpus order, and these are let go
 * with his last utterance. So memory does not grow with the corpus as long as a speaker's utterances stand together.
 */
#ifndef TRL_ALIGN_ADAPT_PASS_H
#define TRL_ALIGN_ADAPT_PASS_H

#include "align/utterance_graph.h"

#include <trellis/corpus.h>
#include <trellis/matrix.h>

typedef struct trl__adaptation trl__adaptation;

typedef struct trl__adaptation_summary {
    size_t speakers; /* that have a transform */
    double gain;     /* log-likelihood per frame, mean over the frames it was estimated from */
} trl__adaptation_summary;

/* 0: some of the sound comes through a pipe, and is gone after one pass. */
int trl__adaptation_is_possible(const trl_corpus *corpus);

/* only: the one utterance that will come; NULL: all that are not bad. Slots and workers are numbered below these. */
int trl__adaptation_create(const trl_model *model, const trl_corpus *corpus, const char *only, size_t slots,
                           int workers, trl__adaptation **out, trl_error *err);
void trl__adaptation_destroy(trl__adaptation *adaptation);

void trl__adaptation_begin(trl__adaptation *adaptation);
int trl__adaptation_end(trl__adaptation *adaptation, trl_error *err);

/* Returns 1, and *frames become the adapted ones, the worker's until its next call; *log_det is what a frame's
 * log-likelihood has on top then, as that of the frame before. 0: the speaker has no transform, nothing is changed.
 * Negative: an error. */
int trl__adaptation_frames(trl__adaptation *adaptation, const trl_utterance *utterance, const trl_matrix **frames,
                           int worker, double *log_det, trl_error *err);

/* path: the graph's node by frame. Without this call the slot has nothing to add. */
int trl__adaptation_gather(trl__adaptation *adaptation, const trl_matrix *frames, const trl__graph *graph,
                           const int32_t *path, size_t slot, int worker, trl_error *err);
/* The same along transition ids, by frame. */
int trl__adaptation_gather_transitions(trl__adaptation *adaptation, const trl_matrix *frames,
                                       const int32_t *transitions, size_t slot, int worker, trl_error *err);
int trl__adaptation_add(trl__adaptation *adaptation, const trl_utterance *utterance, size_t slot, trl_error *err);

trl__adaptation_summary trl__adaptation_summarise(const trl__adaptation *adaptation);

#endif
