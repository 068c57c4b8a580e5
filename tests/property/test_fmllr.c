/* fMLLR against its definition: sums over frames and Gaussians, densities of transformed frames, distortions that are known. */
#include "cmocka_test.h"

#include "mixture_fixture.h"

#include "adapt/fmllr.h"
#include "base/memory.h"

#include <trellis/pool.h>

static trl_error err;

static void must(int code)
{
    if (code < 0)
        fail_msg("%s", err.text);
}

/* ---- data ---- */

/* Frames with a state each, and the model they are drawn from. */
typedef struct data {
    trl_model model;
    trl_matrix frames;
    int32_t *tied;
} data;

static data draw(chance *c, mixture_kind kind, size_t frames)
{
    data d = {.model = random_mixtures(c, kind, 0), .tied = malloc((frames + 1) * sizeof(int32_t))};
    must(trl_matrix_resize(&d.frames, frames, (size_t)kind.dim, &err));
    for (size_t t = 0; t < frames; t++) {
        d.tied[t] = pick(c, kind.tied);
        int first = d.model.first_gaussian[d.tied[t]], g = first;
        float left = between(c, 0, 1);
        while (g + 1 < d.model.first_gaussian[d.tied[t] + 1] && (left -= expf(d.model.log_weight[g])) > 0)
            g++;
        for (int k = 0; k < kind.dim; k++)
            trl_matrix_row(&d.frames, t)[k] =
                d.model.mean[g * kind.dim + k] + sqrtf(d.model.variance[g * kind.dim + k]) * gauss(c);
    }
    return d;
}

static void discard(data *d)
{
    free_mixtures(&d->model);
    trl_matrix_free(&d->frames);
    free(d->tied);
}

/* An affine map that is not far from the identity. */
static trl_matrix random_map(chance *c, int dim, float size)
{
    trl_matrix map = {0};
    must(trl__fmllr_identity(dim, &map, &err));
    for (int i = 0; i < dim * (dim + 1); i++)
        map.data[i] += size * gauss(c);
    return map;
}

static void distort(data *d, const trl_matrix *map)
{
    must(trl__fmllr_apply(map, &d->frames, &d->frames, &err));
}

static trl__fmllr_stats *gather(const data *d)
{
    trl__fmllr_stats *stats;
    must(trl__fmllr_stats_create(d->model.dim, &stats, &err));
    must(trl__fmllr_stats_add(stats, &d->model, &d->frames, d->tied, &err));
    return stats;
}

/* ---- definitions ---- */

static double component_score(const trl_model *m, int g, const double *o)
{
    double sum = 0;
    for (int k = 0; k < m->dim; k++) {
        double v = (double)m->variance[g * m->dim + k], x = o[k] - (double)m->mean[g * m->dim + k];
        sum -= 0.5 * (log(6.283185307179586 * v) + x * x / v);
    }
    return sum;
}

/* Posteriors of the Gaussians of the frame's state. */
static void define_posteriors(const data *d, size_t t, double *posterior)
{
    int first = d->model.first_gaussian[d->tied[t]], end = d->model.first_gaussian[d->tied[t] + 1];
    double o[64], best = -INFINITY, sum = 0;
    for (int k = 0; k < d->model.dim; k++)
        o[k] = (double)trl_matrix_row(&d->frames, t)[k];
    for (int g = first; g < end; g++) {
        posterior[g - first] = (double)d->model.log_weight[g] + component_score(&d->model, g, o);
        best = fmax(best, posterior[g - first]);
    }
    for (int g = first; g < end; g++)
        sum += posterior[g - first] = exp(posterior[g - first] - best);
    for (int g = first; g < end; g++)
        posterior[g - first] /= sum;
}

static double define_log_det(const trl_matrix *map)
{
    double a[64][64], sum = 0;
    size_t n = map->rows;
    for (size_t i = 0; i < n * n; i++)
        a[i / n][i % n] = (double)trl_matrix_row(map, i / n)[i % n];
    for (size_t i = 0; i < n; i++) {
        size_t pivot = i;
        for (size_t r = i; r < n; r++)
            pivot = fabs(a[r][i]) > fabs(a[pivot][i]) ? r : pivot;
        for (size_t k = 0; k < n; k++) {
            double kept = a[i][k];
            a[i][k] = a[pivot][k];
            a[pivot][k] = kept;
        }
        sum += log(fabs(a[i][i]));
        for (size_t r = i + 1; r < n; r++)
            for (size_t k = n; k-- > i;)
                a[r][k] -= a[r][i] / a[i][i] * a[i][k];
    }
    return sum;
}

/* The expected log-likelihood per frame after the map, as a density of the frames before it. */
static double define_objective(const data *d, const trl_matrix *map)
{
    double total = 0, frames = 0, posterior[80], y[64];
    int dim = d->model.dim;
    for (size_t t = 0; t < d->frames.rows; t++) {
        if (d->tied[t] < 0)
            continue;
        for (int r = 0; r < dim; r++) {
            y[r] = (double)trl_matrix_row(map, (size_t)r)[dim];
            for (int k = 0; k < dim; k++)
                y[r] += (double)trl_matrix_row(map, (size_t)r)[k] * (double)trl_matrix_row(&d->frames, t)[k];
        }
        int first = d->model.first_gaussian[d->tied[t]], end = d->model.first_gaussian[d->tied[t] + 1];
        define_posteriors(d, t, posterior);
        for (int g = first; g < end; g++)
            total += posterior[g - first] * component_score(&d->model, g, y);
        frames++;
    }
    return total / frames + define_log_det(map);
}

static double gain_of(const data *d, const trl_matrix *map)
{
    trl_matrix identity = {0};
    must(trl__fmllr_identity(d->model.dim, &identity, &err));
    double gain = define_objective(d, map) - define_objective(d, &identity);
    trl_matrix_free(&identity);
    return gain;
}

static mixture_kind random_kind(chance *c)
{
    return (mixture_kind){1 + pick(c, 6), 1 + pick(c, 6), 1 + pick(c, 5), 2, between(c, -3, 3), 0.5f};
}

static void assert_close(double a, double b, double scale)
{
    if (!(fabs(a - b) <= scale))
        fail_msg("%.17g and %.17g differ by more than %g", a, b, scale);
}

static void assert_identity(const trl_matrix *map)
{
    for (size_t i = 0; i < map->rows * map->cols; i++)
        assert_true(map->data[i] == (i / map->cols == i % map->cols ? 1.0f : 0.0f));
}

/* ---- statistics ---- */

static void test_statistics_are_the_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        chance c = {seed, 0};
        data d = draw(&c, random_kind(&c), (size_t)pick(&c, 300));
        int dim = d.model.dim;
        double frames = 0, posterior[8];
        for (size_t t = 0; t < d.frames.rows; t++)
            if (pick(&c, 4) == 0)
                d.tied[t] = -1;
        trl__fmllr_stats *stats = gather(&d);
        for (int r = 0; r < dim; r++) {
            double *g = calloc(trl__fmllr_packed(dim), sizeof *g), k[8] = {0};
            frames = 0;
            for (size_t t = 0; t < d.frames.rows; t++) {
                double e[8] = {0}, weight = 0, target = 0;
                if (d.tied[t] < 0)
                    continue;
                define_posteriors(&d, t, posterior);
                for (int i = d.model.first_gaussian[d.tied[t]], n = 0; i < d.model.first_gaussian[d.tied[t] + 1]; i++) {
                    double share = posterior[n++] / (double)d.model.variance[i * dim + r];
                    weight += share;
                    target += share * (double)d.model.mean[i * dim + r];
                }
                for (int i = 0; i <= dim; i++)
                    e[i] = i == dim ? 1 : (double)trl_matrix_row(&d.frames, t)[i];
                for (int i = 0, at = 0; i <= dim; i++) {
                    k[i] += target * e[i];
                    for (int j = i; j <= dim; j++)
                        g[at++] += weight * e[i] * e[j];
                }
                frames++;
            }
            for (size_t i = 0; i < trl__fmllr_packed(dim); i++)
                assert_close(stats->g[(size_t)r * trl__fmllr_packed(dim) + i], g[i], 1e-6 * (1 + frames));
            for (int i = 0; i <= dim; i++)
                assert_close(stats->k[r * (dim + 1) + i], k[i], 1e-6 * (1 + frames));
            free(g);
        }
        assert_true(stats->frames == frames);
        trl__fmllr_stats_destroy(stats);
        discard(&d);
    }
}

static void test_parts_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        chance c = {seed, 7};
        data d = draw(&c, random_kind(&c), 10 + (size_t)pick(&c, 500));
        size_t dim = (size_t)d.model.dim, cut = (size_t)pick(&c, (int)d.frames.rows);
        trl__fmllr_stats *all = gather(&d), *both, *other;
        must(trl__fmllr_stats_create(d.model.dim, &both, &err));
        must(trl__fmllr_stats_create(d.model.dim, &other, &err));
        trl_matrix first = d.frames, second = d.frames;
        first.rows = cut;
        second.data = trl_matrix_row(&d.frames, cut);
        second.rows -= cut;
        must(trl__fmllr_stats_add(both, &d.model, &first, d.tied, &err));
        must(trl__fmllr_stats_add(other, &d.model, &second, d.tied + cut, &err));
        must(trl__fmllr_stats_merge(both, other, &err));
        assert_true(both->frames == all->frames);
        for (size_t i = 0; i < dim * trl__fmllr_packed((int32_t)dim); i++)
            assert_close(both->g[i], all->g[i], 1e-9 * (1 + fabs(all->g[i])) * all->frames);
        for (size_t i = 0; i < dim * (dim + 1); i++)
            assert_close(both->k[i], all->k[i], 1e-9 * (1 + fabs(all->k[i])) * all->frames);
        trl__fmllr_stats_zero(other);
        double before = both->g[0];
        must(trl__fmllr_stats_merge(both, other, &err));
        assert_true(both->g[0] == before && both->frames == all->frames);
        trl__fmllr_stats_destroy(all);
        trl__fmllr_stats_destroy(both);
        trl__fmllr_stats_destroy(other);
        discard(&d);
    }
}

/* ---- the objective ---- */

/* After every number of rounds: as high as before or higher, and what frames and densities say. */
static void test_objective_never_falls_and_is_the_likelihood(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        chance c = {seed, 11};
        data d = draw(&c, random_kind(&c), 60 + (size_t)pick(&c, 300));
        trl_matrix map = random_map(&c, d.model.dim, 0.3f), transform = {0};
        distort(&d, &map);
        trl__fmllr_stats *stats = gather(&d);
        double last = 0;
        for (int32_t rounds = 1; rounds <= 12; rounds += 1 + rounds / 3) {
            trl__fmllr_options o = {.least_frames = 1, .rounds = rounds};
            trl__fmllr_summary summary;
            must(trl__fmllr_estimate(stats, &o, &transform, &summary, &err));
            assert_true(summary.gain >= last);
            assert_true(summary.estimated && summary.frames == (double)d.frames.rows);
            assert_close(summary.gain, gain_of(&d, &transform), 1e-5 * (1 + summary.gain));
            double log_det;
            must(trl__fmllr_log_det(&transform, &log_det, &err));
            assert_close(log_det, define_log_det(&transform), 1e-9);
            assert_close(summary.log_det, log_det, 1e-5);
            last = summary.gain;
        }
        trl__fmllr_stats_destroy(stats);
        trl_matrix_free(&transform);
        trl_matrix_free(&map);
        discard(&d);
    }
}

/* No transform close by is better. */
static void test_it_is_a_maximum(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        chance c = {seed, 13};
        data d = draw(&c, random_kind(&c), 200);
        trl_matrix map = random_map(&c, d.model.dim, 0.2f), transform = {0};
        distort(&d, &map);
        trl__fmllr_stats *stats = gather(&d);
        trl__fmllr_options o = {.least_frames = 1, .rounds = 1000};
        must(trl__fmllr_estimate(stats, &o, &transform, NULL, &err));
        double best = define_objective(&d, &transform);
        for (int i = 0; i < 100; i++) {
            trl_matrix other = random_map(&c, d.model.dim, i % 2 ? 0.03f : 0.2f), both = {0};
            must(trl__fmllr_compose(&other, &transform, &both, &err));
            assert_true(define_objective(&d, &both) < best + 1e-5);
            trl_matrix_free(&other);
            trl_matrix_free(&both);
        }
        trl__fmllr_stats_destroy(stats);
        trl_matrix_free(&transform);
        trl_matrix_free(&map);
        discard(&d);
    }
}

/* One dimension, one Gaussian: the transform brings mean and variance of the frames to those of the Gaussian. */
static void test_closed_form(void **state)
{
    (void)state;
    chance c = {5, 17};
    data d = draw(&c, (mixture_kind){1, 1, 1, 1, 3, 2}, 1000);
    double sum = 0, square = 0, mean, deviation;
    for (size_t t = 0; t < d.frames.rows; t++) {
        d.frames.data[t] = 7 * d.frames.data[t] - 30;
        sum += (double)d.frames.data[t];
        square += (double)d.frames.data[t] * (double)d.frames.data[t];
    }
    mean = sum / 1000;
    deviation = sqrt(square / 1000 - mean * mean);
    trl__fmllr_stats *stats = gather(&d);
    trl_matrix transform = {0};
    trl__fmllr_summary summary;
    must(trl__fmllr_estimate(stats, NULL, &transform, &summary, &err));
    double scale = sqrt((double)d.model.variance[0]) / deviation;
    assert_close(fabs((double)transform.data[0]), scale, 1e-5);
    assert_close((double)transform.data[1], (double)d.model.mean[0] - (double)transform.data[0] * mean, 1e-4);
    assert_close(summary.log_det, log(scale), 1e-5);
    trl__fmllr_stats_destroy(stats);
    trl_matrix_free(&transform);
    discard(&d);
}

/* Frames from the model, distorted: the transform undoes it. */
static void test_known_distortion_is_undone(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        chance c = {seed, 19};
        int dim = 3 + pick(&c, 8);
        data d = draw(&c, (mixture_kind){dim, 60, 3, 3, 0, 0.2f}, 20000);
        trl_matrix map = random_map(&c, dim, 0.1f), transform = {0}, both = {0};
        distort(&d, &map);
        trl__fmllr_summary summary;
        must(trl__fmllr_identity(dim, &both, &err));
        for (int i = 0; i < 4; i++) { /* posteriors of distorted frames are wrong ones: each estimate mends them */
            trl__fmllr_stats *stats = gather(&d);
            trl_matrix before = both;
            both = (trl_matrix){0};
            must(trl__fmllr_estimate(stats, NULL, &transform, &summary, &err));
            must(trl__fmllr_compose(&transform, &before, &both, &err));
            distort(&d, &transform);
            trl__fmllr_stats_destroy(stats);
            trl_matrix_free(&before);
        }
        trl_matrix whole = {0};
        must(trl__fmllr_compose(&both, &map, &whole, &err));
        for (int r = 0; r < dim; r++)
            for (int k = 0; k <= dim; k++)
                assert_close((double)trl_matrix_row(&whole, (size_t)r)[k], r == k, 0.03);
        assert_true(summary.gain < 1e-3); /* there is nothing left to be gained */
        trl_matrix_free(&whole);
        trl_matrix_free(&both);
        trl_matrix_free(&transform);
        trl_matrix_free(&map);
        discard(&d);
    }
}

/* ---- use ---- */

static void test_apply_and_compose(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        chance c = {seed, 23};
        int dim = 1 + pick(&c, 50);
        size_t rows = (size_t)pick(&c, 300), stride = (size_t)dim + (size_t)pick(&c, 5);
        trl_matrix first = random_map(&c, dim, 1), second = random_map(&c, dim, 1), both = {0}, out = {0};
        trl_matrix frames = {.data = malloc((rows * stride + 1) * sizeof(float)), .rows = rows, .cols = (size_t)dim};
        frames.stride = stride;
        for (size_t i = 0; i < rows * stride; i++)
            frames.data[i] = gauss(&c);
        must(trl__fmllr_apply(&first, &frames, &out, &err));
        for (size_t t = 0; t < rows; t++)
            for (size_t r = 0; r < (size_t)dim; r++) {
                double sum = (double)trl_matrix_row(&first, r)[dim];
                for (size_t k = 0; k < (size_t)dim; k++)
                    sum += (double)trl_matrix_row(&first, r)[k] * (double)trl_matrix_row(&frames, t)[k];
                assert_close((double)trl_matrix_row(&out, t)[r], sum, 1e-5 * (10 + dim));
            }
        must(trl__fmllr_apply(&first, &frames, &frames, &err)); /* in place */
        for (size_t t = 0; t < rows; t++)
            assert_memory_equal(trl_matrix_row(&frames, t), trl_matrix_row(&out, t), (size_t)dim * sizeof(float));
        must(trl__fmllr_compose(&second, &first, &both, &err));
        for (size_t r = 0; r < (size_t)dim; r++)
            for (size_t k = 0; k <= (size_t)dim; k++) {
                double sum = k == (size_t)dim ? (double)trl_matrix_row(&second, r)[dim] : 0;
                for (size_t i = 0; i < (size_t)dim; i++)
                    sum += (double)trl_matrix_row(&second, r)[i] * (double)trl_matrix_row(&first, i)[k];
                assert_close((double)trl_matrix_row(&both, r)[k], sum, 1e-5 * (10 + dim));
            }
        free(frames.data);
        trl_matrix_free(&first);
        trl_matrix_free(&second);
        trl_matrix_free(&both);
        trl_matrix_free(&out);
    }
}

static void test_shapes_must_fit(void **state)
{
    (void)state;
    chance c = {1, 29};
    data d = draw(&c, (mixture_kind){3, 2, 2, 1, 0, 1}, 5);
    trl_matrix map = random_map(&c, 4, 1), out = {0}, no_map = {.rows = 3, .cols = 3, .stride = 3};
    trl__fmllr_stats *stats, *other;
    must(trl__fmllr_stats_create(3, &stats, &err));
    must(trl__fmllr_stats_create(4, &other, &err));
    assert_int_equal(trl__fmllr_apply(&map, &d.frames, &out, &err), TRL_EINVAL);
    assert_int_equal(trl__fmllr_apply(&no_map, &d.frames, &out, &err), TRL_EINVAL);
    assert_int_equal(trl__fmllr_compose(&map, &no_map, &out, &err), TRL_EINVAL);
    assert_int_equal(trl__fmllr_stats_merge(stats, other, &err), TRL_EINVAL);
    assert_int_equal(trl__fmllr_stats_add(other, &d.model, &d.frames, d.tied, &err), TRL_EINVAL);
    d.tied[3] = 2;
    assert_int_equal(trl__fmllr_stats_add(stats, &d.model, &d.frames, d.tied, &err), TRL_EINVAL);
    d.tied[3] = 1;
    d.frames.data[4] = NAN;
    assert_int_equal(trl__fmllr_stats_add(stats, &d.model, &d.frames, d.tied, &err), TRL_ENUMBER);
    trl__fmllr_stats_destroy(stats);
    trl__fmllr_stats_destroy(other);
    trl__fmllr_stats_destroy(NULL);
    trl_matrix_free(&map);
    discard(&d);
}

/* ---- degenerate data ---- */

static trl__fmllr_summary estimate(const data *d, double least_frames, trl_matrix *transform)
{
    trl__fmllr_stats *stats = gather(d);
    trl__fmllr_options o = {.least_frames = least_frames, .rounds = 40};
    trl__fmllr_summary summary;
    must(trl__fmllr_estimate(stats, &o, transform, &summary, &err));
    trl__fmllr_stats_destroy(stats);
    for (size_t i = 0; i < transform->rows * transform->cols; i++)
        assert_true(isfinite(transform->data[i]));
    assert_true(isfinite(summary.gain) && isfinite(summary.log_det) && summary.gain >= 0);
    return summary;
}

static void test_few_frames_leave_the_identity(void **state)
{
    (void)state;
    for (size_t frames = 0; frames < 40; frames++) {
        chance c = {frames, 31};
        data d = draw(&c, (mixture_kind){5, 3, 2, 1, 0, 1}, frames);
        trl_matrix transform = {0};
        trl__fmllr_summary s = estimate(&d, 40, &transform);
        assert_false(s.estimated);
        assert_true(s.gain == 0 && s.log_det == 0 && s.frames == (double)frames);
        assert_identity(&transform);
        s = estimate(&d, 0, &transform); /* who wants it gets what so few frames can say */
        if (frames < 2)
            assert_identity(&transform);
        else if (s.estimated)
            assert_close(s.gain, gain_of(&d, &transform), 1e-3 * (1 + s.gain));
        trl_matrix_free(&transform);
        discard(&d);
    }
}

/* What does not vary of its own is left as it is; the rest is adapted as if it were not there. */
static void test_constant_and_doubled_dimensions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        chance c = {seed, 37};
        int dim = 4, constant = pick(&c, dim), kind = (int)(seed % 3);
        data d = draw(&c, (mixture_kind){dim, 6, 2, 2, 0, 0.5f}, 600);
        trl_matrix map = random_map(&c, dim, 0.2f), transform = {0};
        distort(&d, &map);
        for (size_t t = 0; t < d.frames.rows; t++) {
            float *o = trl_matrix_row(&d.frames, t);
            o[constant] = kind == 0 ? 0 : kind == 1 ? 3.7f : 2 * o[(constant + 1) % dim];
        }
        trl__fmllr_summary s = estimate(&d, 500, &transform);
        int other = (constant + 1) % dim, left = kind == 2 && other > constant ? other : constant;
        assert_true(s.estimated && s.gain > 0);
        assert_close(s.gain, gain_of(&d, &transform), 1e-4 * (1 + s.gain));
        for (int k = 0; k <= dim; k++)
            assert_true(trl_matrix_row(&transform, (size_t)left)[k] == (float)(k == left));
        for (int r = 0; r < dim; r++)
            assert_true(trl_matrix_row(&transform, (size_t)r)[left] == (float)(r == left));
        trl_matrix_free(&transform);
        trl_matrix_free(&map);
        discard(&d);
    }
}

static void test_strange_data_ends_in_numbers(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        chance c = {seed, 41};
        mixture_kind kind = {1 + pick(&c, 5), 1 + pick(&c, 3), 1 + pick(&c, 2), 1, 0, 0.5f};
        kind.offset = pick(&c, 2) ? 1e4f : 0;
        kind.least_variance = pick(&c, 3) == 0 ? 1e-6f : pick(&c, 2) ? 1e6f : 1;
        data d = draw(&c, kind, 1 + (size_t)pick(&c, 100));
        float scale = powf(10, between(&c, -6, 6));
        int first = pick(&c, 3) ? 0 : pick(&c, (int)d.frames.rows);
        for (size_t i = 0; i < d.frames.rows * d.frames.cols; i++)
            d.frames.data[i] *= scale;
        for (size_t t = (size_t)first; t > 0; t--) /* the same frame again and again */
            memcpy(trl_matrix_row(&d.frames, t - 1), trl_matrix_row(&d.frames, t), d.frames.cols * sizeof(float));
        trl_matrix transform = {0};
        estimate(&d, 0, &transform);
        trl_matrix_free(&transform);
        discard(&d);
    }
}

/* ---- threads, memory ---- */

enum { SPEAKERS = 12 };

typedef struct crowd {
    const data *d;
    trl_matrix transform[SPEAKERS];
} crowd;

static int estimate_speaker(void *user, size_t speaker, int worker, trl_error *error)
{
    (void)worker;
    crowd *all = user;
    trl_matrix frames = all->d->frames;
    size_t first = speaker * 40;
    trl__fmllr_stats *stats = NULL;
    trl__fmllr_options o = {.least_frames = 1, .rounds = 10};
    frames.data = trl_matrix_row(&frames, first);
    frames.rows -= first;
    int code = trl__fmllr_stats_create(all->d->model.dim, &stats, error);
    if (code == 0)
        code = trl__fmllr_stats_add(stats, &all->d->model, &frames, all->d->tied + first, error);
    if (code == 0)
        code = trl__fmllr_estimate(stats, &o, &all->transform[speaker], NULL, error);
    trl__fmllr_stats_destroy(stats);
    return code;
}

static void test_threads_change_nothing(void **state)
{
    (void)state;
    chance c = {1, 43};
    data d = draw(&c, (mixture_kind){20, 30, 4, 2, 0, 0.5f}, 1000);
    crowd expected = {.d = &d};
    must(trl_pool_for(NULL, SPEAKERS, estimate_speaker, &expected, &err));
    for (int threads = 2; threads <= 7; threads += 5) {
        crowd all = {.d = &d};
        trl_pool *pool;
        must(trl_pool_create(threads, &pool, &err));
        must(trl_pool_for(pool, SPEAKERS, estimate_speaker, &all, &err));
        for (int i = 0; i < SPEAKERS; i++) {
            assert_memory_equal(all.transform[i].data, expected.transform[i].data, 20 * 21 * sizeof(float));
            trl_matrix_free(&all.transform[i]);
        }
        trl_pool_destroy(pool);
    }
    for (int i = 0; i < SPEAKERS; i++)
        trl_matrix_free(&expected.transform[i]);
    discard(&d);
}

static void test_memory_may_run_out(void **state)
{
    (void)state;
    chance c = {1, 47};
    data d = draw(&c, (mixture_kind){3, 2, 2, 1, 0, 1}, 500);
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        crowd all = {.d = &d};
        trl_matrix both = {0}, out = {0};
        trl__memory_fail_after(n);
        code = estimate_speaker(&all, 0, 0, &err);
        if (code == 0)
            code = trl__fmllr_apply(&all.transform[0], &d.frames, &out, &err);
        if (code == 0)
            code = trl__fmllr_compose(&all.transform[0], &all.transform[0], &both, &err);
        trl__memory_fail_after(0);
        trl_matrix_free(&all.transform[0]);
        trl_matrix_free(&both);
        trl_matrix_free(&out);
        assert_true(n < 100);
    }
    must(code);
    discard(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics_are_the_sums),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_objective_never_falls_and_is_the_likelihood),
        cmocka_unit_test(test_it_is_a_maximum),
        cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_known_distortion_is_undone),
        cmocka_unit_test(test_apply_and_compose),
        cmocka_unit_test(test_shapes_must_fit),
        cmocka_unit_test(test_few_frames_leave_the_identity),
        cmocka_unit_test(test_constant_and_doubled_dimensions),
        cmocka_unit_test(test_strange_data_ends_in_numbers),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_memory_may_run_out),
    };
    return RUN(tests);
}
