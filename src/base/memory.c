#define _DEFAULT_SOURCE /* madvise, posix_memalign */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define ADDRESS_SANITIZER 1
#elif defined __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif

#ifdef ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define EXACT 1        /* blocks are as long as asked for */
#define ARENA_GAP 16UL /* bytes between pieces of an arena */
#define POISON(block, size) __asan_poison_memory_region(block, size)
#define UNPOISON(block, size) __asan_unpoison_memory_region(block, size)
#else
#define EXACT 0
#define ARENA_GAP 0UL
#define POISON(block, size) ((void)(block), (void)(size))
#define UNPOISON(block, size) ((void)(block), (void)(size))
#endif

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

static size_t up_to_whole(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
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
    void *block;
    if (!total || total > PTRDIFF_MAX - TRL_ALIGNMENT || injected_failure())
        return NULL;
    if (!EXACT)
        total = up_to_whole(total, TRL_ALIGNMENT);
    return posix_memalign(&block, TRL_ALIGNMENT, total) == 0 ? block : NULL;
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
    if (total < LARGE_PAGE || EXACT)
        return trl__alloc_aligned(count, size);
    if (total > PTRDIFF_MAX - LARGE_PAGE || injected_failure())
        return NULL;
    total = up_to_whole(total, LARGE_PAGE);
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
    size_t room = up_to_whole(size, 8) + ARENA_GAP;
    if (!arena->last || arena->size - arena->used < room) {
        size_t block_size = room > ARENA_BLOCK_SIZE ? room : ARENA_BLOCK_SIZE;
        struct trl__arena_block *block = trl__alloc(1, sizeof *block + block_size);
        if (!block)
            return NULL;
        block->previous = arena->last;
        arena->last = block;
        arena->size = block_size;
        arena->used = 0;
        POISON(block->bytes, block_size);
    }
    void *piece = arena->last->bytes + arena->used;
    arena->used += room;
    UNPOISON(piece, size);
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
        size_t larger = EXACT ? total : total + total / 4;
        void *block = trl__alloc_aligned(larger, 1);
        if (!block)
            return NULL;
        trl__free(scratch->block);
        scratch->block = block;
        scratch->size = larger;
    }
    POISON(scratch->block, scratch->size);
    UNPOISON(scratch->block, total);
    return scratch->block;
}

void trl__scratch_free(trl__scratch *scratch)
{
    trl__free(scratch->block);
    *scratch = (trl__scratch){0};
}

void *trl__take(trl__pieces *pieces, size_t count, size_t size)
{
    size_t bytes, end, begin = pieces->size <= PTRDIFF_MAX ? up_to_whole(pieces->size, TRL_ALIGNMENT) : SIZE_MAX;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(begin, bytes, &end))
        end = SIZE_MAX;
    pieces->size = end;
    if (!pieces->block || end > pieces->room)
        return NULL;
    UNPOISON(pieces->block + begin, bytes);
    return pieces->block + begin;
}

void *trl__take_zero(trl__pieces *pieces, size_t count, size_t size)
{
    void *piece = trl__take(pieces, count, size);
    return piece ? memset(piece, 0, count * size) : NULL;
}

static size_t count_pieces(trl__piece_plan *layout, void *user)
{
    trl__pieces pieces = {0};
    layout(user, &pieces);
    return pieces.size;
}

static void place_pieces(trl__piece_plan *layout, void *user, char *block, size_t size)
{
    POISON(block, size);
    layout(user, &(trl__pieces){.block = block, .room = size});
}

int trl__scratch_lay_out(trl__scratch *scratch, trl__piece_plan *layout, void *user)
{
    size_t size = count_pieces(layout, user);
    char *block = trl__scratch_get(scratch, size, 1);
    if (!block)
        return -1;
    place_pieces(layout, user, block, size);
    return 0;
}

void *trl__lay_out(trl__piece_plan *layout, void *user)
{
    size_t size = count_pieces(layout, user);
    char *block = trl__alloc_large(size, 1);
    if (block)
        place_pieces(layout, user, block, size);
    return block;
}
