/* Likelihoods of all tied states of a model of 4600 x 128 Gaussians in 39 dimensions, as [004] 4.1 has them computed ahead of the search, as a share of what the
 * arithmetic units can do. The values are made up: the time does not depend on them. */
#include "fst_corpus.h"
#include "lvcsr_bench.h"
#include "backend/backend.h"
#include "base/random.h"
#include "model/model_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <trellis/version.h>

#define DIM 39
#define CHUNK 48 /* frames that the search's buffer is filled by */
#define ROWS 16  /* tied states that a thread takes at a time there */
#define SEED 4

typedef struct states_size {
    int states, gaussians, frames, runs;
} states_size;

/* Only what the device wants to know of a model. */
static trl_model *make_model(const states_size *z)
{
    trl_error err;
    trl_model *model;
    size_t all = (size_t)z->states * (size_t)z->gaussians;
    bench_check(trl__model_new(DIM, &model, &err), &err);
    model->tied_states = z->states;
    model->first_gaussian = fst_must(trl__alloc((size_t)z->states + 1, sizeof *model->first_gaussian));
    model->log_weight = fst_must(trl__alloc_aligned(all, sizeof *model->log_weight));
    model->mean = fst_must(trl__alloc_aligned(all * DIM, sizeof *model->mean));
    model->variance = fst_must(trl__alloc_aligned(all * DIM, sizeof *model->variance));
    for (int s = 0; s <= z->states; s++)
        model->first_gaussian[s] = s * z->gaussians;
    for (size_t g = 0; g < all; g++)
        model->log_weight[g] = -logf((float)z->gaussians);
    for (size_t i = 0; i < all * DIM; i++) {
        uint32_t bits = (uint32_t)(i * 2654435761u);
        model->mean[i] = (float)(bits >> 16) / 65536 - 0.5f;
        model->variance[i] = 0.5f + (float)(bits & 65535) / 65536;
    }
    return model;
}

static void make_frames(trl_matrix *frames, int count)
{
    trl_error err;
    bench_check(trl_matrix_resize(frames, (size_t)count, DIM, &err), &err);
    for (size_t f = 0; f < frames->rows; f++)
        for (size_t k = 0; k < DIM; k++)
            trl_matrix_row(frames, f)[k] = trl__random_normal(SEED, f, k);
}

typedef struct states_work {
    trl__stream *stream;
    const trl__parameters *parameters;
    const trl_matrix *frames;
    float *scores;
} states_work;

/* Chunk after chunk, piece after piece, as decode/scorer_ahead.c makes them. */
static void score_all(const states_work *w, const states_size *z)
{
    trl_error err;
    trl__row rows[ROWS];
    for (int32_t begin = 0; begin < z->frames; begin += CHUNK)
        for (int32_t from = 0; from < z->states; from += ROWS) {
            int32_t end = begin + CHUNK < z->frames ? begin + CHUNK : z->frames, count = 0;
            for (int32_t tied = from; tied < from + ROWS && tied < z->states; tied++)
                rows[count++] = (trl__row){tied, begin, end, (int64_t)tied * CHUNK};
            trl__search search = {.frames = w->frames, .begin = begin, .end = end, .combine = TRL__LOG_ADD};
            search.rows = count;
            search.row = rows;
            search.scores = w->scores;
            bench_check(trl__stream_score(w->stream, w->parameters, &search, 1, &err), &err);
        }
}

/* CPU seconds, the least of some runs; one thread. */
static double time_all(const trl_model *model, const states_size *z)
{
    trl_error err;
    trl__device *device;
    trl__parameters *parameters;
    trl__stream *stream;
    trl_matrix frames = {0};
    double least = INFINITY;
    make_frames(&frames, z->frames);
    bench_check(trl__device_open("cpu", &device, &err), &err);
    bench_check(trl__device_load_model(device, model, NULL, &parameters, &err), &err);
    bench_check(trl__stream_create(device, &stream, &err), &err);
    trl__search all = {.frames = &frames, .begin = 0, .end = z->frames};
    bench_check(trl__stream_frames(stream, parameters, &all, 1, &err), &err);
    states_work w = {stream, parameters, &frames,
                     fst_must(trl__alloc_aligned((size_t)z->states * CHUNK, sizeof(float)))};
    for (int run = 0; run < z->runs; run++) {
        double start = bench_cpu_seconds();
        score_all(&w, z);
        least = fmin(least, bench_cpu_seconds() - start);
    }
    trl__free(w.scores);
    trl__stream_destroy(stream);
    trl__parameters_free(parameters);
    trl__device_close(device);
    trl_matrix_free(&frames);
    return least;
}

static const char *measure(lvcsr_bench *b)
{
    const states_size full = {4600, 128, 10 * CHUNK, 5}, quick = {4600, 128, 2 * CHUNK, 3}, tiny = {100, 128, CHUNK, 2};
    const states_size *z = b->options->tiny ? &tiny : b->options->quick ? &quick : &full;
    trl_model *model = make_model(z);
    double before = bench_fma_peak(trl_cpu_level()), seconds = time_all(model, z);
    double peak = fmax(before, bench_fma_peak(trl_cpu_level()));        /* whichever was disturbed less */
    double work = 2.0 * 2 * DIM * z->states * z->gaussians * z->frames; /* FLOP of the dot products alone */
    bench_report(b->result, "fma_peak_gflops", peak / 1e9, "GFLOP/s", "of a core, fused multiply-adds");
    bench_report(b->result, "all_states_us_per_frame", 1e6 * seconds / z->frames, "us",
                 "likelihoods of all states of 4600 x 128 Gaussians, one thread");
    bench_report(b->result, "all_states_fma_share", work / seconds / peak, "",
                 "of that peak; dot products only, sums of components are on top");
    trl_model_destroy(model);
    return NULL;
}

static const char *const keys[] = {"all_states_fma_share", "all_states_us_per_frame", "fma_peak_gflops", NULL};

const lvcsr_part lvcsr_states = {"states", keys, measure};
