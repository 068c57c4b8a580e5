/* A hundred hours through all stages: generated speech, 8000 leaves, in a process of its own, whose memory is watched. Features are mapped from
 * the disk (56 MB per hour), and so no part of its own memory. */
#include "child_process.h"
#include "ladder_bench.h"
#include "ladder_workload.h"

#include <stdio.h>
#include <sys/statvfs.h>

#define THREADS 2
#define SEED 8
#define BYTES_PER_HOUR (1.02 * 360000 * 4 * SPEECH_DIM)

typedef struct large_ladder {
    ladder ladder;
    double hours;
    int leaves;
    double generating, wall; /* seconds */
} large_ladder;

static void climb(void *user)
{
    large_ladder *large = user;
    trl_error err;
    trl_pool *pool;
    trl_model *model;
    speech w;
    double start = bench_wall_seconds();
    speech_create(&w, large->hours, SEED);
    large->generating = bench_wall_seconds() - start;
    trl_train_options o = trl_train_defaults();
    o.stages = LADDER_STAGES;
    o.components = 4;
    o.leaves = large->leaves;
    o.iterations = 1;
    o.folder = w.folder;
    o.features = w.features;
    o.report = ladder_note;
    o.user = &large->ladder;
    bench_check(trl_pool_create(THREADS, &pool, &err), &err);
    start = bench_wall_seconds();
    bench_check(trl_train(w.corpus, w.lexicon, NULL, &o, pool, w.findings, &model, &err), &err);
    large->wall = bench_wall_seconds() - start;
    trl_model_destroy(model);
    trl_pool_destroy(pool);
    speech_destroy(&w);
}

static void leave_out(ladder_bench *b, const char *why)
{
    static const char *const keys[] = {"large_wall_s", "large_peak_mb", "large_peak_with_mapped_mb", "large_stages"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        bench_absent(b->result, keys[i], why);
}

static int has_room(double hours)
{
    struct statvfs disk;
    double needed = hours * BYTES_PER_HOUR + 1e9; /* features; models and alignments of two iterations */
    return statvfs(TRELLIS_BUILD_DIR, &disk) == 0 && (double)disk.f_bavail * (double)disk.f_frsize > needed;
}

void ladder_measure_large(ladder_bench *b)
{
    if (b->sizes.hours == 0 || !has_room(b->sizes.hours)) {
        leave_out(b, b->sizes.hours == 0 ? "left out with --quick" : "there is no room for the features on the disk");
        return;
    }
    large_ladder *large = child_shared(sizeof *large);
    large->hours = b->sizes.hours;
    large->leaves = b->sizes.leaves;
    child_peaks peaks = child_run(climb, large);
    printf("  %g generated hours, trees of at most %d leaves, one iteration per round, two threads:\n", large->hours,
           large->leaves);
    ladder_print(&large->ladder);
    bench_report(b->result, "large_hours", large->hours, "h", "of generated speech");
    bench_report(b->result, "large_generating_s", large->generating, "s", "to make it");
    bench_report(b->result, "large_wall_s", large->wall, "s", "all stages, two threads");
    bench_report(b->result, "large_peak_mb", peaks.own, "MB", "peak of the process's own memory");
    bench_report(b->result, "large_peak_with_mapped_mb", peaks.all, "MB",
                 "with the mapped features, which the system can take back");
    json_object_set_new(b->result, "large_stages", ladder_json(&large->ladder));
    child_shared_free(large, sizeof *large);
}
