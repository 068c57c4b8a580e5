#include "bam/sorted_run.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC "trl-run\3"
#define HEAD (8 + 8 * TRL__RUN_TAGS)
#define TAIL 24                        /* bytes: offset and size of the index, checksum of head and index */
#define BLOCK ((size_t)1 << 16)        /* bytes before packing, about */
#define BLOCK_MOST ((uint32_t)1 << 31) /* a block has at least one record, which may be large */
#define LEVEL (-5)                     /* features hardly shrink; keys and back-offs do at any level */

/* ---- writing ---- */

struct trl__run_writer {
    trl__run_put put;
    void *user;
    size_t mark_size;
    ZSTD_CCtx *zstd;
    unsigned char *block, *packed, *index;
    size_t used, block_capacity, packed_capacity, index_used, index_capacity;
    uint64_t offset, head_hash;
};

static int put(trl__run_writer *w, const void *bytes, size_t size, trl_error *err)
{
    int code = w->put(w->user, bytes, size, err);
    w->offset += size;
    return code;
}

int trl__run_writer_open(trl__run_put put_bytes, void *user, size_t mark_size, const uint64_t tags[TRL__RUN_TAGS],
                         trl__run_writer **out, trl_error *err)
{
    unsigned char head[HEAD] = MAGIC;
    trl__run_writer *w = trl__alloc_zero(1, sizeof *w);
    *out = NULL;
    if (!w)
        return trl__fail_memory(err);
    *w = (trl__run_writer){.put = put_bytes, .user = user, .mark_size = mark_size, .zstd = ZSTD_createCCtx()};
    for (size_t i = 0; i < TRL__RUN_TAGS; i++)
        trl__put_le64(head + 8 + 8 * i, tags[i]);
    w->head_hash = XXH3_64bits(head, HEAD);
    int code = w->zstd ? 0 : trl__fail_memory(err);
    if (code == 0) {
        ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
        code = put(w, head, HEAD, err);
    }
    if (code < 0)
        trl__run_writer_abort(w);
    else
        *out = w;
    return code;
}

static void write_mark(const trl__run_writer *w, unsigned char *mark)
{
    size_t size = trl__le32(w->block);
    memset(mark, 0, w->mark_size);
    memcpy(mark, w->block + 4, size < w->mark_size ? size : w->mark_size);
}

static int flush(trl__run_writer *w, trl_error *err)
{
    size_t bound = ZSTD_compressBound(w->used), entry = w->mark_size + 16;
    if (w->used == 0)
        return 0;
    if (TRL_GROW(w->packed, w->packed_capacity, bound) < 0 ||
        TRL_GROW(w->index, w->index_capacity, w->index_used + entry) < 0)
        return trl__fail_memory(err);
    size_t packed = ZSTD_compress2(w->zstd, w->packed, w->packed_capacity, w->block, w->used);
    if (ZSTD_getErrorCode(packed) == ZSTD_error_memory_allocation)
        return trl__fail_memory(err);
    if (ZSTD_isError(packed))
        return trl__fail(err, TRL_EIO, "packing failed: %s", ZSTD_getErrorName(packed));
    unsigned char *at = w->index + w->index_used;
    write_mark(w, at);
    trl__put_le64(at + w->mark_size, w->offset);
    trl__put_le32(at + w->mark_size + 8, (uint32_t)packed);
    trl__put_le32(at + w->mark_size + 12, (uint32_t)w->used);
    w->index_used += entry;
    w->used = 0;
    return put(w, w->packed, packed, err);
}

int trl__run_write(trl__run_writer *w, const unsigned char *body, size_t size, trl_error *err)
{
    int code = w->used > 0 && w->used + size + 4 > BLOCK ? flush(w, err) : 0;
    if (code < 0)
        return code;
    if (TRL_GROW(w->block, w->block_capacity, w->used + size + 4) < 0)
        return trl__fail_memory(err);
    trl__put_le32(w->block + w->used, (uint32_t)size);
    memcpy(w->block + w->used + 4, body, size);
    w->used += size + 4;
    return 0;
}

int trl__run_writer_close(trl__run_writer *w, trl_error *err)
{
    unsigned char tail[TAIL];
    int code = flush(w, err);
    trl__put_le64(tail, w->offset);
    trl__put_le64(tail + 8, w->index_used);
    trl__put_le64(tail + 16, XXH3_64bits_withSeed(w->index, w->index_used, w->head_hash));
    if (code == 0 && w->index_used > 0)
        code = put(w, w->index, w->index_used, err);
    if (code == 0)
        code = put(w, tail, TAIL, err);
    trl__run_writer_abort(w);
    return code;
}

void trl__run_writer_abort(trl__run_writer *w)
{
    if (!w)
        return;
    ZSTD_freeCCtx(w->zstd);
    trl__free(w->block);
    trl__free(w->packed);
    trl__free(w->index);
    trl__free(w);
}

/* ---- reading ---- */

static int read_at(const trl__sorted_run *run, uint64_t offset, void *bytes, size_t size, trl_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(run->fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0)
            return trl__fail_errno(err, run->name, "reading failed");
        if (got == 0)
            return trl__fail(err, TRL_ECORRUPT, "%s: ends too early", run->name);
        done += (size_t)got;
    }
    return 0;
}

static int take_blocks(trl__sorted_run *run, const unsigned char *index, uint64_t end, trl_error *err)
{
    size_t entry = run->mark_size + 16;
    uint64_t offset = HEAD;
    run->blocks = trl__alloc(run->count + 1, sizeof *run->blocks);
    if (!run->blocks)
        return trl__fail_memory(err);
    for (size_t i = 0; i < run->count; i++) {
        const unsigned char *at = index + i * entry;
        trl__run_block *b = &run->blocks[i];
        memcpy(b->mark, at, run->mark_size);
        b->offset = trl__le64(at + run->mark_size);
        b->packed = trl__le32(at + run->mark_size + 8);
        b->size = trl__le32(at + run->mark_size + 12);
        if (b->offset != offset || b->packed > end - offset || b->size > BLOCK_MOST)
            return trl__fail(err, TRL_ECORRUPT, "%s: block %zu is not where it should be", run->name, i);
        offset += b->packed;
    }
    return offset == end ? 0 : trl__fail(err, TRL_ECORRUPT, "%s: its blocks don't fill it", run->name);
}

static int read_index(trl__sorted_run *run, trl_error *err)
{
    unsigned char head[HEAD], tail[TAIL];
    struct stat status;
    if (fstat(run->fd, &status) != 0)
        return trl__fail_errno(err, run->name, "can't be read");
    uint64_t size = (uint64_t)status.st_size;
    int code = size < HEAD + TAIL ? trl__fail(err, TRL_ECORRUPT, "%s: too short", run->name) : 0;
    if (code == 0)
        code = read_at(run, 0, head, HEAD, err);
    if (code == 0)
        code = read_at(run, size - TAIL, tail, TAIL, err);
    if (code != 0)
        return code;
    uint64_t end = trl__le64(tail), index_size = trl__le64(tail + 8);
    if (memcmp(head, MAGIC, 8) != 0 || end < HEAD || end > size || index_size != size - TAIL - end ||
        index_size % (run->mark_size + 16) != 0)
        return trl__fail(err, TRL_ECORRUPT, "%s: is no sorted run of these M-phones", run->name);
    for (size_t i = 0; i < TRL__RUN_TAGS; i++)
        run->tags[i] = trl__le64(head + 8 + 8 * i);
    run->count = (size_t)index_size / (run->mark_size + 16);
    unsigned char *index = trl__alloc((size_t)index_size + 1, 1);
    if (!index)
        return trl__fail_memory(err);
    code = read_at(run, end, index, (size_t)index_size, err);
    if (code == 0 && XXH3_64bits_withSeed(index, (size_t)index_size, XXH3_64bits(head, HEAD)) != trl__le64(tail + 16))
        code = trl__fail(err, TRL_ECORRUPT, "%s: its head or index is damaged", run->name);
    if (code == 0)
        code = take_blocks(run, index, end, err);
    trl__free(index);
    return code;
}

int trl__run_open(int fd, const char *name, size_t mark_size, trl__sorted_run **out, trl_error *err)
{
    trl__sorted_run *run = trl__alloc_zero(1, sizeof *run);
    *out = NULL;
    if (!run) {
        close(fd);
        return trl__fail_memory(err);
    }
    run->fd = fd;
    run->mark_size = mark_size;
    run->name = trl__strdup(name);
    int code = run->name ? read_index(run, err) : trl__fail_memory(err);
    if (code < 0)
        trl__run_close(run);
    else
        *out = run;
    return code;
}

void trl__run_close(trl__sorted_run *run)
{
    if (!run)
        return;
    close(run->fd);
    trl__free(run->name);
    trl__free(run->blocks);
    trl__free(run);
}

struct trl__run_cursor {
    const trl__sorted_run *run;
    const trl__bam_header *header;
    const unsigned char *first, *end;
    ZSTD_DCtx *zstd;
    size_t next; /* block */
    unsigned char *packed, *block;
    size_t packed_capacity, block_capacity, size, at;
};

/* The last block that begins before the first record wanted may have it. */
static size_t first_block(const trl__sorted_run *run, const unsigned char *first)
{
    size_t low = 0, high = run->count;
    while (first && low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(run->blocks[middle].mark, first, run->mark_size) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

int trl__run_cursor_open(const trl__sorted_run *run, const trl__bam_header *header, const unsigned char *first,
                         const unsigned char *end, trl__run_cursor **out, trl_error *err)
{
    trl__run_cursor *c = trl__alloc_zero(1, sizeof *c);
    *out = c;
    if (!c)
        return trl__fail_memory(err);
    *c = (trl__run_cursor){.run = run,
                           .header = header,
                           .first = first,
                           .end = end,
                           .zstd = ZSTD_createDCtx(),
                           .next = first_block(run, first)};
    if (c->zstd)
        return 0;
    trl__run_cursor_close(c);
    *out = NULL;
    return trl__fail_memory(err);
}

void trl__run_cursor_close(trl__run_cursor *c)
{
    if (!c)
        return;
    ZSTD_freeDCtx(c->zstd);
    trl__free(c->packed);
    trl__free(c->block);
    trl__free(c);
}

static int unpack_next(trl__run_cursor *c, trl_error *err)
{
    const trl__run_block *b = &c->run->blocks[c->next++];
    if (TRL_GROW(c->packed, c->packed_capacity, b->packed) < 0 || TRL_GROW(c->block, c->block_capacity, b->size) < 0)
        return trl__fail_memory(err);
    int code = read_at(c->run, b->offset, c->packed, b->packed, err);
    if (code < 0)
        return code;
    size_t size = ZSTD_decompressDCtx(c->zstd, c->block, b->size, c->packed, b->packed);
    if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
        return trl__fail_memory(err);
    if (ZSTD_isError(size) || size != b->size)
        return trl__fail_byte(err, TRL_ECORRUPT, c->run->name, b->offset, "a block is damaged (%s)",
                              ZSTD_isError(size) ? ZSTD_getErrorName(size) : "another size");
    c->size = size;
    c->at = 0;
    return 0;
}

static int compare_mark(const unsigned char *body, size_t size, const unsigned char *mark, size_t mark_size)
{
    size_t both = size < mark_size ? size : mark_size;
    int difference = memcmp(body, mark, both);
    for (size_t i = both; difference == 0 && i < mark_size; i++)
        difference = -(mark[i] != 0);
    return difference;
}

int trl__run_next(void *cursor, trl__bam_record *record, trl_error *err)
{
    trl__run_cursor *c = cursor;
    for (;;) {
        if (c->at == c->size && (c->next == c->run->count ||
                                 (c->end && memcmp(c->run->blocks[c->next].mark, c->end, c->run->mark_size) >= 0)))
            return 0;
        int code = c->at == c->size ? unpack_next(c, err) : 0;
        if (code < 0)
            return code;
        uint32_t size = c->size - c->at >= 4 ? trl__le32(c->block + c->at) : UINT32_MAX;
        if (c->size - c->at < 4 || size > c->size - c->at - 4)
            return trl__fail(err, TRL_ECORRUPT, "%s: a record is cut", c->run->name);
        const unsigned char *body = c->block + c->at + 4;
        c->at += 4 + (size_t)size;
        code = trl__bam_parse(c->header, body, size, record, err);
        if (code < 0)
            return code;
        if (c->end && compare_mark(body, size, c->end, c->run->mark_size) >= 0)
            return 0;
        if (!c->first || compare_mark(body, size, c->first, c->run->mark_size) >= 0)
            return 1;
    }
}
