#include "bam_series.h"
#include "child_process.h"
#include "lvcsr_speech.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER TRELLIS_BUILD_DIR "/bench/bam-series"

/* Silence and the most frequent phones have more than 256,000 frames a state in 36 hours; most contexts of order 3 fewer than 4000. */
static const lvcsr_speech_sizes full = {
    .text = {150000, 60000, 1e-8}, .train = 36 * 3600, .test = 3600, .train_speakers = 60, .test_speakers = 18};
static const lvcsr_speech_sizes small = {
    .text = {10000, 5000, 0}, .train = 900, .test = 60, .train_speakers = 20, .test_speakers = 6};

typedef struct series_work {
    const lvcsr_speech *speech;
    int is_quick;
} series_work;

static void run_series(void *user)
{
    const series_work *w = user;
    char hours[32];
    snprintf(hours, sizeof hours, "%g", (w->is_quick ? small.train : full.train) / 3600);
    if (chdir(FOLDER) == 0)
        execl(TRELLIS_SOURCE_DIR "/bench/bam_series.sh", "bam_series.sh", TRELLIS_BUILD_DIR "/programs/trellis",
              w->speech->folder, hours, w->is_quick ? "100" : "4000", w->is_quick ? "2000" : "256000",
              w->is_quick ? "200" : "2000", (char *)NULL);
    _exit(127);
}

void bench_bam_series(const bench_options *options, json_t *result)
{
    lvcsr_speech speech;
    series_work work = {&speech, options->quick};
    const char *why = lvcsr_speech_open(&speech, options->quick ? &small : &full);
    if (why) {
        bench_absent(result, "series", why);
        return;
    }
    mkdir(TRELLIS_BUILD_DIR "/bench", 0777);
    bench_remove_folder(FOLDER);
    mkdir(FOLDER, 0777);
    child_run(run_series, &work);
    json_object_set_new(result, "series", json_load_file(FOLDER "/series.json", 0, NULL));
}
