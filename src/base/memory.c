#define _DEFAULT_SOURCE /* madvise */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

static atomic_long fail_countdown; /* 0: off; 1: every allocation fails; n: n-1 more succeed */

void trl__memory_fail_after(long n)
{
    atomic_store(&fail_countdown, n);
}

static int injected_failure(void)
{
    long n = atomic_load(&fail_countdown);
    while (n > 1 && !atomic_compare_exchange_weak(&fail_countdown, &n, n - 1)) {
    }
    return n == 1;
}

/* count * size, or 0 when it overflows or nothing is asked for. */
static size_t total_size(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || total > PTRDIFF_MAX)
        return 0;
    return total;
}

void *trl__alloc(size_t count, size_t size)
{
    size_t total = total_size(count ? count : 1, size);
    return total && !injected_failure() ? malloc(total) : NULL;
}

void *trl__alloc_zero(size_t count, size_t size)
{
    size_t total = total_size(count ? count : 1, size);
    return total && !injected_failure() ? calloc(1, total) : NULL;
}

void *trl__realloc(void *block, size_t count, size_t size)
{
    size_t total = total_size(count ? count : 1, size);
    return total && !injected_failure() ? realloc(block, total) : NULL;
}

void trl__free(void *block)
{
    free(block);
}

char *trl__strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = trl__alloc(size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

void *trl__alloc_aligned(size_t count, size_t size)
{
    size_t total = total_size(count ? count : 1, size);
    if (!total || total > PTRDIFF_MAX - TRL_ALIGNMENT || injected_failure())
        return NULL;
    return aligned_alloc(TRL_ALIGNMENT, (total + TRL_ALIGNMENT - 1) / TRL_ALIGNMENT * TRL_ALIGNMENT);
}

/* A wish for large pages where a whole one fits: whatever becomes of it, the block is good. */
static void wish_large(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)block + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    uintptr_t end = ((uintptr_t)block + size) / LARGE_PAGE * LARGE_PAGE;
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)block;
    (void)size;
#endif
}

void *trl__alloc_large(size_t count, size_t size)
{
    size_t total = total_size(count ? count : 1, size);
    if (total < LARGE_PAGE)
        return trl__alloc_aligned(count, size);
    if (total > PTRDIFF_MAX - LARGE_PAGE || injected_failure())
        return NULL;
    total = (total + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *block = aligned_alloc(LARGE_PAGE, total);
    if (block)
        wish_large(block, total);
    return block;
}

int trl__grow(void **array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return 0;
    size_t larger = *capacity < 8 ? 16 : *capacity * 2;
    if (larger < needed)
        larger = needed;
    void *moved = trl__realloc(*array, larger, size);
    if (!moved)
        return -1;
    *array = moved;
    *capacity = larger;
    return 0;
}

struct trl__arena_block {
    struct trl__arena_block *previous;
    _Alignas(8) char bytes[];
};

#define ARENA_BLOCK_SIZE ((size_t)64 << 10)

void *trl__arena_alloc(trl__arena *arena, size_t size)
{
    if (size > PTRDIFF_MAX / 2)
        return NULL;
    size = (size + 7) & ~(size_t)7;
    if (!arena->last || arena->size - arena->used < size) {
        size_t block_size = size > ARENA_BLOCK_SIZE ? size : ARENA_BLOCK_SIZE;
        struct trl__arena_block *block = trl__alloc(1, sizeof *block + block_size);
        if (!block)
            return NULL;
        block->previous = arena->last;
        arena->last = block;
        arena->size = block_size;
        arena->used = 0;
    }
    void *piece = arena->last->bytes + arena->used;
    arena->used += size;
    return piece;
}

char *trl__arena_copy(trl__arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? trl__arena_alloc(arena, length + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void trl__arena_free(trl__arena *arena)
{
    while (arena->last) {
        struct trl__arena_block *previous = arena->last->previous;
        trl__free(arena->last);
        arena->last = previous;
    }
    *arena = (trl__arena){0};
}

void *trl__scratch_get(trl__scratch *scratch, size_t count, size_t size)
{
    size_t total = total_size(count ? count : 1, size);
    if (!total)
        return NULL;
    if (total > scratch->size) {
        size_t larger = total + total / 4;
        void *block = trl__alloc_aligned(larger, 1);
        if (!block)
            return NULL;
        trl__free(scratch->block);
        scratch->block = block;
        scratch->size = larger;
    }
    return scratch->block;
}

void trl__scratch_free(trl__scratch *scratch)
{
    trl__free(scratch->block);
    *scratch = (trl__scratch){0};
}
