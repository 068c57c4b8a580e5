/* Trees and what they are made from: a tree of 8000 leaves from 100,000 contexts, and the memory of gathering their statistics, which must follow
 * the number of contexts and not that of frames. Each in a process of its own, whose memory is compared with what it
 * had before. */
#include "child_process.h"
#include "ladder_bench.h"
#include "ladder_workload.h"
#include "model/sums.h"
#include "model/tree_build.h"
#include "train/training.h"
#include "train_workload.h"
#include "workload_dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 2
#define SEED 6

static trl_pool *make_pool(void)
{
    trl_error err;
    trl_pool *pool;
    bench_check(trl_pool_create(THREADS, &pool, &err), &err);
    return pool;
}

/* A model without context: 40 phones of three states, silence, noise. */
static trl_model *make_model(const trl_lexicon *lexicon)
{
    trl_error err;
    trl_model *model;
    trl_model_options o = trl_model_defaults();
    bench_check(trl_model_create(lexicon, NULL, SPEECH_DIM, &o, &model, &err), &err);
    return model;
}

/* ---- The tree ---- */

typedef struct tree_work {
    int contexts, leaves; /* given */
    double before;        /* MB: with the statistics */
    double questions, seconds, frames;
    trl__tree_summary summary;
} tree_work;

/* The sums of n frames around a mean, with variance 1, as far as n frames tell it. */
static void draw_sums(double *sums, double n, const float *mean, dice *d)
{
    sums[0] = n;
    for (int k = 0; k < SPEECH_DIM; k++) {
        double m = (double)mean[k] + (double)normal(d) / sqrt(n), v = fmax(0.1, 1 + sqrt(2 / n) * (double)normal(d));
        sums[1 + k] = n * m;
        sums[1 + SPEECH_DIM + k] = n * (m * m + v);
    }
}

/* So many contexts of all there are, each once; few have many frames. */
static trl__context_stats *draw_contexts(const speech *w, const trl_model *model, int contexts)
{
    trl_error err;
    trl__context_stats *stats;
    int32_t unit[SPEECH_PHONES];
    dice d = {w->seed, 1, 0};
    for (int p = 0; p < SPEECH_PHONES; p++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", p);
        unit[p] = trl_model_find_unit(model, name);
    }
    bench_check(trl__context_stats_create(3, 1, SPEECH_DIM, &stats, &err), &err);
    while (stats->keys.count < (size_t)contexts) {
        int left = below(&d, SPEECH_PHONES), phone = below(&d, SPEECH_PHONES), right = below(&d, SPEECH_PHONES);
        int state = below(&d, SPEECH_STATES);
        float mean[SPEECH_DIM];
        double *sums = trl__context_stats_slot(stats, (int32_t[]){unit[left], unit[phone], unit[right], state});
        if (!sums)
            exit(3);
        if (sums[0] > 0)
            continue;
        speech_mean(w->sounds, left, phone, right, state, mean);
        draw_sums(sums, floor(40 / pow(1e-4 + uniform(&d), 0.8)), mean, &d);
    }
    return stats;
}

static double all_frames(const trl__context_stats *stats)
{
    double frames = 0;
    for (size_t i = 0; i < stats->keys.count; i++)
        frames += stats->slots[i * trl__sums_size(stats->dim)];
    return frames;
}

/* Questions and tree, as a stage of training makes them. */
static void build_tree(void *user)
{
    tree_work *r = user;
    trl_error err;
    speech w;
    trl__questions *questions;
    trl__tree *tree;
    trl__tree_options o = trl__tree_defaults();
    speech_create(&w, 0, SEED);
    trl_model *model = make_model(w.lexicon);
    trl__context_stats *stats = draw_contexts(&w, model, r->contexts);
    r->frames = all_frames(stats);
    o.most_leaves = r->leaves;
    o.least_frames = fmax(20, r->frames / r->leaves / 10);
    o.pool = make_pool();
    r->before = child_own_mb();
    double start = bench_wall_seconds();
    bench_check(trl__questions_from_stats(model, stats, &questions, &err), &err);
    r->questions = bench_wall_seconds() - start;
    bench_check(trl__tree_build(model, stats, questions, &o, &tree, &r->summary, &err), &err);
    r->seconds = bench_wall_seconds() - start;
    trl__tree_destroy(tree);
    trl__questions_destroy(questions);
    trl_pool_destroy(o.pool);
    trl__context_stats_destroy(stats);
    trl_model_destroy(model);
    speech_destroy(&w);
}

static void measure_tree(ladder_bench *b)
{
    tree_work *r = child_shared(sizeof *r);
    r->contexts = b->sizes.contexts;
    r->leaves = b->sizes.tree_leaves;
    child_peaks peaks = child_run(build_tree, r);
    bench_report(b->result, "tree_contexts", r->summary.contexts, "",
                 "distinct triphones and states, 40 phones of 3 states, 39 dimensions");
    bench_report(b->result, "tree_100k_contexts_s", r->seconds, "s",
                 "from their statistics to questions and a tree, two threads");
    bench_report(b->result, "tree_questions_s", r->questions, "s", "of that: questions");
    bench_report(b->result, "tree_splits", r->summary.splits, "", "of its nodes");
    bench_report(b->result, "tree_leaves", r->summary.leaves, "", "tied states, after leaves were joined again");
    bench_report(b->result, "tree_gain", r->summary.after - r->summary.before, "",
                 "log-likelihood per frame, all leaves over roots alone");
    bench_report(b->result, "tree_statistics_mb", r->before, "MB", "own memory with the statistics, ahead of the tree");
    bench_report(b->result, "tree_peak_mb", peaks.own, "MB", "at most while it grows");
    child_shared_free(r, sizeof *r);
}

/* ---- Statistics ---- */

typedef struct gathering_work {
    double hours; /* given: of the corpus … */
    int times;    /* … and how often it is repeated */
    double before, seconds;
    double frames;
    size_t contexts;
} gathering_work;

/* Frames shared out evenly: which contexts there are follows from the words. */
static trl__alignment_store *align_evenly(const trl__training_data *data, const speech *w, const trl_model *model,
                                          trl_pool *pool)
{
    char path[4200];
    trl_error err;
    trl__stats *stats;
    trl__alignment_writer *writer;
    trl__alignment_store *store;
    trl__pass_result result;
    trl_train_options o = trl_train_defaults();
    trl__pass pass = {.data = data,
                      .lexicon = w->lexicon,
                      .model = model,
                      .kind = TRL__PASS_FLAT,
                      .iteration = 1,
                      .options = &o,
                      .search = trl__pass_search(&o),
                      .pool = pool};
    snprintf(path, sizeof path, "%s/even.tra", w->folder);
    bench_check(trl__device_open("cpu", &pass.device, &err), &err);
    bench_check(trl__stats_create(model, &stats, &err), &err);
    bench_check(trl__alignment_writer_create(path, &writer, &err), &err);
    bench_check(trl__pass_run(&pass, stats, writer, w->findings, &result, &err), &err);
    bench_check(trl__alignment_writer_commit(writer, &err), &err);
    bench_check(trl__alignment_store_open(path, &store, &err), &err);
    trl__stats_destroy(stats);
    trl__device_close(pass.device);
    return store;
}

static void gather(void *user)
{
    gathering_work *r = user;
    trl_error err;
    speech w;
    train_set once = {0};
    trl__training_data *data;
    trl__context_stats *stats;
    trl_train_options o = trl_train_defaults();
    speech_create(&w, r->hours, SEED);
    o.features = w.features;
    bench_check(trl__training_data_create(w.corpus, w.lexicon, NULL, &o, NULL, 0, NULL, w.findings, &data, &err), &err);
    trl_model *model = make_model(w.lexicon);
    trl_pool *pool = make_pool();
    once.data = *data;
    once.previous = align_evenly(data, &w, model, pool);
    train_set many = train_set_replicate(&once, r->times, w.folder);
    trl__training t = {.options = &o,
                       .lexicon = w.lexicon,
                       .pool = pool,
                       .data = &many.data,
                       .alignments = many.previous,
                       .model = model};
    r->before = child_own_mb();
    double start = bench_wall_seconds();
    bench_check(trl__gather_contexts(&t, &stats, &err), &err);
    r->seconds = bench_wall_seconds() - start;
    r->contexts = stats->keys.count;
    r->frames = all_frames(stats);
    trl__context_stats_destroy(stats);
    train_set_free(&many);
    trl__alignment_store_close(once.previous);
    trl_pool_destroy(pool);
    trl_model_destroy(model);
    trl__training_data_destroy(data);
    speech_destroy(&w);
}

/* Returns the memory that gathering took on top of what was there. */
static double measure_gathering(ladder_bench *b, int times, json_t *list)
{
    gathering_work *r = child_shared(sizeof *r);
    r->hours = b->sizes.gathering_hours;
    r->times = times;
    double peak = child_run(gather, r).own - r->before;
    printf("  %12.0f frames %10zu contexts %8.2f s %10.1f MB on top of %.1f MB\n", r->frames, r->contexts, r->seconds,
           peak, r->before);
    json_array_append_new(list, json_pack("{s:f, s:I, s:f, s:f, s:f}", "frames", r->frames, "contexts",
                                          (json_int_t)r->contexts, "seconds", r->seconds, "before_mb", r->before,
                                          "gathering_mb", peak));
    child_shared_free(r, sizeof *r);
    return peak;
}

void ladder_measure_contexts(ladder_bench *b)
{
    json_t *list = json_array();
    printf("  statistics of contexts, the same corpus once and four times over:\n");
    double once = measure_gathering(b, 1, list), more = measure_gathering(b, 4, list);
    json_object_set_new(b->result, "gathering", list);
    bench_report(b->result, "gathering_memory_growth", more / once, "x",
                 "peak of gathering, four times the frames over once, the same contexts");
    measure_tree(b);
}
