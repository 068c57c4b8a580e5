/* Tied mixtures: scores against their definition in double, models through files and copies, and what is refused. */
#include "shared_fixture.h"

#include "backend/backend.h"

#include <trellis/likelihood.h>

#define CASES 300
#define FRAMES 70 /* more than two tiles of the kernel */

/* ---- The definition ---- */

static double density_of(const trl_model *m, int32_t book, int32_t k, int32_t first, int32_t dim, const float *frame)
{
    const trl__shared_mixtures *s = m->shared;
    size_t at = ((size_t)book * (size_t)s->densities + (size_t)k) * (size_t)m->dim;
    double sum = 0;
    for (int32_t i = first; i < first + dim; i++) {
        double variance = (double)s->variance[at + (size_t)i], x = (double)frame[i] - (double)s->mean[at + (size_t)i];
        sum -= 0.5 * (log(6.283185307179586 * variance) + x * x / variance);
    }
    return sum;
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* ln of the sum, or the maximum, over the densities that count. */
static double stream_score(const trl_model *m, int32_t tied, int32_t stream, int32_t first, const float *frame, int max)
{
    const trl__shared_mixtures *s = m->shared;
    double best = -INFINITY, densities[64], sorted[64], sum = 0;
    for (int32_t c = 0; c < s->codebooks; c++)
        for (int32_t k = 0; k < s->densities; k++)
            best = fmax(best, density_of(m, c, k, first, s->stream_dim[stream], frame));
    for (int32_t k = 0; k < s->densities; k++)
        sorted[k] = densities[k] = density_of(m, s->codebook[tied], k, first, s->stream_dim[stream], frame);
    qsort(sorted, (size_t)s->densities, sizeof *sorted, falling);
    double last = sorted[s->top > 0 ? s->top - 1 : s->densities - 1];
    for (int32_t k = 0; k < s->densities; k++) {
        double d = s->floor > 0 ? fmax(densities[k], best - (double)s->floor) : densities[k];
        double part = exp((double)s->log_weight[(tied * s->streams + stream) * s->densities + k] + d);
        if (densities[k] >= last)
            sum = max ? fmax(sum, part) : sum + part;
    }
    return log(sum);
}

static double score(const trl_model *m, int32_t tied, const float *frame, int max)
{
    double sum = 0;
    for (int32_t i = 0, first = 0; i < m->shared->streams; first += m->shared->stream_dim[i++])
        sum += stream_score(m, tied, i, first, frame, max);
    return sum;
}

static trl_matrix random_frames(uint64_t seed, size_t rows, int32_t dim)
{
    trl_matrix frames = {0};
    assert_int_equal(trl_matrix_resize(&frames, rows, (size_t)dim, NULL), 0);
    for (size_t t = 0; t < rows; t++)
        for (size_t k = 0; k < (size_t)dim; k++)
            trl_matrix_row(&frames, t)[k] = 1.5F * trl__random_normal(seed, 9, t * (size_t)dim + k);
    return frames;
}

static void test_scores(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        trl_error err;
        trl_model *m = random_shared_model(seed);
        trl_matrix frames = random_frames(seed, seed % 20 ? 5 : FRAMES, m->dim), scores = {0};
        if (trl_likelihoods(m, NULL, &frames, &scores, &err) < 0)
            fail_msg("seed %d: %s", (int)seed, err.text);
        for (size_t t = 0; t < frames.rows; t++)
            for (int32_t j = 0; j < m->tied_states; j++) {
                double expected = score(m, j, trl_matrix_row(&frames, t), 0);
                double found = (double)trl_matrix_row(&scores, t)[j];
                if (!(fabs(found - expected) < 2e-5 * (20 + fabs(expected))))
                    fail_msg("seed %d, frame %zu, tied state %d: %g, not %g", (int)seed, t, (int)j, found, expected);
            }
        trl_matrix_free(&frames);
        trl_matrix_free(&scores);
        trl_model_destroy(m);
    }
}

/* Rows that begin and end anywhere, and the maximum over densities. */
static void test_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        trl_error err;
        dice d = {seed, 5000};
        trl_model *m = random_shared_model(seed);
        trl_matrix frames = random_frames(seed, FRAMES, m->dim);
        trl__device *device;
        trl__parameters *parameters;
        trl__stream *stream;
        float scores[2 * 96 + TRL__ROW_PAD];
        trl__row rows[2];
        for (int r = 0; r < 2; r++) {
            int32_t first = roll(&d, 0, FRAMES - 1);
            rows[r] = (trl__row){roll(&d, 0, m->tied_states - 1), first, roll(&d, first, FRAMES), (int64_t)r * 96};
        }
        trl__search search = {
            .frames = &frames, .end = FRAMES, .combine = TRL__MAX, .rows = 2, .row = rows, .scores = scores};
        assert_int_equal(trl__device_open("cpu", &device, &err), 0);
        assert_int_equal(trl__device_load_model(device, m, NULL, &parameters, &err), 0);
        assert_int_equal(trl__stream_create(device, &stream, &err), 0);
        assert_int_equal(trl__stream_frames(stream, parameters, &search, 1, &err), 0);
        assert_int_equal(trl__stream_score(stream, parameters, &search, 1, &err), 0);
        for (int r = 0; r < 2; r++)
            for (int32_t t = rows[r].first; t < rows[r].end; t++) {
                double expected = score(m, rows[r].tied, trl_matrix_row(&frames, (size_t)t), 1);
                assert_true(fabs((double)scores[rows[r].offset + t - rows[r].first] - expected) <
                            2e-5 * (20 + fabs(expected)));
            }
        trl__stream_destroy(stream);
        trl__parameters_free(parameters);
        trl__device_close(device);
        trl_matrix_free(&frames);
        trl_model_destroy(m);
    }
}

/* ---- Files ---- */

static void assert_same(const trl_model *a, const trl_model *b)
{
    size_t weights = (size_t)a->tied_states * (size_t)a->shared->streams * (size_t)a->shared->densities;
    size_t numbers = (size_t)a->shared->codebooks * (size_t)a->shared->densities * (size_t)a->dim;
    trl_codebook_facts x = trl_model_codebooks(a), y = trl_model_codebooks(b);
    assert_memory_equal(&x, &y, sizeof x);
    assert_int_equal(a->tied_states, b->tied_states);
    assert_memory_equal(a->shared->stream_dim, b->shared->stream_dim, (size_t)x.streams * 4);
    assert_memory_equal(a->shared->codebook, b->shared->codebook, (size_t)a->tied_states * 4);
    assert_memory_equal(a->shared->log_weight, b->shared->log_weight, weights * 4);
    assert_memory_equal(a->shared->mean, b->shared->mean, numbers * 4);
    assert_memory_equal(a->shared->variance, b->shared->variance, numbers * 4);
}

static void test_files(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        trl_error err;
        trl_model *m = random_shared_model(seed), *read, *copy;
        assert_int_equal(trl_model_write(m, temp_path("model"), &err), 0);
        if (trl_model_read(temp_path("model"), &read, &err) < 0)
            fail_msg("seed %d: %s", (int)seed, err.text);
        assert_same(m, read);
        assert_int_equal(trl__model_copy(read, &copy, &err), 0);
        trl_model_destroy(read);
        assert_same(m, copy);
        trl_model_destroy(copy);
        trl_model_destroy(m);
    }
}

/* Every allocation fails once: an error, and nothing is lost or written to. */
static void test_memory(void **state)
{
    (void)state;
    trl_error err;
    trl_model *m = random_shared_model(3), *read;
    trl_matrix frames = random_frames(3, 5, m->dim), scores = {0};
    assert_int_equal(trl_model_write(m, temp_path("model"), &err), 0);
    int code = TRL_ENOMEM;
    for (long n = 1; code < 0; n++) {
        trl__memory_fail_after(n);
        code = trl_model_read(temp_path("model"), &read, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
    }
    code = TRL_ENOMEM;
    for (long n = 1; code < 0; n++) {
        trl__memory_fail_after(n);
        code = trl_likelihoods(read, NULL, &frames, &scores, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
    }
    trl_model_destroy(read);
    trl_model_destroy(m);
    trl_matrix_free(&frames);
    trl_matrix_free(&scores);
}

/* ---- What is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    trl_error err;
    trl_model *m = random_shared_model(5);
    trl__shared_mixtures *s = m->shared;
    trl_matrix frames = random_frames(5, 2, m->dim), scores = {0};
    trl_matrix_row(&frames, 1)[0] = NAN;
    assert_int_equal(trl_likelihoods(m, NULL, &frames, &scores, &err), TRL_ENUMBER);
    assert_non_null(strstr(err.text, "frame 1"));
    assert_int_equal(trl_model_limit_densities(m, s->densities + 1, 0, &err), TRL_EINVAL);
    assert_int_equal(trl_model_limit_densities(m, 0, -1, &err), TRL_EINVAL);
    assert_int_equal(trl_model_limit_densities(m, 1, 2, &err), 0);
    assert_int_equal(trl_model_write_htk(m, temp_path("x"), 0, &err), TRL_EUNSUPPORTED);
    assert_int_equal(trl_model_write_kaldi(m, temp_path("x"), 0, &err), TRL_EUNSUPPORTED);
    s->codebook[0] = s->codebooks;
    assert_int_equal(trl__model_finish(m, "name", &err), TRL_ECORRUPT);
    s->codebook[0] = 0;
    s->variance[0] = 0;
    assert_int_equal(trl__model_finish(m, "name", &err), TRL_ENUMBER);
    s->variance[0] = 1;
    s->log_weight[0] = 3;
    assert_int_equal(trl__model_finish(m, "name", &err), TRL_ENUMBER);
    trl_matrix_free(&frames);
    trl_matrix_free(&scores);
    trl_model_destroy(m);
    m = random_model(5);
    assert_int_equal(trl_model_limit_densities(m, 0, 0, &err), TRL_EINVAL);
    trl_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scores), cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_files), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
