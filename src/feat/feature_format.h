/* What a feature format provides: a way to open it for reading, for writing, or both, and a small table of functions.
 *
 * feature_file.c chooses the format by the place, checks ids and numbers for all of them, and calls through the
 * tables. A format's own struct starts with the struct below.
 */
#ifndef TRL_FEAT_FEATURE_FORMAT_H
#define TRL_FEAT_FEATURE_FORMAT_H

#include "base/byte_source.h"
#include "base/container.h"
#include "base/string_table.h"
#include "base/text_file.h"

#include <trellis/feature_file.h>
#include <trellis/file.h>

typedef struct trl__reader_class {
    int (*next)(trl_feature_reader *reader, const char **id, trl_matrix *frames, trl_error *err);
    void (*close)(trl_feature_reader *reader);
    /* NULL where the format has none of it: */
    int (*find)(trl_feature_reader *reader, const char *id, trl_matrix *frames, trl_error *err);
    size_t (*count)(const trl_feature_reader *reader);
    int (*get)(trl_feature_reader *reader, size_t index, const char **id, trl_matrix *frames, trl_error *err);
    void (*ahead)(const trl_feature_reader *reader, size_t first, size_t end);
    const char *(*frontend)(const trl_feature_reader *reader);
    const char *(*provenance)(const trl_feature_reader *reader);
} trl__reader_class;

struct trl_feature_reader {
    const trl__reader_class *class;
    char *place; /* for messages; set by feature_file.c */
    /* By utterance: checksum and numbers were found good, and need no second look while the file is open. NULL: not
     * kept. */
    _Atomic unsigned char *checked;
};

typedef struct trl__writer_class {
    int (*add)(trl_feature_writer *writer, const char *id, const trl_matrix *frames, trl_error *err);
    int (*commit)(trl_feature_writer *writer, trl_error *err); /* puts the files in place; `discard` follows */
    void (*discard)(trl_feature_writer *writer);               /* frees everything of the format, the struct too */
} trl__writer_class;

struct trl_feature_writer {
    const trl__writer_class *class;
    char *place;
    char *frontend;   /* the description; "": none */
    trl__strings ids; /* all that were added */
    int failed;       /* the error after which only an end makes sense, or 0 */
};

typedef struct trl__feature_format {
    const char *prefix;                                                      /* "ark" for "ark:…" */
    const char *endings[6];                                                  /* of file names; ends with NULL */
    int (*open)(const char *path, trl_feature_reader **out, trl_error *err); /* NULL: not readable */
    int (*create)(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                  trl_error *err); /* NULL: not writable */
    const char *instead;           /* what to do where one of them is NULL */
} trl__feature_format;

extern const trl__feature_format trl__packed_format, trl__ark_format, trl__ark_text_format, trl__scp_format,
    trl__ark_scp_format, trl__ark_text_scp_format, trl__htk_format, trl__npy_format;

/* Readers from memory, for tests. The source or text or container is taken over, also on failure. */
int trl__ark_from_source(trl__source *source, trl_feature_reader **out, trl_error *err);
int trl__scp_from_text(trl__text *text, const char *path, trl_feature_reader **out, trl_error *err);
int trl__packed_from_container(trl__container *container, trl_feature_reader **out, trl_error *err);

#define TRL__ARK_ID 4096 /* bytes; a file without blanks is no archive */

/* The id in front of each object of a Kaldi archive, and the blank behind it. Returns 1, 0 at the end of the archive,
 * or an error. */
int trl__ark_read_id(trl__source *source, char id[TRL__ARK_ID + 1], trl_error *err);

/* One HTK parameter file or NumPy file, from its first byte to its last. */
int trl__htk_read(trl__source *source, trl_matrix *frames, trl_error *err);
int trl__npy_read(trl__source *source, trl_matrix *frames, trl_error *err);

/* A writer that makes one file per utterance, in a folder, or a single one: `encode` writes the file's whole content.
 * A place with one of the endings is a file, anything else a folder, which is made when it is missing. */
typedef int (*trl__encode_fn)(trl_file *file, const trl_matrix *frames, const trl_feature_writer_options *options,
                              trl_error *err);
int trl__file_per_utterance(const char *path, const trl__feature_format *format, trl__encode_fn encode,
                            const trl_feature_writer_options *options, trl_feature_writer **out, trl_error *err);

/* The reader of what it writes: `decode` reads a file from its first byte to its last. */
typedef int (*trl__decode_fn)(trl__source *source, trl_matrix *frames, trl_error *err);
int trl__file_per_utterance_open(const char *path, const trl__feature_format *format, trl__decode_fn decode,
                                 trl_feature_reader **out, trl_error *err);

/* "folder/id.ending", freed by trl__free. TRL_EINVAL: the id has a slash or begins with a dot. */
int trl__utterance_path(const char *folder, const char *id, const char *ending, char **out, trl_error *err);

/* All numbers as float32, little-endian, row by row. */
int trl__write_floats(trl_file *file, const trl_matrix *matrix, trl_error *err);

/* Does the path end in one of the format's endings? */
int trl__has_ending(const char *path, const trl__feature_format *format);

/* 0, or TRL_EFORMAT: an id is UTF-8 without blanks and control characters. `where` begins the message. */
int trl__check_id(const char *where, const char *id, trl_error *err);

#endif
