/* trellis decode of sound that comes while it is decoded. */
#ifndef TRELLIS_DECODE_LIVE_H
#define TRELLIS_DECODE_LIVE_H

#include "cli.h"

#include <trellis/audio_stream.h>
#include <trellis/decode_stream.h>
#include <trellis/extract.h>

typedef enum live_format { LIVE_TEXT, LIVE_CTM, LIVE_JSONL } live_format;

typedef struct live_decoding {
    const cli_common *common;
    const char *path;   /* "-": standard input */
    const char *output; /* NULL: standard output */
    live_format format;
    int partial;        /* JSON lines of what it looks like so far, too */
    int pid;            /* > 0: the sound is over when this process is */
    double raw, follow; /* see audio_stream.h; 0: not */
    int channel;        /* see extract.h */
    trl_decode_stream_options options;
} live_decoding;

/* Returns the exit code. */
int live_decode(const live_decoding *live, const trl_model *model, const trl_graph *graph);

#endif
