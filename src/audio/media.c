#include "audio/media.h"

#include "base/fail.h"

#if TRELLIS_FFMPEG

#include "audio/media_library.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define IO_BLOCK 32768
#define SAMPLES_MOST 1000000 /* of all channels together in a frame; honest ones have some thousands */
#define CHANNELS_MOST 64
#define DRIFT 0.05    /* seconds that samples may be away from their times, which are not exact everywhere */
#define BACK_MOST 1.0 /* seconds that times may go back */
#define GAP_MOST 3600 /* seconds of silence in a file */

#if LIBAVUTIL_VERSION_INT < AV_VERSION_INT(57, 24, 100)
#define CHANNELS_OF(frame) ((frame)->channels)
#else
#define CHANNELS_OF(frame) ((frame)->ch_layout.nb_channels)
#endif

struct trl__media {
    const trl__media_library *f;
    trl__sound_source *source;
    const trl__media_kind *kind;
    uint64_t place; /* of the next byte that is read */
    AVIOContext *io;
    AVFormatContext *file;
    AVStream *stream;
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *frame;
    enum AVSampleFormat format;
    int rate, channels;
    int next, filled;  /* samples of the frame: the next to be given, and all */
    int64_t position;  /* samples so far, by the file's times */
    int64_t origin;    /* the time of sample 0, in the stream's units */
    int64_t gap, gaps; /* samples of silence that come next, and of all before */
    int64_t drop;      /* samples that are not wanted */
    int is_begun, is_draining, is_at_end, is_broken;
};

/* ---- bytes ---- */

static int read_bytes(void *user, uint8_t *bytes, int size)
{
    trl__media *m = user;
    size_t n = size > 0 ? trl__sound_source_get(m->source, m->place, bytes, (size_t)size) : 0;
    m->place += n;
    return n > 0 ? (int)n : m->source->io_error ? AVERROR(m->source->io_error) : AVERROR_EOF;
}

static int64_t seek_byte(void *user, int64_t offset, int whence)
{
    trl__media *m = user;
    if (whence & AVSEEK_SIZE)
        return (int64_t)m->source->size;
    int64_t base = (whence & 3) == SEEK_SET ? 0 : (int64_t)((whence & 3) == SEEK_CUR ? m->place : m->source->size), to;
    if (__builtin_add_overflow(base, offset, &to) || to < 0)
        return AVERROR(EINVAL);
    m->place = (uint64_t)to;
    return to;
}

/* A file may name others, on the network too: they are not opened. */
static int open_nothing(AVFormatContext *file, AVIOContext **io, const char *url, int flags, AVDictionary **options)
{
    (void)file, (void)io, (void)url, (void)flags, (void)options;
    return AVERROR(EPERM);
}

/* ---- errors ---- */

static int fail_status(const trl__media *m, int status, trl_error *err)
{
    char why[AV_ERROR_MAX_STRING_SIZE] = "";
    if (status == AVERROR(ENOMEM))
        return trl__fail_memory(err);
    if (m->source->io_error)
        return trl__sound_source_fail(m->source, err);
    m->f->av_strerror(status, why, sizeof why);
    return trl__fail(
        err, TRL_ECORRUPT,
        "%s: %s, at %.2f s: the sound can't be decoded (%s): the file is cut or damaged; copy or record it "
        "again",
        m->source->name, m->kind->name, m->rate > 0 ? (double)m->position / m->rate : 0.0, why);
}

static int fail_damaged(const trl__media *m, trl_error *err)
{
    return fail_status(m, AVERROR_INVALIDDATA, err);
}

/* ---- opening ---- */

static int open_file(trl__media *m, trl_error *err)
{
    const AVInputFormat *demuxer = m->f->av_find_input_format(m->kind->demuxer);
    if (!demuxer)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: this FFmpeg does not read %s", m->source->name, m->kind->name);
    uint8_t *block = m->f->av_malloc(IO_BLOCK);
    if (block)
        m->io = m->f->avio_alloc_context(block, IO_BLOCK, 0, m, read_bytes, NULL, seek_byte);
    if (block && !m->io)
        m->f->av_free(block);
    m->file = m->io ? m->f->avformat_alloc_context() : NULL;
    if (!m->file)
        return trl__fail_memory(err);
    m->file->pb = m->io;
    m->file->io_open = open_nothing;
    int status = m->f->avformat_open_input(&m->file, NULL, (AVInputFormat *)(uintptr_t)demuxer, NULL);
    return status < 0 ? fail_status(m, status, err) : 0;
}

/* The default track of sound, or the first. */
static int choose_stream(trl__media *m, trl_error *err)
{
    for (unsigned i = 0; i < m->file->nb_streams; i++) {
        AVStream *stream = m->file->streams[i];
        int is_better = !m->stream || (stream->disposition & ~m->stream->disposition & AV_DISPOSITION_DEFAULT);
        if (stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO && is_better)
            m->stream = stream;
        stream->discard = AVDISCARD_ALL;
    }
    if (!m->stream)
        return trl__fail(err, TRL_EFORMAT, "%s: there is no sound in this %s", m->source->name, m->kind->name);
    m->stream->discard = AVDISCARD_DEFAULT;
    return 0;
}

/* One thread, and nothing that makes the samples depend on the machine. */
static int open_decoder(trl__media *m, trl_error *err)
{
    enum AVCodecID id = m->stream->codecpar->codec_id;
    const AVCodec *codec = m->f->avcodec_find_decoder(id);
    if (!codec)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: this FFmpeg can't decode %s; convert it elsewhere: ffmpeg -i IN OUT.wav", m->source->name,
                         m->f->avcodec_get_name(id));
    m->decoder = m->f->avcodec_alloc_context3(codec);
    if (!m->decoder)
        return trl__fail_memory(err);
    int status = m->f->avcodec_parameters_to_context(m->decoder, m->stream->codecpar);
    m->decoder->pkt_timebase = m->stream->time_base;
    m->decoder->thread_count = 1;
    m->decoder->flags |= AV_CODEC_FLAG_BITEXACT;
    m->decoder->err_recognition = AV_EF_CRCCHECK;
    m->decoder->max_samples = SAMPLES_MOST;
    if (status >= 0)
        status = m->f->avcodec_open2(m->decoder, codec, NULL);
    return status < 0 ? fail_status(m, status, err) : 0;
}

/* ---- decoding ---- */

/* The next packet of the sound to the decoder, or that there are no more. */
static int send_packet(trl__media *m, trl_error *err)
{
    int status = m->f->av_read_frame(m->file, m->packet);
    if (status == AVERROR_EOF && !m->source->io_error) {
        m->is_draining = 1;
        status = m->f->avcodec_send_packet(m->decoder, NULL);
        return status < 0 ? fail_status(m, status, err) : 0;
    }
    if (status < 0)
        return fail_status(m, status, err);
    int is_damaged = m->packet->flags & AV_PKT_FLAG_CORRUPT;
    if (m->packet->stream_index == m->stream->index)
        status = is_damaged ? AVERROR_INVALIDDATA : m->f->avcodec_send_packet(m->decoder, m->packet);
    m->f->av_packet_unref(m->packet);
    return status < 0 ? fail_status(m, status, err) : 0;
}

/* How far the samples are from their time; without a clock of the file, the first sample's is 0. */
static int follow_clock(trl__media *m, trl_error *err)
{
    int64_t time = m->frame->best_effort_timestamp;
    if (time == AV_NOPTS_VALUE)
        return 0;
    if (!m->is_begun)
        m->origin = m->kind->has_clock ? 0 : time;
    m->is_begun = 1;
    int64_t expected = m->f->av_rescale_q(time - m->origin, m->stream->time_base, (AVRational){1, m->rate});
    double ahead = ((double)expected - (double)m->position) / m->rate;
    if (ahead < -BACK_MOST || ahead + (double)m->gaps / m->rate > GAP_MOST)
        return trl__fail(err, TRL_ECORRUPT,
                         "%s: the file's times jump by %.2f s after %.2f s: it is damaged; mend it with: ffmpeg -i IN "
                         "OUT.wav",
                         m->source->name, ahead, (double)m->position / m->rate);
    if (ahead > DRIFT) {
        m->gap = expected - m->position;
        m->gaps += m->gap;
    } else if (ahead < -DRIFT) {
        int64_t back = m->position - expected;
        m->next = back < m->filled ? (int)back : m->filled;
    }
    return 0;
}

static int check_frame(trl__media *m, trl_error *err)
{
    const AVFrame *f = m->frame;
    if (f->decode_error_flags || (f->flags & AV_FRAME_FLAG_CORRUPT) || f->nb_samples < 0 || f->sample_rate < 1)
        return fail_damaged(m, err);
    if (m->rate == 0) {
        m->rate = f->sample_rate;
        m->channels = CHANNELS_OF(f);
        m->format = f->format;
        if (m->channels < 1 || m->channels > CHANNELS_MOST)
            return fail_damaged(m, err);
    }
    if (f->sample_rate != m->rate || CHANNELS_OF(f) != m->channels || f->format != (int)m->format)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: the sound changes its rate or its channels at %.2f s; convert it: ffmpeg -i IN OUT.wav",
                         m->source->name, (double)m->position / m->rate);
    return 0;
}

/* The next frame of the decoder's; is_at_end is set where there is none. */
static int decode_frame(trl__media *m, trl_error *err)
{
    int status, code = 0;
    m->next = m->filled = 0;
    while ((status = m->f->avcodec_receive_frame(m->decoder, m->frame)) == AVERROR(EAGAIN) && code == 0)
        code = m->is_draining ? fail_damaged(m, err) : send_packet(m, err);
    if (code < 0)
        return code;
    m->is_at_end = status == AVERROR_EOF;
    if (status < 0)
        return m->is_at_end ? 0 : fail_status(m, status, err);
    code = check_frame(m, err);
    if (code < 0)
        return code;
    m->filled = m->frame->nb_samples;
    return follow_clock(m, err);
}

static float sample_of(const uint8_t *bytes, enum AVSampleFormat format, size_t i)
{
    switch (format) {
    case AV_SAMPLE_FMT_FLT:
    case AV_SAMPLE_FMT_FLTP: return ((const float *)(const void *)bytes)[i];
    case AV_SAMPLE_FMT_DBL:
    case AV_SAMPLE_FMT_DBLP: return (float)((const double *)(const void *)bytes)[i];
    case AV_SAMPLE_FMT_S16:
    case AV_SAMPLE_FMT_S16P: return (float)((const int16_t *)(const void *)bytes)[i] / 32768;
    case AV_SAMPLE_FMT_S32:
    case AV_SAMPLE_FMT_S32P: return (float)(((const int32_t *)(const void *)bytes)[i] / 2147483648.0);
    default: return (float)(bytes[i] - 128) / 128; /* U8, U8P */
    }
}

/* Frames of the decoder's block, from its next one on. */
static void give(const trl__media *m, float *frames, size_t n)
{
    int is_planar = m->f->av_sample_fmt_is_planar(m->format);
    size_t channels = (size_t)m->channels, first = (size_t)m->next;
    for (size_t c = 0; c < channels; c++) {
        const uint8_t *bytes = m->frame->extended_data[is_planar ? c : 0];
        for (size_t i = 0; i < n; i++)
            frames[i * channels + c] = sample_of(bytes, m->format, is_planar ? first + i : (first + i) * channels + c);
    }
}

/* Makes sure that there is something to give: silence, or samples; neither at the end. */
static int prepare(trl__media *m, trl_error *err)
{
    int code = 0;
    while (code == 0 && m->gap == 0 && m->next == m->filled && !m->is_at_end)
        code = decode_frame(m, err);
    return code;
}

int trl__media_read(trl__media *m, float *frames, size_t n, size_t *got, trl_error *err)
{
    *got = 0;
    while (*got == 0 && n > 0) {
        int code = prepare(m, err);
        m->is_broken = code < 0;
        if (code < 0)
            return code;
        int is_silent = m->gap > 0, is_wanted = m->drop == 0;
        int64_t there = is_silent ? m->gap : m->filled - m->next, most = is_wanted ? (int64_t)n : m->drop;
        int64_t step = there < most ? there : most;
        if (step == 0)
            return 0;
        if (is_wanted && is_silent)
            memset(frames, 0, (size_t)step * (size_t)m->channels * sizeof *frames);
        else if (is_wanted)
            give(m, frames, (size_t)step);
        *got = is_wanted ? (size_t)step : 0;
        m->drop -= is_wanted ? 0 : step;
        m->gap -= is_silent ? step : 0;
        m->next += is_silent ? 0 : (int)step;
        m->position += step;
    }
    return 0;
}

int64_t trl__media_position(const trl__media *m)
{
    return m->position;
}

void trl__media_go_to(trl__media *m, int64_t frame)
{
    m->drop = frame - m->position;
}

int trl__media_goes_on(const trl__media *m)
{
    return !m->is_broken && !m->is_at_end;
}

void trl__media_move(trl__media *m, trl__sound_source *source)
{
    m->source = source;
}

static void describe(const trl__media *m, trl__media_facts *facts)
{
    unsigned tracks = 0, track = 0;
    for (unsigned i = 0; i < m->file->nb_streams; i++) {
        tracks += m->file->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
        if (m->file->streams[i] == m->stream)
            track = tracks;
    }
    facts->rate = m->rate;
    facts->channels = m->channels;
    int used = snprintf(facts->format, sizeof facts->format, "%s, %s", m->kind->name,
                        m->f->avcodec_get_name(m->stream->codecpar->codec_id));
    if (tracks > 1 && used > 0 && (size_t)used < sizeof facts->format)
        snprintf(facts->format + used, sizeof facts->format - (size_t)used, ", track %u of %u", track, tracks);
}

/* Rate and channels are what the decoder makes, which the header need not know. */
static int prepare_first(trl__media *m, trl__media_facts *facts, trl_error *err)
{
    int code = trl__media_check(m->source, m->kind, err);
    trl_error why;
    if (code < 0)
        return code;
    if (trl__media_library_get(&m->f, &why) < 0)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: %s is read by FFmpeg's libraries, but %.800s; install it, or convert the file: ffmpeg -i "
                         "IN OUT.wav",
                         m->source->name, m->kind->name, why.text);
    m->packet = m->f->av_packet_alloc();
    m->frame = m->f->av_frame_alloc();
    code = m->packet && m->frame ? open_file(m, err) : trl__fail_memory(err);
    if (code == 0)
        code = choose_stream(m, err);
    if (code == 0)
        code = open_decoder(m, err);
    if (code == 0)
        code = prepare(m, err);
    if (code == 0 && m->rate == 0)
        code = trl__fail(err, TRL_EFORMAT, "%s: there is no sound in this %s", m->source->name, m->kind->name);
    if (code == 0)
        describe(m, facts);
    return code;
}

int trl__media_open(trl__sound_source *source, const trl__media_kind *kind, trl__media_facts *facts, trl__media **out,
                    trl_error *err)
{
    trl__media *m = trl__alloc_zero(1, sizeof *m);
    *out = NULL;
    if (!m)
        return trl__fail_memory(err);
    m->source = source;
    m->kind = kind;
    int code = prepare_first(m, facts, err);
    if (code < 0)
        trl__media_close(m);
    else
        *out = m;
    return code;
}

void trl__media_close(trl__media *m)
{
    if (!m)
        return;
    if (m->f) {
        m->f->avcodec_free_context(&m->decoder);
        m->f->av_packet_free(&m->packet);
        m->f->av_frame_free(&m->frame);
        m->f->avformat_close_input(&m->file);
        if (m->io)
            m->f->av_free(m->io->buffer);
        m->f->avio_context_free(&m->io);
    }
    trl__free(m);
}

#else

int trl__media_open(trl__sound_source *source, const trl__media_kind *kind, trl__media_facts *facts, trl__media **out,
                    trl_error *err)
{
    (void)facts;
    *out = NULL;
    return trl__fail(err, TRL_EUNSUPPORTED,
                     "%s: %s is read by FFmpeg's libraries, and this trellis was built without them; build it with "
                     "libavformat-dev and libavcodec-dev installed, or convert the file: ffmpeg -i IN OUT.wav",
                     source->name, kind->name);
}

void trl__media_close(trl__media *media)
{
    (void)media;
}

int trl__media_read(trl__media *media, float *frames, size_t n, size_t *got, trl_error *err)
{
    (void)media, (void)frames, (void)n;
    *got = 0;
    return trl__fail(err, TRL_EUNSUPPORTED, "this trellis was built without FFmpeg's libraries");
}

int64_t trl__media_position(const trl__media *media)
{
    (void)media;
    return 0;
}

void trl__media_go_to(trl__media *media, int64_t frame)
{
    (void)media, (void)frame;
}

int trl__media_goes_on(const trl__media *media)
{
    (void)media;
    return 0;
}

void trl__media_move(trl__media *media, trl__sound_source *source)
{
    (void)media, (void)source;
}

#endif
