#include "backend/backend.h"
#include "base/fail.h"
#include "base/memory.h"
#include "model/model_data.h"

#include <inttypes.h>
#include <trellis/likelihood.h>

#define BLOCK 128 /* frames at once */

typedef struct work {
    trl__device *device;
    trl__parameters *parameters;
    trl__stream *stream;
    trl__row *rows;
    float *scores;
} work;

static int begin(work *w, const trl_model *model, const char *device, trl_error *err)
{
    size_t states = (size_t)model->tied_states;
    int code = trl__device_open(device ? device : "cpu", &w->device, err);
    if (code == 0)
        code = trl__device_load_model(w->device, model, NULL, &w->parameters, err);
    if (code == 0)
        code = trl__stream_create(w->device, &w->stream, err);
    if (code < 0)
        return code;
    w->rows = trl__alloc(states, sizeof *w->rows);
    w->scores = trl__alloc_aligned(states * BLOCK + TRL__ROW_PAD, sizeof *w->scores);
    return w->rows && w->scores ? 0 : trl__fail_memory(err);
}

static int score_block(work *w, const trl_model *model, const trl_matrix *frames, int32_t first, trl_matrix *out,
                       trl_error *err)
{
    int32_t left = (int32_t)frames->rows - first, count = left < BLOCK ? left : BLOCK;
    for (int32_t j = 0; j < model->tied_states; j++)
        w->rows[j] = (trl__row){j, first, first + count, (int64_t)j * BLOCK};
    trl__search search = {.frames = frames,
                          .begin = first,
                          .end = first + count,
                          .combine = TRL__LOG_ADD,
                          .rows = model->tied_states,
                          .row = w->rows,
                          .scores = w->scores};
    int code = trl__stream_frames(w->stream, w->parameters, &search, 1, err);
    if (code == 0)
        code = trl__stream_score(w->stream, w->parameters, &search, 1, err);
    if (code == 0)
        code = trl__stream_wait(w->stream, err);
    for (int32_t t = 0; code == 0 && t < count; t++)
        for (int32_t j = 0; j < model->tied_states; j++)
            trl_matrix_row(out, (size_t)first + (size_t)t)[j] = w->scores[(size_t)j * BLOCK + (size_t)t];
    return code;
}

int trl_likelihoods(const trl_model *model, const char *device, const trl_matrix *frames, trl_matrix *out,
                    trl_error *err)
{
    work w = {0};
    if (frames->rows > 0 && frames->cols != (size_t)model->dim)
        return trl__fail(err, TRL_EINVAL, "frames of %zu dimensions; the model has %" PRId32, frames->cols, model->dim);
    int code = trl_matrix_resize(out, frames->rows, (size_t)model->tied_states, err);
    if (code == 0)
        code = begin(&w, model, device, err);
    for (int32_t first = 0; code == 0 && (size_t)first < frames->rows; first += BLOCK)
        code = score_block(&w, model, frames, first, out, err);
    if (w.stream)
        trl__stream_destroy(w.stream);
    if (w.parameters)
        trl__parameters_free(w.parameters);
    if (w.device)
        trl__device_close(w.device);
    trl__free(w.rows);
    trl__free(w.scores);
    return code;
}
