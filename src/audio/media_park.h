/* Decoders that wait for the next part of their file. To a part FFmpeg decodes from the beginning on, so that a
 * sample is the same whatever part it is read in; the parts of a recording mostly come one after the other, and where
 * one has ended the next goes on. In one place for all threads. */
#ifndef TRL_AUDIO_MEDIA_PARK_H
#define TRL_AUDIO_MEDIA_PARK_H

#include "audio/media.h"

/* Puts a decoder in the place of this one, if one waits that is of the same unchanged file and further on, but not
 * beyond this frame. */
void trl__media_take_parked(trl__media **media, trl__sound_source *source, int64_t frame);

/* At the end of use: lets it wait, or closes it. The source goes with it, or stays the caller's. */
void trl__media_park(trl__media *media, trl__sound_source *source);

#endif
