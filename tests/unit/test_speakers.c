/* Tables of transforms by speaker, in memory and in files. */
#include "cmocka_test.h"

#include "adapt/speakers.h"
#include "base/memory.h"
#include "temp_folder.h"

#include <math.h>

static trl_error err;

static trl_matrix transform_of(size_t dim, float first)
{
    trl_matrix m = {0};
    assert_int_equal(trl_matrix_resize(&m, dim, dim + 1, &err), 0);
    for (size_t i = 0; i < dim * (dim + 1); i++)
        m.data[i] = first + (float)i;
    return m;
}

static void set(trl__transforms *table, const char *speaker, float first)
{
    trl_matrix m = transform_of((size_t)table->dim, first);
    if (trl__transforms_set(table, speaker, &m, &err) < 0)
        fail_msg("%s", err.text);
    trl_matrix_free(&m);
}

static trl__transforms *example(void)
{
    trl__transforms *table;
    assert_int_equal(trl__transforms_create(3, &table, &err), 0);
    set(table, "anna", 1);
    set(table, "bj\xc3\xb8rn", 2);
    set(table, "carl", 3);
    return table;
}

static void check(const trl__transforms *table, const char *speaker, float first)
{
    const trl_matrix *m = trl__transforms_get(table, speaker);
    assert_non_null(m);
    assert_int_equal(m->rows, 3);
    assert_int_equal(m->cols, 4);
    for (size_t i = 0; i < 12; i++)
        assert_true(trl_matrix_row(m, i / 4)[i % 4] == first + (float)i);
}

static void set_and_get(void **state)
{
    (void)state;
    trl__transforms *table = example();
    check(table, "anna", 1);
    check(table, "carl", 3);
    assert_null(trl__transforms_get(table, "dora"));
    assert_null(trl__transforms_get(table, ""));
    set(table, "anna", 7);
    check(table, "anna", 7);
    assert_int_equal(table->names.count, 3);
    for (int i = 0; i < 1000; i++) {
        char name[20];
        snprintf(name, sizeof name, "s%d", i);
        set(table, name, (float)i);
    }
    check(table, "s999", 999);
    check(table, "bj\xc3\xb8rn", 2);
    trl__transforms_destroy(table);
    trl__transforms_destroy(NULL);
}

static void shapes_and_numbers_are_checked(void **state)
{
    (void)state;
    trl__transforms *table = example();
    trl_matrix m = transform_of(2, 0);
    assert_int_equal(trl__transforms_set(table, "anna", &m, &err), TRL_EINVAL);
    trl_matrix_free(&m);
    m = transform_of(3, 0);
    m.data[11] = INFINITY;
    assert_int_equal(trl__transforms_set(table, "dora", &m, &err), TRL_ENUMBER);
    assert_null(trl__transforms_get(table, "dora"));
    trl_matrix_free(&m);
    trl__transforms_destroy(table);
}

/* Rows with gaps between them. */
static void strides_are_respected(void **state)
{
    (void)state;
    trl__transforms *table;
    float data[] = {1, 2, 3, -9, 4, 5, 6, -9};
    const trl_matrix m = {.data = data, .rows = 2, .cols = 3, .stride = 4};
    assert_int_equal(trl__transforms_create(2, &table, &err), 0);
    assert_int_equal(trl__transforms_set(table, "a", &m, &err), 0);
    assert_true(trl_matrix_row(trl__transforms_get(table, "a"), 1)[2] == 6);
    trl__transforms_destroy(table);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    trl__transforms *table = example(), *read;
    assert_int_equal(trl__transforms_write(table, temp_path("t"), &err), 0);
    assert_int_equal(trl__transforms_read(temp_path("t"), &read, &err), 0);
    assert_int_equal(read->dim, 3);
    assert_int_equal(read->names.count, 3);
    check(read, "anna", 1);
    check(read, "bj\xc3\xb8rn", 2);
    check(read, "carl", 3);
    trl__transforms_destroy(read);
    trl__transforms_destroy(table);
    assert_int_equal(trl__transforms_create(5, &table, &err), 0); /* nobody */
    assert_int_equal(trl__transforms_write(table, temp_path("t"), &err), 0);
    assert_int_equal(trl__transforms_read(temp_path("t"), &read, &err), 0);
    assert_true(read->dim == 5 && read->names.count == 0);
    trl__transforms_destroy(read);
    trl__transforms_destroy(table);
    assert_int_equal(trl__transforms_read(temp_path("nothing"), &read, &err), TRL_ENOENT);
}

/* A file with these sections. */
static int read_sections(uint32_t dim, uint32_t speakers, const char *names, size_t names_size, const float *numbers,
                         size_t count)
{
    const uint32_t header[] = {dim, speakers};
    trl__container_writer *writer;
    trl__transforms *read;
    assert_int_equal(trl__container_create(temp_path("bad"), "transforms", 1, &writer, &err), 0);
    assert_int_equal(trl__container_add(writer, "transforms", header, sizeof header, &err), 0);
    assert_int_equal(trl__container_add(writer, "speakers", names, names_size, &err), 0);
    assert_int_equal(trl__container_add(writer, "matrices", numbers, count * sizeof *numbers, &err), 0);
    assert_int_equal(trl__container_commit(writer, &err), 0);
    int code = trl__transforms_read(temp_path("bad"), &read, &err);
    if (code == 0)
        trl__transforms_destroy(read);
    else
        assert_null(read);
    return code;
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    const float numbers[] = {1, 2, 3, 4}, no_number[] = {1, NAN, 3, 4};
    assert_int_equal(read_sections(1, 2, "a\0b", 4, numbers, 4), 0);
    assert_int_equal(read_sections(1, 2, "a\0b", 4, no_number, 4), TRL_ENUMBER);
    assert_int_equal(read_sections(1, 2, "a\0a", 4, numbers, 4), TRL_ECORRUPT);
    assert_int_equal(read_sections(1, 2, "a\0", 3, numbers, 4), TRL_ECORRUPT); /* an empty name */
    assert_int_equal(read_sections(1, 2, "a", 2, numbers, 4), TRL_ECORRUPT);
    assert_int_equal(read_sections(1, 2, "a\0b", 3, numbers, 4), TRL_ECORRUPT); /* not ended */
    assert_int_equal(read_sections(1, 2, "a\0b\0c", 6, numbers, 4), TRL_ECORRUPT);
    assert_int_equal(read_sections(1, 2, "a\0\xff", 4, numbers, 4), TRL_ECORRUPT);
    assert_int_equal(read_sections(1, 2, "a\0b", 4, numbers, 3), TRL_ECORRUPT);
    assert_int_equal(read_sections(1, 1, "a", 2, numbers, 4), TRL_ECORRUPT);
    assert_int_equal(read_sections(0, 2, "a\0b", 4, numbers, 0), TRL_ECORRUPT);
    assert_int_equal(read_sections(65537, 0, "", 0, numbers, 0), TRL_ECORRUPT);
    assert_int_equal(read_sections(65536, UINT32_MAX, "a\0b", 4, numbers, 4), TRL_ECORRUPT);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    trl__transforms *table = example(), *read;
    trl_matrix m = transform_of(3, 0);
    assert_int_equal(trl__transforms_write(table, temp_path("t"), &err), 0);
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl__transforms_read(temp_path("t"), &read, &err);
        if (code == 0)
            code = trl__transforms_set(read, "dora", &m, &err);
        trl__memory_fail_after(0);
        trl__transforms_destroy(read);
        assert_true(n < 1000);
    }
    assert_int_equal(code, 0);
    trl_matrix_free(&m);
    trl__transforms_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_and_get),
        cmocka_unit_test(shapes_and_numbers_are_checked),
        cmocka_unit_test(strides_are_respected),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
