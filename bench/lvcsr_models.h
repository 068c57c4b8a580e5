/* Models and graphs for synthesised speech: trained on it, and the installed en-us with the same words and language model.
 *
 *     lvcsr_task task;
 *     const char *why = lvcsr_task_open(&task, bench, &sizes);             // NULL, or why there is no speech
 *     lvcsr_system system;
 *     why = lvcsr_system_open(&system, &task, &lvcsr_kinds[0]);            // NULL, or why there is no such model
 *     lvcsr_system_close(&system);
 *     lvcsr_task_close(&task);
 *
 * Models and graphs stay beside the speech that they were made from, and are used again. Training has two stages, phones without and with context, and 39 values per frame
 * as in [004] 4.1.
 */
#ifndef TRELLIS_BENCH_LVCSR_MODELS_H
#define TRELLIS_BENCH_LVCSR_MODELS_H

#include "lvcsr_bench.h"
#include "lvcsr_speech.h"

#include <trellis/corpus.h>
#include <trellis/graph.h>
#include <trellis/model.h>

typedef struct lvcsr_task_sizes {
    lvcsr_speech_sizes speech;
    int leaves;        /* tied states, about */
    int iterations;    /* of training, per round */
    size_t mono_every; /* each so many-th utterance of the training is enough for phones without context */
    size_t every;      /* each so many-th utterance of the test is used; 1: all */
} lvcsr_task_sizes;

typedef struct lvcsr_task {
    lvcsr_bench *bench;
    lvcsr_task_sizes sizes;
    lvcsr_speech speech;
    trl_findings *findings;
    trl_lexicon *lexicon;
    trl_corpus *test;
    char said[4300]; /* its transcripts */
    trl_pool *pool;
} lvcsr_task;

typedef struct lvcsr_kind {
    const char *name, *key; /* "32 Gaussians", "32" */
    int gaussians;          /* of a tied state, on average; 0: en-us */
    double acoustic_scale;
    double
        widening; /* of beams: models that fit the speech well have fewer ways within one, and their errors fall for longer */
} lvcsr_kind;

#define LVCSR_KINDS 3
extern const lvcsr_kind lvcsr_kinds[LVCSR_KINDS];

typedef struct lvcsr_system {
    const lvcsr_kind *kind;
    trl_model *model;
    trl_graph *graph;
} lvcsr_system;

const char *lvcsr_task_open(lvcsr_task *task, lvcsr_bench *b, const lvcsr_task_sizes *sizes);
void lvcsr_task_close(lvcsr_task *task);

const char *lvcsr_system_open(lvcsr_system *system, lvcsr_task *task, const lvcsr_kind *kind);
void lvcsr_system_close(lvcsr_system *system);

#endif
