/* What alignments say of pronunciations and pauses: how often each pronunciation of a word was said, and how often there was silence where
 * there may be.
 *
 *     trl__usage_create(lexicon, &usage, err);                               // one per thread
 *     trl__usage_add(usage, &graph, words, runs, run_count);                 // a path through the graph of these words
 *     trl__usage_merge(all, usage);
 *     trl_lexicon_with_counts(lexicon, all->pronunciation, TRL_PRONUNCIATION_SMOOTHING, &better, err);
 *     model->silence_between = trl__usage_silence(all, model->silence_between);
 *
 * Counts are whole numbers, so sums are the same in every order. Neither result takes a node or an arc out of a graph or puts one into it: paths
 * of old stay valid.
 */
#ifndef TRL_ALIGN_USAGE_H
#define TRL_ALIGN_USAGE_H

#include "align/aligner.h"

typedef struct trl__usage {
    size_t pronunciations; /* of the lexicon */
    double *pronunciation; /* by place (trl_lexicon_first): uses */
    double silences,
        pauses; /* silence before a word or at the end of an utterance; and places where it might have been */
    const trl_lexicon *lexicon;
} trl__usage;

int trl__usage_create(const trl_lexicon *lexicon, trl__usage **out, trl_error *err); /* the lexicon must outlive it */
void trl__usage_destroy(trl__usage *usage);

/* words: what the graph was built of. Unknown words (noise) and words that a path passes over have no pronunciation; an utterance without words
 * says nothing of pauses. */
void trl__usage_add(trl__usage *usage, const trl__graph *graph, const int32_t *words, const trl__run *runs,
                    size_t count);
void trl__usage_merge(trl__usage *usage, const trl__usage *other); /* of the same lexicon */

/* The probability of silence: its relative frequency, with one more place that is as it was `before`, kept within 0.01 … 0.99. 0 and 1 stay: such
 * graphs leave no choice. */
float trl__usage_silence(const trl__usage *usage, float before);

#endif
