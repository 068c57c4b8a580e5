#include "bam/store_part.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>
#include <xxhash.h>

typedef struct byte_list {
    unsigned char *bytes;
    size_t used, capacity;
} byte_list;

struct trl__part_writer {
    trl__container_writer *file;
    char *path;
    trl__part_header header;
    size_t key_size;
    byte_list keys, offsets, values; /* of the block; offsets within the values */
    byte_list index, first;          /* of the blocks that were written */
    trl__part_block block;
};

static int append(byte_list *list, const void *bytes, size_t size, trl_error *err)
{
    if (TRL_GROW(list->bytes, list->capacity, list->used + size) < 0)
        return trl__fail_memory(err);
    memcpy(list->bytes + list->used, bytes, size);
    list->used += size;
    return 0;
}

int trl__part_create(const char *path, int order, int dim, trl__part_writer **out, trl_error *err)
{
    trl__part_writer *w = trl__alloc_zero(1, sizeof *w);
    *out = NULL;
    if (!w)
        return trl__fail_memory(err);
    w->header = (trl__part_header){.order = (uint32_t)order, .dim = (uint32_t)dim};
    w->key_size = trl_bam_key_size(order);
    w->path = trl__strdup(path);
    int code =
        w->path ? trl__container_create(path, TRL__PART_KIND, TRL__PART_VERSION, &w->file, err) : trl__fail_memory(err);
    if (code == 0)
        code = trl__container_begin(w->file, "blocks", 1, err);
    if (code < 0)
        trl__part_abort(w);
    else
        *out = w;
    return code;
}

/* Offsets become those in the block: keys and offsets lie before the values. */
static int flush(trl__part_writer *w, trl_error *err)
{
    byte_list *all = &w->keys;
    trl__part_block *b = &w->block;
    size_t head = w->keys.used + w->offsets.used;
    if (b->count == 0)
        return 0;
    for (size_t at = 0; at < w->offsets.used; at += 4)
        trl__put_le32(w->offsets.bytes + at, trl__le32(w->offsets.bytes + at) + (uint32_t)head);
    int code = append(&w->first, w->keys.bytes, w->key_size, err);
    if (code == 0)
        code = append(all, w->offsets.bytes, w->offsets.used, err);
    if (code == 0)
        code = append(all, w->values.bytes, w->values.used, err);
    if (code < 0)
        return code;
    b->size = (uint32_t)all->used;
    b->hash = XXH3_64bits(all->bytes, all->used);
    code = append(&w->index, b, sizeof *b, err);
    if (code == 0)
        code = trl__container_write(w->file, all->bytes, all->used, err);
    *b = (trl__part_block){.offset = b->offset + b->size};
    w->keys.used = w->offsets.used = w->values.used = 0;
    return code;
}

int trl__part_add(trl__part_writer *w, const unsigned char *key, const unsigned char *value, size_t size,
                  trl_error *err)
{
    unsigned char offset[4];
    size_t used = w->keys.used + w->offsets.used + w->values.used;
    int code = used + w->key_size + 4 + size > TRL__PART_BLOCK ? flush(w, err) : 0;
    trl__put_le32(offset, (uint32_t)w->values.used);
    if (code == 0)
        code = append(&w->keys, key, w->key_size, err);
    if (code == 0)
        code = append(&w->offsets, offset, sizeof offset, err);
    if (code == 0)
        code = append(&w->values, value, size, err);
    w->block.count++;
    w->header.mphones++;
    return code;
}

static int write_index(trl__part_writer *w, trl_error *err)
{
    int code = flush(w, err);
    if (code == 0)
        code = trl__container_add(w->file, "index", w->index.bytes, w->index.used, err);
    if (code == 0)
        code = trl__container_add(w->file, "first keys", w->first.bytes, w->first.used, err);
    return code < 0 ? code : trl__container_add(w->file, "partition", &w->header, sizeof w->header, err);
}

int trl__part_commit(trl__part_writer *w, trl__store_part *facts, trl_error *err)
{
    trl__container *written = NULL;
    int code = write_index(w, err);
    if (code == 0) {
        code = trl__container_commit(w->file, err);
        w->file = NULL;
    }
    if (code == 0)
        code = trl__container_open(w->path, TRL__PART_KIND, TRL__PART_VERSION, &written, err);
    if (code == 0)
        *facts = (trl__store_part){
            .hash = trl__container_hash(written), .bytes = trl__container_size(written), .mphones = w->header.mphones};
    trl__container_close(written);
    trl__part_abort(w);
    return code;
}

void trl__part_abort(trl__part_writer *w)
{
    if (!w)
        return;
    trl__container_abort(w->file);
    trl__free(w->path);
    trl__free(w->keys.bytes);
    trl__free(w->offsets.bytes);
    trl__free(w->values.bytes);
    trl__free(w->index.bytes);
    trl__free(w->first.bytes);
    trl__free(w);
}
