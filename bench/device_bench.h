/* What the parts of `trellis-bench devices` share: the devices, the work, and the tables. */
#ifndef TRELLIS_BENCH_DEVICE_BENCH_H
#define TRELLIS_BENCH_DEVICE_BENCH_H

#include "backend/backend.h"
#include "bench.h"

/* ---- Devices (bench_devices.c) ---- */

typedef struct device_choice {
    char name[32];
    const char *family;  /* "opencl": in keys; NULL: the processor's own kernels */
    trl__device *device; /* NULL: there is none */
    trl_error why;       /* … as this says */
    int is_processor; /* the host's: measured in processor time, as its driver's threads would otherwise count for nothing */
    int is_main;      /* of its family's shapes the one that trellis chooses; the others are slow, and run few times */
    double empty_launch; /* seconds of a kernel that does nothing, from its start to its end */
} device_choice;

enum { DEVICE_OWN, DEVICE_CHOICES = 4 };

typedef struct device_cost {
    double wall, cpu; /* seconds */
} device_cost;

/* How many times faster a device was than the processor's own kernels. */
double device_ratio(const device_choice *device, const device_cost *own, const device_cost *cost);
/* Reports it as "BEFORE_opencl_AFTER" when the device is its family's main one; null where there is none. */
void device_report(json_t *result, const device_choice *device, const char *before, const char *after, double ratio,
                   const char *meaning);

/* ---- What goes to and fro (device_traffic.c) ---- */

typedef struct device_traffic {
    int64_t sends, fetches, launches;
    double sent, fetched; /* bytes */
    double send_seconds, fetch_seconds,
        computed_seconds; /* by the wall; the last one from each start of a kernel to its end */
} device_traffic;

/* While it is watched, a device does one thing at a time, and everything is timed; of streams that are made meanwhile. */
void device_watch(trl__device *device);
void device_unwatch(trl__device *device);
device_traffic device_watched(void); /* since the last call */
double device_empty_launch(trl__device *device);

/* ---- The work (device_task.c) ---- */

enum {
    DEVICE_FRAMES,
    DEVICE_SCORE,
    DEVICE_VITERBI,
    DEVICE_BACKTRACK,
    DEVICE_ACCUMULATE,
    DEVICE_FORWARD_BACKWARD,
    DEVICE_ACCUMULATE_SOFT,
    DEVICE_OPERATIONS
};

typedef struct device_task {
    trl_model *model;
    trl__search *searches;
    size_t count;
    double cells; /* of all bands */
    struct device_utterance *all;
} device_task;

device_task device_task_make(const bench_options *options);
void device_task_free(device_task *task);
/* Flops of the formulas, and bytes that must be read and written at least once. */
void device_task_needs(const device_task *task, int operation, double *flops, double *bytes);
double device_task_frames(const device_task *task); /* of all utterances */
/* Adds what an operation needs per frame or arc, from which scripts/device-roofline tells what a device could reach. */
void device_needs_per(json_t *roofline, const char *unit, const char *operation, double flops, double bytes,
                      int is_double);

/* ---- Tables (device_table.c) ---- */

typedef struct device_row {
    char name[40];
    device_cost cost, own; /* of this device, of the processor's own kernels */
    double flops, bytes;
    device_traffic traffic;
    double watched; /* seconds that the operation took while it was watched */
} device_row;

/* Prints what operations took, then what went to and fro for them; adds them to `operations`. `ratio`: its name in JSON. */
void device_table(json_t *operations, const device_choice *device, const char *title, const char *ratio,
                  const device_row *rows, int count);

/* ---- Transducers (device_machines.c) ---- */

/* Every operation on transducers, on every device, into `operations`; their needs into `result`; fst_viterbi_opencl_vs_serial. */
void device_machines(const bench_options *options, const device_choice *devices, json_t *result, json_t *operations);

#endif
