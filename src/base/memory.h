/* Memory: aligned blocks, growing arrays, arenas for strings, scratch that is reused.
 *
 * All allocation in the library goes through these functions, so that tests can make any of them fail
 * (trl__memory_fail_after).
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

/* Scratch: one aligned block that grows and is reused from call to call; contents are not kept. Initialise with {0}. */
typedef struct trl__scratch {
    void *block;
    size_t size;
} trl__scratch;

void *trl__scratch_get(trl__scratch *scratch, size_t count, size_t size); /* NULL: out of memory */
void trl__scratch_free(trl__scratch *scratch);

/* For tests: the n-th allocation from now on (1 = the next) and all after it fail; 0 switches that off. */
void trl__memory_fail_after(long n);

#endif
