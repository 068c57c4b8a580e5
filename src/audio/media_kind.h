/* Files as phones, cameras and browsers write them, which libsndfile does not read: what they are, and whether they
 * are whole. */
#ifndef TRL_AUDIO_MEDIA_KIND_H
#define TRL_AUDIO_MEDIA_KIND_H

#include "audio/sound_source.h"

typedef struct trl__media_kind {
    const char *name;    /* "MP4 (M4A, MOV)" */
    const char *demuxer; /* its name in FFmpeg */
    int has_clock;       /* the sound's times count from the beginning of the file, not from that of the sound */
} trl__media_kind;

/* NULL: no such file. */
const trl__media_kind *trl__media_kind_of(trl__sound_source *source);

/* What libsndfile reads as a rule, for when it refuses the coding in it: Speex or FLAC in Ogg, ALAC in CAF. NULL: no
 * such file. */
const trl__media_kind *trl__media_kind_refused(trl__sound_source *source);

/* FFmpeg takes the end of the file for the end of the sound. Files that are lists of parts with a length each are
 * compared with the real size here. Returns 0, TRL_ECORRUPT: the last part is cut off. */
int trl__media_check(trl__sound_source *source, const trl__media_kind *kind, trl_error *err);

#endif
