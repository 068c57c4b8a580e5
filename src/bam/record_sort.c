#include "bam/record_sort.h"
#include "bam/record_merge.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/temporary_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAN_IN 64 /* runs that are merged at once; each has a block of 64 KB, unpacked and packed */

/* The first eight bytes of the key decide nearly always: they lie beside the pointer. */
typedef struct entry {
    uint64_t prefix;
    const unsigned char *body;
    uint32_t size;
} entry;

struct trl__sorter {
    size_t key_size, memory, used;
    unsigned char *bytes;
    entry *entries;
    size_t count, capacity;
};

int trl__sorter_create(size_t key_size, size_t memory, trl__sorter **out, trl_error *err)
{
    trl__sorter *s = trl__alloc_zero(1, sizeof *s);
    *out = s;
    if (s) {
        s->key_size = key_size;
        s->memory = memory < 4096 ? 4096 : memory;
        s->bytes = trl__alloc(s->memory, 1);
    }
    if (s && s->bytes)
        return 0;
    trl__sorter_destroy(s);
    *out = NULL;
    return trl__fail_memory(err);
}

void trl__sorter_destroy(trl__sorter *s)
{
    if (!s)
        return;
    trl__free(s->bytes);
    trl__free(s->entries);
    trl__free(s);
}

size_t trl__sorter_count(const trl__sorter *sorter)
{
    return sorter->count;
}

void trl__sorter_empty(trl__sorter *s)
{
    s->used = s->count = 0;
}

/* A record that is larger than all the memory gets it alone. */
int trl__sorter_add(trl__sorter *s, const unsigned char *body, size_t size, trl_error *err)
{
    if (s->count > 0 && s->used + size + (s->count + 1) * sizeof *s->entries > s->memory)
        return 1;
    if (size > s->memory) {
        unsigned char *larger = trl__realloc(s->bytes, size, 1);
        if (!larger)
            return trl__fail_memory(err);
        s->bytes = larger;
        s->memory = size;
    }
    if (TRL_GROW(s->entries, s->capacity, s->count + 1) < 0)
        return trl__fail_memory(err);
    unsigned char *copy = s->bytes + s->used;
    memcpy(copy, body, size);
    s->used += size;
    uint64_t prefix = (uint64_t)trl__be32(copy) << 32 | trl__be32(copy + 4);
    s->entries[s->count++] = (entry){prefix, copy, (uint32_t)size};
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    return trl__bam_compare(x->body, x->size, y->body, y->size);
}

int trl__sorter_write(trl__sorter *s, trl__run_writer *run, trl_error *err)
{
    int code = 0;
    if (s->count > 0)
        qsort(s->entries, s->count, sizeof *s->entries, by_bytes);
    for (size_t i = 0; code == 0 && i < s->count; i++)
        if (i == 0 || by_bytes(&s->entries[i - 1], &s->entries[i]) != 0)
            code = trl__run_write(run, s->entries[i].body, s->entries[i].size, err);
    return code;
}

/* ---- streams ---- */

typedef struct job {
    trl__bam_reader reader;
    trl__sorter *sorter;
    trl__sorted_run **runs;
    size_t count, capacity;
    size_t key_size;
} job;

static int put_file(void *user, const void *bytes, size_t size, trl_error *err)
{
    return fwrite(bytes, 1, size, user) == size ? 0 : trl__fail_errno(err, "temporary file", "writing failed");
}

static int begin_run(size_t key_size, FILE **file, trl__run_writer **writer, trl_error *err)
{
    static const uint64_t tags[TRL__RUN_TAGS] = {0};
    int code = trl__temporary_file(file, err);
    if (code < 0)
        return code;
    code = trl__run_writer_open(put_file, *file, key_size, tags, writer, err);
    if (code < 0)
        fclose(*file);
    return code;
}

/* The nameless file becomes a run, unless writing it had failed with `code`. */
static int end_run(int code, FILE *file, size_t key_size, trl__run_writer *writer, trl__sorted_run **run,
                   trl_error *err)
{
    if (code == 0)
        code = trl__run_writer_close(writer, err);
    else
        trl__run_writer_abort(writer);
    int fd = code == 0 && fflush(file) == 0 ? dup(fileno(file)) : -1;
    if (code == 0 && fd < 0)
        code = trl__fail_errno(err, "temporary file", "writing failed");
    fclose(file);
    return code < 0 ? code : trl__run_open(fd, "temporary file", key_size, run, err);
}

static int spill(job *j, trl_error *err)
{
    FILE *file;
    trl__run_writer *writer;
    if (trl__sorter_count(j->sorter) == 0)
        return 0;
    if (TRL_GROW(j->runs, j->capacity, j->count + 1) < 0)
        return trl__fail_memory(err);
    int code = begin_run(j->key_size, &file, &writer, err);
    if (code < 0)
        return code;
    code = trl__sorter_write(j->sorter, writer, err);
    code = end_run(code, file, j->key_size, writer, &j->runs[j->count], err);
    if (code < 0)
        return code;
    j->count++;
    trl__sorter_empty(j->sorter);
    return 0;
}

static int read_all(job *j, trl_error *err)
{
    trl__bam_record record;
    int code;
    while ((code = trl__bam_read(&j->reader, &record, err)) > 0) {
        code = trl__sorter_add(j->sorter, record.body, record.size, err);
        if (code == 1 && (code = spill(j, err)) == 0)
            code = trl__sorter_add(j->sorter, record.body, record.size, err);
        if (code < 0)
            return code;
    }
    return code < 0 ? code : spill(j, err);
}

/* The first `count` runs, in order, to a writer of a stream or of a run. */
static int merge_runs(const job *j, size_t count, trl__bam_writer *stream, trl__run_writer *run, trl_error *err)
{
    trl__run_cursor *cursors[FAN_IN] = {NULL};
    trl__merge *merge;
    trl__bam_record record;
    int code = trl__merge_open(count, &merge, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = trl__run_cursor_open(j->runs[i], &j->reader.header, NULL, NULL, &cursors[i], err);
        if (code == 0)
            code = trl__merge_add(merge, trl__run_next, cursors[i], err);
    }
    while (code == 0 && (code = trl__merge_next(merge, &record, err)) > 0)
        code = stream ? trl__bam_write(stream, record.body, record.size, err)
                      : trl__run_write(run, record.body, record.size, err);
    trl__merge_close(merge);
    for (size_t i = 0; i < count; i++)
        trl__run_cursor_close(cursors[i]);
    return code;
}

/* The first FAN_IN runs become one, at the end. */
static int merge_some(job *j, trl_error *err)
{
    FILE *file;
    trl__run_writer *writer;
    trl__sorted_run *merged;
    int code = begin_run(j->key_size, &file, &writer, err);
    if (code < 0)
        return code;
    code = merge_runs(j, FAN_IN, NULL, writer, err);
    code = end_run(code, file, j->key_size, writer, &merged, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < FAN_IN; i++)
        trl__run_close(j->runs[i]);
    j->count -= FAN_IN;
    memmove(j->runs, j->runs + FAN_IN, j->count * sizeof(trl__sorted_run *));
    j->runs[j->count++] = merged;
    return 0;
}

static int write_sorted(job *j, const char *output, trl_error *err)
{
    trl__bam_writer writer;
    int code = 0;
    while (code == 0 && j->count > FAN_IN)
        code = merge_some(j, err);
    if (code == 0)
        code = trl__bam_writer_open(output, &j->reader.header, &writer, err);
    if (code < 0)
        return code;
    code = merge_runs(j, j->count, &writer, NULL, err);
    if (code == 0)
        return trl__bam_writer_commit(&writer, err);
    trl__bam_writer_abort(&writer);
    return code;
}

int trl_bam_sort(const char *input, const char *output, size_t memory, trl_error *err)
{
    job j = {0};
    int code = trl__bam_reader_open(input, &j.reader, err);
    if (code < 0)
        return code;
    j.key_size = trl_bam_key_size(j.reader.header.order);
    code = trl__sorter_create(j.key_size, memory, &j.sorter, err);
    if (code == 0)
        code = read_all(&j, err);
    trl__sorter_destroy(j.sorter);
    if (code == 0)
        code = write_sorted(&j, output, err);
    for (size_t i = 0; i < j.count; i++)
        trl__run_close(j.runs[i]);
    trl__free(j.runs);
    trl__bam_reader_close(&j.reader);
    return code;
}
