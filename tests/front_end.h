/* Front ends from a few words, and signals for them. Everything asserts that it worked. */
#ifndef TESTS_FRONT_END_H
#define TESTS_FRONT_END_H

#include "cmocka_test.h"

#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/frontend.h>

static const double turn = 6.283185307179586;

/* "preset=plp deltas=2 …": settings separated by blanks, over the preset mfcc. */
static inline trl_frontend_options options_of(const char *settings)
{
    trl_error err;
    trl_frontend_options o;
    char text[1000];
    snprintf(text, sizeof text, "%s", settings);
    for (char *c = text; *c; c++)
        *c = *c == ' ' ? '\n' : *c;
    assert_int_equal(trl_frontend_preset(&o, "mfcc", &err), 0);
    if (trl_frontend_parse(&o, text, settings, &err) < 0)
        fail_msg("%s", err.text);
    return o;
}

static inline trl_frontend *frontend_from(const trl_frontend_options *o)
{
    trl_error err;
    trl_frontend *frontend;
    if (trl_frontend_create(o, &frontend, &err) < 0)
        fail_msg("%s", err.text);
    return frontend;
}

static inline trl_frontend *frontend_of(const char *settings)
{
    trl_frontend_options o = options_of(settings);
    trl_frontend *frontend = frontend_from(&o);
    trl_matrix_free(&o.transform);
    return frontend;
}

static inline trl_extractor *extractor_of(const trl_frontend *frontend)
{
    trl_error err;
    trl_extractor *extractor;
    assert_int_equal(trl_extractor_create(frontend, &extractor, &err), 0);
    return extractor;
}

/* The frames of a whole sound. */
static inline trl_matrix frames_of(const trl_frontend *frontend, const float *samples, size_t count)
{
    trl_error err;
    trl_matrix frames = {0};
    trl_extractor *extractor = extractor_of(frontend);
    if (trl_extractor_run(extractor, samples, count, NULL, &frames, &err) < 0)
        fail_msg("%s", err.text);
    trl_extractor_destroy(extractor);
    return frames;
}

/* What follows the static coefficients, for rows that the test made. */
static inline trl_matrix finished(const trl_frontend *frontend, const trl_matrix *statics, const trl_cmvn *speaker)
{
    trl_error err;
    trl_matrix frames = {0};
    trl_extractor *extractor = extractor_of(frontend);
    if (trl_extractor_finish(extractor, statics, speaker, &frames, &err) < 0)
        fail_msg("%s", err.text);
    trl_extractor_destroy(extractor);
    return frames;
}

static inline trl_matrix random_matrix(size_t rows, size_t cols, uint64_t seed)
{
    trl_error err;
    trl_matrix m = {0};
    assert_int_equal(trl_matrix_resize(&m, rows, cols, &err), 0);
    for (size_t i = 0; i < rows * cols; i++)
        m.data[i] = trl__random_normal(seed, 1, i);
    return m;
}

static inline void assert_same_bits(const trl_matrix *a, const trl_matrix *b, const char *what)
{
    if (a->rows != b->rows || a->cols != b->cols)
        fail_msg("%s: %zu x %zu instead of %zu x %zu", what, a->rows, a->cols, b->rows, b->cols);
    for (size_t t = 0; t < a->rows; t++)
        if (memcmp(trl_matrix_row(a, t), trl_matrix_row(b, t), a->cols * sizeof(float)) != 0)
            fail_msg("%s: row %zu differs", what, t);
}

typedef enum signal_kind {
    SIGNAL_NOISE,
    SIGNAL_SPEECH,
    SIGNAL_TONE,
    SIGNAL_DC,
    SIGNAL_SILENCE,
    SIGNAL_KINDS
} signal_kind;
static const char *const signal_names[] = {"noise", "speech", "tone", "dc", "silence"};

/* Full scale ±1. Speech: a gliding voice of falling harmonics with syllables and breath noise, so that every mel bin
 * holds energy, as in a recording. */
static inline float *make_signal(signal_kind kind, size_t count, double rate, uint64_t seed)
{
    float *x = malloc((count + 1) * sizeof *x);
    double phase = 0;
    for (size_t i = 0; i < count; i++) {
        double t = (double)i / rate, noise = (double)trl__random_normal(seed, 0, i);
        double pitch = 120 + 30 * sin(turn * 0.7 * t), syllable = 0.05 + pow(sin(turn * 2 * t), 2), voice = 0;
        phase += turn * pitch / rate;
        for (int h = 1; h <= 20 && kind == SIGNAL_SPEECH; h++)
            voice += sin(h * phase) / h;
        x[i] = kind == SIGNAL_NOISE    ? (float)(0.1 * noise)
               : kind == SIGNAL_SPEECH ? (float)(0.15 * syllable * voice + 0.003 * noise)
               : kind == SIGNAL_TONE   ? (float)(0.5 * sin(turn * 440 * t))
               : kind == SIGNAL_DC     ? 0.25f
                                       : 0;
    }
    return x;
}

#endif
