/* Ours beside pocketsphinx: one task, both programs, one core each, in one run.
 *
 *     lvcsr_task t = {.name = "timit"};
 *     lvcsr_task_begin(&t);                                     // a folder for its files
 *     lvcsr_task_add(&t, "sa1", "/…/sa1.flac", "she had your dark suit");
 *     lvcsr_compare(b, &t, &found);                             // 0: pocketsphinx is not there, or fails
 *     lvcsr_task_end(&t);
 *
 * Both have the acoustic model and the dictionary of Debian's pocketsphinx-en-us, and the same language model. Both are measured by the processor time of front end and
 * search together, each beam in a process of its own, whose peak of memory is seen too (mapped files count). Words are counted by one scorer.
 */
#ifndef TRELLIS_BENCH_LVCSR_BESIDE_H
#define TRELLIS_BENCH_LVCSR_BESIDE_H

#include "lvcsr_bench.h"

#include <stdint.h>
#include <stdio.h>

#define LVCSR_MODEL "en-us"
#define LVCSR_MOST_RUNS 16

/* One beam of one program. */
typedef struct lvcsr_run {
    double
        beam; /* ours: a cost; pocketsphinx's: the power of all its default beams, negative where the first pass is alone */
    double cpu, seconds;
    double peak_mb;
    uint64_t errors, words;
} lvcsr_run;

typedef struct lvcsr_comparison {
    lvcsr_run ours[LVCSR_MOST_RUNS], theirs[LVCSR_MOST_RUNS];
    size_t our_count, their_count; /* the first of each has the default beams */
} lvcsr_comparison;

typedef struct lvcsr_task {
    const char *name;
    char language[4200]; /* ARPA file for both; "": the installed model's own */
    int is_long;         /* one beam of theirs besides the default, and every second of ours */
    char folder[4096];   /* list.txt, manifest.tsv, said.txt, and what was recognised */
    FILE *list, *manifest, *said;
    size_t count;
} lvcsr_task;

void lvcsr_task_begin(lvcsr_task *t);
void lvcsr_task_add(lvcsr_task *t, const char *id, const char *path, const char *text); /* mono, 16 kHz */
int lvcsr_compare(lvcsr_bench *b, lvcsr_task *t, lvcsr_comparison *found);
void lvcsr_task_end(lvcsr_task *t);

/* The runs of another task are added, beam by beam: as if both were one. An empty one becomes the other. */
void lvcsr_comparison_add(lvcsr_comparison *sum, const lvcsr_comparison *other);

/* As curves of the bench, and what they come to. */
typedef struct lvcsr_verdict {
    double wer, rtf, their_wer, their_rtf; /* at default beams */
    double speed;   /* how many times as fast ours is with no more errors than theirs at its default beams */
    double wer_gap; /* the most that ours is worse, in points, at the real-time factor of any of their runs */
} lvcsr_verdict;

lvcsr_verdict lvcsr_judge(lvcsr_bench *b, const char *task, const lvcsr_comparison *found);

#endif
