/* Every operation of the backend at every level of this machine and on OpenCL devices, against the reference. */
#include "cmocka_test.h"
#include "device_fixture.h"
#include "near_sums.h"
#include "search_fixture.h"

#include "backend/cpu/cpu_backend.h"
#include "base/cpu.h"

static const trl__gmm_kernel *kernels[5];
static size_t kernel_count;
static test_devices devices; /* the kernels', then OpenCL's */
static trl__device *reference;

static void find_kernels(void)
{
    kernels[kernel_count++] = &trl__gmm_scalar;
    kernels[kernel_count++] = &trl__gmm_base;
#if defined __aarch64__
    kernels[kernel_count++] = &trl__gmm_neon;
#endif
#if TRELLIS_SIMD
    if (trl__cpu_best() >= TRL__CPU_AVX2)
        kernels[kernel_count++] = &trl__gmm_avx2;
    if (trl__cpu_best() >= TRL__CPU_AVX512)
        kernels[kernel_count++] = &trl__gmm_avx512;
#endif
}

static void scores_are_the_references(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_count; i++)
        assert_int_equal(compare_kernel_with_reference(kernels[i], 300), 0);
}

/* Every stretch that begins in one piece of the frames and ends in the next: the best component is one that scores as well as any. */
static void stretches_reach_into_the_next_piece(void **state)
{
    (void)state;
    chance c = {7, 0};
    trl_model model = random_mixtures(&c, (mixture_kind){5, 3, 9, 2, 0, 0.5f}, 0);
    trl_matrix frames = random_frames(&c, &model, TRL__PIECE + TRL__TILE);
    for (size_t i = 0; i < kernel_count; i++) {
        kernel_run run;
        int32_t component[TRL__TILE + TRL__ROW_PAD];
        float score[TRL__TILE + TRL__ROW_PAD];
        assert_int_equal(start_run(&run, kernels[i], &model, &frames, 0), 0);
        for (int32_t first = TRL__PIECE - TRL__TILE + 1; first < TRL__PIECE; first++)
            for (int32_t tied = 0; tied < model.tied_states; tied++) {
                trl__gmm_work work = work_of(&run, tied, first, first + TRL__TILE);
                kernels[i]->best(&work, &(trl__gmm_best){component, score});
                for (int32_t t = first; t < first + TRL__TILE; t++) {
                    const float *frame = trl_matrix_row(&frames, (size_t)t);
                    double best = -INFINITY;
                    for (int32_t g = model.first_gaussian[tied]; g < model.first_gaussian[tied + 1]; g++)
                        best = fmax(best, exact_score(&model, g, frame));
                    double found = exact_score(&model, model.first_gaussian[tied] + component[t - first], frame);
                    assert_true(fabs(found - best) <= score_tolerance(best, 1e-4));
                    assert_true(fabs((double)score[t - first] - best) <= score_tolerance(best, 1e-4));
                }
            }
        end_run(&run);
    }
    free(frames.data);
    free_mixtures(&model);
}

/* ---- Whole searches ---- */

typedef struct outcome {
    trl__stats *viterbi, *shared, *baum_welch;
    double log_likelihood, joint, total;
    int found;
} outcome;

/* The path is the reference's (given), when there is one: where two paths are nearly equal, rounding decides. */
static outcome run_search(trl__device *device, random_search *r, const int32_t *path, const int32_t *path_arc)
{
    trl_error err;
    trl__search *s = &r->s;
    trl__stream *stream;
    trl__parameters *parameters;
    trl__local_stats *local;
    outcome o = {0};
    assert_int_equal(trl__stream_create(device, &stream, &err), 0);
    assert_int_equal(trl__device_load_model(device, &r->model, NULL, &parameters, &err), 0);
    assert_int_equal(trl__local_stats_create(&r->model, &local, &err), 0);
    assert_int_equal(trl__stats_create(&r->model, &o.viterbi, &err), 0);
    assert_int_equal(trl__stats_create(&r->model, &o.shared, &err), 0);
    assert_int_equal(trl__stats_create(&r->model, &o.baum_welch, &err), 0);
    assert_int_equal(trl__stream_frames(stream, parameters, s, 1, &err), 0);
    s->keep = 0;
    assert_int_equal(trl__stream_score(stream, parameters, s, 1, &err), 0);
    assert_int_equal(trl__stream_viterbi(stream, s, 1, &err), 0);
    assert_int_equal(trl__stream_wait(stream, &err), 0);
    o.found = s->last_node >= 0;
    o.log_likelihood = s->log_likelihood;
    if (o.found) {
        assert_int_equal(trl__stream_backtrack(stream, s, 1, &err), 0);
        if (path) {
            memcpy(s->path, path, r->frames.rows * sizeof *path);
            memcpy(s->path_arc, path_arc, r->frames.rows * sizeof *path_arc);
        }
        assert_int_equal(trl__stream_accumulate(stream, parameters, s, 1, local, &err), 0);
        o.joint = s->joint;
        trl__local_stats_zero(local);
        s->keep = 1; /* once more: now the best components are kept by `score` */
        assert_int_equal(trl__stream_score(stream, parameters, s, 1, &err), 0);
        assert_int_equal(trl__stream_accumulate(stream, parameters, s, 1, local, &err), 0);
        assert_true(s->joint == o.joint);
        trl__stats_merge(o.viterbi, local);
        trl__local_stats_zero(local);
        s->shares = 1;
        assert_int_equal(trl__stream_accumulate(stream, parameters, s, 1, local, &err), 0);
        s->shares = 0;
        trl__stats_merge(o.shared, local);
        trl__local_stats_zero(local);
    }
    assert_int_equal(trl__stream_forward_backward(stream, s, 1, &err), 0);
    o.total = s->total;
    assert_int_equal(o.total > -INFINITY, o.found);
    if (o.found) {
        assert_int_equal(trl__stream_accumulate_soft(stream, parameters, s, 1, local, &err), 0);
        trl__stats_merge(o.baum_welch, local);
    }
    assert_int_equal(trl__stream_wait(stream, &err), 0);
    trl__local_stats_destroy(local);
    trl__parameters_free(parameters);
    trl__stream_destroy(stream);
    return o;
}

static void assert_same_statistics(const trl__stats *a, const trl__stats *b, double tolerance)
{
    assert_near_sums(a, b, tolerance);
    assert_true(a->totals.frames == b->totals.frames && a->totals.utterances == b->totals.utterances);
    assert_near(&a->totals.log_likelihood, &b->totals.log_likelihood, 1, 1e-6, "total");
    assert_near(&a->totals.joint, &b->totals.joint, 1, 1e-6, "joint total");
}

static void free_outcome(outcome *o)
{
    trl__stats_destroy(o->viterbi);
    trl__stats_destroy(o->shared);
    trl__stats_destroy(o->baum_welch);
}

/* The components of a state must lie well apart, so that rounding never decides which one is best. */
static void check_search(uint64_t seed)
{
    chance c = {seed, 1u << 30};
    mixture_kind kind = {
        1 + pick(&c, 40), 1 + pick(&c, 5), 1 + pick(&c, pick(&c, 3) ? 6 : 40), 2, pick(&c, 2) ? 0 : 5, 0.5f};
    int frames = 1 + pick(&c, seed % 100 == 0 ? 3 * TRL__PIECE : 100);
    random_search *r = random_search_make(seed, (graph_kind)pick(&c, GRAPH_KINDS), 1 + pick(&c, 20), frames, kind);
    r->s.combine = pick(&c, 2) ? TRL__MAX : TRL__LOG_ADD;
    float sample[5];
    for (int j = 0; j < 5; j++)
        sample[j] = pick(&c, 3) ? between(&c, 0, 1) : 1;
    r->s.sample = pick(&c, 2) ? sample : NULL;
    r->s.sample_seed = seed;
    r->s.stays = pick(&c, 2);
    outcome expected = run_search(reference, r, NULL, NULL);
    size_t bytes = r->frames.rows * sizeof(int32_t);
    int32_t *path = malloc(bytes), *path_arc = malloc(bytes);
    memcpy(path, r->s.path, bytes);
    memcpy(path_arc, r->s.path_arc, bytes);
    size_t count = seed % 7 == 0 || frames > 100 ? devices.count : devices.processors;
    for (size_t i = 0; i < count; i++) {
        outcome got = run_search(devices.device[i], r, expected.found ? path : NULL, path_arc);
        assert_int_equal(got.found, expected.found);
        if (expected.found) {
            assert_near(&got.log_likelihood, &expected.log_likelihood, 1, 1e-6, "log-likelihood");
            assert_near(&got.total, &expected.total, 1, 1e-6, "sum of all paths");
            assert_near(&got.joint, &expected.joint, 1, 1e-6, "joint");
            assert_same_statistics(got.viterbi, expected.viterbi, 1e-12);
            assert_same_statistics(got.shared, expected.shared, 1e-4);
            assert_same_statistics(got.baum_welch, expected.baum_welch, 1e-4);
        }
        free_outcome(&got);
    }
    free(path);
    free(path_arc);
    free_outcome(&expected);
    random_search_free(r);
}

static void searches_are_the_references(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < RANDOM_CASES(1000); seed++)
        check_search(seed);
}

static int open_all(void **state)
{
    (void)state;
    if (trl__cpu_open(&trl__gmm_ref, &reference, NULL) < 0)
        return -1;
    for (; devices.count < kernel_count; devices.count++)
        if (trl__cpu_open(kernels[devices.count], &devices.device[devices.count], NULL) < 0)
            return -1;
    open_devices_of_drivers(&devices);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    trl__device_close(reference);
    close_devices_of_test(&devices);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_the_references),
        cmocka_unit_test(stretches_reach_into_the_next_piece),
        cmocka_unit_test(searches_are_the_references),
    };
    find_kernels();
    return cmocka_run_group_tests(tests, open_all, close_all);
}
