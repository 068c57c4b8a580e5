/* Kaldi's alignments: ali.ark with the transition ids of each utterance, one per frame, and beside it the model and tree that
 * give the ids their meaning. */
#include "align/alignment_format.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/path.h"
#include "model/kaldi_alignment.h"

static int open_archive(trl__alignment_sink *sink, trl_error *err)
{
    if (!sink->options->model)
        return trl__fail(err, TRL_EINVAL, "the format kaldi needs the model");
    trl__arena arena = {0};
    trl__int_ark_writer *archive = NULL;
    const char *path = trl__join_path(&arena, sink->folder, "ali.ark");
    int code = path ? trl__int_ark_create(path, NULL, 0, &archive, err) : trl__fail_memory(err);
    sink->own = archive;
    trl__arena_free(&arena);
    return code;
}

/* Kaldi's graphs have the loops of a state behind the arc that leaves it (its option reorder, on by default): in its
 * alignments a state's last id comes first. */
static void reorder(const trl_alignment *a, int32_t *ids)
{
    for (size_t i = 0; i < a->states.count; i++) {
        const trl_segment *state = &a->states.items[i];
        ids[state->first] = a->transitions[state->end - 1];
        for (int32_t t = state->first + 1; t < state->end; t++)
            ids[t] = a->transitions[t - 1];
    }
}

static int add_ids(trl__alignment_sink *sink, const trl_alignment *a, trl_error *err)
{
    int32_t *ids = trl__alloc((size_t)a->frames, sizeof *ids);
    if (!ids)
        return trl__fail_memory(err);
    reorder(a, ids);
    int code = trl__int_ark_add(sink->own, a->utterance->id, ids, (size_t)a->frames, err);
    trl__free(ids);
    return code;
}

/* The model first: an archive that is there can be used. */
static int write_model(trl__alignment_sink *sink, trl_error *err)
{
    int code = trl_model_write_kaldi(sink->options->model, sink->folder, 1, err);
    if (code < 0)
        return code;
    code = trl__int_ark_commit(sink->own, err);
    sink->own = NULL;
    return code;
}

static void discard_archive(trl__alignment_sink *sink)
{
    trl__int_ark_abort(sink->own);
}

const trl__alignment_format trl__kaldi_output = {
    .name = "kaldi", .begin = open_archive, .add = add_ids, .finish = write_model, .discard = discard_archive};
