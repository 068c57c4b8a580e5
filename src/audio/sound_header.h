/* What libsndfile does not tell: what a file that it refuses is, and whether the file is as long as its header says. */
#ifndef TRL_AUDIO_SOUND_HEADER_H
#define TRL_AUDIO_SOUND_HEADER_H

#include "audio/sound_source.h"

/* Before libsndfile opens the source: fails with TRL_ECORRUPT where bytes are missing at the end, TRL_EFORMAT for an
 * empty file, TRL_EUNSUPPORTED for packed SPHERE. A sound length of 0 that only says "written to a pipe" is patched. */
int trl__sound_header_check(trl__sound_source *source, trl_error *err);

/* Is this 4-byte length of the sound one that says "written to a pipe"? Then it goes on to the end. */
int trl__is_streamed_length(uint64_t length);

/* After libsndfile has refused the source: says why, as far as the bytes show. Always fails. */
int trl__sound_header_explain(trl__sound_source *source, trl_error *err);

#endif
