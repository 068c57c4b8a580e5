/* Recognition of a corpus: passes over it (align/corpus_passes.h) that score and search the frames of each utterance block by block, and find the best
 * words of the lattice. Passes that adapt to speakers go along the best paths. */
#include "align/corpus_passes.h"
#include "align/segments.h"
#include "align/likelihood_length.h"
#include "base/fail.h"
#include "base/log_write.h"
#include "base/memory.h"
#include "decode/decode_options.h"
#include "decode/kept_decoding.h"
#include "decode/lattice_align.h"
#include "decode/lattice_determinize.h"
#include "decode/lattice_mbr.h"
#include "decode/searcher.h"

#include <math.h>
#include <string.h>
#include <trellis/extract.h>

#define ROUNDING 0.01     /* cost: the lattice beam where the search's own best path is wanted */
#define LARGE_SCALE 0.125 /* of acoustic costs: the best of some on the recordings of pocketsphinx-testdata */

typedef struct worker {
    trl__searcher searcher;
    trl__determinizer *determinizer; /* NULL: no lattices */
    trl__word_parser *parser;        /* NULL: nothing tells where words begin */
} worker;

typedef trl__decoded slot;

typedef struct decoding_job {
    const trl_model *model;
    const trl_graph *graph;
    trl_decode_options options;
    trl__decode_options search;
    trl_lattice_scale scale, posterior_scale; /* to choose the best words, and for probabilities */
    trl_findings *skipped;
    trl_decode_fn use;
    void *user;
    trl_decode_summary summary;
    double total;              /* log-likelihood */
    size_t delivered, already; /* utterances; those that an earlier run has delivered */
    int use_failed;
    trl__passes *passes;
    worker *workers;
    slot *slots;
    trl__kept_bytes bytes; /* of a result to be kept */
} decoding_job;

/* ---- options ---- */

trl_decode_options trl_decode_defaults(void)
{
    trl__decode_options o = trl__decode_defaults();
    return (trl_decode_options){.channel = TRL_CHANNEL_UNSAID,
                                .beam = o.beam,
                                .lattice_beam = o.lattice_beam,
                                .word_beam = o.word_beam,
                                .most_active = o.most_active,
                                .least_active = o.least_active,
                                .acoustic_scale = o.acoustic_scale,
                                .posterior_scale = TRL_POSTERIOR_SCALE,
                                .subsampling = 1,
                                .adapt = 2,
                                .search_threads = 1,
                                .likelihood_mode = TRL_LIKELIHOODS_AUTO,
                                .ahead = 10};
}

trl_decode_options trl_decode_large_defaults(void)
{
    trl_decode_options o = trl_decode_defaults();
    o.acoustic_scale = LARGE_SCALE;
    return o;
}

/* Are the words of the search's own best path all that is asked for? Then other ways need not be kept. */
static int is_own_best_wanted(const trl_decode_options *o)
{
    trl_lattice_scale scale = trl__lattice_scale_of(o);
    return !o->lattice && !o->confidence && !o->mbr && scale.acoustic == o->acoustic_scale && scale.insertion == 0;
}

trl__decode_options trl__search_options_of(const trl_decode_options *o)
{
    trl__decode_options s = trl__decode_defaults();
    s.beam = o->beam;
    s.lattice_beam = is_own_best_wanted(o) && o->lattice_beam > ROUNDING ? ROUNDING : o->lattice_beam;
    s.word_beam = o->word_beam;
    s.most_active = o->most_active;
    s.least_active = o->least_active;
    s.acoustic_scale = o->acoustic_scale;
    return s;
}

trl_lattice_scale trl__lattice_scale_of(const trl_decode_options *o)
{
    return (trl_lattice_scale){.acoustic = o->language_scale > 0 ? 1 / o->language_scale : o->acoustic_scale,
                               .graph = 1,
                               .insertion = o->word_penalty};
}

int trl_decode_options_check(const trl_decode_options *o, trl_error *err)
{
    trl__decode_options search = trl__search_options_of(o);
    if (!(o->language_scale >= 0 && isfinite(o->language_scale)))
        return trl__fail(err, TRL_EINVAL, "language_scale is %g; it must be more than 0", o->language_scale);
    if (!(o->posterior_scale > 0 && isfinite(o->posterior_scale)))
        return trl__fail(err, TRL_EINVAL, "posterior_scale is %g; it must be more than 0", o->posterior_scale);
    if (!isfinite(o->word_penalty))
        return trl__fail(err, TRL_EINVAL, "word_penalty is %g; it must be a number", o->word_penalty);
    if (o->adapt < 0)
        return trl__fail(err, TRL_EINVAL, "adapt is %d estimates; it must not be negative", o->adapt);
    if (o->search_threads < 1 || o->score_threads < 0 || o->search_threads > TRL__TEAM_MOST ||
        o->score_threads > TRL__TEAM_MOST - o->search_threads)
        return trl__fail(err, TRL_EINVAL, "%d threads to search and %d for likelihoods; choose 1 to %d, together",
                         o->search_threads, o->score_threads, TRL__TEAM_MOST);
    if (!(o->ahead > 0 && o->ahead <= 3600))
        return trl__fail(err, TRL_EINVAL, "ahead is %g s; it may be more than 0, up to 3600", o->ahead);
    int code = trl__subsampling_check(o->subsampling, o->likelihoods, err);
    return code < 0 ? code : trl__decode_options_check(&search, err);
}

static trl__passes_options passes_options(const trl_decode_options *o)
{
    return (trl__passes_options){.likelihoods = o->likelihoods,
                                 .subsampling = o->subsampling,
                                 .only = o->only,
                                 .device = o->device,
                                 .channel = o->channel,
                                 .skip_bad = o->skip_bad,
                                 .online = o->online,
                                 .adapt = o->adapt,
                                 .progress = o->progress};
}

int trl_decode_passes(const trl_model *model, const trl_decode_options *options)
{
    trl__passes_options o = passes_options(options);
    return trl__passes_count(model, &o);
}

/* ---- one utterance: any thread ---- */

static int search_words(const decoding_job *j, const trl__pass_frames *f, const trl__raw_lattice **raw, trl_error *err)
{
    trl__searcher *w = &j->workers[f->worker].searcher;
    slot *s = &j->slots[f->slot];
    int code = 0;
    s->log_det = f->log_det;
    if (f->parameters)
        code = trl__scorer_begin(w->scorer, f->parameters, f->matrix, err);
    else
        trl__scorer_begin_likelihoods(w->scorer, f->matrix);
    if (code == 0)
        code = trl__decoder_begin(w->decoder, err);
    if (code == 0)
        code = trl__searcher_run(w, err);
    if (code == 0)
        code = trl__searcher_finish(w, raw, err);
    if (code == 0)
        code = trl__best_words_find(&s->best, *raw, &j->scale, err);
    if (code == TRL_ENUMBER) {
        trl_error why = *err;
        return trl__fail(err, code, "utterance %s: %s", f->utterance->id, why.text);
    }
    return code;
}

/* ---- lattices ---- */

static int wants_lattice(const trl_decode_options *o)
{
    return o->lattice || o->confidence || o->mbr;
}

static int make_lattice(const decoding_job *j, worker *w, slot *s, const trl__raw_lattice *raw, trl_error *err)
{
    const trl__determinize_options o = {.acoustic_scale = j->search.acoustic_scale, .beam = j->search.lattice_beam};
    double beam = 0;
    trl_lattice_destroy(s->lattice);
    s->lattice = NULL;
    int code = trl__determinize(w->determinizer, raw, j->graph->symbols, &o, &s->lattice, &beam, err);
    s->is_narrow = code == 0 && beam < o.beam;
    return code;
}

/* Confidences of the best path's words. */
static int judge_words(const decoding_job *j, slot *s, trl_error *err)
{
    for (size_t i = 0; i < s->best.count; i++) {
        const trl__best_word *b = &s->best.words[i];
        s->words[i] = (trl_lattice_word){b->word, b->first, b->end, -1};
    }
    return trl__lattice_judge(s->lattice, &j->posterior_scale, s->words, s->best.count, &s->expected_errors, err);
}

/* Words with the least expected errors take the place of the best path's. */
static int choose_words(const decoding_job *j, const worker *w, slot *s, trl_error *err)
{
    trl_lattice *aligned = NULL;
    trl_hypothesis *h = NULL;
    trl__best_words *b = &s->best;
    int code = w->parser ? trl__lattice_align(s->lattice, w->parser, &aligned, err) : 0;
    if (code == 0)
        code = trl_lattice_mbr(aligned ? aligned : s->lattice, &j->posterior_scale, &h, err);
    if (code == 0 &&
        (TRL_GROW(b->words, b->capacity, h->count + 1) < 0 || TRL_GROW(s->words, s->word_capacity, h->count + 1) < 0))
        code = trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < h->count; i++) {
        s->words[i] = h->words[i];
        b->words[i] = (trl__best_word){h->words[i].word, h->words[i].first, h->words[i].end};
    }
    if (code == 0) {
        b->count = h->count;
        s->expected_errors = h->expected_errors;
    }
    trl_hypothesis_destroy(h);
    trl_lattice_destroy(aligned);
    return code;
}

static int find_confidences(const decoding_job *j, const worker *w, slot *s, trl_error *err)
{
    s->expected_errors = -1;
    if (!j->options.confidence && !j->options.mbr)
        return 0;
    if (TRL_GROW(s->words, s->word_capacity, s->best.count + 1) < 0)
        return trl__fail_memory(err);
    return j->options.mbr ? choose_words(j, w, s, err) : judge_words(j, s, err);
}

/* ---- words with times ---- */

const char *trl__word_label(const trl_graph *graph, int32_t word)
{
    const char *name = graph->symbols ? trl_symbols_name(graph->symbols, word) : NULL;
    return name ? name : "?";
}

static int make_segments(const decoding_job *j, const worker *w, slot *s, double seconds, trl_error *err)
{
    int32_t frames = s->best.frames;
    trl__frame_times times = trl__frame_times_of(trl__passes_frontend(j->passes), frames, seconds);
    int code = trl__best_words_time(&s->best, j->model, w->parser, err);
    s->seconds = times.seconds;
    if (code == 0)
        code = find_confidences(j, w, s, err);
    if (code < 0)
        return code;
    if (TRL_GROW(s->segments, s->segment_capacity, s->best.count + 1) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < s->best.count; i++) {
        const trl__best_word *word = &s->best.words[i];
        s->segments[i] = (trl_segment){.label = trl__word_label(j->graph, word->word),
                                       .first = word->first,
                                       .end = word->end,
                                       .start = trl__frame_time(&times, word->first, frames),
                                       .stop = trl__frame_time(&times, word->end, frames),
                                       .confidence = s->expected_errors >= 0 ? (float)s->words[i].confidence : -1,
                                       .index = (int32_t)i};
    }
    return 0;
}

static int decode_frames(void *user, const trl__pass_frames *f, trl_error *err)
{
    const decoding_job *j = user;
    const trl__raw_lattice *raw;
    slot *s = &j->slots[f->slot];
    const unsigned char *bytes;
    size_t size;
    if (j->options.kept && (bytes = trl__kept_find(j->options.kept, f->utterance->id, &size)))
        return trl__decoding_take(bytes, size, j->graph, s, err);
    int code = search_words(j, f, &raw, err);
    if (code == 0 && wants_lattice(&j->options))
        code = make_lattice(j, &j->workers[f->worker], s, raw, err);
    return code < 0 ? code : make_segments(j, &j->workers[f->worker], s, f->seconds, err);
}

static int gather_statistics(void *user, const trl__pass_frames *f, trl_error *err)
{
    const decoding_job *j = user;
    const trl__best_words *best = &j->slots[f->slot].best;
    const trl__raw_lattice *raw;
    int code = search_words(j, f, &raw, err);
    if (code < 0 || !best->is_found)
        return code;
    return trl__adaptation_gather_transitions(trl__passes_adaptation(j->passes), f->matrix, best->transitions, f->slot,
                                              f->worker, err);
}

/* ---- delivery: in corpus order, one at a time ---- */

static int keep(decoding_job *j, const trl_utterance *utterance, const slot *s, trl_error *err)
{
    size_t size;
    if (!j->options.kept || trl__kept_find(j->options.kept, utterance->id, &size))
        return 0;
    int code = trl__decoding_put(s, &j->bytes, err);
    return code < 0 ? code : trl__kept_add(j->options.kept, utterance->id, j->bytes.bytes, j->bytes.size, err);
}

static int deliver(void *user, const trl_utterance *utterance, size_t slot_index, trl_error *err)
{
    decoding_job *j = user;
    const slot *s = &j->slots[slot_index];
    const trl__best_words *best = &s->best;
    trl_decoding decoding = {.utterance = utterance,
                             .words = {s->segments, best->count},
                             .transitions = best->is_found ? best->transitions : NULL,
                             .frames = best->frames,
                             .seconds = s->seconds,
                             .graph_cost = best->graph,
                             .acoustic_cost = best->acoustic,
                             .lattice = s->lattice,
                             .expected_errors = s->expected_errors,
                             .reached_end = best->is_found && best->reached_end};
    j->summary.utterances++;
    j->summary.unfinished += !decoding.reached_end;
    j->summary.wordless += decoding.words.count == 0;
    j->summary.narrowed += s->is_narrow != 0;
    j->summary.words += best->count;
    j->summary.frames += (size_t)best->frames;
    j->summary.seconds += s->seconds;
    j->total += s->log_det * best->frames - best->acoustic;
    if (j->delivered++ < j->already)
        return 0;
    int code = keep(j, utterance, s, err);
    if (code == 0)
        code = j->use(j->user, &decoding, err);
    j->use_failed = code < 0;
    return code;
}

/* ---- all of it ---- */

static int make_workers(decoding_job *j, trl_error *err)
{
    int count = trl__passes_workers(j->passes), code = 0;
    double shift = trl__passes_frontend(j->passes)->shift_ms / 1000;
    j->workers = trl__alloc_zero((size_t)count, sizeof *j->workers);
    j->slots = trl__alloc_zero(trl__passes_slots(j->passes), sizeof *j->slots);
    if (!j->workers || !j->slots)
        return trl__fail_memory(err);
    for (int i = 0; code == 0 && i < count; i++) {
        code = trl__searcher_create(&j->workers[i].searcher, trl__passes_device(j->passes), j->model, j->graph,
                                    &j->search, &j->options, shift, err);
        if (code == 0)
            code = trl__word_parser_create(j->model, j->graph, &j->workers[i].parser, err);
        if (code == 0 && wants_lattice(&j->options))
            code = trl__determinizer_create(&j->workers[i].determinizer, err);
    }
    return code;
}

static int set_up(decoding_job *j, const trl_corpus *corpus, trl_pool *pool, trl_error *err)
{
    const trl_decode_options *o = &j->options;
    trl__passes_options passes = passes_options(o);
    int code = trl_decode_options_check(o, err);
    if (code == 0)
        code = trl_graph_fits(j->graph, j->model, err);
    j->search = trl__search_options_of(o);
    j->scale = trl__lattice_scale_of(o);
    j->posterior_scale = trl_lattice_scale_times(j->scale, o->posterior_scale);
    if (code == 0)
        code = trl__passes_create(j->model, corpus, &passes, pool, &j->passes, err);
    return code < 0 ? code : make_workers(j, err);
}

static trl__decoder_counts count_all(const decoding_job *j)
{
    trl__decoder_counts sum = {0};
    for (int i = 0; i < trl__passes_workers(j->passes); i++) {
        trl__decoder_counts counts = trl__decoder_count(j->workers[i].searcher.decoder);
        sum.frames += counts.frames;
        sum.tokens += counts.tokens;
    }
    return sum;
}

static int run_passes(decoding_job *j, trl_error *err)
{
    const trl__pass first = {.work = gather_statistics, .user = j};
    const trl__pass last = {.work = decode_frames, .use = deliver, .user = j};
    int code = trl__passes_adapt(j->passes, &first, err);
    trl__decoder_counts before = count_all(j);
    if (code == 0)
        code = trl__passes_run(j->passes, &last, j->skipped, err);
    trl__decoder_counts after = count_all(j);
    if (after.frames > before.frames)
        j->summary.tokens = (double)(after.tokens - before.tokens) / (double)(after.frames - before.frames);
    trl__passes_summary all = trl__passes_summarise(j->passes);
    j->summary.skipped = all.skipped;
    j->summary.adapted = all.adaptation.speakers;
    j->summary.gain = all.adaptation.gain;
    for (int i = 0; i < trl__passes_workers(j->passes); i++)
        trl__searcher_add_profile(&j->workers[i].searcher, &j->summary.profile);
    return code;
}

static void clean_up(decoding_job *j)
{
    for (int i = 0; j->workers && i < trl__passes_workers(j->passes); i++) {
        trl__searcher_free(&j->workers[i].searcher);
        trl__determinizer_destroy(j->workers[i].determinizer);
        trl__word_parser_destroy(j->workers[i].parser);
    }
    for (size_t i = 0; j->slots && i < trl__passes_slots(j->passes); i++) {
        trl__best_words_free(&j->slots[i].best);
        trl__free(j->slots[i].segments);
        trl_lattice_destroy(j->slots[i].lattice);
        trl__free(j->slots[i].words);
    }
    trl__free(j->workers);
    trl__free(j->slots);
    trl__free(j->bytes.bytes);
    trl__passes_destroy(j->passes);
}

/* The device's trouble, not the corpus's or the receiver's. */
static int may_leave_device(const decoding_job *j, int code)
{
    return (code == TRL_EDEVICE || code == TRL_ENOMEM || code == TRL_EUNSUPPORTED) && !j->use_failed &&
           j->options.device && strcmp(j->options.device, "auto") == 0;
}

static int decode_once(decoding_job *j, const trl_corpus *corpus, trl_pool *pool, trl_error *err)
{
    int code = set_up(j, corpus, pool, err);
    if (code == 0)
        code = run_passes(j, err);
    clean_up(j);
    return code;
}

int trl_decode_corpus(const trl_model *model, const trl_graph *graph, const trl_corpus *corpus,
                      const trl_decode_options *options, trl_pool *pool, trl_findings *skipped, trl_decode_fn use,
                      void *user, trl_decode_summary *summary, trl_error *err)
{
    decoding_job j = {.model = model, .graph = graph, .skipped = skipped, .use = use, .user = user};
    trl_error own;
    j.options = options ? *options : trl_decode_defaults();
    int code =
        j.options.kept ? trl__kept_begin(j.options.kept, trl__decoding_job(model, graph, corpus, &j.options), &own) : 0;
    if (code == 0)
        code = decode_once(&j, corpus, pool, &own);
    if (may_leave_device(&j,
                         code)) { /* passes over the corpus begin again; what was delivered is not delivered twice */
        trl__log(TRL_LOG_WARNING, "the device fails: %s; the processor goes on after %zu utterances", own.text,
                 j.delivered);
        decoding_job again = {.model = model, .graph = graph, .skipped = skipped, .use = use, .user = user};
        again.options = j.options;
        again.options.device = "cpu";
        again.already = j.delivered;
        code = decode_once(&again, corpus, pool, &own);
        j = again;
    }
    j.summary.log_likelihood = j.summary.frames > 0 ? j.total / (double)j.summary.frames : 0;
    if (summary)
        *summary = j.summary;
    if (code < 0 && err)
        *err = own;
    return code;
}
