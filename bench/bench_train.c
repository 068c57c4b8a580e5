/* Training: whole iterations of Viterbi training on a task with the shape of [000], against the machine's FMA peak, our
 * own sequential scalar code, hmmlearn, and, with real speech, Kaldi and pocketsphinx.
 *
 * Every iteration goes through trl__pass_run and trl__estimate, as those of `trellis train` do; checkpoints are not
 * written. The alignments that margins lie around come from the model with half the components: the iteration behind a
 * split, when they move most. Both sides of a ratio are measured by turns in this run, and the best run of each counts,
 * because other work on the machine only ever adds. All runs are in the JSON under `runs`.
 */
#include "train_bench.h"
#include "model/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED 4

static train_sizes choose_sizes(const bench_options *o)
{
    if (o->tiny)
        return (train_sizes){.hours = 0.01,
                             .tied_states = 200,
                             .copies = 2,
                             .runs = 1,
                             .scalar_runs = 1,
                             .figure_per_step = 1,
                             .peer_frames = 2000,
                             .memory_hours = 0.005,
                             .an4_iterations = 1};
    if (o->quick)
        return (train_sizes){.hours = 0.2,
                             .tied_states = 8000,
                             .copies = 12,
                             .runs = 1,
                             .scalar_runs = 1,
                             .figure_per_step = 2,
                             .peer_frames = 15000,
                             .memory_hours = 0.05,
                             .an4_iterations = 8};
    return (train_sizes){.hours = 2,
                         .tied_states = 8000,
                         .copies = 8,
                         .runs = 5,
                         .scalar_runs = 2,
                         .figure_per_step = 8,
                         .peer_frames = 100000,
                         .memory_hours = 0.25,
                         .an4_iterations = 8};
}

/* ---- One iteration ---- */

const char *train_margin_name(int margin, char text[16])
{
    snprintf(text, 16, "%d", margin);
    return margin == TRL_MARGIN_AUTO ? "auto" : margin == TRL_MARGIN_FULL ? "none" : text;
}

static void list_run(const train_bench *b, const train_set *set, const trl_model *model, const train_how *how,
                     const train_cost *c)
{
    char margin[16];
    const trl_iteration *n = &c->numbers;
    json_t *run = json_pack("{s:s, s:s, s:i, s:s, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i}",
                            "what", how->label, "device", how->device, "threads", how->threads, "margin",
                            how->first ? "beam" : train_margin_name(how->margin, margin), "hours", set->hours,
                            "gaussians", (json_int_t)trl_model_gaussians(model), "wall", c->wall, "cpu", c->cpu, "load",
                            n->load, "score", n->score, "alpha", n->alpha, "backtrack", n->backtrack, "accumulate",
                            n->accumulate, "estimate", n->estimate, "gaussians_scored", n->gaussians_scored, "redone",
                            (int)n->redone, "failed", (int)n->failed);
    json_array_append_new(b->runs, run);
}

static trl__alignment_store *reopen(const char *path, int wanted)
{
    trl_error err;
    trl__alignment_store *store = NULL;
    if (wanted)
        bench_check(trl__alignment_store_open(path, &store, &err), &err);
    unlink(path); /* it stays mapped */
    return store;
}

/* The M-step, on a copy; returns its seconds. */
static double estimate(const trl_model *model, const trl__stats *stats, int threads)
{
    trl_error err;
    trl_model *copy;
    trl__estimate_result result;
    trl__estimate_options options = trl__estimate_defaults();
    bench_check(trl__model_copy(model, &copy, &err), &err);
    bench_check(trl_pool_create(threads, &options.pool, &err), &err);
    double start = bench_wall_seconds();
    bench_check(trl__estimate(copy, stats, &options, &result, &err), &err);
    double used = bench_wall_seconds() - start;
    trl_pool_destroy(options.pool);
    trl_model_destroy(copy);
    return used;
}

/* The E-step, with the time for making its statistics and keeping its alignments. */
static void expect(const train_set *set, const trl_lexicon *lexicon, const trl_model *model, const train_how *how,
                   const char *path, trl__stats **stats, train_cost *c)
{
    trl_error err;
    trl_train_options o = trl_train_defaults();
    o.margin = how->margin;
    o.em = how->em;
    trl__pass pass = {.data = &set->data,
                      .lexicon = lexicon,
                      .model = model,
                      .previous = set->previous,
                      .kind = how->first ? TRL__PASS_FIRST : TRL__PASS_BAND,
                      .iteration = 1, /* chooses who is audited */
                      .audit = how->audit,
                      .options = &o,
                      .search = trl__pass_search(&o)};
    trl_findings *skipped;
    trl__alignment_writer *writer;
    trl__pass_result result;
    bench_check(trl__device_open(how->device, &pass.device, &err), &err);
    bench_check(trl_pool_create(how->threads, &pass.pool, &err), &err);
    bench_check(trl_findings_create(&skipped, &err), &err);
    double wall = bench_wall_seconds(), cpu = bench_cpu_seconds();
    bench_check(trl__stats_create(model, stats, &err), &err);
    bench_check(trl__alignment_writer_create(path, &writer, &err), &err);
    bench_check(trl__pass_run(&pass, *stats, writer, skipped, &result, &err), &err);
    c->wall = bench_wall_seconds() - wall;
    c->cpu = bench_cpu_seconds() - cpu;
    c->numbers = result.numbers;
    bench_check(trl__alignment_writer_commit(writer, &err), &err);
    trl_findings_destroy(skipped);
    trl_pool_destroy(pass.pool);
    trl__device_close(pass.device);
}

train_cost train_iterate(train_bench *b, const train_set *set, const trl_lexicon *lexicon, const trl_model *model,
                         const train_how *how, trl__alignment_store **aligned, trl__stats **stats)
{
    char path[4096];
    trl__stats *sums;
    train_cost c = {0};
    snprintf(path, sizeof path, "%s/bench-alignments.%ld", TRELLIS_BUILD_DIR, (long)getpid());
    expect(set, lexicon, model, how, path, &sums, &c);
    trl__alignment_store *store = reopen(path, aligned != NULL);
    if (aligned)
        *aligned = store;
    trl_iteration *n = &c.numbers;
    n->estimate = how->m_step ? estimate(model, sums, how->threads) : 0;
    c.wall += n->estimate;
    c.cpu += n->estimate;
    c.steps = n->load + n->score + n->alpha + n->backtrack + n->accumulate;
    if (stats)
        *stats = sums;
    else
        trl__stats_destroy(sums);
    if (b)
        list_run(b, set, model, how, &c);
    return c;
}

/* ---- The iterations that everything is said about ---- */

typedef struct measured {
    train_cost margin_1, margin_2, auto_1, auto_2, full_1, full_2, scalar;
} measured;

static train_cost better(train_cost a, train_cost b)
{
    return a.wall == 0 || b.wall < a.wall ? b : a;
}

/* The scalar code is not charged with audits. */
static train_cost run(train_bench *b, const train_set *set, const char *label, const char *device, int threads,
                      int margin)
{
    double audit = strcmp(device, "cpu") == 0 ? trl_train_defaults().audit : 0;
    train_how how = {label, device, threads, margin, audit, 0, TRL_EM_VITERBI, 1};
    return train_iterate(b, set, b->w.lexicon, b->w.model, &how, NULL, NULL);
}

static void measure_peak(train_bench *b)
{
    trl_error err;
    trl__device *device;
    bench_check(trl__device_open("cpu", &device, &err), &err);
    b->peak = fmax(b->peak, bench_fma_peak(device->info.level));
    trl__device_close(device);
}

/* Alignments of the model with half the components, found by a beam: there is nothing yet to put a margin around. */
static void align_first(train_bench *b)
{
    trl_model *half = workload_model(&b->w, WORKLOAD_COMPONENTS / 2);
    train_how how = {"first alignment", "cpu", 2, TRL_MARGIN_AUTO, 0, 1, TRL_EM_VITERBI, 1};
    train_cost c = train_iterate(b, &b->w.all, b->w.lexicon, half, &how, &b->w.all.previous, NULL);
    trl_model_destroy(half);
    bench_report(b->result, "first_hours_per_hour", 3600 * b->w.all.hours / c.wall, "",
                 "first alignment by a beam, 16 components, two threads");
    b->many = train_set_replicate(&b->w.all, b->sizes.copies, b->w.folder);
}

static measured measure_iterations(train_bench *b)
{
    measured m = {0};
    for (int i = 0; i < b->sizes.runs; i++) {
        measure_peak(b);
        m.margin_1 = better(m.margin_1, run(b, &b->many, "margin", "cpu", 1, 64));
        m.margin_2 = better(m.margin_2, run(b, &b->many, "margin", "cpu", 2, 64));
        m.auto_1 = better(m.auto_1, run(b, &b->many, "auto", "cpu", 1, TRL_MARGIN_AUTO));
        m.auto_2 = better(m.auto_2, run(b, &b->many, "auto", "cpu", 2, TRL_MARGIN_AUTO));
    }
    measure_peak(b);
    m.full_1 = run(b, &b->w.all, "full", "cpu", 1, TRL_MARGIN_FULL);
    m.full_2 = run(b, &b->w.all, "full", "cpu", 2, TRL_MARGIN_FULL);
    for (int i = 0; i < b->sizes.scalar_runs; i++)
        m.scalar = better(m.scalar, run(b, &b->w.all, "scalar", "cpu:scalar", 1, 64));
    return m;
}

/* ---- What they say ---- */

/* Seconds for one copy of the generated sound. What is done once per iteration is shared by all copies, on either
 * side. */
static double per_copy(const train_bench *b, const train_cost *c, int copies)
{
    double once = fmax(0, c->wall - c->steps);
    return copies == 1 ? c->steps + once / b->sizes.copies : c->wall / copies;
}

static double fma_share(const train_bench *b, const train_cost *c)
{
    return 4.0 * WORKLOAD_DIM * c->numbers.gaussians_scored / c->numbers.score / b->peak;
}

/* All that is not step 1, of one thread's wall time. */
static double others(const train_cost *c)
{
    return 1 - c->numbers.score / c->wall;
}

static void report_step_1(train_bench *b, const measured *m)
{
    json_t *r = b->result;
    bench_report(r, "fma_peak_gflops", b->peak / 1e9, "GFLOP/s",
                 "of one core: independent chains of fused multiply-adds");
    bench_report(r, "step1_fma_share", fma_share(b, &m->margin_1), "",
                 "of it in step 1, log-add included; margin 64, whole iterations");
    bench_report(r, "step1_fma_share_auto", fma_share(b, &m->auto_1), "", "the same with margin auto");
    bench_report(r, "ns_per_gaussian", 1e9 * m->margin_1.numbers.score / m->margin_1.numbers.gaussians_scored, "ns",
                 "one thread, margin 64");
    bench_report(r, "scalar_ns_per_gaussian", 1e9 * m->scalar.numbers.score / m->scalar.numbers.gaussians_scored, "ns",
                 "our sequential scalar code: the same dot products, -O2");
    bench_report(r, "other_steps_share", others(&m->margin_1), "", "all that is not step 1, margin 64");
    bench_report(r, "other_steps_share_auto", others(&m->auto_1), "", "the same with margin auto");
    const trl_iteration *n = &m->auto_1.numbers;
    bench_report(r, "auto_redone_share", (double)n->redone / (double)n->utterances, "",
                 "of the utterances that auto searched again, wider");
    bench_report(r, "auto_audit_agreement", n->audited > 0 ? 1 - n->audited_differ / n->audited_frames : 1, "",
                 "of the audited frames: auto found what the full search finds");
}

static void report_ratios(train_bench *b, const measured *m)
{
    json_t *r = b->result;
    int copies = b->sizes.copies;
    double scalar = per_copy(b, &m->scalar, 1);
    bench_report(r, "speedup_auto_vs_scalar_margin64", scalar / per_copy(b, &m->auto_2, copies), "x",
                 "two threads with auto over sequential scalar code with margin 64");
    bench_report(r, "speedup_equal_margin", scalar / per_copy(b, &m->margin_2, copies), "x",
                 "two threads over sequential scalar code, both with margin 64");
    bench_report(r, "scaling_2_threads", m->margin_1.wall / m->margin_2.wall, "x",
                 "one thread's wall time over two's, margin 64");
    bench_report(r, "scaling_2_threads_auto", m->auto_1.wall / m->auto_2.wall, "x", "the same with margin auto");
}

static void print_steps(const char *name, const train_cost *c)
{
    const trl_iteration *n = &c->numbers;
    double all = c->steps / 100, rest = c->wall - c->steps - n->estimate;
    printf("  %-28s %6.1f %6.1f %6.1f %6.1f %6.1f   %8.3f s once (packing the model, clearing sums), M-step %.3f s\n",
           name, n->load / all, n->score / all, n->alpha / all, n->backtrack / all, n->accumulate / all, rest,
           n->estimate);
}

static void print_hours(json_t *list, const char *name, double hours)
{
    printf("  %-48s %10.1f\n", name, hours);
    json_object_set_new(list, name, json_real(hours));
}

/* Beside the paper's figures, which are other machines' and another corpus'. */
static void report_hours(train_bench *b, const measured *m)
{
    double hour = 3600 * b->w.all.hours, hours = 3600 * b->many.hours;
    json_t *list = json_object();
    bench_report(b->result, "hours_per_hour", hours / m->auto_2.wall, "",
                 "of sound per hour and iteration: 32 components, auto, two threads");
    printf("  hours of sound per hour, one iteration with 32 components:\n");
    print_hours(list, "sequential scalar code, margin 64", hour / per_copy(b, &m->scalar, 1));
    print_hours(list, "one thread, no pruning", hour / m->full_1.wall);
    print_hours(list, "two threads, no pruning", hour / m->full_2.wall);
    print_hours(list, "one thread, margin 64", hours / m->margin_1.wall);
    print_hours(list, "two threads, margin 64", hours / m->margin_2.wall);
    print_hours(list, "one thread, margin auto", hours / m->auto_1.wall);
    print_hours(list, "two threads, margin auto", hours / m->auto_2.wall);
    print_hours(list, "[000] sequential CPU, no pruning", 7.2);
    print_hours(list, "[000] sequential CPU, pruning", 31.3);
    print_hours(list, "[000] GTX 580, no pruning", 1582.3);
    print_hours(list, "[000] GTX 580, pruning", 2966.2);
    json_object_set_new(b->result, "hours_per_hour_table", list);
    printf("  %% of the steps' time               load  step 1  alpha backtr accum.\n");
    print_steps("margin 64, one thread", &m->margin_1);
    print_steps("auto, one thread", &m->auto_1);
    print_steps("no pruning, one thread", &m->full_1);
    print_steps("scalar, margin 64", &m->scalar);
}

/* ---- The whole ---- */

static void describe(train_bench *b)
{
    const trl_model *model = b->w.model;
    double bytes = 8.0 * (WORKLOAD_DIM + 1) * (double)trl_model_gaussians(model);
    bench_report(b->result, "workload_hours", b->many.hours, "h", "of sound per iteration, copies included");
    bench_report(b->result, "workload_utterances", (double)b->w.all.data.count, "", "different ones");
    bench_report(b->result, "workload_mean_seconds", 3600 * b->w.all.hours / (double)b->w.all.data.count, "s",
                 "per utterance");
    bench_report(b->result, "workload_tied_states", trl_model_tied_states(model), "", "of 32 Gaussians, 39 dimensions");
    bench_report(b->result, "workload_parameters_mb", bytes / 1e6, "MB", "");
}

static int bench_run(const bench_options *options, json_t *result)
{
    train_bench b = {.options = options, .result = result, .runs = json_array(), .sizes = choose_sizes(options)};
    train_measure_memory(&b);
    workload_create(&b.w, b.sizes.hours, b.sizes.tied_states, SEED);
    align_first(&b);
    describe(&b);
    measured m = measure_iterations(&b);
    report_step_1(&b, &m);
    report_ratios(&b, &m);
    report_hours(&b, &m);
    train_measure_tables(&b);
    train_measure_pruning(&b);
    train_set_free(&b.many);
    workload_destroy(&b.w);
    train_measure_an4(&b);
    train_measure_hmmlearn(&b);
    json_object_set_new(result, "runs", b.runs);
    return 0;
}

const bench bench_train = {
    "train", "Viterbi training and alignment: FMA peak, scalar code, [000]'s tables, hmmlearn, Kaldi, pocketsphinx",
    bench_run};
