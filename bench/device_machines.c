/* Transducers on devices: inputs through a random machine by every operation, all arcs and arcs of live states, beside the processor's
 * methods serial and frontier ([002] 7).
 *
 * Flops and bytes are those of walking every arc of each input's symbols, once in each direction: an arc (8 bytes), its source, the source's
 * value, its target's cell read and written; a logarithm with its exponential counts as 30 flops. */
#include "device_bench.h"
#include "backend/backend.h"
#include "transduce/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LABELS 40
#define LENGTH 20 /* of an input */

enum { OPERATIONS = 4, METHODS = 2 };
static const char *const operation_name[OPERATIONS] = {"fst_viterbi", "fst_forward", "fst_backward", "fst_counts"};
static const char *const method_name[METHODS] = {"all_arcs", "frontier"};
static const trl_transduce_method methods[METHODS] = {TRL_METHOD_SERIAL, TRL_METHOD_FRONTIER};

typedef struct machine_task {
    trl_transducer *t;
    int32_t labels[64][LENGTH];
    trl_transduce_input input[64];
    size_t inputs;
    double arcs; /* of all inputs' symbols */
} machine_task;

typedef struct machine_cost {
    double wall, cpu;
} machine_cost;

/* ---- The task ---- */

static uint32_t draw(uint32_t limit)
{
    static uint64_t state = 77;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((state >> 33) * (uint64_t)limit) >> 31);
}

static machine_task make_task(const bench_options *o)
{
    machine_task task = {.inputs = o->tiny ? 4 : 64};
    const uint32_t states = o->tiny ? 100 : o->quick ? 2000 : 10000, arcs = 5 * states;
    trl_transducer_builder *b;
    trl_error err;
    bench_check(trl_transducer_builder_create((int32_t)states, 0, &b, &err), &err);
    for (int32_t label = 1; label <= LABELS; label++)
        for (uint32_t k = 0; k < arcs; k++)
            bench_check(trl_transducer_builder_arc(b, label, (int32_t)(k % states), (int32_t)draw(states),
                                                   (int32_t)draw(LABELS), (float)draw(1000) / 200, &err),
                        &err);
    for (uint32_t q = 0; q < states; q += 3)
        bench_check(trl_transducer_builder_final(b, (int32_t)q, 0, &err), &err);
    bench_check(trl_transducer_builder_finish(b, &task.t, &err), &err);
    task.arcs = (double)task.inputs * LENGTH * arcs;
    return task;
}

static void draw_inputs(machine_task *task)
{
    for (size_t i = 0; i < task->inputs; i++) {
        for (int k = 0; k < LENGTH; k++)
            task->labels[i][k] = 1 + (int32_t)draw(LABELS);
        task->input[i] = (trl_transduce_input){.labels = task->labels[i], .count = LENGTH};
    }
}

static void needs(const machine_task *task, int operation, double *flops, double *bytes)
{
    const double passes = operation < TRL_TRANSDUCE_BACKWARD ? 1 : 2;
    *flops = task->arcs * (operation == TRL_TRANSDUCE_VITERBI ? 2 : 30 * passes);
    *bytes = task->arcs * (operation == TRL_TRANSDUCE_VITERBI ? 8 + 4 + 4 + 16 : (8 + 4 + 8 + 16) * passes) +
             (operation == TRL_TRANSDUCE_COUNTS ? task->arcs * 16 : 0);
}

/* ---- Measuring ---- */

static int add_weight(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    (void)index, (void)err;
    *(double *)user += result->weight;
    return 0;
}

/* All inputs once; the sum of their weights. The first call of a work sends the machine up and grows memory. */
static double run_once(const machine_task *task, trl_transduce_work *w, int operation, machine_cost *best)
{
    trl_error err;
    double sum = 0, wall = bench_wall_seconds(), cpu = bench_cpu_seconds();
    if (w->device) {
        bench_check(trl__on_device_many(w, (trl_transduce_operation)operation, task->input, task->inputs, add_weight,
                                        &sum, &err),
                    &err);
    } else {
        for (size_t i = 0; i < task->inputs; i++) {
            trl_transduction result;
            bench_check(trl_transduce(w, (trl_transduce_operation)operation, &task->input[i], &result, &err), &err);
            sum += result.weight;
        }
    }
    best->wall = fmin(best->wall, bench_wall_seconds() - wall);
    best->cpu = fmin(best->cpu, bench_cpu_seconds() - cpu);
    return sum;
}

/* `device` NULL: the processor. wanted: the sums that must come out, or are put there. */
static void measure(const machine_task *task, trl__device *device, int runs, double wanted[OPERATIONS],
                    machine_cost costs[METHODS][OPERATIONS])
{
    trl_error err;
    for (int m = 0; m < METHODS; m++) {
        trl_transduce_work *w;
        const trl_transduce_options options = {.method = methods[m]};
        bench_check(trl_transduce_create(task->t, &options, &w, &err), &err);
        if (device)
            bench_check(trl__on_device_attach(w, device, &err), &err);
        for (int op = 0; op < OPERATIONS; op++) {
            machine_cost ignored = {INFINITY, INFINITY};
            double sum = run_once(task, w, op, &ignored);
            if (!device && m == 0)
                wanted[op] = sum;
            if (!(fabs(sum - wanted[op]) <= 1e-5 * fabs(wanted[op]))) {
                fprintf(stderr, "trellis-bench: %s: weights of %.9g, not %.9g\n", operation_name[op], sum, wanted[op]);
                exit(3);
            }
            costs[m][op] = (machine_cost){INFINITY, INFINITY};
            for (int i = 0; i < runs; i++)
                run_once(task, w, op, &costs[m][op]);
        }
        trl_transduce_destroy(w);
    }
}

static void list(const machine_task *task, const char *name, machine_cost costs[METHODS][OPERATIONS],
                 const machine_cost serial[OPERATIONS], json_t *operations)
{
    json_t *ops = json_object_get(operations, name);
    printf("\n  %s\n  %-24s %10s %10s %10s %10s %12s\n", name, "transducers", "ms", "CPU ms", "GFLOP/s", "GB/s",
           "of serial's");
    for (int op = 0; op < OPERATIONS; op++)
        for (int m = 0; m < METHODS; m++) {
            char key[40];
            double flops, bytes;
            const machine_cost *c = &costs[m][op];
            needs(task, op, &flops, &bytes);
            snprintf(key, sizeof key, "%s_%s", operation_name[op], method_name[m]);
            if (ops)
                json_object_set_new(ops, key,
                                    json_pack("{s:f, s:f, s:f, s:f, s:f}", "seconds", c->wall, "cpu_seconds", c->cpu,
                                              "gflops", 1e-9 * flops / c->wall, "bytes", bytes, "vs_serial",
                                              serial[op].cpu / c->cpu));
            printf("  %-24s %10.2f %10.2f %10.2f %10.2f %11.2fx\n", key, 1e3 * c->wall, 1e3 * c->cpu,
                   1e-9 * flops / c->wall, 1e-9 * bytes / c->wall, serial[op].cpu / c->cpu);
        }
}

void device_machines(const bench_options *o, json_t *result, json_t *operations)
{
    static const char *const names[] = {"opencl:0:cpu", "opencl:0:gpu", "cuda:0"};
    machine_task task = make_task(o);
    machine_cost own[METHODS][OPERATIONS], costs[METHODS][OPERATIONS];
    double wanted[OPERATIONS];
    int runs = o->tiny ? 1 : o->quick ? 2 : 5;
    trl_error err;
    draw_inputs(&task);
    measure(&task, NULL, runs, wanted, own);
    list(&task, "cpu", own, own[0], operations);
    for (int i = 0; i < 3; i++) {
        trl__device *device;
        if (trl__device_open(names[i], 0, &device, &err) < 0) {
            if (i == 0)
                bench_absent(result, "fst_viterbi_opencl_vs_serial", err.text);
            continue;
        }
        measure(&task, device, i == 0 ? runs : 1, wanted, costs);
        list(&task, names[i], costs, own[0], operations);
        if (i == 0)
            bench_report(result, "fst_viterbi_opencl_vs_serial",
                         own[0][TRL_TRANSDUCE_VITERBI].cpu / costs[0][TRL_TRANSDUCE_VITERBI].cpu, "x",
                         "speed of the best path over all arcs, by processor time");
        trl__device_close(device);
    }
    trl_transducer_destroy(task.t);
}
