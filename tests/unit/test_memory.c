/* Memory: sizes that overflow, alignment, growth, arenas, scratch, arrays in one block, and the failure injection
 * that all tests rely on. */
#include "cmocka_test.h"

#include "base/memory.h"

#include <string.h>

static int switch_off_failures(void **state)
{
    (void)state;
    trl__memory_fail_after(0);
    return 0;
}

static int aligned(const void *block, uintptr_t to)
{
    return (uintptr_t)block % to == 0;
}

static void impossible_sizes_fail(void **state)
{
    (void)state;
    static const size_t counts[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX / 2 + 2, 2}, {(size_t)PTRDIFF_MAX + 1, 1}, {SIZE_MAX, SIZE_MAX}, {1, 0}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char *block = trl__alloc(1, 1);
        trl__scratch scratch = {0};
        assert_null(trl__alloc(counts[i][0], counts[i][1]));
        assert_null(trl__alloc_zero(counts[i][0], counts[i][1]));
        assert_null(trl__alloc_aligned(counts[i][0], counts[i][1]));
        assert_null(trl__realloc(block, counts[i][0], counts[i][1]));
        assert_null(trl__scratch_get(&scratch, counts[i][0], counts[i][1]));
        block[0] = 1; /* still ours */
        trl__free(block);
    }
    assert_null(trl__alloc_aligned((size_t)PTRDIFF_MAX, 1));
    trl__arena arena = {0};
    assert_null(trl__arena_alloc(&arena, SIZE_MAX));
    assert_null(trl__arena_alloc(&arena, SIZE_MAX - 7));
    assert_null(trl__arena_copy(&arena, "", SIZE_MAX));
    trl__arena_free(&arena);
}

static void nothing_is_still_a_block(void **state)
{
    (void)state;
    void *blocks[] = {trl__alloc(0, 8), trl__alloc_zero(0, 8), trl__alloc_aligned(0, 8), trl__realloc(NULL, 0, 8)};
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(blocks[i]);
        trl__free(blocks[i]);
    }
}

static void blocks_are_zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t size = 1; size < 5000; size = size * 3 + 1) {
        unsigned char *zeroed = trl__alloc_zero(size, 1);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(zeroed[i], 0);
        trl__free(zeroed);
        char *block = trl__alloc_aligned(size, 1);
        assert_true(aligned(block, TRL_ALIGNMENT));
        memset(block, 1, size);
        trl__free(block);
    }
}

static void copies_are_equal(void **state)
{
    (void)state;
    char *copy = trl__strdup("abc");
    assert_string_equal(copy, "abc");
    trl__free(copy);
    trl__memory_fail_after(1);
    assert_null(trl__strdup("abc"));
}

static void the_nth_allocation_and_all_later_ones_fail(void **state)
{
    (void)state;
    for (long n = 1; n < 5; n++) {
        trl__memory_fail_after(n);
        for (long i = 1; i < 8; i++) {
            void *block = i % 2 ? trl__alloc(1, 1) : trl__alloc_aligned(1, 1);
            assert_int_equal(block != NULL, i < n);
            trl__free(block);
        }
        trl__memory_fail_after(0);
        void *block = trl__alloc_zero(1, 1);
        assert_non_null(block);
        trl__free(block);
    }
}

static void arrays_grow_by_doubling(void **state)
{
    (void)state;
    int *array = NULL, moves = 0;
    size_t capacity = 0;
    for (int i = 0; i < 100000; i++) {
        size_t before = capacity;
        assert_int_equal(TRL_GROW(array, capacity, (size_t)i + 1), 0);
        assert_true(capacity > (size_t)i);
        moves += capacity != before;
        array[i] = i;
    }
    assert_true(moves <= 16); /* log2(100000) rounded up, less the first 16 */
    for (int i = 0; i < 100000; i++)
        assert_int_equal(array[i], i);
    size_t before = capacity;
    trl__memory_fail_after(1);
    assert_int_equal(TRL_GROW(array, capacity, capacity + 1), -1);
    assert_int_equal(TRL_GROW(array, capacity, 3), 0);
    assert_int_equal(capacity, before);
    assert_int_equal(array[99999], 99999);
    trl__memory_fail_after(0);
    assert_int_equal(TRL_GROW(array, capacity, SIZE_MAX / 2), -1);
    assert_int_equal(capacity, before);
    trl__free(array);
}

static void arena_pieces_never_move_or_overlap(void **state)
{
    (void)state;
    trl__arena arena = {0};
    enum { COUNT = 3000 };
    static unsigned char *pieces[COUNT];
    static size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = i % 500 == 7 ? 100000 : i * 7919 % 300;
        pieces[i] = trl__arena_alloc(&arena, sizes[i]);
        assert_non_null(pieces[i]);
        assert_true(aligned(pieces[i], 8));
        memset(pieces[i], (int)(i % 251), sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(pieces[i][j], i % 251);
    char *copy = trl__arena_copy(&arena, "a\0bcd", 4);
    assert_memory_equal(copy, "a\0bc", 5);
    trl__arena_free(&arena);
    assert_null(arena.last);
}

static void an_arena_survives_failure(void **state)
{
    (void)state;
    trl__arena arena = {0};
    char *first = trl__arena_copy(&arena, "first", 5);
    trl__memory_fail_after(1);
    assert_null(trl__arena_alloc(&arena, 1 << 20));
    assert_null(trl__arena_copy(&arena, first, 1 << 20));
    trl__memory_fail_after(0);
    assert_non_null(trl__arena_copy(&arena, "second", 6));
    assert_string_equal(first, "first");
    trl__arena_free(&arena);
}

static void scratch_is_reused(void **state)
{
    (void)state;
    trl__scratch scratch = {0};
    char *block = trl__scratch_get(&scratch, 1000, 4);
    assert_true(aligned(block, TRL_ALIGNMENT));
    memset(block, 1, 4000);
    assert_ptr_equal(trl__scratch_get(&scratch, 4000, 1), block);
    assert_ptr_equal(trl__scratch_get(&scratch, 0, 4), block);
    trl__memory_fail_after(1);
    assert_null(trl__scratch_get(&scratch, 1 << 20, 1));
    assert_ptr_equal(trl__scratch_get(&scratch, 4000, 1), block);
    trl__memory_fail_after(0);
    block = trl__scratch_get(&scratch, 1 << 20, 1);
    memset(block, 1, 1 << 20);
    trl__scratch_free(&scratch);
    assert_null(scratch.block);
    assert_int_equal(scratch.size, 0);
}

/* Arrays of all kinds of lengths, each filled with its number. */
enum { ARRAYS = 40 };

typedef struct arrays {
    size_t unit, greed; /* bytes of an element; elements that only the second walk takes */
    unsigned char *array[ARRAYS];
} arrays;

static size_t length_of(size_t i)
{
    return i * i * 7 % 131;
}

static void lay_out(void *user, trl__pieces *pieces)
{
    arrays *a = user;
    for (size_t i = 0; i < ARRAYS; i++)
        a->array[i] = trl__take(pieces, length_of(i) + (i + 1 == ARRAYS && pieces->block ? a->greed : 0), a->unit);
}

static void check_arrays(const arrays *a)
{
    for (size_t i = 0; i < ARRAYS; i++) {
        assert_true(a->array[i] && aligned(a->array[i], TRL_ALIGNMENT));
        memset(a->array[i], (int)i, length_of(i) * a->unit);
    }
    for (size_t i = 0; i < ARRAYS; i++)
        for (size_t j = 0; j < length_of(i) * a->unit; j++)
            assert_int_equal(a->array[i][j], i);
}

static void arrays_in_a_block_lie_apart(void **state)
{
    (void)state;
    trl__scratch scratch = {0};
    for (size_t unit = 1; unit < 50; unit = unit * 2 + 1) {
        arrays a = {.unit = unit};
        assert_int_equal(trl__scratch_lay_out(&scratch, lay_out, &a), 0);
        check_arrays(&a);
        void *block = trl__lay_out(lay_out, &a);
        check_arrays(&a);
        assert_ptr_equal(block, a.array[0]);
        trl__free(block);
    }
    trl__scratch_free(&scratch);
}

static void arrays_that_can_not_be_are_refused(void **state)
{
    (void)state;
    trl__scratch scratch = {0};
    /* One that is too long; all together; and where the sum comes round to a small number. */
    static const size_t units[] = {SIZE_MAX / 2, PTRDIFF_MAX / 200, SIZE_MAX / 100, SIZE_MAX};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        arrays a = {.unit = units[i]};
        assert_int_equal(trl__scratch_lay_out(&scratch, lay_out, &a), -1);
        assert_null(trl__lay_out(lay_out, &a));
    }
    arrays a = {.unit = 4, .greed = 1};
    assert_int_equal(trl__scratch_lay_out(&scratch, lay_out, &a), 0);
    assert_non_null(a.array[ARRAYS - 2]);
    assert_null(a.array[ARRAYS - 1]);
    trl__memory_fail_after(1);
    a.unit = 8;
    assert_int_equal(trl__scratch_lay_out(&scratch, lay_out, &a), -1);
    assert_null(trl__lay_out(lay_out, &a));
    trl__scratch_free(&scratch);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

/* The bytes around `size` of them: whoever steps on one is seen. */
static void assert_fenced(const char *begin, size_t size)
{
    assert_null(__asan_region_is_poisoned((void *)(uintptr_t)begin, size));
    assert_true(__asan_address_is_poisoned(begin + size));
}

static void what_was_not_asked_for_is_poisoned(void **state)
{
    (void)state;
    trl__scratch scratch = {0};
    trl__arena arena = {0};
    assert_fenced(trl__scratch_get(&scratch, 1001, 1), 1001);
    assert_fenced(trl__scratch_get(&scratch, 10, 1), 10);
    assert_fenced(trl__scratch_get(&scratch, 900, 1), 900);
    arrays a = {.unit = 3};
    assert_int_equal(trl__scratch_lay_out(&scratch, lay_out, &a), 0);
    for (size_t i = 0; i < ARRAYS; i++) /* one of 64 bytes would end where the next begins */
        if (length_of(i) * a.unit % TRL_ALIGNMENT)
            assert_fenced((char *)a.array[i], length_of(i) * a.unit);
    for (size_t size = 0; size < 100; size++)
        assert_fenced(trl__arena_alloc(&arena, size), size);
    char *block = trl__alloc_aligned(100, 1), *large = trl__alloc_large((3 << 20) + 5, 1);
    assert_fenced(block, 100);
    assert_fenced(large, (3 << 20) + 5);
    trl__free(block);
    trl__free(large);
    trl__arena_free(&arena);
    trl__scratch_free(&scratch);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_sizes_fail),
        cmocka_unit_test(nothing_is_still_a_block),
        cmocka_unit_test(blocks_are_zeroed_and_aligned),
        cmocka_unit_test_teardown(copies_are_equal, switch_off_failures),
        cmocka_unit_test_teardown(the_nth_allocation_and_all_later_ones_fail, switch_off_failures),
        cmocka_unit_test_teardown(arrays_grow_by_doubling, switch_off_failures),
        cmocka_unit_test(arena_pieces_never_move_or_overlap),
        cmocka_unit_test_teardown(an_arena_survives_failure, switch_off_failures),
        cmocka_unit_test_teardown(scratch_is_reused, switch_off_failures),
        cmocka_unit_test(arrays_in_a_block_lie_apart),
        cmocka_unit_test_teardown(arrays_that_can_not_be_are_refused, switch_off_failures),
#ifdef __SANITIZE_ADDRESS__
        cmocka_unit_test(what_was_not_asked_for_is_poisoned),
#endif
    };
    return RUN(tests);
}
