/* Our packed feature file: a container of kind "features", version 1.
 *
 *     frames      float32, row after row, each utterance at the next multiple of 64 (carries its own checksums)
 *     ids         every utterance's id, NUL-terminated, in the order of writing
 *     index       per utterance u64 offset in `frames`, u64 rows, u64 columns, u64 XXH3 of its rows
 *     frontend    description of the front end; empty: none
 *     provenance  where the features come from; empty: none
 *
 * Reading borrows the mapped rows; the utterance's checksum is verified each time, so that opening a corpus of any
 * size costs only a walk over ids and index. Writing streams the rows and keeps 32 bytes and the id per utterance.
 */
#include "feat/feature_format.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define KIND "features"
#define VERSION 1

typedef struct record {
    uint64_t offset, rows, cols, hash;
} record;

static uint64_t align_up(uint64_t offset)
{
    return (offset + TRL_ALIGNMENT - 1) / TRL_ALIGNMENT * TRL_ALIGNMENT;
}

/* ---- reading ---- */

typedef struct packed_reader {
    trl_feature_reader base;
    trl__container *container;
    const unsigned char *frames;
    const record *records;
    const char **ids;
    size_t count, position;
    char *frontend, *provenance; /* NULL: none */
    trl__map index;
} packed_reader;

static int corrupt(const packed_reader *p, size_t i, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: utterance %zu of %zu: %s", trl__container_path(p->container), i, p->count,
                     what);
}

/* Utterances lie one after the other, so the place of each follows from those before it. */
static int check_record(const packed_reader *p, size_t i, uint64_t *end, uint64_t size, trl_error *err)
{
    const record *r = &p->records[i];
    uint64_t cells, bytes;
    if (r->offset != align_up(*end) || r->offset > size || (r->rows > 0 && r->cols == 0))
        return corrupt(p, i, "its place in the index is wrong", err);
    if (__builtin_mul_overflow(r->rows, r->cols, &cells) || __builtin_mul_overflow(cells, sizeof(float), &bytes) ||
        bytes > size - r->offset)
        return corrupt(p, i, "its size in the index is larger than the file", err);
    *end = r->offset + bytes;
    return 0;
}

static int add_id(packed_reader *p, size_t i, const char *text, const char *end, trl_error *err)
{
    const char *stop = memchr(text, '\0', (size_t)(end - text));
    if (!stop)
        return corrupt(p, i, "its id is missing", err);
    int code = trl__check_id(trl__container_path(p->container), text, err);
    if (code < 0)
        return code;
    uint64_t number = i;
    int added = trl__map_add(&p->index, text, (size_t)(stop - text), &number);
    if (added <= 0)
        return added < 0 ? trl__fail_memory(err) : corrupt(p, i, "its id is there twice", err);
    p->ids[i] = text;
    return 0;
}

static int load_index(packed_reader *p, trl_error *err)
{
    const void *frames, *ids, *index;
    uint64_t frames_size, ids_size, index_size, end = 0;
    int code = trl__container_section(p->container, "frames", &frames, &frames_size, err);
    if (code == 0)
        code = trl__container_section(p->container, "ids", &ids, &ids_size, err);
    if (code == 0)
        code = trl__container_section(p->container, "index", &index, &index_size, err);
    if (code != 0)
        return code;
    p->frames = frames;
    p->records = index;
    p->count = (size_t)(index_size / sizeof(record));
    p->ids = trl__alloc(p->count, sizeof *p->ids);
    p->base.checked = trl__alloc_zero(p->count + 1, sizeof *p->base.checked);
    if (!p->ids || !p->base.checked)
        return trl__fail_memory(err);
    const char *text = ids, *text_end = text + ids_size;
    for (size_t i = 0; i < p->count; i++) {
        code = check_record(p, i, &end, frames_size, err);
        if (code == 0)
            code = add_id(p, i, text, text_end, err);
        if (code < 0)
            return code;
        text += strlen(text) + 1;
    }
    if (index_size % sizeof(record) != 0 || text != text_end || end != frames_size)
        return trl__fail(err, TRL_ECORRUPT, "%s: frames, ids and index do not belong together",
                         trl__container_path(p->container));
    return 0;
}

static void packed_close(trl_feature_reader *reader)
{
    packed_reader *p = (packed_reader *)reader;
    trl__container_close(p->container);
    trl__map_free(&p->index);
    trl__free(p->ids);
    trl__free((void *)p->base.checked);
    trl__free(p->frontend);
    trl__free(p->provenance);
    trl__free(p);
}

static int packed_get(trl_feature_reader *reader, size_t i, const char **id, trl_matrix *frames, trl_error *err)
{
    const packed_reader *p = (const packed_reader *)reader;
    const record *r = &p->records[i];
    const unsigned char *rows = p->frames + r->offset;
    if (!p->base.checked[i] && XXH3_64bits(rows, (size_t)(r->rows * r->cols * sizeof(float))) != r->hash)
        return trl__fail_byte(err, TRL_ECORRUPT, trl__container_path(p->container),
                              trl__container_offset(p->container, rows),
                              "the frames of utterance %s are damaged (their checksum is wrong)", p->ids[i]);
    trl_matrix_free(frames);
    *frames = (trl_matrix){.data = (float *)(uintptr_t)rows, /* read-only: see feature_file.h */
                           .rows = (size_t)r->rows,
                           .cols = (size_t)r->cols,
                           .stride = (size_t)r->cols};
    *id = p->ids[i];
    return 0;
}

static int packed_next(trl_feature_reader *reader, const char **id, trl_matrix *frames, trl_error *err)
{
    packed_reader *p = (packed_reader *)reader;
    if (p->position == p->count)
        return 0;
    int code = packed_get(reader, p->position++, id, frames, err);
    return code < 0 ? code : 1;
}

static int packed_find(trl_feature_reader *reader, const char *id, trl_matrix *frames, trl_error *err)
{
    const packed_reader *p = (const packed_reader *)reader;
    const uint64_t *number = trl__map_find(&p->index, id, strlen(id));
    if (!number)
        return trl__fail(err, TRL_ENOENT, "%s: there is no utterance %s", trl__container_path(p->container), id);
    return packed_get(reader, (size_t)*number, &id, frames, err);
}

static size_t packed_count(const trl_feature_reader *reader)
{
    return ((const packed_reader *)reader)->count;
}

static void packed_ahead(const trl_feature_reader *reader, size_t first, size_t end)
{
    const packed_reader *p = (const packed_reader *)reader;
    const record *last = &p->records[end - 1];
    uintptr_t from = (uintptr_t)(p->frames + p->records[first].offset);
    uintptr_t to = (uintptr_t)(p->frames + last->offset) + (uintptr_t)(last->rows * last->cols * sizeof(float));
    from -= from % (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)posix_madvise((void *)from, to - from, POSIX_MADV_WILLNEED); /* a hint: nothing depends on it */
}

static const char *packed_frontend(const trl_feature_reader *reader)
{
    return ((const packed_reader *)reader)->frontend;
}

static const char *packed_provenance(const trl_feature_reader *reader)
{
    return ((const packed_reader *)reader)->provenance;
}

static const trl__reader_class reader_class = {.next = packed_next,
                                               .close = packed_close,
                                               .find = packed_find,
                                               .count = packed_count,
                                               .get = packed_get,
                                               .ahead = packed_ahead,
                                               .frontend = packed_frontend,
                                               .provenance = packed_provenance};

int trl__packed_from_container(trl__container *container, trl_feature_reader **out, trl_error *err)
{
    packed_reader *p = trl__alloc_zero(1, sizeof *p);
    if (!p) {
        trl__container_close(container);
        return trl__fail_memory(err);
    }
    p->base.class = &reader_class;
    p->container = container;
    int code = load_index(p, err);
    if (code == 0)
        code = trl__container_text(container, "frontend", &p->frontend, err);
    if (code == 0)
        code = trl__container_text(container, "provenance", &p->provenance, err);
    if (code < 0) {
        packed_close(&p->base);
        return code;
    }
    *out = &p->base;
    return 0;
}

static int packed_open(const char *path, trl_feature_reader **out, trl_error *err)
{
    trl__container *container;
    int code = trl__container_open(path, KIND, VERSION, &container, err);
    return code < 0 ? code : trl__packed_from_container(container, out, err);
}

/* ---- writing ---- */

typedef struct packed_writer {
    trl_feature_writer base;
    trl__container_writer *container;
    record *records;
    size_t count, capacity;
    char *provenance;
    XXH3_state_t *state;
} packed_writer;

static int packed_add(trl_feature_writer *writer, const char *id, const trl_matrix *frames, trl_error *err)
{
    (void)id; /* the ids of all utterances are in writer->ids */
    static const char zeros[TRL_ALIGNMENT];
    packed_writer *p = (packed_writer *)writer;
    if (TRL_GROW(p->records, p->capacity, p->count + 1) < 0)
        return trl__fail_memory(err);
    uint64_t position = trl__container_position(p->container), offset = align_up(position);
    int code = trl__container_write(p->container, zeros, (size_t)(offset - position), err);
    XXH3_64bits_reset(p->state);
    for (size_t r = 0; code == 0 && r < frames->rows; r++) {
        const float *row = trl_matrix_row(frames, r);
        XXH3_64bits_update(p->state, row, frames->cols * sizeof *row);
        code = trl__container_write(p->container, row, frames->cols * sizeof *row, err);
    }
    p->records[p->count++] = (record){offset, frames->rows, frames->cols, XXH3_64bits_digest(p->state)};
    return code;
}

static int packed_commit(trl_feature_writer *writer, trl_error *err)
{
    packed_writer *p = (packed_writer *)writer;
    int code = trl__container_begin(p->container, "ids", 0, err);
    for (size_t i = 0; code == 0 && i < p->count; i++)
        code = trl__container_write(p->container, writer->ids.texts[i], strlen(writer->ids.texts[i]) + 1, err);
    if (code == 0)
        code = trl__container_add(p->container, "index", p->records, p->count * sizeof *p->records, err);
    if (code == 0)
        code = trl__container_add(p->container, "frontend", writer->frontend, strlen(writer->frontend), err);
    if (code == 0)
        code = trl__container_add(p->container, "provenance", p->provenance, strlen(p->provenance), err);
    if (code == 0) {
        code = trl__container_commit(p->container, err);
        p->container = NULL;
    }
    return code;
}

static void packed_discard(trl_feature_writer *writer)
{
    packed_writer *p = (packed_writer *)writer;
    trl__container_abort(p->container);
    trl__free(p->records);
    trl__free(p->provenance);
    trl__free(p->state);
    trl__free(p);
}

static const trl__writer_class writer_class = {packed_add, packed_commit, packed_discard};

static int packed_create(const char *path, const trl_feature_writer_options *options, trl_feature_writer **out,
                         trl_error *err)
{
    packed_writer *p = trl__alloc_zero(1, sizeof *p);
    if (!p)
        return trl__fail_memory(err);
    p->base.class = &writer_class;
    p->provenance = trl__strdup(options->provenance ? options->provenance : "");
    p->state = trl__alloc_aligned(1, sizeof *p->state);
    int code = p->provenance && p->state ? trl__container_create(path, KIND, VERSION, &p->container, err)
                                         : trl__fail_memory(err);
    if (code == 0)
        code = trl__container_begin(p->container, "frames", 1, err);
    if (code < 0) {
        packed_discard(&p->base);
        return code;
    }
    *out = &p->base;
    return 0;
}

const trl__feature_format trl__packed_format = {
    .prefix = "packed", .endings = {".trf"}, .open = packed_open, .create = packed_create};
