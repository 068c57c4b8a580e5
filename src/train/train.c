/* Training by rounds: flat start, then iterations of E-step (train_pass.c) and M-step (model/estimate.c), with more
 * Gaussians from round to round ([000] Table 4). A checkpoint follows each iteration. */
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "model/estimate.h"
#include "train/checkpoint.h"
#include "train/misfits.h"
#include "train/train_history.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <trellis/file.h>
#include <unistd.h>

#define LEAST_AUDIT 50  /* utterances, where there are so many */
#define UNSETTLED 0.001 /* share of the audited frames that differ: above it the next iteration searches widely */

/* ---- Options ---- */

trl_train_options trl_train_defaults(void)
{
    trl__estimate_options e = trl__estimate_defaults();
    trl_align_options a = trl_align_defaults();
    trl_model_options m = trl_model_defaults();
    m.silence_states = 5; /* pauses are of many kinds */
    m.silence_topology = TRL_TOPOLOGY_ERGODIC;
    return (trl_train_options){.model = m,
                               .em = TRL_EM_VITERBI,
                               .components = 32,
                               .occupancy_power = 0.25,
                               .iterations = 4,
                               .margin = TRL_MARGIN_AUTO,
                               .audit = 0.002,
                               .beam = a.beam,
                               .variance_floor = e.variance_floor,
                               .least_count = e.least_count,
                               .unknown_words = TRL_UNKNOWN_SKIP};
}

int trl_train_options_check(const trl_train_options *o, trl_error *err)
{
    if (o->components < 1 || o->components > 100000)
        return trl__fail(err, TRL_EINVAL, "components per state: 1 to 100000, not %d", o->components);
    if (o->total_gaussians < 0)
        return trl__fail(err, TRL_EINVAL, "the total number of Gaussians can't be negative");
    if (o->iterations < 1 || o->iterations > 10000)
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
    return trl_model_options_check(&o->model, err);
}

/* What changes the result, a line each: for the fingerprint and the model's provenance. */
static void print_options(const trl_train_options *o, char *text, size_t size)
{
    snprintf(text, size,
             "em = %s\ncomponents = %d\ntotal_gaussians = %" PRId64 "\noccupancy_power = %.9g\niterations = %d\n"
             "margin = %d\naudit = %.9g\nbeam = %.9g\nbest_component = %d\nvariance_floor = %.9g\nleast_count = %.9g\n"
             "seed = %" PRIu64 "\nunknown_words = %d\nchannel = %d\nstates = %d\nsilence_states = %d\n"
             "silence_topology = %d\nword_positions = %d\nself_loop = %.9g\nsilence_between = %.9g\nsilence = %s\n"
             "noise = %s\n",
             o->em == TRL_EM_VITERBI ? "viterbi" : "baum-welch", o->components, o->total_gaussians, o->occupancy_power,
             o->iterations, o->margin, o->audit, o->beam, o->best_component, o->variance_floor, o->least_count, o->seed,
             o->unknown_words, o->channel, o->model.states, o->model.silence_states, o->model.silence_topology,
             o->model.word_positions, o->model.self_loop, o->model.silence_between, o->model.silence, o->model.noise);
}

/* ---- The plan ---- */

typedef struct training {
    const trl_train_options *options;
    const trl_lexicon *lexicon;
    trl_pool *pool;
    trl_findings *skipped;
    trl__device *device;
    trl__training_data *data;
    trl__checkpoint *checkpoint;
    trl__alignment_store *alignments; /* of the last iteration; NULL before the first */
    trl_model *model;
    char *history, *journal;
    int rounds, iterations; /* in all */
} training;

/* Rounds double the number of Gaussians until it is reached. */
static void plan(training *t)
{
    double least = trl_model_tied_states(t->model);
    double growth =
        t->options->total_gaussians > 0 ? (double)t->options->total_gaussians / least : (double)t->options->components;
    t->rounds = growth > 1 ? (int)ceil(log2(growth) - 1e-9) + 1 : 1;
    t->iterations = 1 + t->rounds * t->options->iterations;
}

/* Early alignments move far: a word that the flat start put into a pause comes out of it in one leap. So a band is used only
 * once the audits have shown that it finds what the wide search finds; auto goes back to the wide search where they no longer do, a
 * margin in frames is kept to after the first round, whatever they say. */
static trl__pass_kind pass_kind(const training *t, int iteration)
{
    if (iteration <= 2)
        return iteration == 1 ? TRL__PASS_FLAT : TRL__PASS_FIRST;
    return t->checkpoint->settled ? TRL__PASS_BAND : TRL__PASS_WIDE;
}

static double audit_share(const training *t)
{
    return t->options->audit > 0 ? fmax(t->options->audit, LEAST_AUDIT / (double)t->data->count) : 0;
}

static void judge_audit(training *t, const trl_iteration *n)
{
    int agree = n->audited_differ <= UNSETTLED * n->audited_frames;
    int by_choice =
        t->options->margin != TRL_MARGIN_AUTO && (t->checkpoint->settled || n->number > t->options->iterations);
    t->checkpoint->settled = n->number > 2 && (agree || by_choice);
}

static int32_t most_components(const trl_model *model)
{
    int32_t most = 0;
    for (int32_t s = 0; s < trl_model_tied_states(model); s++)
        most = trl_model_components(model, s) > most ? trl_model_components(model, s) : most;
    return most;
}

/* ---- One iteration ---- */

static int expect(training *t, int iteration, trl__stats *stats, trl__pass_result *result, trl_error *err)
{
    trl__pass pass = {.data = t->data,
                      .lexicon = t->lexicon,
                      .model = t->model,
                      .device = t->device,
                      .previous = t->alignments,
                      .kind = pass_kind(t, iteration),
                      .iteration = iteration,
                      .audit = audit_share(t),
                      .options = t->options,
                      .search = trl__pass_search(t->options),
                      .pool = t->pool};
    char *path = trl__checkpoint_alignments(t->checkpoint, iteration);
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

static double *occupancies(const training *t, const trl__stats *stats)
{
    double *count = trl__alloc_zero((size_t)t->model->tied_states, sizeof *count);
    for (int32_t s = 0; count && s < t->model->tied_states; s++)
        for (int32_t g = t->model->first_gaussian[s]; g < t->model->first_gaussian[s + 1]; g++)
            count[s] += stats->count[g];
    return count;
}

/* More Gaussians, when a round ends here and another follows. */
static int grow(training *t, int iteration, const double *count, trl_error *err)
{
    int done = (iteration - 1) / t->options->iterations; /* rounds */
    if (iteration == 1 || (iteration - 1) % t->options->iterations != 0 || done >= t->rounds)
        return 0;
    double least = 2 * t->options->least_count, factor = ldexp(1, done);
    if (t->options->total_gaussians > 0) {
        double total = fmin((double)t->options->total_gaussians, factor * t->model->tied_states);
        return trl__split_to_total(t->model, count, (int64_t)total, t->options->occupancy_power, least, err);
    }
    return trl__split_to_components(t->model, count, (int32_t)fmin(t->options->components, factor), least, err);
}

static int maximise(training *t, int iteration, const trl__stats *stats, trl__pass_result *result, trl_error *err)
{
    trl_iteration *n = &result->numbers;
    trl__estimate_options e = trl__estimate_defaults();
    e.pool = t->pool;
    e.variance_floor = t->options->variance_floor;
    e.least_count = t->options->least_count;
    e.unseen_as_all = iteration == 1;
    trl__estimate_result estimated = {0};
    double start = trl__wall_seconds();
    n->of = t->iterations;
    n->components = most_components(t->model);
    n->gaussians = trl_model_gaussians(t->model);
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

static int remember(training *t, const trl__pass_result *result, trl_error *err)
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

static int save(training *t, int iteration, trl_error *err)
{
    char *path = trl__checkpoint_model(t->checkpoint, iteration);
    int code = path ? trl_model_write(t->model, path, err) : trl__fail_memory(err);
    trl__free(path);
    return code < 0 ? code : trl__checkpoint_commit(t->checkpoint, iteration, err);
}

static int find_misfits(training *t, trl__pass_result *result, trl_error *err)
{
    return trl__find_misfits(t->data, t->lexicon, t->model, t->device, t->alignments, t->pool, t->skipped, result, err);
}

static int iterate(training *t, int iteration, trl_error *err)
{
    trl__stats *stats;
    trl__pass_result result;
    int code = trl__stats_create(t->model, &stats, err);
    if (code < 0)
        return code;
    code = expect(t, iteration, stats, &result, err);
    if (code == 0)
        code = maximise(t, iteration, stats, &result, err);
    trl__stats_destroy(stats);
    if (code == 0 && iteration == t->iterations)
        code = find_misfits(t, &result, err);
    if (code == 0)
        code = remember(t, &result, err);
    if (code == 0)
        judge_audit(t, &result.numbers);
    if (code == 0)
        code = save(t, iteration, err);
    if (code == 0 && t->options->report)
        t->options->report(t->options->user, &result.numbers);
    return code;
}

/* ---- Beginning and end ---- */

static int create_model(training *t, trl_error *err)
{
    const trl_train_options *o = t->options;
    int code = trl_model_create(t->lexicon, t->data->frontend, t->data->dim, &o->model, &t->model, err);
    if (code < 0)
        return code;
    char options[1500], text[3000];
    print_options(o, options, sizeof options);
    snprintf(text, sizeof text, "%s%s", o->provenance ? o->provenance : "", options);
    code = trl__model_set_text(&t->model->provenance, text, err);
    snprintf(text, sizeof text, "%s: %s", o->lexicon_name ? o->lexicon_name : "-", trl_model_lexicon(t->model));
    return code < 0 ? code : trl__model_set_text(&t->model->lexicon, text, err);
}

/* Whatever the last run wrote with times; without it the journal starts anew. */
static int load_journal(training *t, int iterations, trl_error *err)
{
    trl__text text;
    if (!t->options->journal || trl__text_read(t->options->journal, &text, NULL) < 0)
        return 0;
    char *line;
    size_t length;
    int code = 0;
    for (int i = 0; code == 0 && i < iterations && trl__text_line(&text, &line, &length); i++)
        code = trl__history_append(&t->journal, line, err);
    trl__text_free(&text);
    return code;
}

static int resume(training *t, trl_error *err)
{
    int code = trl__checkpoint_resume(t->checkpoint, err);
    if (code < 0)
        return code;
    int iteration = t->checkpoint->iteration;
    char *model = trl__checkpoint_model(t->checkpoint, iteration);
    char *alignments = trl__checkpoint_alignments(t->checkpoint, iteration);
    trl_model *mapped = NULL;
    code = model && alignments ? trl_model_read(model, &mapped, err) : trl__fail_memory(err);
    if (code == 0) {
        trl_model_destroy(t->model);
        t->model = NULL;
        code = trl__model_copy(mapped, &t->model, err);
    }
    trl_model_destroy(mapped);
    if (code == 0)
        code = trl__alignment_store_open(alignments, &t->alignments, err);
    if (code == 0 && trl__alignment_store_count(t->alignments) != t->data->count)
        code = trl__fail(err, TRL_ECORRUPT, "%s: %zu alignments for %zu utterances", alignments,
                         trl__alignment_store_count(t->alignments), t->data->count);
    if (code == 0) {
        t->history = trl__strdup(t->model->history);
        code = t->history ? load_journal(t, iteration, err) : trl__fail_memory(err);
    }
    trl__free(model);
    trl__free(alignments);
    return code;
}

/* The model, not yet trained, says which lexicon and which options. */
static uint64_t fingerprint(const training *t)
{
    const char *texts[] = {trl_model_lexicon(t->model), trl_model_provenance(t->model),
                           t->options->device ? t->options->device : "cpu"};
    uint64_t hash = t->data->fingerprint;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hash = hash * UINT64_C(0x9E3779B97F4A7C15) + trl__hash(texts[i], strlen(texts[i]));
    return hash;
}

static int prepare(training *t, const trl_corpus *corpus, const trl_frontend *frontend, trl_error *err)
{
    const trl_train_options *o = t->options;
    int code = trl__device_open(o->device ? o->device : "cpu", 0, &t->device, err);
    if (code == 0)
        code = trl__checkpoint_create(o->folder, &t->checkpoint, err);
    if (code < 0)
        return code;
    if (!o->resume)
        trl__checkpoint_forget(t->checkpoint);
    char *features = trl__checkpoint_features(t->checkpoint);
    code = features ? trl__training_data_create(corpus, t->lexicon, frontend, o, features, o->resume, t->pool,
                                                t->skipped, &t->data, err)
                    : trl__fail_memory(err);
    trl__free(features);
    if (code < 0 && !o->resume)
        trl_train_clean(o->folder); /* there is nothing to go on from */
    if (code == 0)
        code = create_model(t, err);
    if (code < 0)
        return code;
    t->checkpoint->fingerprint = fingerprint(t);
    plan(t);
    return o->resume ? resume(t, err) : 0;
}

int trl_train(const trl_corpus *corpus, const trl_lexicon *lexicon, const trl_frontend *frontend,
              const trl_train_options *options, trl_pool *pool, trl_findings *skipped, trl_model **out, trl_error *err)
{
    training t = {.options = options, .lexicon = lexicon, .pool = pool, .skipped = skipped};
    int code = trl_train_options_check(options, err);
    if (code == 0)
        code = prepare(&t, corpus, frontend, err);
    if (code == 0 && t.checkpoint->iteration == t.iterations) /* only the warnings are left */
        code = find_misfits(&t, &(trl__pass_result){0}, err);
    for (int i = code == 0 ? t.checkpoint->iteration + 1 : 1; code == 0 && i <= t.iterations; i++)
        code = iterate(&t, i, err);
    trl__alignment_store_close(t.alignments);
    trl__training_data_destroy(t.data);
    trl__checkpoint_destroy(t.checkpoint);
    trl__device_close(t.device);
    trl__free(t.history);
    trl__free(t.journal);
    if (code == 0)
        *out = t.model;
    else
        trl_model_destroy(t.model);
    return code;
}
