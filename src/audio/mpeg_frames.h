/* MP3 is a chain of frames, each with its length in its header. libsndfile passes over what is no frame, and guesses
 * the length of a file whose first frame does not count the others. */
#ifndef TRL_AUDIO_MPEG_FRAMES_H
#define TRL_AUDIO_MPEG_FRAMES_H

#include "audio/sound_source.h"

/* Looks at a file that begins with a frame or an ID3 tag. Without a count of frames the chain is followed to the end,
 * and the source shown with a count (of layers I and II: is_uncounted is set). A frame that is cut off, or bytes
 * between frames that are no tag, are TRL_ECORRUPT. What only begins like a frame is left to
 * trl__sound_header_explain. */
int trl__mpeg_check(trl__sound_source *source, trl_error *err);

#endif
