/* Products of matrices against the three loops, to the last bit, in every kernel that the machine has. */
#include "cmocka_test.h"

#include "base/cpu.h"
#include "base/matrix_product.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

static size_t pick(uint64_t seed, uint64_t *at, size_t below)
{
    return trl__random_bits(seed, 0, (*at)++) % below;
}

static double *random_numbers(size_t count, uint64_t seed, uint64_t stream)
{
    double *numbers = malloc((count + 1) * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = (double)trl__random_normal(seed, stream, i) + 1e-9 * (double)trl__random_normal(seed, 9, i);
    return numbers;
}

static void check_case(trl__product_kernel *kernel, uint64_t seed)
{
    uint64_t at = 0;
    size_t rows = pick(seed, &at, 12), cols = pick(seed, &at, 40), terms = pick(seed, &at, 20);
    size_t steps = pick(seed, &at, 2), b_step = trl__product_padded(cols) + pick(seed, &at, 3),
           c_row = cols + pick(seed, &at, 4);
    size_t a_step = steps ? 1 : rows + 1, a_row = steps ? 1 + pick(seed, &at, terms + 2) : 1; /* rows may overlap */
    double *a = random_numbers(terms * a_step + rows * a_row, seed, 1), *b = random_numbers(terms * b_step, seed, 2);
    double *c = random_numbers(rows * c_row, seed, 3), *expected = random_numbers(rows * c_row, seed, 3);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            for (size_t k = 0; k < terms; k++)
                expected[i * c_row + j] += a[k * a_step + i * a_row] * b[k * b_step + j];
    kernel(&(trl__product){rows, cols, terms, a, a_step, a_row, b, b_step, c, c_row});
    if (memcmp(c, expected, rows * c_row * sizeof *c) != 0)
        fail_msg("seed %llu: %zu x %zu of %zu terms", (unsigned long long)seed, rows, cols, terms);
    free(a);
    free(b);
    free(c);
    free(expected);
}

static void test_all_shapes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        check_case(trl__product_base, seed);
        check_case(trl__product_add, seed);
#if TRELLIS_SIMD
        if (trl__cpu_best() >= TRL__CPU_AVX2)
            check_case(trl__product_avx2, seed);
#endif
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_shapes),
    };
    return RUN(tests);
}
