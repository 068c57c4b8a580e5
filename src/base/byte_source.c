#include "base/byte_source.h"
#include "base/fail.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    return 0;
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

/* Reads until `needed` bytes are buffered or the input ends. Returns 0 or an error. */
static int fill(trl__source *source, size_t needed, trl_error *err)
{
    if (source->fd < 0)
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
        ssize_t got = read(source->fd, source->buffer + source->end, step);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return trl__fail_errno(err, source->name, "reading failed");
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
