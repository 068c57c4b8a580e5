/* Matrices: sizes, kept memory, borrowed memory. */
#include "cmocka_test.h"

#include "base/memory.h"

#include <trellis/matrix.h>

static void resize_keeps_what_is_large_enough(void **state)
{
    (void)state;
    trl_matrix m = {0};
    assert_int_equal(trl_matrix_resize(&m, 10, 13, NULL), 0);
    assert_int_equal((uintptr_t)m.data % 64, 0);
    for (size_t r = 0; r < 10; r++)
        for (size_t c = 0; c < 13; c++)
            trl_matrix_row(&m, r)[c] = (float)(100 * r + c);
    assert_true(m.data[5 * m.stride + 12] == 512);
    const float *before = m.data;
    assert_int_equal(trl_matrix_resize(&m, 13, 10, NULL), 0);
    assert_ptr_equal(m.data, before);
    assert_int_equal(m.rows, 13);
    assert_int_equal(m.cols, 10);
    assert_int_equal(m.stride, 10);
    assert_int_equal(trl_matrix_resize(&m, 0, 39, NULL), 0);
    assert_int_equal(m.rows, 0);
    assert_int_equal(m.cols, 39);
    trl_matrix_free(&m);
    assert_null(m.data);
    assert_int_equal(trl_matrix_resize(&m, 0, 0, NULL), 0);
    assert_non_null(m.data);
    trl_matrix_free(&m);
    trl_matrix_free(&m);
}

static void failure_leaves_the_matrix(void **state)
{
    (void)state;
    trl_matrix m = {0};
    trl_error err;
    assert_int_equal(trl_matrix_resize(&m, 2, 3, &err), 0);
    trl_matrix_row(&m, 1)[2] = 7;
    assert_int_equal(trl_matrix_resize(&m, SIZE_MAX / 2, 3, &err), TRL_ENOMEM);
    assert_int_equal(trl_matrix_resize(&m, SIZE_MAX / 4, 2, &err), TRL_ENOMEM);
    assert_int_equal(trl_matrix_resize(&m, SIZE_MAX / 2 + 1, 2, &err), TRL_ENOMEM); /* wraps to nothing */
    trl__memory_fail_after(1);
    assert_int_equal(trl_matrix_resize(&m, 20, 30, &err), TRL_ENOMEM);
    trl__memory_fail_after(0);
    assert_int_equal(m.rows, 2);
    assert_true(trl_matrix_row(&m, 1)[2] == 7);
    trl_matrix_free(&m);
}

static void borrowed_memory_stays_the_lenders(void **state)
{
    (void)state;
    float lent[6] = {1, 2, 3, 4, 5, 6};
    trl_matrix m = {.data = lent, .rows = 2, .cols = 2, .stride = 3};
    trl_error err;
    assert_true(trl_matrix_row(&m, 1)[1] == 5);
    assert_int_equal(trl_matrix_resize(&m, 1, 1, &err), TRL_EINVAL);
    assert_ptr_equal(m.data, lent);
    trl_matrix_free(&m);
    assert_null(m.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resize_keeps_what_is_large_enough),
        cmocka_unit_test(failure_leaves_the_matrix),
        cmocka_unit_test(borrowed_memory_stays_the_lenders),
    };
    return RUN(tests);
}
