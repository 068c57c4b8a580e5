#include "bam/key_ranges.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct weighed_key {
    const unsigned char *key;
    uint64_t bytes;
    size_t size;
} weighed_key;

static int by_key(const void *a, const void *b)
{
    const weighed_key *x = a, *y = b;
    return memcmp(x->key, y->key, x->size);
}

static int by_bytes(const void *a, const void *b)
{
    const trl__key_range *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : (x->number > y->number) - (x->number < y->number);
}

/* Cuts where the blocks of all runs, in the order of their first keys, have added up to a share of the whole. */
static size_t cut(const weighed_key *keys, size_t count, uint64_t total, size_t most, trl__key_range *ranges)
{
    uint64_t sum = 0;
    size_t cuts = 1;
    ranges[0] = (trl__key_range){0};
    for (size_t i = 0; i < count; i++) {
        int is_new = i > 0 && memcmp(keys[i].key, keys[i - 1].key, keys[i].size) != 0;
        if (is_new && cuts < most && (double)sum >= (double)total * (double)cuts / (double)most) {
            ranges[cuts - 1].end = keys[i].key;
            ranges[cuts] = (trl__key_range){.first = keys[i].key, .number = cuts};
            cuts++;
        }
        ranges[cuts - 1].bytes += keys[i].bytes;
        sum += keys[i].bytes;
    }
    return cuts;
}

int trl__key_ranges(trl__sorted_run *const *runs, size_t count, size_t most, trl__key_range **out, size_t *ranges,
                    trl_error *err)
{
    size_t blocks = 0, used = 0;
    uint64_t total = 0;
    for (size_t r = 0; r < count; r++)
        blocks += runs[r]->count;
    weighed_key *keys = trl__alloc(blocks + 1, sizeof *keys);
    *out = trl__alloc(most, sizeof **out);
    if (!keys || !*out) {
        trl__free(keys);
        trl__free(*out);
        *out = NULL;
        return trl__fail_memory(err);
    }
    for (size_t r = 0; r < count; r++)
        for (size_t b = 0; b < runs[r]->count; b++) {
            keys[used++] = (weighed_key){runs[r]->blocks[b].mark, runs[r]->blocks[b].size, runs[r]->mark_size};
            total += runs[r]->blocks[b].size;
        }
    if (used > 0)
        qsort(keys, used, sizeof *keys, by_key);
    *ranges = cut(keys, used, total, most, *out);
    trl__free(keys);
    qsort(*out, *ranges, sizeof **out, by_bytes);
    return 0;
}
