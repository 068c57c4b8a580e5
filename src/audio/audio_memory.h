/* A sound file whose bytes are in memory. */
#ifndef TRL_AUDIO_AUDIO_MEMORY_H
#define TRL_AUDIO_AUDIO_MEMORY_H

#include <trellis/audio.h>

/* As trl_audio_open; `name` stands for the file in messages. The bytes must outlive the object. */
int trl__audio_open_memory(const char *name, const void *bytes, size_t size, const trl_audio_options *options,
                           trl_audio_info *info, trl_audio **out, trl_error *err);

#endif
