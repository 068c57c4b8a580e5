/* Sound: libsndfile or, for what that does not know, FFmpeg decodes; this file picks a channel and a part, and has
 * the rate converted.
 *
 * One channel at the file's own rate is one call of libsndfile straight into the caller's buffer. Otherwise frames pass
 * through a block of fixed size. A part at another rate is cut out of the converted whole: reading begins a little
 * before the part, at a frame where an output sample lies exactly, and ends a little after it, so the filter sees the
 * same neighbours as if everything had been converted.
 */
#include <trellis/audio.h>

#include "audio/audio_memory.h"
#include "audio/media_park.h"
#include "audio/resample.h"
#include "audio/sound_header.h"
#include "audio/sound_length.h"
#include "audio/sound_source.h"
#include "base/fail.h"
#include "base/memory.h"

#include <float.h>
#include <pthread.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_SAMPLES 16384            /* of all channels together, that are unpacked at a time */
#define OVERSHOOT 0.5                  /* seconds that a part may end after its file; such ends are cut back */
#define WHOLE_MOST ((int64_t)1 << 31)  /* samples that trl_audio_read_file is willing to hold */
#define FRAMES_MOST ((int64_t)1 << 40) /* a year at 32 kHz; a header that says more is lying */
#define STARVED_MOST 1000              /* reads past the end of the file before it is said to lie about its length */

struct trl_audio {
    trl__sound_source source;
    SNDFILE *file; /* one of the two decodes */
    trl__media *media;
    SF_INFO format;
    char media_format[64];
    int channel;
    int64_t position, stop; /* frames of the file: the next, and the one after the last */
    float *block;           /* interleaved frames; NULL with one channel */
    trl__resampler *resampler;
    int ended;    /* the resampler has had its last block */
    int64_t skip; /* converted samples before the part */
    int64_t left; /* samples of the part still to give */
};

trl_audio_options trl_audio_defaults(void)
{
    return (trl_audio_options){.rate = 0, .channel = 0, .start = 0, .end = -1};
}

/* ---- Opening ---- */

static const struct {
    int code;
    const char *name;
} containers[] =
    {
        {SF_FORMAT_WAV, "WAV"}, {SF_FORMAT_WAVEX, "WAV"},   {SF_FORMAT_AIFF, "AIFF"}, {SF_FORMAT_AU, "AU"},
        {SF_FORMAT_OGG, "Ogg"}, {SF_FORMAT_NIST, "SPHERE"}, {SF_FORMAT_FLAC, "FLAC"}, {SF_FORMAT_CAF, "CAF"},
        {SF_FORMAT_W64, "W64"}, {SF_FORMAT_RF64, "RF64"},
},
  codings[] = {
      {SF_FORMAT_PCM_S8, "8 bit"},     {SF_FORMAT_PCM_U8, "8 bit"},     {SF_FORMAT_PCM_16, "16 bit"},
      {SF_FORMAT_PCM_24, "24 bit"},    {SF_FORMAT_PCM_32, "32 bit"},    {SF_FORMAT_FLOAT, "32 bit float"},
      {SF_FORMAT_ULAW, "8 bit µ-law"}, {SF_FORMAT_ALAW, "8 bit A-law"}, {SF_FORMAT_DOUBLE, "64 bit float"},
};
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* libsndfile's own name for a kind that is not in our lists. */
static const char *library_name(int code)
{
    SF_FORMAT_INFO info = {.format = code};
    return sf_command(NULL, SFC_GET_FORMAT_INFO, &info, sizeof info) == 0 && info.name ? info.name : "unknown";
}

static void describe(int format, char *text, size_t size)
{
    int container = format & SF_FORMAT_TYPEMASK, coding = format & SF_FORMAT_SUBMASK;
    const char *first = NULL, *second = NULL;
    for (size_t i = 0; i < LENGTH(containers); i++)
        if (containers[i].code == container)
            first = containers[i].name;
    for (size_t i = 0; i < LENGTH(codings); i++)
        if (codings[i].code == coding)
            second = codings[i].name;
    snprintf(text, size, "%s, %s", first ? first : library_name(container), second ? second : library_name(coding));
}

static int start_media(trl_audio *audio, const trl__media_kind *kind, trl_error *err)
{
    trl__media_facts facts;
    int rc = trl__media_open(&audio->source, kind, &facts, &audio->media, err);
    if (rc < 0)
        return rc;
    audio->format = (SF_INFO){.frames = SF_COUNT_MAX, .samplerate = facts.rate, .channels = facts.channels};
    memcpy(audio->media_format, facts.format, sizeof facts.format);
    return 0;
}

/* Of a coding that libsndfile does not know; its own words where FFmpeg does not either. */
static int start_other(trl_audio *audio, trl_error *err)
{
    const trl__media_kind *kind = trl__media_kind_refused(&audio->source);
    int rc = kind ? start_media(audio, kind, err) : TRL_EUNSUPPORTED;
    return rc == 0 || rc == TRL_ENOMEM ? rc : trl__sound_header_explain(&audio->source, err);
}

/* One at a time: libsndfile notes why a file can't be opened in variables that all threads share. The file's first bytes have
 * been read by then; Ogg reads its end too, and others wait for that. */
static int start_sndfile(trl_audio *audio, trl_error *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    audio->file = sf_open_virtual(&trl__sound_source_io, SFM_READ, &audio->format, &audio->source);
    int memory_is_short = !audio->file && strstr(sf_strerror(NULL), "malloc"); /* it has no public number */
    pthread_mutex_unlock(&mutex);
    if (audio->file)
        return 0;
    return memory_is_short ? trl__fail_memory(err) : start_other(audio, err);
}

static int start_decoder(trl_audio *audio, trl_error *err)
{
    const trl__media_kind *kind = trl__media_kind_of(&audio->source);
    audio->source.position = 0;
    audio->format = (SF_INFO){0};
    int rc = kind ? start_media(audio, kind, err) : start_sndfile(audio, err);
    if (rc < 0)
        return rc;
    if (audio->format.channels < 1 || audio->format.samplerate < 1 || audio->format.frames < 0 ||
        (audio->format.frames > FRAMES_MOST && audio->format.frames != SF_COUNT_MAX))
        return trl__fail(err, TRL_ECORRUPT, "%s: the header makes no sense: %d channels at %d Hz, %lld samples",
                         audio->source.name, audio->format.channels, audio->format.samplerate,
                         (long long)audio->format.frames);
    return 0;
}

static void stop_decoder(trl_audio *audio)
{
    if (audio->file)
        sf_close(audio->file);
    trl__media_close(audio->media);
    audio->file = NULL;
    audio->media = NULL;
}

/* Up to n frames; *got = 0 at the end, and where libsndfile fails. */
static int decode(trl_audio *audio, float *frames, size_t n, size_t *got, trl_error *err)
{
    if (audio->media)
        return trl__media_read(audio->media, frames, n, got, err);
    sf_count_t read = sf_readf_float(audio->file, frames, (sf_count_t)n);
    *got = read > 0 ? (size_t)read : 0;
    return 0;
}

static int count_to_end(trl_audio *audio, int64_t *frames, trl_error *err)
{
    size_t got = 1;
    int rc = 0;
    audio->block = trl__alloc((size_t)BLOCK_SAMPLES + (size_t)audio->format.channels, sizeof *audio->block);
    if (!audio->block)
        return trl__fail_memory(err);
    for (*frames = 0; rc == 0 && got > 0 && *frames <= FRAMES_MOST; *frames += (int64_t)got)
        rc = decode(audio, audio->block, (size_t)(BLOCK_SAMPLES / audio->format.channels + 1), &got, err);
    trl__free(audio->block);
    audio->block = NULL;
    return rc;
}

/* Without a length in the header, as in FLAC from a pipe, in MP2 and in what FFmpeg reads: decoded once to count. */
static int count_frames(trl_audio *audio, trl_error *err)
{
    int64_t frames;
    if (!trl__sound_length_known(&audio->source, &frames)) {
        int rc = count_to_end(audio, &frames, err);
        stop_decoder(audio);
        if (rc == 0)
            rc = start_decoder(audio, err);
        if (rc < 0)
            return rc;
        trl__sound_length_remember(&audio->source, frames);
    }
    audio->format.frames = frames;
    return 0;
}

static int check_options(const trl_audio *audio, const trl_audio_options *options, trl_error *err)
{
    const char *name = audio->source.name;
    double seconds = (double)audio->format.frames / audio->format.samplerate;
    if (!(options->rate >= 0 && options->rate <= INT32_MAX) || options->rate != floor(options->rate))
        return trl__fail(err, TRL_EINVAL, "sample rate %g: must be a whole number of Hz, or 0 for the file's own",
                         options->rate);
    double own = audio->format.samplerate;
    if (options->rate > 0 && options->rate != own &&
        (fmin(options->rate, own) < TRL_RESAMPLE_LEAST || fmax(options->rate, own) > TRL_RESAMPLE_MOST))
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: can't convert from %g Hz to %g Hz: only %d Hz to %d Hz", name, own,
                         options->rate, TRL_RESAMPLE_LEAST, TRL_RESAMPLE_MOST);
    if (options->channel != TRL_CHANNEL_MIX && (options->channel < 0 || options->channel >= audio->format.channels))
        return trl__fail(
            err, TRL_EINVAL,
            "%s: no channel %d: the file has %d, counted from 0; choose another with --channel, or correct "
            "it where the corpus names it",
            name, options->channel, audio->format.channels);
    if (!(options->start >= 0) || isnan(options->end))
        return trl__fail(err, TRL_EINVAL, "%s: a part from %g s to %g s makes no sense", name, options->start,
                         options->end);
    if (options->start > 0 && options->start >= seconds)
        return trl__fail(err, TRL_EINVAL, "%s: the part starts at %g s, but the sound is only %g s long", name,
                         options->start, seconds);
    if (options->end >= 0 && options->end <= options->start)
        return trl__fail(err, TRL_EINVAL, "%s: the part ends at %g s, not after its start at %g s", name, options->end,
                         options->start);
    if (options->end > seconds + OVERSHOOT)
        return trl__fail(err, TRL_EINVAL, "%s: the part ends at %g s, but the sound is only %g s long", name,
                         options->end, seconds);
    return 0;
}

static int64_t divisor(int64_t a, int64_t b)
{
    return b ? divisor(b, a % b) : a;
}

static int move_to(trl_audio *audio, int64_t frame, trl_error *err)
{
    audio->position = frame;
    if (audio->media) {
        trl__media_take_parked(&audio->media, &audio->source, frame);
        trl__media_go_to(audio->media, frame);
    } else if (frame > 0 && sf_seek(audio->file, frame, SEEK_SET) != frame)
        return trl__fail(err, TRL_ECORRUPT, "%s: can't go to sample %lld of %lld: the file is cut or damaged",
                         audio->source.name, (long long)frame, (long long)audio->format.frames);
    return 0;
}

/* Sets what to read, and with another rate what to read around it. */
static int choose_part(trl_audio *audio, const trl_audio_options *options, trl_error *err)
{
    int64_t from = audio->format.samplerate, to = options->rate > 0 ? (int64_t)options->rate : from;
    int64_t frames = audio->format.frames, end = frames;
    if (options->end >= 0 && options->end * (double)from < (double)frames)
        end = llround(options->end * (double)from);
    int64_t start = llround(options->start * (double)from);
    start = start < end ? start : end;
    audio->stop = end;
    audio->left = end - start;
    if (to == from)
        return move_to(audio, start, err);
    int64_t low = from < to ? from : to, reach = TRL_RESAMPLE_REACH * from / low, step = from / divisor(from, to);
    int64_t first = start > reach ? (start - reach) / step * step : 0;
    audio->stop = frames - end > reach ? end + reach : frames;
    audio->skip = trl__rescale(start, from, to) - trl__rescale(first, from, to);
    audio->left = trl__rescale(end, from, to) - trl__rescale(start, from, to);
    int rc = trl__resampler_create(from, to, &audio->resampler, err);
    return rc < 0 ? rc : move_to(audio, first, err);
}

static int prepare(trl_audio *audio, const trl_audio_options *options, trl_audio_info *info, trl_error *err)
{
    trl_audio_options defaults = trl_audio_defaults();
    int rc = trl__sound_header_check(&audio->source, err);
    if (rc == 0)
        rc = start_decoder(audio, err);
    if (rc == 0 && (audio->format.frames == SF_COUNT_MAX || audio->source.is_uncounted))
        rc = count_frames(audio, err);
    if (rc == 0)
        rc = check_options(audio, options ? options : &defaults, err);
    if (rc < 0)
        return rc;
    int channels = audio->format.channels;
    if (channels > 1 && !(audio->block = trl__alloc(BLOCK_SAMPLES + (size_t)channels, sizeof *audio->block)))
        return trl__fail_memory(err);
    audio->channel = options ? options->channel : 0;
    if (info) {
        double rate = audio->format.samplerate;
        *info = (trl_audio_info){rate, channels, audio->format.frames, (double)audio->format.frames / rate, ""};
        if (audio->media)
            memcpy(info->format, audio->media_format, sizeof info->format);
        else
            describe(audio->format.format, info->format, sizeof info->format);
    }
    return choose_part(audio, options ? options : &defaults, err);
}

/* Takes over the source. */
static int open_source(trl__sound_source *source, const trl_audio_options *options, trl_audio_info *info,
                       trl_audio **out, trl_error *err)
{
    trl_audio *audio = trl__alloc_zero(1, sizeof *audio);
    if (!audio) {
        trl__sound_source_close(source);
        return trl__fail_memory(err);
    }
    audio->source = *source;
    int rc = prepare(audio, options, info, err);
    if (rc < 0)
        trl_audio_close(audio);
    else
        *out = audio;
    return rc;
}

int trl_audio_open(const char *path, const trl_audio_options *options, trl_audio_info *info, trl_audio **out,
                   trl_error *err)
{
    *out = NULL;
    trl__sound_source source;
    int rc = trl__sound_source_open(path, &source, err);
    return rc < 0 ? rc : open_source(&source, options, info, out, err);
}

int trl__audio_open_memory(const char *name, const void *bytes, size_t size, const trl_audio_options *options,
                           trl_audio_info *info, trl_audio **out, trl_error *err)
{
    *out = NULL;
    trl__sound_source source;
    int rc = trl__sound_source_from_memory(name, bytes, size, &source, err);
    return rc < 0 ? rc : open_source(&source, options, info, out, err);
}

void trl_audio_close(trl_audio *audio)
{
    if (!audio)
        return;
    if (audio->media && audio->position < audio->format.frames) {
        trl__media_park(audio->media, &audio->source);
        audio->media = NULL;
    }
    stop_decoder(audio);
    trl__resampler_destroy(audio->resampler);
    trl__free(audio->block);
    trl__sound_source_close(&audio->source);
    trl__free(audio);
}

/* ---- Reading ---- */

/* NaN and infinity are the only floats that are not at most FLT_MAX in size. */
static int all_finite(const float *samples, size_t n)
{
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= !(fabsf(samples[i]) <= FLT_MAX);
    return !bad;
}

static int check_numbers(const trl_audio *audio, const float *samples, size_t n, int64_t first, trl_error *err)
{
    if (all_finite(samples, n))
        return 0;
    size_t i = 0;
    while (fabsf(samples[i]) <= FLT_MAX)
        i++;
    int64_t frame = first + (int64_t)i;
    return trl__fail(err, TRL_ENUMBER, "%s: sample %lld (at %.6f s) is %s; repair or leave out this recording",
                     audio->source.name, (long long)frame, (double)frame / audio->format.samplerate,
                     isnan(samples[i]) ? "not a number" : "infinite");
}

/* Why there are fewer frames than the header promises. */
static int fail_decoding(const trl_audio *audio, trl_error *err)
{
    const trl__sound_source *source = &audio->source;
    if (source->io_error)
        return trl__sound_source_fail(source, err);
    return trl__fail_byte(err, TRL_ECORRUPT, source->name, trl__sound_source_place(source, source->position),
                          "the sound breaks off near sample %lld of %lld (%s): the file is cut or damaged; copy or "
                          "record it again",
                          (long long)audio->position, (long long)audio->format.frames,
                          audio->file && sf_error(audio->file) ? sf_strerror(audio->file) : "no more data");
}

/* The channel, or the mean of all, out of interleaved frames. */
static void pick(const trl_audio *audio, const float *frames, size_t n, float *samples)
{
    size_t channels = (size_t)audio->format.channels;
    if (audio->channel != TRL_CHANNEL_MIX) {
        for (size_t i = 0; i < n; i++)
            samples[i] = frames[i * channels + (size_t)audio->channel];
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t c = 0; c < channels; c++)
            sum += frames[i * channels + c];
        samples[i] = (float)(sum / (double)channels);
    }
}

/* The next up to n samples at the file's rate; *got = 0 only at `stop`. */
static int read_some(trl_audio *audio, float *samples, size_t n, size_t *got, trl_error *err)
{
    int64_t left = audio->stop - audio->position;
    n = (int64_t)n < left ? n : (size_t)left;
    *got = 0;
    if (n == 0)
        return 0;
    size_t most = BLOCK_SAMPLES / (size_t)audio->format.channels + 1;
    if (audio->block && n > most)
        n = most;
    size_t frames;
    int rc = decode(audio, audio->block ? audio->block : samples, n, &frames, err);
    if (rc < 0)
        return rc;
    audio->position += (int64_t)frames;
    if (frames == 0 || (audio->file && sf_error(audio->file)) || audio->source.io_error ||
        audio->source.starved > STARVED_MOST)
        return fail_decoding(audio, err);
    if (audio->block)
        pick(audio, audio->block, frames, samples);
    *got = frames;
    return check_numbers(audio, samples, frames, audio->position - (int64_t)frames, err);
}

/* As many of n samples as there are up to `stop`. */
static int read_frames(trl_audio *audio, float *samples, size_t n, size_t *got, trl_error *err)
{
    *got = 0;
    for (size_t more = 1; more > 0 && *got < n; *got += more) {
        int rc = read_some(audio, samples + *got, n - *got, &more, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* As many of n converted samples as there are. Those before the part are made and dropped. */
static int read_converted(trl_audio *audio, float *samples, size_t n, size_t *got, trl_error *err)
{
    *got = 0;
    while (*got < n) {
        size_t want = n - *got;
        if (audio->skip > 0 && (int64_t)want > audio->skip)
            want = (size_t)audio->skip;
        size_t more = trl__resampler_pull(audio->resampler, samples + *got, want);
        if (audio->skip > 0)
            audio->skip -= (int64_t)more;
        else
            *got += more;
        if (more > 0)
            continue;
        if (audio->ended)
            break;
        int rc = read_frames(audio, trl__resampler_input(audio->resampler), TRL_RESAMPLE_BLOCK, &more, err);
        if (rc == 0)
            rc = trl__resampler_push(audio->resampler, more, err);
        if (rc < 0)
            return rc;
        audio->ended = more < TRL_RESAMPLE_BLOCK;
    }
    if (!all_finite(samples, *got))
        return trl__fail(err, TRL_ENUMBER, "%s: the samples are too large to convert to another rate",
                         audio->source.name);
    return 0;
}

int trl_audio_read(trl_audio *audio, float *samples, size_t capacity, size_t *got, trl_error *err)
{
    size_t n = (int64_t)capacity < 0 || (int64_t)capacity > audio->left ? (size_t)audio->left : capacity;
    int rc = audio->resampler ? read_converted(audio, samples, n, got, err) : read_frames(audio, samples, n, got, err);
    audio->left = rc < 0 ? 0 : audio->left - (int64_t)*got;
    if (rc < 0)
        *got = 0;
    return rc;
}

/* Room grows with what is read, never with what a header promises. */
static int read_all(trl_audio *audio, float **samples, size_t *count, trl_error *err)
{
    size_t capacity = 0, got = 1;
    if (audio->left > WHOLE_MOST)
        return trl__fail(err, TRL_ELIMIT, "%s: %lld samples are too many to hold at once; read it in parts",
                         audio->source.name, (long long)audio->left);
    for (*count = 0; got > 0; *count += got) {
        size_t step = audio->left < (int64_t)1 << 18 ? (size_t)audio->left : (size_t)1 << 18;
        if (TRL_GROW(*samples, capacity, *count + step + 1))
            return trl__fail_memory(err);
        int rc = trl_audio_read(audio, *samples + *count, capacity - *count, &got, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int trl_audio_read_file(const char *path, const trl_audio_options *options, trl_audio_info *info, float **samples,
                        size_t *count, trl_error *err)
{
    trl_audio *audio;
    *samples = NULL;
    int rc = trl_audio_open(path, options, info, &audio, err);
    if (rc < 0)
        return rc;
    rc = read_all(audio, samples, count, err);
    trl_audio_close(audio);
    if (rc < 0) {
        trl_audio_free(*samples);
        *samples = NULL;
    }
    return rc;
}

void trl_audio_free(float *samples)
{
    trl__free(samples);
}
