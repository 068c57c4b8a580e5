#include "lvcsr_ways.h"
#include "decode/best_words.h"
#include "decode/decode_options.h"
#include "decode/searcher.h"
#include "model/model_frontend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/extract.h>

#define SHIFT 0.01 /* seconds from frame to frame */

const lvcsr_way lvcsr_ways[LVCSR_WAYS] = {
    {"one thread", "one", 1, 0, TRL_LIKELIHOODS_BLOCK, TRL_SEARCH_OWNER},
    {"two threads", "two", 2, 0, TRL_LIKELIHOODS_BLOCK, TRL_SEARCH_OWNER},
    {"two threads, merge", "two_merge", 2, 0, TRL_LIKELIHOODS_BLOCK, TRL_SEARCH_MERGE},
    {"look-ahead of all states", "lookahead", 1, 1, TRL_LIKELIHOODS_AHEAD, TRL_SEARCH_OWNER},
    {"two threads, look-ahead of all", "both", 2, 0, TRL_LIKELIHOODS_AHEAD, TRL_SEARCH_OWNER},
    {"two threads, look-ahead, merge", "both_merge", 2, 0, TRL_LIKELIHOODS_AHEAD, TRL_SEARCH_MERGE},
    {"two threads, as it chooses", "auto", 2, 0, TRL_LIKELIHOODS_AUTO, TRL_SEARCH_OWNER}};
const lvcsr_way lvcsr_on_demand = {"two threads, on demand", "demand", 2, 0, TRL_LIKELIHOODS_DEMAND, TRL_SEARCH_MERGE};

const lvcsr_way lvcsr_device_ways[LVCSR_DEVICE_WAYS] = {
    {"one thread", "one", 1, 0, TRL_LIKELIHOODS_BLOCK, TRL_SEARCH_OWNER},
    {"look-ahead by a device", "device", 1, 0, TRL_LIKELIHOODS_AHEAD, TRL_SEARCH_OWNER},
    {"two threads, look-ahead by a device", "device_two", 2, 0, TRL_LIKELIHOODS_AHEAD, TRL_SEARCH_OWNER}};

/* ---- Frames ---- */

typedef struct gatherer {
    lvcsr_stage *stage;
    size_t every, seen;
    size_t capacity;
} gatherer;

static int take_frames(void *user, const trl_utterance *u, const trl_matrix *frames, trl_error *err)
{
    (void)u;
    gatherer *g = user;
    lvcsr_stage *s = g->stage;
    if (g->seen++ % g->every != 0)
        return 0;
    if (TRL_GROW(s->frames, g->capacity, s->count + 1) < 0)
        fst_must(NULL);
    trl_matrix *copy = &s->frames[s->count++];
    *copy = (trl_matrix){0};
    s->seconds += (double)frames->rows * SHIFT;
    int code = trl_matrix_resize(copy, frames->rows, frames->cols, err);
    for (size_t i = 0; code == 0 && i < frames->rows; i++)
        memcpy(trl_matrix_row(copy, i), trl_matrix_row(frames, i), frames->cols * sizeof(float));
    return code;
}

/* The device that makes likelihoods ahead: the one that was asked for, else by the maker's own interface if possible. */
static int open_ahead(lvcsr_stage *s, const bench_options *o, const char *family)
{
    char name[BENCH_DEVICE_NAME];
    bench_device(o, family, name);
    if ((o->device && strncmp(o->device, family, strlen(family)) != 0) ||
        trl__device_open(name, &s->ahead, &s->why) < 0)
        return 0;
    if (trl__device_load_model(s->ahead, s->system->model, s->task->pool, &s->ahead_parameters, &s->why) == 0)
        return 1;
    trl__device_close(s->ahead);
    s->ahead = NULL;
    return 0;
}

void lvcsr_stage_open(lvcsr_stage *s, lvcsr_task *task, const lvcsr_system *system, size_t every,
                      const bench_options *o)
{
    trl_error err;
    trl_frontend_options description;
    trl_frontend *frontend;
    gatherer g = {.stage = s, .every = every};
    *s = (lvcsr_stage){.task = task, .system = system};
    bench_check(trl__model_frontend_make(system->model, 0, &description, &frontend, &err), &err);
    trl_matrix_free(&description.transform);
    bench_check(trl_extract_corpus(task->test, frontend, NULL, task->pool, task->findings, take_frames, &g, NULL, &err),
                &err);
    trl_frontend_destroy(frontend);
    bench_check(trl__device_open("cpu", &s->device, &err), &err);
    bench_check(trl__device_load_model(s->device, system->model, task->pool, &s->parameters, &err), &err);
    if (!open_ahead(s, o, "cuda"))
        open_ahead(s, o, "opencl");
}

void lvcsr_stage_close(lvcsr_stage *s)
{
    for (size_t i = 0; i < s->count; i++)
        trl_matrix_free(&s->frames[i]);
    trl__free(s->frames);
    trl__parameters_free(s->parameters);
    trl__parameters_free(s->ahead_parameters);
    trl__device_close(s->device);
    trl__device_close(s->ahead);
}

/* ---- A search ---- */

trl_decode_options lvcsr_options(const lvcsr_system *system, double beam, const lvcsr_way *way)
{
    trl_decode_options o = trl_decode_defaults();
    o.beam = beam;
    o.least_active = 20; /* so that narrow beams are */
    o.lattice_beam = 1;  /* only the best words are wanted */
    o.acoustic_scale = system->kind->acoustic_scale;
    o.search_threads = way->search_threads;
    o.score_threads = way->score_threads;
    o.likelihood_mode = way->mode;
    o.search = way->search;
    return o;
}

typedef struct runner {
    const lvcsr_stage *stage;
    const trl__parameters *parameters;
    trl__searcher searcher;
    trl_lattice_scale scale;
    trl__best_words best;
} runner;

static void open_runner(runner *r, const lvcsr_stage *s, const trl_decode_options *o, int on_device)
{
    trl_error err;
    trl__decode_options search = trl__search_options_of(o);
    *r = (runner){
        .stage = s, .parameters = on_device ? s->ahead_parameters : s->parameters, .scale = trl__lattice_scale_of(o)};
    bench_check(trl__searcher_create(&r->searcher, on_device ? s->ahead : s->device, s->system->model, s->system->graph,
                                     &search, o, SHIFT, &err),
                &err);
}

static void close_runner(runner *r)
{
    trl__searcher_free(&r->searcher);
    trl__best_words_free(&r->best);
}

/* Seconds by the clock; the words are in r->best. */
static double search(runner *r, size_t utterance)
{
    trl_error err;
    const trl__raw_lattice *raw;
    double start = bench_wall_seconds();
    bench_check(trl__scorer_begin(r->searcher.scorer, r->parameters, &r->stage->frames[utterance], &err), &err);
    bench_check(trl__decoder_begin(r->searcher.decoder, &err), &err);
    bench_check(trl__searcher_run(&r->searcher, &err), &err);
    bench_check(trl__searcher_finish(&r->searcher, &raw, &err), &err);
    bench_check(trl__best_words_find(&r->best, raw, &r->scale, &err), &err);
    return bench_wall_seconds() - start;
}

static uint64_t hash_words(const trl__best_words *best)
{
    uint64_t hash = best->count;
    for (size_t i = 0; i < best->count; i++)
        hash = hash * 1000003 + (uint64_t)best->words[i].word;
    return hash;
}

/* ---- All ways by turns ---- */

void lvcsr_stage_time(const lvcsr_stage *s, double beam, int runs, lvcsr_cost costs[LVCSR_WAYS])
{
    runner runners[LVCSR_WAYS];
    double *least = fst_must(malloc((s->count + 1) * LVCSR_WAYS * sizeof *least));
    for (int way = 0; way < LVCSR_WAYS; way++) {
        trl_decode_options o = lvcsr_options(s->system, beam, &lvcsr_ways[way]);
        open_runner(&runners[way], s, &o, 0);
        costs[way].seconds = 0;
    }
    for (int way = 0; s->count > 0 && way < LVCSR_WAYS; way++)
        search(&runners[way], 0); /* memory grows to what it takes, and the way that chooses has chosen */
    for (size_t i = 0; i < s->count * LVCSR_WAYS; i++)
        least[i] = INFINITY;
    for (int run = 0; run < runs; run++)
        for (size_t i = 0; i < s->count; i++) {
            uint64_t words = 0;
            for (int way = 0; way < LVCSR_WAYS; way++) {
                double *fastest = &least[i * LVCSR_WAYS + (size_t)way];
                *fastest = fmin(*fastest, search(&runners[way], i));
                words = way == 0 ? hash_words(&runners[way].best) : words;
                if (words != hash_words(&runners[way].best)) {
                    fprintf(stderr, "trellis-bench: %s: other words than with one thread\n", lvcsr_ways[way].name);
                    exit(3);
                }
            }
        }
    for (size_t i = 0; i < s->count * LVCSR_WAYS; i++)
        costs[i % LVCSR_WAYS].seconds += least[i];
    for (int way = 0; way < LVCSR_WAYS; way++)
        close_runner(&runners[way]);
    free(least);
}

/* ---- A device ahead of the search ---- */

/* Each utterance by all ways in turn, least of the runs; scores differ in their last digits, so words may. */
void lvcsr_stage_time_device(const lvcsr_stage *s, double beam, int runs, lvcsr_cost costs[LVCSR_DEVICE_WAYS],
                             double *same_words)
{
    runner runners[LVCSR_DEVICE_WAYS];
    size_t same = 0;
    for (int way = 0; way < LVCSR_DEVICE_WAYS; way++) {
        trl_decode_options o = lvcsr_options(s->system, beam, &lvcsr_device_ways[way]);
        open_runner(&runners[way], s, &o, way != LVCSR_PROCESSOR);
        costs[way].seconds = 0;
        if (s->count > 0)
            search(&runners[way], 0);
    }
    for (size_t i = 0; i < s->count; i++) {
        double least[LVCSR_DEVICE_WAYS] = {INFINITY, INFINITY, INFINITY};
        uint64_t words[LVCSR_DEVICE_WAYS] = {0};
        for (int run = 0; run < runs; run++)
            for (int way = 0; way < LVCSR_DEVICE_WAYS; way++) {
                least[way] = fmin(least[way], search(&runners[way], i));
                words[way] = hash_words(&runners[way].best);
            }
        for (int way = 0; way < LVCSR_DEVICE_WAYS; way++)
            costs[way].seconds += least[way];
        same += words[LVCSR_DEVICE_ONE] == words[LVCSR_PROCESSOR] && words[LVCSR_DEVICE_TWO] == words[LVCSR_PROCESSOR];
    }
    *same_words = s->count > 0 ? (double)same / (double)s->count : 1;
    for (int way = 0; way < LVCSR_DEVICE_WAYS; way++)
        close_runner(&runners[way]);
}

trl_decode_profile lvcsr_stage_profile(const lvcsr_stage *s, double beam, const lvcsr_way *way)
{
    runner r;
    trl_decode_profile profile = {0};
    trl_decode_options o = lvcsr_options(s->system, beam, way);
    o.profile = 1;
    open_runner(&r, s, &o, 0);
    for (size_t i = 0; i < s->count; i++)
        search(&r, i);
    trl__searcher_add_profile(&r.searcher, &profile);
    close_runner(&r);
    return profile;
}
