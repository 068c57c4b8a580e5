/* Semi-tied covariances: closed forms, transforms that are known, a likelihood that never falls, and data without any. */
#include "cmocka_test.h"

#include "base/memory.h"
#include "base/random.h"
#include "model/stc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 10      /* values of a frame */
#define GAUSSIANS 12 /* at most */

typedef struct data {
    int32_t first_gaussian[2];
    float mean[GAUSSIANS * MOST], variance[GAUSSIANS * MOST];
    trl_model model;
    trl_matrix frames;
    int32_t *gaussian_of;
} data;

static int32_t pick(uint64_t seed, uint64_t index, int32_t least, int32_t most)
{
    return least + (int32_t)(trl__random_bits(seed, 8, index) % (uint32_t)(most - least + 1));
}

static double normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (double)trl__random_normal(seed, stream, index);
}

static void assert_near(double got, double expected, double tolerance, const char *what, uint64_t seed)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("seed %llu: %s is %.12g, not %.12g", (unsigned long long)seed, what, got, expected);
}

/* ---- Small matrices ---- */

static void multiply(const double *a, const double *b, size_t n, double *out)
{
    double product[MOST * MOST] = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                product[i * n + j] += a[i * n + k] * b[k * n + j];
    memcpy(out, product, n * n * sizeof *out);
}

static void transpose(const double *a, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            out[j * n + i] = a[i * n + j];
}

/* By elimination with pivots; returns the logarithm of the determinant's size. */
static double invert(const double *a, size_t n, double *out)
{
    double m[MOST * MOST], log_det = 0;
    memcpy(m, a, n * n * sizeof *m);
    for (size_t i = 0; i < n * n; i++)
        out[i] = i / n == i % n;
    for (size_t i = 0; i < n; i++) {
        size_t pivot = i;
        for (size_t r = i + 1; r < n; r++)
            pivot = fabs(m[r * n + i]) > fabs(m[pivot * n + i]) ? r : pivot;
        for (size_t j = 0; j < n; j++) {
            double x = m[i * n + j], y = out[i * n + j];
            m[i * n + j] = m[pivot * n + j];
            m[pivot * n + j] = x;
            out[i * n + j] = out[pivot * n + j];
            out[pivot * n + j] = y;
        }
        double own = m[i * n + i];
        log_det += log(fabs(own));
        for (size_t j = 0; j < n; j++) {
            m[i * n + j] /= own;
            out[i * n + j] /= own;
        }
        for (size_t r = 0; r < n; r++) {
            double factor = r == i ? 0 : m[r * n + i];
            for (size_t j = 0; j < n; j++) {
                m[r * n + j] -= factor * m[i * n + j];
                out[r * n + j] -= factor * out[i * n + j];
            }
        }
    }
    return log_det;
}

/* a m a' */
static void turn(const double *a, const double *m, size_t n, double *out)
{
    double other[MOST * MOST];
    transpose(a, n, other);
    multiply(m, other, n, other);
    multiply(a, other, n, out);
}

/* The identity and some noise. */
static void near_identity(uint64_t seed, size_t n, double noise, double *out)
{
    for (size_t i = 0; i < n * n; i++)
        out[i] = (double)(i / n == i % n) + noise * normal(seed, 11, i);
}

/* ---- Data ---- */

/* Frames o of which a o has independent values: the Gaussian's mean and variances. The model's means are those of o. */
static data *random_data(uint64_t seed, int32_t dim, int32_t gaussians, size_t count, const double *a)
{
    data *d = calloc(1, sizeof *d);
    double back[MOST * MOST];
    size_t n = (size_t)dim;
    invert(a, n, back);
    d->first_gaussian[1] = gaussians;
    d->model = (trl_model){
        .dim = dim, .tied_states = 1, .first_gaussian = d->first_gaussian, .mean = d->mean, .variance = d->variance};
    for (size_t i = 0; i < (size_t)gaussians * n; i++) {
        d->mean[i] = (float)(2 * normal(seed, 1, i));
        d->variance[i] = (float)exp(1.5 * normal(seed, 2, i));
    }
    assert_int_equal(trl_matrix_resize(&d->frames, count, n, NULL), 0);
    d->gaussian_of = malloc((count + 1) * sizeof *d->gaussian_of);
    for (size_t t = 0; t < count; t++) {
        size_t g = (size_t)(d->gaussian_of[t] = pick(seed, t, 0, gaussians - 1));
        for (size_t i = 0; i < n; i++) {
            double x = (double)d->mean[g * n + i];
            for (size_t j = 0; j < n; j++)
                x += back[i * n + j] * sqrt((double)d->variance[g * n + j]) * normal(seed, 3, t * n + j);
            trl_matrix_row(&d->frames, t)[i] = (float)x;
        }
    }
    return d;
}

static data *plain_data(uint64_t seed, int32_t dim, int32_t gaussians, size_t count)
{
    double a[MOST * MOST];
    near_identity(seed, (size_t)dim, 0.4, a);
    return random_data(seed, dim, gaussians, count, a);
}

static void free_data(data *d)
{
    trl_matrix_free(&d->frames);
    free(d->gaussian_of);
    free(d);
}

static trl__stc_stats *new_stats(int32_t dim)
{
    trl__stc_stats *stats;
    assert_int_equal(trl__stc_stats_create(dim, &stats, NULL), 0);
    return stats;
}

static trl__stc_stats *stats_of(const data *d)
{
    trl__stc_stats *stats = new_stats(d->model.dim);
    assert_int_equal(trl__stc_stats_add(stats, &d->model, &d->frames, d->gaussian_of, NULL), 0);
    return stats;
}

/* By definition: the average of log |det a| - sum over rows of (a_r (o - m))^2 / 2 v_r. */
static double likelihood(const data *d, const double *a)
{
    size_t n = (size_t)d->model.dim;
    double inverse[MOST * MOST], log_det = invert(a, n, inverse), total = 0;
    for (size_t t = 0; t < d->frames.rows; t++)
        for (size_t r = 0; r < n; r++) {
            size_t first = (size_t)d->gaussian_of[t] * n;
            double x = 0;
            for (size_t k = 0; k < n; k++)
                x += a[r * n + k] * ((double)trl_matrix_row(&d->frames, t)[k] - (double)d->mean[first + k]);
            total += x * x / (double)d->variance[first + r];
        }
    return log_det - total / (2 * (double)d->frames.rows);
}

/* ---- Statistics ---- */

static void test_definition_of_statistics(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int32_t dim = pick(seed, 1u << 20, 1, MOST);
        data *d = plain_data(seed, dim, 5, 200);
        trl__stc_stats *all = stats_of(d), *sum = new_stats(dim), *piece = new_stats(dim);
        int32_t none[200];
        memset(none, -1, sizeof none);
        for (size_t t = 0; t < 200;) {
            size_t end = t + (size_t)pick(seed, 5000 + t, 1, 90);
            end = end < 200 ? end : 200;
            trl_matrix part = {.data = trl_matrix_row(&d->frames, t),
                               .rows = end - t,
                               .cols = (size_t)dim,
                               .stride = d->frames.stride};
            trl__stc_stats_zero(piece);
            assert_int_equal(trl__stc_stats_add(piece, &d->model, &part, d->gaussian_of + t, NULL), 0);
            assert_int_equal(trl__stc_stats_add(piece, &d->model, &part, none, NULL), 0);
            assert_int_equal(trl__stc_stats_merge(sum, piece, NULL), 0);
            t = end;
        }
        assert_true(all->frames == 200 && sum->frames == 200);
        size_t n = (size_t)dim, at = 0;
        for (size_t r = 0; r < n; r++)
            for (size_t i = 0; i < n; i++)
                for (size_t j = i; j < n; j++, at++) {
                    double expected = 0, size = 0;
                    for (size_t t = 0; t < 200; t++) {
                        const float *frame = trl_matrix_row(&d->frames, t), *mean = d->mean + d->gaussian_of[t] * dim;
                        double product = ((double)frame[i] - (double)mean[i]) * ((double)frame[j] - (double)mean[j]) /
                                         (double)d->variance[(size_t)d->gaussian_of[t] * n + r];
                        expected += product;
                        size += fabs(product);
                    }
                    assert_near(all->g[at], expected, 1e-13 * size, "G", seed);
                    assert_near(sum->g[at], expected, 1e-13 * size, "G in pieces", seed);
                }
        trl__stc_stats_destroy(all);
        trl__stc_stats_destroy(sum);
        trl__stc_stats_destroy(piece);
        free_data(d);
    }
}

static void test_unfit_statistics(void **state)
{
    (void)state;
    trl_error err;
    data *d = plain_data(1, 3, 2, 20);
    trl__stc_stats *stats = stats_of(d), *other = new_stats(2);
    assert_int_equal(trl__stc_stats_merge(stats, other, &err), TRL_EINVAL);
    assert_int_equal(trl__stc_stats_add(other, &d->model, &d->frames, d->gaussian_of, &err), TRL_EINVAL);
    d->gaussian_of[4] = 2;
    assert_int_equal(trl__stc_stats_add(stats, &d->model, &d->frames, d->gaussian_of, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "frame 4 belongs to Gaussian 2, but the model has 2"));
    d->gaussian_of[4] = -2;
    assert_int_equal(trl__stc_stats_add(stats, &d->model, &d->frames, d->gaussian_of, &err), TRL_EINVAL);
    assert_true(stats->frames == 20);
    trl__stc_stats_destroy(stats);
    trl__stc_stats_destroy(other);
    free_data(d);
}

/* ---- The estimate ---- */

/* Statistics from covariances instead of frames: Gaussian g has `count` frames of covariance s[g], variances v[g]. */
static void set_stats(trl__stc_stats *stats, double s[][MOST * MOST], double v[][MOST], int gaussians, double count)
{
    size_t n = (size_t)stats->dim, at = 0;
    stats->frames = gaussians * count;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = i; j < n; j++, at++) {
                stats->g[at] = 0;
                for (int g = 0; g < gaussians; g++)
                    stats->g[at] += count * s[g][i * n + j] / v[g][r];
            }
}

/* One covariance S and variances 1: a S a' is the identity after one round, and the gain is known. */
static void test_one_gaussian(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        size_t n = (size_t)pick(seed, 0, 1, MOST);
        double root[MOST * MOST], s[1][MOST * MOST], v[1][MOST], identity[MOST * MOST], a[MOST * MOST],
            out[MOST * MOST];
        near_identity(seed, n, 0, identity);
        near_identity(seed, n, 0.5, root);
        turn(root, identity, n, s[0]);
        double trace = 0;
        for (size_t i = 0; i < n; i++) {
            s[0][i * n + i] += 0.01;
            trace += s[0][i * n + i];
            v[0][i] = 1;
        }
        trl__stc_stats *stats = new_stats((int32_t)n);
        trl__stc_summary summary;
        set_stats(stats, s, v, 1, 1000);
        assert_int_equal(trl__stc_estimate(stats, 20, a, &summary, NULL), 0);
        double log_det = invert(s[0], n, out);
        turn(a, s[0], n, out);
        for (size_t i = 0; i < n * n; i++)
            assert_near(out[i], i / n == i % n, 1e-8, "covariance", seed);
        assert_near(summary.log_det, -log_det / 2, 1e-8, "log det", seed);
        assert_near(summary.gain, (trace - (double)n - log_det) / 2, 1e-8, "gain", seed);
        assert_true(summary.rounds <= 2);
        trl__stc_stats_destroy(stats);
    }
}

/* Gains are those of the definition, round after round, and never less than before; at the end no neighbour is better. */
static void test_rounds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        int32_t dim = pick(seed, 1u << 20, 1, 6);
        size_t n = (size_t)dim;
        data *d = plain_data(seed, dim, 4, 150);
        trl__stc_stats *stats = stats_of(d);
        trl__stc_summary summary;
        double a[MOST * MOST], near[MOST * MOST], inverse[MOST * MOST], last = 0;
        near_identity(0, n, 0, a);
        double before = likelihood(d, a);
        for (int32_t rounds = 0; rounds < 8; rounds++) {
            assert_int_equal(trl__stc_estimate(stats, rounds, a, &summary, NULL), 0);
            assert_true(summary.rounds <= rounds && summary.gain >= last - 1e-12);
            assert_near(summary.gain, likelihood(d, a) - before, 1e-9, "gain", seed);
            assert_near(summary.log_det, invert(a, n, inverse), 1e-9, "log det", seed);
            last = summary.gain;
        }
        assert_int_equal(trl__stc_estimate(stats, 100000, a, &summary, NULL), 0);
        for (uint64_t i = 0; i < 20; i++) {
            for (size_t k = 0; k < n * n; k++)
                near[k] = a[k] + 0.01 * normal(seed, 20 + i, k);
            assert_true(likelihood(d, near) - before < summary.gain);
        }
        trl__stc_stats_destroy(stats);
        free_data(d);
    }
}

/* Frames with variances that are known in the space of a transform: it is found, from this and from other starts (frames
 * that were turned before), with the same likelihood. */
static void test_known_transform(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        int32_t dim = pick(seed, 1u << 20, 2, 5);
        size_t n = (size_t)dim;
        double truth[MOST * MOST], a[MOST * MOST], other[MOST * MOST], start[MOST * MOST], back[MOST * MOST];
        near_identity(seed, n, 0.25, truth);
        data *d = random_data(seed, dim, GAUSSIANS, 30000, truth);
        trl__stc_stats *stats = stats_of(d);
        trl__stc_summary summary, again;
        assert_int_equal(trl__stc_estimate(stats, 1000, a, &summary, NULL), 0);
        invert(truth, n, back);
        multiply(a, back, n, other);
        for (size_t i = 0; i < n * n; i++)
            assert_near(other[i], i / n == i % n, 0.05, "number of the transform", seed);
        double most = likelihood(d, a);
        near_identity(seed + 77, n, 0.15, start);
        data *turned = random_data(seed, dim, GAUSSIANS, 30000, truth);
        assert_int_equal(trl__stc_apply(&turned->model, start, NULL), 0);
        for (size_t t = 0; t < d->frames.rows; t++)
            for (size_t i = 0; i < n; i++) {
                double x = 0;
                for (size_t k = 0; k < n; k++)
                    x += start[i * n + k] * (double)trl_matrix_row(&d->frames, t)[k];
                trl_matrix_row(&turned->frames, t)[i] = (float)x;
            }
        trl__stc_stats_zero(stats);
        assert_int_equal(trl__stc_stats_add(stats, &turned->model, &turned->frames, turned->gaussian_of, NULL), 0);
        assert_int_equal(trl__stc_estimate(stats, 1000, other, &again, NULL), 0);
        multiply(other, start, n, other);
        assert_near(likelihood(d, other), most, 1e-6, "likelihood", seed);
        for (size_t i = 0; i < n * n; i++)
            assert_near(other[i], a[i], 1e-2, "number of the transform from another start", seed);
        trl__stc_stats_destroy(stats);
        free_data(d);
        free_data(turned);
    }
}

/* As in training: variances of the diagonal, a transform, variances anew … The likelihood never falls, and covariances
 * that one transform can make diagonal end so, whatever the rows' order, sign and scale. */
static void test_in_turn_with_variances(void **state)
{
    (void)state;
    enum { COVARIANCES = 6 };
    for (uint64_t seed = 0; seed < 100; seed++) {
        size_t n = (size_t)pick(seed, 0, 2, 5);
        double mix[MOST * MOST], s[COVARIANCES][MOST * MOST], v[COVARIANCES][MOST], a[MOST * MOST];
        near_identity(seed, n, 0.5, mix);
        for (int g = 0; g < COVARIANCES; g++) {
            double diagonal[MOST * MOST] = {0};
            for (size_t i = 0; i < n; i++)
                diagonal[i * n + i] = exp(2 * normal(seed, 30 + (uint64_t)g, i));
            turn(mix, diagonal, n, s[g]);
        }
        trl__stc_stats *stats = new_stats((int32_t)n);
        double log_det = 0, last = -INFINITY, worst = 1;
        for (int step = 0; step < 3000 && worst > 1e-6; step++) {
            trl__stc_summary summary;
            double now = log_det;
            worst = 0;
            for (int g = 0; g < COVARIANCES; g++)
                for (size_t i = 0; i < n; i++) {
                    v[g][i] = s[g][i * n + i];
                    now -= log(v[g][i]) / 2 / COVARIANCES;
                    for (size_t j = 0; j < i; j++)
                        worst = fmax(worst, fabs(s[g][i * n + j]) / sqrt(s[g][i * n + i] * s[g][j * n + j]));
                }
            if (!(now >= last - 1e-12))
                fail_msg("seed %llu: step %d falls from %.15g to %.15g", (unsigned long long)seed, step, last, now);
            last = now;
            set_stats(stats, s, v, COVARIANCES, 100);
            assert_int_equal(trl__stc_estimate(stats, 20, a, &summary, NULL), 0);
            log_det += summary.log_det;
            for (int g = 0; g < COVARIANCES; g++)
                turn(a, s[g], n, s[g]);
        }
        assert_near(worst, 0, 1e-4, "correlation", seed);
        trl__stc_stats_destroy(stats);
    }
}

/* ---- Data without a transform ---- */

static void assert_identity(const data *d, const char *what)
{
    trl__stc_stats *stats = stats_of(d);
    trl__stc_summary summary = {5, 5, 5};
    double a[MOST * MOST];
    size_t n = (size_t)d->model.dim;
    assert_int_equal(trl__stc_estimate(stats, 20, a, &summary, NULL), 0);
    for (size_t i = 0; i < n * n; i++)
        if (a[i] != (double)(i / n == i % n))
            fail_msg("%s: not the identity", what);
    assert_true(summary.gain == 0 && summary.log_det == 0 && summary.rounds == 0);
    trl__stc_stats_destroy(stats);
}

static void test_too_little(void **state)
{
    (void)state;
    data *d = plain_data(1, 6, 3, 100);
    for (d->frames.rows = 0; d->frames.rows < 12; d->frames.rows++)
        assert_identity(d, "few frames");
    d->frames.rows = 100;
    for (size_t k = 0; k < 6; k++) {
        data *same = plain_data(k, 6, 3, 100);
        for (size_t t = 0; t < 100; t++)
            trl_matrix_row(&same->frames, t)[k] = same->mean[(size_t)same->gaussian_of[t] * 6 + k];
        assert_identity(same, "a constant value");
        for (size_t t = 0; t < 100; t++) { /* the difference to the mean is twice that of another value */
            size_t g = (size_t)same->gaussian_of[t] * 6, of = (k + 1) % 6;
            double difference = (double)trl_matrix_row(&same->frames, t)[of] - (double)same->mean[g + of];
            trl_matrix_row(&same->frames, t)[k] = (float)((double)same->mean[g + k] + 2 * difference);
        }
        assert_identity(same, "one value twice");
        free_data(same);
    }
    trl__stc_summary summary;
    trl_error err;
    double a[36];
    trl_matrix_row(&d->frames, 50)[2] = NAN;
    trl__stc_stats *stats = stats_of(d);
    assert_int_equal(trl__stc_estimate(stats, 20, a, &summary, &err), TRL_ENUMBER);
    assert_non_null(strstr(err.text, "NaN"));
    trl__stc_stats_destroy(stats);
    free_data(d);
}

/* One value may be a million times another. */
static void test_scales(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        data *d = plain_data(seed, 4, 3, 300);
        trl__stc_summary summary, scaled;
        double a[16];
        trl__stc_stats *stats = stats_of(d);
        assert_int_equal(trl__stc_estimate(stats, 50, a, &summary, NULL), 0);
        trl__stc_stats_destroy(stats);
        for (size_t t = 0; t < 300; t++)
            trl_matrix_row(&d->frames, t)[1] *= 1048576;
        for (size_t g = 0; g < 3; g++) {
            d->mean[g * 4 + 1] *= 1048576;
            d->variance[g * 4 + 1] *= 1048576.0f * 1048576.0f;
        }
        stats = stats_of(d);
        assert_int_equal(trl__stc_estimate(stats, 50, a, &scaled, NULL), 0);
        assert_near(scaled.gain, summary.gain, 1e-7, "gain", seed);
        trl__stc_stats_destroy(stats);
        free_data(d);
    }
}

static void test_apply(void **state)
{
    (void)state;
    data *d = plain_data(2, 3, 4, 10), *before = plain_data(2, 3, 4, 10);
    d->model.independent =
        (trl__model_mixtures){.first_gaussian = d->first_gaussian, .mean = before->mean, .variance = before->variance};
    const double a[] = {1, 2, 3, 0, -1, 0.5, 4, 0, 0};
    assert_int_equal(trl__stc_apply(&d->model, a, NULL), 0);
    data *same = plain_data(2, 3, 4, 10);
    for (size_t g = 0; g < 4; g++)
        for (size_t r = 0; r < 3; r++) {
            double expected = 0;
            for (size_t k = 0; k < 3; k++)
                expected += a[r * 3 + k] * (double)same->mean[g * 3 + k];
            assert_true(d->mean[g * 3 + r] == (float)expected);
        }
    assert_memory_equal(d->variance, same->variance, sizeof d->variance);
    assert_memory_equal(before->mean, same->mean, sizeof same->mean);
    free_data(d);
    free_data(before);
    free_data(same);
}

static void test_without_memory(void **state)
{
    (void)state;
    data *d = plain_data(4, 5, 3, 100);
    trl__stc_stats *stats, *good = stats_of(d);
    trl__stc_summary summary;
    double a[25];
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl__stc_stats_create(5, &stats, NULL);
        trl__memory_fail_after(0);
        assert_true(code == 0 || (code == TRL_ENOMEM && !stats));
    }
    trl__stc_stats_destroy(stats);
    for (long n = 1; n < 3; n++) {
        trl__memory_fail_after(n);
        code = trl__stc_estimate(good, 2, a, &summary, NULL);
        trl__memory_fail_after(0);
        assert_int_equal(code, n < 2 ? TRL_ENOMEM : 0);
    }
    trl__memory_fail_after(1);
    code = trl__stc_apply(&d->model, a, NULL);
    trl__memory_fail_after(0);
    assert_int_equal(code, TRL_ENOMEM);
    trl__stc_stats_destroy(good);
    free_data(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition_of_statistics),
        cmocka_unit_test(test_unfit_statistics),
        cmocka_unit_test(test_one_gaussian),
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_known_transform),
        cmocka_unit_test(test_in_turn_with_variances),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_without_memory),
    };
    return RUN(tests);
}
