/* The backend's manners: devices by name, buffers, what is refused and how it is said, memory that runs out. */
#include "cmocka_test.h"
#include "search_fixture.h"

#include "backend/cpu/cpu_backend.h"
#include "base/cpu.h"

static trl_error err;

static void assert_says(int code, int expected, const char *part)
{
    assert_int_equal(code, expected);
    if (!strstr(err.text, part))
        fail_msg("no \"%s\" in: %s", part, err.text);
}

static void devices_have_names(void **state)
{
    (void)state;
    trl__device *device;
    const char *const levels[] = {"ref", "scalar", trl__cpu_level_name(TRL__CPU_BASE)};
    for (size_t i = 0; i < 3; i++) {
        char name[40];
        snprintf(name, sizeof name, "cpu:%s", levels[i]);
        assert_int_equal(trl__device_open(name, &device, &err), 0);
        assert_string_equal(device->info.backend, "cpu");
        assert_string_equal(device->info.level, levels[i]);
        assert_true(device->info.batch >= 1 && device->info.name[0] != '\0');
        trl__device_close(device);
    }
    unsetenv("TRELLIS_CPU");
    assert_int_equal(trl__device_open("cpu", &device, &err), 0);
    assert_string_equal(device->info.level, trl__cpu_level_name(trl__cpu_best()));
    trl__device_close(device);
    setenv("TRELLIS_CPU", "ref", 1);
    assert_int_equal(trl__device_open("cpu", &device, &err), 0);
    assert_string_equal(device->info.level, "ref");
    trl__device_close(device);
    unsetenv("TRELLIS_CPU");
    trl__device_close(NULL);
}

static void unknown_devices_are_refused(void **state)
{
    (void)state;
    trl__device *device;
    assert_says(trl__device_open("gpu", &device, &err), TRL_EINVAL, "cpu");
    assert_null(device);
    assert_says(trl__device_open("cpu:sse9", &device, &err), TRL_EINVAL, "cpu:ref");
    assert_says(trl__device_open("cp", &device, &err), TRL_EINVAL, "\"cp\"");
}

static void buffers_keep_bytes(void **state)
{
    (void)state;
    trl__device *device;
    trl__stream *stream;
    trl__buffer *buffer;
    char bytes[8] = "";
    assert_int_equal(trl__device_open("cpu", &device, &err), 0);
    assert_int_equal(trl__stream_create(device, &stream, &err), 0);
    assert_int_equal(trl__buffer_create(device, 10, &buffer, &err), 0);
    assert_int_equal(trl__stream_upload(stream, buffer, 2, "12345678", 8, &err), 0);
    assert_int_equal(trl__stream_download(stream, buffer, 3, bytes, 5, &err), 0);
    assert_int_equal(trl__stream_wait(stream, &err), 0);
    assert_string_equal(bytes, "23456");
    assert_says(trl__stream_upload(stream, buffer, 3, "12345678", 8, &err), TRL_EINVAL, "buffer of 10");
    assert_says(trl__stream_download(stream, buffer, 11, bytes, 0, &err), TRL_EINVAL, "buffer of 10");
    assert_says(trl__stream_download(stream, buffer, 1, bytes, SIZE_MAX, &err), TRL_EINVAL, "buffer of 10");
    trl__buffer_destroy(buffer);
    trl__buffer_destroy(NULL);
    trl__stream_destroy(stream);
    trl__stream_destroy(NULL);
    trl__device_close(device);
}

/* ---- What is refused ---- */

typedef struct setting {
    random_search *r;
    trl__device *device;
    trl__stream *stream;
    trl__parameters *parameters;
    trl__local_stats *local;
} setting;

static void make_setting(setting *x)
{
    x->r = random_search_make(6, GRAPH_ERGODIC, 3, 40, (mixture_kind){5, 2, 6, 1, 0, 1});
    for (int n = 0; n < 3; n++)
        assert_true(x->r->node_first[n] < x->r->node_end[n]);
    assert_int_equal(trl__device_open("cpu", &x->device, &err), 0);
    assert_int_equal(trl__stream_create(x->device, &x->stream, &err), 0);
    assert_int_equal(trl__device_load_model(x->device, &x->r->model, NULL, &x->parameters, &err), 0);
    assert_int_equal(trl__local_stats_create(&x->r->model, &x->local, &err), 0);
}

static void free_setting(setting *x)
{
    trl__local_stats_destroy(x->local);
    trl__parameters_free(x->parameters);
    trl__parameters_free(NULL);
    trl__stream_destroy(x->stream);
    trl__device_close(x->device);
    random_search_free(x->r);
}

static void models_with_unfit_numbers_are_refused(void **state)
{
    (void)state;
    setting x;
    make_setting(&x);
    trl__parameters *parameters;
    trl_model *model = &x.r->model;
    const float values[] = {0, -1, NAN, INFINITY, 1e-30f}, means[] = {NAN, INFINITY, -INFINITY, 1e20f};
    size_t place = (size_t)model->first_gaussian[1] * 5 + 3; /* tied state 1, component 0, dimension 3 */
    for (size_t i = 0; i < 5; i++) {
        float old = model->variance[place];
        model->variance[place] = values[i];
        assert_says(trl__device_load_model(x.device, model, NULL, &parameters, &err), TRL_ENUMBER,
                    "tied state 1, component 0: variance");
        assert_null(parameters);
        model->variance[place] = old;
    }
    for (size_t i = 0; i < 4; i++) {
        float old = model->mean[place];
        model->mean[place] = means[i];
        assert_says(trl__device_load_model(x.device, model, NULL, &parameters, &err), TRL_ENUMBER, "in dimension 3");
        model->mean[place] = old;
    }
    model->log_weight[1] = NAN;
    assert_says(trl__device_load_model(x.device, model, NULL, &parameters, &err), TRL_ENUMBER, "weight");
    model->log_weight[1] = -INFINITY; /* a component that is never used */
    assert_int_equal(trl__device_load_model(x.device, model, NULL, &parameters, &err), 0);
    trl__parameters_free(parameters);
    free_setting(&x);
}

static void frames_with_unfit_numbers_are_refused(void **state)
{
    (void)state;
    setting x;
    make_setting(&x);
    const float values[] = {NAN, -NAN, INFINITY, -INFINITY, 1e12f};
    float *place = &x.r->frames.data[7 * x.r->frames.stride + 4], old = *place;
    for (size_t i = 0; i < 5; i++) {
        *place = values[i];
        assert_says(trl__stream_frames(x.stream, x.parameters, &x.r->s, 1, &err), TRL_ENUMBER, "frame 7, column 4");
    }
    *place = old;
    x.r->frames.cols = 4;
    assert_says(trl__stream_frames(x.stream, x.parameters, &x.r->s, 1, &err), TRL_EINVAL, "4 columns, the model 5");
    x.r->frames.cols = 5;
    assert_int_equal(trl__stream_frames(x.stream, x.parameters, &x.r->s, 1, &err), 0);
    free_setting(&x);
}

static void steps_want_what_goes_before(void **state)
{
    (void)state;
    setting x;
    make_setting(&x);
    trl__search *s = &x.r->s;
    assert_says(trl__stream_score(x.stream, x.parameters, s, 1, &err), TRL_EINVAL, "not given to the stream");
    assert_says(trl__stream_accumulate(x.stream, x.parameters, s, 1, x.local, &err), TRL_EINVAL, "not given");
    assert_int_equal(trl__stream_frames(x.stream, x.parameters, s, 1, &err), 0);
    x.r->row[0].tied = 2;
    assert_says(trl__stream_score(x.stream, x.parameters, s, 1, &err), TRL_EINVAL, "row 0: tied state 2 of 2");
    x.r->row[0].tied = 0;
    x.r->row[0].end = 41;
    assert_says(trl__stream_score(x.stream, x.parameters, s, 1, &err), TRL_EINVAL, "row 0");
    x.r->row[0].end = 40;
    assert_int_equal(trl__stream_score(x.stream, x.parameters, s, 1, &err), 0);
    s->end = 39;
    assert_says(trl__stream_forward_backward(x.stream, s, 1, &err), TRL_EINVAL, "whole utterance");
    s->end = 40;
    s->last_node = 0;
    int32_t first = x.r->node_first[0];
    x.r->node_first[0] = x.r->node_end[0];
    assert_says(trl__stream_backtrack(x.stream, s, 1, &err), TRL_EINVAL, "node 0 at frame 39");
    x.r->node_first[0] = first;
    free_setting(&x);
}

/* ---- Step 3 ---- */

static void align(setting *x)
{
    trl__search *s = &x->r->s;
    assert_int_equal(trl__stream_frames(x->stream, x->parameters, s, 1, &err), 0);
    assert_int_equal(trl__stream_score(x->stream, x->parameters, s, 1, &err), 0);
    assert_int_equal(trl__stream_viterbi(x->stream, s, 1, &err), 0);
    assert_true(s->last_node >= 0);
    assert_int_equal(trl__stream_backtrack(x->stream, s, 1, &err), 0);
}

/* The best component of a frame by definition; its score is added to *joint. */
static int32_t best_gaussian(const trl_model *model, int32_t tied, const float *frame, double *joint)
{
    int32_t best = model->first_gaussian[tied];
    for (int32_t g = best; g < model->first_gaussian[tied + 1]; g++)
        if (exact_score(model, g, frame) > exact_score(model, best, frame))
            best = g;
    *joint += exact_score(model, best, frame);
    return best;
}

static void statistics_are_those_of_the_path(void **state)
{
    (void)state;
    setting x;
    make_setting(&x);
    align(&x);
    trl__search *s = &x.r->s;
    assert_int_equal(trl__stream_accumulate(x.stream, x.parameters, s, 1, x.local, &err), 0);
    double transitions[10] = {0}, counts[20] = {0}, sums[20] = {0}, joint = 0;
    for (int32_t t = 0; t < s->end; t++) {
        const float *frame = trl_matrix_row(&x.r->frames, (size_t)t);
        int32_t g = best_gaussian(&x.r->model, x.r->tied[s->path[t]], frame, &joint);
        counts[g]++;
        sums[g] += (double)frame[2];
        joint += (double)s->arc_weight[s->path_arc[t]];
        transitions[s->arc_transition[s->path_arc[t]]]++;
    }
    joint += (double)s->arc_weight[s->last_arc];
    transitions[s->arc_transition[s->last_arc]]++;
    transitions[0] = 0;
    for (int id = 0; id < 10; id++)
        assert_true(x.local->transition[id] == transitions[id]);
    for (int32_t g = 0; g < x.r->model.first_gaussian[2]; g++) {
        const double *slot = x.local->slot_of[g] < 0 ? NULL : x.local->slots + (size_t)x.local->slot_of[g] * 11;
        assert_true((slot ? slot[0] : 0) == counts[g]);
        assert_true(fabs((slot ? slot[1 + 2] : 0) - sums[g]) < 1e-9);
    }
    assert_true(fabs(s->joint - joint) < 1e-3 && fabs(x.local->totals.joint - joint) < 1e-3);
    assert_true(x.local->totals.frames == 40 && x.local->totals.utterances == 1);
    assert_true(x.local->totals.log_likelihood == s->log_likelihood);
    free_setting(&x);
}

/* What step 1 kept is only for the rows it was kept for; a path that comes from elsewhere may have others. */
static void other_rows_do_not_mislead(void **state)
{
    (void)state;
    setting x;
    make_setting(&x);
    trl__search *s = &x.r->s;
    const int32_t none[3] = {0}, far[3] = {99, -1, 1000000}, *const others[] = {none, far, NULL};
    align(&x);
    assert_int_equal(trl__stream_accumulate(x.stream, x.parameters, s, 1, x.local, &err), 0);
    double joint = s->joint;
    align(&x); /* keeps now */
    for (int i = 0; i < 3; i++) {
        s->node_row = others[i];
        assert_int_equal(trl__stream_accumulate(x.stream, x.parameters, s, 1, x.local, &err), 0);
        assert_true(s->joint == joint);
    }
    s->node_row = x.r->node_row;
    free_setting(&x);
}

/* ---- Numbers at the edge ---- */

/* Weights of zero, and frames as far away as they may be: scores stay finite, and the best component is one that there
 * is. */
static void extremes_stay_finite(void **state)
{
    (void)state;
    for (int dim = 1; dim < 300; dim = dim * 3 + 1) {
        chance c = {77, 0};
        trl_model model = random_mixtures(&c, (mixture_kind){dim, 1, 1, 1, 0, (float)TRL__LEAST_VARIANCE}, 0);
        trl_matrix frames = random_frames(&c, &model, 30);
        model.log_weight[0] = -INFINITY;
        for (size_t i = 0; i < frames.rows * frames.stride; i++)
            frames.data[i] = i % 3 ? (float)TRL__MOST_VALUE : -(float)TRL__MOST_VALUE;
        kernel_run run;
        float scores[64], best[64];
        int32_t component[64];
        const trl__gmm_kernel *kernels[] = {&trl__gmm_ref, &trl__gmm_scalar, &trl__gmm_base};
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(start_run(&run, kernels[k], &model, &frames, 0), 0);
            trl__gmm_work work = work_of(&run, 0, 0, 30);
            kernels[k]->score(&work, TRL__LOG_ADD, scores, &(trl__gmm_best){component, best});
            for (int t = 0; t < 30; t++) {
                assert_true(isfinite(scores[t]) && scores[t] < -1e29f);
                assert_int_equal(component[t], 0);
            }
            end_run(&run);
        }
        free(frames.data);
        free_mixtures(&model);
    }
}

/* Mixtures of any shape side by side, the differences flagged where they are needed and only there. */
static void tiny_variances_are_noticed(void **state)
{
    (void)state;
    chance c = {3, 0};
    trl_model model = random_mixtures(&c, (mixture_kind){20, 3, 4, 1, 0, 1}, 0);
    for (int i = model.first_gaussian[1] * 20; i < model.first_gaussian[2] * 20; i++)
        model.variance[i] = 1e-5f;
    trl__mixtures m;
    assert_int_equal(trl__mixtures_pack(&m, &model, &trl__gmm_base, NULL, &err), 0);
    assert_true(!m.differences[0] && m.differences[1] && !m.differences[2] && m.any_differences);
    trl__mixtures_free(&m);
    free_mixtures(&model);
}

/* The centre is the mean of all means; any number of threads packs the same bytes, and finds the first fault. */
static void threads_share_the_packing(void **state)
{
    (void)state;
    chance c = {4, 0};
    trl_model model = random_mixtures(&c, (mixture_kind){7, 500, 6, 1, 3, 1}, 0);
    size_t gaussians = (size_t)model.first_gaussian[500];
    for (int i = model.first_gaussian[400] * 7; i < model.first_gaussian[401] * 7; i++)
        model.variance[i] = 1e-5f;
    trl_pool *pool;
    trl__mixtures one, many;
    assert_int_equal(trl_pool_create(5, &pool, &err), 0);
    assert_int_equal(trl__mixtures_pack(&one, &model, &trl__gmm_base, NULL, &err), 0);
    assert_int_equal(trl__mixtures_pack(&many, &model, &trl__gmm_base, pool, &err), 0);
    for (size_t k = 0; k < 7; k++) {
        double mean = 0;
        for (size_t g = 0; g < gaussians; g++)
            mean += (double)model.mean[g * 7 + k] / (double)gaussians;
        assert_true(fabs((double)one.centre[k] - mean) <= 1e-6 * fabs(mean));
    }
    assert_memory_equal(one.centre, many.centre, 7 * sizeof(float));
    for (int32_t t = 0; t < 500; t++) {
        size_t groups = (size_t)(trl__components(&one, t) + one.group - 1) / (size_t)one.group;
        assert_memory_equal(one.packed + one.at[t], many.packed + many.at[t],
                            groups * trl__group_size(&one) * sizeof(float));
    }
    assert_memory_equal(one.differences, many.differences, 500);
    assert_true(many.differences[400] && many.any_differences);
    model.variance[(size_t)model.first_gaussian[450] * 7] = NAN;
    model.variance[(size_t)model.first_gaussian[130] * 7] = NAN;
    trl__mixtures none;
    assert_says(trl__mixtures_pack(&none, &model, &trl__gmm_base, pool, &err), TRL_ENUMBER, "tied state 130,");
    trl_pool_destroy(pool);
    trl__mixtures_free(&one);
    trl__mixtures_free(&many);
    free_mixtures(&model);
}

/* ---- Memory ---- */

static int do_everything(const char *name, random_search *r)
{
    trl__device *device = NULL;
    trl__stream *stream = NULL;
    trl__parameters *parameters = NULL;
    trl__local_stats *local = NULL;
    trl__buffer *buffer = NULL;
    int code = trl__device_open(name, &device, &err);
    code = code ? code : trl__stream_create(device, &stream, &err);
    code = code ? code : trl__buffer_create(device, 100, &buffer, &err);
    code = code ? code : trl__device_load_model(device, &r->model, NULL, &parameters, &err);
    code = code ? code : trl__local_stats_create(&r->model, &local, &err);
    for (int i = 0; i < 2; i++) {
        code = code ? code : trl__stream_frames(stream, parameters, &r->s, 1, &err);
        code = code ? code : trl__stream_score(stream, parameters, &r->s, 1, &err);
        code = code ? code : trl__stream_viterbi(stream, &r->s, 1, &err);
        code = code ? code : trl__stream_backtrack(stream, &r->s, 1, &err);
        code = code ? code : trl__stream_accumulate(stream, parameters, &r->s, 1, local, &err);
        code = code ? code : trl__stream_forward_backward(stream, &r->s, 1, &err);
        code = code ? code : trl__stream_accumulate_soft(stream, parameters, &r->s, 1, local, &err);
    }
    trl__local_stats_destroy(local);
    trl__parameters_free(parameters);
    trl__buffer_destroy(buffer);
    trl__stream_destroy(stream);
    trl__device_close(device);
    return code;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    const char *const names[] = {"cpu:ref", "cpu:scalar", "cpu"};
    for (size_t i = 0; i < 3; i++) {
        random_search *r = random_search_make(6, GRAPH_ERGODIC, 3, 40, (mixture_kind){5, 2, 6, 1, 0, 1});
        int code = TRL_ENOMEM;
        long n = 1;
        for (; code != 0 && n < 1000; n++) {
            trl__memory_fail_after(n);
            code = do_everything(names[i], r);
            trl__memory_fail_after(0);
            if (code != 0)
                assert_int_equal(code, TRL_ENOMEM);
        }
        assert_int_equal(code, 0);
        assert_true(n > 15);
        random_search_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_names),
        cmocka_unit_test(unknown_devices_are_refused),
        cmocka_unit_test(buffers_keep_bytes),
        cmocka_unit_test(models_with_unfit_numbers_are_refused),
        cmocka_unit_test(frames_with_unfit_numbers_are_refused),
        cmocka_unit_test(steps_want_what_goes_before),
        cmocka_unit_test(statistics_are_those_of_the_path),
        cmocka_unit_test(other_rows_do_not_mislead),
        cmocka_unit_test(extremes_stay_finite),
        cmocka_unit_test(tiny_variances_are_noticed),
        cmocka_unit_test(threads_share_the_packing),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return RUN(tests);
}
