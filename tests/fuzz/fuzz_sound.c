/* Any bytes as a sound file: opened, a part of it read at the file's rate and at another. The number of samples is
 * bounded here because honest files can be long: FLAC holds hours of silence in a few hundred bytes. */
#include "audio/audio_memory.h"

#define SAMPLES_MOST 200000

static void read_through(const uint8_t *data, size_t size, const trl_audio_options *options)
{
    static float samples[4096];
    trl_audio *audio;
    trl_audio_info info;
    trl_error err;
    if (trl__audio_open_memory("fuzz", data, size, options, &info, &audio, &err) < 0)
        return;
    size_t got = 1;
    for (size_t total = 0; got > 0 && total < SAMPLES_MOST; total += got)
        if (trl_audio_read(audio, samples, 4096, &got, &err) < 0)
            break;
    trl_audio_close(audio);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl_audio_options converted = {16000, TRL_CHANNEL_MIX, 0.01, -1};
    read_through(data, size, NULL);
    read_through(data, size, &converted);
    return 0;
}
