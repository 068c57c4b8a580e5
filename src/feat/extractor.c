/* The extractor: samples go in, in pieces of any size; frames come out when everything they need has been seen.
 *
 * Samples wait in a buffer until a frame is complete, the kernel turns several frames at once into static rows, and
 * each row moves on through CMVN, deltas, splicing and the transform. A whole utterance is the same stream in one
 * piece, so the numbers can't differ. Memory: the buffer and the windows, independent of the utterance's length.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"
#include "feat/cmvn.h"
#include "feat/frame_window.h"
#include "feat/no_signal.h"
#include "feat/noise_removal.h"
#include "feat/static_kernel.h"

#include <math.h>
#include <string.h>

#define PIECE 16384 /* samples taken into the buffer at once */

/* How far rows go. */
typedef enum stage { STAGE_ALL, STAGE_STATICS, STAGE_NORMALISED } stage;

struct trl_extractor {
    const trl_frontend *frontend;
    const trl__static_kernel *kernel;
    trl__static_work work;
    stage stage;
    uint64_t noise;    /* the dither's sequence */
    trl__noise *floor; /* what denoise follows; NULL: none */
    float last_sample; /* before the next one, for preemphasis_across */

    float *buffer; /* samples first … received-1, 16-bit units */
    size_t buffer_size;
    int64_t first, received;
    int64_t next_frame;
    float *mirrored; /* one frame that reaches over an end of the sound */
    float *statics;  /* [TRL__MOST_LANES x static_dim] */

    float *scale, *offset; /* CMVN of the utterance or speaker; scale = NULL: none */
    float *affine;         /* their memory */
    trl__sliding *sliding; /* NULL: none */
    trl__live live;        /* with cmvn = live */
    trl__frame_window before_deltas, before_splicing;
    float *spliced;        /* one row, before the transform */
    double *wide;          /* the same */
    trl_matrix whole;      /* static rows of an utterance in one go */
    trl_matrix normalised; /* the same behind CMVN, where some hold nothing */
    size_t quiet, quiets; /* of these the first one that stands for such a row, and how many do; 0: silence_mean does */
    int64_t filled;       /* rows that were filled in */
};

/* A frame mirrored at the end looks back over samples before its start: never more than this many. */
static int64_t look_back(const trl_frontend *f)
{
    return f->options.snip_edges ? 0 : 2 * (f->length + f->shift);
}

static int allocate(trl_extractor *x, trl_error *err)
{
    const trl_frontend *f = x->frontend;
    const trl_frontend_options *o = &f->options;
    size_t dim = (size_t)f->static_dim;
    x->buffer_size = PIECE + (size_t)f->length + (size_t)look_back(f) + 8; /* the kernel may read 8 further */
    x->buffer = trl__alloc_aligned(x->buffer_size, sizeof *x->buffer);
    x->mirrored = trl__alloc_aligned((size_t)f->length + 8, sizeof *x->mirrored);
    x->statics = trl__alloc_aligned(TRL__MOST_LANES * dim, sizeof *x->statics);
    x->affine = trl__alloc(2 * dim, sizeof *x->affine);
    x->spliced = trl__alloc_aligned((size_t)f->spliced_dim, sizeof *x->spliced);
    x->wide = trl__alloc_aligned((size_t)f->spliced_dim, sizeof *x->wide);
    if (!x->buffer || !x->mirrored || !x->statics || !x->affine || !x->spliced || !x->wide)
        return trl__fail_memory(err);
    memset(x->buffer, 0, x->buffer_size * sizeof *x->buffer);
    memset(x->mirrored, 0, ((size_t)f->length + 8) * sizeof *x->mirrored);
    int code = trl__static_work_create(f, &x->work, err);
    int reach = o->deltas * o->delta_window;
    if (code == 0)
        code = trl__frame_window_init(&x->before_deltas, dim, reach, reach, err);
    if (code == 0)
        code = trl__frame_window_init(&x->before_splicing, (size_t)f->delta_dim, o->splice_left, o->splice_right, err);
    if (code == 0 && o->denoise)
        code = trl__noise_create(o->mel_bins, o->floor_added ? o->floor : 0, o->floor, &x->floor, err);
    if (code == 0 && o->cmvn == TRL_CMVN_LIVE)
        code = trl__live_init(&x->live, o, dim, err);
    if (code == 0 && o->cmvn == TRL_CMVN_SLIDING)
        code = trl__sliding_create(o, dim, &x->sliding, err);
    return code;
}

int trl_extractor_create(const trl_frontend *frontend, trl_extractor **out, trl_error *err)
{
    *out = NULL;
    trl_extractor *x = trl__alloc_zero(1, sizeof *x);
    if (!x)
        return trl__fail_memory(err);
    x->frontend = frontend;
    x->kernel = trl__static_kernel_choose();
    int code = allocate(x, err);
    if (code < 0) {
        trl_extractor_destroy(x);
        return code;
    }
    *out = x;
    return 0;
}

void trl_extractor_destroy(trl_extractor *x)
{
    if (!x)
        return;
    trl__free(x->work.time);
    trl__free(x->buffer);
    trl__free(x->mirrored);
    trl__free(x->statics);
    trl__free(x->affine);
    trl__free(x->spliced);
    trl__free(x->wide);
    trl_matrix_free(&x->whole);
    trl_matrix_free(&x->normalised);
    trl__sliding_destroy(x->sliding);
    trl__free(x->floor);
    trl__free(x->live.mean);
    trl__frame_window_free(&x->before_deltas);
    trl__frame_window_free(&x->before_splicing);
    trl__free(x);
}

/* ---- rows: CMVN -> deltas -> splicing -> transform -> frames ---- */

/* Room for one more row at the end of `frames`, growing by halves; the rows so far are kept. */
static int append_row(trl_matrix *frames, size_t dim, float **row, trl_error *err)
{
    if (frames->rows > 0 && (frames->cols != dim || frames->stride != dim))
        return trl__fail(err, TRL_EINVAL, "rows of %zu values can't be added to a matrix of %zu columns", dim,
                         frames->cols);
    if ((frames->rows + 1) * dim > frames->capacity) {
        trl_matrix larger = {0};
        if (trl_matrix_resize(&larger, frames->rows + frames->rows / 2 + 64, dim, err) < 0)
            return TRL_ENOMEM;
        if (frames->rows > 0)
            memcpy(larger.data, frames->data, frames->rows * dim * sizeof *larger.data);
        larger.rows = frames->rows;
        trl_matrix_free(frames);
        *frames = larger;
    }
    frames->cols = frames->stride = dim;
    *row = trl_matrix_row(frames, frames->rows++);
    return 0;
}

static void apply_transform(trl_extractor *x, float *out)
{
    size_t dim = x->frontend->affine.in;
    for (size_t i = 0; i < dim; i++)
        x->wide[i] = (double)x->spliced[i];
    trl__affine_rows(&x->frontend->affine, x->wide, 1, dim, out, 0);
}

static int take_spliced(trl_extractor *x, int ended, trl_matrix *frames, trl_error *err)
{
    const trl_frontend *f = x->frontend;
    trl__frame_window *w = &x->before_splicing;
    for (int64_t t; (t = trl__frame_window_next(w, ended)) >= 0;) {
        float *out;
        int code = append_row(frames, (size_t)f->dim, &out, err);
        if (code < 0)
            return code;
        float *row = f->affine.out > 0 ? x->spliced : out;
        for (int64_t i = -w->left; i <= w->right; i++)
            memcpy(row + (size_t)(i + w->left) * w->dim, trl__frame_window_row(w, t + i), w->dim * sizeof *row);
        if (f->affine.out > 0)
            apply_transform(x, out);
    }
    return 0;
}

/* Delta of order k: the filter over 2 k window + 1 rows. Symmetric or antisymmetric, but summed as it is defined. */
static void append_deltas(const trl_frontend *f, const trl__frame_window *w, int64_t t, float *row)
{
    const float *filter = f->delta_filters + 1;
    memcpy(row, trl__frame_window_row(w, t), w->dim * sizeof *row);
    for (int order = 1; order <= f->options.deltas; order++) {
        int reach = order * f->options.delta_window;
        float *delta = row + (size_t)order * w->dim;
        memset(delta, 0, w->dim * sizeof *delta);
        for (int j = -reach; j <= reach; j++) {
            const float *neighbour = trl__frame_window_row(w, t + j);
            float weight = *filter++;
            for (size_t i = 0; weight != 0 && i < w->dim; i++)
                delta[i] += weight * neighbour[i];
        }
    }
}

static int take_deltas(trl_extractor *x, int ended, trl_matrix *frames, trl_error *err)
{
    int code = 0;
    for (int64_t t; code == 0 && (t = trl__frame_window_next(&x->before_deltas, ended)) >= 0;) {
        append_deltas(x->frontend, &x->before_deltas, t, trl__frame_window_put(&x->before_splicing));
        code = take_spliced(x, 0, frames, err);
    }
    return code;
}

static int append_copy(const trl_extractor *x, const float *row, trl_matrix *frames, trl_error *err)
{
    float *out;
    int code = append_row(frames, x->before_deltas.dim, &out, err);
    if (code == 0)
        memcpy(out, row, x->before_deltas.dim * sizeof *out);
    return code;
}

/* What stands for a row that holds nothing. */
static void fill_in(trl_extractor *x, float *row)
{
    const trl_static_mean *mean = &x->frontend->options.silence_mean;
    const float *quiet =
        x->quiets > 0 ? trl_matrix_row(&x->normalised, x->quiet + trl__to_and_fro(x->quiets, x->filled)) : NULL;
    for (size_t i = 0; i < x->before_deltas.dim; i++)
        row[i] = quiet ? quiet[i] : (float)trl__mean_value(mean, i);
    x->filled++;
}

static int put_normalised(trl_extractor *x, const float *row, trl_matrix *frames, trl_error *err)
{
    if (x->stage == STAGE_NORMALISED)
        return append_copy(x, row, frames, err);
    float *to = trl__frame_window_put(&x->before_deltas);
    if (trl__row_holds(row))
        memcpy(to, row, x->before_deltas.dim * sizeof *to);
    else
        fill_in(x, to);
    return take_deltas(x, 0, frames, err);
}

static int take_normalised(trl_extractor *x, int ended, trl_matrix *frames, trl_error *err)
{
    int code = 0;
    while (code == 0 && trl__sliding_take(x->sliding, ended, x->spliced)) /* free at this point, and never shorter */
        code = put_normalised(x, x->spliced, frames, err);
    return code;
}

static int put_static(trl_extractor *x, const float *row, trl_matrix *frames, trl_error *err)
{
    if (x->stage == STAGE_STATICS)
        return append_copy(x, row, frames, err);
    if (x->sliding) {
        trl__sliding_put(x->sliding, row);
        return take_normalised(x, 0, frames, err);
    }
    float *to = x->spliced;
    if (x->live.mean)
        trl__live_apply(&x->live, row, to);
    for (size_t i = 0; !x->live.mean && i < x->before_deltas.dim; i++)
        to[i] = x->scale ? row[i] * x->scale[i] + x->offset[i] : row[i];
    return put_normalised(x, to, frames, err);
}

static int finish_rows(trl_extractor *x, trl_matrix *frames, trl_error *err)
{
    if (x->stage == STAGE_STATICS)
        return 0;
    int code = x->sliding ? take_normalised(x, 1, frames, err) : 0;
    if (x->stage == STAGE_NORMALISED)
        return code;
    if (code == 0)
        code = take_deltas(x, 1, frames, err);
    return code == 0 ? take_spliced(x, 1, frames, err) : code;
}

/* ---- samples -> static rows ---- */

static int64_t frame_start(const trl_frontend *f, int64_t frame)
{
    int64_t start = frame * f->shift;
    return f->options.snip_edges ? start : start + f->shift / 2 - f->length / 2;
}

/* How many of the next `count` frames hold a signal, up to the first that does not. */
static size_t count_holding(const trl_frontend *f, const float *samples, size_t count)
{
    size_t holding = 0;
    while (holding < count && (f->options.silence == TRL_SILENCE_AS_IS ||
                               trl__holds_signal(&f->options, samples + holding * (size_t)f->shift, (size_t)f->length)))
        holding++;
    return holding;
}

static int compute(trl_extractor *x, const float *samples, size_t count, trl_matrix *frames, trl_error *err)
{
    size_t dim = (size_t)x->frontend->static_dim, shift = (size_t)x->frontend->shift, rows;
    int code = 0;
    for (size_t done = 0; code == 0 && done < count; done += rows) {
        const float *from = samples + done * shift;
        rows = count_holding(x->frontend, from, count - done);
        if (rows > 0)
            trl__static_frames(x->kernel, x->frontend, &x->work, from, rows, x->statics, dim, x->floor);
        for (size_t i = 0; rows == 0 && i < dim; i++)
            x->statics[i] = NAN;
        rows = rows > 0 ? rows : 1;
        for (size_t i = 0; code == 0 && i < rows; i++)
            code = put_static(x, x->statics + i * dim, frames, err);
    }
    x->next_frame += (int64_t)count;
    return code;
}

/* Beyond both ends the sound continues mirrored, again and again for very short ones; or, with pad_end, there is none. */
static int compute_mirrored(trl_extractor *x, trl_matrix *frames, trl_error *err)
{
    int64_t start = frame_start(x->frontend, x->next_frame);
    for (int64_t i = 0; i < x->frontend->length; i++) {
        int64_t s = start + i;
        if (x->frontend->options.snip_edges && s >= x->received) {
            x->mirrored[i] = 0;
            continue;
        }
        while (s < 0 || s >= x->received)
            s = s < 0 ? -s - 1 : 2 * x->received - 1 - s;
        x->mirrored[i] = x->buffer[s - x->first];
    }
    return compute(x, x->mirrored, 1, frames, err);
}

/* All frames whose samples are there. A frame that starts before the sound is mirrored; it needs no sample behind its
 * end. */
static int compute_ready(trl_extractor *x, trl_matrix *frames, trl_error *err)
{
    const trl_frontend *f = x->frontend;
    int code = 0;
    for (;;) {
        int64_t start = frame_start(f, x->next_frame);
        if (code < 0 || start + f->length > x->received)
            return code;
        if (start < 0) {
            code = compute_mirrored(x, frames, err);
            continue;
        }
        int64_t ready = 1 + (x->received - start - f->length) / f->shift;
        code = compute(x, x->buffer + (start - x->first),
                       (size_t)(ready < (int64_t)x->kernel->lanes ? ready : (int64_t)x->kernel->lanes), frames, err);
    }
}

/* Forgets samples that no later frame needs. */
static void forget(trl_extractor *x)
{
    int64_t needed = frame_start(x->frontend, x->next_frame) - look_back(x->frontend);
    if (needed > x->received)
        needed = x->received;
    if (needed <= x->first)
        return;
    memmove(x->buffer, x->buffer + (needed - x->first), (size_t)(x->received - needed) * sizeof *x->buffer);
    x->first = needed;
}

/* Louder than this (full scale is 1), and the powers of a frame leave the range of a float. */
#define LOUDEST 1e10f

static int check_samples(const trl_extractor *x, const float *samples, size_t count, trl_error *err)
{
    int good = 1;
    for (size_t i = 0; i < count; i++)
        good &= fabsf(samples[i]) <= LOUDEST; /* no for NaN too */
    for (size_t i = 0; !good && i < count; i++)
        if (!(fabsf(samples[i]) <= LOUDEST))
            return trl__fail(err, TRL_ENUMBER, "sample %lld is %g; full scale is 1",
                             (long long)x->received + (long long)i, (double)samples[i]);
    return 0;
}

/* Dither is a function of the sample's number, so it does not depend on how the sound is divided. */
static void take_samples(trl_extractor *x, const float *samples, size_t count)
{
    const trl_frontend_options *o = &x->frontend->options;
    float *to = x->buffer + (x->received - x->first);
    for (size_t i = 0; i < count; i++)
        to[i] = samples[i] * TRL__SAMPLE_SCALE;
    for (size_t i = 0; o->dither > 0 && i < count; i++)
        to[i] += (float)o->dither * trl__random_normal(o->seed, x->noise, (uint64_t)x->received + i);
    for (size_t i = 0; o->preemphasis_across && i < count; i++) {
        float sample = to[i];
        to[i] = (float)(sample - o->preemphasis * x->last_sample);
        x->last_sample = sample;
    }
    x->received += (int64_t)count;
}

static void reset(trl_extractor *x)
{
    x->first = x->received = x->next_frame = 0;
    x->stage = STAGE_ALL;
    x->quiets = 0;
    x->filled = 0;
    x->last_sample = 0;
    if (x->floor)
        trl__noise_reset(x->floor);
    if (x->live.mean)
        trl__live_reset(&x->live);
    x->scale = x->offset = NULL;
    trl__frame_window_reset(&x->before_deltas);
    trl__frame_window_reset(&x->before_splicing);
    if (x->sliding)
        trl__sliding_reset(x->sliding);
}

static void use_sums(trl_extractor *x, const trl_cmvn *sums)
{
    x->scale = x->affine;
    x->offset = x->affine + x->frontend->static_dim;
    trl__cmvn_affine(sums, x->frontend->options.cmvn_variance, x->scale, x->offset);
}

static int use_speaker(trl_extractor *x, const trl_cmvn *speaker, trl_error *err)
{
    if (x->frontend->options.cmvn != TRL_CMVN_SPEAKER)
        return 0;
    if (!speaker || speaker->dim != (size_t)x->frontend->static_dim)
        return trl__fail(err, TRL_EINVAL, "cmvn = speaker needs the speaker's sums over %d coefficients",
                         x->frontend->static_dim);
    use_sums(x, speaker);
    return 0;
}

int trl_extractor_begin(trl_extractor *x, const trl_cmvn *speaker, trl_error *err)
{
    const trl_frontend_options *o = &x->frontend->options;
    reset(x);
    if (o->cmvn == TRL_CMVN_UTTERANCE)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "cmvn = utterance needs the whole utterance and can't stream; take cmvn = sliding");
    if (o->energy_normalise)
        return trl__fail(err, TRL_EUNSUPPORTED, "energy_normalise needs the whole utterance and can't stream");
    if (o->silence == TRL_SILENCE_FILL && o->silence_mean.count == 0)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "silence = fill needs the whole utterance and can't stream; give silence_mean");
    return use_speaker(x, speaker, err);
}

void trl_extractor_set_noise(trl_extractor *x, uint64_t sequence)
{
    x->noise = sequence;
}

int trl_extractor_begin_static(trl_extractor *x, trl_error *err)
{
    (void)err;
    reset(x);
    x->stage = STAGE_STATICS;
    return 0;
}

int trl_extractor_push(trl_extractor *x, const float *samples, size_t count, trl_matrix *frames, trl_error *err)
{
    int code = 0;
    while (code == 0 && count > 0) {
        size_t piece = count < PIECE ? count : PIECE;
        code = check_samples(x, samples, piece, err);
        if (code < 0)
            return code;
        forget(x);
        take_samples(x, samples, piece);
        code = compute_ready(x, frames, err);
        samples += piece;
        count -= piece;
    }
    return code;
}

/* HTK's ENORMALISE over the last `count` rows: the loudest becomes 1, everything 50 dB below it is cut, the rest scaled
 * by a tenth. */
static void normalise_energy(trl_matrix *statics, size_t count, size_t column)
{
    float most = -INFINITY;
    for (size_t t = statics->rows - count; t < statics->rows; t++)
        most = fmaxf(most, trl_matrix_row(statics, t)[column]);
    float least = most - (float)(50 * 2.302585092994046 / 10);
    for (size_t t = statics->rows - count; t < statics->rows; t++) {
        float *energy = &trl_matrix_row(statics, t)[column];
        if (trl__row_holds(trl_matrix_row(statics, t)))
            *energy = 1 - 0.1f * (most - fmaxf(*energy, least));
    }
}

int trl_extractor_end(trl_extractor *x, trl_matrix *frames, trl_error *err)
{
    int64_t total = (int64_t)trl_frontend_frames(x->frontend, (size_t)x->received);
    int code = 0;
    while (code == 0 && x->next_frame < total)
        code = compute_mirrored(x, frames, err);
    if (code == 0 && x->stage == STAGE_STATICS && x->frontend->options.energy_normalise &&
        frames->rows < (size_t)x->next_frame)
        return trl__fail(err, TRL_EINVAL, "energy_normalise needs all static rows of the utterance in one matrix");
    if (code == 0 && x->stage == STAGE_STATICS && x->frontend->options.energy_normalise)
        normalise_energy(frames, (size_t)x->next_frame, (size_t)x->frontend->energy_index);
    return code == 0 ? finish_rows(x, frames, err) : code;
}

/* ---- whole utterances ---- */

static int begin_whole(trl_extractor *x, const trl_matrix *statics, const trl_cmvn *speaker, trl_error *err)
{
    reset(x);
    if (x->frontend->options.cmvn != TRL_CMVN_UTTERANCE)
        return use_speaker(x, speaker, err);
    trl_cmvn *sums;
    int code = trl_cmvn_create(statics->cols, &sums, err);
    if (code < 0)
        return code;
    trl__cmvn_add(sums, statics, x->frontend->options.cmvn_loud);
    use_sums(x, sums);
    trl_cmvn_destroy(sums);
    return 0;
}

/* All rows behind CMVN, to choose from what stands for those that hold nothing. */
static int normalise_whole(trl_extractor *x, const trl_matrix *statics, const trl_cmvn *speaker, trl_error *err)
{
    int code = begin_whole(x, statics, speaker, err);
    x->stage = STAGE_NORMALISED;
    x->normalised.rows = 0;
    for (size_t t = 0; code == 0 && t < statics->rows; t++)
        code = put_static(x, trl_matrix_row(statics, t), &x->normalised, err);
    return code == 0 ? finish_rows(x, &x->normalised, err) : code;
}

static int has_empty_rows(const trl_matrix *statics)
{
    for (size_t t = 0; t < statics->rows; t++)
        if (!trl__row_holds(trl_matrix_row(statics, t)))
            return 1;
    return 0;
}

int trl_extractor_finish(trl_extractor *x, const trl_matrix *statics, const trl_cmvn *speaker, trl_matrix *frames,
                         trl_error *err)
{
    if (statics->rows > 0 && statics->cols != (size_t)x->frontend->static_dim)
        return trl__fail(err, TRL_EINVAL, "static rows have %zu values, the front end makes %d", statics->cols,
                         x->frontend->static_dim);
    frames->rows = 0;
    frames->cols = frames->stride = (size_t)x->frontend->dim;
    if (statics->rows == 0)
        return 0;
    int code = 0;
    size_t quiet = 0, quiets = 0;
    if (x->frontend->options.silence_mean.count == 0 && has_empty_rows(statics))
        quiets = trl__quiet_rows(&x->frontend->options, statics, &quiet);
    if (quiets > 0)
        code = normalise_whole(x, statics, speaker, err);
    if (code == 0)
        code = begin_whole(x, statics, speaker, err);
    x->quiet = quiet;
    x->quiets = quiets;
    for (size_t t = 0; code == 0 && t < statics->rows; t++)
        code = put_static(x, trl_matrix_row(statics, t), frames, err);
    return code == 0 ? finish_rows(x, frames, err) : code;
}

int trl_extractor_run(trl_extractor *x, const float *samples, size_t count, const trl_cmvn *speaker, trl_matrix *frames,
                      trl_error *err)
{
    x->whole.rows = 0;
    int code = trl_extractor_begin_static(x, err);
    if (code == 0)
        code = trl_extractor_push(x, samples, count, &x->whole, err);
    if (code == 0)
        code = trl_extractor_end(x, &x->whole, err);
    return code == 0 ? trl_extractor_finish(x, &x->whole, speaker, frames, err) : code;
}
