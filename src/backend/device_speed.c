#include "backend/device_speed.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/random.h"

#include <time.h>

#define STATES 64
#define COMPONENTS_EACH 16
#define DIM 39

typedef struct task {
    trl_model model;
    trl_matrix frames;
    trl__row rows[STATES];
    float *scores;
} task;

static void free_task(task *t)
{
    trl__free(t->model.first_gaussian);
    trl__free(t->model.log_weight);
    trl__free(t->model.mean);
    trl__free(t->model.variance);
    trl__free(t->frames.data);
    trl__free(t->scores);
}

static int make_task(task *t, int32_t frames, trl_error *err)
{
    const size_t gaussians = (size_t)STATES * COMPONENTS_EACH, floats = gaussians * DIM;
    *t = (task){.model = {.dim = DIM, .tied_states = STATES},
                .frames = {.rows = (size_t)frames, .cols = DIM, .stride = DIM}};
    t->model.first_gaussian = trl__alloc(STATES + 1, sizeof(int32_t));
    t->model.log_weight = trl__alloc_zero(gaussians, sizeof(float));
    t->model.mean = trl__alloc(floats, sizeof(float));
    t->model.variance = trl__alloc(floats, sizeof(float));
    t->frames.data = trl__alloc((size_t)frames * DIM, sizeof(float));
    t->scores = trl__alloc_aligned((size_t)STATES * (size_t)frames + TRL__ROW_PAD, sizeof(float));
    if (!t->model.first_gaussian || !t->model.log_weight || !t->model.mean || !t->model.variance || !t->frames.data ||
        !t->scores)
        return trl__fail_memory(err);
    for (int32_t s = 0; s <= STATES; s++)
        t->model.first_gaussian[s] = s * COMPONENTS_EACH;
    for (int32_t s = 0; s < STATES; s++)
        t->rows[s] = (trl__row){s, 0, frames, (int64_t)s * frames};
    for (size_t i = 0; i < floats; i++) {
        t->model.mean[i] = trl__random_uniform(1, 0, i);
        t->model.variance[i] = 0.5f + trl__random_uniform(1, 1, i);
    }
    for (size_t i = 0; i < (size_t)frames * DIM; i++)
        t->frames.data[i] = trl__random_uniform(1, 2, i);
    return 0;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int score_once(trl__stream *stream, const trl__parameters *p, trl__search *s, trl_error *err)
{
    int code = trl__stream_frames(stream, p, s, 1, err);
    if (code == 0)
        code = trl__stream_score(stream, p, s, 1, err);
    return code < 0 ? code : trl__stream_wait(stream, err);
}

/* The first time, which may compile, does not count. */
static int measure(trl__device *device, task *t, double seconds, double *speed, trl_error *err)
{
    trl__stream *stream = NULL;
    trl__parameters *p = NULL;
    trl__search s = {.frames = &t->frames,
                     .end = (int32_t)t->frames.rows,
                     .combine = TRL__LOG_ADD,
                     .rows = STATES,
                     .row = t->rows,
                     .scores = t->scores,
                     .stays = 1};
    double flops = 4.0 * DIM * (double)t->frames.rows * STATES * COMPONENTS_EACH, start = 0, spent = 0;
    int times = 0;
    int code = trl__device_load_model(device, &t->model, NULL, &p, err);
    if (code == 0)
        code = trl__stream_create(device, &stream, err);
    if (code == 0)
        code = score_once(stream, p, &s, err);
    for (start = seconds_now(); code == 0 && spent < seconds; times++) {
        code = score_once(stream, p, &s, err);
        spent = seconds_now() - start;
    }
    *speed = code == 0 ? 1e-9 * flops * times / spent : 0;
    trl__stream_destroy(stream);
    trl__parameters_free(p);
    return code;
}

int trl__device_speed(trl__device *device, int32_t frames, double seconds, double *gflops, trl_error *err)
{
    task t;
    int code = make_task(&t, frames, err);
    *gflops = 0;
    if (code == 0)
        code = measure(device, &t, seconds, gflops, err);
    free_task(&t);
    return code;
}
