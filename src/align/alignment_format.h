/* What a format of alignment files provides: names of files that hold everything, and functions that fill them.
 *
 * alignment_file.c makes the folder and these files, checks every alignment, and calls through the table; formats that
 * go by recordings instead of utterances get them at the end, from recordings.c.
 */
#ifndef TRL_ALIGN_ALIGNMENT_FORMAT_H
#define TRL_ALIGN_ALIGNMENT_FORMAT_H

#include "align/recordings.h"

#include <trellis/alignment_file.h>
#include <trellis/file.h>

#define TRL__FORMAT_FILES 2
#define TRL__COMPLETE_MOST 64

typedef struct trl__alignment_format trl__alignment_format;

/* Complete files that wait to be put in place together. */
typedef struct trl__complete_files {
    trl_file *items[TRL__COMPLETE_MOST];
    size_t count;
} trl__complete_files;

/* One format of an open writer. */
typedef struct trl__alignment_sink {
    const trl__alignment_format *format;
    const trl_alignment_writer_options *options;
    const char *folder;
    trl_file *files[TRL__FORMAT_FILES]; /* as the format's table names them */
    trl__complete_files *complete;      /* of the writer */
    void *own;                          /* what else the format has open */
} trl__alignment_sink;

struct trl__alignment_format {
    const char *name;
    const char *files[TRL__FORMAT_FILES]; /* that hold all utterances; NULL: none */
    /* Each may be NULL: */
    int (*begin)(trl__alignment_sink *sink, trl_error *err);
    int (*add)(trl__alignment_sink *sink, const trl_alignment *alignment, trl_error *err); /* in corpus order */
    int (*recording)(trl__alignment_sink *sink, const trl__recording *recording,
                     trl_error *err);                         /* in order of names */
    int (*finish)(trl__alignment_sink *sink, trl_error *err); /* before the files are put in place */
    void (*discard)(trl__alignment_sink *sink);               /* frees `own`, at every end */
};

extern const trl__alignment_format trl__textgrid_output, trl__ctm_output, trl__jsonl_output, trl__kaldi_output,
    trl__mlf_output, trl__vtt_output, trl__srt_output;

/* A line of CTM: a segment of an utterance. */
int trl__ctm_line(trl_file *file, const char *recording, const trl_utterance *utterance, const trl_segment *segment,
                  trl_error *err);

/* Makes FOLDER/NAMEending. */
int trl__sink_file(const trl__alignment_sink *sink, const char *name, const char *ending, trl_file **out,
                   trl_error *err);

/* The end of such a file: with code 0 it will be put in place, else it is forgotten. Returns the code or a failure of
 * its own. */
int trl__sink_close(const trl__alignment_sink *sink, trl_file *file, int code, trl_error *err);

#endif
