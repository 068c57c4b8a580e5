/* Voices that speak a sentence into a sound file: espeak-ng and flite, with a body, a room and a microphone around them.
 *
 *     lvcsr_noise *noise = lvcsr_noise_create();                          // free()
 *     lvcsr_voice *voices = lvcsr_voices(LVCSR_TRAIN_VOICES, 40);         // free()
 *     lvcsr_voice_speak(&voices[3], noise, "how are you", 17, "x.wav", &seconds, &err);
 *
 * Sound is 16 kHz, 16 bit. It depends on the voice, the words and the number alone, so any thread may make it.
 */
#ifndef TRELLIS_BENCH_LVCSR_VOICES_H
#define TRELLIS_BENCH_LVCSR_VOICES_H

#include <stdint.h>
#include <trellis/error.h>

typedef struct lvcsr_voice {
    const char *program, *name;
    double pitch;      /* espeak-ng: 0 to 99; flite: Hz */
    double rate;       /* espeak-ng: words per minute; flite: stretch of durations */
    double tract;      /* the sound is so much slower and lower: 1.1 for a tall speaker */
    double microphone; /* tilt of the spectrum, -0.3 to 0.3 */
    double noise;      /* of the loudness of the speech */
} lvcsr_voice;

typedef enum lvcsr_voice_set { LVCSR_TRAIN_VOICES, LVCSR_TEST_VOICES } lvcsr_voice_set;

lvcsr_voice *lvcsr_voices(lvcsr_voice_set set, int count);

const char *lvcsr_voices_missing(void); /* a program that is not installed; NULL: all are */

typedef struct lvcsr_noise lvcsr_noise; /* a few seconds of it, to be taken from anywhere */
lvcsr_noise *lvcsr_noise_create(void);

/* `number` of the sentence: where its noise begins, how loud it is, the silence around it. */
int lvcsr_voice_speak(const lvcsr_voice *voice, const lvcsr_noise *noise, const char *words, uint64_t number,
                      const char *path, double *seconds, trl_error *err);

#endif
