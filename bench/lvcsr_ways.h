/* Ways of searching with threads and likelihoods, timed utterance by utterance.
 *
 *     lvcsr_stage stage;
 *     lvcsr_stage_open(&stage, task, system, 30, o);                       // the model on the device, frames of each 30th utterance in memory
 *     lvcsr_cost costs[LVCSR_WAYS];
 *     lvcsr_stage_time(&stage, beam, runs, costs);                         // every way, by turns
 *     lvcsr_stage_close(&stage);
 *
 * What is timed is scores and search, from frames to words: features and loading a model cost the same whatever the way. Each utterance counts with the least of its runs: what
 * others do on the machine only ever adds. All ways must find the same words, or the program ends.
 */
#ifndef TRELLIS_BENCH_LVCSR_WAYS_H
#define TRELLIS_BENCH_LVCSR_WAYS_H

#include "lvcsr_models.h"
#include "backend/backend.h"

#include <trellis/decode.h>

typedef struct lvcsr_way {
    const char *name, *key;
    int search_threads, score_threads;
    trl_likelihood_mode mode;
    trl_search_way search;
} lvcsr_way;

typedef enum lvcsr_way_number {
    LVCSR_ONE,
    LVCSR_TWO,
    LVCSR_TWO_MERGE,
    LVCSR_AHEAD,
    LVCSR_BOTH,
    LVCSR_BOTH_MERGE,
    LVCSR_AUTO,
    LVCSR_WAYS
} lvcsr_way_number;
extern const lvcsr_way lvcsr_ways[LVCSR_WAYS];
extern const lvcsr_way lvcsr_on_demand; /* two threads, as in [004] 3.1: the share of likelihoods that it makes */

typedef struct lvcsr_cost {
    double seconds; /* by the clock */
} lvcsr_cost;

/* [004] 4.2: likelihoods of all states from a device, ahead of one thread that searches and of two; behind them, the share of utterances
 * whose words are the processor's. */
typedef enum lvcsr_device_way {
    LVCSR_PROCESSOR,
    LVCSR_DEVICE_ONE,
    LVCSR_DEVICE_TWO,
    LVCSR_DEVICE_WAYS
} lvcsr_device_way;
extern const lvcsr_way lvcsr_device_ways[LVCSR_DEVICE_WAYS];

typedef struct lvcsr_stage {
    lvcsr_task *task;
    const lvcsr_system *system;
    double seconds; /* of sound */
    size_t count;
    trl_matrix *frames; /* by utterance */
    trl__device *device;
    trl__parameters *parameters;
    trl__device *ahead; /* NULL: there is none, or it does not take the model */
    trl__parameters *ahead_parameters;
    trl_error why; /* then */
} lvcsr_stage;

void lvcsr_stage_open(lvcsr_stage *stage, lvcsr_task *task, const lvcsr_system *system, size_t every,
                      const bench_options *o);
void lvcsr_stage_close(lvcsr_stage *stage);

void lvcsr_stage_time(const lvcsr_stage *stage, double beam, int runs, lvcsr_cost costs[LVCSR_WAYS]);
/* Only where the stage has an OpenCL device. */
void lvcsr_stage_time_device(const lvcsr_stage *stage, double beam, int runs, lvcsr_cost costs[LVCSR_DEVICE_WAYS],
                             double *same_words);
trl_decode_profile lvcsr_stage_profile(const lvcsr_stage *stage, double beam, const lvcsr_way *way);

/* As the public options of recognition have it. */
trl_decode_options lvcsr_options(const lvcsr_system *system, double beam, const lvcsr_way *way);

#endif
