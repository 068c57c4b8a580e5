#include "audio/sound_source.h"

#include "base/fail.h"
#include "base/input_guard.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW ((size_t)64 << 10)   /* bytes; two reads for three seconds of 16-bit speech at 16 kHz */
#define PIPE_MOST ((size_t)4 << 30) /* bytes that are taken into memory */

/* Everything from fd into memory. */
static int swallow(trl__sound_source *source, int fd, trl_error *err)
{
    size_t size = 0, capacity = 0;
    for (;;) {
        if (TRL_GROW(source->owned, capacity, size + WINDOW))
            return trl__fail_memory(err);
        ssize_t n = read(fd, source->owned + size, capacity - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return trl__fail_errno(err, source->name, "reading failed");
        if (n == 0)
            break;
        size += (size_t)n;
        if (size > PIPE_MOST)
            return trl__fail(err, TRL_ELIMIT, "%s: more than %zu bytes and no end; save it as a file", source->name,
                             PIPE_MOST);
    }
    source->window = source->owned;
    source->window_size = size;
    source->size = size;
    return 0;
}

static int open_fd(trl__sound_source *source, int fd, trl_error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return trl__fail_errno(err, source->name, "reading failed");
    if (S_ISDIR(status.st_mode))
        return trl__fail(err, TRL_EIO, "%s: is a folder, not a sound file", source->name);
    if (!S_ISREG(status.st_mode) || fd == STDIN_FILENO)
        return swallow(source, fd, err);
    source->size = (uint64_t)status.st_size;
    source->owned = trl__alloc(WINDOW, 1);
    if (!source->owned)
        return trl__fail_memory(err);
    source->window = source->owned;
    source->fd = fd;
    return 0;
}

int trl__sound_source_open(const char *path, trl__sound_source *out, trl_error *err)
{
    int standard_input = strcmp(path, "-") == 0;
    *out = (trl__sound_source){.fd = -1, .name = trl__strdup(standard_input ? "standard input" : path)};
    if (!out->name)
        return trl__fail_memory(err);
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? trl__fail_errno(err, path, "can't open") : trl__guard_input(fd, path, err);
    if (rc == 0)
        rc = open_fd(out, fd, err);
    if (fd >= 0 && !standard_input && out->fd < 0)
        close(fd);
    if (rc < 0)
        trl__sound_source_close(out);
    return rc;
}

int trl__sound_source_from_memory(const char *name, const void *bytes, size_t size, trl__sound_source *out,
                                  trl_error *err)
{
    *out = (trl__sound_source){.fd = -1, .window = bytes, .window_size = size, .size = size, .name = trl__strdup(name)};
    return out->name ? 0 : trl__fail_memory(err);
}

void trl__sound_source_close(trl__sound_source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    trl__free(source->owned);
    trl__free(source->name);
    *source = (trl__sound_source){.fd = -1};
}

/* Moves the window to where offset is its first byte. Returns 0 when there is nothing to read. */
static int move_window(trl__sound_source *source, uint64_t offset)
{
    if (source->fd < 0)
        return 0;
    ssize_t n;
    do
        n = pread(source->fd, source->owned, WINDOW, (off_t)offset);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        source->io_error = errno;
    source->window_start = offset;
    source->window_size = n > 0 ? (size_t)n : 0;
    return n > 0;
}

uint64_t trl__sound_source_place(const trl__sound_source *source, uint64_t at)
{
    return at < source->front_size ? 0 : at - source->front_size + source->skipped;
}

size_t trl__sound_source_get(trl__sound_source *source, uint64_t offset, void *bytes, size_t n)
{
    uint8_t *to = bytes;
    size_t done = 0;
    for (; done < n && offset + done < source->front_size; done++)
        to[done] = source->front[offset + done];
    while (done < n && offset + done < source->size) {
        uint64_t at = trl__sound_source_place(source, offset + done);
        if (at < source->window_start || at - source->window_start >= source->window_size)
            if (!move_window(source, at))
                break;
        size_t skip = (size_t)(at - source->window_start);
        size_t part = source->window_size - skip < n - done ? source->window_size - skip : n - done;
        memcpy(to + done, source->window + skip, part);
        done += part;
    }
    for (size_t i = 0; i < source->patch_size; i++)
        if (source->patch_at + i >= offset && source->patch_at + i < offset + done)
            to[source->patch_at + i - offset] = source->patch[i];
    return done;
}

int trl__sound_source_fail(const trl__sound_source *source, trl_error *err)
{
    errno = source->io_error;
    return trl__fail_errno(err, source->name, "reading failed");
}

static sf_count_t io_length(void *user)
{
    return (sf_count_t)((trl__sound_source *)user)->size;
}

static sf_count_t io_seek(sf_count_t offset, int whence, void *user)
{
    trl__sound_source *source = user;
    sf_count_t base = whence == SEEK_SET ? 0 : (sf_count_t)(whence == SEEK_CUR ? source->position : source->size);
    sf_count_t target;
    if (__builtin_add_overflow(base, offset, &target) || target < 0)
        return -1;
    source->position = (uint64_t)target;
    return target;
}

static sf_count_t io_read(void *bytes, sf_count_t count, void *user)
{
    trl__sound_source *source = user;
    size_t n = count > 0 ? trl__sound_source_get(source, source->position, bytes, (size_t)count) : 0;
    source->position += n;
    source->starved = n ? 0 : source->starved + 1;
    return (sf_count_t)n;
}

static sf_count_t io_write(const void *bytes, sf_count_t count, void *user)
{
    (void)bytes, (void)count, (void)user;
    return 0;
}

static sf_count_t io_tell(void *user)
{
    return (sf_count_t)((trl__sound_source *)user)->position;
}

SF_VIRTUAL_IO trl__sound_source_io = {
    .get_filelen = io_length, .seek = io_seek, .read = io_read, .write = io_write, .tell = io_tell};
