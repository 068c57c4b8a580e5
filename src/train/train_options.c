#include "train/train_options.h"
#include "base/fail.h"
#include "base/memory.h"
#include "model/estimate.h"
#include "model/tree.h"
#include "train/training.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

trl_train_options trl_train_defaults(void)
{
    trl__estimate_options e = trl__estimate_defaults();
    trl_align_options a = trl_align_defaults();
    trl_model_options m = trl_model_defaults();
    m.silence_states = 5; /* pauses are of many kinds */
    m.silence_topology = TRL_TOPOLOGY_ERGODIC;
    m.word_positions = TRL__POSITIONS_BY_STAGES;
    return (trl_train_options){.model = m,
                               .channel = a.channel,
                               .stages = "mono",
                               .em = TRL_EM_SHARED,
                               .occupancy_power = 0.25,
                               .context_left = 1,
                               .context_right = 1,
                               .varmix_alpha = 0.3,
                               .varmix_beta = 2.2,
                               .sample_frames = 256000,
                               .lda_splice = 4,
                               .lda_dim = 39,
                               .margin = TRL_MARGIN_AUTO,
                               .audit = 0.002,
                               .beam = a.beam,
                               .variance_floor = e.variance_floor,
                               .least_count = e.least_count,
                               .variance_prior = 20,
                               .unknown_words = TRL_UNKNOWN_AUTO};
}

/* A step to other stages needs alignments only; a model that is used itself gains by more (held-out speakers of AN4). */
int trl_train_iterations(const trl_train_options *o)
{
    return o->iterations > 0 ? o->iterations : strcmp(o->stages, "mono") == 0 ? 6 : 4;
}

static int check_contexts(const trl_train_options *o, trl_error *err)
{
    if (o->context_left < 0 || o->context_right < 0 || o->context_left + o->context_right + 1 > TRL__WIDEST_CONTEXT)
        return trl__fail(err, TRL_EINVAL, "units of context: up to %d on both sides together, not %d and %d",
                         TRL__WIDEST_CONTEXT - 1, o->context_left, o->context_right);
    if (o->leaves < 0 || o->context_gaussians < 0)
        return trl__fail(err, TRL_EINVAL, "leaves and Gaussians can't be negative");
    if (!(o->least_leaf_frames >= 0) || !(o->least_gain >= 0))
        return trl__fail(err, TRL_EINVAL, "the least frames of a leaf and the least gain of a split can't be negative");
    if (!(o->varmix_alpha >= 0 && o->varmix_alpha <= 1) || !(o->varmix_beta > 0 && o->varmix_beta <= 1e6))
        return trl__fail(err, TRL_EINVAL, "components are beta * frames ^ alpha: alpha from 0 to 1, beta above 0");
    if (!(o->sample_frames >= 1))
        return trl__fail(err, TRL_EINVAL, "a state's sample has 1 frame or more");
    if (o->lda_splice < 0 || o->lda_splice > 100 || o->lda_dim < 1 || o->lda_dim > 10000)
        return trl__fail(err, TRL_EINVAL, "spliced frames: 0 to 100 on either side; dimensions: 1 to 10000");
    return 0;
}

int trl_train_options_check(const trl_train_options *o, trl_error *err)
{
    if (o->components < 0 || o->components > 100000)
        return trl__fail(err, TRL_EINVAL, "components per state: 1 to 100000, not %d", o->components);
    if (o->total_gaussians < 0)
        return trl__fail(err, TRL_EINVAL, "the total number of Gaussians can't be negative");
    if (o->iterations < 0 || o->iterations > 10000)
        return trl__fail(err, TRL_EINVAL, "iterations per round: 1 to 10000, not %d", o->iterations);
    if (o->margin < TRL_MARGIN_FULL)
        return trl__fail(err, TRL_EINVAL, "the margin is a number of frames, auto or full");
    if (!(o->audit >= 0 && o->audit <= 1))
        return trl__fail(err, TRL_EINVAL, "the audited share of utterances: 0 to 1, not %g", o->audit);
    if (!(o->beam > 0))
        return trl__fail(err, TRL_EINVAL, "the beam must be above 0");
    if (!(o->occupancy_power >= 0 && o->occupancy_power <= 1))
        return trl__fail(err, TRL_EINVAL, "the power of the occupancy: 0 to 1, not %g", o->occupancy_power);
    if (!(o->variance_floor >= 0 && o->variance_floor < 1) || !(o->least_count >= 0))
        return trl__fail(err, TRL_EINVAL, "the variance floor is a share from 0 to 1, the least count not negative");
    if (!(o->variance_prior >= 0 && o->variance_prior <= 1e9))
        return trl__fail(err, TRL_EINVAL, "the prior of variances is a number of frames, not %g", o->variance_prior);
    const trl__stage *stages[TRL_MOST_STAGES];
    int count, code = trl__parse_stages(o, stages, &count, err);
    if (code == 0)
        code = check_contexts(o, err);
    trl_model_options m = o->model;
    if (m.word_positions == TRL__POSITIONS_BY_STAGES)
        m.word_positions = 0;
    return code < 0 ? code : trl_model_options_check(&m, err);
}

/* AA_B, say: a lexicon that tells places itself. */
static int has_places(const trl_lexicon *lexicon)
{
    for (size_t p = 0; p < trl_lexicon_phones(lexicon); p++) {
        const char *phone = trl_lexicon_phone(lexicon, p), *mark = strrchr(phone, '_');
        if (mark && mark[1] && strchr("BIES", mark[1]) && !mark[2])
            return 1;
    }
    return 0;
}

trl_model_options trl__train_model_options(const trl_train_options *o, const trl_lexicon *lexicon)
{
    trl_model_options m = o->model;
    if (m.word_positions == TRL__POSITIONS_BY_STAGES)
        m.word_positions =
            (strstr(o->stages, "tri") || strstr(o->stages, "lda") || strstr(o->stages, "sat")) && !has_places(lexicon);
    return m;
}

static const char *method_name(int em)
{
    return em == TRL_EM_VITERBI ? "viterbi" : em == TRL_EM_BAUM_WELCH ? "baum-welch" : "shared";
}

char *trl__train_options_print(const trl_train_options *o)
{
    char text[3000];
    int length = snprintf(
        text, sizeof text,
        "stages = %s\nem = %s\ncomponents = %d\ntotal_gaussians = %" PRId64
        "\noccupancy_power = %.9g\niterations = %d\nmargin = %d\naudit = %.9g\nbeam = %.9g\nbest_component = %d\n"
        "variance_floor = %.9g\nleast_count = %.9g\nvariance_prior = %.9g\nseed = %" PRIu64
        "\nunknown_words = %d\nchannel = %d\nstates = %d\nsilence_states = %d\nsilence_topology = %d\n"
        "word_positions = %d\nself_loop = %.9g\nsilence_between = %.9g\nsilence = %.200s\nnoise = %.200s\n"
        "context = %d %d\nquestions = %.200s\nleaves = %d\nleast_leaf_frames = %.9g\nleast_gain = %.9g\n"
        "varmix = %.9g %.9g\ncontext_gaussians = %" PRId64 "\nsample_frames = %.9g\nlda_splice = %d\nlda_dim = %d\n",
        o->stages, method_name(o->em), o->components, o->total_gaussians, o->occupancy_power, trl_train_iterations(o),
        o->margin, o->audit, o->beam, o->best_component, o->variance_floor, o->least_count, o->variance_prior, o->seed,
        o->unknown_words, o->channel, o->model.states, o->model.silence_states, o->model.silence_topology,
        o->model.word_positions, o->model.self_loop, o->model.silence_between, o->model.silence, o->model.noise,
        o->context_left, o->context_right, o->questions ? "given" : "made", o->leaves, o->least_leaf_frames,
        o->least_gain, o->varmix_alpha, o->varmix_beta, o->context_gaussians, o->sample_frames, o->lda_splice,
        o->lda_dim);
    return length < 0 ? NULL : trl__strdup(text); /* so many numbers take printf some memory */
}
