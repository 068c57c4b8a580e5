/* A stream of bytes to parse: a file, standard input or memory, with the place for messages.
 *
 *     trl__source source;
 *     trl__source_open("feats.ark", &source, err);
 *     while ((c = trl__source_peek(&source, err)) >= 0) …           // TRL__SOURCE_END at the end
 *     trl__source_take(&source, size, &bytes, err);                 // the next `size` bytes, whole
 *     trl__source_close(&source);
 *
 * A size that a file claims for itself is compared with what is left before memory is taken for it; a pipe's length
 * is not known, so there the memory grows with the bytes that come.
 */
#ifndef TRL_BASE_BYTE_SOURCE_H
#define TRL_BASE_BYTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

#define TRL__SOURCE_END (-1000) /* apart from every TRL_E… */

typedef struct trl__source {
    char *name;            /* for messages */
    int fd;                /* -1: memory, or unpacked below */
    void *packed;          /* zlib's handle, of a file that may be gzip's; NULL: bytes as they are */
    uint64_t unpacked;     /* bytes that came from it */
    uint64_t size;         /* of the whole, UINT64_MAX for a pipe */
    unsigned char *buffer; /* bytes that were read ahead */
    size_t start, end, capacity;
    uint64_t offset; /* of buffer[start] in the file */
    int64_t line;    /* of the next byte, from 1; 0 when it isn't known (after a seek) */
    int line_taken;  /* by trl__source_line: `line` is that line's */
} trl__source;

/* "-" is standard input. Returns 0, TRL_ENOENT, TRL_EIO, TRL_ENOMEM. */
int trl__source_open(const char *path, trl__source *out, trl_error *err);

/* The same; a file that gzip packed is unpacked on the way. Its length counts as unknown, as a pipe's. */
int trl__source_open_packed(const char *path, trl__source *out, trl_error *err);

/* A copy is made; `name` stands for the file in messages. */
int trl__source_from_memory(const char *name, const void *bytes, size_t size, trl__source *out, trl_error *err);

void trl__source_close(trl__source *source);

/* The next byte without or with moving past it: 0 … 255, TRL__SOURCE_END, or an error. `get` counts lines. */
int trl__source_peek(trl__source *source, trl_error *err);
int trl__source_get(trl__source *source, trl_error *err);

/* Are these the next bytes? 1, 0 or an error; nothing moves. */
int trl__source_starts(trl__source *source, const void *bytes, size_t size, trl_error *err);

/* The next `size` bytes, valid until the next call: 0, or TRL_ECORRUPT when the file has fewer, TRL_EIO, TRL_ENOMEM. */
int trl__source_take(trl__source *source, uint64_t size, const unsigned char **bytes, trl_error *err);

/* The next line, NUL-terminated in place, without its end (LF or CRLF); valid until the next call: 1, 0 at the end
 * of the input, or an error. source->line is the line's own number until the next call. A byte-order mark at the
 * start is skipped. */
int trl__source_line(trl__source *source, char **line, size_t *length, trl_error *err);

/* Moves to a place in the file. Returns 0, TRL_EUNSUPPORTED for a pipe, TRL_ECORRUPT past the end, TRL_EIO. */
int trl__source_seek(trl__source *source, uint64_t offset, trl_error *err);

/* Fails with the place of the next byte: "name:line: …" in text whose lines were counted, else "name: at byte N: …". */
int trl__source_fail(const trl__source *source, trl_error *err, int code, const char *format, ...) TRL_PRINTF(4, 5);

/* As in fail.h: clang's analyzer learns that a failure is never 0. */
#ifdef __clang_analyzer__
#define trl__source_fail(...) (trl__source_fail(__VA_ARGS__), -1)
#endif

#endif
