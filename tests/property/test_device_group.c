/* Several devices as one, and a device that fails in mid-run with the processor in reserve: whatever call of the driver fails first, what comes
 * out is what the processor alone would have made, and nothing is counted twice. */
#include "batch_outcome.h"
#include "cmocka_test.h"
#include "device_fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <trellis/log.h>

static void (*lose)(long calls, int status); /* of the fake libcuda */
static int warnings;

enum { OUT_OF_MEMORY = 2, UNAVAILABLE = 46 };

static void count_warnings(void *user, trl_log_level level, const char *text)
{
    (void)user;
    warnings += level == TRL_LOG_WARNING && strstr(text, "The processor does the rest") != NULL;
}

static int set_up(void **state)
{
    (void)state;
    const char *fake = getenv("TRELLIS_FAKE_CUDA");
    void *library = fake && fake[0] ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "fake_cuda_lose") : NULL;
    memcpy(&lose, &symbol, sizeof symbol);
    trl_log_set(TRL_LOG_WARNING, count_warnings, NULL);
    return 0;
}

static void make_searches(random_search **r)
{
    const int lengths[MOST] = {1, 9, 2, 3, 40, 5, 7, 35, 6};
    for (size_t i = 0; i < MOST; i++) {
        r[i] = make_search(900 + i, lengths[i], (mixture_kind){13, 4, 7, 2, 0, 0.5f});
        r[i]->s.stays = 1;
        r[i]->s.shares = 1;
    }
}

static void free_searches(random_search **r)
{
    for (size_t i = 0; i < MOST; i++)
        random_search_free(r[i]);
}

/* Nothing of an earlier run is left that a later one could rest on. */
static void wipe(random_search **r)
{
    for (size_t i = 0; i < MOST; i++) {
        trl__search *s = &r[i]->s;
        for (int32_t k = 0; k < s->rows; k++)
            for (int32_t t = 0; t < s->row[k].end - s->row[k].first; t++)
                s->scores[s->row[k].offset + t] = NAN;
        for (int32_t n = 0; n < s->nodes; n++)
            memset(s->back + s->back_offset[n] / 8, 0xff, (size_t)(s->end * s->back_bits + 7) / 8);
    }
}

static void assert_same_outcome(const outcome *got, const outcome *expected, random_search **r)
{
    assert_near(got->log_likelihood, expected->log_likelihood, MOST, 1e-6, "log-likelihood");
    assert_near(got->total, expected->total, MOST, 1e-6, "sum of paths");
    for (size_t i = 0; i < MOST; i++)
        assert_memory_equal(got->path_node[i], expected->path_node[i], (size_t)r[i]->s.end * sizeof(int32_t));
    assert_near_sums(got->path, expected->path, 1e-3);
    assert_near_sums(got->all, expected->all, 1e-3);
}

static void run_on(const char *name, random_search **r, size_t at_once, outcome *o)
{
    trl__device *device;
    CHECK(trl__device_open(name, &device, &err));
    run_batch(device, r, MOST, at_once, o);
    trl__device_close(device);
}

static void a_lost_device_loses_nothing(void **state)
{
    (void)state;
    static outcome expected, got;
    random_search *r[MOST];
    const int statuses[] = {UNAVAILABLE, OUT_OF_MEMORY};
    if (!lose)
        skip();
    make_searches(r);
    run_on("cpu:ref", r, 1, &expected);
    for (size_t i = 0; i < 2; i++) {
        warnings = 1;
        for (long calls = 1; warnings > 0;
             calls += 1 + calls / (WITH_DRIVERS ? 20 : 4)) { /* until it is not called so often */
            trl__device *device;
            CHECK(trl__device_open("auto", &device, &err));
            assert_string_equal(device->info.backend, "cuda");
            warnings = 0;
            wipe(r);
            lose(calls, statuses[i]);
            /* Out of memory with several, the caller is asked to try fewer. */
            run_batch(device, r, MOST, statuses[i] == OUT_OF_MEMORY ? 1 : MOST / 2, &got);
            lose(-1, UNAVAILABLE);
            trl__device_close(device);
            assert_true(warnings <= 1);
            assert_same_outcome(&got, &expected, r);
            free_outcome(&got);
        }
    }
    free_outcome(&expected);
    free_searches(r);
}

static void without_auto_the_failure_is_told(void **state)
{
    (void)state;
    random_search *r[MOST];
    trl__device *device;
    trl__stream *stream;
    trl__parameters *p;
    if (!lose)
        skip();
    make_searches(r);
    const char *const names[] = {"cuda:1", "cuda:1,cpu"};
    for (size_t i = 0; i < 2; i++) {
        CHECK(trl__device_open(names[i], &device, &err));
        CHECK(trl__device_load_model(device, &r[0]->model, NULL, &p, &err));
        CHECK(trl__stream_create(device, &stream, &err));
        lose(1, UNAVAILABLE);
        int code = trl__stream_frames(stream, p, &r[0]->s, 1, &err);
        lose(-1, UNAVAILABLE);
        assert_int_equal(code, TRL_EDEVICE);
        assert_non_null(strstr(err.text, "the device is lost"));
        assert_true(i == 0 || strstr(err.text, "fake device 1"));
        trl__stream_destroy(stream);
        trl__parameters_free(p);
        trl__device_close(device);
    }
    free_searches(r);
}

/* Streams go to the members by turns, and each computes what it would alone. */
static void members_take_turns(void **state)
{
    (void)state;
    static outcome expected, got;
    random_search *r[MOST];
    char name[64] = "cpu,cpu:ref";
    if (lose)
        strcat(name, ",cuda:0,cuda:1");
    if (WITH_DRIVERS)
        strcat(name, ",opencl:0:cpu");
    make_searches(r);
    run_on("cpu:ref", r, 1, &expected);
    trl__device *device;
    CHECK(trl__device_open(name, &device, &err));
    for (int32_t i = 0; i < 2 * device->info.streams; i++) {
        run_batch(device, r, MOST, i % 2 ? MOST : 1, &got);
        assert_same_outcome(&got, &expected, r);
        free_outcome(&got);
    }
    trl__stream *first, *second;
    CHECK(trl__stream_create(device, &first, &err));
    CHECK(trl__stream_create(device, &second, &err));
    assert_string_not_equal(trl__stream_info(first)->level, trl__stream_info(second)->level);
    assert_int_equal(trl__device_check_threads(device, device->info.streams - 1, &err), TRL_EINVAL);
    assert_int_equal(trl__device_check_threads(device, device->info.streams, &err), 0);
    trl__stream_destroy(first);
    trl__stream_destroy(second);
    trl__device_close(device);
    free_outcome(&expected);
    free_searches(r);
}

static void wrong_lists_are_explained(void **state)
{
    (void)state;
    trl__device *device;
    const char *const wrong[] = {
        "cpu,", ",cpu", "cpu,,cpu", "cpu,auto", "cpu,gpu", "cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu", "cpu,cpu:"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err.text[0] = '\0';
        assert_true(trl__device_open(wrong[i], &device, &err) < 0);
        assert_null(device);
        assert_true(strlen(err.text) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_device_loses_nothing),
        cmocka_unit_test(without_auto_the_failure_is_told),
        cmocka_unit_test(members_take_turns),
        cmocka_unit_test(wrong_lists_are_explained),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
