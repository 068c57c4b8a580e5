/* Generated speech whose phones really differ by context: what trees, LDA and speakers' transforms have to find.
 *
 *     speech w;
 *     speech_create(&w, hours, seed);          // w.corpus, w.lexicon, w.features: a packed file in w.folder
 *     speech_destroy(&w);                      // and the folder's files are gone
 *
 * There are 40 phones of three states and silence. A state's mean is drawn towards the near state of the phone next to it
 * (coarticulation: the first state towards the left, the last towards the right), and has a shift of its own for each neighbour, so that no two contexts
 * are the same and trees of thousands of leaves gain by every split. Around the mean lie eight components. Every 200th
 * utterance another speaker begins, who scales and shifts each value. Words and lengths are those of workload_dice.h. Noise is taken from a table at a place that is
 * drawn for each frame: 100 hours are made in about a minute.
 */
#ifndef TRELLIS_BENCH_LADDER_WORKLOAD_H
#define TRELLIS_BENCH_LADDER_WORKLOAD_H

#include <stdint.h>
#include <trellis/corpus.h>
#include <trellis/lexicon.h>

#define SPEECH_DIM 39
#define SPEECH_PHONES 40
#define SPEECH_SILENCE SPEECH_PHONES /* as a phone or a neighbour */
#define SPEECH_STATES 3

typedef struct speech_sounds speech_sounds;

typedef struct speech {
    uint64_t seed;
    char folder[4096], features[4200];
    trl_findings *findings;
    trl_lexicon *lexicon;
    trl_corpus *corpus;
    speech_sounds *sounds;
} speech;

void speech_create(speech *w, double hours, uint64_t seed); /* hours 0: lexicon and sounds alone */
void speech_destroy(speech *w);

/* The mean of a phone's state between two others. */
void speech_mean(const speech_sounds *sounds, int left, int phone, int right, int state, float mean[SPEECH_DIM]);

#endif
