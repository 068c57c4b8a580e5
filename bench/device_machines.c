/* Transducers on devices: inputs through a random machine by every operation, all arcs and arcs of live states, beside the processor's
 * methods serial and frontier ([002] 7).
 *
 * Flops and bytes are those of walking every arc of each input's symbols, once in each direction: an arc (8 bytes), its source, the source's
 * value, its target's cell read and written; a logarithm with its exponential counts as 30 flops. */
#include "device_bench.h"
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

/* Sums of paths are in doubles; best paths are not. */
static void tell_needs(const machine_task *task, json_t *roofline)
{
    for (int op = 0; op < OPERATIONS; op++) {
        double flops, bytes;
        needs(task, op, &flops, &bytes);
        device_needs_per(roofline, "arc", operation_name[op], flops / task->arcs, bytes / task->arcs,
                         op != TRL_TRANSDUCE_VITERBI);
    }
}

/* ---- Measuring ---- */

static int add_weight(void *user, size_t index, const trl_transduction *result, trl_error *err)
{
    (void)index, (void)err;
    *(double *)user += result->weight;
    return 0;
}

/* All inputs once; the sum of their weights. The first call of a work sends the machine up and grows memory. */
static double run_once(const machine_task *task, trl_transduce_work *w, int operation, device_cost *best)
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

static void check_sum(int operation, double sum, double wanted)
{
    if (fabs(sum - wanted) <= 1e-5 * fabs(wanted))
        return;
    fprintf(stderr, "trellis-bench: %s: weights of %.9g, not %.9g\n", operation_name[operation], sum, wanted);
    exit(3);
}

/* A search by a method, on the device or, where it is not one behind a driver, the processor's own. */
static trl_transduce_work *open_work(const machine_task *task, const device_choice *choice, int method)
{
    const trl_transduce_options options = {.method = methods[method]};
    trl_transduce_work *w;
    trl_error err;
    bench_check(trl_transduce_create(task->t, &options, &w, &err), &err);
    if (choice->family)
        bench_check(trl__on_device_attach(w, choice->device, &err), &err);
    return w;
}

/* Once more, one thing at a time. */
static void run_watched(const machine_task *task, const device_choice *choice, int method, int operation,
                        device_row *row)
{
    const device_cost never = {INFINITY, INFINITY};
    device_watch(choice->device);
    trl_transduce_work *w = open_work(task, choice, method);
    for (int i = 0; i < 2; i++) {
        device_cost cost = never;
        device_watched();
        run_once(task, w, operation, &cost);
        row->watched = cost.wall;
        row->traffic = device_watched();
    }
    trl_transduce_destroy(w);
    device_unwatch(choice->device);
}

/* wanted: the sums of weights that must come out, or, from the processor, are put there. */
static void measure(const machine_task *task, const device_choice *choice, int runs, double wanted[OPERATIONS],
                    device_row rows[OPERATIONS][METHODS])
{
    for (int m = 0; m < METHODS; m++) {
        trl_transduce_work *w = open_work(task, choice, m);
        for (int op = 0; op < OPERATIONS; op++) {
            device_row *row = &rows[op][m];
            *row = (device_row){.cost = {INFINITY, INFINITY}};
            snprintf(row->name, sizeof row->name, "%s_%s", operation_name[op], method_name[m]);
            needs(task, op, &row->flops, &row->bytes);
            double sum = run_once(task, w, op, &row->cost);
            if (!choice->family && m == 0)
                wanted[op] = sum;
            check_sum(op, sum, wanted[op]);
            row->cost = (device_cost){INFINITY, INFINITY};
            for (int i = 0; i < runs; i++)
                run_once(task, w, op, &row->cost);
        }
        trl_transduce_destroy(w);
        for (int op = 0; choice->family && op < OPERATIONS; op++)
            run_watched(task, choice, m, op, &rows[op][m]);
    }
}

void device_machines(const bench_options *o, const device_choice *devices, json_t *result, json_t *operations)
{
    machine_task task = make_task(o);
    device_row rows[DEVICE_CHOICES][OPERATIONS][METHODS];
    double wanted[OPERATIONS] = {0};
    const int runs = o->tiny ? 1 : o->quick ? 2 : 5;
    draw_inputs(&task);
    tell_needs(&task, json_object_get(result, "roofline"));
    for (int i = 0; i < DEVICE_CHOICES; i++) {
        if (devices[i].device) {
            measure(&task, &devices[i], devices[i].is_main ? runs : 1, wanted, rows[i]);
            for (int op = 0; op < OPERATIONS; op++)
                for (int m = 0; m < METHODS; m++)
                    rows[i][op][m].own = rows[DEVICE_OWN][op][0].cost;
            device_table(operations, &devices[i], "transducers", "vs_serial", rows[i][0], OPERATIONS * METHODS);
        }
        const int best = TRL_TRANSDUCE_VITERBI;
        device_report(
            result, &devices[i], "fst_viterbi", "vs_serial",
            devices[i].device ? device_ratio(&devices[i], &rows[DEVICE_OWN][best][0].cost, &rows[i][best][0].cost) : 0,
            "speed of the best path over all arcs");
    }
    trl_transducer_destroy(task.t);
}
