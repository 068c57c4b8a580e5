/* Forced alignment of a corpus. Each thread makes the frames of an utterance, finds its path and cuts it into segments; results wait
 * in slots until it is their turn. Memory: sixteen utterances per thread.
 *
 * A model for adapted frames is brought to each speaker first: passes over the same sound that find paths and estimate transforms
 * (adapt_pass.h). In every pass, utterances of speakers who have a transform are adapted and searched with the model's mixtures, all others
 * with the mixtures for frames as they come.
 *
 * With likelihoods from a file no sound is read: batches of matrices come from the file, in corpus order, and all threads
 * work on a batch. */
#include "align/adapt_pass.h"
#include "align/fit.h"
#include "align/likelihood_reader.h"
#include "align/segments.h"
#include "align/unknown_words.h"
#include "base/fail.h"
#include "base/memory.h"
#include "feat/extract_work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BATCH_BYTES ((size_t)64 << 20) /* of likelihoods */

typedef struct worker {
    trl__aligner *aligner;
    trl__graph graph;
    trl__scratch posteriors;
    const trl__parameters *parameters; /* for the utterance in hand */
} worker;

/* An utterance on its way: what it says, and its alignment or why there is none. */
typedef struct slot {
    const trl_utterance *utterance;
    trl__transcript words;
    trl__segmentation segments;
    int32_t frames;
    double seconds, log_likelihood; /* of the whole utterance */
    double fit;
    int code; /* 0, or why it can't be aligned … */
    trl_finding_kind kind;
    trl_error why;
    trl_matrix likelihoods;
} slot;

typedef struct alignment_job {
    const trl_model *model;
    const trl_lexicon *lexicon;
    const trl_corpus *corpus;
    trl_align_options options;
    trl_findings *skipped;
    trl_align_fn use;
    void *user;
    trl_align_summary summary;
    double total; /* log-likelihood */
    trl_frontend_options frontend;
    trl__unit_map *map;
    trl__device *device;
    trl__parameters *parameters, *adapted_parameters; /* for frames as they come; NULL: no such frames */
    trl__adaptation *adaptation;                      /* NULL: nobody is adapted */
    trl__unknown_words unknown;
    trl__rivals rivals;
    trl__fits fits;
    worker *workers;
    int worker_count;
    slot *slots;
    size_t slot_count;
} alignment_job;

trl_align_options trl_align_defaults(void)
{
    return (trl_align_options){
        .beam = 400, .acoustic_scale = 0.1, .confidence_margin = 20, .confidence = 1, .adapt = 2};
}

int trl_align_options_check(const trl_align_options *o, trl_error *err)
{
    if (o->unknown_words < TRL_UNKNOWN_FAIL || o->unknown_words > TRL_UNKNOWN_NOISE)
        return trl__fail(err, TRL_EINVAL, "unknown_words is %d; it may be fail, skip or noise", o->unknown_words);
    if (!(o->beam > 0))
        return trl__fail(err, TRL_EINVAL, "beam is %g; it must be more than 0", o->beam);
    if (!(o->acoustic_scale > 0 && isfinite(o->acoustic_scale)))
        return trl__fail(err, TRL_EINVAL, "acoustic_scale is %g; it must be more than 0", o->acoustic_scale);
    if (o->confidence_margin < 1)
        return trl__fail(err, TRL_EINVAL, "confidence_margin is %d frames; it must be at least 1",
                         o->confidence_margin);
    if (o->adapt < 0)
        return trl__fail(err, TRL_EINVAL, "adapt is %d estimates; it must not be negative", o->adapt);
    return 0;
}

int trl_align_passes(const trl_model *model, const trl_align_options *options)
{
    return 1 + (model->independent.first_gaussian && !options->likelihoods ? options->adapt : 0);
}

/* ---- one utterance: any thread ---- */

/* What stands in the way of this utterance alone. */
static int refuse(slot *s, trl_finding_kind kind, int code, const char *text)
{
    s->kind = kind;
    s->code = code;
    trl__fail(&s->why, code, "%s", text);
    return 0;
}

static int refuse_path(slot *s, const trl__graph *graph, trl__search_status status)
{
    char text[200];
    if (status == TRL__TOO_SHORT) {
        snprintf(text, sizeof text, "%d frame%s of sound, but the words take %d at least", (int)s->frames,
                 s->frames == 1 ? "" : "s", (int)graph->least_frames);
        return refuse(s, TRL_FINDING_TOO_LONG, TRL_EINVAL, text);
    }
    return refuse(s, TRL_FINDING_UNALIGNED, TRL_EINVAL,
                  status == TRL__NO_PATH ? "no path through the words has a probability above zero"
                                         : "no path within four times the beam, and the utterance is too long to be "
                                           "searched in full; choose a wider beam");
}

static int compute_confidence(const alignment_job *j, worker *w, slot *s, float **slot_posterior,
                              float **phone_posterior, trl_error *err)
{
    *slot_posterior = *phone_posterior = NULL;
    if (!j->options.confidence)
        return 0;
    *slot_posterior = trl__scratch_get(&w->posteriors, 2 * (size_t)s->frames, sizeof(float));
    if (!*slot_posterior)
        return trl__fail_memory(err);
    *phone_posterior = *slot_posterior + s->frames;
    trl__posterior_options o = {.margin = j->options.confidence_margin,
                                .acoustic_scale = j->options.acoustic_scale,
                                .slot = *slot_posterior,
                                .phone = *phone_posterior};
    return trl__aligner_posteriors(w->aligner, &o, NULL, err);
}

static int make_segments(const alignment_job *j, worker *w, slot *s, double seconds, trl_error *err)
{
    float *slot_posterior, *phone_posterior;
    int code = compute_confidence(j, w, s, &slot_posterior, &phone_posterior, err);
    if (code < 0)
        return code;
    trl__frame_times times = trl__frame_times_of(&j->frontend, s->frames, seconds);
    s->seconds = times.seconds;
    return trl__segments_make(&s->segments, j->model, &w->graph, w->aligner, s->frames, &times,
                              (const char *const *)s->words.labels, slot_posterior, phone_posterior, err);
}

/* Out of memory is a failure; all else that goes wrong here is a fault of the utterance. */
static int find_path(const alignment_job *j, worker *w, slot *s, const trl_matrix *frames, trl_error *err)
{
    trl__search_options o = {.margin = TRL_MARGIN_AUTO, .beam = j->options.beam};
    trl__search_result result = {.status = TRL__NO_PATH};
    s->frames = (int32_t)frames->rows;
    s->code = 0;
    if (!s->utterance->text)
        return refuse(s, TRL_FINDING_NO_TRANSCRIPT, TRL_EINVAL, "there is no transcript");
    int code = trl__transcript_split(&s->words, j->lexicon, s->utterance->text, err);
    if (code < 0)
        return code;
    if (s->words.unknown_count > 0 && j->options.unknown_words != TRL_UNKNOWN_NOISE)
        return refuse(s, TRL_FINDING_UNKNOWN_WORD, TRL_EINVAL, "unknown words");
    code = trl__graph_build(&w->graph, j->map, j->lexicon, s->words.words, s->words.count, err);
    if (code == TRL_ELIMIT)
        return refuse(s, TRL_FINDING_UNALIGNED, code, err->text);
    if (code == 0)
        code = w->parameters ? trl__aligner_begin(w->aligner, w->parameters, frames, &w->graph, err)
                             : trl__aligner_begin_likelihoods(w->aligner, frames, 1, &w->graph, err);
    if (code == 0)
        code = trl__aligner_search(w->aligner, &o, NULL, 0, &result, err);
    if (code < 0)
        return code;
    if (result.status != TRL__ALIGNED)
        return refuse_path(s, &w->graph, result.status);
    s->log_likelihood = result.log_likelihood;
    return 0;
}

static int align_utterance(const alignment_job *j, worker *w, slot *s, const trl_matrix *frames, double seconds,
                           trl_error *err)
{
    int code = find_path(j, w, s, frames, err);
    if (code < 0 || s->code < 0)
        return code;
    code = trl__aligner_fit(w->aligner, &j->rivals, &s->fit, err);
    return code < 0 ? code : make_segments(j, w, s, seconds, err);
}

/* Chooses the frames and mixtures for an utterance. Returns 1: its speaker is adapted, 0: not; negative on error. */
static int adapt_frames(const alignment_job *j, int worker_index, const trl_utterance *u, const trl_matrix **frames,
                        double *log_det, trl_error *err)
{
    int is_adapted = j->adaptation ? trl__adaptation_frames(j->adaptation, u, frames, worker_index, log_det, err) : 0;
    j->workers[worker_index].parameters = is_adapted > 0 ? j->adapted_parameters : j->parameters;
    return is_adapted;
}

/* ---- delivery: in corpus order, one at a time ---- */

static int ends_all(const alignment_job *j, const slot *s)
{
    return s->kind == TRL_FINDING_UNKNOWN_WORD ? j->options.unknown_words == TRL_UNKNOWN_FAIL : !j->options.skip_bad;
}

static int skip_utterance(alignment_job *j, const slot *s, trl_error *err)
{
    const trl_utterance *u = s->utterance;
    int is_about_text = s->kind == TRL_FINDING_TOO_LONG;
    const char *file = is_about_text ? u->text_source : u->source;
    int64_t line = is_about_text ? u->text_line : u->line;
    if (s->kind == TRL_FINDING_UNKNOWN_WORD && ends_all(j, s))
        return trl__unknown_words_fail(&j->unknown, u, &s->words, err);
    j->summary.skipped++;
    if (s->kind == TRL_FINDING_UNKNOWN_WORD)
        return trl__unknown_words_skip(&j->unknown, u, &s->words, j->skipped, err);
    if (ends_all(j, s))
        return trl__fail_line(err, s->code, file, line, "utterance %s: %s (--skip-bad goes on without it)", u->id,
                              s->why.text);
    return trl_findings_add(j->skipped, s->kind, file, line, u->id, err, "%s", s->why.text);
}

static int deliver(alignment_job *j, const slot *s, trl_error *err)
{
    if (s->code < 0)
        return skip_utterance(j, s, err);
    const trl__segmentation *g = &s->segments;
    trl_alignment alignment = {.utterance = s->utterance,
                               .words = {g->words.items, g->words.count},
                               .phones = {g->phones.items, g->phones.count},
                               .states = {g->states.items, g->states.count},
                               .transitions = g->transitions,
                               .frames = s->frames,
                               .seconds = s->seconds,
                               .log_likelihood = s->log_likelihood / s->frames,
                               .fit = s->fit};
    j->summary.utterances++;
    j->summary.unknown_words += s->words.unknown_count;
    j->summary.frames += (size_t)s->frames;
    j->summary.seconds += s->seconds;
    j->total += s->log_likelihood;
    int code = trl__unknown_words_count(&j->unknown, s->utterance, &s->words, err);
    if (code == 0)
        code = trl__fits_add(&j->fits, s->utterance, s->fit, s->frames, err);
    return code < 0 ? code : j->use(j->user, &alignment, err);
}

/* ---- from sound ---- */

static int work_on_frames(void *user, const trl_utterance *u, const trl_matrix *frames, double seconds,
                          size_t slot_index, int worker_index, trl_error *err)
{
    alignment_job *j = user;
    slot *s = &j->slots[slot_index];
    double log_det = 0;
    s->utterance = u;
    int code = adapt_frames(j, worker_index, u, &frames, &log_det, err);
    if (code >= 0)
        code = align_utterance(j, &j->workers[worker_index], s, frames, seconds, err);
    s->log_likelihood += log_det * s->frames; /* of the frames as they came */
    return code;
}

static int use_frames(void *user, const trl_utterance *u, const trl_matrix *frames, size_t slot_index, trl_error *err)
{
    (void)u;
    (void)frames;
    alignment_job *j = user;
    return deliver(j, &j->slots[slot_index], err);
}

/* ---- from sound, to adapt to the speakers ---- */

/* Those who have no transform after the first pass won't get one: paths are found for others only. */
static int gather_statistics(void *user, const trl_utterance *u, const trl_matrix *frames, double seconds,
                             size_t slot_index, int worker_index, trl_error *err)
{
    (void)seconds;
    alignment_job *j = user;
    worker *w = &j->workers[worker_index];
    slot *s = &j->slots[slot_index];
    double log_det;
    s->utterance = u;
    s->code = 0;
    int code = adapt_frames(j, worker_index, u, &frames, &log_det, err);
    if (code < 0 || (code == 0 && j->summary.adapted > 0))
        return code;
    code = find_path(j, w, s, frames, err);
    if (code < 0 || s->code < 0)
        return code;
    const int32_t *path = trl__aligner_path(w->aligner, NULL, NULL);
    return trl__adaptation_gather(j->adaptation, frames, &w->graph, path, slot_index, worker_index, err);
}

static int use_statistics(void *user, const trl_utterance *u, const trl_matrix *frames, size_t slot_index,
                          trl_error *err)
{
    (void)frames;
    alignment_job *j = user;
    const slot *s = &j->slots[slot_index];
    if (s->code < 0 && ends_all(j, s))
        return skip_utterance(j, s, err);
    return trl__adaptation_add(j->adaptation, u, slot_index, err);
}

/* What is left out now is left out again at the end, and named then. */
static int adapt_to_speakers(alignment_job *j, const trl_frontend *frontend, const trl_extract_options *o,
                             trl_pool *pool, trl_error *err)
{
    trl_findings *skipped = NULL;
    trl_extract_summary summary;
    const trl__extract_work work = {.work = gather_statistics, .use = use_statistics, .user = j};
    int code = trl_findings_create(&skipped, err);
    for (int i = 0; code == 0 && i < j->options.adapt && (i == 0 || j->summary.adapted > 0); i++) {
        trl__adaptation_begin(j->adaptation);
        code = trl__extract_corpus(j->corpus, frontend, o, pool, skipped, &work, &summary, err);
        if (code == 0)
            code = trl__adaptation_end(j->adaptation, err);
        trl__adaptation_summary all = trl__adaptation_summarise(j->adaptation);
        j->summary.adapted = all.speakers;
        j->summary.gain = all.gain;
    }
    trl_findings_destroy(skipped);
    return code;
}

/* ---- from sound, all of it ---- */

static int align_sound(alignment_job *j, trl_pool *pool, trl_error *err)
{
    trl_frontend *frontend = NULL;
    trl_extract_options o = trl_extract_defaults();
    trl_extract_summary summary = {0};
    trl__extract_work work = {.work = work_on_frames, .use = use_frames, .user = j};
    o.channel = j->options.channel;
    o.skip_bad = j->options.skip_bad;
    o.only = j->options.only;
    o.progress = j->options.progress;
    int code = trl_frontend_create(&j->frontend, &frontend, err);
    if (code == 0 && trl_frontend_dim(frontend) != j->model->dim)
        code = trl__fail(err, TRL_EINVAL, "the model's front end makes frames of %d numbers, but its Gaussians have %d",
                         trl_frontend_dim(frontend), (int)j->model->dim);
    if (code == 0 && j->adaptation)
        code = adapt_to_speakers(j, frontend, &o, pool, err);
    if (code == 0)
        code = trl__extract_corpus(j->corpus, frontend, &o, pool, j->skipped, &work, &summary, err);
    j->summary.skipped += summary.skipped;
    trl_frontend_destroy(frontend);
    return code;
}

/* ---- from likelihoods ---- */

/* Fills a slot with an utterance's likelihoods, or with the reason why there are none. */
static int fill_slot(alignment_job *j, trl__likelihood_reader *r, size_t number, slot *s, trl_error *err)
{
    s->utterance = trl_corpus_get(j->corpus, number);
    s->code = 0;
    int found = trl__likelihood_reader_find(r, number, &s->likelihoods, err);
    if (found < 0)
        return found;
    if (!found)
        return refuse(s, TRL_FINDING_UNALIGNED, TRL_ENOENT, "the file of likelihoods has nothing for it");
    if (s->likelihoods.rows == 0)
        return refuse(s, TRL_FINDING_UNALIGNED, TRL_EINVAL, "the file of likelihoods has no frames for it");
    return 0;
}

static int align_slot(void *user, size_t index, int worker_index, trl_error *err)
{
    alignment_job *j = user;
    slot *s = &j->slots[index];
    return s->code < 0 ? 0 : align_utterance(j, &j->workers[worker_index], s, &s->likelihoods, 0, err);
}

static int is_wanted(const alignment_job *j, const trl_utterance *u, int *code, trl_error *err)
{
    if (j->options.only && strcmp(j->options.only, u->id) != 0)
        return 0;
    if (u->bad && !j->options.skip_bad)
        *code = trl__fail_line(err, TRL_EINVAL, u->source, u->line,
                               "utterance %s can't be used; `trellis corpus check` says why, --skip-bad leaves it out",
                               u->id);
    return !u->bad;
}

/* The next utterances from *number on: as many as there are slots, or bytes. */
static int gather_batch(alignment_job *j, trl__likelihood_reader *r, size_t *number, size_t *filled, trl_error *err)
{
    size_t bytes = 0;
    int code = 0;
    for (*filled = 0; code == 0 && *number < trl_corpus_count(j->corpus); ++*number) {
        if (*filled == j->slot_count || bytes > BATCH_BYTES)
            break;
        const trl_utterance *u = trl_corpus_get(j->corpus, *number);
        if (!is_wanted(j, u, &code, err)) {
            j->summary.skipped += u->bad && !j->options.only;
            continue;
        }
        slot *s = &j->slots[(*filled)++];
        code = fill_slot(j, r, *number, s, err);
        bytes += s->likelihoods.rows * s->likelihoods.cols * sizeof(float);
    }
    return code;
}

static int align_likelihoods(alignment_job *j, trl_pool *pool, trl_error *err)
{
    trl__likelihood_reader *r;
    size_t number = 0, filled = 1;
    if (j->options.only && trl_corpus_find(j->corpus, j->options.only) < 0)
        return trl__fail(err, TRL_ENOENT, "there is no utterance '%s' in the corpus", j->options.only);
    int code = trl__likelihood_reader_open(j->options.likelihoods, j->corpus, j->model->tied_states, &r, err);
    while (code == 0 && filled > 0) {
        code = gather_batch(j, r, &number, &filled, err);
        if (code == 0)
            code = trl_pool_for(pool, filled, align_slot, j, err);
        for (size_t i = 0; code == 0 && i < filled; i++) {
            code = deliver(j, &j->slots[i], err);
            trl_progress_add(j->options.progress, 1);
        }
    }
    for (size_t i = 0; i < j->slot_count; i++)
        trl_matrix_free(&j->slots[i].likelihoods);
    trl__likelihood_reader_close(r);
    return code;
}

/* ---- setting up ---- */

/* Without a description, likelihoods from elsewhere have frames of 25 ms every 10 ms. */
static int read_frontend(alignment_job *j, trl_error *err)
{
    const char *description = trl_model_frontend(j->model);
    int code = trl_frontend_preset(&j->frontend, "mfcc", err);
    if (code < 0)
        return code;
    if (description[0] == '\0' && !j->options.likelihoods)
        return trl__fail(err, TRL_EINVAL,
                         "the model does not say which front end makes its features; give it one with `trellis model "
                         "convert`, or align with likelihoods from a file");
    return trl_frontend_parse(&j->frontend, description, "the model's front end", err);
}

static int load_model(alignment_job *j, trl_pool *pool, trl_error *err)
{
    const trl_model first = trl__model_first_pass(j->model);
    int code = trl__device_load_model(j->device, &first, pool, &j->parameters, err);
    if (code < 0 || trl_align_passes(j->model, &j->options) == 1 || !trl__adaptation_is_possible(j->corpus))
        return code;
    code = trl__device_load_model(j->device, j->model, pool, &j->adapted_parameters, err);
    return code < 0 ? code
                    : trl__adaptation_create(j->model, j->corpus, j->options.only, j->slot_count, j->worker_count,
                                             &j->adaptation, err);
}

static int make_workers(alignment_job *j, trl_pool *pool, trl_error *err)
{
    j->worker_count = trl_pool_threads(pool);
    j->slot_count = trl__extract_slots(pool);
    j->workers = trl__alloc_zero((size_t)j->worker_count, sizeof *j->workers);
    j->slots = trl__alloc_zero(j->slot_count, sizeof *j->slots);
    if (!j->workers || !j->slots)
        return trl__fail_memory(err);
    int code = trl__device_open(j->options.device ? j->options.device : "cpu", 0, &j->device, err);
    if (code == 0 && !j->options.likelihoods)
        code = load_model(j, pool, err);
    for (int i = 0; code == 0 && i < j->worker_count; i++)
        code = trl__aligner_create(j->device, &j->workers[i].aligner, err);
    return code;
}

static int set_up(alignment_job *j, trl_pool *pool, trl_error *err)
{
    int code = trl_align_options_check(&j->options, err);
    if (code == 0)
        code = read_frontend(j, err);
    if (code == 0)
        code = trl__unit_map_create(j->model, j->lexicon, &j->map, err);
    return code < 0 ? code : make_workers(j, pool, err);
}

static void clean_up(alignment_job *j)
{
    for (int i = 0; j->workers && i < j->worker_count; i++) {
        trl__aligner_destroy(j->workers[i].aligner);
        trl__graph_free(&j->workers[i].graph);
        trl__scratch_free(&j->workers[i].posteriors);
    }
    for (size_t i = 0; j->slots && i < j->slot_count; i++) {
        trl__segments_free(&j->slots[i].segments);
        trl__transcript_free(&j->slots[i].words);
    }
    trl__free(j->workers);
    trl__free(j->slots);
    trl__adaptation_destroy(j->adaptation);
    trl__parameters_free(j->parameters);
    trl__parameters_free(j->adapted_parameters);
    trl__device_close(j->device);
    trl__unit_map_destroy(j->map);
    trl__unknown_words_free(&j->unknown);
    trl__fits_free(&j->fits);
    trl_matrix_free(&j->frontend.transform);
}

int trl_align_corpus(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                     const trl_align_options *options, trl_pool *pool, trl_findings *skipped, trl_align_fn use,
                     void *user, trl_align_summary *summary, trl_error *err)
{
    alignment_job j = {
        .model = model, .lexicon = lexicon, .corpus = corpus, .skipped = skipped, .use = use, .user = user};
    j.options = options ? *options : trl_align_defaults();
    j.unknown.lexicon = lexicon;
    trl__rivals_choose(&j.rivals, model);
    int code = set_up(&j, pool, err);
    if (code == 0)
        code = j.options.likelihoods ? align_likelihoods(&j, pool, err) : align_sound(&j, pool, err);
    if (code == 0)
        code = trl__unknown_words_name(&j.unknown, skipped, err);
    if (code == 0)
        code = trl__fits_judge(&j.fits, skipped, err);
    j.summary.log_likelihood = j.summary.frames > 0 ? j.total / (double)j.summary.frames : 0;
    if (summary)
        *summary = j.summary;
    clean_up(&j);
    return code;
}
