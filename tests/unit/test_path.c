/* Names of files: what is behind the last slash and dot, and where a relative name leads. */
#include "cmocka_test.h"

#include "base/path.h"

#include <string.h>

static void test_parts(void **state)
{
    (void)state;
    static const struct {
        const char *path, *base, *extension;
    } cases[] = {{"a/b.c.wav", "b.c.wav", ".wav"},
                 {"b", "b", ""},
                 {"a.d/b", "b", ""},
                 {"/x.wav", "x.wav", ".wav"},
                 {".wav", ".wav", ""},
                 {"a/.hidden.lab", ".hidden.lab", ".lab"},
                 {"a/", "", ""},
                 {"", "", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(trl__base_name(cases[i].path), cases[i].base);
        assert_string_equal(trl__extension(cases[i].path), cases[i].extension);
    }
}

static void test_joined(void **state)
{
    (void)state;
    trl__arena arena = {0};
    assert_string_equal(trl__join_path(&arena, "a", "b"), "a/b");
    assert_string_equal(trl__join_path(&arena, "a/", "b"), "a/b");
    assert_string_equal(trl__join_path(&arena, "a", "/b"), "/b");
    trl__arena_free(&arena);
}

static void test_beside(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"a/b/list.scp", "x.ark", "a/b/x.ark"}, {"list.scp", "x.ark", "x.ark"}, {"a/list.scp", "/x.ark", "/x.ark"},
        {"/list.scp", "../x", "/../x"},         {"a/list.scp", "", "a/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = trl__path_beside(cases[i][0], cases[i][1]);
        assert_string_equal(path, cases[i][2]);
        trl__free(path);
    }
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *name, *form;
        int fits;
    } cases[] = {{"part-0012-0123456789abcdef.trl", "part-#-@.trl", 1},
                 {"part-0012-0123456789abcde.trl", "part-#-@.trl", 0},
                 {"part-0012-0123456789abcdef0.trl", "part-#-@.trl", 0},
                 {"part--0123456789abcdef.trl", "part-#-@.trl", 0},
                 {"part-0012-0123456789abcdef.trl.bak", "part-#-@.trl", 0},
                 {"part-00000.bam", "part-#-@.trl", 0},
                 {"run-7", "run-#", 1},
                 {"run-7x", "run-#", 0},
                 {"run-", "run-#", 0},
                 {"", "", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(trl__name_fits(cases[i].name, cases[i].form), cases[i].fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
