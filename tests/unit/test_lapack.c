/* Eigenvectors, factors and inverses by what defines them, and by many threads at once. */
#include "cmocka_test.h"

#include "base/lapack.h"
#include "base/random.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define MOST 40

typedef struct square {
    size_t n;
    double at[MOST * MOST];
} square;

static square random_square(size_t n, uint64_t seed)
{
    square m = {.n = n};
    for (size_t i = 0; i < n * n; i++)
        m.at[i] = (double)trl__random_normal(seed, 0, i);
    return m;
}

/* m m' + identity: symmetric, positive definite. */
static square random_covariance(size_t n, uint64_t seed)
{
    square m = random_square(n, seed), out = {.n = n};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            out.at[i * n + j] = i == j;
            for (size_t k = 0; k < n; k++)
                out.at[i * n + j] += m.at[i * n + k] * m.at[j * n + k];
        }
    return out;
}

static double product(const double *a, const double *b, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += a[i] * b[i];
    return total;
}

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.17g, not %.17g", got, expected);
}

static void test_eigenvectors(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        square m = random_covariance(n, n), vectors = m;
        double values[MOST];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                vectors.at[i * n + j] = NAN; /* is not read */
        assert_int_equal(trl__eigen_symmetric(vectors.at, n, values, NULL), 0);
        for (size_t k = 0; k < n; k++) {
            assert_true(k == 0 || values[k] >= values[k - 1]);
            for (size_t i = 0; i < n; i++) {
                assert_near(product(m.at + i * n, vectors.at + k * n, n), values[k] * vectors.at[k * n + i],
                            1e-12 * values[n - 1] * (double)n);
                assert_near(product(vectors.at + i * n, vectors.at + k * n, n), i == k, 1e-12);
            }
        }
    }
}

static void pack(const square *m, double *packed)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = i; j < m->n; j++)
            *packed++ = m->at[i * m->n + j];
}

static void test_factors(void **state)
{
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        square m = random_covariance(n, 100 + n);
        double packed[MOST * MOST], b[MOST];
        pack(&m, packed);
        for (size_t i = 0; i < n; i++)
            b[i] = (double)i - 3;
        assert_int_equal(trl__cholesky_packed(packed, n), 0);
        assert_near(packed[0], sqrt(m.at[0]), 1e-12 * packed[0]);
        trl__cholesky_solve(packed, n, b);
        for (size_t i = 0; i < n; i++)
            assert_near(product(m.at + i * n, b, n), (double)i - 3, 1e-9);
        pack(&m, packed);
        packed[n * (n + 1) / 2 - 1] = -1;
        assert_int_equal(trl__cholesky_packed(packed, n), 1);
    }
}

static void test_inverses(void **state)
{
    (void)state;
    int pivots[MOST];
    static double work[MOST * MOST];
    for (size_t n = 1; n <= MOST; n++) {
        square m = random_square(n, 200 + n), inverse = m;
        double log_det;
        assert_int_equal(trl__invert(inverse.at, n, pivots, work, &log_det), 0);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double total = 0;
                for (size_t k = 0; k < n; k++)
                    total += m.at[i * n + k] * inverse.at[k * n + j];
                assert_near(total, i == j, 1e-9);
            }
    }
    double two[] = {0, 3, -2, 5}, log_det;
    assert_int_equal(trl__invert(two, 2, pivots, work, &log_det), 0);
    assert_near(log_det, log(6), 1e-14);
    double singular[] = {1, 2, 0, 0};
    assert_int_equal(trl__invert(singular, 2, pivots, work, &log_det), 1);
}

static void *same_again(void *same)
{
    *(int *)same = 1;
    square m = random_covariance(MOST, 5), once = m;
    double values[MOST], again[MOST];
    *(int *)same &= trl__eigen_symmetric(once.at, MOST, values, NULL) == 0;
    for (int i = 0; i < 100; i++) {
        square twice = m;
        *(int *)same &= trl__eigen_symmetric(twice.at, MOST, again, NULL) == 0;
        for (int k = 0; k < MOST * MOST; k++)
            *(int *)same &= twice.at[k] == once.at[k] && again[k % MOST] == values[k % MOST];
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[8];
    int same[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, same_again, &same[i]), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_true(same[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eigenvectors),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_inverses),
        cmocka_unit_test(test_threads),
    };
    return RUN(tests);
}
