/* Symbol tables: names and labels belong to each other, with gaps, in any order, and whatever memory does. */
#include "cmocka_test.h"

#include "base/memory.h"

#include <stdio.h>
#include <trellis/symbols.h>

static trl_symbols *new_table(void)
{
    trl_symbols *table;
    assert_int_equal(trl_symbols_create("words", &table, NULL), 0);
    return table;
}

/* Label i * step, for labels that are dense, and for some so far apart that no array could hold them. */
static void find_both_ways(int64_t step, int64_t count)
{
    trl_symbols *table = new_table();
    char name[32];
    for (int64_t i = count; i-- > 0;) {
        snprintf(name, sizeof name, "w%lld", (long long)i);
        assert_int_equal(trl_symbols_add(table, name, i * step, NULL), 0);
    }
    assert_int_equal(trl_symbols_count(table), count);
    for (int64_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "w%lld", (long long)i);
        assert_int_equal(trl_symbols_find(table, name), i * step);
        assert_string_equal(trl_symbols_name(table, i * step), name);
        assert_int_equal(trl_symbols_label(table, (size_t)(count - 1 - i)), i * step);
        assert_true(step == 1 || trl_symbols_name(table, i * step + 1) == NULL);
    }
    assert_null(trl_symbols_name(table, count * step));
    assert_null(trl_symbols_name(table, -1));
    assert_null(trl_symbols_name(table, (int64_t)1 << 32));
    assert_int_equal(trl_symbols_find(table, "w"), TRL_NO_LABEL);
    trl_symbols_destroy(table);
}

static void names_and_labels_find_each_other(void **state)
{
    (void)state;
    find_both_ways(1, 20000);
    find_both_ways(7, 5000);
    find_both_ways(1000003, 2000);
}

static void a_pair_is_for_life(void **state)
{
    (void)state;
    trl_symbols *table = new_table();
    trl_error err;
    int32_t label;
    assert_int_equal(trl_symbols_add(table, "a", 5, &err), 0);
    assert_int_equal(trl_symbols_add(table, "a", 5, &err), 0);
    assert_int_equal(trl_symbols_add(table, "a", 6, &err), TRL_EINVAL);
    assert_int_equal(trl_symbols_add(table, "b", 5, &err), TRL_EINVAL);
    assert_int_equal(trl_symbols_add(table, "b", -1, &err), TRL_EINVAL);
    assert_int_equal(trl_symbols_add(table, "b", (int64_t)1 << 31, &err), TRL_EINVAL);
    assert_int_equal(trl_symbols_add(table, "", 1, &err), TRL_EINVAL);
    assert_int_equal(trl_symbols_count(table), 1);
    assert_int_equal(trl_symbols_add_next(table, "b", &label, &err), 0);
    assert_int_equal(label, 6);
    assert_int_equal(trl_symbols_add_next(table, "a", &label, &err), 0);
    assert_int_equal(label, 5);
    assert_int_equal(trl_symbols_add(table, "last", INT32_MAX, &err), 0);
    assert_int_equal(trl_symbols_add_next(table, "more", &label, &err), TRL_EINVAL);
    trl_symbols_destroy(table);
}

static void the_last_owner_ends_it(void **state)
{
    (void)state;
    trl_symbols *table = new_table(), *same = trl_symbols_share(table);
    assert_ptr_equal(same, table);
    assert_int_equal(trl_symbols_add(table, "a", 1, NULL), 0);
    trl_symbols_destroy(table);
    assert_int_equal(trl_symbols_find(same, "a"), 1);
    assert_string_equal(trl_symbols_title(same), "words");
    trl_symbols_destroy(same);
    assert_null(trl_symbols_share(NULL));
    trl_symbols_destroy(NULL);
}

/* Whatever allocation fails: what was added is there, what was refused is not, and can be added later. */
static void a_failed_addition_leaves_nothing_behind(void **state)
{
    (void)state;
    for (long n = 1; n < 12; n++)
        for (int64_t step = 1; step <= 100000; step *= 100000) {
            trl_symbols *table = new_table();
            int added[20];
            char name[8];
            trl__memory_fail_after(n);
            for (int i = 0; i < 20; i++) {
                snprintf(name, sizeof name, "s%d", i);
                added[i] = trl_symbols_add(table, name, i * step, NULL) == 0;
                if (!added[i])
                    trl__memory_fail_after(0);
            }
            trl__memory_fail_after(0);
            for (int i = 0; i < 20; i++) {
                snprintf(name, sizeof name, "s%d", i);
                assert_int_equal(trl_symbols_find(table, name), added[i] ? i * step : TRL_NO_LABEL);
                assert_int_equal(trl_symbols_name(table, i * step) != NULL, added[i]);
            }
            for (int i = 0; i < 20; i++) {
                snprintf(name, sizeof name, "s%d", i);
                assert_int_equal(trl_symbols_add(table, name, i * step, NULL), 0);
                assert_string_equal(trl_symbols_name(table, i * step), name);
            }
            trl_symbols_destroy(table);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_labels_find_each_other),
        cmocka_unit_test(a_pair_is_for_life),
        cmocka_unit_test(the_last_owner_ends_it),
        cmocka_unit_test(a_failed_addition_leaves_nothing_behind),
    };
    return RUN(tests);
}
