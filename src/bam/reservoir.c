#include "bam/reservoir.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

int trl__reservoir_create(size_t most, size_t dim, trl__reservoir **out, trl_error *err)
{
    trl__reservoir *r = trl__alloc_zero(1, sizeof *r);
    *out = r;
    if (!r)
        return trl__fail_memory(err);
    r->most = most;
    r->dim = dim;
    r->waiting_most = most / 64 + 16;
    size_t room = most + r->waiting_most;
    r->hash = trl__alloc(room, sizeof *r->hash);
    r->row = trl__alloc(room, sizeof *r->row);
    r->frames = trl__alloc(room * dim, sizeof *r->frames);
    r->waiting = trl__alloc(r->waiting_most, sizeof *r->waiting);
    r->free_rows = trl__alloc(r->waiting_most, sizeof *r->free_rows);
    if (r->hash && r->row && r->frames && r->waiting && r->free_rows)
        return 0;
    trl__reservoir_destroy(r);
    *out = NULL;
    return trl__fail_memory(err);
}

void trl__reservoir_destroy(trl__reservoir *r)
{
    if (!r)
        return;
    trl__free(r->hash);
    trl__free(r->row);
    trl__free(r->frames);
    trl__free(r->waiting);
    trl__free(r->free_rows);
    trl__free(r);
}

void trl__reservoir_empty(trl__reservoir *r)
{
    r->count = r->waiting_count = r->free_count = 0;
    r->overflow = 0;
}

static int by_hash(const void *a, const void *b)
{
    const trl__reservoir_entry *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Merges from the back, where there is room, so nothing is overwritten. */
static size_t merge_waiting(trl__reservoir *r)
{
    size_t i = r->count, j = r->waiting_count, to = i + j;
    while (j > 0) {
        int old = i > 0 && r->hash[i - 1] > r->waiting[j - 1].hash;
        to--;
        r->hash[to] = old ? r->hash[i - 1] : r->waiting[j - 1].hash;
        r->row[to] = old ? r->row[i - 1] : r->waiting[j - 1].row;
        i -= (size_t)old;
        j -= (size_t)!old;
    }
    return r->count + r->waiting_count;
}

/* What is there twice, and what is too much, goes. Rows in use and free ones are always count + waiting + free in all, so the list has room. */
void trl__reservoir_settle(trl__reservoir *r)
{
    if (r->waiting_count == 0)
        return;
    qsort(r->waiting, r->waiting_count, sizeof *r->waiting, by_hash);
    size_t all = merge_waiting(r), kept = 0;
    for (size_t i = 0; i < all; i++) {
        int again = kept > 0 && r->hash[kept - 1] == r->hash[i];
        if (again || kept == r->most) {
            r->overflow |= !again;
            r->free_rows[r->free_count++] = r->row[i];
            continue;
        }
        r->hash[kept] = r->hash[i];
        r->row[kept++] = r->row[i];
    }
    r->count = kept;
    r->waiting_count = 0;
}

void trl__reservoir_add(trl__reservoir *r, uint64_t hash, const void *frame)
{
    if (r->count == r->most && hash >= r->hash[r->most - 1]) {
        r->overflow |= hash > r->hash[r->most - 1];
        return;
    }
    uint32_t row = r->free_count > 0 ? r->free_rows[--r->free_count] : (uint32_t)(r->count + r->waiting_count);
    memcpy(r->frames + (size_t)row * r->dim, frame, r->dim * sizeof *r->frames);
    r->waiting[r->waiting_count++] = (trl__reservoir_entry){hash, row};
    if (r->waiting_count == r->waiting_most)
        trl__reservoir_settle(r);
}

void trl__reservoir_merge(trl__reservoir *to, trl__reservoir *from)
{
    trl__reservoir_settle(from);
    if (to->count + to->waiting_count == 0 && to->most == from->most && to->dim == from->dim) {
        trl__reservoir kept = *to;
        *to = *from;
        *from = kept;
        to->overflow |= kept.overflow;
        trl__reservoir_empty(from);
        return;
    }
    for (size_t i = 0; i < from->count; i++)
        trl__reservoir_add(to, from->hash[i], trl__reservoir_frame(from, i));
    to->overflow |= from->overflow;
}
