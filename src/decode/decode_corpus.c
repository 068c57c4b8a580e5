/* Recognition of a corpus. Each thread makes the frames of an utterance, scores and searches them block by block, and finds the best words of the
 * lattice; results wait in slots until it is their turn. Passes that adapt to speakers are as in align_corpus.c, along the best paths.
 *
 * With likelihoods from a file no sound is read: batches of matrices come from the file, in corpus order, and all threads
 * work on a batch. */
#include "align/adapt_pass.h"
#include "align/likelihood_reader.h"
#include "align/segments.h"
#include "base/fail.h"
#include "base/memory.h"
#include "decode/best_words.h"
#include "decode/scorer.h"
#include "feat/extract_work.h"

#include <trellis/decode.h>

#include <math.h>
#include <string.h>

#define BATCH_BYTES ((size_t)64 << 20) /* of likelihoods */

typedef struct worker {
    trl__decoder *decoder;
    trl__scorer *scorer;
    const trl__parameters *parameters; /* for the utterance in hand */
} worker;

/* An utterance on its way. */
typedef struct slot {
    const trl_utterance *utterance;
    trl__best_words best;
    trl_segment *segments;
    size_t segment_capacity;
    double seconds;
    double log_det; /* per frame, on top of the log-likelihood */
    int is_missing; /* the file of likelihoods has nothing for it */
    trl_matrix likelihoods;
} slot;

typedef struct decoding_job {
    const trl_model *model;
    const trl_graph *graph;
    const trl_corpus *corpus;
    trl_decode_options options;
    trl__decode_options search;
    trl__lattice_scale scale;
    trl_findings *skipped;
    trl_decode_fn use;
    void *user;
    trl_decode_summary summary;
    double total; /* log-likelihood */
    trl_frontend_options frontend;
    trl__device *device;
    trl__parameters *parameters, *adapted_parameters; /* for frames as they come; NULL: no such frames */
    trl__adaptation *adaptation;                      /* NULL: nobody is adapted */
    worker *workers;
    int worker_count;
    slot *slots;
    size_t slot_count;
} decoding_job;

/* ---- options ---- */

trl_decode_options trl_decode_defaults(void)
{
    trl__decode_options o = trl__decode_defaults();
    return (trl_decode_options){.beam = o.beam,
                                .lattice_beam = o.lattice_beam,
                                .word_beam = o.word_beam,
                                .most_active = o.most_active,
                                .least_active = o.least_active,
                                .acoustic_scale = o.acoustic_scale,
                                .adapt = 2};
}

static trl__decode_options search_options(const trl_decode_options *o)
{
    trl__decode_options s = trl__decode_defaults();
    s.beam = o->beam;
    s.lattice_beam = o->lattice_beam;
    s.word_beam = o->word_beam;
    s.most_active = o->most_active;
    s.least_active = o->least_active;
    s.acoustic_scale = o->acoustic_scale;
    return s;
}

int trl_decode_options_check(const trl_decode_options *o, trl_error *err)
{
    trl__decode_options search = search_options(o);
    if (!(o->language_scale >= 0 && isfinite(o->language_scale)))
        return trl__fail(err, TRL_EINVAL, "language_scale is %g; it must be more than 0", o->language_scale);
    if (!isfinite(o->word_penalty))
        return trl__fail(err, TRL_EINVAL, "word_penalty is %g; it must be a number", o->word_penalty);
    if (o->adapt < 0)
        return trl__fail(err, TRL_EINVAL, "adapt is %d estimates; it must not be negative", o->adapt);
    return trl__decode_options_check(&search, err);
}

int trl_decode_passes(const trl_model *model, const trl_decode_options *options)
{
    return 1 + (model->independent.first_gaussian && !options->likelihoods ? options->adapt : 0);
}

/* ---- one utterance: any thread ---- */

static int search_frames(worker *w, int32_t frames, trl_error *err)
{
    trl__score_group *group;
    int code = trl__decoder_begin(w->decoder, err);
    for (int32_t begin = 0; code == 0 && begin < frames; begin += group->frames) {
        trl__scorer_open(w->scorer, begin, &group);
        code = trl__decoder_advance_group(w->decoder, group, err);
    }
    return code;
}

/* frames: of sound, or likelihoods where the worker has no parameters. */
static int decode_frames(const decoding_job *j, worker *w, slot *s, const trl_matrix *frames, trl_error *err)
{
    const trl__raw_lattice *raw;
    int code = 0;
    if (w->parameters)
        code = trl__scorer_begin(w->scorer, w->parameters, frames, err);
    else
        trl__scorer_begin_likelihoods(w->scorer, frames);
    if (code == 0)
        code = search_frames(w, (int32_t)frames->rows, err);
    if (code == 0)
        code = trl__decoder_finish(w->decoder, &raw, err);
    if (code == 0)
        code = trl__best_words_find(&s->best, raw, &j->scale, err);
    if (code == TRL_ENUMBER) {
        trl_error why = *err;
        return trl__fail(err, code, "utterance %s: %s", s->utterance->id, why.text);
    }
    return code;
}

static const char *word_label(const trl_graph *graph, int32_t word)
{
    const char *name = graph->symbols ? trl_symbols_name(graph->symbols, word) : NULL;
    return name ? name : "?";
}

static int make_segments(const decoding_job *j, slot *s, double seconds, trl_error *err)
{
    int32_t frames = s->best.frames;
    trl__frame_times times = trl__frame_times_of(&j->frontend, frames, seconds);
    int code = trl__best_words_time(&s->best, j->model, err);
    s->seconds = times.seconds;
    if (code < 0)
        return code;
    if (TRL_GROW(s->segments, s->segment_capacity, s->best.count + 1) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < s->best.count; i++) {
        const trl__best_word *w = &s->best.words[i];
        s->segments[i] = (trl_segment){.label = word_label(j->graph, w->word),
                                       .first = w->first,
                                       .end = w->end,
                                       .start = trl__frame_time(&times, w->first, frames),
                                       .stop = trl__frame_time(&times, w->end, frames),
                                       .confidence = -1,
                                       .index = (int32_t)i};
    }
    return 0;
}

/* Chooses the frames and mixtures for an utterance. Returns 1: its speaker is adapted, 0: not; negative on error. */
static int adapt_frames(const decoding_job *j, int worker_index, const trl_utterance *u, const trl_matrix **frames,
                        double *log_det, trl_error *err)
{
    int is_adapted = j->adaptation ? trl__adaptation_frames(j->adaptation, u, frames, worker_index, log_det, err) : 0;
    j->workers[worker_index].parameters = is_adapted > 0 ? j->adapted_parameters : j->parameters;
    return is_adapted;
}

/* ---- delivery: in corpus order, one at a time ---- */

static int deliver(decoding_job *j, const slot *s, trl_error *err)
{
    const trl__best_words *best = &s->best;
    trl_decoding decoding = {.utterance = s->utterance,
                             .words = {s->segments, best->count},
                             .transitions = best->is_found ? best->transitions : NULL,
                             .frames = best->frames,
                             .seconds = s->seconds,
                             .graph_cost = best->graph,
                             .acoustic_cost = best->acoustic,
                             .reached_end = best->is_found && best->reached_end};
    j->summary.utterances++;
    j->summary.unfinished += !decoding.reached_end;
    j->summary.words += best->count;
    j->summary.frames += (size_t)best->frames;
    j->summary.seconds += s->seconds;
    j->total += s->log_det * best->frames - best->acoustic;
    return j->use(j->user, &decoding, err);
}

/* ---- from sound ---- */

static int work_on_frames(void *user, const trl_utterance *u, const trl_matrix *frames, double seconds,
                          size_t slot_index, int worker_index, trl_error *err)
{
    decoding_job *j = user;
    slot *s = &j->slots[slot_index];
    s->utterance = u;
    s->log_det = 0;
    int code = adapt_frames(j, worker_index, u, &frames, &s->log_det, err);
    if (code >= 0)
        code = decode_frames(j, &j->workers[worker_index], s, frames, err);
    return code < 0 ? code : make_segments(j, s, seconds, err);
}

static int use_frames(void *user, const trl_utterance *u, const trl_matrix *frames, size_t slot_index, trl_error *err)
{
    (void)u;
    (void)frames;
    decoding_job *j = user;
    return deliver(j, &j->slots[slot_index], err);
}

/* Those who have no transform after the first pass won't get one: others only are decoded. */
static int gather_statistics(void *user, const trl_utterance *u, const trl_matrix *frames, double seconds,
                             size_t slot_index, int worker_index, trl_error *err)
{
    (void)seconds;
    decoding_job *j = user;
    slot *s = &j->slots[slot_index];
    s->utterance = u;
    int code = adapt_frames(j, worker_index, u, &frames, &s->log_det, err);
    if (code < 0 || (code == 0 && j->summary.adapted > 0))
        return code;
    code = decode_frames(j, &j->workers[worker_index], s, frames, err);
    if (code < 0 || !s->best.is_found)
        return code;
    return trl__adaptation_gather_transitions(j->adaptation, frames, s->best.transitions, slot_index, worker_index,
                                              err);
}

static int use_statistics(void *user, const trl_utterance *u, const trl_matrix *frames, size_t slot_index,
                          trl_error *err)
{
    (void)frames;
    decoding_job *j = user;
    return trl__adaptation_add(j->adaptation, u, slot_index, err);
}

/* What is left out now is left out again at the end, and named then. */
static int adapt_to_speakers(decoding_job *j, const trl_frontend *frontend, const trl_extract_options *o,
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

static trl__decoder_counts count_all(const decoding_job *j)
{
    trl__decoder_counts sum = {0};
    for (int i = 0; i < j->worker_count; i++) {
        trl__decoder_counts counts = trl__decoder_count(j->workers[i].decoder);
        sum.frames += counts.frames;
        sum.tokens += counts.tokens;
    }
    return sum;
}

static int decode_sound(decoding_job *j, trl_pool *pool, trl_error *err)
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
    trl__decoder_counts before = count_all(j);
    if (code == 0)
        code = trl__extract_corpus(j->corpus, frontend, &o, pool, j->skipped, &work, &summary, err);
    trl__decoder_counts after = count_all(j);
    if (after.frames > before.frames)
        j->summary.tokens = (double)(after.tokens - before.tokens) / (double)(after.frames - before.frames);
    j->summary.skipped += summary.skipped;
    trl_frontend_destroy(frontend);
    return code;
}

/* ---- from likelihoods ---- */

static int decode_slot(void *user, size_t index, int worker_index, trl_error *err)
{
    decoding_job *j = user;
    slot *s = &j->slots[index];
    if (s->is_missing)
        return 0;
    int code = decode_frames(j, &j->workers[worker_index], s, &s->likelihoods, err);
    return code < 0 ? code : make_segments(j, s, 0, err);
}

static int is_wanted(const decoding_job *j, const trl_utterance *u, int *code, trl_error *err)
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
static int gather_batch(decoding_job *j, trl__likelihood_reader *r, size_t *number, size_t *filled, trl_error *err)
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
        s->utterance = u;
        int found = trl__likelihood_reader_find(r, *number, &s->likelihoods, err);
        s->is_missing = found == 0;
        code = found < 0 ? found : 0;
        bytes += s->likelihoods.rows * s->likelihoods.cols * sizeof(float);
    }
    return code;
}

static int deliver_or_skip(decoding_job *j, const slot *s, trl_error *err)
{
    const trl_utterance *u = s->utterance;
    if (!s->is_missing)
        return deliver(j, s, err);
    if (!j->options.skip_bad)
        return trl__fail_line(err, TRL_ENOENT, u->source, u->line,
                              "utterance %s: %s has nothing for it (--skip-bad goes on without it)", u->id,
                              j->options.likelihoods);
    j->summary.skipped++;
    return trl_findings_add(j->skipped, TRL_FINDING_NO_SOUND, u->source, u->line, u->id, err,
                            "the file of likelihoods has nothing for it");
}

static int decode_likelihoods(decoding_job *j, trl_pool *pool, trl_error *err)
{
    trl__likelihood_reader *r;
    size_t number = 0, filled = 1;
    if (j->options.only && trl_corpus_find(j->corpus, j->options.only) < 0)
        return trl__fail(err, TRL_ENOENT, "there is no utterance '%s' in the corpus", j->options.only);
    int code = trl__likelihood_reader_open(j->options.likelihoods, j->corpus, j->model->tied_states, &r, err);
    while (code == 0 && filled > 0) {
        code = gather_batch(j, r, &number, &filled, err);
        if (code == 0)
            code = trl_pool_for(pool, filled, decode_slot, j, err);
        for (size_t i = 0; code == 0 && i < filled; i++) {
            code = deliver_or_skip(j, &j->slots[i], err);
            trl_progress_add(j->options.progress, 1);
        }
    }
    trl__likelihood_reader_close(r);
    trl__decoder_counts counts = count_all(j);
    j->summary.tokens = counts.frames > 0 ? (double)counts.tokens / (double)counts.frames : 0;
    return code;
}

/* ---- setting up ---- */

/* Without a description, likelihoods from elsewhere have frames of 25 ms every 10 ms. */
static int read_frontend(decoding_job *j, trl_error *err)
{
    const char *description = trl_model_frontend(j->model);
    int code = trl_frontend_preset(&j->frontend, "mfcc", err);
    if (code < 0)
        return code;
    if (description[0] == '\0' && !j->options.likelihoods)
        return trl__fail(err, TRL_EINVAL,
                         "the model does not say which front end makes its features; give it one with `trellis model "
                         "convert`, or decode likelihoods from a file");
    return trl_frontend_parse(&j->frontend, description, "the model's front end", err);
}

static int load_model(decoding_job *j, trl_pool *pool, trl_error *err)
{
    const trl_model first = trl__model_first_pass(j->model);
    int code = trl__device_load_model(j->device, &first, pool, &j->parameters, err);
    if (code < 0 || trl_decode_passes(j->model, &j->options) == 1 || !trl__adaptation_is_possible(j->corpus))
        return code;
    code = trl__device_load_model(j->device, j->model, pool, &j->adapted_parameters, err);
    return code < 0 ? code
                    : trl__adaptation_create(j->model, j->corpus, j->options.only, j->slot_count, j->worker_count,
                                             &j->adaptation, err);
}

static int make_workers(decoding_job *j, trl_pool *pool, trl_error *err)
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
    for (int i = 0; code == 0 && i < j->worker_count; i++) {
        code = trl__scorer_create(j->device, j->model->tied_states, &j->workers[i].scorer, err);
        if (code == 0)
            code = trl__decoder_create(j->graph, &j->search, &j->workers[i].decoder, err);
    }
    return code;
}

static int set_up(decoding_job *j, trl_pool *pool, trl_error *err)
{
    const trl_decode_options *o = &j->options;
    int code = trl_decode_options_check(o, err);
    if (code == 0)
        code = trl_graph_fits(j->graph, j->model, err);
    if (code == 0)
        code = read_frontend(j, err);
    if (code < 0)
        return code;
    j->search = search_options(o);
    j->scale = (trl__lattice_scale){.acoustic = o->language_scale > 0 ? 1 / o->language_scale : o->acoustic_scale,
                                    .graph = 1,
                                    .insertion = o->word_penalty};
    return make_workers(j, pool, err);
}

static void clean_up(decoding_job *j)
{
    for (int i = 0; j->workers && i < j->worker_count; i++) {
        trl__decoder_destroy(j->workers[i].decoder);
        trl__scorer_destroy(j->workers[i].scorer);
    }
    for (size_t i = 0; j->slots && i < j->slot_count; i++) {
        trl__best_words_free(&j->slots[i].best);
        trl__free(j->slots[i].segments);
        trl_matrix_free(&j->slots[i].likelihoods);
    }
    trl__free(j->workers);
    trl__free(j->slots);
    trl__adaptation_destroy(j->adaptation);
    trl__parameters_free(j->parameters);
    trl__parameters_free(j->adapted_parameters);
    trl__device_close(j->device);
    trl_matrix_free(&j->frontend.transform);
}

int trl_decode_corpus(const trl_model *model, const trl_graph *graph, const trl_corpus *corpus,
                      const trl_decode_options *options, trl_pool *pool, trl_findings *skipped, trl_decode_fn use,
                      void *user, trl_decode_summary *summary, trl_error *err)
{
    decoding_job j = {.model = model, .graph = graph, .corpus = corpus, .skipped = skipped, .use = use, .user = user};
    j.options = options ? *options : trl_decode_defaults();
    int code = set_up(&j, pool, err);
    if (code == 0)
        code = j.options.likelihoods ? decode_likelihoods(&j, pool, err) : decode_sound(&j, pool, err);
    j.summary.log_likelihood = j.summary.frames > 0 ? j.total / (double)j.summary.frames : 0;
    if (summary)
        *summary = j.summary;
    clean_up(&j);
    return code;
}
