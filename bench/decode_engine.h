/* The parts of recognition, to be run one by one with a clock between them.
 *
 *     decode_engine e;
 *     decode_engine_open(&e, model, graph);
 *     decode_engine_run(&e, task, use, user);       // frames of each utterance of the task's corpus, on one thread
 *     decode_engine_close(&e);
 */
#ifndef TRELLIS_BENCH_DECODE_ENGINE_H
#define TRELLIS_BENCH_DECODE_ENGINE_H

#include "decode_speed.h"
#include "decode/best_words.h"
#include "decode/scorer.h"

#include <trellis/extract.h>

#define ENGINE_SCALE 0.1 /* of acoustic costs */

typedef struct decode_engine {
    trl_frontend *frontend;
    trl__device *device;
    trl__parameters *parameters;
    trl__scorer *scorer;
    trl__decoder *decoder;
    trl__best_words best;
} decode_engine;

void decode_engine_open(decode_engine *e, const trl_model *model, const trl_graph *graph);
void decode_engine_run(decode_engine *e, speed_task *task, trl_extract_fn use, void *user);
int decode_engine_words(decode_engine *e, const trl__raw_lattice *raw, trl_error *err); /* into e->best */
void decode_engine_close(decode_engine *e);

#endif
