/* Any bytes as sound from a pipe, in pieces: at the source's rate and at another. */
#include "audio/sound_stream.h"

#include <string.h>

#define SAMPLES_MOST 200000

typedef struct pipe_bytes {
    const uint8_t *data;
    size_t size;
} pipe_bytes;

static ssize_t give(void *user, void *bytes, size_t size)
{
    pipe_bytes *p = user;
    size_t n = p->size < size ? p->size : size;
    n = n > 700 ? 700 : n;
    memcpy(bytes, p->data, n);
    p->data += n;
    p->size -= n;
    return (ssize_t)n;
}

static void read_through(const uint8_t *data, size_t size, const trl_audio_stream_options *options)
{
    static float samples[1000];
    pipe_bytes bytes = {data, size};
    trl_audio_stream *stream;
    trl_audio_info info;
    trl_error err;
    if (trl__audio_stream_from("fuzz", give, &bytes, options, &info, &stream, &err) < 0)
        return;
    size_t got = 1;
    for (size_t total = 0; got > 0 && total < SAMPLES_MOST; total += got)
        if (trl_audio_stream_read(stream, samples, 1000, &got, &err) < 0)
            break;
    trl_audio_stream_close(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl_audio_stream_options converted = {.rate = 16000, .channel = TRL_CHANNEL_MIX};
    read_through(data, size, NULL);
    read_through(data, size, &converted);
    return 0;
}
