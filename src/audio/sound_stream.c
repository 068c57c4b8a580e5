/* Sound from bytes that can't be gone back to. A WAV file is a list of chunks: a name, a length, that many bytes; `fmt ` says how samples are
 * written, `data` has them. Nothing else is needed, so it can be read as it comes. The header is kept until that is known: what is no such file goes
 * through memory to libsndfile. */
#include "audio/sound_stream.h"

#include "audio/audio_memory.h"
#include "audio/resample.h"
#include "audio/sound_header.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/input_guard.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEADER_MOST ((size_t)1 << 20) /* bytes before the sound */
#define MEMORY_MOST ((size_t)4 << 30) /* bytes that are taken into memory */
#define BYTES 32768                   /* read at a time, at most */
#define NAP 50                        /* ms between looks at a file that grows */
#define CHANNELS_MOST 1024

typedef enum coding { PCM_8, PCM_16, PCM_24, PCM_32, FLOAT_32 } coding;

struct trl_audio_stream {
    char *name;
    trl_audio_stream_options options;
    trl__read_fn read;
    void *user;
    int fd;            /* ours to close; -1: none */
    double idle_since; /* follow: when the file grew last */
    int is_last_look;

    uint8_t *head; /* the header's bytes; then all, where they go through memory */
    size_t head_size, head_capacity;
    trl_audio *memory; /* NULL: samples come from `bytes` */

    coding coding;
    size_t channels, sample_size;
    int64_t rate;
    uint64_t size_at;       /* where the header has the length of the sound */
    uint64_t length, taken; /* bytes of sound: UINT64_MAX: to the end; read so far */
    uint8_t bytes[BYTES];
    size_t held;       /* bytes that wait to make a frame of all channels */
    uint64_t position; /* samples so far */
    trl__resampler *resampler;
    size_t filled; /* of its input */
    int is_at_end, is_flushed;
};

trl_audio_stream_options trl_audio_stream_defaults(void)
{
    return (trl_audio_stream_options){.rate = 0};
}

/* ---- bytes ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int is_over(const trl_audio_stream *s)
{
    return s->options.is_over && s->options.is_over(s->options.user);
}

/* At the end of a file that may grow: waits a moment. Returns 0 when it won't any more. Who wrote may have done so, for the last time, between our
 * reading and our asking whether it is over: then there is one more look. */
static int may_grow(trl_audio_stream *s)
{
    struct timespec nap = {0, (long)NAP * 1000000};
    if (!(s->options.follow > 0) || s->is_last_look || now() - s->idle_since >= s->options.follow)
        return 0;
    s->is_last_look = is_over(s);
    if (!s->is_last_look)
        nanosleep(&nap, NULL);
    return 1;
}

/* Some bytes; *got = 0 at the end. */
static int read_bytes(trl_audio_stream *s, void *bytes, size_t size, size_t *got, trl_error *err)
{
    *got = 0;
    for (;;) {
        ssize_t n = s->read(s->user, bytes, size);
        if (n < 0 && errno == EINTR && is_over(s))
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return trl__fail_errno(err, s->name, "reading failed");
        if (n > 0) {
            *got = (size_t)n;
            s->idle_since = s->options.follow > 0 ? now() : 0;
            return 0;
        }
        if (!may_grow(s))
            return 0;
    }
}

/* The header up to `size` bytes. Returns 1; 0: there are no more; negative on error. */
static int have(trl_audio_stream *s, size_t size, trl_error *err)
{
    if (size > HEADER_MOST)
        return trl__fail_byte(err, TRL_ECORRUPT, s->name, s->head_size, "no sound in the first %zu bytes", HEADER_MOST);
    if (TRL_GROW(s->head, s->head_capacity, size) < 0)
        return trl__fail_memory(err);
    while (s->head_size < size) {
        size_t got;
        int code = read_bytes(s, s->head + s->head_size, size - s->head_size, &got, err);
        if (code < 0 || got == 0)
            return code;
        s->head_size += got;
    }
    return 1;
}

/* ---- headers ---- */

static int fail_header(const trl_audio_stream *s, trl_error *err)
{
    return trl__fail_byte(err, TRL_ECORRUPT, s->name, s->head_size, "the sound ends in the middle of its header");
}

/* Returns 1 where the samples are of a kind that is read as it comes, else 0. */
static int read_format(trl_audio_stream *s, const uint8_t *fmt, size_t size)
{
    if (size < 16)
        return 0;
    unsigned tag = trl__le16(fmt), bits = trl__le16(fmt + 14), frame = trl__le16(fmt + 12);
    if (tag == 0xFFFE && size >= 26)
        tag = trl__le16(fmt + 24); /* extensible: the kind stands further behind */
    s->channels = trl__le16(fmt + 2);
    s->rate = trl__le32(fmt + 4);
    s->sample_size = bits / 8;
    s->coding = bits == 8 ? PCM_8 : bits == 16 ? PCM_16 : bits == 24 ? PCM_24 : tag == 3 ? FLOAT_32 : PCM_32;
    int is_pcm = tag == 1 && (bits == 8 || bits == 16 || bits == 24 || bits == 32), is_float = tag == 3 && bits == 32;
    return (is_pcm || is_float) && s->rate > 0 && s->channels > 0 && s->channels <= CHANNELS_MOST &&
           frame == s->channels * s->sample_size;
}

/* Goes to the first byte of the sound. Returns 1; 0: no such file; negative on error. */
static int read_wav(trl_audio_stream *s, trl_error *err)
{
    int code = have(s, 12, err), is_known = 0;
    if (code <= 0 || memcmp(s->head, "RIFF", 4) != 0 || memcmp(s->head + 8, "WAVE", 4) != 0)
        return code < 0 ? code : 0;
    for (size_t at = 12;;) {
        code = have(s, at + 8, err);
        if (code <= 0)
            return code < 0 ? code : fail_header(s, err);
        uint32_t size = trl__le32(s->head + at + 4);
        if (memcmp(s->head + at, "data", 4) == 0) {
            s->size_at = at + 4;
            s->length = trl__is_streamed_length(size) ? UINT64_MAX : size;
            return is_known;
        }
        size_t next = at + 8 + size + (size & 1);
        code = have(s, next, err);
        if (code <= 0)
            return code < 0 ? code : fail_header(s, err);
        if (memcmp(s->head + at, "fmt ", 4) == 0 && !(is_known = read_format(s, s->head + at + 8, size)))
            return 0;
        at = next;
    }
}

/* All of it, for libsndfile. */
static int take_into_memory(trl_audio_stream *s, trl_audio_info *info, trl_error *err)
{
    trl_audio_options o = trl_audio_defaults();
    size_t got = 1;
    int code = 0;
    o.rate = s->options.rate;
    o.channel = s->options.channel;
    while (code == 0 && got > 0) {
        if (s->head_size > MEMORY_MOST)
            return trl__fail(err, TRL_ELIMIT, "%s: more than %zu bytes and no end; only WAV is read as it comes",
                             s->name, MEMORY_MOST);
        if (TRL_GROW(s->head, s->head_capacity, s->head_size + BYTES) < 0)
            return trl__fail_memory(err);
        code = read_bytes(s, s->head + s->head_size, s->head_capacity - s->head_size, &got, err);
        s->head_size += got;
    }
    return code < 0 ? code : trl__audio_open_memory(s->name, s->head, s->head_size, &o, info, &s->memory, err);
}

static int check_choice(const trl_audio_stream *s, trl_error *err)
{
    const trl_audio_stream_options *o = &s->options;
    double own = (double)s->rate;
    if (o->channel != TRL_CHANNEL_MIX && (o->channel < 0 || (size_t)o->channel >= s->channels))
        return trl__fail(err, TRL_EINVAL, "%s: no channel %d: the sound has %zu, counted from 0", s->name, o->channel,
                         s->channels);
    if (o->rate > 0 && o->rate != own &&
        (fmin(o->rate, own) < TRL_RESAMPLE_LEAST || fmax(o->rate, own) > TRL_RESAMPLE_MOST))
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: can't convert from %g Hz to %g Hz: only %d Hz to %d Hz", s->name,
                         own, o->rate, TRL_RESAMPLE_LEAST, TRL_RESAMPLE_MOST);
    return 0;
}

static void describe(const trl_audio_stream *s, trl_audio_info *info)
{
    static const char *const names[] = {"8 bit", "16 bit", "24 bit", "32 bit", "32 bit float"};
    uint64_t frames = s->length == UINT64_MAX ? 0 : s->length / (s->channels * s->sample_size);
    if (!info)
        return;
    *info = (trl_audio_info){.rate = (double)s->rate,
                             .channels = (int)s->channels,
                             .frames = (int64_t)frames,
                             .seconds = (double)frames / (double)s->rate};
    snprintf(info->format, sizeof info->format, "%s, %s", s->options.raw_rate > 0 ? "samples" : "WAV",
             names[s->coding]);
}

static int read_header(trl_audio_stream *s, trl_audio_info *info, trl_error *err)
{
    const trl_audio_stream_options *o = &s->options;
    int code = 1;
    if (!(o->rate >= 0 && o->rate <= INT32_MAX) || o->rate != floor(o->rate) ||
        !(o->raw_rate >= 0 && o->raw_rate <= INT32_MAX) || o->raw_rate != floor(o->raw_rate))
        return trl__fail(err, TRL_EINVAL, "a sample rate must be a whole number of Hz");
    if (o->raw_rate > 0) {
        s->coding = PCM_16;
        s->channels = 1;
        s->sample_size = 2;
        s->rate = (int64_t)o->raw_rate;
        s->length = UINT64_MAX;
    } else {
        code = read_wav(s, err);
    }
    if (code == 0)
        return take_into_memory(s, info, err);
    code = code < 0 ? code : check_choice(s, err);
    if (code < 0)
        return code;
    describe(s, info);
    int64_t wanted = (int64_t)o->rate;
    return wanted > 0 && wanted != s->rate ? trl__resampler_create(s->rate, wanted, &s->resampler, err) : 0;
}

/* ---- opening ---- */

int trl__audio_stream_from(const char *name, trl__read_fn read, void *user, const trl_audio_stream_options *options,
                           trl_audio_info *info, trl_audio_stream **out, trl_error *err)
{
    *out = NULL;
    trl_audio_stream *s = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    s->fd = -1;
    s->name = trl__strdup(name);
    s->options = options ? *options : trl_audio_stream_defaults();
    s->read = read;
    s->user = user;
    s->idle_since = now();
    int code = s->name ? read_header(s, info, err) : trl__fail_memory(err);
    if (code == 0)
        *out = s;
    else
        trl_audio_stream_close(s);
    return code;
}

static ssize_t read_descriptor(void *user, void *bytes, size_t size)
{
    return read((int)(intptr_t)user, bytes, size);
}

int trl_audio_stream_open(const char *path, const trl_audio_stream_options *options, trl_audio_info *info,
                          trl_audio_stream **out, trl_error *err)
{
    struct stat status;
    int is_input = strcmp(path, "-") == 0;
    const char *name = is_input ? "standard input" : path;
    *out = NULL;
    int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return trl__fail_errno(err, path, "can't open");
    int code = fstat(fd, &status) < 0    ? trl__fail_errno(err, name, "reading failed")
               : S_ISDIR(status.st_mode) ? trl__fail(err, TRL_EIO, "%s: is a folder, not a sound file", name)
                                         : trl__guard_input(fd, path, err);
    if (code == 0)
        code = trl__audio_stream_from(name, read_descriptor, (void *)(intptr_t)fd, options, info, out, err);
    if (code == 0 && !is_input)
        (*out)->fd = fd;
    else if (!is_input)
        close(fd);
    return code;
}

void trl_audio_stream_close(trl_audio_stream *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    trl_audio_close(s->memory);
    trl__resampler_destroy(s->resampler);
    trl__free(s->head);
    trl__free(s->name);
    trl__free(s);
}

/* ---- samples ---- */

static float sample_of(const uint8_t *b, coding kind)
{
    switch (kind) {
    case PCM_8: return (float)(b[0] - 128) / 128;
    case PCM_16: return (float)(int16_t)trl__le16(b) / 32768;
    case PCM_24: /* as the upper bytes of 32 bits */
        return (float)((double)(int32_t)((uint32_t)b[0] << 8 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 24) /
                       2147483648.0);
    case PCM_32: return (float)((double)(int32_t)trl__le32(b) / 2147483648.0);
    default: return trl__float_of_bits(trl__le32(b));
    }
}

/* One frame of all channels. */
static float choose_channel(const trl_audio_stream *s, const uint8_t *frame)
{
    if (s->options.channel != TRL_CHANNEL_MIX)
        return sample_of(frame + (size_t)s->options.channel * s->sample_size, s->coding);
    double sum = 0;
    for (size_t c = 0; c < s->channels; c++)
        sum += (double)sample_of(frame + c * s->sample_size, s->coding);
    return (float)(sum / (double)s->channels);
}

/* The header of a file that grows may have been written anew meanwhile. */
static void look_again_at_length(trl_audio_stream *s)
{
    uint8_t size[4];
    if (s->fd < 0 || !(s->options.follow > 0) || pread(s->fd, size, 4, (off_t)s->size_at) != 4)
        return;
    uint64_t length = trl__le32(size);
    s->length = trl__is_streamed_length(length) ? UINT64_MAX : length;
}

/* Waits for bytes that make at least one frame; *frames = 0 at the end. */
static int fill_bytes(trl_audio_stream *s, size_t most, size_t *frames, trl_error *err)
{
    size_t frame = s->channels * s->sample_size;
    *frames = 0;
    if (most > BYTES / frame)
        most = BYTES / frame;
    while (s->held < frame && !s->is_at_end) {
        size_t want = most * frame - s->held, got = 0;
        if (s->taken >= s->length)
            look_again_at_length(s);
        while (s->taken >= s->length && may_grow(s))
            look_again_at_length(s);
        uint64_t left = s->length > s->taken ? s->length - s->taken : 0;
        int code = left > 0 ? read_bytes(s, s->bytes + s->held, left < want ? (size_t)left : want, &got, err) : 0;
        if (code < 0)
            return code;
        s->taken += got;
        s->held += got;
        s->is_at_end = got == 0;
    }
    *frames = s->held / frame;
    return 0;
}

static int check_end(const trl_audio_stream *s, trl_error *err)
{
    if (s->taken >= s->length || s->length == UINT64_MAX || is_over(s))
        return 0;
    return trl__fail(err, TRL_ECORRUPT,
                     "%s: the sound ends after %llu bytes, but its header promises %llu; what came has been used",
                     s->name, (unsigned long long)s->taken, (unsigned long long)s->length);
}

/* At the source's rate. */
static int read_own(trl_audio_stream *s, float *samples, size_t capacity, size_t *got, trl_error *err)
{
    size_t frame = s->channels * s->sample_size;
    int code = fill_bytes(s, capacity, got, err);
    if (code < 0 || *got == 0)
        return code;
    for (size_t i = 0; i < *got; i++) {
        samples[i] = choose_channel(s, s->bytes + i * frame);
        if (!isfinite(samples[i]))
            return trl__fail(err, TRL_ENUMBER, "%s: sample %llu is %g", s->name, (unsigned long long)s->position + i,
                             (double)samples[i]);
    }
    s->position += *got;
    s->held -= *got * frame;
    memmove(s->bytes, s->bytes + *got * frame, s->held);
    return 0;
}

/* At another rate: in lots, which the resampler wants full. */
static int read_converted(trl_audio_stream *s, float *samples, size_t capacity, size_t *got, trl_error *err)
{
    for (;;) {
        *got = trl__resampler_pull(s->resampler, samples, capacity);
        if (*got > 0 || s->is_flushed)
            return 0;
        size_t more = 0;
        int code =
            read_own(s, trl__resampler_input(s->resampler) + s->filled, TRL_RESAMPLE_BLOCK - s->filled, &more, err);
        s->filled += more;
        s->is_flushed = code == 0 && more == 0;
        if (code == 0 && (s->filled == TRL_RESAMPLE_BLOCK || s->is_flushed)) {
            code = trl__resampler_push(s->resampler, s->filled, err);
            s->filled = 0;
        }
        if (code < 0)
            return code;
    }
}

int trl_audio_stream_read(trl_audio_stream *s, float *samples, size_t capacity, size_t *got, trl_error *err)
{
    *got = 0;
    if (capacity == 0)
        return 0;
    if (s->memory)
        return trl_audio_read(s->memory, samples, capacity, got, err);
    int code = s->resampler ? read_converted(s, samples, capacity, got, err) : read_own(s, samples, capacity, got, err);
    if (code < 0)
        *got = 0;
    return code < 0 || *got > 0 ? code : check_end(s, err);
}
