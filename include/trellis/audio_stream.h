/* Sound while it comes: a pipe, a device, a file that grows.
 *
 *     trl_audio_stream_options o = trl_audio_stream_defaults();
 *     o.rate = 16000;
 *     trl_audio_stream_open("-", &o, &info, &stream, &err);
 *     while (trl_audio_stream_read(stream, buffer, 1600, &got, &err) == 0 && got > 0) …   // waits for the next samples
 *     trl_audio_stream_close(stream);
 *
 * WAV (PCM of 8 to 32 bits, 32-bit floats) and samples without a header are read as they come; anything else that
 * trl_audio_open knows is taken into memory first. A WAV header may leave the length open, as writers to a pipe do.
 * The samples are those of trl_audio_open. At another rate than that of the source they come in lots of 4096 of the
 * source's.
 */
#ifndef TRELLIS_AUDIO_STREAM_H
#define TRELLIS_AUDIO_STREAM_H

#include <trellis/audio.h>

TRL_BEGIN_DECLS

typedef struct trl_audio_stream_options {
    double rate;                /* whole Hz; 0: as it comes */
    int channel;                /* 0-based, or TRL_CHANNEL_MIX; default 0 */
    double raw_rate;            /* > 0: no header; 16-bit samples, little-endian, one channel, of so many Hz */
    double follow;              /* > 0: a file that grows; it ends when it has not grown for so many seconds */
    int (*is_over)(void *user); /* asked at the end of what there is of a file that grows, and when a signal interrupts
                                   the waiting: 1: no more will come; NULL: never */
    void *user;
} trl_audio_stream_options;

typedef struct trl_audio_stream trl_audio_stream;

TRL_API trl_audio_stream_options trl_audio_stream_defaults(void);

/* "-": standard input. Waits for the header. info may be NULL; its frames and seconds are 0 where the length is not known. Returns 0, or as
 * trl_audio_open. */
TRL_API int trl_audio_stream_open(const char *path, const trl_audio_stream_options *options, trl_audio_info *info,
                                  trl_audio_stream **out, trl_error *err);
TRL_API void trl_audio_stream_close(trl_audio_stream *stream);

/* What there is, up to `capacity` samples; waits where there is nothing. *got = 0 at the end. Returns 0, TRL_EIO, TRL_ECORRUPT (the sound ended before its header
 * says; all samples that came have been given), TRL_ENUMBER. */
TRL_API int trl_audio_stream_read(trl_audio_stream *stream, float *samples, size_t capacity, size_t *got,
                                  trl_error *err);

TRL_END_DECLS

#endif
