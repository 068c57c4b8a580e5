/* FLAC from a pipe does not say how many samples there are, and libFLAC takes the end of the file for the end of the
 * sound. */
#ifndef TRL_AUDIO_FLAC_END_H
#define TRL_AUDIO_FLAC_END_H

#include "audio/sound_source.h"

/* TRL_ECORRUPT where a file without that number does not end with a whole and undamaged frame. */
int trl__flac_check_end(trl__sound_source *source, trl_error *err);

#endif
