#include "bam/store_part.h"
#include "bam/bam_stream.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

struct trl__part {
    const trl__store_about *about;
    trl__container *file;
    const unsigned char *bytes;    /* of the blocks */
    const trl__part_block *blocks; /* where each lies */
    const unsigned char *first;    /* its first key */
    size_t count, key_size, dim;
    atomic_uchar *checked; /* block: 1 once its bytes were found to be right */
};

/* Keys have at least 8 bytes, which decide nearly always. */
static inline int compare_keys(const unsigned char *a, const unsigned char *b, size_t size)
{
    uint64_t x = (uint64_t)trl__be32(a) << 32 | trl__be32(a + 4), y = (uint64_t)trl__be32(b) << 32 | trl__be32(b + 4);
    return x != y ? (x > y) - (x < y) : memcmp(a + 8, b + 8, size - 8);
}

/* How many of the sorted keys come before this one, or are it. */
static size_t count_up_to(const unsigned char *keys, size_t count, size_t size, const unsigned char *key)
{
    size_t low = 0;
    while (count > 0) {
        size_t half = count / 2;
        int beyond = compare_keys(keys + (low + half) * size, key, size) > 0;
        low = beyond ? low : low + half + 1;
        count = beyond ? half : count - half - 1;
    }
    return low;
}

/* ---- opening ---- */

static int fail_index(const trl__part *p, trl_error *err, const char *what)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: the index of the partition can't be: %s", trl__container_path(p->file),
                     what);
}

static int check_index(const trl__part *p, uint64_t size, uint64_t mphones, trl_error *err)
{
    uint64_t end = 0, sum = 0;
    trl_bam_mphone mphone;
    trl_error why;
    for (size_t i = 0; i < p->count; i++) {
        const trl__part_block *b = &p->blocks[i];
        if (b->offset != end || b->size > size - end || b->size % 4 != 0)
            return fail_index(p, err, "its blocks don't lie one behind the other");
        if (b->count == 0 || (uint64_t)b->count * (p->key_size + 4 + TRL__BAM_MIXTURE_HEAD) > b->size)
            return fail_index(p, err, "a block has more M-phones than room");
        if (i > 0 && compare_keys(p->first + (i - 1) * p->key_size, p->first + i * p->key_size, p->key_size) >= 0)
            return fail_index(p, err, "its keys are not sorted");
        if (trl_bam_key_read(p->about->phones, (int)p->about->header.order, p->first + i * p->key_size, &mphone, &why) <
            0)
            return fail_index(p, err, why.text);
        end += b->size;
        sum += b->count;
    }
    return end == size && sum == mphones ? 0 : fail_index(p, err, "its blocks are not all that there are");
}

static int read_index(trl__part *p, const trl__store_part *facts, trl_error *err)
{
    const void *header = NULL, *bytes = NULL, *blocks = NULL, *first = NULL;
    size_t headers = 0, keys = 0;
    uint64_t size = 0;
    int code = trl__container_array(p->file, "partition", sizeof(trl__part_header), &header, &headers, err);
    if (code == 0)
        code = trl__container_section(p->file, "blocks", &bytes, &size, err);
    if (code == 0)
        code = trl__container_array(p->file, "index", sizeof *p->blocks, &blocks, &p->count, err);
    if (code == 0)
        code = trl__container_array(p->file, "first keys", p->key_size, &first, &keys, err);
    if (code < 0)
        return code;
    p->bytes = bytes;
    p->blocks = blocks;
    p->first = first;
    const trl__part_header *h = header;
    if (headers != 1 || h->order != p->about->header.order || h->dim != p->about->header.dim ||
        h->mphones != facts->mphones || keys != p->count)
        return fail_index(p, err, "its numbers are not those of the store");
    return check_index(p, size, h->mphones, err);
}

/* The file that store.trl means: TRL_ECORRUPT where it is gone, cut off, or has other content. */
static int open_file(const char *path, const trl__store_part *facts, trl__container **out, trl_error *err)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return trl__fail(err, TRL_ECORRUPT, "%s: a partition of the store is missing", path);
    if ((uint64_t)status.st_size != facts->bytes)
        return trl__fail(err, TRL_ECORRUPT, "%s: has %lld bytes instead of %" PRIu64, path, (long long)status.st_size,
                         facts->bytes);
    int code = trl__container_open(path, TRL__PART_KIND, TRL__PART_VERSION, out, err);
    if (code == 0 && (trl__container_size(*out) != facts->bytes || trl__container_hash(*out) != facts->hash))
        code = trl__fail(err, TRL_ECORRUPT, "%s: is not the file that the store was made with: its checksum is another",
                         path);
    return code == TRL_ENOENT ? TRL_ECORRUPT : code;
}

int trl__part_open(const char *path, const trl__store_about *about, const trl__store_part *facts, trl__part **out,
                   trl_error *err)
{
    trl__part *p = trl__alloc_zero(1, sizeof *p);
    *out = NULL;
    if (!p)
        return trl__fail_memory(err);
    p->about = about;
    p->dim = about->header.dim;
    p->key_size = trl_bam_key_size((int)about->header.order);
    int code = open_file(path, facts, &p->file, err);
    if (code == 0)
        code = read_index(p, facts, err);
    if (code == 0 && !(p->checked = trl__alloc_zero(p->count + 1, sizeof *p->checked)))
        code = trl__fail_memory(err);
    if (code < 0)
        trl__part_close(p);
    else
        *out = p;
    return code;
}

void trl__part_close(trl__part *p)
{
    if (!p)
        return;
    trl__container_close(p->file);
    trl__free(p->checked);
    trl__free(p);
}

/* ---- a block ---- */

static int fail_block(const trl__part *p, size_t block, trl_error *err, const char *what)
{
    char key[400];
    trl_bam_key_format(p->about->phones, (int)p->about->header.order, p->first + block * p->key_size, key, sizeof key);
    return trl__fail_byte(err, TRL_ECORRUPT, trl__container_path(p->file),
                          trl__container_offset(p->file, p->bytes + p->blocks[block].offset),
                          "block %zu of %zu (from %s on) is damaged: %s", block + 1, p->count, key, what);
}

/* The size of the mixture at the beginning of `room` bytes; 0: none can be there. */
static size_t mixture_size(const unsigned char *bytes, size_t room, size_t dim)
{
    if (room < TRL__BAM_MIXTURE_HEAD)
        return 0;
    uint64_t components = trl__le32(bytes), size = TRL__BAM_MIXTURE_HEAD + 4 * components * (1 + 2 * (uint64_t)dim);
    return components > 0 && components <= INT32_MAX && trl__le32(bytes + 4) <= 1 && size <= room ? (size_t)size : 0;
}

/* Its checksum is right; is it what a block can be? From the index's first key on and below that of the next block,
 * keys ascend, and mixtures lie one behind the other up to the end. */
static int check_content(const trl__part *p, size_t block, trl_error *err)
{
    const trl__part_block *b = &p->blocks[block];
    const unsigned char *keys = p->bytes + b->offset, *offsets = keys + b->count * p->key_size;
    const unsigned char *beyond = block + 1 < p->count ? p->first + (block + 1) * p->key_size : NULL;
    size_t at = b->count * (p->key_size + 4);
    trl_bam_mphone mphone;
    trl_error why;
    if (compare_keys(keys, p->first + block * p->key_size, p->key_size) != 0)
        return fail_block(p, block, err, "it begins with another M-phone than the index says");
    for (size_t i = 0; i < b->count; i++) {
        const unsigned char *key = keys + i * p->key_size, *next = i + 1 < b->count ? key + p->key_size : beyond;
        if (next && compare_keys(key, next, p->key_size) >= 0)
            return fail_block(p, block, err, "its keys are not sorted");
        if (trl_bam_key_read(p->about->phones, (int)p->about->header.order, key, &mphone, &why) < 0)
            return fail_block(p, block, err, why.text);
        size_t size = trl__le32(offsets + 4 * i) == at ? mixture_size(keys + at, b->size - at, p->dim) : 0;
        if (size == 0)
            return fail_block(p, block, err, "its mixtures don't lie one behind the other");
        at += size;
    }
    return at == b->size ? 0 : fail_block(p, block, err, "there is more in it than its mixtures");
}

static int check_block(const trl__part *p, size_t block, trl_error *err)
{
    const trl__part_block *b = &p->blocks[block];
    if (XXH3_64bits(p->bytes + b->offset, b->size) != b->hash)
        return fail_block(p, block, err, "its checksum is wrong");
    return check_content(p, block, err);
}

/* What the threads of a store write of it is only this; two that check the same block find the same. */
static int use_block(trl__part *p, size_t block, trl_error *err)
{
    if (atomic_load_explicit(&p->checked[block], memory_order_relaxed))
        return 0;
    int code = check_block(p, block, err);
    if (code == 0)
        atomic_store_explicit(&p->checked[block], 1, memory_order_relaxed);
    return code;
}

static void take_mixture(const trl__part *p, const trl__part_block *b, size_t i, trl_bam_mixture *mixture)
{
    const unsigned char *bytes = p->bytes + b->offset;
    trl__store_mixture(bytes + trl__le32(bytes + b->count * p->key_size + 4 * i), p->dim, mixture);
}

/* ---- looking ---- */

int trl__part_get(trl__part *p, const unsigned char *key, trl_bam_mixture *mixture, trl_error *err)
{
    size_t block = count_up_to(p->first, p->count, p->key_size, key);
    if (block-- == 0)
        return 0;
    int code = use_block(p, block, err);
    if (code < 0)
        return code;
    const trl__part_block *b = &p->blocks[block];
    const unsigned char *keys = p->bytes + b->offset;
    size_t i = count_up_to(keys, b->count, p->key_size, key);
    if (i-- == 0 || compare_keys(keys + i * p->key_size, key, p->key_size) != 0)
        return 0;
    take_mixture(p, b, i, mixture);
    return 1;
}

int trl__part_each(trl__part *p, trl_bam_store_fn use, void *user, trl_error *err)
{
    int code = 0;
    for (size_t block = 0; code == 0 && block < p->count; block++) {
        const trl__part_block *b = &p->blocks[block];
        code = use_block(p, block, err);
        for (size_t i = 0; code == 0 && i < b->count; i++) {
            trl_bam_mixture mixture;
            take_mixture(p, b, i, &mixture);
            code = use(user, p->bytes + b->offset + i * p->key_size, &mixture, err);
        }
    }
    return code;
}

int trl__part_check(const trl__part *p, trl_error *err)
{
    int code = 0;
    for (size_t block = 0; code == 0 && block < p->count; block++)
        code = check_block(p, block, err);
    return code;
}
