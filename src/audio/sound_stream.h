/* A stream of sound from any source of bytes. */
#ifndef TRL_AUDIO_SOUND_STREAM_H
#define TRL_AUDIO_SOUND_STREAM_H

#include <sys/types.h>
#include <trellis/audio_stream.h>

/* As read(2): waits; 0 at the end, -1 with errno. */
typedef ssize_t (*trl__read_fn)(void *user, void *bytes, size_t size);

/* `name` stands for the source in messages. */
int trl__audio_stream_from(const char *name, trl__read_fn read, void *user, const trl_audio_stream_options *options,
                           trl_audio_info *info, trl_audio_stream **out, trl_error *err);

#endif
