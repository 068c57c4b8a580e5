/* Devices: every operation of the backend on every device and in every shape, and whole iterations of training, against the
 * processor's own kernels in the same run.
 *
 * Ratios are of processor time where the device is the host's processor: its driver's threads would otherwise count for nothing. On other
 * devices they are of wall time. An operation's bytes are what it must read and write at least once, its flops those of the formulas:
 * gflops and bytes over seconds say how far from a device's limits it is.
 */
#include "device_bench.h"
#include "train_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trellis/device.h>

#define DIM 39
#define FRAMES 360
#define NODES 90
#define MARGIN 10 /* frames before and behind a node's own */
#define MOST_BATCH 64
#define MOST_RUNS 20

enum { OWN, CPU_SHAPE, GPU_SHAPE, CUDA, DEVICES };
enum { OP_FRAMES, OP_SCORE, OP_VITERBI, OP_BACKTRACK, OP_ACCUMULATE, OP_FORWARD_BACKWARD, OP_ACCUMULATE_SOFT, OPS };
static const char *const op_name[OPS] = {"frames",           "score",          "viterbi", "backtrack", "accumulate",
                                         "forward_backward", "accumulate_soft"};

/* One utterance: a chain of nodes along a path that visits all of them equally long. */
typedef struct utterance {
    trl_matrix frames;
    trl__row row[NODES];
    int32_t tied[NODES], node_row[NODES], first[NODES], end[NODES];
    int32_t arc_first[NODES + 2], arc_from[2 * NODES + 1], transition[2 * NODES + 1];
    float weight[2 * NODES + 1];
    double alpha[NODES + 1], arc_count[2 * NODES + 1];
    int64_t back_offset[NODES], gamma_offset[NODES];
    int32_t path[FRAMES], path_arc[FRAMES];
    uint8_t *back;
    float *scores, *gamma;
    trl__search s;
} utterance;

typedef struct task {
    trl_model *model;
    utterance *all;
    size_t count;
    double cells; /* of all bands */
} task;

typedef struct cost {
    double wall, cpu;
} cost;

typedef struct measured {
    cost op[OPS];
} measured;

/* ---- The task ---- */

static uint64_t drawn;

static float draw(void)
{
    return (float)((drawn = drawn * 6364136223846793005u + 1442695040888963407u) >> 40) * 0x1p-24f;
}

static void make_arcs(utterance *u)
{
    int32_t arcs = 0;
    for (int32_t n = 0; n <= NODES; n++) {
        u->arc_first[n] = arcs;
        u->arc_from[arcs++] = n - 1; /* the first one's is TRL__START */
        if (n < NODES)
            u->arc_from[arcs++] = n;
    }
    u->arc_first[NODES + 1] = arcs;
    for (int32_t a = 0; a < arcs; a++) {
        u->weight[a] = -0.7f;
        u->transition[a] = u->arc_from[a] >= 0;
    }
}

static void make_utterance(utterance *u, const trl_model *model, double *cells)
{
    trl_error err;
    int64_t floats = 0, total = 0;
    bench_check(trl_matrix_resize(&u->frames, FRAMES, DIM, &err), &err);
    for (size_t i = 0; i < (size_t)FRAMES * DIM; i++)
        u->frames.data[i] = 2 * draw() - 1;
    make_arcs(u);
    for (int32_t n = 0; n < NODES; n++) {
        int32_t from = n * FRAMES / NODES - MARGIN, to = (n + 1) * FRAMES / NODES + MARGIN;
        u->first[n] = from > 0 ? from : 0;
        u->end[n] = to < FRAMES ? to : FRAMES;
        u->tied[n] = (int32_t)(draw() * (float)model->tied_states);
        u->node_row[n] = n;
        u->row[n] = (trl__row){u->tied[n], u->first[n], u->end[n], floats};
        u->back_offset[n] = 64 * floats / TRL__ROW_PAD;
        u->gamma_offset[n] = total;
        floats += (u->end[n] - u->first[n] + TRL__ROW_PAD - 1) / TRL__ROW_PAD * TRL__ROW_PAD;
        total += u->end[n] - u->first[n];
    }
    *cells += (double)total;
    u->scores = aligned_alloc(64, (size_t)(floats + TRL__ROW_PAD) * sizeof(float));
    u->gamma = malloc((size_t)total * sizeof(float));
    u->back = calloc((size_t)floats + 64, 1);
    u->s = (trl__search){.frames = &u->frames,
                         .end = FRAMES,
                         .keep = 1,
                         .rows = NODES,
                         .row = u->row,
                         .scores = u->scores,
                         .stays = 1,
                         .nodes = NODES,
                         .node_end = NODES,
                         .node_tied = u->tied,
                         .node_row = u->node_row,
                         .node_first = u->first,
                         .node_end_frame = u->end,
                         .arc_first = u->arc_first,
                         .arc_from = u->arc_from,
                         .arc_weight = u->weight,
                         .arc_transition = u->transition,
                         .back_bits = 1,
                         .alpha = u->alpha,
                         .back = u->back,
                         .back_offset = u->back_offset,
                         .path = u->path,
                         .path_arc = u->path_arc,
                         .shares = 1,
                         .gamma = u->gamma,
                         .gamma_offset = u->gamma_offset,
                         .arc_count = u->arc_count};
}

static trl_model *make_model(int32_t states, int32_t components)
{
    size_t gaussians = (size_t)states * (size_t)components, floats = gaussians * DIM;
    trl_model *m = calloc(1, sizeof *m);
    *m = (trl_model){.dim = DIM, .tied_states = states, .transitions = 1};
    m->first_gaussian = malloc(((size_t)states + 1) * sizeof(int32_t));
    m->log_weight = malloc(gaussians * sizeof(float));
    m->mean = malloc(floats * sizeof(float));
    m->variance = malloc(floats * sizeof(float));
    for (int32_t s = 0; s <= states; s++)
        m->first_gaussian[s] = s * components;
    for (size_t i = 0; i < gaussians; i++)
        m->log_weight[i] = -logf((float)components);
    for (size_t i = 0; i < floats; i++) {
        m->mean[i] = 2 * draw() - 1;
        m->variance[i] = 0.5f + draw();
    }
    return m;
}

static task make_task(const bench_options *o)
{
    task t = {.count = o->tiny ? 4 : 32};
    drawn = 9;
    t.model = make_model(o->tiny ? 50 : 2000, WORKLOAD_COMPONENTS);
    t.all = calloc(t.count, sizeof *t.all);
    for (size_t i = 0; i < t.count; i++)
        make_utterance(&t.all[i], t.model, &t.cells);
    return t;
}

static void free_task(task *t)
{
    for (size_t i = 0; i < t->count; i++) {
        trl_matrix_free(&t->all[i].frames);
        free(t->all[i].scores);
        free(t->all[i].gamma);
        free(t->all[i].back);
    }
    free(t->all);
    free(t->model->first_gaussian);
    free(t->model->log_weight);
    free(t->model->mean);
    free(t->model->variance);
    free(t->model);
}

/* ---- One pass over the operations ---- */

static void run_op(int op, trl__stream *stream, const trl__parameters *p, trl__search *s, size_t count,
                   trl__local_stats *local)
{
    trl_error err;
    int code = op == OP_FRAMES             ? trl__stream_frames(stream, p, s, count, &err)
               : op == OP_SCORE            ? trl__stream_score(stream, p, s, count, &err)
               : op == OP_VITERBI          ? trl__stream_viterbi(stream, s, count, &err)
               : op == OP_BACKTRACK        ? trl__stream_backtrack(stream, s, count, &err)
               : op == OP_ACCUMULATE       ? trl__stream_accumulate(stream, p, s, count, local, &err)
               : op == OP_FORWARD_BACKWARD ? trl__stream_forward_backward(stream, s, count, &err)
                                           : trl__stream_accumulate_soft(stream, p, s, count, local, &err);
    bench_check(code, &err);
    bench_check(trl__stream_wait(stream, &err), &err);
}

/* All utterances through all operations, in batches as the device likes them. */
static void run_all(const task *t, trl__device *device, trl__stream *stream, const trl__parameters *p,
                    trl__local_stats *local, measured *m)
{
    trl__search s[MOST_BATCH];
    size_t batch = (size_t)device->info.batch < MOST_BATCH ? (size_t)device->info.batch : MOST_BATCH;
    for (size_t first = 0; first < t->count; first += batch) {
        size_t count = t->count - first < batch ? t->count - first : batch;
        for (size_t i = 0; i < count; i++)
            s[i] = t->all[first + i].s;
        for (int op = 0; op < OPS; op++) {
            double wall = bench_wall_seconds(), cpu = bench_cpu_seconds();
            run_op(op, stream, p, s, count, local);
            m->op[op].wall += bench_wall_seconds() - wall;
            m->op[op].cpu += bench_cpu_seconds() - cpu;
        }
    }
}

/* A device with the task's model, and what it took. */
typedef struct runner {
    const char *name;
    trl__device *device; /* NULL: there is none */
    trl__stream *stream;
    trl__parameters *p;
    trl__local_stats *local;
    measured run[MOST_RUNS], usual;
    int runs;
} runner;

static void open_runner(const task *t, const char *name, runner *r)
{
    trl_error err;
    *r = (runner){.name = name};
    if (trl__device_open(name, 0, &r->device, &err) < 0) {
        printf("  %s: %s\n", name, err.text);
        r->device = NULL;
        return;
    }
    bench_check(trl__stream_create(r->device, &r->stream, &err), &err);
    bench_check(trl__device_load_model(r->device, t->model, NULL, &r->p, &err), &err);
    bench_check(trl__local_stats_create(t->model, &r->local, &err), &err);
}

static void close_runner(runner *r)
{
    if (!r->device)
        return;
    trl__local_stats_destroy(r->local);
    trl__parameters_free(r->p);
    trl__stream_destroy(r->stream);
    trl__device_close(r->device);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* Medians: the least processor time is now and then one that a driver's thread was only charged for later. */
static void find_usual(runner *r)
{
    for (int op = 0; op < OPS; op++) {
        double wall[MOST_RUNS], cpu[MOST_RUNS];
        for (int i = 0; i < r->runs; i++) {
            wall[i] = r->run[i].op[op].wall;
            cpu[i] = r->run[i].op[op].cpu;
        }
        r->usual.op[op] = (cost){median(wall, r->runs), median(cpu, r->runs)};
    }
}

static void run_once(const task *t, runner *r, int counts)
{
    measured run = {0};
    trl__local_stats_zero(r->local);
    run_all(t, r->device, r->stream, r->p, r->local, &run);
    if (counts)
        r->run[r->runs++] = run;
}

/* Devices take turns, so that all of them see the machine's fast and slow moments. */
static void measure(const task *t, runner *all, int count, int runs)
{
    for (int i = 0; i <= runs; i++) /* the first one builds kernels and grows memory */
        for (int k = 0; k < count; k++)
            if (all[k].device && (i <= 2 || k != GPU_SHAPE)) /* a hundred times slower on a processor */
                run_once(t, &all[k], i > 0);
    for (int k = 0; k < count; k++)
        if (all[k].device)
            find_usual(&all[k]);
}

/* ---- What an operation must do ---- */

static void needs(const task *t, int op, double *flops, double *bytes)
{
    double frames = (double)t->count * FRAMES, c = WORKLOAD_COMPONENTS, nodes = (double)t->count * NODES;
    double parameters = nodes * c * (1 + 2 * DIM) * 4, lanes = frames * 2 * DIM * 4;
    *flops = 0;
    *bytes = 0;
    if (op == OP_FRAMES) {
        *flops = 2 * frames * DIM;
        *bytes = frames * DIM * 4 + lanes;
    } else if (op == OP_SCORE) {
        *flops = t->cells * c * 4 * DIM;
        *bytes = parameters + lanes + t->cells * 4;
    } else if (op == OP_VITERBI) {
        *flops = t->cells * 5;
        *bytes = t->cells * (4 + 2 * 8 + 0.125);
    } else if (op == OP_BACKTRACK) {
        *bytes = frames * (0.125 + 8);
    } else if (op == OP_FORWARD_BACKWARD) {
        *flops = t->cells * 30;
        *bytes = t->cells * (2 * 4 + 4 * 8 + 4);
    } else { /* step 3: the aligned frames' states once more, then sums */
        double scored = op == OP_ACCUMULATE ? frames : t->cells;
        *flops = scored * c * 8 * DIM;
        *bytes = parameters + scored * (2 * DIM * 4 + DIM * 4 + 2 * c * 4) + nodes * c * (1 + 2 * DIM) * 8;
    }
}

static json_t *list(const task *t, const char *name, const measured *m, const measured *own)
{
    json_t *ops = json_object();
    printf("\n  %s\n  %-18s %10s %10s %10s %10s %12s\n", name, "operation", "ms", "CPU ms", "GFLOP/s", "GB/s",
           "of the CPU's");
    for (int op = 0; op < OPS; op++) {
        double flops, bytes;
        needs(t, op, &flops, &bytes);
        json_object_set_new(ops, op_name[op],
                            json_pack("{s:f, s:f, s:f, s:f, s:f}", "seconds", m->op[op].wall, "cpu_seconds",
                                      m->op[op].cpu, "gflops", 1e-9 * flops / m->op[op].wall, "bytes", bytes, "vs_avx2",
                                      own->op[op].cpu / m->op[op].cpu));
        printf("  %-18s %10.2f %10.2f %10.1f %10.1f %11.2fx\n", op_name[op], 1e3 * m->op[op].wall, 1e3 * m->op[op].cpu,
               1e-9 * flops / m->op[op].wall, 1e-9 * bytes / m->op[op].wall, own->op[op].cpu / m->op[op].cpu);
    }
    return ops;
}

/* ---- Iterations ---- */

/* A whole iteration of training on both; the ratio of their times. */
static void measure_iterations(const bench_options *o, json_t *result, const char *device, int is_processor)
{
    workload w;
    double best[2] = {INFINITY, INFINITY};
    workload_create(&w, o->tiny ? 0.01 : o->quick ? 0.05 : 0.3, o->tiny ? 200 : 2000, 4);
    train_how how = {"first alignment", "cpu", 2, TRL_MARGIN_AUTO, 0, 1, TRL_EM_SHARED, 0};
    trl_model *half = workload_model(&w, WORKLOAD_COMPONENTS / 2);
    train_iterate(NULL, &w.all, w.lexicon, half, &how, &w.all.previous, NULL);
    trl_model_destroy(half);
    for (int i = 0; i < (o->tiny ? 2 : 10); i++) {
        train_how now = {"iteration", i % 2 ? device : "cpu", 2, TRL_MARGIN_AUTO, 0, 0, TRL_EM_SHARED, 0};
        train_cost c = train_iterate(NULL, &w.all, w.lexicon, w.model, &now, NULL, NULL);
        best[i % 2] = fmin(best[i % 2], is_processor ? c.cpu : c.wall);
    }
    workload_destroy(&w);
    bench_report(result, "iteration_seconds_cpu", best[0], "s", "a whole iteration on the processor");
    bench_report(result, "iteration_seconds_opencl", best[1], "s", device);
    bench_report(result, "iteration_opencl_vs_avx2", best[0] / best[1], "x", "speed of a whole iteration");
}

static int run(const bench_options *o, json_t *result)
{
    static const char *const names[DEVICES] = {"cpu", "opencl:0:cpu", "opencl:0:gpu", "cuda:0"};
    task t = make_task(o);
    runner all[DEVICES];
    json_t *devices = json_object();
    json_object_set_new(result, "operations", devices);
    for (int i = 0; i < DEVICES; i++)
        open_runner(&t, names[i], &all[i]);
    measure(&t, all, DEVICES, o->tiny ? 1 : o->quick ? 5 : MOST_RUNS);
    for (int i = 0; i < DEVICES; i++)
        if (all[i].device)
            json_object_set_new(
                devices, names[i],
                list(&t, i == OWN ? all[i].device->info.name : names[i], &all[i].usual, &all[OWN].usual));
    int found = all[CPU_SHAPE].device != NULL;
    if (found)
        bench_report(result, "step1_opencl_vs_avx2",
                     all[OWN].usual.op[OP_SCORE].cpu / all[CPU_SHAPE].usual.op[OP_SCORE].cpu, "x",
                     "speed of observation probabilities, by processor time");
    for (int i = 0; i < DEVICES; i++)
        close_runner(&all[i]);
    if (found) {
        measure_iterations(o, result, "opencl:0", 1);
    } else {
        bench_absent(result, "step1_opencl_vs_avx2", "there is no OpenCL device");
        bench_absent(result, "iteration_opencl_vs_avx2", "there is no OpenCL device");
    }
    device_machines(o, result, devices);
    free_task(&t);
    return 0;
}

const bench bench_devices = {"devices", "every operation on every device, and whole iterations of training", run};
