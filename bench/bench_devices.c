/* Devices: every operation of the backend on every device and in every shape, and whole iterations of training, against the
 * processor's own kernels in the same run.
 *
 * Ratios are of processor time where the device is the host's processor, else of wall time, the processor's own being that of one core.
 * gflops and bytes over seconds say how far from a device's limits it is; a second table, how much of an operation is the way there and back.
 */
#include "backend/device/device_backend.h"
#include "device_bench.h"
#include "train_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BATCH 64
#define MOST_RUNS 20
#define RUNS_IF_SLOW 2 /* a shape that does not suit the device is up to a hundred times slower */
#define WATCHED_RUNS 3

static const char *const op_name[DEVICE_OPERATIONS] = {
    "frames", "score", "viterbi", "backtrack", "accumulate", "forward_backward", "accumulate_soft"};

typedef struct measured {
    device_cost op[DEVICE_OPERATIONS];
} measured;

/* ---- The devices ---- */

/* The shape that trellis chooses for a device: "cpu", "gpu". */
static int is_chosen(const char *name, const char *level)
{
    trl__device *device;
    trl_error err;
    if (trl__device_open(name, &device, &err) < 0)
        return 0;
    int chosen = strcmp(device->info.level, level) == 0;
    trl__device_close(device);
    return chosen;
}

static void open_devices(const bench_options *o, device_choice all[DEVICE_CHOICES])
{
    char opencl[BENCH_DEVICE_NAME];
    bench_device(o, "opencl", opencl);
    all[0] = (device_choice){.name = "cpu", .is_main = 1};
    all[1] = all[2] = (device_choice){.family = "opencl"};
    snprintf(all[1].name, sizeof all[1].name, "%s:cpu", opencl);
    snprintf(all[2].name, sizeof all[2].name, "%s:gpu", opencl);
    all[3] = (device_choice){.family = "cuda", .is_main = 1};
    bench_device(o, "cuda", all[3].name);
    for (int i = 0; i < DEVICE_CHOICES; i++) {
        device_choice *d = &all[i];
        if (trl__device_open(d->name, &d->device, &d->why) < 0) {
            d->device = NULL;
            continue;
        }
        if (!d->family) {
            d->is_processor = 1;
            continue;
        }
        d->is_processor = ((const trl__driven_device *)d->device)->facts.is_processor;
        d->is_main = d->is_main || is_chosen(opencl, d->device->info.level);
        d->empty_launch = device_empty_launch(d->device);
    }
    all[1].is_main = all[1].is_main || !all[2].is_main; /* none at all: one has to say so */
}

static void close_devices(device_choice all[DEVICE_CHOICES])
{
    for (int i = 0; i < DEVICE_CHOICES; i++)
        if (all[i].device)
            trl__device_close(all[i].device);
}

double device_ratio(const device_choice *device, const device_cost *own, const device_cost *cost)
{
    return device->is_processor ? own->cpu / cost->cpu : own->wall / cost->wall;
}

void device_report(json_t *result, const device_choice *device, const char *before, const char *after, double ratio,
                   const char *meaning)
{
    char key[80];
    if (!device->family || !device->is_main)
        return;
    snprintf(key, sizeof key, "%s_%s_%s", before, device->family, after);
    if (device->device)
        bench_report(result, key, ratio, "x", meaning);
    else
        bench_absent(result, key, device->why.text);
}

/* ---- One pass over the operations ---- */

static void run_op(int op, trl__stream *stream, const trl__parameters *p, trl__search *s, size_t count,
                   trl__local_stats *local)
{
    trl_error err;
    int code = op == DEVICE_FRAMES             ? trl__stream_frames(stream, p, s, count, &err)
               : op == DEVICE_SCORE            ? trl__stream_score(stream, p, s, count, &err)
               : op == DEVICE_VITERBI          ? trl__stream_viterbi(stream, s, count, &err)
               : op == DEVICE_BACKTRACK        ? trl__stream_backtrack(stream, s, count, &err)
               : op == DEVICE_ACCUMULATE       ? trl__stream_accumulate(stream, p, s, count, local, &err)
               : op == DEVICE_FORWARD_BACKWARD ? trl__stream_forward_backward(stream, s, count, &err)
                                               : trl__stream_accumulate_soft(stream, p, s, count, local, &err);
    bench_check(code, &err);
    bench_check(trl__stream_wait(stream, &err), &err);
}

/* A device with the task's model, and what it took. */
typedef struct runner {
    const device_choice *choice;
    trl__stream *stream;
    trl__parameters *p;
    trl__local_stats *local;
    measured run[MOST_RUNS], usual, watched;
    device_traffic traffic[DEVICE_OPERATIONS];
    int runs;
} runner;

/* All utterances through all operations, in batches as the device likes them. `traffic` NULL: the device is not watched. */
static measured run_all(const device_task *t, runner *r, trl__stream *stream, device_traffic *traffic)
{
    trl__search s[MOST_BATCH];
    measured m = {0};
    size_t likes = (size_t)r->choice->device->info.batch, batch = likes < MOST_BATCH ? likes : MOST_BATCH;
    trl__local_stats_zero(r->local);
    for (size_t first = 0; first < t->count; first += batch) {
        size_t count = t->count - first < batch ? t->count - first : batch;
        memcpy(s, t->searches + first, count * sizeof *s);
        for (int op = 0; op < DEVICE_OPERATIONS; op++) {
            double wall = bench_wall_seconds(), cpu = bench_cpu_seconds();
            run_op(op, stream, r->p, s, count, r->local);
            m.op[op].wall += bench_wall_seconds() - wall;
            m.op[op].cpu += bench_cpu_seconds() - cpu;
            if (traffic) {
                const device_traffic now = device_watched();
                device_traffic *all = &traffic[op];
                *all = (device_traffic){all->sends + now.sends,
                                        all->fetches + now.fetches,
                                        all->launches + now.launches,
                                        all->sent + now.sent,
                                        all->fetched + now.fetched,
                                        all->send_seconds + now.send_seconds,
                                        all->fetch_seconds + now.fetch_seconds,
                                        all->computed_seconds + now.computed_seconds};
            }
        }
    }
    return m;
}

/* Once more, one thing at a time: of some runs the last, when memory has grown and the machine is warm. */
static void run_watched(const device_task *t, runner *r)
{
    trl__device *device = r->choice->device;
    trl__stream *stream;
    trl_error err;
    device_watch(device);
    bench_check(trl__stream_create(device, &stream, &err), &err);
    for (int i = 0; i < WATCHED_RUNS; i++) {
        memset(r->traffic, 0, sizeof r->traffic);
        r->watched = run_all(t, r, stream, r->traffic);
    }
    trl__stream_destroy(stream);
    device_unwatch(device);
}

static void open_runner(const device_task *t, const device_choice *choice, runner *r)
{
    trl_error err;
    *r = (runner){.choice = choice};
    if (!choice->device)
        return;
    bench_check(trl__stream_create(choice->device, &r->stream, &err), &err);
    bench_check(trl__device_load_model(choice->device, t->model, NULL, &r->p, &err), &err);
    bench_check(trl__local_stats_create(t->model, &r->local, &err), &err);
}

static void close_runner(runner *r)
{
    if (!r->choice->device)
        return;
    trl__local_stats_destroy(r->local);
    trl__parameters_free(r->p);
    trl__stream_destroy(r->stream);
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
    for (int op = 0; op < DEVICE_OPERATIONS; op++) {
        double wall[MOST_RUNS], cpu[MOST_RUNS];
        for (int i = 0; i < r->runs; i++) {
            wall[i] = r->run[i].op[op].wall;
            cpu[i] = r->run[i].op[op].cpu;
        }
        r->usual.op[op] = (device_cost){median(wall, r->runs), median(cpu, r->runs)};
    }
}

/* Devices take turns, so that all of them see the machine's fast and slow moments. */
static void measure(const device_task *t, runner *all, int runs)
{
    for (int i = 0; i <= runs; i++)
        for (int k = 0; k < DEVICE_CHOICES; k++) {
            runner *r = &all[k];
            if (!r->choice->device || (i > RUNS_IF_SLOW && !r->choice->is_main))
                continue;
            measured m = run_all(t, r, r->stream, NULL);
            if (i > 0) /* the first one builds kernels and grows memory */
                r->run[r->runs++] = m;
        }
    for (int k = 0; k < DEVICE_CHOICES; k++)
        if (all[k].choice->device)
            find_usual(&all[k]);
    for (int k = 0; k < DEVICE_CHOICES; k++)
        if (all[k].choice->device && all[k].choice->family)
            run_watched(t, &all[k]);
}

static void list(const device_task *t, const runner *r, const measured *own, json_t *operations)
{
    device_row rows[DEVICE_OPERATIONS];
    for (int op = 0; op < DEVICE_OPERATIONS; op++) {
        rows[op] = (device_row){
            .cost = r->usual.op[op], .own = own->op[op], .traffic = r->traffic[op], .watched = r->watched.op[op].wall};
        snprintf(rows[op].name, sizeof rows[op].name, "%s", op_name[op]);
        device_task_needs(t, op, &rows[op].flops, &rows[op].bytes);
    }
    device_table(operations, r->choice, "operation", "vs_avx2", rows, DEVICE_OPERATIONS);
}

static void tell_needs(const device_task *t, json_t *roofline)
{
    const double frames = device_task_frames(t);
    for (int op = 0; op < DEVICE_OPERATIONS; op++) {
        double flops, bytes;
        device_task_needs(t, op, &flops, &bytes);
        device_needs_per(roofline, "frame", op_name[op], flops / frames, bytes / frames, 0);
    }
}

static void measure_operations(const bench_options *o, const device_choice *devices, json_t *result, json_t *operations)
{
    device_task t = device_task_make(o);
    runner all[DEVICE_CHOICES];
    tell_needs(&t, json_object_get(result, "roofline"));
    for (int i = 0; i < DEVICE_CHOICES; i++)
        open_runner(&t, &devices[i], &all[i]);
    measure(&t, all, o->tiny ? 1 : o->quick ? 5 : MOST_RUNS);
    for (int i = 0; i < DEVICE_CHOICES; i++)
        if (devices[i].device)
            list(&t, &all[i], &all[DEVICE_OWN].usual, operations);
    for (int i = 0; i < DEVICE_CHOICES; i++) {
        const device_cost *own = &all[DEVICE_OWN].usual.op[DEVICE_SCORE];
        device_report(result, &devices[i], "step1", "vs_avx2",
                      device_ratio(&devices[i], own, &all[i].usual.op[DEVICE_SCORE]),
                      "speed of observation probabilities");
        close_runner(&all[i]);
    }
    device_task_free(&t);
}

/* ---- Iterations ---- */

/* Whole iterations of training on all devices, which take turns; the least times. */
static void measure_iterations(const bench_options *o, const device_choice *devices, json_t *result)
{
    workload w;
    device_cost best[DEVICE_CHOICES];
    workload_create(&w, o->tiny ? 0.01 : o->quick ? 0.05 : 0.3, o->tiny ? 200 : 2000, 4);
    train_how how = {"first alignment", "cpu", 2, TRL_MARGIN_AUTO, 0, 1, TRL_EM_SHARED, 0};
    trl_model *half = workload_model(&w, WORKLOAD_COMPONENTS / 2);
    train_iterate(NULL, &w.all, w.lexicon, half, &how, &w.all.previous, NULL);
    trl_model_destroy(half);
    for (int k = 0; k < DEVICE_CHOICES; k++)
        best[k] = (device_cost){INFINITY, INFINITY};
    for (int i = 0; i < (o->tiny ? 1 : 5); i++)
        for (int k = 0; k < DEVICE_CHOICES; k++) {
            if (!devices[k].device || !devices[k].is_main)
                continue;
            train_how now = {"iteration", devices[k].name, 2, TRL_MARGIN_AUTO, 0, 0, TRL_EM_SHARED, 0};
            train_cost c = train_iterate(NULL, &w.all, w.lexicon, w.model, &now, NULL, NULL);
            best[k] = (device_cost){fmin(best[k].wall, c.wall), fmin(best[k].cpu, c.cpu)};
        }
    workload_destroy(&w);
    for (int k = 0; k < DEVICE_CHOICES; k++) {
        char key[80];
        snprintf(key, sizeof key, "iteration_seconds_%s", devices[k].family ? devices[k].family : "cpu");
        if (devices[k].device && devices[k].is_main)
            bench_report(result, key, devices[k].is_processor ? best[k].cpu : best[k].wall, "s", devices[k].name);
        device_report(result, &devices[k], "iteration", "vs_avx2",
                      device_ratio(&devices[k], &best[DEVICE_OWN], &best[k]), "speed of a whole iteration");
    }
}

static int run(const bench_options *o, json_t *result)
{
    device_choice devices[DEVICE_CHOICES];
    json_t *operations = json_object();
    json_object_set_new(result, "operations", operations);
    json_object_set_new(result, "roofline", json_object());
    open_devices(o, devices);
    measure_operations(o, devices, result, operations);
    measure_iterations(o, devices, result);
    device_machines(o, devices, result, operations);
    close_devices(devices);
    return 0;
}

const bench bench_devices = {"devices", "every operation on every device, and whole iterations of training", run};
