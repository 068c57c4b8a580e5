/* Synthesised speech of a large vocabulary in many voices, for training and testing: made once, and kept under the build folder.
 *
 *     lvcsr_speech speech;
 *     const char *why = lvcsr_speech_open(&speech, lvcsr_speech_choose(options));     // NULL, or why there is none
 *     trl_corpus_read(speech.train, …); trl_corpus_read(speech.test, …); speech.lexicon, speech.arpa
 *
 * The folder's name has a hash of all that it is made from; a folder that is complete is used again. espeak-ng and flite speak, each sentence in a process of its
 * own, as many at a time as there are cores. A speaker has a voice, a pitch, a rate, a length of the vocal tract (the sound is played faster or slower), a
 * microphone and a level of noise. Speakers of the test are others than those of the training, a third of them with voices that were not heard there.
 */
#ifndef TRELLIS_BENCH_LVCSR_SPEECH_H
#define TRELLIS_BENCH_LVCSR_SPEECH_H

#include "bench.h"
#include "lvcsr_text.h"

typedef struct lvcsr_speech_sizes {
    lvcsr_text_sizes text;
    double train, test; /* seconds of sound, at least */
    int train_speakers, test_speakers;
} lvcsr_speech_sizes;

typedef struct lvcsr_speech {
    char folder[4096];
    char train[4200], test[4200]; /* Kaldi-style folders */
    char lexicon[4200], arpa[4200];
} lvcsr_speech;

const char *lvcsr_speech_open(lvcsr_speech *speech, const lvcsr_speech_sizes *sizes);

/* Ten hours to train with and half an hour to test with; with --quick only where an earlier run has left them, else less. */
const lvcsr_speech_sizes *lvcsr_speech_choose(const bench_options *o);
int lvcsr_speech_is_full(const lvcsr_speech_sizes *sizes);

#endif
