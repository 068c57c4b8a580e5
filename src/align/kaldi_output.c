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

static int add_ids(trl__alignment_sink *sink, const trl_alignment *a, trl_error *err)
{
    return trl__int_ark_add(sink->own, a->utterance->id, a->transitions, (size_t)a->frames, err);
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
