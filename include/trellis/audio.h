/* Sound files: every format libsndfile reads (WAV, FLAC, Ogg, Opus, SPHERE, AIFF, MP3 …), and with FFmpeg's libraries
 * what phones, cameras and browsers make (M4A, MP4, WebM, Windows Media, AMR …, the sound of videos too); one channel
 * of it, at the rate you want.
 *
 *     trl_audio_options o = trl_audio_defaults();
 *     o.rate = 16000; o.start = 12.5; o.end = 14;       // seconds; only this part is read
 *     trl_audio_open("talk.flac", &o, &audio, &err);
 *     while (trl_audio_read(audio, buffer, 4096, &got, &err) == 0 && got > 0) …
 *     trl_audio_close(audio);
 *
 * Samples are floats, full scale ±1. "-" is standard input. NaN or infinite samples are an error that says where.
 *
 * Indices: channels count from 0; a sample's time is its index / rate.
 */
#ifndef TRELLIS_AUDIO_H
#define TRELLIS_AUDIO_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

#define TRL_CHANNEL_MIX (-2) /* the mean of all channels */

typedef struct trl_audio trl_audio;

typedef struct trl_audio_options {
    double rate;       /* whole Hz; 0: as in the file */
    int channel;       /* 0-based, or TRL_CHANNEL_MIX; default 0 */
    double start, end; /* seconds in the file; end < 0: to the end; an end up to 0.5 s after the file's is cut back */
} trl_audio_options;

/* With another rate, n samples become round(n · rate / file rate), sample k keeps the time k / rate (no delay), and a
 * part is what would be cut out of the whole file converted. Seeking is exact to the sample and the bit except in Opus
 * and MP3, whose decoders carry a little of the past along (differences below the coding noise).
 *
 * What encoders put before the sound is left out where the file says how much that is; of MP3 that does not, as much
 * as LAME puts there. Raw AAC, transport streams and AVI say nothing of it: there the sound comes some hundredths of
 * a second later, as in players.
 *
 * What FFmpeg reads, and MP2, does not say how many samples there are: such a file is decoded once more to count
 * them, once in a process. Parts of what FFmpeg reads are quick in their order, since up to 16 decoders wait for the
 * next part, with their files open; else all before a part is decoded too. */

typedef struct trl_audio_info {
    double rate; /* of the file, Hz */
    int channels;
    int64_t frames; /* samples per channel in the whole file */
    double seconds;
    char format[64]; /* "FLAC, 16 bit" */
} trl_audio_info;

TRL_API trl_audio_options trl_audio_defaults(void);

/* Opens a file. info (of the file, not of the part) and options may be NULL.
 * Returns 0, TRL_ENOENT, TRL_EIO, TRL_EFORMAT (not a sound file), TRL_ECORRUPT, TRL_EUNSUPPORTED (e.g. shorten in
 * SPHERE), TRL_EINVAL (no such channel, start or end after the file's end), TRL_ELIMIT (endless pipe), TRL_ENOMEM. */
TRL_API int trl_audio_open(const char *path, const trl_audio_options *options, trl_audio_info *info, trl_audio **out,
                           trl_error *err);
TRL_API void trl_audio_close(trl_audio *audio);

/* Up to `capacity` samples into `samples`; *got = 0 at the end. The samples do not depend on how the reading is
 * divided. Returns 0, TRL_EIO, TRL_ECORRUPT (the file ends before its header says), TRL_ENUMBER. */
TRL_API int trl_audio_read(trl_audio *audio, float *samples, size_t capacity, size_t *got, trl_error *err);

/* The whole part at once; *samples is freed by trl_audio_free. Same results; TRL_ELIMIT above 2^31 samples. */
TRL_API int trl_audio_read_file(const char *path, const trl_audio_options *options, trl_audio_info *info,
                                float **samples, size_t *count, trl_error *err);
TRL_API void trl_audio_free(float *samples);

TRL_END_DECLS

#endif
