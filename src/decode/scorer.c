#include "decode/scorer.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define GROUP_FRAMES 16 /* a cache line of floats, so that rows of scores spread over all sets of the cache */

struct trl__scorer {
    trl__stream *stream; /* NULL: no device */
    int32_t tied_states;
    const trl__parameters *parameters; /* NULL: likelihoods from a matrix */
    const trl_matrix *frames;
    trl__row *rows;
    trl__score_group group; /* that was opened last */
    int32_t group_begin;
    float *scores; /* of a model's group: GROUP_FRAMES by tied state */
    uint32_t *stamps, number;
    int32_t *wanted;
};

int trl__scorer_create(trl__device *device, int32_t tied_states, trl__scorer **out, trl_error *err)
{
    trl__scorer *s = *out = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    s->tied_states = tied_states;
    s->rows = trl__alloc((size_t)tied_states + 1, sizeof *s->rows);
    s->stamps = trl__alloc_zero((size_t)tied_states + 1, sizeof *s->stamps);
    s->wanted = trl__alloc((size_t)tied_states + 1, sizeof *s->wanted);
    s->scores = trl__alloc_aligned((size_t)tied_states * GROUP_FRAMES + 1, sizeof *s->scores);
    if (!s->rows || !s->stamps || !s->wanted || !s->scores)
        return trl__fail_memory(err);
    return device ? trl__stream_create(device, &s->stream, err) : 0;
}

void trl__scorer_destroy(trl__scorer *s)
{
    if (!s)
        return;
    if (s->stream)
        trl__stream_destroy(s->stream);
    trl__free(s->rows);
    trl__free(s->stamps);
    trl__free(s->wanted);
    trl__free(s->scores);
    trl__free(s);
}

int trl__scorer_begin(trl__scorer *s, const trl__parameters *parameters, const trl_matrix *frames, trl_error *err)
{
    trl__search all = {.frames = frames, .begin = 0, .end = (int32_t)frames->rows};
    s->parameters = parameters;
    s->frames = frames;
    return frames->rows > 0 ? trl__stream_frames(s->stream, parameters, &all, 1, err) : 0;
}

void trl__scorer_begin_likelihoods(trl__scorer *s, const trl_matrix *likelihoods)
{
    s->parameters = NULL;
    s->frames = likelihoods;
}

static int fill_group(trl__score_group *group, int32_t frame, trl_error *err)
{
    trl__scorer *s = group->user;
    int32_t begin = s->group_begin + frame, end = s->group_begin + group->frames, count = group->count;
    for (int32_t i = 0; i < count; i++)
        s->rows[i] = (trl__row){group->wanted[i], begin, end, (int64_t)group->wanted[i] * GROUP_FRAMES + frame};
    trl__search search = {.frames = s->frames,
                          .begin = begin,
                          .end = end,
                          .combine = TRL__LOG_ADD,
                          .rows = count,
                          .row = s->rows,
                          .scores = s->scores};
    group->count = 0;
    int code = trl__stream_score(s->stream, s->parameters, &search, 1, err);
    return code < 0 ? code : trl__stream_wait(s->stream, err);
}

void trl__scorer_open(trl__scorer *s, int32_t begin, trl__score_group **group)
{
    int32_t left = (int32_t)s->frames->rows - begin;
    *group = &s->group;
    if (!s->parameters) {
        s->group = (trl__score_group){
            .frames = left, .scores = trl_matrix_row(s->frames, (size_t)begin), .stride = 1, .step = s->frames->stride};
        return;
    }
    if (++s->number == 0) {
        memset(s->stamps, 0, (size_t)s->tied_states * sizeof *s->stamps);
        s->number = 1;
    }
    s->group_begin = begin;
    s->group = (trl__score_group){.frames = left < GROUP_FRAMES ? left : GROUP_FRAMES,
                                  .scores = s->scores,
                                  .stride = GROUP_FRAMES,
                                  .step = 1,
                                  .stamps = s->stamps,
                                  .number = s->number,
                                  .wanted = s->wanted,
                                  .fill = fill_group,
                                  .user = s};
}

int trl__scorer_search(trl__scorer *s, trl__decoder *decoder, trl_error *err)
{
    int code = 0;
    for (int32_t begin = 0, frames = (int32_t)s->frames->rows; code == 0 && begin < frames;) {
        trl__score_group *group;
        trl__scorer_open(s, begin, &group);
        begin += group->frames;
        code = trl__decoder_advance_group(decoder, group, err);
    }
    return code;
}
