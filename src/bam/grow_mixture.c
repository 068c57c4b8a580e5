#include "bam/grow_mixture.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/ordered.h"
#include "model/estimate.h"

#include <math.h>
#include <string.h>

#define CHUNK 4096 /* frames whose sums are gathered at a time */

/* A search of one state, in which every frame is with certainty: so the device's step 3 gathers what a mixture needs. */
typedef struct chunk_work {
    trl__stream *stream;
    trl_matrix frames;
    float *gamma; /* all one: of a chunk */
} chunk_work;

struct trl__grower {
    const trl_bam_options *options;
    trl_pool *pool;
    trl__device *device;
    trl_model *model;
    trl__stats *stats;
    int workers, window;
    chunk_work *work;         /* by worker */
    trl__local_stats **local; /* by place of the window */

    /* of the iteration at hand */
    const trl__reservoir *sample;
    trl__parameters *parameters;
};

int trl__grower_create(int32_t dim, const trl_bam_options *options, trl_pool *pool, trl__grower **out, trl_error *err)
{
    trl__grower *g = trl__alloc_zero(1, sizeof *g);
    *out = NULL;
    if (!g)
        return trl__fail_memory(err);
    g->options = options;
    g->pool = pool;
    g->workers = pool ? trl_pool_threads(pool) : 1;
    g->window = 2 * g->workers;
    g->work = trl__alloc_zero((size_t)g->workers, sizeof *g->work);
    g->local = trl__alloc_zero((size_t)g->window, sizeof *g->local);
    int code = g->work && g->local ? trl__device_open("cpu", &g->device, err) : trl__fail_memory(err);
    if (code == 0)
        code = trl__model_new(dim, &g->model, err);
    for (int i = 0; code == 0 && i < g->workers; i++) {
        g->work[i].gamma = trl__alloc(CHUNK, sizeof *g->work[i].gamma);
        for (size_t t = 0; g->work[i].gamma && t < CHUNK; t++)
            g->work[i].gamma[t] = 1;
        code =
            g->work[i].gamma ? trl_matrix_resize(&g->work[i].frames, CHUNK, (size_t)dim, err) : trl__fail_memory(err);
        if (code == 0)
            code = trl__stream_create(g->device, &g->work[i].stream, err);
    }
    if (code < 0)
        trl__grower_destroy(g);
    else
        *out = g;
    return code;
}

static void free_statistics(trl__grower *g)
{
    for (int i = 0; g->local && i < g->window; i++) {
        trl__local_stats_destroy(g->local[i]);
        g->local[i] = NULL;
    }
    trl__stats_destroy(g->stats);
    g->stats = NULL;
}

void trl__grower_destroy(trl__grower *g)
{
    if (!g)
        return;
    for (int i = 0; g->work && i < g->workers; i++) {
        trl__stream_destroy(g->work[i].stream);
        trl_matrix_free(&g->work[i].frames);
        trl__free(g->work[i].gamma);
    }
    free_statistics(g);
    trl__free(g->work);
    trl__free(g->local);
    trl_model_destroy(g->model);
    trl__device_close(g->device);
    trl__free(g);
}

/* ---- an iteration ---- */

static size_t chunks(const trl__grower *g)
{
    return (g->sample->count + CHUNK - 1) / CHUNK;
}

static int gather_chunk(void *user, size_t item, size_t slot, int worker, trl_error *err)
{
    const trl__grower *g = user;
    chunk_work *w = &g->work[worker];
    static const int32_t zero[3] = {0};
    static const int64_t start[1] = {0};
    size_t first = item * CHUNK, count = g->sample->count - first < CHUNK ? g->sample->count - first : CHUNK;
    for (size_t i = 0; i < count; i++)
        memcpy(w->frames.data + i * g->sample->dim, trl__reservoir_frame(g->sample, first + i),
               g->sample->dim * sizeof *w->frames.data);
    w->frames.rows = count;
    int32_t end = (int32_t)count;
    double no_arcs[1];
    const trl__row row = {.end = end};
    trl__search search = {.frames = &w->frames,
                          .end = end,
                          .combine = TRL__LOG_ADD,
                          .rows = 1,
                          .row = &row,
                          .nodes = 1,
                          .node_end = 1,
                          .node_tied = zero,
                          .node_row = zero,
                          .node_first = zero,
                          .node_end_frame = &end,
                          .arc_first = zero,
                          .arc_from = zero,
                          .arc_transition = zero,
                          .gamma = w->gamma,
                          .gamma_offset = start,
                          .arc_count = no_arcs};
    trl__local_stats_zero(g->local[slot]);
    int code = trl__stream_frames(w->stream, g->parameters, &search, 1, err);
    if (code == 0)
        code = trl__stream_accumulate_soft(w->stream, g->parameters, &search, 1, g->local[slot], err);
    return code < 0 ? code : trl__stream_wait(w->stream, err);
}

static int add_chunk(void *user, size_t item, size_t slot, trl_error *err)
{
    trl__grower *g = user;
    (void)item, (void)err;
    trl__stats_merge(g->stats, g->local[slot]);
    return 0;
}

/* Statistics for as many Gaussians as there are now. */
static int make_statistics(trl__grower *g, trl_error *err)
{
    if (g->stats && g->stats->gaussians == trl_model_gaussians(g->model)) {
        trl__stats_zero(g->stats);
        return 0;
    }
    free_statistics(g);
    int code = trl__stats_create(g->model, &g->stats, err);
    for (int i = 0; code == 0 && i < g->window; i++)
        code = trl__local_stats_create(g->model, &g->local[i], err);
    return code;
}

static int iterate(trl__grower *g, trl_error *err)
{
    const trl__estimate_options estimate = {
        .least_count = 3, .least_variance = g->options->variance_floor, .least_probability = 0.01};
    const trl__ordered_work work = {
        .count = chunks(g), .window = (size_t)g->window, .produce = gather_chunk, .consume = add_chunk, .user = g};
    trl__estimate_result result;
    int code = make_statistics(g, err);
    if (code == 0)
        code = trl__device_load_model(g->device, g->model, NULL, &g->parameters, err);
    if (code < 0)
        return code;
    code = trl__ordered_for(chunks(g) > 1 ? g->pool : NULL, &work, err);
    trl__parameters_free(g->parameters);
    return code < 0 ? code : trl__estimate(g->model, g->stats, &estimate, &result, err);
}

/* ---- all of them ---- */

/* One Gaussian with mean and variance of the frames: sums about the first frame, so that nothing is lost where they are far from zero. */
static int set_one(trl__grower *g, trl_error *err)
{
    size_t dim = g->sample->dim, count = g->sample->count;
    int32_t *first = trl__alloc_aligned(2, sizeof *first);
    float *weight = trl__alloc_aligned(1, sizeof *weight), *mean = trl__alloc_aligned(dim, sizeof *mean),
          *variance = trl__alloc_aligned(dim, sizeof *variance);
    double *sum = trl__alloc_zero(2 * dim, sizeof *sum);
    if (!first || !weight || !mean || !variance || !sum) {
        trl__free(first);
        trl__free(weight);
        trl__free(mean);
        trl__free(variance);
        trl__free(sum);
        return trl__fail_memory(err);
    }
    const float *origin = trl__reservoir_frame(g->sample, 0);
    for (size_t i = 0; i < count; i++) {
        const float *frame = trl__reservoir_frame(g->sample, i);
        for (size_t k = 0; k < dim; k++) {
            double d = (double)frame[k] - (double)origin[k];
            sum[k] += d;
            sum[dim + k] += d * d;
        }
    }
    for (size_t k = 0; k < dim; k++) {
        double m = sum[k] / (double)count, v = sum[dim + k] / (double)count - m * m;
        mean[k] = (float)((double)origin[k] + m);
        variance[k] = (float)fmax(v, g->options->variance_floor);
    }
    trl__free(sum);
    first[0] = 0;
    first[1] = 1;
    weight[0] = 0;
    g->model->tied_states = 1;
    trl__model_set_mixtures(g->model, first, weight, mean, variance);
    return 0;
}

static int check_frames(const trl__reservoir *sample, trl_error *err)
{
    for (size_t i = 0; i < sample->count; i++)
        for (size_t k = 0; k < sample->dim; k++)
            if (!isfinite(trl__reservoir_frame(sample, i)[k]))
                return trl__fail(err, TRL_ENUMBER, "a frame has a value that is no number (dimension %zu)", k);
    return 0;
}

int trl__grow_mixture(trl__grower *g, const trl__reservoir *frames, const trl_model **mixture, trl_error *err)
{
    int32_t target = trl_bam_components(g->options, (int64_t)frames->count);
    double count = (double)frames->count;
    g->sample = frames;
    int code = check_frames(frames, err);
    if (code == 0)
        code = set_one(g, err);
    for (int32_t size = 1; code == 0 && size < target;) {
        size = size > target / 2 ? target : 2 * size;
        code = trl__split_to_components(g->model, &count, size, 0, err);
        for (int i = 0; code == 0 && i < g->options->iterations; i++)
            code = iterate(g, err);
    }
    *mixture = g->model;
    return code;
}
