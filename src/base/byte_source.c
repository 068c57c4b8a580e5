#include "base/byte_source.h"
#include "base/fail.h"
#include "base/gzip_read.h"
#include "base/input_guard.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK ((size_t)64 << 10)    /* bytes read ahead */
#define STEP_MOST ((size_t)1 << 24) /* a pipe's promise is believed 16 MiB at a time */

static int attach(trl__source *source, int fd, const char *path, trl_error *err)
{
    source->fd = fd;
    if (fd < 0)
        return trl__fail_errno(err, path, "can't open");
    struct stat status;
    if (fstat(fd, &status) != 0)
        return trl__fail_errno(err, path, "can't open");
    if (S_ISDIR(status.st_mode))
        return trl__fail(err, TRL_EIO, "%s: is a folder, not a file", path);
    off_t here = S_ISREG(status.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    source->size = here >= 0 ? (uint64_t)status.st_size : UINT64_MAX;
    source->offset = here > 0 ? (uint64_t)here : 0;
    return trl__guard_input(fd, path, err);
}

int trl__source_open(const char *path, trl__source *out, trl_error *err)
{
    int standard = strcmp(path, "-") == 0;
    *out = (trl__source){.fd = -1, .line = 1};
    out->name = trl__strdup(standard ? "standard input" : path);
    if (!out->name)
        return trl__fail_memory(err);
    int code = attach(out, standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC), path, err);
    if (code < 0)
        trl__source_close(out);
    return code;
}

/* Does the file begin as gzip's do? A pipe can't be asked without taking bytes from it; zlib passes plain ones
 * through. */
static int may_be_packed(const trl__source *source)
{
    unsigned char magic[2];
    return source->size == UINT64_MAX ||
           (pread(source->fd, magic, sizeof magic, (off_t)source->offset) == sizeof magic && magic[0] == 0x1F &&
            magic[1] == 0x8B);
}

int trl__source_open_packed(const char *path, trl__source *out, trl_error *err)
{
    int code = trl__source_open(path, out, err);
    if (code < 0 || !may_be_packed(out))
        return code;
    out->packed = gzdopen(out->fd, "rb");
    if (!out->packed) {
        trl__source_close(out);
        return trl__fail_memory(err);
    }
    gzbuffer(out->packed, 1 << 17);
    out->fd = -1; /* zlib's now */
    out->size = UINT64_MAX;
    out->offset = 0;
    return 0;
}

int trl__source_from_memory(const char *name, const void *bytes, size_t size, trl__source *out, trl_error *err)
{
    *out = (trl__source){.fd = -1, .line = 1, .size = size, .end = size, .capacity = size};
    out->name = trl__strdup(name);
    out->buffer = trl__alloc(size, 1);
    if (!out->name || !out->buffer) {
        trl__source_close(out);
        return trl__fail_memory(err);
    }
    if (size > 0)
        memcpy(out->buffer, bytes, size);
    return 0;
}

void trl__source_close(trl__source *source)
{
    if (source->packed)
        gzclose_r(source->packed);
    if (source->fd >= 0)
        close(source->fd);
    trl__free(source->name);
    trl__free(source->buffer);
    *source = (trl__source){.fd = -1};
}

#undef trl__source_fail
int trl__source_fail(const trl__source *source, trl_error *err, int code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (source->line > 0)
        return trl__fail_line(err, code, source->name, source->line, "%s", text);
    return trl__fail_byte(err, code, source->name, source->offset, "%s", text);
}

/* Up to `size` bytes: how many came, 0 at the end, or an error. */
static ssize_t read_some(trl__source *source, void *bytes, size_t size, trl_error *err)
{
    if (source->packed)
        return trl__gzip_read(source->packed, source->name, bytes, size, &source->unpacked, err);
    ssize_t got;
    do
        got = read(source->fd, bytes, size);
    while (got < 0 && errno == EINTR);
    return got < 0 ? trl__fail_errno(err, source->name, "reading failed") : got;
}

/* Reads until `needed` bytes are buffered or the input ends. Returns 0 or an error. */
static int fill(trl__source *source, size_t needed, trl_error *err)
{
    if (source->fd < 0 && !source->packed)
        return 0;
    if (source->start > 0) {
        memmove(source->buffer, source->buffer + source->start, source->end - source->start);
        source->end -= source->start;
        source->start = 0;
    }
    while (source->end < needed) {
        size_t step = needed - source->end;
        step = step < CHUNK ? CHUNK : step < STEP_MOST ? step : STEP_MOST;
        if (TRL_GROW(source->buffer, source->capacity, source->end + step) < 0)
            return trl__fail_memory(err);
        ssize_t got = read_some(source, source->buffer + source->end, step, err);
        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
        source->end += (size_t)got;
    }
    return 0;
}

int trl__source_peek(trl__source *source, trl_error *err)
{
    if (source->start == source->end) {
        int code = fill(source, 1, err);
        if (code < 0)
            return code;
        if (source->start == source->end)
            return TRL__SOURCE_END;
    }
    return source->buffer[source->start];
}

int trl__source_get(trl__source *source, trl_error *err)
{
    int c = trl__source_peek(source, err);
    if (c < 0)
        return c;
    source->start++;
    source->offset++;
    if (c == '\n' && source->line > 0)
        source->line++;
    return c;
}

int trl__source_starts(trl__source *source, const void *bytes, size_t size, trl_error *err)
{
    int code = source->end - source->start < size ? fill(source, size, err) : 0;
    if (code < 0)
        return code;
    return source->end - source->start >= size && memcmp(source->buffer + source->start, bytes, size) == 0;
}

int trl__source_take(trl__source *source, uint64_t size, const unsigned char **bytes, trl_error *err)
{
    uint64_t rest = source->size == UINT64_MAX      ? UINT64_MAX
                    : source->offset < source->size ? source->size - source->offset
                                                    : 0;
    int code =
        size > rest || size > SIZE_MAX / 2 || source->end - source->start >= size ? 0 : fill(source, (size_t)size, err);
    if (code < 0)
        return code;
    if (source->end - source->start < size) {
        uint64_t there = rest != UINT64_MAX ? rest : source->end - source->start;
        return trl__fail_byte(err, TRL_ECORRUPT, source->name, source->offset,
                              "%" PRIu64 " more bytes should follow, but there are only %" PRIu64
                              "; the file is cut off or not what it claims to be",
                              size, there);
    }
    *bytes = source->buffer + source->start;
    source->start += (size_t)size;
    source->offset += size;
    return 0;
}

/* The length of the next line with its end, or of what is left when no line end follows. */
static int find_line(trl__source *source, size_t *length, trl_error *err)
{
    size_t searched = 0;
    for (;;) {
        size_t there = source->end - source->start;
        const unsigned char *first = there > 0 ? source->buffer + source->start : source->buffer;
        const unsigned char *end = there > searched ? memchr(first + searched, '\n', there - searched) : NULL;
        *length = end ? (size_t)(end - first) + 1 : there;
        if (end)
            return 0;
        searched = there;
        int code = fill(source, there + 1, err);
        if (code < 0 || source->end - source->start == there)
            return code;
    }
}

int trl__source_line(trl__source *source, char **line, size_t *length, trl_error *err)
{
    size_t n;
    int code = find_line(source, &n, err);
    source->line += source->line_taken;
    source->line_taken = 0;
    if (code < 0 || n == 0)
        return code;
    if (source->start + n == source->capacity && TRL_GROW(source->buffer, source->capacity, source->capacity + 1) < 0)
        return trl__fail_memory(err); /* a last line without an end needs room for the NUL */
    char *first = (char *)source->buffer + source->start;
    size_t used = first[n - 1] == '\n' ? n - 1 : n;
    source->start += n;
    if (source->offset == 0 && used >= 3 && memcmp(first, "\xEF\xBB\xBF", 3) == 0)
        first += 3, used -= 3;
    source->offset += n;
    source->line_taken = source->line > 0;
    used -= used > 0 && first[used - 1] == '\r';
    first[used] = '\0';
    *line = first;
    *length = used;
    return 1;
}

int trl__source_seek(trl__source *source, uint64_t offset, trl_error *err)
{
    if (source->size == UINT64_MAX)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: can't jump to byte %" PRIu64 " of a pipe", source->name, offset);
    if (offset > source->size)
        return trl__fail(err, TRL_ECORRUPT, "%s: there is no byte %" PRIu64 ", the file has %" PRIu64, source->name,
                         offset, source->size);
    if (source->fd < 0) {
        source->start = (size_t)offset;
    } else if (offset >= source->offset && offset - source->offset <= source->end - source->start) {
        source->start += (size_t)(offset - source->offset);
    } else {
        if (lseek(source->fd, (off_t)offset, SEEK_SET) < 0)
            return trl__fail_errno(err, source->name, "reading failed");
        source->start = source->end = 0;
    }
    source->offset = offset;
    source->line = offset == 0;
    return 0;
}
