/* Sound files for tests, written by libsndfile. */
#ifndef TESTS_MAKE_SOUND_H
#define TESTS_MAKE_SOUND_H

#include "temp_folder.h"

#include <math.h>
#include <sndfile.h>
#include <stdint.h>

/* Interleaved 32-bit samples (full scale: all 31 bits), so that every PCM width is exact when the low bits are 0. */
static inline void write_sound(const char *path, int format, int rate, int channels, const int *samples, size_t frames)
{
    SF_INFO info = {.format = format, .samplerate = rate, .channels = channels};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    if (!file)
        fail_msg("%s: %s", path, sf_strerror(NULL));
    sf_command(file, SFC_SET_SCALE_INT_FLOAT_WRITE, NULL, SF_TRUE);
    assert_int_equal(sf_writef_int(file, samples, (sf_count_t)frames), (sf_count_t)frames);
    assert_int_equal(sf_close(file), 0);
}

static inline void write_floats(const char *path, int format, int rate, int channels, const float *samples,
                                size_t frames)
{
    SF_INFO info = {.format = format, .samplerate = rate, .channels = channels};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    if (!file)
        fail_msg("%s: %s", path, sf_strerror(NULL));
    assert_int_equal(sf_writef_float(file, samples, (sf_count_t)frames), (sf_count_t)frames);
    assert_int_equal(sf_close(file), 0);
}

/* Something speech-like enough for the lossy codecs: two slow sines and a little noise, interleaved channels that
 * differ; amplitude below 0.8. */
static inline float *make_voice(int rate, int channels, size_t frames)
{
    float *samples = malloc(frames * (size_t)channels * sizeof *samples);
    uint32_t noise = 12345;
    for (size_t i = 0; i < frames; i++)
        for (int c = 0; c < channels; c++) {
            double t = (double)i / rate;
            noise = noise * 1664525u + 1013904223u;
            samples[i * (size_t)channels + (size_t)c] =
                (float)(0.4 * sin(6.283185307 * (220 + 30 * c) * t) + 0.3 * sin(6.283185307 * 700 * t + c) +
                        0.02 * ((double)noise / 4294967296.0 - 0.5));
        }
    return samples;
}

static inline uint8_t *load(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc((size_t)4 << 20);
    *size = fread(bytes, 1, (size_t)4 << 20, file);
    fclose(file);
    return bytes;
}

static inline void save(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

#endif
