#include "backend/backend.h"
#include "base/fail.h"
#include "base/memory.h"
#include "model/model_data.h"

#include <inttypes.h>
#include <trellis/likelihood.h>

#define BLOCK 128 /* frames at once */

struct trl_likelihood_maker {
    const trl_model *model;
    trl__device *device;
    trl__parameters *parameters;
    trl__stream *stream;
    trl__row *rows;
    float *scores;
};

static int begin(trl_likelihood_maker *m, const char *device, trl_error *err)
{
    size_t states = (size_t)m->model->tied_states;
    int code = trl__device_open(device ? device : "cpu", &m->device, err);
    if (code == 0)
        code = trl__device_load_model(m->device, m->model, NULL, &m->parameters, err);
    if (code == 0)
        code = trl__stream_create(m->device, &m->stream, err);
    if (code < 0)
        return code;
    m->rows = trl__alloc(states, sizeof *m->rows);
    m->scores = trl__alloc_aligned(states * BLOCK + TRL__ROW_PAD, sizeof *m->scores);
    return m->rows && m->scores ? 0 : trl__fail_memory(err);
}

int trl_likelihood_maker_create(const trl_model *model, const char *device, trl_likelihood_maker **out, trl_error *err)
{
    *out = NULL;
    trl_likelihood_maker *m = trl__alloc_zero(1, sizeof *m);
    if (!m)
        return trl__fail_memory(err);
    m->model = model;
    int code = begin(m, device, err);
    if (code < 0) {
        trl_likelihood_maker_destroy(m);
        return code;
    }
    *out = m;
    return 0;
}

void trl_likelihood_maker_destroy(trl_likelihood_maker *m)
{
    if (!m)
        return;
    trl__stream_destroy(m->stream);
    trl__parameters_free(m->parameters);
    trl__device_close(m->device);
    trl__free(m->rows);
    trl__free(m->scores);
    trl__free(m);
}

static int score_block(trl_likelihood_maker *m, const trl_matrix *frames, int32_t first, trl_matrix *out,
                       trl_error *err)
{
    const int32_t left = (int32_t)frames->rows - first, count = left < BLOCK ? left : BLOCK;
    const int32_t states = m->model->tied_states;
    for (int32_t j = 0; j < states; j++)
        m->rows[j] = (trl__row){j, first, first + count, (int64_t)j * BLOCK};
    trl__search search = {.frames = frames,
                          .begin = first,
                          .end = first + count,
                          .combine = TRL__LOG_ADD,
                          .rows = states,
                          .row = m->rows,
                          .scores = m->scores};
    int code = trl__stream_frames(m->stream, m->parameters, &search, 1, err);
    if (code == 0)
        code = trl__stream_score(m->stream, m->parameters, &search, 1, err);
    if (code == 0)
        code = trl__stream_wait(m->stream, err);
    for (int32_t t = 0; code == 0 && t < count; t++)
        for (int32_t j = 0; j < states; j++)
            trl_matrix_row(out, (size_t)first + (size_t)t)[j] = m->scores[(size_t)j * BLOCK + (size_t)t];
    return code;
}

int trl_likelihood_maker_run(trl_likelihood_maker *m, const trl_matrix *frames, trl_matrix *out, trl_error *err)
{
    if (frames->rows > 0 && frames->cols != (size_t)m->model->dim)
        return trl__fail(err, TRL_EINVAL, "frames of %zu dimensions; the model has %" PRId32, frames->cols,
                         m->model->dim);
    int code = trl_matrix_resize(out, frames->rows, (size_t)m->model->tied_states, err);
    for (int32_t first = 0; code == 0 && (size_t)first < frames->rows; first += BLOCK)
        code = score_block(m, frames, first, out, err);
    return code;
}

int trl_likelihoods(const trl_model *model, const char *device, const trl_matrix *frames, trl_matrix *out,
                    trl_error *err)
{
    trl_likelihood_maker *m;
    int code = trl_likelihood_maker_create(model, device, &m, err);
    if (code < 0)
        return code;
    code = trl_likelihood_maker_run(m, frames, out, err);
    trl_likelihood_maker_destroy(m);
    return code;
}
