#include "base/kept_results.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/input_guard.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

enum { JOB = 1, RESULT = 2 };

typedef struct block {
    uint32_t kind, name_size;
    uint64_t size, hash;
} block;

typedef struct title {
    char magic[8];
    uint32_t version, order;
} title;

static const title ours = {"trlkept", 1, 0x01020304};

struct trl_kept {
    char *path;
    int fd;
    unsigned char *old; /* what an earlier run has left, mapped; NULL: nothing */
    size_t mapped, old_size, position;
    trl__map results;      /* of the job in hand: utterance -> place of its block in `old` */
    volatile size_t count; /* of all jobs */
    uint64_t *jobs;        /* begun, but not in the file: it is made for the first result */
    size_t job_count, job_capacity;
};

static uint64_t hash_block(const block *b, const void *name, const void *content)
{
    uint64_t h = XXH3_64bits(b, offsetof(block, hash));
    h = XXH3_64bits_withSeed(name, b->name_size, h);
    return XXH3_64bits_withSeed(content, (size_t)b->size, h);
}

/* The block at this place, or 0: none is there whole. */
static int read_block(const trl_kept *k, size_t at, block *b)
{
    if (k->old_size - at < sizeof *b)
        return 0;
    memcpy(b, k->old + at, sizeof *b);
    size_t left = k->old_size - at - sizeof *b;
    const unsigned char *name = k->old + at + sizeof *b;
    return b->name_size <= left && b->size <= left - b->name_size &&
           b->hash == hash_block(b, name, name + b->name_size) && (b->kind == JOB || b->kind == RESULT);
}

static size_t block_end(size_t at, const block *b)
{
    return at + sizeof *b + b->name_size + (size_t)b->size;
}

/* ---- opening ---- */

static int map_old(trl_kept *k, size_t size, trl_error *err)
{
    block b;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, k->fd, 0);
    if (bytes == MAP_FAILED)
        return trl__fail_errno(err, k->path, "can't map");
    k->old = bytes;
    k->old_size = k->mapped = size;
    size_t end = sizeof ours;
    for (; read_block(k, end, &b); end = block_end(end, &b))
        k->count += b.kind == RESULT;
    k->old_size = end;
    k->position = sizeof ours;
    return ftruncate(k->fd, (off_t)end) == 0 ? 0 : trl__fail_errno(err, k->path, "can't be cut behind what is whole");
}

static int begin_anew(trl_kept *k, trl_error *err)
{
    return ftruncate(k->fd, 0) == 0 && pwrite(k->fd, &ours, sizeof ours, 0) == (ssize_t)sizeof ours
               ? 0
               : trl__fail_errno(err, k->path, "writing failed");
}

static int look(trl_kept *k, int resume, trl_error *err)
{
    struct stat status;
    title there = {0};
    if (flock(k->fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? trl__fail(err, TRL_EINVAL, "%s: another process writes it just now", k->path)
                                    : trl__fail_errno(err, k->path, "can't be locked");
    if (fstat(k->fd, &status) != 0)
        return trl__fail_errno(err, k->path, "can't open");
    ssize_t got = pread(k->fd, &there, sizeof there, 0);
    int is_ours = got == (ssize_t)sizeof there && memcmp(&there, &ours, sizeof ours) == 0;
    if (!is_ours && got > 0 && memcmp(&there, &ours, (size_t)got) != 0)
        return trl__fail(
            err, TRL_EINVAL,
            "%s: results should be kept here, but this file is something else, or of another version; move it away",
            k->path);
    int code = is_ours && resume ? map_old(k, (size_t)status.st_size, err) : begin_anew(k, err);
    return code == 0 && lseek(k->fd, 0, SEEK_END) < 0 ? trl__fail_errno(err, k->path, "can't be written") : code;
}

int trl_kept_open(const char *path, int resume, trl_kept **out, trl_error *err)
{
    trl_kept *k = *out = trl__alloc_zero(1, sizeof *k);
    if (!k || !(k->path = trl__strdup(path))) {
        trl__free(k);
        *out = NULL;
        return trl__fail_memory(err);
    }
    k->fd = -1;
    int code = trl__guard_own(path, err);
    if (code == 0)
        k->fd = open(path, O_RDWR | O_CLOEXEC);
    if (code == 0 && k->fd < 0 && errno != ENOENT)
        code = trl__fail_errno(err, path, "can't open");
    if (k->fd >= 0)
        code = look(k, resume, err);
    if (code < 0) {
        k->count = 1; /* whatever it is, it stays */
        trl_kept_close(k, 0);
        *out = NULL;
    }
    return code;
}

const volatile size_t *trl_kept_count(const trl_kept *k)
{
    return &k->count;
}

void trl_kept_close(trl_kept *k, int remove)
{
    if (!k)
        return;
    if (k->fd >= 0 && (remove || k->count == 0))
        unlink(k->path);
    if (k->old)
        munmap(k->old, k->mapped);
    if (k->fd >= 0)
        close(k->fd);
    trl__map_free(&k->results);
    trl__free(k->jobs);
    trl__free(k->path);
    trl__free(k);
}

/* ---- blocks ---- */

static void pass_over(struct iovec *parts, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        size_t step = bytes < parts[i].iov_len ? bytes : parts[i].iov_len;
        parts[i].iov_base = (char *)parts[i].iov_base + step;
        parts[i].iov_len -= step;
        bytes -= step;
    }
}

/* A write that stops short is followed by one that says why. */
static int write_block(trl_kept *k, uint32_t kind, const char *name, const void *bytes, size_t size, trl_error *err)
{
    block b = {kind, (uint32_t)strlen(name), size, 0};
    b.hash = hash_block(&b, name, bytes);
    struct iovec parts[] = {{&b, sizeof b}, {(void *)(uintptr_t)name, b.name_size}, {(void *)(uintptr_t)bytes, size}};
    for (size_t left = sizeof b + b.name_size + size; left > 0;) {
        ssize_t done = writev(k->fd, parts, 3);
        if (done < 0 && errno != EINTR)
            return trl__fail_errno(err, k->path, "writing failed");
        if (done > 0) {
            pass_over(parts, 3, (size_t)done);
            left -= (size_t)done;
        }
    }
    return 0;
}

/* Makes the file where it is not there, and writes which jobs were begun. */
static int write_jobs(trl_kept *k, trl_error *err)
{
    int code = 0;
    if (k->fd < 0) {
        k->fd = open(k->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        code = k->fd < 0 ? trl__fail_errno(err, k->path, "can't create") : look(k, 0, err);
    }
    for (size_t i = 0; code == 0 && i < k->job_count; i++)
        code = write_block(k, JOB, "", &k->jobs[i], sizeof k->jobs[i], err);
    if (code == 0)
        k->job_count = 0;
    return code;
}

/* The results behind a job's block. */
static int index_results(trl_kept *k, trl_error *err)
{
    block b;
    for (; read_block(k, k->position, &b) && b.kind == RESULT; k->position = block_end(k->position, &b)) {
        uint64_t place = k->position;
        if (trl__map_add(&k->results, (const char *)k->old + k->position + sizeof b, b.name_size, &place) < 0)
            return trl__fail_memory(err);
    }
    return 0;
}

int trl__kept_begin(trl_kept *k, uint64_t job, trl_error *err)
{
    block b;
    trl__map_free(&k->results);
    if (!k->old || !read_block(k, k->position, &b)) {
        if (TRL_GROW(k->jobs, k->job_capacity, k->job_count + 1) < 0)
            return trl__fail_memory(err);
        k->jobs[k->job_count++] = job;
        return 0;
    }
    if (b.kind != JOB || b.size != sizeof job || memcmp(k->old + k->position + sizeof b, &job, sizeof job) != 0)
        return trl__fail(err, TRL_EINVAL,
                         "%s: what is kept here was made with another model, corpus, version or options; give the same "
                         "ones, or begin anew without --resume",
                         k->path);
    k->position = block_end(k->position, &b);
    return index_results(k, err);
}

const unsigned char *trl__kept_find(const trl_kept *k, const char *id, size_t *size)
{
    block b;
    const uint64_t *place = trl__map_find(&k->results, id, strlen(id));
    if (!place)
        return NULL;
    memcpy(&b, k->old + *place, sizeof b);
    *size = (size_t)b.size;
    return k->old + *place + sizeof b + b.name_size;
}

int trl__kept_add(trl_kept *k, const char *id, const void *bytes, size_t size, trl_error *err)
{
    int code = write_jobs(k, err);
    if (code == 0)
        code = write_block(k, RESULT, id, bytes, size, err);
    k->count += code == 0;
    return code;
}

/* ---- results ---- */

int trl__kept_take(trl__kept_cursor *cursor, void *to, size_t size)
{
    if (size > cursor->left)
        return -1;
    if (size > 0)
        memcpy(to, cursor->at, size);
    cursor->at += size;
    cursor->left -= size;
    return 0;
}

int trl__kept_put(trl__kept_bytes *to, const void *bytes, size_t size)
{
    if (TRL_GROW(to->bytes, to->capacity, to->size + size) < 0)
        return -1;
    if (size > 0)
        memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    return 0;
}
