/* How long sounds are whose files do not say it. They are decoded to count, which the many parts of a recording would
 * have done for each of them: the last files' lengths are kept, in one place for all threads. */
#ifndef TRL_AUDIO_SOUND_LENGTH_H
#define TRL_AUDIO_SOUND_LENGTH_H

#include "audio/sound_source.h"

#include <sys/stat.h>

/* Returns 1 where this is a file whose time of change tells of every later change: it is some seconds old. */
int trl__is_settled_file(const trl__sound_source *source, struct stat *file);
int trl__is_same_file(const struct stat *a, const struct stat *b);

/* Returns 1 where the file is known and has not changed since, as far as its size and time of change tell. */
int trl__sound_length_known(const trl__sound_source *source, int64_t *frames);
void trl__sound_length_remember(const trl__sound_source *source, int64_t frames);

#endif
