/* Splicing and transform of whole utterances: bit for bit what an extractor gives, and what the definition says. */
#include "front_end.h"

#include "base/memory.h"
#include "feat/affine.h"
#include "feat/splice.h"

/* The first columns of a matrix that has more. */
static trl_matrix first_columns(const trl_matrix *wide, size_t cols)
{
    return (trl_matrix){.data = wide->data, .rows = wide->rows, .cols = cols, .stride = wide->stride};
}

static void check_against_extractor(uint64_t seed)
{
    trl_error err;
    char text[100];
    uint32_t bits = trl__random_bits(seed, 5, 0);
    size_t cols = 1 + bits % 15, rows = (bits >> 4) % 40, kept = (bits >> 10) % 60;
    int left = (int)(bits >> 16) % 6, right = (int)(bits >> 20) % 6;
    snprintf(text, sizeof text, "num_ceps=%zu splice_left=%d splice_right=%d", cols, left, right);
    trl_frontend_options o = options_of(text);
    o.transform = random_matrix(kept, cols * (size_t)(left + right + 1) + (bits >> 24) % 2, seed);
    trl_frontend *frontend = frontend_from(&o);
    trl_matrix wide = random_matrix(rows, cols + (bits >> 25) % 3, seed + 1), statics = first_columns(&wide, cols);
    trl_matrix expected = finished(frontend, &statics, NULL), got = {0};
    if (trl__splice_transform(&statics, left, right, &o.transform, &got, &err) < 0)
        fail_msg("%s", err.text);
    assert_same_bits(&got, &expected, text);
    trl_matrix_free(&wide);
    trl_matrix_free(&expected);
    trl_matrix_free(&got);
    trl_matrix_free(&o.transform);
    trl_frontend_destroy(frontend);
}

static void test_as_the_extractor(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++)
        check_against_extractor(seed);
}

static void test_definition(void **state)
{
    (void)state;
    trl_matrix statics = random_matrix(50, 13, 1), a = random_matrix(39, 118, 2), out = {0};
    assert_int_equal(trl__splice_transform(&statics, 4, 4, &a, &out, NULL), 0);
    for (long t = 0; t < 50; t++)
        for (size_t r = 0; r < 39; r++) {
            const float *weights = trl_matrix_row(&a, r);
            double total = (double)weights[117];
            for (long j = 0; j < 9; j++)
                for (size_t i = 0; i < 13; i++) {
                    long from = t + j - 4 < 0 ? 0 : t + j - 4 > 49 ? 49 : t + j - 4;
                    total += (double)weights[(size_t)j * 13 + i] * (double)trl_matrix_row(&statics, (size_t)from)[i];
                }
            assert_true(trl_matrix_row(&out, (size_t)t)[r] == (float)total);
        }
    trl_matrix_free(&statics);
    trl_matrix_free(&a);
    trl_matrix_free(&out);
}

/* However many rows and results are taken at once. */
static void test_rows_one_by_one(void **state)
{
    (void)state;
    for (size_t count = 1; count < 150; count += 7) {
        trl_matrix a = random_matrix(count, 21, count), together = {0}, alone = {0};
        trl__affine affine;
        double rows[70 * 23];
        for (size_t i = 0; i < 70 * 23; i++)
            rows[i] = (double)trl__random_normal(3, 4, i);
        assert_int_equal(trl__affine_init(&affine, &a, 20, NULL), 0);
        assert_int_equal(trl_matrix_resize(&together, 70, count, NULL), 0);
        assert_int_equal(trl_matrix_resize(&alone, 70, count, NULL), 0);
        trl__affine_rows(&affine, rows, 70, 23, together.data, together.stride);
        for (size_t t = 0; t < 70; t++)
            trl__affine_rows(&affine, rows + t * 23, 1, 0, trl_matrix_row(&alone, t), 0);
        assert_same_bits(&alone, &together, "rows");
        trl__affine_free(&affine);
        trl_matrix_free(&a);
        trl_matrix_free(&together);
        trl_matrix_free(&alone);
    }
}

static void test_failures(void **state)
{
    (void)state;
    trl_error err;
    trl_matrix statics = random_matrix(5, 3, 1), a = random_matrix(2, 8, 2), out = {0};
    assert_int_equal(trl__splice_transform(&statics, 1, 1, &a, &out, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "8 columns, but frames have 9 values"));
    assert_int_equal(trl__splice_transform(&statics, 1, 0, &a, &out, &err), TRL_EINVAL);
    trl_matrix_free(&a);
    a = random_matrix(2, 10, 2);
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl_matrix_free(&out);
        trl__memory_fail_after(n);
        code = trl__splice_transform(&statics, 1, 1, &a, &out, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 ? n == 4 : code == TRL_ENOMEM);
    }
    trl_matrix_free(&statics);
    trl_matrix_free(&a);
    trl_matrix_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_extractor),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_rows_one_by_one),
        cmocka_unit_test(test_failures),
    };
    return RUN(tests);
}
