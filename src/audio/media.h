/* The sound of what libsndfile does not read (MP4, WebM, Windows Media …, also with pictures), by FFmpeg's libraries.
 *
 * Samples are those that players play: what encoders put before and behind the sound is left out, as edit lists and
 * the like say. Where the file's times leave a gap there is silence, and where they overlap samples are left out, so
 * that a sample's time is that of the picture beside it. One thread at a time.
 */
#ifndef TRL_AUDIO_MEDIA_H
#define TRL_AUDIO_MEDIA_H

#include "audio/media_kind.h"

typedef struct trl__media trl__media;

typedef struct trl__media_facts {
    int rate, channels;
    char format[64];
} trl__media_facts;

/* The source must outlive it, or be moved. Returns 0, TRL_ECORRUPT, TRL_EFORMAT: no sound in it, TRL_EUNSUPPORTED: no
 * decoder, or this build or machine has no FFmpeg; TRL_EIO, TRL_ENOMEM. How many samples there are shows only at the
 * end. */
int trl__media_open(trl__sound_source *source, const trl__media_kind *kind, trl__media_facts *facts, trl__media **out,
                    trl_error *err);
void trl__media_close(trl__media *media);

/* Up to n frames of all channels, interleaved; *got = 0 at the end. */
int trl__media_read(trl__media *media, float *frames, size_t n, size_t *got, trl_error *err);

/* How many frames have been read or left out; and then the next frame read is this one, which is not before. */
int64_t trl__media_position(const trl__media *media);
void trl__media_go_to(trl__media *media, int64_t frame);

/* Neither at the end nor failed? Then it can be kept, with its source at another place. */
int trl__media_goes_on(const trl__media *media);
void trl__media_move(trl__media *media, trl__sound_source *source);

#endif
