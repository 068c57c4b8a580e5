/* An iteration: transforms where the stage wants them, E-step (train_pass.c), M-step (model/estimate.c), more Gaussians where a round ends,
 * checkpoint ([000] Table 4). */
#include "base/fail.h"
#include "base/memory.h"
#include "model/estimate.h"
#include "train/misfits.h"
#include "train/train_history.h"
#include "train/training.h"

#include <math.h>
#include <string.h>
#include <trellis/file.h>

#define LEAST_AUDIT 50  /* utterances, where there are so many */
#define UNSETTLED 0.001 /* share of the audited frames that differ: above it the next iteration searches widely */
#define STEP_COMPONENTS \
    8 /* per state of a first stage that others follow: their alignments are all that is wanted of it */

/* ---- The plan ---- */

static int from_flat_start(const trl__training *t)
{
    return t->checkpoint->stage == 0 && !t->options->from;
}

static int in_context(const trl__training *t)
{
    return t->model->tree != NULL;
}

static int mono_components(const trl__training *t)
{
    return t->options->components > 0 ? t->options->components : t->stage_count > 1 ? STEP_COMPONENTS : 32;
}

static trl__varmix varmix(const trl__training *t)
{
    trl__varmix rule = trl__varmix_defaults();
    rule.alpha = t->options->varmix_alpha;
    rule.beta = t->options->varmix_beta;
    rule.most_frames = t->options->sample_frames;
    return rule;
}

/* How many times as many Gaussians as tied states there are to be, on the average. */
static double growth(const trl__training *t)
{
    const trl_train_options *o = t->options;
    double states = trl_model_tied_states(t->model);
    if (!in_context(t))
        return o->total_gaussians > 0 ? (double)o->total_gaussians / states : mono_components(t);
    trl__varmix rule = varmix(t);
    return o->context_gaussians > 0 ? (double)o->context_gaussians / states
                                    : trl__varmix_components(&rule, t->data->frames / states);
}

/* Rounds double the number of Gaussians until it is reached. The flat start is an iteration of its own. */
void trl__plan_stage(trl__training *t)
{
    double times = growth(t);
    t->rounds = times > 1 ? (int)ceil(log2(times) - 1e-9) + 1 : 1;
    t->iterations = from_flat_start(t) + t->rounds * trl_train_iterations(t->options);
}

int trl__is_transform_iteration(int iteration)
{
    return iteration == 2 || iteration == 4 || iteration == 6 || iteration == 12;
}

/* Early alignments move far: a word that the flat start put into a pause comes out of it in one leap. So a band is used only
 * once the audits have shown that it finds what the wide search finds; auto goes back to the wide search where they no longer do, a
 * margin in frames is kept to after the first round, whatever they say. */
static trl__pass_kind pass_kind(const trl__training *t, int iteration)
{
    if (from_flat_start(t) && iteration <= 2)
        return iteration == 1 ? TRL__PASS_FLAT : TRL__PASS_FIRST;
    return t->checkpoint->settled ? TRL__PASS_BAND : TRL__PASS_WIDE;
}

static double audit_share(const trl__training *t)
{
    return t->options->audit > 0 ? fmax(t->options->audit, LEAST_AUDIT / (double)t->data->count) : 0;
}

static void judge_audit(trl__training *t, const trl_iteration *n)
{
    int agree = n->audited_differ <= UNSETTLED * n->audited_frames;
    int by_choice = t->options->margin != TRL_MARGIN_AUTO &&
                    (t->checkpoint->settled || n->number > trl_train_iterations(t->options));
    t->checkpoint->settled = n->number > 2 && (agree || by_choice);
}

static int32_t most_components(const trl_model *model)
{
    int32_t most = 0;
    for (int32_t s = 0; s < trl_model_tied_states(model); s++)
        most = trl_model_components(model, s) > most ? trl_model_components(model, s) : most;
    return most;
}

/* ---- E-step ---- */

/* `sample`: by tied state, the share of its frames that count; NULL: all do. */
static int run_pass(trl__training *t, const trl_model *model, trl__pass_kind kind, int number, const float *sample,
                    trl__stats *stats, trl__pass_result *result, trl_error *err)
{
    trl__pass pass = {.data = t->data,
                      .lexicon = t->lexicon,
                      .model = model,
                      .sample = sample,
                      .device = t->device,
                      .previous = t->alignments,
                      .kind = kind,
                      .iteration = number,
                      .audit = audit_share(t),
                      .options = t->options,
                      .search = trl__pass_search(t->options),
                      .pool = t->pool,
                      .named = t->named};
    char *path = trl__checkpoint_alignments(t->checkpoint, number);
    trl__alignment_writer *writer = NULL;
    int code = path ? trl__alignment_writer_create(path, &writer, err) : trl__fail_memory(err);
    if (code == 0)
        code = trl__pass_run(&pass, stats, writer, t->skipped, result, err);
    if (code == 0)
        code = trl__alignment_writer_commit(writer, err);
    else
        trl__alignment_writer_abort(writer);
    trl__alignment_store_close(t->alignments);
    t->alignments = NULL;
    if (code == 0)
        code = trl__alignment_store_open(path, &t->alignments, err);
    trl__free(path);
    return code;
}

int trl__align_first(trl__training *t, trl_error *err)
{
    trl__stats *stats;
    trl__pass_result result;
    trl_model first_pass = trl__model_first_pass(t->model);
    int code = trl__stats_create(&first_pass, &stats, err);
    if (code == 0) {
        code = run_pass(t, &first_pass, TRL__PASS_FIRST, 0, NULL, stats, &result, err);
        trl__stats_destroy(stats);
    }
    return code;
}

trl__walk trl__training_walk(const trl__training *t)
{
    return (trl__walk){
        .data = t->data, .lexicon = t->lexicon, .model = t->model, .alignments = t->alignments, .pool = t->pool};
}

/* ---- M-step ---- */

static double *occupancies(const trl__training *t, const trl__stats *stats)
{
    double *count = trl__alloc((size_t)t->model->tied_states, sizeof *count);
    if (count)
        trl__stats_occupancies(stats, t->model, count);
    return count;
}

/* More Gaussians, when a round ends here and another follows. */
static int grow(trl__training *t, int iteration, const double *count, trl_error *err)
{
    const trl_train_options *o = t->options;
    int per_round = trl_train_iterations(o);
    int since = iteration - from_flat_start(t), done = since / per_round; /* rounds */
    if (since == 0 || since % per_round != 0 || done >= t->rounds)
        return 0;
    int64_t wanted = in_context(t) ? o->context_gaussians : o->total_gaussians;
    double least = 2 * o->least_count, factor = ldexp(1, done);
    if (wanted > 0) {
        double total = fmin((double)wanted, factor * t->model->tied_states);
        return trl__split_to_total(t->model, count, (int64_t)total, o->occupancy_power, least, err);
    }
    if (!in_context(t))
        return trl__split_to_components(t->model, count, (int32_t)fmin(mono_components(t), factor), least, err);
    trl__varmix rule = varmix(t);
    return trl__split_by_frames(t->model, count, &rule, ldexp(1, done + 1 - t->rounds), least, err);
}

static int maximise(trl__training *t, int iteration, const trl__stats *stats, trl__pass_result *result, trl_error *err)
{
    trl_iteration *n = &result->numbers;
    trl__estimate_options e = trl__estimate_defaults();
    e.pool = t->pool;
    e.variance_floor = t->options->variance_floor;
    e.least_count = t->options->least_count;
    e.variance_prior = t->options->variance_prior;
    e.unseen_as_all = from_flat_start(t) && iteration == 1;
    trl__estimate_result estimated = {0};
    double start = trl__wall_seconds();
    n->components = most_components(t->model);
    n->gaussians = trl_model_gaussians(t->model);
    n->tied_states = trl_model_tied_states(t->model);
    double *count = occupancies(t, stats);
    int code = count ? trl__estimate(t->model, stats, &e, &estimated, err) : trl__fail_memory(err);
    if (code == 0)
        code = grow(t, iteration, count, err);
    trl__free(count);
    n->dropped = estimated.dropped;
    n->floored = estimated.floored;
    n->kept_states = estimated.kept_states;
    n->estimate = trl__wall_seconds() - start;
    n->seconds += n->estimate;
    return code;
}

/* ---- What is kept ---- */

static int write_text(const char *path, const char *text, trl_error *err)
{
    trl_file *file;
    int code = trl_file_create(path, &file, err);
    if (code < 0)
        return code;
    code = trl_file_write(file, text, strlen(text), err);
    if (code == 0)
        return trl_file_commit(file, err);
    trl_file_abort(file);
    return code;
}

static int remember(trl__training *t, const trl__pass_result *result, trl_error *err)
{
    int code = 0;
    for (int journal = 0; code == 0 && journal <= 1; journal++) {
        char *line = trl__history_line(result, t->data, journal);
        code = line ? trl__history_append(journal ? &t->journal : &t->history, line, err) : trl__fail_memory(err);
        trl__free(line);
    }
    if (code == 0)
        code = trl__model_set_text(&t->model->history, t->history, err);
    if (code == 0 && t->options->journal)
        code = write_text(t->options->journal, t->journal, err);
    return code;
}

static int save(trl__training *t, int number, trl_error *err)
{
    char *path = trl__checkpoint_model(t->checkpoint, number);
    int code = path ? trl_model_write(t->model, path, err) : trl__fail_memory(err);
    trl__free(path);
    if (code == 0 && t->data->view.speakers)
        code = trl__save_speakers(t, number, err);
    return code < 0 ? code : trl__checkpoint_commit(t->checkpoint, number, err);
}

static void name_iteration(const trl__training *t, int number, trl_iteration *n)
{
    n->stage = t->stages[t->checkpoint->stage]->name;
    n->stage_number = t->checkpoint->stage + 1;
    n->stages = t->stage_count;
    n->number = number;
    n->first = t->checkpoint->stage_first;
    n->of = n->first + t->iterations - 1;
    n->transform_gain = t->gain;
}

/* ---- All of it ---- */

static int is_last(const trl__training *t, int iteration)
{
    return iteration == t->iterations;
}

/* What follows the last iteration of a stage, and of the training. */
static int finish(trl__training *t, int iteration, trl__pass_result *result, trl_error *err)
{
    const trl__stage *stage = t->stages[t->checkpoint->stage];
    int code = is_last(t, iteration) && stage->end ? stage->end(t, err) : 0;
    if (code == 0 && is_last(t, iteration) && t->checkpoint->stage == t->stage_count - 1)
        code = trl__find_misfits(t->data, t->lexicon, t->model, t->device, t->alignments, t->pool, t->skipped, result,
                                 err);
    return code;
}

static int expect_and_maximise(trl__training *t, int iteration, int number, trl__pass_result *result, trl_error *err)
{
    trl__stats *stats = NULL;
    float *sample = NULL;
    int code = trl__choose_sample(t, &sample, err);
    if (code == 0)
        code = trl__stats_create(t->model, &stats, err);
    if (code == 0)
        code = run_pass(t, t->model, pass_kind(t, iteration), number, sample, stats, result, err);
    if (code == 0)
        code = maximise(t, iteration, stats, result, err);
    trl__stats_destroy(stats);
    trl__free(sample);
    return code;
}

int trl__iterate(trl__training *t, int number, trl_error *err)
{
    const trl__stage *stage = t->stages[t->checkpoint->stage];
    int iteration = number - t->checkpoint->stage_first + 1;
    trl__pass_result result;
    int code = stage->before ? stage->before(t, iteration, err) : 0;
    if (code == 0)
        code = expect_and_maximise(t, iteration, number, &result, err);
    if (code == 0) {
        name_iteration(t, number, &result.numbers);
        t->gain = 0;
        code = finish(t, iteration, &result, err);
        result.numbers.stage_seconds = trl__wall_seconds() - t->stage_start;
    }
    if (code == 0)
        code = remember(t, &result, err);
    if (code == 0) {
        judge_audit(t, &result.numbers);
        code = save(t, number, err);
    }
    if (code == 0 && t->options->report)
        t->options->report(t->options->user, &result.numbers);
    return code;
}
