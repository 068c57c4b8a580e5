/* Atomic replacement: the new content is written to a file without a name in the target's folder, synced, linked under
 * a temporary name and renamed over the target. Where O_TMPFILE is missing, the temporary name exists from the start.
 */
#define _GNU_SOURCE
#include "base/fail.h"
#include "base/input_guard.h"
#include "base/memory.h"
#include "base/path.h"

#include <trellis/file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_SIZE ((size_t)256 << 10)

struct trl_file {
    int fd;
    int direct;      /* 1: standard output, a pipe or a device: nothing to put in place */
    int named;       /* 1: `temporary` exists in the folder */
    int failed;      /* 1: bytes are missing, a commit must not succeed */
    char *path;      /* the target, symbolic links followed */
    char *temporary; /* NULL when direct */
    char *buffer;
    size_t buffered;
    uint64_t written; /* bytes handed to the system */
    trl__claim *claim;
    int in_place; /* 1: renamed */
};

static void discard(trl_file *file)
{
    trl__guard_leave(file->claim, file->in_place);
    if (file->named)
        unlink(file->temporary);
    if (file->fd >= 0)
        close(file->fd);
    trl__free(file->path);
    trl__free(file->temporary);
    trl__free(file->buffer);
    trl__free(file);
}

#define TEMPORARY_SIZE(path) (strlen(path) + 48)

/* Another name beside the target, not longer than a name may be. It may be taken, by a process of another machine or
 * container with the same number, or by one that was killed: then the next one is tried. */
static void choose_temporary(trl_file *file)
{
    static _Atomic unsigned counter;
    const char *slash = strrchr(file->path, '/');
    int folder = slash ? (int)(slash - file->path + 1) : 0;
    snprintf(file->temporary, TEMPORARY_SIZE(file->path), "%.*s.%.200s.%ld-%u.tmp", folder, file->path,
             file->path + folder, (long)getpid(), counter++);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return trl__strdup(".");
    char *folder = trl__strdup(path);
    if (folder)
        folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

/* A file without a name, or -1 where the system can't make one or (without /proc) could not name it later. */
static int open_nameless(const char *folder)
{
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) == 0)
        return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
    (void)folder;
    return -1;
}

static int open_temporary(trl_file *file, trl_error *err)
{
    char *folder = folder_of(file->path);
    file->temporary = trl__alloc(TEMPORARY_SIZE(file->path), 1);
    if (!folder || !file->temporary) {
        trl__free(folder);
        return trl__fail_memory(err);
    }
    file->fd = open_nameless(folder);
    trl__free(folder);
    if (file->fd >= 0)
        return 0;
    do {
        choose_temporary(file);
        file->fd = open(file->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    } while (file->fd < 0 && errno == EEXIST);
    file->named = file->fd >= 0;
    return file->fd < 0 ? trl__fail_errno(err, file->path, "can't create") : 0;
}

static char *resolve(const char *path);

/* Where a link leads whose target does not exist yet; relative targets start at the link's folder. */
static char *resolve_dangling(const char *path, const char *target)
{
    char *joined = trl__path_beside(path, target);
    char *resolved = joined ? resolve(joined) : NULL;
    trl__free(joined);
    return resolved;
}

/* Symbolic links are followed, so that the link stays and what it points at is replaced. */
static char *resolve(const char *path)
{
    char target[4096];
    char *real = realpath(path, NULL);
    ssize_t length = !real && errno == ENOENT ? readlink(path, target, sizeof target - 1) : -1;
    target[length > 0 ? length : 0] = '\0';
    char *resolved = length > 0 ? resolve_dangling(path, target) : trl__strdup(real ? real : path);
    free(real);
    return resolved;
}

static int open_target(trl_file *file, const char *path, trl_error *err)
{
    if (strcmp(path, "-") == 0) {
        file->direct = 1;
        file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return file->fd < 0 ? trl__fail_errno(err, "standard output", "can't write") : 0;
    }
    if (path[0] == '\0')
        return trl__fail(err, TRL_ENOENT, "an empty file name can't be written");
    struct stat status;
    int exists = stat(path, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return trl__fail(err, TRL_EIO, "%s: is a folder; name a file to write", path);
    if (exists && !S_ISREG(status.st_mode)) {
        file->direct = 1;
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
        return file->fd < 0 ? trl__fail_errno(err, path, "can't write") : 0;
    }
    int code = trl__guard_output(path, file->path, &file->claim, err);
    return code < 0 ? code : open_temporary(file, err);
}

int trl_file_create(const char *path, trl_file **out, trl_error *err)
{
    *out = NULL;
    trl_file *file = trl__alloc_zero(1, sizeof *file);
    if (!file)
        return trl__fail_memory(err);
    file->fd = -1;
    file->path = resolve(path);
    file->buffer = trl__alloc(BUFFER_SIZE, 1);
    int code = file->path && file->buffer ? open_target(file, path, err) : trl__fail_memory(err);
    if (code < 0) {
        discard(file);
        return code;
    }
    *out = file;
    return 0;
}

static int write_out(trl_file *file, const char *bytes, size_t size, trl_error *err)
{
    while (size > 0) {
        ssize_t done = write(file->fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            file->failed = 1;
            return trl__fail_errno(err, file->path, "writing failed");
        }
        bytes += done;
        size -= (size_t)done;
        file->written += (uint64_t)done;
    }
    return 0;
}

static int flush(trl_file *file, trl_error *err)
{
    size_t size = file->buffered;
    file->buffered = 0;
    return write_out(file, file->buffer, size, err);
}

int trl_file_write(trl_file *file, const void *bytes, size_t size, trl_error *err)
{
    if (size == 0)
        return 0;
    if (size > BUFFER_SIZE - file->buffered) {
        int code = flush(file, err);
        if (code < 0)
            return code;
    }
    if (size >= BUFFER_SIZE)
        return write_out(file, bytes, size, err);
    memcpy(file->buffer + file->buffered, bytes, size);
    file->buffered += size;
    return 0;
}

int trl_file_print(trl_file *file, trl_error *err, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    char small[512];
    int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    int code;
    if (length < 0) {
        code = trl__fail(err, TRL_EINVAL, "%s: text that can't be formatted", file->path);
    } else if ((size_t)length < sizeof small) {
        code = trl_file_write(file, small, (size_t)length, err);
    } else {
        char *large = trl__alloc((size_t)length + 1, 1);
        if (large)
            vsnprintf(large, (size_t)length + 1, format, again);
        code = large ? trl_file_write(file, large, (size_t)length, err) : trl__fail_memory(err);
        trl__free(large);
    }
    va_end(again);
    return code;
}

uint64_t trl_file_position(const trl_file *file)
{
    return file->written + file->buffered;
}

int trl_file_rewrite(trl_file *file, uint64_t offset, const void *bytes, size_t size, trl_error *err)
{
    if (file->direct)
        return trl__fail(err, TRL_EUNSUPPORTED, "%s: this format needs a file that can be rewritten, not a pipe",
                         file->path);
    if (offset > trl_file_position(file) || size > trl_file_position(file) - offset)
        return trl__fail(err, TRL_EINVAL, "%s: only written bytes can be rewritten", file->path);
    int code = flush(file, err);
    const char *from = bytes;
    while (code == 0 && size > 0) {
        ssize_t done = pwrite(file->fd, from, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            file->failed = 1;
            return trl__fail_errno(err, file->path, "writing failed");
        }
        from += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return code;
}

/* Gives the nameless file its temporary name. */
static int give_name(trl_file *file)
{
    if (file->named)
        return 0;
    char link_path[64];
    snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", file->fd);
    int code;
    do {
        choose_temporary(file);
        code = linkat(AT_FDCWD, link_path, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW);
    } while (code != 0 && errno == EEXIST);
    file->named = code == 0;
    return code;
}

/* The rename itself must survive a power cut too. Some file systems can't sync a folder: that is no failure. */
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    trl__free(folder);
}

/* A file that is replaced keeps its permissions. */
static void keep_mode(trl_file *file)
{
    struct stat status;
    if (stat(file->path, &status) == 0 && fchmod(file->fd, status.st_mode & 07777) != 0)
        errno = 0;
}

/* Asks the system to begin with the writing, so that the waits of many files overlap. */
static int write_out_buffer(trl_file *file, trl_error *err)
{
    int code = file->failed ? trl__fail(err, TRL_EIO, "%s: an earlier write failed", file->path) : flush(file, err);
#ifdef SYNC_FILE_RANGE_WRITE
    if (code == 0 && !file->direct)
        (void)!sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
    return code;
}

static int wait_for_disk(trl_file *file, trl_error *err)
{
    if (file->direct)
        return 0;
    keep_mode(file);
    return fsync(file->fd) != 0 ? trl__fail_errno(err, file->path, "writing to the disk failed") : 0;
}

static int put_in_place(trl_file *file, trl_error *err)
{
    if (file->direct)
        return 0;
    int code = trl__guard_replace(file->claim, err);
    if (code < 0)
        return code;
    if (give_name(file) != 0 || rename(file->temporary, file->path) != 0)
        return trl__fail_errno(err, file->path, "can't put the new file in place");
    file->named = 0;
    file->in_place = 1;
    return 0;
}

static int same_folder(const char *a, const char *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    size_t length = x ? (size_t)(x - a) : 0;
    return length == (y ? (size_t)(y - b) : 0) && (x != NULL) == (y != NULL) && strncmp(a, b, length) == 0;
}

int trl_file_commit_all(trl_file *const *files, size_t count, trl_error *err)
{
    static int (*const steps[])(trl_file *, trl_error *) = {write_out_buffer, wait_for_disk, put_in_place};
    int code = 0;
    for (size_t step = 0; step < sizeof steps / sizeof *steps; step++)
        for (size_t i = 0; code == 0 && i < count; i++)
            code = steps[step](files[i], err);
    for (size_t i = 0; code == 0 && i < count; i++)
        if (!files[i]->direct && (i + 1 == count || !same_folder(files[i]->path, files[i + 1]->path)))
            sync_folder(files[i]->path);
    for (size_t i = 0; i < count; i++)
        discard(files[i]);
    return code;
}

int trl_file_commit(trl_file *file, trl_error *err)
{
    return trl_file_commit_all(&file, 1, err);
}

void trl_file_abort(trl_file *file)
{
    if (file)
        discard(file);
}
