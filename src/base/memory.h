/* Memory: aligned blocks, growing arrays, arenas for strings, scratch that is reused.
 *
 * All allocation in the library goes through these functions, so that tests can make any of them fail
 * (trl__memory_fail_after). Built with the address sanitizer, blocks have no byte more than was asked for, and what
 * lies between the pieces of a block is poisoned, so that it sees who reads or writes there.
 */
#ifndef TRL_BASE_MEMORY_H
#define TRL_BASE_MEMORY_H

#include <stddef.h>

#define TRL_ALIGNMENT 64 /* bytes: a cache line, and the widest vector register */

/* malloc, calloc, realloc, free; count * size is checked for overflow. NULL on failure. */
void *trl__alloc(size_t count, size_t size);
void *trl__alloc_zero(size_t count, size_t size);
void *trl__realloc(void *block, size_t count, size_t size);
void trl__free(void *block);
char *trl__strdup(const char *text);

/* TRL_ALIGNMENT-aligned; freed by trl__free like any other. */
void *trl__alloc_aligned(size_t count, size_t size);

/* The same for big tables that are read here and there: in large pages where the system has them, so that fewer
 * addresses have to be translated. */
void *trl__alloc_large(size_t count, size_t size);

/* Makes room for `needed` elements in a growing array, at least doubling it: amortised O(1) per element.
 * Returns 0 or -1 (out of memory; the array is unchanged). */
int trl__grow(void **array, size_t *capacity, size_t needed, size_t size);
#define TRL_GROW(array, capacity, needed) trl__grow((void **)&(array), &(capacity), (needed), sizeof *(array))

/* An arena: many small pieces, freed together. Initialise with {0}. Pieces never move. */
typedef struct trl__arena {
    struct trl__arena_block *last;
    size_t used, size;
} trl__arena;

void *trl__arena_alloc(trl__arena *arena, size_t size);                    /* 8-byte aligned */
char *trl__arena_copy(trl__arena *arena, const char *text, size_t length); /* adds the final NUL */
void trl__arena_free(trl__arena *arena);

/* Scratch: one aligned block that grows and is reused from call to call; contents are lost when it grows. Initialise
 * with {0}. */
typedef struct trl__scratch {
    void *block;
    size_t size;
} trl__scratch;

void *trl__scratch_get(trl__scratch *scratch, size_t count, size_t size); /* NULL: out of memory */
void trl__scratch_free(trl__scratch *scratch);

/* Several arrays in one block. A layout takes them one after the other, and is walked twice: to count their bytes, then
 * to place them. So no sum of sizes stands beside the arrays it is of:
 *
 *     static void lay_out(void *user, trl__pieces *pieces)
 *     {
 *         table *t = user;
 *         t->first = trl__take(pieces, t->rows + 1, sizeof *t->first);
 *         t->value = trl__take(pieces, t->rows * t->columns, sizeof *t->value);
 *     }
 *
 * A layout only takes: in the first walk all it gets is NULL. */
typedef struct trl__pieces {
    char *block; /* NULL: in the first walk */
    size_t size; /* bytes of all pieces so far; SIZE_MAX: more than there can be */
    size_t room; /* bytes of the block */
} trl__pieces;

typedef void trl__piece_plan(void *user, trl__pieces *pieces);

/* The next piece, TRL_ALIGNMENT-aligned; the second fills it with zeros. NULL also when the second walk takes more than
 * the first. */
void *trl__take(trl__pieces *pieces, size_t count, size_t size);
void *trl__take_zero(trl__pieces *pieces, size_t count, size_t size);

/* The arrays in scratch, or in a block of their own, which begins with the first and is freed by trl__free. -1, NULL:
 * out of memory. */
int trl__scratch_lay_out(trl__scratch *scratch, trl__piece_plan *layout, void *user);
void *trl__lay_out(trl__piece_plan *layout, void *user);

/* For tests: the n-th allocation from now on (1 = the next) and all after it fail; 0 switches that off. */
void trl__memory_fail_after(long n);

#endif
