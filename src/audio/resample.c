/* Rate conversion by libsoxr's HQ recipe: linear phase, flat to 0.91 of the lower Nyquist frequency, 120 dB of
 * rejection above it. That is already 20 dB below the rounding noise of 16-bit sound; VHQ (170 dB) computes in double
 * precision and costs more than twice as much for digits that no recording has.
 *
 * The filter's delay is taken out by libsoxr: output sample k lies at the time of k / to, n samples become
 * round(n · to / from). Input goes in by blocks of one fixed size and one thread does the work, so the same sound gives
 * the same bits however it is read.
 */
#include "audio/resample.h"

#include "base/fail.h"
#include "base/memory.h"

#include <soxr.h>
#include <string.h>

struct trl__resampler {
    soxr_t soxr;
    float input[TRL_RESAMPLE_BLOCK];
    float *output;
    size_t capacity, ready, taken; /* output samples: room, made, handed out */
};

int trl__resampler_create(int64_t from, int64_t to, trl__resampler **out, trl_error *err)
{
    trl__resampler *resampler = trl__alloc_zero(1, sizeof *resampler);
    if (!resampler)
        return trl__fail_memory(err);
    soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
    soxr_error_t problem;
    resampler->soxr = soxr_create((double)from, (double)to, 1, &problem, &io, &quality, &runtime);
    resampler->capacity = (size_t)trl__rescale(TRL_RESAMPLE_BLOCK, from, to) + TRL_RESAMPLE_BLOCK;
    resampler->output = trl__alloc(resampler->capacity, sizeof *resampler->output);
    if (!resampler->soxr || !resampler->output) {
        trl__resampler_destroy(resampler);
        return trl__fail_memory(err);
    }
    *out = resampler;
    return 0;
}

void trl__resampler_destroy(trl__resampler *resampler)
{
    if (!resampler)
        return;
    soxr_delete(resampler->soxr);
    trl__free(resampler->output);
    trl__free(resampler);
}

float *trl__resampler_input(trl__resampler *resampler)
{
    return resampler->input;
}

/* Runs soxr until it has taken n samples (NULL: until it has nothing left to give). */
static int process(trl__resampler *resampler, const float *input, size_t n, trl_error *err)
{
    size_t used = 0;
    for (;;) {
        if (TRL_GROW(resampler->output, resampler->capacity, resampler->ready + TRL_RESAMPLE_BLOCK))
            return trl__fail_memory(err);
        size_t took = 0, made = 0;
        soxr_error_t problem =
            soxr_process(resampler->soxr, input ? input + used : NULL, n - used, &took,
                         resampler->output + resampler->ready, resampler->capacity - resampler->ready, &made);
        if (problem)
            return trl__fail(err, TRL_ENOMEM, "converting the sample rate failed: %s", soxr_strerror(problem));
        used += took;
        resampler->ready += made;
        if (used == n && made == 0)
            return 0;
    }
}

int trl__resampler_push(trl__resampler *resampler, size_t n, trl_error *err)
{
    resampler->ready = 0;
    resampler->taken = 0;
    int rc = n ? process(resampler, resampler->input, n, err) : 0;
    if (rc == 0 && n < TRL_RESAMPLE_BLOCK)
        rc = process(resampler, NULL, 0, err);
    return rc;
}

size_t trl__resampler_pull(trl__resampler *resampler, float *samples, size_t capacity)
{
    size_t left = resampler->ready - resampler->taken;
    size_t n = left < capacity ? left : capacity;
    memcpy(samples, resampler->output + resampler->taken, n * sizeof *samples);
    resampler->taken += n;
    return n;
}

int64_t trl__rescale(int64_t index, int64_t from, int64_t to)
{
    return index / from * to + (2 * (index % from) * to + from) / (2 * from);
}
