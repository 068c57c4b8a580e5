#include "decode_engine.h"
#include "model/model_frontend.h"

void decode_engine_open(decode_engine *e, const trl_model *model, const trl_graph *graph)
{
    trl_error err;
    trl_frontend_options description;
    trl__decode_options o = trl__decode_defaults();
    trl_decode_options settings = speed_options();
    o.beam = settings.beam;
    o.lattice_beam = settings.lattice_beam;
    o.acoustic_scale = ENGINE_SCALE;
    *e = (decode_engine){0};
    bench_check(trl__model_frontend_make(model, 0, &description, &e->frontend, &err), &err);
    trl_matrix_free(&description.transform);
    bench_check(trl__device_open("cpu", &e->device, &err), &err);
    bench_check(trl__device_load_model(e->device, model, NULL, &e->parameters, &err), &err);
    bench_check(trl__scorer_create(e->device, model->tied_states, &e->scorer, &err), &err);
    bench_check(trl__decoder_create(graph, &o, &e->decoder, &err), &err);
}

void decode_engine_run(decode_engine *e, speed_task *task, trl_extract_fn use, void *user)
{
    trl_error err;
    bench_check(trl_extract_corpus(task->test, e->frontend, NULL, task->one, task->findings, use, user, NULL, &err),
                &err);
}

int decode_engine_words(decode_engine *e, const trl__raw_lattice *raw, trl_error *err)
{
    const trl_lattice_scale scale = {.acoustic = ENGINE_SCALE, .graph = 1};
    return trl__best_words_find(&e->best, raw, &scale, err);
}

void decode_engine_close(decode_engine *e)
{
    trl__best_words_free(&e->best);
    trl__decoder_destroy(e->decoder);
    trl__scorer_destroy(e->scorer);
    trl__parameters_free(e->parameters);
    trl__device_close(e->device);
    trl_frontend_destroy(e->frontend);
}
