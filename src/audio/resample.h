/* One channel from one rate to another (libsoxr). */
#ifndef TRL_AUDIO_RESAMPLE_H
#define TRL_AUDIO_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

#define TRL_RESAMPLE_BLOCK 4096 /* input samples at a time, always: the output can't depend on how it is asked for */
#define TRL_RESAMPLE_REACH 512  /* samples at the lower rate: further apart they don't influence each other */

#define TRL_RESAMPLE_LEAST 1000   /* Hz */
#define TRL_RESAMPLE_MOST 1000000 /* Hz */

typedef struct trl__resampler trl__resampler;

/* Rates in Hz, from TRL_RESAMPLE_LEAST to TRL_RESAMPLE_MOST. Returns 0 or TRL_ENOMEM. */
int trl__resampler_create(int64_t from, int64_t to, trl__resampler **out, trl_error *err);
void trl__resampler_destroy(trl__resampler *resampler);

/* Where the caller puts the next TRL_RESAMPLE_BLOCK input samples. */
float *trl__resampler_input(trl__resampler *resampler);

/* Takes n samples from there; n < TRL_RESAMPLE_BLOCK only for the last block (0 is fine), which ends the sound.
 * All output so far must have been taken. */
int trl__resampler_push(trl__resampler *resampler, size_t n, trl_error *err);

/* The output that is ready: up to `capacity` samples. */
size_t trl__resampler_pull(trl__resampler *resampler, float *samples, size_t capacity);

/* index · to / from, rounded half up: n samples become trl__rescale(n, from, to). */
int64_t trl__rescale(int64_t index, int64_t from, int64_t to);

#endif
