/* String tables: numbers in order of arrival, one number per string, copies that stay. */
#include "cmocka_test.h"

#include "base/string_table.h"

#include <stdio.h>
#include <string.h>

static void numbers_rise_and_stay(void **state)
{
    (void)state;
    trl__strings table = {0};
    char text[16];
    assert_int_equal(trl__strings_find(&table, "w0", 2), -1);
    for (long round = 0; round < 2; round++) {
        for (long i = 0; i < 20000; i++) {
            size_t length = (size_t)snprintf(text, sizeof text, "w%ld", i);
            assert_int_equal(trl__strings_add(&table, text, length), i);
        }
        assert_int_equal(table.count, 20000);
    }
    memset(text, 'x', sizeof text); /* the table has copies */
    for (long i = 0; i < 20000; i++) {
        size_t length = (size_t)snprintf(text, sizeof text, "w%ld", i);
        assert_string_equal(table.texts[i], text);
        assert_int_equal(trl__strings_find(&table, text, length), i);
    }
    assert_int_equal(trl__strings_find(&table, "w20000", 6), -1);
    assert_int_equal(trl__strings_find(&table, "w", 1), -1);
    trl__strings_free(&table);
    assert_int_equal(table.count, 0);
}

static void a_part_of_a_text_will_do(void **state)
{
    (void)state;
    trl__strings table = {0};
    assert_int_equal(trl__strings_add(&table, "abcdef", 3), 0);
    assert_int_equal(trl__strings_add(&table, "", 0), 1);
    assert_int_equal(trl__strings_add(&table, "abc", 3), 0);
    assert_int_equal(trl__strings_add(&table, "ABC", 3), 2);
    assert_string_equal(table.texts[0], "abc");
    assert_string_equal(table.texts[1], "");
    trl__strings_free(&table);
}

static void every_failing_allocation_leaves_a_usable_table(void **state)
{
    (void)state;
    static char large[70000];
    memset(large, 'l', sizeof large);
    trl__strings table = {0};
    int failures = 0;
    for (long i = 0; i < 100; i++) {
        char text[16];
        size_t length = (size_t)snprintf(text, sizeof text, "w%ld", i);
        long number = -1;
        for (long n = 1; number < 0; n++) {
            trl__memory_fail_after(n);
            number = trl__strings_add(&table, text, length);
            trl__memory_fail_after(0);
            failures += number < 0;
            if (number < 0) {
                assert_int_equal(trl__strings_find(&table, text, length), -1);
                assert_int_equal(table.count, i);
            }
        }
        assert_int_equal(number, i);
    }
    assert_true(failures >= 3 + 3 + 3); /* array, arena, map at first; array and map again as they grow */
    trl__memory_fail_after(1);
    assert_int_equal(trl__strings_add(&table, large, sizeof large), -1);
    trl__memory_fail_after(0);
    assert_int_equal(trl__strings_add(&table, large, sizeof large), 100);
    trl__strings_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_rise_and_stay),
        cmocka_unit_test(a_part_of_a_text_will_do),
        cmocka_unit_test(every_failing_allocation_leaves_a_usable_table),
    };
    return RUN(tests);
}
