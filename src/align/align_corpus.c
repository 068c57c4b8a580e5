/* Forced alignment of a corpus: passes over it (corpus_passes.h) that find the path of each utterance and cut it into segments. Passes that adapt
 * to speakers need the paths alone. */
#include "align/align_visit.h"
#include "align/fit.h"
#include "align/kept_alignment.h"
#include "align/likelihood_length.h"
#include "align/unit_map.h"
#include "align/unknown_words.h"
#include "align/written_segments.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <trellis/extract.h>

typedef struct worker {
    trl__aligner *aligner;
    trl__graph graph;
    trl__scratch posteriors;
} worker;

/* An utterance on its way: what it says, and its alignment. */
typedef struct slot {
    trl__transcript words;
    trl__segmentation segments;
    int32_t frames, judged;         /* judged: for the fit */
    double seconds, log_likelihood; /* of the whole utterance */
    double fit;
    enum { ALIGNED, REFUSED, UNKNOWN_WORDS, PASSED_OVER } outcome;
} slot;

typedef struct alignment_job {
    const trl_model *model;
    const trl_lexicon *lexicon;
    trl_align_options options;
    trl_findings *skipped;
    const trl__align_visit *visit;
    trl_align_summary summary;
    double total; /* log-likelihood */
    trl__unit_map *map;
    const char **unit_labels;
    trl__passes *passes;
    trl__unknown_list unknown; /* of utterances that are left out */
    trl__rivals rivals;
    trl__fits fits;
    trl__written_segments written; /* of the utterance in hand */
    worker *workers;
    slot *slots;
    trl__kept_bytes bytes; /* of a result to be kept */
} alignment_job;

trl_align_options trl_align_defaults(void)
{
    return (trl_align_options){.channel = TRL_CHANNEL_UNSAID,
                               .unknown_words = TRL_UNKNOWN_AUTO,
                               .beam = 400,
                               .acoustic_scale = 0.1,
                               .confidence_margin = 20,
                               .subsampling = 1,
                               .confidence = 1,
                               .adapt = 2};
}

int trl_align_options_check(const trl_align_options *o, trl_error *err)
{
    if (o->unknown_words < TRL_UNKNOWN_FAIL || o->unknown_words > TRL_UNKNOWN_AUTO)
        return trl__fail(err, TRL_EINVAL, "unknown_words is %d; it may be fail, skip, noise or auto", o->unknown_words);
    if (!(o->beam > 0))
        return trl__fail(err, TRL_EINVAL, "beam is %g; it must be more than 0", o->beam);
    if (!(o->acoustic_scale > 0 && isfinite(o->acoustic_scale)))
        return trl__fail(err, TRL_EINVAL, "acoustic_scale is %g; it must be more than 0", o->acoustic_scale);
    if (o->confidence_margin < 1)
        return trl__fail(err, TRL_EINVAL, "confidence_margin is %d frames; it must be at least 1",
                         o->confidence_margin);
    if (o->adapt < 0)
        return trl__fail(err, TRL_EINVAL, "adapt is %d estimates; it must not be negative", o->adapt);
    return trl__subsampling_check(o->subsampling, o->likelihoods, err);
}

static trl__passes_options passes_options(const trl_align_options *o)
{
    return (trl__passes_options){.likelihoods = o->likelihoods,
                                 .subsampling = o->subsampling,
                                 .only = o->only,
                                 .device = o->device,
                                 .channel = o->channel,
                                 .skip_bad = o->skip_bad,
                                 .adapt = o->adapt,
                                 .progress = o->progress};
}

int trl_align_passes(const trl_model *model, const trl_align_options *options)
{
    trl__passes_options o = passes_options(options);
    return trl__passes_count(model, &o);
}

/* ---- one utterance: any thread ---- */

/* What stands in the way of this utterance alone. */
static int refuse(const alignment_job *j, const trl__pass_frames *f, trl_finding_kind kind, int code, const char *why)
{
    j->slots[f->slot].outcome = REFUSED;
    return trl__passes_refuse(j->passes, f->slot, kind, code, why);
}

static int refuse_path(const alignment_job *j, const trl__pass_frames *f, const trl__graph *graph,
                       trl__search_status status)
{
    char text[200];
    size_t frames = f->matrix->rows;
    if (status == TRL__TOO_SHORT) {
        snprintf(text, sizeof text, "%zu frame%s of sound, but the words take %d at least", frames,
                 frames == 1 ? "" : "s", (int)graph->least_frames);
        return refuse(j, f, TRL_FINDING_TOO_LONG, TRL_EINVAL, text);
    }
    return refuse(j, f, TRL_FINDING_UNALIGNED, TRL_EINVAL,
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
    trl__frame_times times = trl__frame_times_of(trl__passes_frontend(j->passes), s->frames, seconds);
    s->seconds = times.seconds;
    return trl__segments_make(&s->segments, j->unit_labels, &w->graph, w->aligner, s->frames, &times,
                              (const char *const *)s->words.labels, slot_posterior, phone_posterior, err);
}

/* Out of memory is a failure; all else that goes wrong here is a fault of the utterance. */
static int find_path(const alignment_job *j, const trl__pass_frames *f, trl_error *err)
{
    trl__search_options o = {.margin = TRL_MARGIN_AUTO, .beam = j->options.beam};
    trl__search_result result = {.status = TRL__NO_PATH};
    worker *w = &j->workers[f->worker];
    slot *s = &j->slots[f->slot];
    s->frames = (int32_t)f->matrix->rows;
    s->outcome = ALIGNED;
    if (j->visit->passes_over && j->visit->passes_over(j->visit->user, f->utterance)) {
        s->outcome = PASSED_OVER;
        return 0;
    }
    if (!f->utterance->text)
        return refuse(j, f, TRL_FINDING_NO_TRANSCRIPT, TRL_EINVAL, "there is no transcript");
    int code = trl__transcript_split(&s->words, j->lexicon, f->utterance->text, err);
    if (code < 0)
        return code;
    if (s->words.unknown_count > 0 && j->options.unknown_words != TRL_UNKNOWN_NOISE) {
        s->outcome = UNKNOWN_WORDS;
        return 0;
    }
    code = trl__graph_build(&w->graph, j->map, j->lexicon, s->words.words, s->words.count, err);
    if (code == TRL_ELIMIT)
        return refuse(j, f, TRL_FINDING_UNALIGNED, code, err->text);
    if (code == 0)
        code = f->parameters ? trl__aligner_begin(w->aligner, f->parameters, f->matrix, &w->graph, err)
                             : trl__aligner_begin_likelihoods(w->aligner, f->matrix, 1, &w->graph, err);
    if (code == 0)
        code = trl__aligner_search(w->aligner, &o, NULL, 0, &result, err);
    if (code < 0)
        return code;
    if (result.status != TRL__ALIGNED)
        return refuse_path(j, f, &w->graph, result.status);
    s->log_likelihood = result.log_likelihood + f->log_det * s->frames; /* of the frames as they came */
    return 0;
}

/* The kept result, with the transcript that its counts are of. */
static int take_kept(const alignment_job *j, const trl__pass_frames *f, const unsigned char *bytes, size_t size,
                     trl_error *err)
{
    slot *s = &j->slots[f->slot];
    trl__aligned a = {0};
    int code = trl__transcript_split(&s->words, j->lexicon, f->utterance->text, err);
    if (code == 0)
        code = trl__alignment_take(bytes, size, &a, &s->segments, err);
    if (code < 0)
        return code;
    s->outcome = ALIGNED;
    s->frames = a.frames;
    s->judged = a.judged;
    s->seconds = a.seconds;
    s->log_likelihood = a.log_likelihood;
    s->fit = a.fit;
    return 0;
}

static int align_frames(void *user, const trl__pass_frames *f, trl_error *err)
{
    const alignment_job *j = user;
    worker *w = &j->workers[f->worker];
    slot *s = &j->slots[f->slot];
    const unsigned char *bytes;
    size_t size;
    if (j->options.kept && (bytes = trl__kept_find(j->options.kept, f->utterance->id, &size)))
        return take_kept(j, f, bytes, size, err);
    int code = find_path(j, f, err);
    if (code < 0 || s->outcome != ALIGNED)
        return code;
    code = trl__aligner_fit(w->aligner, &j->rivals, &s->fit, &s->judged, err);
    if (code == 0)
        code = make_segments(j, w, s, f->seconds, err);
    return code < 0 || !j->visit->work ? code : j->visit->work(j->visit->user, f, &s->segments, err);
}

static int gather_statistics(void *user, const trl__pass_frames *f, trl_error *err)
{
    const alignment_job *j = user;
    const worker *w = &j->workers[f->worker];
    int code = find_path(j, f, err);
    if (code < 0 || j->slots[f->slot].outcome != ALIGNED)
        return code;
    return trl__adaptation_gather(trl__passes_adaptation(j->passes), f->matrix, &w->graph,
                                  trl__aligner_path(w->aligner, NULL, NULL), f->slot, f->worker, err);
}

/* ---- delivery: in corpus order, one at a time ---- */

static int skip_unknown(alignment_job *j, const trl_utterance *u, const trl__transcript *words, trl_error *err)
{
    j->summary.skipped++;
    return trl__unknown_words_skip(&j->unknown, u, words, j->skipped, err);
}

static int keep(alignment_job *j, const trl_utterance *u, const slot *s, trl_error *err)
{
    const trl__aligned a = {s->frames, s->judged, s->seconds, s->log_likelihood, s->fit};
    size_t size;
    if (!j->options.kept || trl__kept_find(j->options.kept, u->id, &size))
        return 0;
    int code = trl__alignment_put(&a, &s->segments, &j->bytes, err);
    return code < 0 ? code : trl__kept_add(j->options.kept, u->id, j->bytes.bytes, j->bytes.size, err);
}

static int deliver(void *user, const trl_utterance *u, size_t slot_index, trl_error *err)
{
    alignment_job *j = user;
    const slot *s = &j->slots[slot_index];
    const trl__segmentation *g = &s->segments;
    if (s->outcome == UNKNOWN_WORDS)
        return skip_unknown(j, u, &s->words, err);
    if (s->outcome == PASSED_OVER)
        return 0;
    trl_alignment alignment = {.utterance = u,
                               .words = {g->words.items, g->words.count},
                               .spoken = {g->words.items, g->words.count},
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
    int code = keep(j, u, s, err);
    if (code == 0 && u->written)
        code = trl__written_segments_make(&j->written, g, u, err);
    if (code == 0 && u->written) {
        alignment.words = (trl_segments){j->written.words.items, j->written.words.count};
        alignment.phones = (trl_segments){j->written.phones.items, j->written.phones.count};
    }
    if (code == 0)
        code = trl__fits_add(&j->fits, u, s->fit, s->judged, err);
    return code < 0 ? code : j->visit->use(j->visit->user, &alignment, slot_index, err);
}

/* ---- setting up ---- */

static int make_workers(alignment_job *j, trl_error *err)
{
    int count = trl__passes_workers(j->passes), code = 0;
    j->workers = trl__alloc_zero((size_t)count, sizeof *j->workers);
    j->slots = trl__alloc_zero(trl__passes_slots(j->passes), sizeof *j->slots);
    if (!j->workers || !j->slots)
        return trl__fail_memory(err);
    for (int i = 0; code == 0 && i < count; i++)
        code = trl__aligner_create(trl__passes_device(j->passes), &j->workers[i].aligner, err);
    return code;
}

/* A phone is called what the lexicon calls it, whatever its place in the word. */
static int name_units(alignment_job *j, trl_error *err)
{
    const trl__strings *units = &j->model->units;
    size_t phones = trl_lexicon_phones(j->lexicon) * TRL__POSITIONS;
    j->unit_labels = trl__alloc(units->count + 1, sizeof *j->unit_labels);
    if (!j->unit_labels)
        return trl__fail_memory(err);
    for (size_t u = 0; u < units->count; u++)
        j->unit_labels[u] = units->texts[u];
    for (size_t i = 0; i < phones; i++)
        if (j->map->phone_unit[i] >= 0)
            j->unit_labels[j->map->phone_unit[i]] = trl_lexicon_phone(j->lexicon, i / TRL__POSITIONS);
    return 0;
}

static int set_up(alignment_job *j, const trl_corpus *corpus, trl_pool *pool, trl_error *err)
{
    trl__passes_options o = passes_options(&j->options);
    trl_unknown_summary unknown = {0};
    int code = trl_align_options_check(&j->options, err);
    if (code == 0)
        code = trl_unknown_words_find(j->model, j->lexicon, corpus, j->options.unknown_words, j->options.only, NULL,
                                      &unknown, err);
    j->options.unknown_words = unknown.choice;
    if (code == 0)
        code = trl__unit_map_create(j->model, j->lexicon, &j->map, err);
    if (code == 0)
        code = name_units(j, err);
    if (code == 0)
        code = trl__passes_create(j->model, corpus, &o, pool, &j->passes, err);
    if (code == 0)
        code = make_workers(j, err);
    return code < 0 || !j->visit->begin ? code : j->visit->begin(j->visit->user, trl__passes_slots(j->passes), err);
}

static int run_passes(alignment_job *j, trl_error *err)
{
    const trl__pass first = {.work = gather_statistics, .user = j};
    const trl__pass last = {.work = align_frames, .use = deliver, .user = j};
    int code = trl__passes_adapt(j->passes, &first, err);
    if (code == 0)
        code = trl__passes_run(j->passes, &last, j->skipped, err);
    trl__passes_summary all = trl__passes_summarise(j->passes);
    j->summary.skipped += all.skipped;
    j->summary.adapted = all.adaptation.speakers;
    j->summary.gain = all.adaptation.gain;
    return code;
}

static void clean_up(alignment_job *j)
{
    for (int i = 0; j->workers && i < trl__passes_workers(j->passes); i++) {
        trl__aligner_destroy(j->workers[i].aligner);
        trl__graph_free(&j->workers[i].graph);
        trl__scratch_free(&j->workers[i].posteriors);
    }
    for (size_t i = 0; j->slots && i < trl__passes_slots(j->passes); i++) {
        trl__segments_free(&j->slots[i].segments);
        trl__transcript_free(&j->slots[i].words);
    }
    trl__free(j->workers);
    trl__free(j->slots);
    trl__free(j->bytes.bytes);
    trl__passes_destroy(j->passes);
    trl__free(j->unit_labels);
    trl__unit_map_destroy(j->map);
    trl__unknown_list_free(&j->unknown);
    trl__fits_free(&j->fits);
    trl__written_segments_free(&j->written);
}

int trl__align_visit_corpus(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                            const trl_align_options *options, trl_pool *pool, trl_findings *skipped,
                            const trl__align_visit *visit, trl_align_summary *summary, trl_error *err)
{
    alignment_job j = {.model = model, .lexicon = lexicon, .skipped = skipped, .visit = visit};
    j.options = options ? *options : trl_align_defaults();
    j.unknown.lexicon = lexicon;
    trl__rivals_choose(&j.rivals, model);
    int code = j.options.kept
                   ? trl__kept_begin(j.options.kept, trl__alignment_job(model, lexicon, corpus, &j.options), err)
                   : 0;
    if (code == 0)
        code = set_up(&j, corpus, pool, err);
    if (code == 0)
        code = run_passes(&j, err);
    if (code == 0)
        code = trl__fits_judge(&j.fits, skipped, err);
    j.summary.log_likelihood = j.summary.frames > 0 ? j.total / (double)j.summary.frames : 0;
    if (summary)
        *summary = j.summary;
    clean_up(&j);
    return code;
}

/* Whoever wants the alignments alone. */
typedef struct plain_use {
    trl_align_fn use;
    void *user;
} plain_use;

static int use_plainly(void *user, const trl_alignment *alignment, size_t slot_index, trl_error *err)
{
    const plain_use *plain = user;
    (void)slot_index;
    return plain->use(plain->user, alignment, err);
}

int trl_align_corpus(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                     const trl_align_options *options, trl_pool *pool, trl_findings *skipped, trl_align_fn use,
                     void *user, trl_align_summary *summary, trl_error *err)
{
    plain_use plain = {use, user};
    const trl__align_visit visit = {.use = use_plainly, .user = &plain};
    return trl__align_visit_corpus(model, lexicon, corpus, options, pool, skipped, &visit, summary, err);
}
