/* Linear discriminant analysis: closed forms, what the result must do to the data, and data that have nothing to find. */
#include "cmocka_test.h"

#include "base/memory.h"
#include "base/random.h"
#include "model/lda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16 /* values of a frame */

typedef struct data {
    int32_t dim, classes;
    trl_matrix frames;
    int32_t *class_of;
} data;

static int32_t pick(uint64_t seed, uint64_t index, int32_t least, int32_t most)
{
    return least + (int32_t)(trl__random_bits(seed, 8, index) % (uint32_t)(most - least + 1));
}

/* Classes around means of their own, with one covariance, that of a random matrix times noise. Whole numbers, so that sums are exact. */
static data random_data(uint64_t seed, int32_t dim, int32_t classes, size_t count, double offset)
{
    data d = {.dim = dim, .classes = classes};
    double mix[MOST * MOST], mean[64 * MOST];
    size_t n = (size_t)dim;
    for (size_t i = 0; i < n * n; i++)
        mix[i] = 40 * (double)trl__random_normal(seed, 1, i);
    for (size_t i = 0; i < (size_t)classes * n; i++)
        mean[i] = offset + 100 * (double)trl__random_normal(seed, 2, i);
    assert_int_equal(trl_matrix_resize(&d.frames, count, n, NULL), 0);
    d.class_of = malloc((count + 1) * sizeof *d.class_of);
    for (size_t t = 0; t < count; t++) {
        int32_t c = d.class_of[t] = t < 2 ? (int32_t)t % classes : pick(seed, t, 0, classes - 1);
        for (size_t i = 0; i < n; i++) {
            double x = mean[(size_t)c * n + i];
            for (size_t j = 0; j < n; j++)
                x += mix[i * n + j] * (double)trl__random_normal(seed, 3, t * n + j);
            trl_matrix_row(&d.frames, t)[i] = (float)round(x);
        }
    }
    return d;
}

static void free_data(data *d)
{
    trl_matrix_free(&d->frames);
    free(d->class_of);
}

static trl__lda_stats *stats_of(const data *d)
{
    trl__lda_stats *stats;
    assert_int_equal(trl__lda_stats_create(d->dim, d->classes, &stats, NULL), 0);
    assert_int_equal(trl__lda_stats_add(stats, &d->frames, d->class_of, NULL), 0);
    return stats;
}

static int estimate(const data *d, int32_t keep, trl_matrix *a, trl__lda_summary *summary, trl_error *err)
{
    trl__lda_stats *stats = stats_of(d);
    int code = trl__lda_estimate(stats, keep, a, summary, err);
    trl__lda_stats_destroy(stats);
    return code;
}

/* ---- Moments of frames, of which each may be transformed ---- */

typedef struct moments {
    size_t dim;
    double mean[MOST], class_mean[64 * MOST];
    double within[MOST * MOST], between[MOST * MOST];
} moments;

static void project(const trl_matrix *a, const float *frame, size_t dim, double *out)
{
    for (size_t r = 0; r < a->rows; r++) {
        out[r] = (double)trl_matrix_row(a, r)[dim];
        for (size_t k = 0; k < dim; k++)
            out[r] += (double)trl_matrix_row(a, r)[k] * (double)frame[k];
    }
}

/* Frame t as it is, or as a transform makes it. */
static void value(const data *d, const trl_matrix *a, size_t t, double *out)
{
    if (a)
        project(a, trl_matrix_row(&d->frames, t), (size_t)d->dim, out);
    else
        for (size_t k = 0; k < (size_t)d->dim; k++)
            out[k] = (double)trl_matrix_row(&d->frames, t)[k];
}

static moments moments_of(const data *d, const trl_matrix *a)
{
    moments m = {.dim = a ? a->rows : (size_t)d->dim};
    double x[MOST], count[64] = {0}, frames = (double)d->frames.rows;
    for (size_t t = 0; t < d->frames.rows; t++) {
        value(d, a, t, x);
        count[d->class_of[t]]++;
        for (size_t k = 0; k < m.dim; k++) {
            m.mean[k] += x[k] / frames;
            m.class_mean[(size_t)d->class_of[t] * m.dim + k] += x[k];
        }
    }
    for (size_t i = 0; i < (size_t)d->classes * m.dim; i++)
        m.class_mean[i] /= fmax(count[i / m.dim], 1);
    for (size_t t = 0; t < d->frames.rows; t++) {
        const double *own = m.class_mean + (size_t)d->class_of[t] * m.dim;
        value(d, a, t, x);
        for (size_t i = 0; i < m.dim; i++)
            for (size_t j = 0; j < m.dim; j++) {
                m.within[i * m.dim + j] += (x[i] - own[i]) * (x[j] - own[j]) / frames;
                m.between[i * m.dim + j] += (own[i] - m.mean[i]) * (own[j] - m.mean[j]) / frames;
            }
    }
    return m;
}

static void assert_near(double got, double expected, double tolerance, const char *what, uint64_t seed)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("seed %llu: %s is %.10g, not %.10g", (unsigned long long)seed, what, got, expected);
}

/* ---- Closed forms ---- */

/* Solves m x = b by elimination; m is positive definite. */
static void solve(double *m, double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t r = i + 1; r < n; r++) {
            double factor = m[r * n + i] / m[i * n + i];
            for (size_t j = i; j < n; j++)
                m[r * n + j] -= factor * m[i * n + j];
            b[r] -= factor * b[i];
        }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            b[i] -= m[i * n + j] * b[j];
        b[i] /= m[i * n + i];
    }
}

/* Two classes: Fisher's direction W^-1 (m1 - m2), which keeps everything. */
static void test_two_classes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        int32_t dim = pick(seed, 1u << 20, 1, 8);
        data d = random_data(seed, dim, 2, 100, 0);
        moments m = moments_of(&d, NULL);
        double difference[MOST], dot = 0, length = 0, row_length = 0;
        trl_matrix a = {0};
        trl__lda_summary summary;
        assert_int_equal(estimate(&d, 1, &a, &summary, NULL), 0);
        assert_near(summary.kept, 1, 1e-9, "kept", seed);
        assert_int_equal(summary.seen, 2);
        assert_int_equal(summary.constant, 0);
        assert_true(a.rows == 1 && a.cols == (size_t)dim + 1);
        for (size_t k = 0; k < m.dim; k++)
            difference[k] = m.class_mean[k] - m.class_mean[m.dim + k];
        solve(m.within, difference, m.dim);
        for (size_t k = 0; k < m.dim; k++) {
            dot += difference[k] * (double)a.data[k];
            length += difference[k] * difference[k];
            row_length += (double)a.data[k] * (double)a.data[k];
        }
        assert_near(fabs(dot) / sqrt(length * row_length), 1, 1e-9, "cosine", seed);
        trl_matrix_free(&a);
        free_data(&d);
    }
}

/* The transformed frames: mean 0, identity within classes, between them a diagonal that falls; largest numbers are positive. */
static void check_transformed(uint64_t seed, double offset, double tolerance)
{
    int32_t dim = pick(seed, 1u << 20, 1, 12), classes = pick(seed, 1u << 21, 2, 20), keep = pick(seed, 9, 1, dim);
    data d = random_data(seed, dim, classes, 400, offset);
    trl_matrix a = {0}, all = {0};
    trl__lda_summary summary, whole;
    assert_int_equal(estimate(&d, keep, &a, &summary, NULL), 0);
    assert_int_equal(estimate(&d, dim, &all, &whole, NULL), 0);
    moments m = moments_of(&d, &all);
    double kept = 0, total = 0;
    for (size_t i = 0; i < m.dim; i++) {
        double largest = 0;
        assert_near(m.mean[i], 0, tolerance, "mean", seed);
        for (size_t j = 0; j < m.dim; j++) {
            double scale = 1 + sqrt(m.between[i * m.dim + i] * m.between[j * m.dim + j]);
            assert_near(m.within[i * m.dim + j], i == j, tolerance, "covariance within", seed);
            if (i != j)
                assert_near(m.between[i * m.dim + j], 0, tolerance * scale, "covariance between", seed);
            double number = (double)trl_matrix_row(&all, i)[j];
            largest = fabs(number) > fabs(largest) ? number : largest;
        }
        assert_true(largest > 0);
        assert_true(i == 0 ||
                    m.between[i * m.dim + i] <= m.between[(i - 1) * m.dim + i - 1] + tolerance * (1 + m.between[0]));
        total += m.between[i * m.dim + i];
        kept += i < (size_t)keep ? m.between[i * m.dim + i] : 0;
    }
    assert_near(summary.kept, kept / total, tolerance, "kept", seed);
    assert_near(whole.kept, 1, 1e-12, "all kept", seed);
    for (size_t r = 0; r < a.rows; r++)
        assert_memory_equal(trl_matrix_row(&a, r), trl_matrix_row(&all, r), a.cols * sizeof(float));
    trl_matrix_free(&a);
    trl_matrix_free(&all);
    free_data(&d);
}

static void test_transformed_frames(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++)
        check_transformed(seed, 0, 1e-4);
    for (uint64_t seed = 0; seed < 100; seed++)
        check_transformed(seed, 1e4, 1e-2); /* the offset alone has a rounding error of 1e-3 */
}

/* Frames through an invertible matrix of whole numbers: distances in the space of all directions, in which the covariance within
 * classes is the identity, stay the same, and so does what some directions keep. */
static void test_invariance(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        int32_t dim = pick(seed, 1u << 20, 1, 8), keep = pick(seed, 10, 1, dim);
        data d = random_data(seed, dim, 6, 200, 0), other = random_data(seed, dim, 6, 200, 0);
        for (size_t t = 0; t < 200; t++)
            for (size_t i = 0; i < (size_t)dim; i++) { /* triangular, with 1, -1, 2, -2 on the diagonal */
                double x = (double)pick(seed, 11 + i, 1, 2) * (pick(seed, 31 + i, 0, 1) ? 1 : -1) *
                           (double)trl_matrix_row(&d.frames, t)[i];
                for (size_t j = 0; j < i; j++)
                    x += (double)pick(seed, 100 + i * 16 + j, -2, 2) * (double)trl_matrix_row(&d.frames, t)[j];
                trl_matrix_row(&other.frames, t)[i] = (float)x;
            }
        trl_matrix a = {0}, b = {0};
        trl__lda_summary summary, same;
        assert_int_equal(estimate(&d, keep, &a, &summary, NULL), 0);
        assert_int_equal(estimate(&other, keep, &b, &same, NULL), 0);
        assert_near(same.kept, summary.kept, 1e-9, "kept", seed);
        assert_int_equal(estimate(&d, dim, &a, &summary, NULL), 0);
        assert_int_equal(estimate(&other, dim, &b, &same, NULL), 0);
        for (size_t t = 1; t < 200; t++) {
            double x[2][MOST], y[2][MOST], distance = 0, again = 0;
            for (size_t e = 0; e < 2; e++) {
                project(&a, trl_matrix_row(&d.frames, t - e), (size_t)dim, x[e]);
                project(&b, trl_matrix_row(&other.frames, t - e), (size_t)dim, y[e]);
            }
            for (size_t k = 0; k < (size_t)dim; k++) {
                distance += (x[0][k] - x[1][k]) * (x[0][k] - x[1][k]);
                again += (y[0][k] - y[1][k]) * (y[0][k] - y[1][k]);
            }
            assert_near(again, distance, 1e-3 * (1 + distance), "distance", seed);
        }
        trl_matrix_free(&a);
        trl_matrix_free(&b);
        free_data(&d);
        free_data(&other);
    }
}

/* ---- Statistics ---- */

/* Sums of whole numbers are exact: so it does not matter in which pieces frames come, nor which are left out where. */
static void test_pieces(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        int32_t dim = pick(seed, 1u << 20, 1, MOST);
        data d = random_data(seed, dim, 5, 700, 0);
        trl__lda_stats *all = stats_of(&d), *sum, *piece;
        assert_int_equal(trl__lda_stats_create(dim, 5, &sum, NULL), 0);
        assert_int_equal(trl__lda_stats_create(dim, 5, &piece, NULL), 0);
        int32_t none[700];
        memset(none, -1, sizeof none);
        for (size_t t = 0; t < 700;) {
            size_t count = (size_t)pick(seed, 5000 + t, 1, 300), end = t + count < 700 ? t + count : 700;
            trl_matrix part = {
                .data = trl_matrix_row(&d.frames, t), .rows = end - t, .cols = (size_t)dim, .stride = d.frames.stride};
            trl__lda_stats_zero(piece);
            assert_int_equal(trl__lda_stats_add(piece, &part, d.class_of + t, NULL), 0);
            assert_int_equal(trl__lda_stats_add(piece, &part, none, NULL), 0);
            assert_int_equal(trl__lda_stats_merge(sum, piece, NULL), 0);
            t = end;
        }
        assert_memory_equal(sum->count, all->count, 5 * sizeof(double));
        assert_memory_equal(sum->sum, all->sum, 5 * (size_t)dim * sizeof(double));
        for (size_t i = 0; i < (size_t)dim; i++)
            for (size_t j = i; j < (size_t)dim; j++) {
                double expected = 0;
                for (size_t t = 0; t < 700; t++)
                    expected += (double)trl_matrix_row(&d.frames, t)[i] * (double)trl_matrix_row(&d.frames, t)[j];
                assert_true(sum->square[i * (size_t)dim + j] == expected);
                assert_true(all->square[i * (size_t)dim + j] == expected);
            }
        trl__lda_stats_destroy(all);
        trl__lda_stats_destroy(sum);
        trl__lda_stats_destroy(piece);
        free_data(&d);
    }
}

static void test_unfit_statistics(void **state)
{
    (void)state;
    trl_error err;
    data d = random_data(1, 4, 3, 20, 0);
    trl__lda_stats *stats = stats_of(&d), *other;
    assert_int_equal(trl__lda_stats_create(4, 2, &other, NULL), 0);
    assert_int_equal(trl__lda_stats_merge(stats, other, &err), TRL_EINVAL);
    assert_int_equal(trl__lda_stats_add(other, &d.frames, d.class_of, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "is of class 2, but there are 2"));
    assert_true(other->count[0] == 0);
    d.class_of[7] = -2;
    assert_int_equal(trl__lda_stats_add(stats, &d.frames, d.class_of, &err), TRL_EINVAL);
    d.frames.cols = 3;
    assert_int_equal(trl__lda_stats_add(stats, &d.frames, d.class_of, &err), TRL_EINVAL);
    trl__lda_stats_destroy(stats);
    trl__lda_stats_destroy(other);
    free_data(&d);
}

/* ---- Data with little in them ---- */

static void assert_refused(const data *d, int32_t keep, int code, const char *text)
{
    trl_error err;
    trl_matrix a = {0};
    trl__lda_summary summary;
    assert_int_equal(estimate(d, keep, &a, &summary, &err), code);
    if (!strstr(err.text, text))
        fail_msg("'%s' is not in '%s'", text, err.text);
    trl_matrix_free(&a);
}

static void assert_finite(const trl_matrix *a)
{
    for (size_t r = 0; r < a->rows; r++)
        for (size_t c = 0; c < a->cols; c++)
            assert_true(isfinite(trl_matrix_row(a, r)[c]));
}

static void test_refused_data(void **state)
{
    (void)state;
    data d = random_data(1, 6, 4, 30, 0);
    assert_refused(&d, 0, TRL_EINVAL, "can't keep 0 directions");
    assert_refused(&d, 7, TRL_EINVAL, "can't keep 7 directions: of 6, 6 vary");
    d.frames.rows = 0;
    assert_refused(&d, 2, TRL_EINVAL, "two classes at least, but 0 frames are of 0");
    d.frames.rows = 5;
    for (size_t t = 0; t < 30; t++)
        d.class_of[t] = 3;
    assert_refused(&d, 2, TRL_EINVAL, "but 5 frames are of 1");
    d.class_of[0] = 0; /* five frames of two classes leave three directions */
    assert_refused(&d, 4, TRL_EINVAL, "of 6, 3 vary within the classes (5 frames of 2 classes)");
    trl_matrix_row(&d.frames, 3)[5] = NAN;
    assert_refused(&d, 2, TRL_ENUMBER, "NaN");
    trl_matrix_row(&d.frames, 3)[5] = INFINITY;
    assert_refused(&d, 2, TRL_ENUMBER, "NaN");
    free_data(&d);
}

/* Constant, the same as another, a sum of two others, or constant within each class: left out, and the rest as without it. */
static void test_constant_features(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        data d = random_data(seed, 7, 5, 150, seed % 2 ? 300 : 0), less = random_data(seed, 7, 5, 150, 0);
        for (size_t t = 0; t < 150; t++) {
            float *row = trl_matrix_row(&d.frames, t);
            row[3] = seed % 4 == 0   ? 1234.5f
                     : seed % 4 == 1 ? row[1]
                     : seed % 4 == 2 ? row[0] - 2 * row[6]
                                     : (float)d.class_of[t] / 3;
            for (size_t k = 0, to = 0; k < 7; k++)
                if (k != 3)
                    trl_matrix_row(&less.frames, t)[to++] = row[k];
        }
        less.dim = 6;
        less.frames.cols = 6;
        trl_matrix a = {0}, b = {0};
        trl__lda_summary summary, without;
        assert_int_equal(estimate(&d, 3, &a, &summary, NULL), 0);
        assert_int_equal(estimate(&less, 3, &b, &without, NULL), 0);
        assert_finite(&a);
        assert_int_equal(summary.constant, 1);
        assert_near(summary.kept, without.kept, 1e-5, "kept", seed);
        moments m = moments_of(&d, &a), same = moments_of(&less, &b);
        for (size_t k = 0; k < 3; k++) {
            assert_near(m.within[k * 4], 1, 1e-3, "variance", seed);
            assert_near(m.between[k * 4], same.between[k * 4], 1e-3 * (1 + same.between[0]), "discrimination", seed);
        }
        assert_refused(&d, 7, TRL_EINVAL, "of 7, 6 vary");
        trl_matrix_free(&a);
        trl_matrix_free(&b);
        free_data(&d);
        free_data(&less);
    }
}

/* Classes with one mean have nothing to tell them apart; a feature may be a million times another. */
static void test_odd_scales(void **state)
{
    (void)state;
    data d = random_data(3, 5, 2, 200, 0);
    for (size_t t = 0; t < 100; t++) {
        memcpy(trl_matrix_row(&d.frames, 100 + t), trl_matrix_row(&d.frames, t), 5 * sizeof(float));
        d.class_of[t] = 0;
        d.class_of[100 + t] = 1;
    }
    trl_matrix a = {0};
    trl__lda_summary summary;
    assert_int_equal(estimate(&d, 2, &a, &summary, NULL), 0);
    assert_finite(&a);
    assert_true(summary.kept >= 0 && summary.kept <= 1);
    for (size_t t = 0; t < 200; t++) {
        trl_matrix_row(&d.frames, t)[1] *= 1e12f;
        trl_matrix_row(&d.frames, t)[2] *= 1e-12f;
    }
    assert_int_equal(estimate(&d, 5, &a, &summary, NULL), 0);
    assert_finite(&a);
    assert_int_equal(summary.constant, 0);
    trl_matrix_free(&a);
    free_data(&d);
}

static void test_without_memory(void **state)
{
    (void)state;
    data d = random_data(4, 5, 3, 100, 0);
    trl__lda_stats *stats, *good = stats_of(&d);
    trl__lda_summary summary;
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl__lda_stats_create(5, 3, &stats, NULL);
        trl__memory_fail_after(0);
        assert_true(code == 0 || (code == TRL_ENOMEM && !stats));
    }
    trl__lda_stats_destroy(stats);
    code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl_matrix a = {0};
        trl__memory_fail_after(n);
        code = trl__lda_estimate(good, 2, &a, &summary, NULL);
        trl__memory_fail_after(0);
        trl_matrix_free(&a);
    }
    assert_int_equal(code, 0);
    trl__lda_stats_destroy(good);
    free_data(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_classes),       cmocka_unit_test(test_transformed_frames),
        cmocka_unit_test(test_invariance),        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_unfit_statistics),  cmocka_unit_test(test_refused_data),
        cmocka_unit_test(test_constant_features), cmocka_unit_test(test_odd_scales),
        cmocka_unit_test(test_without_memory),
    };
    return RUN(tests);
}
