/* Reading maps the file and believes nothing: the layout has no freedom (sections one after the other in the order of
 * the table, each at the next multiple of 64, zeros between, the table last), so one walk finds every wrong offset,
 * overlap and stray byte. Cost: one pass of XXH3 over the sections that don't check themselves.
 */
#define _DEFAULT_SOURCE /* madvise */
#include "base/container.h"
#include "base/fail.h"
#include "base/input_guard.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <trellis/file.h>

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define ALIGNMENT 64
#define VERSION 1
#define BYTE_ORDER_MARK 0x01020304u
#define NAME_SIZE 16
#define SECTIONS_MOST 4096
#define CHECKS_ITSELF 1u

static const char magic[8] = "trellis";

typedef struct header {
    char magic[8];
    uint32_t version, byte_order;
    char kind[NAME_SIZE];
    uint32_t kind_version, count;
    uint64_t table_offset, table_hash, header_hash;
} header;

typedef struct entry {
    char name[NAME_SIZE];
    uint64_t offset, size, hash;
    uint32_t flags, zero;
} entry;

_Static_assert(sizeof(header) == 64 && sizeof(entry) == 48, "the file's layout is the struct's");

/* XXH3 of everything in front of the header's own checksum. */
static uint64_t hash_header(const header *h)
{
    return XXH3_64bits(h, offsetof(header, header_hash));
}

static uint64_t align_up(uint64_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Does an earlier section have the name of this one? */
static int is_taken(const entry *table, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (memcmp(table[i].name, table[index].name, NAME_SIZE) == 0)
            return 1;
    return 0;
}

/* ---- writing ---- */

struct trl__container_writer {
    trl_file *file;
    header header;
    entry *entries; /* the last one is open */
    size_t capacity;
    XXH3_state_t *state; /* of the open section */
};

static int set_name(char out[NAME_SIZE], const char *name, trl_error *err)
{
    size_t length = strlen(name);
    if (length == 0 || length > NAME_SIZE)
        return trl__fail(err, TRL_EINVAL, "a container's names have 1 to %d bytes, not '%s'", NAME_SIZE, name);
    memcpy(out, name, length);
    return 0;
}

static int start_file(trl__container_writer *writer, const char *path, trl_error *err)
{
    int code = trl_file_create(path, &writer->file, err);
    return code < 0 ? code : trl_file_write(writer->file, &writer->header, sizeof writer->header, err);
}

int trl__container_create(const char *path, const char *kind, uint32_t kind_version, trl__container_writer **out,
                          trl_error *err)
{
    *out = NULL;
    trl__container_writer *writer = trl__alloc_zero(1, sizeof *writer);
    if (!writer)
        return trl__fail_memory(err);
    writer->header = (header){.version = VERSION, .byte_order = BYTE_ORDER_MARK, .kind_version = kind_version};
    memcpy(writer->header.magic, magic, sizeof magic);
    writer->state = trl__alloc_aligned(1, sizeof *writer->state);
    int code = writer->state ? set_name(writer->header.kind, kind, err) : trl__fail_memory(err);
    if (code == 0)
        code = start_file(writer, path, err);
    if (code < 0) {
        trl__container_abort(writer);
        return code;
    }
    *out = writer;
    return 0;
}

static int write_padding(trl__container_writer *writer, trl_error *err)
{
    static const char zeros[ALIGNMENT];
    uint64_t position = trl_file_position(writer->file);
    return trl_file_write(writer->file, zeros, (size_t)(align_up(position) - position), err);
}

/* Closes the open section, if there is one, and moves to the next multiple of 64. */
static int end_section(trl__container_writer *writer, trl_error *err)
{
    if (writer->header.count > 0) {
        entry *last = &writer->entries[writer->header.count - 1];
        last->size = trl_file_position(writer->file) - last->offset;
        last->hash = last->flags & CHECKS_ITSELF ? 0 : XXH3_64bits_digest(writer->state);
    }
    return write_padding(writer, err);
}

int trl__container_begin(trl__container_writer *writer, const char *name, int checks_itself, trl_error *err)
{
    int code = end_section(writer, err);
    if (code < 0)
        return code;
    if (writer->header.count == SECTIONS_MOST)
        return trl__fail(err, TRL_ELIMIT, "more than %d sections", SECTIONS_MOST);
    if (TRL_GROW(writer->entries, writer->capacity, writer->header.count + 1) < 0)
        return trl__fail_memory(err);
    entry *next = &writer->entries[writer->header.count];
    *next = (entry){.offset = trl_file_position(writer->file), .flags = checks_itself ? CHECKS_ITSELF : 0};
    code = set_name(next->name, name, err);
    if (code < 0)
        return code;
    if (is_taken(writer->entries, writer->header.count))
        return trl__fail(err, TRL_EINVAL, "a container has only one section '%s'", name);
    writer->header.count++;
    XXH3_64bits_reset(writer->state);
    return 0;
}

int trl__container_write(trl__container_writer *writer, const void *bytes, size_t size, trl_error *err)
{
    if (size == 0)
        return 0;
    if (writer->header.count == 0)
        return trl__fail(err, TRL_EINVAL, "a section of a container must begin before its bytes");
    if (!(writer->entries[writer->header.count - 1].flags & CHECKS_ITSELF))
        XXH3_64bits_update(writer->state, bytes, size);
    return trl_file_write(writer->file, bytes, size, err);
}

int trl__container_add(trl__container_writer *writer, const char *name, const void *bytes, size_t size, trl_error *err)
{
    int code = trl__container_begin(writer, name, 0, err);
    return code < 0 ? code : trl__container_write(writer, bytes, size, err);
}

uint64_t trl__container_position(const trl__container_writer *writer)
{
    return writer->header.count == 0
               ? 0
               : trl_file_position(writer->file) - writer->entries[writer->header.count - 1].offset;
}

static int write_table(trl__container_writer *writer, trl_error *err)
{
    int code = end_section(writer, err);
    if (code < 0)
        return code;
    header *h = &writer->header;
    size_t size = h->count * sizeof(entry);
    h->table_offset = trl_file_position(writer->file);
    h->table_hash = XXH3_64bits(writer->entries, size);
    h->header_hash = hash_header(h);
    code = size > 0 ? trl_file_write(writer->file, writer->entries, size, err) : 0;
    return code < 0 ? code : trl_file_rewrite(writer->file, 0, h, sizeof *h, err);
}

int trl__container_commit(trl__container_writer *writer, trl_error *err)
{
    int code = write_table(writer, err);
    if (code == 0) {
        code = trl_file_commit(writer->file, err);
        writer->file = NULL;
    }
    trl__container_abort(writer);
    return code;
}

void trl__container_abort(trl__container_writer *writer)
{
    if (!writer)
        return;
    trl_file_abort(writer->file);
    trl__free(writer->entries);
    trl__free(writer->state);
    trl__free(writer);
}

/* ---- reading ---- */

struct trl__container {
    char *path;
    unsigned char *bytes; /* the whole file */
    uint64_t size;
    int mapped; /* 0: allocated */
    header header;
};

static const entry *table_of(const trl__container *c)
{
    return (const entry *)(const void *)(c->bytes + c->header.table_offset);
}

static int check_header(const trl__container *c, const char *kind, uint32_t newest_version, trl_error *err)
{
    const header *h = &c->header;
    if (h->byte_order != BYTE_ORDER_MARK)
        return trl__fail(err, h->header_hash == hash_header(h) ? TRL_EUNSUPPORTED : TRL_ECORRUPT,
                         "%s: damaged, or written on a machine with another byte order", c->path);
    if (h->header_hash != hash_header(h))
        return trl__fail_byte(err, TRL_ECORRUPT, c->path, 56, "the header is damaged (its checksum is wrong)");
    if (h->version != VERSION)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: container version %" PRIu32 ", this program knows %d; use a newer trellis", c->path,
                         h->version, VERSION);
    char wanted[NAME_SIZE] = {0};
    memcpy(wanted, kind, strnlen(kind, NAME_SIZE));
    if (memcmp(h->kind, wanted, NAME_SIZE) != 0)
        return trl__fail(err, TRL_EFORMAT, "%s: holds '%.*s', not '%s'", c->path, (int)strnlen(h->kind, NAME_SIZE),
                         h->kind, kind);
    if (h->kind_version < 1 || h->kind_version > newest_version)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s: '%s' version %" PRIu32 ", this program knows up to %" PRIu32 "; use a newer trellis",
                         c->path, kind, h->kind_version, newest_version);
    return 0;
}

static int check_table(const trl__container *c, trl_error *err)
{
    const header *h = &c->header;
    uint64_t table_size = (uint64_t)h->count * sizeof(entry);
    if (h->count > SECTIONS_MOST || h->table_offset % ALIGNMENT != 0 || h->table_offset < sizeof *h ||
        h->table_offset > c->size || c->size - h->table_offset != table_size)
        return trl__fail_byte(err, TRL_ECORRUPT, c->path, 40,
                              "a table of %" PRIu32 " sections at byte %" PRIu64 " does not fit a file of %" PRIu64
                              " bytes; it is cut off or damaged",
                              h->count, h->table_offset, c->size);
    if (XXH3_64bits(c->bytes + h->table_offset, (size_t)table_size) != h->table_hash)
        return trl__fail_byte(err, TRL_ECORRUPT, c->path, h->table_offset,
                              "the section table is damaged (its checksum is wrong)");
    return 0;
}

static int all_zero(const unsigned char *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return 0;
    return 1;
}

/* A name fills its field with NULs, and only its end; no earlier section has it. */
static int valid_name(const entry *table, uint32_t index)
{
    const char *name = table[index].name;
    size_t length = strnlen(name, NAME_SIZE);
    return length > 0 && all_zero((const unsigned char *)name + length, NAME_SIZE - length) && !is_taken(table, index);
}

static int check_section(const trl__container *c, uint32_t index, uint64_t expected_offset, trl_error *err)
{
    const entry *e = &table_of(c)[index];
    uint64_t place = c->header.table_offset + index * sizeof *e;
    if (!valid_name(table_of(c), index) || (e->flags & ~CHECKS_ITSELF) != 0 || e->zero != 0)
        return trl__fail_byte(err, TRL_ECORRUPT, c->path, place, "section %" PRIu32 " has a wrong table entry", index);
    if (e->offset != expected_offset || e->offset > c->header.table_offset ||
        e->size > c->header.table_offset - e->offset)
        return trl__fail_byte(err, TRL_ECORRUPT, c->path, place,
                              "section '%.16s' is said to be at byte %" PRIu64 " with %" PRIu64
                              " bytes, which overlaps or leaves the file",
                              e->name, e->offset, e->size);
    uint64_t hash = e->flags & CHECKS_ITSELF ? 0 : XXH3_64bits(c->bytes + e->offset, (size_t)e->size);
    if (e->hash != hash)
        return trl__fail_byte(err, TRL_ECORRUPT, c->path, e->offset,
                              "section '%.16s' is damaged (its checksum is wrong)", e->name);
    return 0;
}

static int check_sections(const trl__container *c, trl_error *err)
{
    uint64_t end = sizeof(header);
    for (uint32_t i = 0; i <= c->header.count; i++) {
        uint64_t next = align_up(end);
        if (next > c->header.table_offset || !all_zero(c->bytes + end, next - end))
            return trl__fail_byte(err, TRL_ECORRUPT, c->path, end, "the gap between two sections is not empty");
        if (i == c->header.count)
            return next == c->header.table_offset
                       ? 0
                       : trl__fail_byte(err, TRL_ECORRUPT, c->path, next, "bytes that belong to no section");
        int code = check_section(c, i, next, err);
        if (code < 0)
            return code;
        end = next + table_of(c)[i].size;
    }
    return 0;
}

static int check_all(trl__container *c, const char *kind, uint32_t newest_version, trl_error *err)
{
    if (c->size < sizeof magic || memcmp(c->bytes, magic, sizeof magic) != 0)
        return trl__fail_byte(err, TRL_EFORMAT, c->path, 0, "not a trellis file of '%s'", kind);
    if (c->size < sizeof(header))
        return trl__fail_byte(err, TRL_ECORRUPT, c->path, c->size, "cut off inside the header");
    memcpy(&c->header, c->bytes, sizeof c->header);
    int code = check_header(c, kind, newest_version, err);
    if (code == 0)
        code = check_table(c, err);
    return code < 0 ? code : check_sections(c, err);
}

static int map_file(trl__container *c, trl_error *err)
{
    int fd = open(c->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return trl__fail_errno(err, c->path, "can't open");
    struct stat status;
    int code = fstat(fd, &status) == 0 ? 0 : trl__fail_errno(err, c->path, "can't open");
    if (code == 0 && !S_ISREG(status.st_mode))
        code = trl__fail(err, TRL_EUNSUPPORTED, "%s: must be a file, not a folder, pipe or device", c->path);
    if (code == 0)
        code = trl__guard_input(fd, c->path, err);
    if (code == 0 && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (bytes == MAP_FAILED) {
            code = trl__fail_errno(err, c->path, "can't map");
        } else {
            c->bytes = bytes;
            c->size = (uint64_t)status.st_size;
            c->mapped = 1;
        }
    }
    close(fd);
    return code;
}

static int copy_memory(trl__container *c, const void *bytes, size_t size, trl_error *err)
{
    c->bytes = trl__alloc_aligned(size, 1);
    if (!c->bytes)
        return trl__fail_memory(err);
    if (size > 0)
        memcpy(c->bytes, bytes, size);
    c->size = size;
    return 0;
}

/* From memory when there are bytes, else from the file. */
static int open_container(const char *path, const void *bytes, size_t size, const char *kind, uint32_t newest_version,
                          trl__container **out, trl_error *err)
{
    *out = NULL;
    trl__container *c = trl__alloc_zero(1, sizeof *c);
    if (!c)
        return trl__fail_memory(err);
    c->path = trl__strdup(path);
    int code = !c->path ? trl__fail_memory(err) : bytes ? copy_memory(c, bytes, size, err) : map_file(c, err);
    if (code == 0)
        code = check_all(c, kind, newest_version, err);
    if (code < 0) {
        trl__container_close(c);
        return code;
    }
    *out = c;
    return 0;
}

int trl__container_open(const char *path, const char *kind, uint32_t newest_version, trl__container **out,
                        trl_error *err)
{
    return open_container(path, NULL, 0, kind, newest_version, out, err);
}

int trl__container_from_memory(const char *name, const void *bytes, size_t size, const char *kind,
                               uint32_t newest_version, trl__container **out, trl_error *err)
{
    return open_container(name, bytes ? bytes : "", size, kind, newest_version, out, err);
}

void trl__container_rest(const trl__container *container)
{
    if (container->mapped)
        (void)madvise(container->bytes, (size_t)container->size, MADV_DONTNEED);
}

void trl__container_close(trl__container *container)
{
    if (!container)
        return;
    if (container->mapped)
        munmap(container->bytes, (size_t)container->size);
    else
        trl__free(container->bytes);
    trl__free(container->path);
    trl__free(container);
}

int trl__container_section(const trl__container *container, const char *name, const void **bytes, uint64_t *size,
                           trl_error *err)
{
    for (uint32_t i = 0; i < container->header.count; i++) {
        const entry *e = &table_of(container)[i];
        if (strncmp(e->name, name, NAME_SIZE) == 0) {
            *bytes = container->bytes + e->offset;
            *size = e->size;
            return 0;
        }
    }
    return trl__fail(err, TRL_ECORRUPT, "%s: section '%s' is missing", container->path, name);
}

int trl__container_array(const trl__container *container, const char *name, size_t size, const void **elements,
                         size_t *count, trl_error *err)
{
    uint64_t bytes = 0;
    int code = trl__container_section(container, name, elements, &bytes, err);
    if (code < 0)
        return code;
    *count = (size_t)bytes / size;
    return bytes % size == 0
               ? 0
               : trl__fail_byte(err, TRL_ECORRUPT, container->path, trl__container_offset(container, *elements),
                                "section '%s' has %" PRIu64 " bytes, but its parts have %zu each", name, bytes, size);
}

int trl__container_text(const trl__container *container, const char *name, char **out, trl_error *err)
{
    const void *bytes = NULL;
    uint64_t size = 0;
    *out = NULL;
    int code = trl__container_section(container, name, &bytes, &size, err);
    if (code < 0 || size == 0)
        return code;
    if (trl__utf8_check(bytes, (size_t)size) < size)
        return trl__fail(err, TRL_ECORRUPT, "%s: section '%s' is not valid UTF-8", container->path, name);
    *out = trl__alloc((size_t)size + 1, 1);
    if (!*out)
        return trl__fail_memory(err);
    memcpy(*out, bytes, (size_t)size);
    (*out)[size] = '\0';
    return 0;
}

uint64_t trl__container_size(const trl__container *container)
{
    return container->size;
}

uint64_t trl__container_hash(const trl__container *container)
{
    return container->header.header_hash;
}

uint32_t trl__container_version(const trl__container *container)
{
    return container->header.kind_version;
}

uint64_t trl__container_offset(const trl__container *container, const void *byte)
{
    return (uint64_t)((const unsigned char *)byte - container->bytes);
}

const char *trl__container_path(const trl__container *container)
{
    return container->path;
}
