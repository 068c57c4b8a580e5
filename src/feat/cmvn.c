/* Mean and variance normalisation: over given sums (utterance, speaker), or sliding.
 *
 * The sliding window follows Kaldi's apply-cmvn-sliding. For frame t of n, not centred: frames t - window … t, but at
 * least the first min_window ones; centred: `window` frames around t, moved inwards at both ends. Sums are kept in
 * double and moved with the window, so a frame costs O(dim). Rows that hold nothing are not in the window: it reaches
 * over them, and only their number is kept.
 */
#include "feat/cmvn.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

int trl_cmvn_create(size_t dim, trl_cmvn **out, trl_error *err)
{
    *out = NULL;
    trl_cmvn *cmvn = trl__alloc_zero(1, sizeof *cmvn);
    double *sums = trl__alloc_zero(2 * dim, sizeof *sums);
    if (!cmvn || !sums) {
        trl__free(cmvn);
        trl__free(sums);
        return trl__fail_memory(err);
    }
    *cmvn = (trl_cmvn){.sum = sums, .square = sums + dim, .dim = dim};
    *out = cmvn;
    return 0;
}

void trl_cmvn_destroy(trl_cmvn *cmvn)
{
    if (!cmvn)
        return;
    trl__free(cmvn->sum);
    trl__free(cmvn);
}

double trl__mean_value(const trl_static_mean *mean, size_t i)
{
    return i < (size_t)mean->count ? mean->value[i] : 0;
}

static void add_row(trl_cmvn *cmvn, const float *row, double sign)
{
    cmvn->frames += sign;
    for (size_t i = 0; i < cmvn->dim; i++) {
        double x = (double)row[i];
        cmvn->sum[i] += sign * x;
        cmvn->square[i] += sign * (x * x);
    }
}

void trl_cmvn_add(trl_cmvn *cmvn, const trl_matrix *frames)
{
    for (size_t r = 0; r < frames->rows; r++)
        if (trl__row_holds(trl_matrix_row(frames, r)))
            add_row(cmvn, trl_matrix_row(frames, r), 1);
}

void trl__cmvn_add(trl_cmvn *cmvn, const trl_matrix *frames, int loud)
{
    for (size_t r = 0; loud && r < frames->rows; r++)
        if (trl_matrix_row(frames, r)[0] >= 0)
            add_row(cmvn, trl_matrix_row(frames, r), 1);
    if (cmvn->frames == 0)
        trl_cmvn_add(cmvn, frames);
}

void trl__cmvn_clear(trl_cmvn *cmvn)
{
    cmvn->frames = 0;
    memset(cmvn->sum, 0, 2 * cmvn->dim * sizeof *cmvn->sum); /* squares lie behind */
}

void trl__cmvn_merge(trl_cmvn *to, const trl_cmvn *from)
{
    to->frames += from->frames;
    for (size_t i = 0; i < to->dim; i++) {
        to->sum[i] += from->sum[i];
        to->square[i] += from->square[i];
    }
}

#define LIVE_WINDOW 500 /* frames */
#define LIVE_MOST 800

int trl__live_init(trl__live *live, const trl_frontend_options *options, size_t dim, trl_error *err)
{
    *live = (trl__live){.dim = dim, .options = options, .mean = trl__alloc_zero(2 * dim, sizeof *live->mean)};
    if (!live->mean)
        return trl__fail_memory(err);
    live->sum = live->mean + dim;
    trl__live_reset(live);
    return 0;
}

void trl__live_reset(trl__live *live)
{
    live->frames = LIVE_WINDOW;
    for (size_t i = 0; i < live->dim; i++) {
        live->mean[i] = trl__mean_value(&live->options->cmvn_prior, i);
        live->sum[i] = live->mean[i] * LIVE_WINDOW;
    }
}

void trl__live_apply(trl__live *live, const float *row, float *out)
{
    int counts = row[0] >= 0;
    for (size_t i = 0; i < live->dim; i++) {
        live->sum[i] += counts ? (double)row[i] : 0;
        out[i] = counts ? (float)((double)row[i] - live->mean[i]) : row[i];
    }
    live->frames += counts;
    if (live->frames <= LIVE_MOST)
        return;
    for (size_t i = 0; i < live->dim; i++) {
        live->mean[i] = live->sum[i] / live->frames;
        live->sum[i] = live->mean[i] * LIVE_WINDOW;
    }
    live->frames = LIVE_WINDOW;
}

void trl__cmvn_affine(const trl_cmvn *cmvn, int variance, float *scale, float *offset)
{
    for (size_t i = 0; i < cmvn->dim; i++) {
        double mean = cmvn->frames > 0 ? cmvn->sum[i] / cmvn->frames : 0;
        double spread = cmvn->frames > 0 ? cmvn->square[i] / cmvn->frames - mean * mean : 1;
        double factor = variance ? 1 / sqrt(fmax(spread, 1e-10)) : 1;
        scale[i] = (float)factor;
        offset[i] = (float)(-mean * factor);
    }
}

struct trl__sliding {
    const trl_frontend_options *options;
    int64_t window, least;
    int center, variance;
    trl_cmvn *sums; /* over frames from … to-1 */
    int64_t from, to;
    int64_t received, taken; /* rows that hold something: only those are numbered */
    int64_t clock;           /* rows put, of both kinds */
    int64_t empty;           /* rows that hold nothing behind the last one that does */
    float *ring;             /* the last `capacity` rows; row t is at t % capacity */
    int64_t *before, *put;   /* the same: rows that hold nothing right before it, not yet taken; the clock */
    int64_t capacity;
    float *scale, *offset;
};

int trl__sliding_create(const trl_frontend_options *options, size_t dim, trl__sliding **out, trl_error *err)
{
    *out = NULL;
    trl__sliding *s = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    s->options = options;
    s->window = options->cmvn_window;
    s->least = options->cmvn_min_window;
    s->center = options->cmvn_center;
    s->variance = options->cmvn_variance;
    s->capacity = 2 * s->window + 2; /* a window behind the next row, and the look-ahead before it */
    s->ring = trl__alloc((size_t)s->capacity * dim, sizeof *s->ring);
    s->before = trl__alloc(2 * (size_t)s->capacity, sizeof *s->before);
    s->scale = trl__alloc(2 * dim, sizeof *s->scale);
    int code = s->ring && s->before && s->scale ? trl_cmvn_create(dim, &s->sums, err) : trl__fail_memory(err);
    if (code < 0) {
        trl__sliding_destroy(s);
        return code;
    }
    s->put = s->before + s->capacity;
    s->offset = s->scale + dim;
    *out = s;
    return 0;
}

void trl__sliding_destroy(trl__sliding *s)
{
    if (!s)
        return;
    trl_cmvn_destroy(s->sums);
    trl__free(s->ring);
    trl__free(s->before);
    trl__free(s->scale);
    trl__free(s);
}

void trl__sliding_reset(trl__sliding *s)
{
    s->from = s->to = s->received = s->taken = s->clock = s->empty = 0;
    trl__cmvn_clear(s->sums);
}

static float *ring_row(const trl__sliding *s, int64_t t)
{
    return s->ring + (size_t)(t % s->capacity) * s->sums->dim;
}

void trl__sliding_put(trl__sliding *s, const float *row)
{
    s->clock++;
    if (!trl__row_holds(row)) {
        s->empty++;
        return;
    }
    s->before[s->received % s->capacity] = s->empty;
    s->put[s->received % s->capacity] = s->clock;
    s->empty = 0;
    memcpy(ring_row(s, s->received++), row, s->sums->dim * sizeof *row);
}

/* The window of a row is waited for no longer than if all that comes held something. */
static int has_waited(const trl__sliding *s)
{
    return s->taken < s->received && s->clock - s->put[s->taken % s->capacity] >= (s->center ? s->window : s->least);
}

/* The window of frame t when the utterance has at least (or, ended, exactly) `frames` frames. Returns 1 when it is
 * final. */
static int window_of(const trl__sliding *s, int64_t t, int64_t frames, int ended, int64_t *from, int64_t *to)
{
    *from = s->center ? t - s->window / 2 : t - s->window;
    *to = s->center ? *from + s->window : t + 1;
    if (*from < 0) {
        *to = s->center ? s->window : t + 1;
        *from = 0;
    }
    if (!s->center && *to < s->least)
        *to = s->least;
    if (*to <= frames)
        return 1;
    *from -= *to - frames;
    *to = frames;
    if (*from < 0)
        *from = 0;
    return ended;
}

/* Adds and subtracts rows until the sums cover from … to-1. */
static void move_window(trl__sliding *s, int64_t from, int64_t to)
{
    for (; s->to < to; s->to++)
        add_row(s->sums, ring_row(s, s->to), 1);
    for (; s->from > from; s->from--)
        add_row(s->sums, ring_row(s, s->from - 1), 1);
    for (; s->from < from; s->from++)
        add_row(s->sums, ring_row(s, s->from), -1);
    for (; s->to > to; s->to--)
        add_row(s->sums, ring_row(s, s->to - 1), -1);
}

/* A window whose mean is so many of its deviations from the prior, in some coefficient, is of another channel than
 * the prior's. AN4's test utterances are 2.0 away at most, at 8 kHz 5 and more, within 300 to 3400 Hz 2.9. */
#define FOREIGN 2.5

/* How far the prior is off. The level of the sound is the microphone's: of cepstra, the first says it, of filters,
 * all do. */
static double prior_off(const trl__sliding *s, size_t i)
{
    size_t dim = s->sums->dim, level = s->options->layout == TRL_LAYOUT_HTK ? dim - 1 : 0;
    double frames = s->sums->frames, common = 0;
    if (s->options->kind != TRL_FBANK && i == level)
        return 0;
    for (size_t k = 0; s->options->kind == TRL_FBANK && k < dim; k++)
        common += (trl__mean_value(&s->options->cmvn_prior, k) - s->sums->sum[k] / frames) / (double)dim;
    return trl__mean_value(&s->options->cmvn_prior, i) - s->sums->sum[i] / frames - common;
}

static int is_foreign(const trl__sliding *s)
{
    double frames = s->sums->frames;
    for (size_t i = 0; i < s->sums->dim; i++) {
        double mean = s->sums->sum[i] / frames, spread = s->sums->square[i] / frames - mean * mean;
        double off = prior_off(s, i);
        if (off * off > FOREIGN * FOREIGN * fmax(spread, 1e-10))
            return 1;
    }
    return 0;
}

/* As if frames of the prior were in the window, whose variance is its own. */
static void mix_prior(trl__sliding *s)
{
    double prior = s->options->cmvn_prior_frames, frames = s->sums->frames;
    if (prior == 0 || is_foreign(s))
        return;
    for (size_t i = 0; i < s->sums->dim; i++) {
        double mean = s->sums->sum[i] / frames + prior_off(s, i) * prior / (frames + prior);
        s->offset[i] = (float)(-mean * (double)s->scale[i]);
    }
}

int trl__sliding_take(trl__sliding *s, int ended, float *row)
{
    int64_t from, to, *empty = s->taken < s->received ? &s->before[s->taken % s->capacity] : &s->empty;
    if (*empty > 0) {
        --*empty;
        row[0] = NAN;
        return 1;
    }
    if (s->taken >= s->received || !window_of(s, s->taken, s->received, ended || has_waited(s), &from, &to))
        return 0;
    move_window(s, from, to);
    trl__cmvn_affine(s->sums, s->variance, s->scale, s->offset);
    mix_prior(s);
    const float *x = ring_row(s, s->taken++);
    for (size_t i = 0; i < s->sums->dim; i++)
        row[i] = x[i] * s->scale[i] + s->offset[i];
    return 1;
}
