/* The map: what is added is found, keys are bytes, failure changes nothing. */
#include "cmocka_test.h"

#include "base/hash_map.h"
#include "base/memory.h"

#include <stdio.h>

static void an_empty_map_finds_nothing(void **state)
{
    (void)state;
    trl__map map = {0};
    assert_null(trl__map_find(&map, "a", 1));
    assert_null(trl__map_find(&map, "", 0));
    trl__map_free(&map);
}

static void the_first_value_stays(void **state)
{
    (void)state;
    trl__map map = {0};
    uint64_t value = UINT64_MAX;
    assert_int_equal(trl__map_add(&map, "key", 3, &value), 1);
    value = 6;
    assert_int_equal(trl__map_add(&map, "key", 3, &value), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(map.count, 1);
    *trl__map_find(&map, "key", 3) = 7;
    assert_int_equal(*trl__map_find(&map, "key", 3), 7);
    trl__map_free(&map);
    assert_int_equal(map.count, 0);
    assert_null(trl__map_find(&map, "key", 3));
}

static void keys_are_bytes_of_a_length(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } keys[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"ab", 2}, {"\xFF", 1}};
    trl__map map = {0};
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(trl__map_add(&map, keys[i].bytes, keys[i].length, &(uint64_t){i}), 1);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(*trl__map_find(&map, keys[i].bytes, keys[i].length), i);
    assert_null(trl__map_find(&map, "a\0c", 3));
    assert_null(trl__map_find(&map, "abc", 3));
    trl__map_free(&map);
}

static void failure_leaves_the_map_as_it_was(void **state)
{
    (void)state;
    static char keys[200][8];
    trl__map map = {0};
    size_t failures = 0, count = 0;
    for (uint64_t i = 0; i < 200; i++) {
        size_t length = (size_t)snprintf(keys[i], sizeof keys[i], "k%d", (int)i);
        trl__memory_fail_after(1);
        int added = trl__map_add(&map, keys[i], length, &(uint64_t){i});
        trl__memory_fail_after(0);
        if (added < 0) {
            failures++;
            assert_int_equal(map.count, count);
            assert_null(trl__map_find(&map, keys[i], length));
            added = trl__map_add(&map, keys[i], length, &(uint64_t){i});
        }
        assert_int_equal(added, 1);
        assert_int_equal(map.count, ++count);
        for (uint64_t j = 0; j <= i; j++)
            assert_int_equal(*trl__map_find(&map, keys[j], j < 10 ? 2 : j < 100 ? 3 : 4), j);
    }
    assert_int_equal(failures, 6); /* 16, 32 … 512 slots */
    trl__map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_finds_nothing),
        cmocka_unit_test(the_first_value_stays),
        cmocka_unit_test(keys_are_bytes_of_a_length),
        cmocka_unit_test(failure_leaves_the_map_as_it_was),
    };
    return RUN(tests);
}
