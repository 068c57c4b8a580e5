/* Rescoring of a corpus: passes over it (align/corpus_passes.h) that align every hypothesis of an utterance with the first-pass model, ask for all their M-phones at
 * once, and sum up. Passes that adapt to speakers go along the best hypothesis. */
#include "align/corpus_passes.h"
#include "align/segments.h"
#include "align/unknown_words.h"
#include "bam/bam_lists.h"
#include "bam/bam_stream.h"
#include "bam/mphone_layout.h"
#include "bam/rescore_batch.h"
#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct worker {
    trl__aligner *aligner;
    trl__graph graph;
    trl__transcript words;
    trl__scratch text;
    trl__segmentation segments;
    trl__layout layout;
    trl__lookup *lookup; /* NULL: the first-pass model is its own second pass */
    trl__batch batch;
    trl__batch_scorer scorer;
    int32_t *used; /* the batch's segments by hypothesis, one behind the other */
    size_t used_count, used_capacity, *ends, end_capacity; /* ends[h]: of hypothesis h's */
} worker;

/* What becomes of an utterance: kept until it is its turn, so that sums don't depend on threads. */
typedef struct slot {
    trl__list *list;   /* NULL: not rescored */
    char unknown[100]; /* a word that the lexicon lacks, and that its utterance is left out for */
    trl_bam_run found;
    size_t unaligned, distinct, keys;
    uint64_t segments;
    double aligning, looking_up, scoring; /* seconds */
} slot;

typedef struct rescoring {
    const trl_model *model;
    const trl_lexicon *lexicon;
    const char *store;
    trl_align_options options;
    trl_bam_lists *lists;
    trl_findings *skipped;
    trl__unit_map *map;
    trl_bam_phones *phones; /* of the first-pass model, where there is no store */
    uint16_t *unit_symbol;
    const char **labels; /* by unit: nobody reads them */
    int order;
    trl__passes *passes;
    worker *workers;
    slot *slots;
    trl_bam_rescore_summary summary;
} rescoring;

static double wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds since *start, which becomes now. */
static double lap(double *start)
{
    double now = wall_clock(), passed = now - *start;
    *start = now;
    return passed;
}

/* ---- one hypothesis: any thread ---- */

static int join_words(trl__scratch *scratch, const trl_bam_hypothesis *h, char **text, trl_error *err)
{
    size_t size = 1, used = 0;
    for (size_t i = 0; i < h->count; i++)
        size += strlen(h->words[i]) + 1;
    if (!(*text = trl__scratch_get(scratch, size, 1)))
        return trl__fail_memory(err);
    for (size_t i = 0; i < h->count; i++) {
        size_t length = strlen(h->words[i]);
        memcpy(*text + used, h->words[i], length);
        used += length;
        (*text)[used++] = ' ';
    }
    (*text)[used] = '\0';
    return 0;
}

/* 1: there is a path, in the aligner's hand; 0: there is none; 2: unknown words that refuse the utterance. */
static int find_path(const rescoring *j, worker *w, const trl__pass_frames *f, const trl_bam_hypothesis *h,
                     trl_error *err)
{
    trl__search_options o = {.margin = TRL_MARGIN_AUTO, .beam = j->options.beam};
    trl__search_result result = {.status = TRL__NO_PATH};
    char *text;
    int code = join_words(&w->text, h, &text, err);
    if (code == 0)
        code = trl__transcript_split(&w->words, j->lexicon, text, err);
    if (code < 0)
        return code;
    if (w->words.unknown_count > 0 && j->options.unknown_words != TRL_UNKNOWN_NOISE)
        return 2;
    code = trl__graph_build(&w->graph, j->map, j->lexicon, w->words.words, w->words.count, err);
    if (code == TRL_ELIMIT)
        return 0;
    if (code == 0)
        code = trl__aligner_begin(w->aligner, f->parameters, f->matrix, &w->graph, err);
    if (code == 0)
        code = trl__aligner_search(w->aligner, &o, NULL, 0, &result, err);
    return code < 0 ? code : result.status == TRL__ALIGNED;
}

/* Which word it is that the utterance is left out for. */
static void note_unknown(const worker *w, slot *s)
{
    size_t i = 0;
    while (w->words.words[i] >= 0)
        i++;
    snprintf(s->unknown, sizeof s->unknown, "%s", w->words.labels[i]);
}

/* The path's states go into the batch. */
static int add_path(const rescoring *j, worker *w, const trl__pass_frames *f, trl_error *err)
{
    const trl__frame_times times = {0};
    const int32_t *path = trl__aligner_path(w->aligner, NULL, NULL);
    unsigned char key[TRL_BAM_KEY_MOST];
    int code = trl__segments_make(&w->segments, j->labels, &w->graph, w->aligner, (int32_t)f->matrix->rows, &times,
                                  (const char *const *)w->words.labels, NULL, NULL, err);
    const trl_bam_phones *phones = w->lookup ? w->lookup->phones : j->phones;
    if (code == 0)
        code = trl__layout_make(&w->layout, phones, j->unit_symbol, &w->segments, err);
    if (code == 0 && TRL_GROW(w->used, w->used_capacity, w->used_count + w->segments.states.count) < 0)
        code = trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < w->segments.states.count; i++) {
        const trl_segment *s = &w->segments.states.items[i];
        trl__layout_key(&w->layout, j->order, (size_t)s->index, s->id, key);
        code = trl__batch_add(&w->batch, key, s->first, s->end, w->graph.node_tied[path[s->first]],
                              &w->used[w->used_count++], err);
    }
    return code;
}

/* ---- one utterance ---- */

/* 1: all hypotheses have been tried; 0: the utterance is refused. */
static int align_all(const rescoring *j, worker *w, const trl__pass_frames *f, const trl__list *list, trl_error *err)
{
    trl__batch_begin(&w->batch, j->order);
    w->used_count = 0;
    if (TRL_GROW(w->ends, w->end_capacity, list->count) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < list->count; i++) {
        int code = find_path(j, w, f, trl__list_hypotheses(j->lists, list) + i, err);
        if (code == 2) {
            note_unknown(w, &j->slots[f->slot]);
            return 0;
        }
        if (code == 1)
            code = add_path(j, w, f, err);
        if (code < 0)
            return code;
        w->ends[i] = w->used_count;
    }
    return 1;
}

static void count_hit(const worker *w, int order, const trl__batch_segment *s, trl_bam_run *found)
{
    int left, right;
    found->lost += s->outcome == TRL__BATCH_LOST;
    found->first_pass += s->outcome == TRL__BATCH_FIRST_PASS;
    if (s->outcome != TRL__BATCH_FOUND)
        return;
    trl_bam_key_context(order, w->batch.keys[s->found].bytes, &left, &right);
    found->hit[left][right]++;
}

/* Equation 2's sums of a hypothesis. */
static void sum_up(const rescoring *j, const worker *w, slot *s, size_t number, int32_t frames, trl_bam_hypothesis *h)
{
    size_t first = number > 0 ? w->ends[number - 1] : 0, end = w->ends[number];
    double again = 0, bam = 0, missing = 0;
    for (size_t i = first; i < end; i++) {
        const trl__batch_segment *g = &w->batch.segments[w->used[i]];
        int own = g->found >= 0 ? trl_bam_key_order(j->order, w->batch.keys[g->found].bytes) : 0;
        again += g->again;
        bam += g->bam;
        missing += (double)(g->end - g->first) * (j->order - own);
        if (w->lookup)
            count_hit(w, j->order, g, &s->found);
    }
    s->segments += end - first;
    h->again = first < end ? again : h->first;
    h->bam = first < end ? bam : h->first;
    h->missing = !w->lookup ? 0 : first < end ? missing : (double)frames * j->order;
    h->first = isnan(h->first) ? again : h->first;
    s->unaligned += first == end;
}

/* A hypothesis that can't be aligned keeps the first pass's score; without one, nothing is known of it. */
static int check_first(const rescoring *j, const worker *w, const trl__pass_frames *f, const trl__list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (isnan(trl__list_hypotheses(j->lists, list)[i].first) && w->ends[i] == (i > 0 ? w->ends[i - 1] : 0))
            return trl__passes_refuse(j->passes, f->slot, TRL_FINDING_UNALIGNED, TRL_EINVAL,
                                      "a hypothesis without an acoustic cost can't be aligned");
    return 1;
}

static int rescore_utterance(void *user, const trl__pass_frames *f, trl_error *err)
{
    const rescoring *j = user;
    worker *w = &j->workers[f->worker];
    slot *s = &j->slots[f->slot];
    trl__list *list = trl__lists_find(j->lists, f->utterance->id);
    *s = (slot){0};
    if (!list)
        return trl__passes_refuse(j->passes, f->slot, TRL_FINDING_NO_NBEST, TRL_ENOENT,
                                  "there is no list of hypotheses for it");
    double start = wall_clock();
    int code = align_all(j, w, f, list, err);
    if (code > 0)
        code = check_first(j, w, f, list);
    s->aligning = lap(&start);
    if (code <= 0)
        return code;
    code = w->lookup ? trl__batch_fetch(&w->batch, w->lookup, err) : 0;
    s->looking_up = lap(&start);
    if (code == 0)
        code = trl__batch_score(&w->batch, &w->scorer, f->matrix, f->parameters, err);
    for (size_t i = 0; code == 0 && i < list->count; i++)
        sum_up(j, w, s, i, (int32_t)f->matrix->rows, trl__list_hypotheses(j->lists, list) + i);
    s->scoring = lap(&start);
    s->list = list;
    s->distinct = w->batch.segment_count;
    s->keys = w->lookup ? w->batch.key_count : 0;
    return code;
}

static int gather_statistics(void *user, const trl__pass_frames *f, trl_error *err)
{
    const rescoring *j = user;
    worker *w = &j->workers[f->worker];
    const trl__list *list = trl__lists_find(j->lists, f->utterance->id);
    int code = list ? find_path(j, w, f, trl__list_hypotheses(j->lists, list), err) : 0;
    if (code != 1)
        return code < 0 ? code : 0; /* it is named in the last pass */
    return trl__adaptation_gather(trl__passes_adaptation(j->passes), f->matrix, &w->graph,
                                  trl__aligner_path(w->aligner, NULL, NULL), f->slot, f->worker, err);
}

/* ---- delivery: in corpus order, one at a time ---- */

static void add_found(trl_bam_run *sum, const trl_bam_run *more, int order)
{
    for (int left = 0; left <= order; left++)
        for (int right = 0; right <= order; right++)
            sum->hit[left][right] += more->hit[left][right];
    sum->first_pass += more->first_pass;
    sum->lost += more->lost;
}

static int skip_unknown(rescoring *j, const trl_utterance *u, const char *word, trl_error *err)
{
    const trl__list *list = trl__lists_find(j->lists, u->id);
    j->summary.skipped++;
    return trl_findings_add(j->skipped, TRL_FINDING_UNKNOWN_WORD, j->lists->name, list->line, u->id, err,
                            "left out; a hypothesis has '%s', which is not in the lexicon", word);
}

static int deliver(void *user, const trl_utterance *u, size_t slot_index, trl_error *err)
{
    rescoring *j = user;
    const slot *s = &j->slots[slot_index];
    if (!s->list)
        return skip_unknown(j, u, s->unknown, err);
    trl_bam_rescore_summary *sum = &j->summary;
    double seconds = s->aligning + s->looking_up + s->scoring;
    s->list->rescored = 1;
    sum->utterances++;
    sum->hypotheses += s->list->count;
    sum->unaligned += s->unaligned;
    sum->segments += s->segments;
    sum->distinct += s->distinct;
    sum->keys += s->keys;
    sum->seconds += seconds;
    sum->longest = seconds > sum->longest ? seconds : sum->longest;
    sum->aligning += s->aligning;
    sum->looking_up += s->looking_up;
    sum->scoring += s->scoring;
    add_found(&j->lists->run, &s->found, j->order);
    return 0;
}

/* ---- setting up ---- */

static int count_list(trl__unknown_count *count, trl__transcript *transcript, trl__scratch *scratch,
                      const trl_bam_lists *lists, const trl__list *list, trl_error *err)
{
    size_t known = count->list.times;
    int code = 0;
    for (size_t i = 0; code == 0 && i < list->count; i++) {
        char *text;
        code = join_words(scratch, trl__list_hypotheses(lists, list) + i, &text, err);
        if (code == 0)
            code = trl__transcript_split(transcript, count->list.lexicon, text, err);
        if (code == 0)
            code = trl__unknown_count_add(count, transcript, (trl__word_place){lists->name, list->id, list->line}, err);
    }
    count->utterances++;
    count->unknown_utterances += count->list.times > known;
    return code;
}

int trl_bam_unknown_words_find(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus,
                               const trl_bam_lists *lists, int choice, trl_findings *words,
                               trl_unknown_summary *summary, trl_error *err)
{
    trl__unknown_count count = {.list.lexicon = lexicon};
    trl__transcript transcript = {0};
    trl__scratch scratch = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < lists->count; i++)
        if (trl_corpus_find(corpus, lists->items[i].id) >= 0)
            code = count_list(&count, &transcript, &scratch, lists, &lists->items[i], err);
    trl__transcript_free(&transcript);
    trl__scratch_free(&scratch);
    if (code == 0)
        return trl__unknown_count_end(&count, model, choice, words, summary, err);
    trl__unknown_list_free(&count.list);
    return code;
}

static int choose_words(rescoring *j, const trl_corpus *corpus, trl_error *err)
{
    trl_unknown_summary unknown = {0};
    int code = trl_bam_unknown_words_find(j->model, j->lexicon, corpus, j->lists, j->options.unknown_words, NULL,
                                          &unknown, err);
    j->options.unknown_words = unknown.choice;
    return code;
}

static int open_lookups(rescoring *j, trl_error *err)
{
    int count = trl__passes_workers(j->passes), code = 0;
    for (int i = 0; code == 0 && i < count; i++)
        code = trl__lookup_open(j->store, &j->workers[i].lookup, err);
    const trl__lookup *first = j->workers[0].lookup;
    if (code == 0)
        code = trl__bam_model_fits(first->facts.model, j->model, j->store, err);
    if (code < 0)
        return code;
    const trl_bam_store_facts *f = &first->facts;
    j->order = f->order;
    j->lists->run = (trl_bam_run){.rescored = 1,
                                  .order = f->order,
                                  .word_boundaries = f->word_boundaries,
                                  .least_frames = f->least_frames,
                                  .most_frames = f->most_frames,
                                  .alpha = f->alpha,
                                  .beta = f->beta,
                                  .gaussians = first->gaussians,
                                  .model_gaussians = (uint64_t)trl_model_gaussians(j->model),
                                  .weights = trl_bam_weights_defaults()};
    return trl__bam_unit_symbols(first->phones, j->model, &j->unit_symbol, err);
}

/* Keys of order 1 tell segments apart well enough. */
static int be_own_second(rescoring *j, trl_error *err)
{
    j->order = 1;
    uint64_t gaussians = (uint64_t)trl_model_gaussians(j->model);
    j->lists->run = (trl_bam_run){
        .rescored = 2, .gaussians = gaussians, .model_gaussians = gaussians, .weights = trl_bam_weights_defaults()};
    int code = trl_bam_phones_of_model(j->model, 0, &j->phones, err);
    return code < 0 ? code : trl__bam_unit_symbols(j->phones, j->model, &j->unit_symbol, err);
}

static int make_workers(rescoring *j, trl_error *err)
{
    int count = trl__passes_workers(j->passes), code = 0;
    j->workers = trl__alloc_zero((size_t)count, sizeof *j->workers);
    j->slots = trl__alloc_zero(trl__passes_slots(j->passes), sizeof *j->slots);
    j->labels = trl__alloc_zero((size_t)trl_model_units(j->model) + 1, sizeof *j->labels);
    if (!j->workers || !j->slots || !j->labels)
        return trl__fail_memory(err);
    for (int i = 0; code == 0 && i < count; i++) {
        j->workers[i].scorer.device = trl__passes_device(j->passes);
        code = trl__aligner_create(j->workers[i].scorer.device, &j->workers[i].aligner, err);
        if (code == 0)
            code = trl__stream_create(j->workers[i].scorer.device, &j->workers[i].scorer.stream, err);
    }
    return code;
}

static int set_up(rescoring *j, const trl_corpus *corpus, trl_pool *pool, trl_error *err)
{
    const trl_align_options *o = &j->options;
    const trl__passes_options passes = {.only = o->only,
                                        .device = o->device,
                                        .channel = o->channel,
                                        .skip_bad = o->skip_bad,
                                        .adapt = o->adapt,
                                        .progress = o->progress};
    int code = trl_align_options_check(o, err);
    if (code == 0 && o->likelihoods)
        code = trl__fail(err, TRL_EINVAL, "M-phones are scored with frames; likelihoods from a file won't do");
    if (code == 0)
        code = choose_words(j, corpus, err);
    if (code == 0)
        code = trl__unit_map_create(j->model, j->lexicon, &j->map, err);
    if (code == 0)
        code = trl__passes_create(j->model, corpus, &passes, pool, &j->passes, err);
    if (code == 0)
        code = make_workers(j, err);
    if (code == 0)
        code = j->store ? open_lookups(j, err) : be_own_second(j, err);
    for (size_t i = 0; i < j->lists->count; i++) {
        j->lists->items[i].rescored = 0;
        j->summary.unused += trl_corpus_find(corpus, j->lists->items[i].id) < 0;
    }
    return code;
}

static void free_worker(worker *w)
{
    trl__aligner_destroy(w->aligner);
    trl__graph_free(&w->graph);
    trl__transcript_free(&w->words);
    trl__scratch_free(&w->text);
    trl__segments_free(&w->segments);
    trl__layout_free(&w->layout);
    if (w->lookup)
        w->lookup->destroy(w->lookup);
    trl__batch_free(&w->batch);
    trl__stream_destroy(w->scorer.stream);
    trl__batch_scorer_free(&w->scorer);
    trl__free(w->used);
    trl__free(w->ends);
}

static void clean_up(rescoring *j)
{
    for (int i = 0; j->workers && i < trl__passes_workers(j->passes); i++)
        free_worker(&j->workers[i]);
    trl__free(j->workers);
    trl__free(j->slots);
    trl__free(j->labels);
    trl__passes_destroy(j->passes);
    trl__unit_map_destroy(j->map);
    trl__free(j->unit_symbol);
    trl_bam_phones_destroy(j->phones);
}

static int run_passes(rescoring *j, trl_error *err)
{
    const trl__pass first = {.work = gather_statistics, .user = j};
    const trl__pass last = {.work = rescore_utterance, .use = deliver, .user = j};
    int code = trl__passes_adapt(j->passes, &first, err);
    if (code == 0)
        code = trl__passes_run(j->passes, &last, j->skipped, err);
    trl__passes_summary all = trl__passes_summarise(j->passes);
    j->summary.skipped += all.skipped;
    j->summary.adapted = all.adaptation.speakers;
    return code < 0 ? code : trl__lists_drop(j->lists, err);
}

int trl_bam_rescore(const trl_model *model, const trl_lexicon *lexicon, const trl_corpus *corpus, const char *store,
                    const trl_align_options *aligning, trl_pool *pool, trl_findings *skipped, trl_bam_lists *lists,
                    trl_bam_rescore_summary *summary, trl_error *err)
{
    rescoring j = {.model = model, .lexicon = lexicon, .store = store, .lists = lists, .skipped = skipped};
    j.options = aligning ? *aligning : trl_align_defaults();
    int code = set_up(&j, corpus, pool, err);
    if (code == 0)
        code = run_passes(&j, err);
    trl_bam_rescore_summary *s = &j.summary;
    double count = s->utterances > 0 ? (double)s->utterances : 1;
    s->seconds /= count;
    s->aligning /= count;
    s->looking_up /= count;
    s->scoring /= count;
    if (summary)
        *summary = *s;
    clean_up(&j);
    return code;
}
