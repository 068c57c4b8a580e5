/* Do the words fit the sound? A number per utterance, and which utterances of a corpus stand out.
 *
 *     trl__rivals_choose(&rivals, model);                               // once
 *     trl__aligner_fit(aligner, &rivals, &fit, &frames, err);                    // after a search
 *     trl__fits_add(&fits, utterance, fit, frames, err);
 *     trl__fits_judge(&fits, findings, err);                            // at the end: TRL_FINDING_MISFIT
 *
 * A path is always found, also through words that nobody said. Its log-likelihood tells little: it differs more between
 * speakers and rooms than between right and wrong words. So each frame's score in the path's state is compared with its
 * scores in other states of the model, the rivals. In right words the path's state is the best or close to it; in wrong
 * words rivals are better most of the time.
 *
 *     fit = 1 - sum of (best - path) / sum of (best - mean of the rivals)
 *
 * over all frames but those of words of unknown pronunciation, of which nothing is expected, where best is the
 * highest score of the path's state and the rivals. 1: nothing is better anywhere; 0: no better than states taken at
 * random.
 */
#ifndef TRL_ALIGN_FIT_H
#define TRL_ALIGN_FIT_H

#include "align/aligner.h"

#include <trellis/corpus.h>

#define TRL__RIVALS 32

typedef struct trl__rivals {
    int32_t tied[TRL__RIVALS]; /* all tied states, or as many spread evenly over them */
    int32_t count;
    int32_t unknown; /* the unit that stands for unknown words; -1: none */
} trl__rivals;

void trl__rivals_choose(trl__rivals *rivals, const trl_model *model);

/* Of the path in hand; directly after the search (or trl__aligner_set_path). `frames`: how many were judged. Cost:
 * the scores of the rivals and the path. */
int trl__aligner_fit(trl__aligner *aligner, const trl__rivals *rivals, double *fit, int32_t *frames, trl_error *err);

typedef struct trl__fit {
    const trl_utterance *utterance;
    double fit;
    int32_t frames;
} trl__fit;

/* Initialise with {0}. */
typedef struct trl__fits {
    trl__fit *items;
    size_t count, capacity;
} trl__fits;

int trl__fits_add(trl__fits *fits, const trl_utterance *utterance, double fit, int32_t frames, trl_error *err);

/* A finding for each utterance that fits much worse than the rest, in the order they were added: its distance below the
 * median is more than six standard deviations (estimated from the median deviation, so that misfits don't count), and
 * more than 0.06. Distances of utterances below 100 frames, which have little to be judged by, are weighed with the
 * square root of their share of that. Where there are fewer than ten utterances to compare, a fit below 0.75 stands
 * out. */
int trl__fits_judge(const trl__fits *fits, trl_findings *findings, trl_error *err);
void trl__fits_free(trl__fits *fits);

#endif
