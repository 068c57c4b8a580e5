#include "train/train_pass.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/ordered.h"
#include "base/random.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define AUTO_MARGIN 6 /* frames: where auto starts */

/* A batch gets this part of a device's memory: there are the model and other threads. It does not go by their number, so that batches,
 * and with them the order of sums, are always the same. */
#define MEMORY_SHARE 64

#define SOFT_MARGIN 2 /* times the margin of a search: what is near the best path counts in Baum-Welch */

/* ---- What a thread and a block need ---- */

typedef struct outcome {
    int32_t status;
    double log_likelihood; /* per frame */
    size_t first_run, runs;
    size_t frames;
    double seconds; /* of the processor */
    int32_t redone, audited;
    double differ; /* frames that the audit found otherwise */
} outcome;

/* An utterance in hand. */
typedef struct lane {
    trl__aligner *aligner;
    trl__graph graph;
    trl__view_room room;
    trl_matrix frames;
    size_t utterance;
} lane;

/* Lanes whose utterances are worked on in one go. */
typedef struct batch {
    lane *lanes;            /* as many as the device likes at once */
    trl__batch_item *items; /* those of the lanes that go together */
    size_t filled, together;
    int taken[TRL__UTTERANCE_BLOCK]; /* by lane: it is among the items */
    outcome *outcomes[TRL__UTTERANCE_BLOCK];
} batch;

typedef struct worker {
    batch batches[2]; /* while a device works on one, the other is filled and goes up; a processor has the first only */
    size_t lane_count, batch_count;
    trl__aligner *first; /* has the stream that all lanes share */
    uint64_t memory;     /* bytes of the device that a batch may take */
    trl__run *path;      /* a copy, while an audit searches again */
    size_t path_capacity;
    double load; /* seconds: reading features, building graphs */
} worker;

typedef struct block {
    trl__local_stats *local;
    outcome outcomes[TRL__UTTERANCE_BLOCK];
    trl__run *runs;
    size_t run_count, run_capacity;
} block;

typedef struct pass_work {
    const trl__pass *pass;
    trl__parameters *parameters;
    trl__unit_map *map;
    worker *workers;
    block *blocks;
    size_t worker_count, block_count;
    trl__stats *stats;
    trl__alignment_writer *alignments;
    trl_findings *skipped;
    trl__pass_result *result;
    double log_det; /* summed over frames that were aligned */
} pass_work;

double trl__wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const char *trl__status_text(int32_t status)
{
    static const char *const texts[] = {[TRL__ALIGNED] = "aligned",
                                        [TRL__TOO_SHORT] = "the sound is shorter than its words can be said",
                                        [TRL__NO_PATH] = "no path through the words has a probability",
                                        [TRL__TOO_LARGE] = "its words have too many paths to be searched; cut it"};
    return texts[status];
}

trl__search_options trl__pass_search(const trl_train_options *options)
{
    return (trl__search_options){.margin = options->margin,
                                 .auto_margin = AUTO_MARGIN,
                                 .beam = options->beam,
                                 .combine = options->best_component ? TRL__MAX : TRL__LOG_ADD,
                                 .accumulates = 1,
                                 .shares = options->em == TRL_EM_SHARED && !options->best_component};
}

/* ---- An utterance ---- */

/* The frames where two paths of the same length are in different nodes. */
static double difference(const trl__run *a, const trl__run *b, int32_t frames)
{
    double differ = 0;
    for (int32_t t = 0, a_end = a->frames, b_end = b->frames; t < frames;) {
        int32_t end = a_end < b_end ? a_end : b_end;
        differ += a->node != b->node ? end - t : 0;
        t = end;
        if (t == a_end && t < frames)
            a_end += (++a)->frames;
        if (t == b_end && t < frames)
            b_end += (++b)->frames;
    }
    return differ;
}

static int is_audited(const pass_work *w, size_t utterance)
{
    const trl__pass *p = w->pass;
    return (double)trl__random_uniform(p->options->seed, (uint64_t)p->iteration, utterance) < p->audit;
}

static int keep_path(worker *k, const trl__search_result *found, trl_error *err)
{
    if (TRL_GROW(k->path, k->path_capacity, found->run_count) < 0)
        return trl__fail_memory(err);
    memcpy(k->path, found->runs, found->run_count * sizeof *k->path);
    return 0;
}

/* Two searches of an audited utterance, the narrow one first: what comes out is the path of the wide one. */
static int search_twice(worker *k, trl__aligner *aligner, const trl__search_options *band,
                        const trl__search_options *wide, const trl__run *runs, size_t count, outcome *o,
                        trl__search_result *found, trl_error *err)
{
    int code = trl__aligner_search(aligner, band, runs, count, found, err);
    o->redone = found->redone;
    if (code < 0 || found->status != TRL__ALIGNED)
        return code;
    code = keep_path(k, found, err);
    if (code == 0)
        code = trl__aligner_search(aligner, wide, NULL, 0, found, err);
    if (code == 0 && found->status != TRL__ALIGNED) /* too large to be searched in full: the band must do */
        return trl__aligner_search(aligner, band, runs, count, found, err);
    if (code < 0)
        return code;
    o->audited = 1;
    o->differ = difference(k->path, found->runs, (int32_t)o->frames);
    return 0;
}

/* The last iteration's alignment; NULL: there is none that guides. */
static const trl__stored_alignment *last_path(const pass_work *w, size_t utterance, const trl__run **runs)
{
    if (w->pass->kind == TRL__PASS_FLAT || w->pass->kind == TRL__PASS_FIRST)
        return NULL;
    const trl__stored_alignment *last = trl__alignment_store_get(w->pass->previous, utterance, runs);
    return last && last->status == TRL__ALIGNED ? last : NULL;
}

static int find_path(const pass_work *w, worker *k, const lane *l, outcome *o, trl__search_result *found,
                     trl_error *err)
{
    const trl__pass *p = w->pass;
    if (p->kind == TRL__PASS_FLAT)
        return trl__aligner_equal_path(l->aligner, found, err);
    trl__search_options wide = p->search;
    if (p->kind == TRL__PASS_BAND)
        wide.margin = TRL_MARGIN_FULL;
    const trl__run *runs = NULL;
    const trl__stored_alignment *last = last_path(w, l->utterance, &runs);
    if (!last)
        return trl__aligner_search(l->aligner, &p->search, NULL, 0, found, err);
    if (p->search.margin != TRL_MARGIN_FULL && is_audited(w, l->utterance))
        return search_twice(k, l->aligner, &p->search, &wide, runs, last->runs, o, found, err);
    if (p->kind == TRL__PASS_WIDE)
        runs = NULL;
    int code = trl__aligner_search(l->aligner, &p->search, runs, runs ? last->runs : 0, found, err);
    o->redone = found->redone;
    return code;
}

/* Statistics of the best path, not of all. */
static int is_by_path(const pass_work *w)
{
    return w->pass->options->em != TRL_EM_BAUM_WELCH || w->pass->kind == TRL__PASS_FLAT;
}

static trl__posterior_options soft_options(const pass_work *w, trl__local_stats *local)
{
    const trl__pass *p = w->pass;
    int is_auto = p->options->margin == TRL_MARGIN_AUTO;
    return (trl__posterior_options){.margin = is_auto ? SOFT_MARGIN * p->search.auto_margin : p->options->margin,
                                    .acoustic_scale = 1,
                                    .local = local};
}

/* Step 3, for the method of training. */
static int gather(const pass_work *w, trl__aligner *aligner, trl__local_stats *local, trl__search_result *found,
                  trl_error *err)
{
    double joint;
    if (is_by_path(w))
        return trl__aligner_accumulate(aligner, local, &joint, err);
    trl__posterior_options all = soft_options(w, local);
    return trl__aligner_posteriors(aligner, &all, &found->log_likelihood, err);
}

static int keep_runs(block *b, outcome *o, const trl__search_result *found, trl_error *err)
{
    if (TRL_GROW(b->runs, b->run_capacity, b->run_count + found->run_count) < 0)
        return trl__fail_memory(err);
    memcpy(b->runs + b->run_count, found->runs, found->run_count * sizeof *b->runs);
    o->first_run = b->run_count;
    o->runs = found->run_count;
    b->run_count += found->run_count;
    return 0;
}

static int name_utterance(const char *id, int code, trl_error *err)
{
    trl_error inner = *err;
    return strstr(inner.text, id) ? code : trl__fail(err, code, "utterance %s: %.800s", id, inner.text);
}

/* The utterance's frames and graph. Returns 1: they are there; 0: it is left out, for a fault of its own. */
static int load_utterance(pass_work *w, worker *k, lane *l, size_t utterance, outcome *o, trl_error *err)
{
    const trl__training_data *d = w->pass->data;
    double clock = trl__now();
    l->utterance = utterance;
    l->frames = (trl_matrix){0};
    int code = trl__training_frames(d, utterance, 1, &l->room, &l->frames, err);
    if (code == 0)
        code = trl__graph_build(&l->graph, w->map, w->pass->lexicon, d->words + d->first_word[utterance],
                                d->first_word[utterance + 1] - d->first_word[utterance], err);
    double seconds = trl__lap(&clock);
    k->load += seconds;
    o->seconds += seconds;
    o->frames = l->frames.rows;
    if (code == TRL_ELIMIT) {
        o->status = TRL__TOO_LARGE;
        return 0;
    }
    if (code == 0)
        code = trl__aligner_prepare(l->aligner, w->parameters, &l->frames, &l->graph, err);
    trl__aligner_sample(l->aligner, w->pass->sample, utterance);
    return code < 0 ? name_utterance(d->utterance[utterance]->id, code, err) : 1;
}

static int keep_outcome(const pass_work *w, block *b, const lane *l, outcome *o, const trl__search_result *found,
                        trl_error *err)
{
    o->status = found->status;
    o->log_likelihood = l->frames.rows > 0 ? found->log_likelihood / (double)l->frames.rows : 0;
    o->log_likelihood += trl__training_log_det(w->pass->data, l->utterance);
    return found->status == TRL__ALIGNED ? keep_runs(b, o, found, err) : 0;
}

/* Search and statistics of one utterance by itself. */
static int do_utterance(pass_work *w, worker *k, block *b, const lane *l, outcome *o, trl_error *err)
{
    trl__search_result found = {0};
    double start = trl__now();
    int code = trl__aligner_begin(l->aligner, w->parameters, &l->frames, &l->graph, err);
    if (code == 0)
        code = find_path(w, k, l, o, &found, err);
    if (code == 0 && found.status == TRL__ALIGNED)
        code = gather(w, l->aligner, b->local, &found, err);
    if (code == 0)
        code = keep_outcome(w, b, l, o, &found, err);
    o->seconds += trl__now() - start;
    return code < 0 ? name_utterance(w->pass->data->utterance[l->utterance]->id, code, err) : 0;
}

/* ---- Several utterances at once ---- */

/* Those that are searched once, around the last path or in a beam, as everybody is in this pass, or not at all. */
static int is_for_batch(const pass_work *w, const worker *k, const lane *l, trl__batch_item *item)
{
    const trl__pass *p = w->pass;
    *item = (trl__batch_item){.aligner = l->aligner};
    if (k->batch_count == 1 || p->kind == TRL__PASS_FLAT)
        return k->batch_count > 1;
    const trl__run *runs = NULL;
    const trl__stored_alignment *last = last_path(w, l->utterance, &runs);
    if (last && p->search.margin != TRL_MARGIN_FULL && is_audited(w, l->utterance))
        return 0;
    if (p->kind == TRL__PASS_BAND && !last)
        return 0;
    item->previous = p->kind == TRL__PASS_BAND ? runs : NULL;
    item->previous_runs = item->previous ? last->runs : 0;
    return trl__aligners_can(l->aligner, &p->search, item->previous != NULL);
}

/* Flat starts have their path already. */
static int share_out_evenly(trl__batch_item *items, size_t count, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = trl__aligner_equal_path(items[i].aligner, &items[i].result, err);
        items[i].done = items[i].result.status == TRL__ALIGNED;
    }
    return code;
}

/* Baum-Welch's statistics of those that are done. Where others are not, frames go up once more, as the stream has those of all side by side. */
static int gather_soft(const pass_work *w, trl__batch_item *items, size_t count, trl__local_stats *local,
                       trl_error *err)
{
    const trl__posterior_options all = soft_options(w, local);
    trl__batch_item done[TRL__UTTERANCE_BLOCK];
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (items[i].done)
            done[left++] = items[i];
    if (left == 0)
        return 0;
    int code = left < count ? trl__aligners_send(done, left, err) : 0;
    if (code == 0)
        code = trl__aligners_posteriors(done, left, &all, err);
    for (size_t i = 0, k = 0; code == 0 && i < count; i++)
        if (items[i].done)
            items[i].result = done[k++].result;
    return code;
}

/* What comes next (NULL: nothing) goes up while the device works on these. */
static int search_batch(const pass_work *w, trl__batch_item *items, size_t count, const batch *next,
                        trl__local_stats *local, trl_error *err)
{
    int flat = w->pass->kind == TRL__PASS_FLAT;
    int code = flat ? share_out_evenly(items, count, err) : 0;
    if (code == 0)
        code = trl__aligners_send(items, count, err);
    if (code == 0 && next && next->together > 0)
        trl__aligners_send_ahead(next->items, next->together);
    if (code == 0 && !flat)
        code = trl__aligners_search(items, count, &w->pass->search, err);
    if (code < 0)
        return code;
    return is_by_path(w) ? trl__aligners_accumulate(items, count, local, err)
                         : gather_soft(w, items, count, local, err);
}

/* A batch that does not fit into the device's memory is cut in two, and has the memory to itself. */
static int search_parts(const pass_work *w, trl__batch_item *items, size_t count, const batch *next,
                        trl__local_stats *local, trl_error *err)
{
    if (count == 0)
        return 0;
    int code = search_batch(w, items, count, next, local, err);
    if (code != TRL_ENOMEM || (count == 1 && !next))
        return code;
    trl__aligner_trim(items[0].aligner);
    code = search_parts(w, items, count / 2, NULL, local, err);
    return code < 0 ? code : search_parts(w, items + count / 2, count - count / 2, NULL, local, err);
}

/* The lanes' utterances: together those that can be, then the others one by one. */
static int do_batch(pass_work *w, worker *k, block *b, batch *now, const batch *next, trl_error *err)
{
    size_t at = 0;
    double start = trl__now();
    int code = search_parts(w, now->items, now->together, next, b->local, err);
    if (code == TRL_ENUMBER) { /* one by one, the utterance at fault is named */
        memset(now->taken, 0, sizeof now->taken);
        code = 0;
    }
    double seconds = now->together > 0 ? (trl__now() - start) / (double)now->together : 0;
    for (size_t i = 0; code == 0 && i < now->filled; i++) {
        const lane *l = &now->lanes[i];
        outcome *o = now->outcomes[i];
        trl__batch_item *item = now->taken[i] ? &now->items[at++] : NULL;
        o->seconds += item ? seconds : 0;
        if (item && (item->done || w->pass->kind == TRL__PASS_FLAT))
            code = keep_outcome(w, b, l, o, &item->result, err);
        else
            code = do_utterance(w, k, b, l, o, err);
    }
    return code;
}

/* ---- Blocks ---- */

static size_t block_end(const pass_work *w, size_t item)
{
    size_t end = (item + 1) * TRL__UTTERANCE_BLOCK;
    return end < w->pass->data->count ? end : w->pass->data->count;
}

/* The system fetches a later block's features while this one is computed, so that step 0 does not wait. */
static void read_ahead(const pass_work *w, size_t item)
{
    const trl__training_data *d = w->pass->data;
    if (item * TRL__UTTERANCE_BLOCK < d->count)
        trl_feature_reader_ahead(d->features, d->feature[item * TRL__UTTERANCE_BLOCK],
                                 d->feature[block_end(w, item) - 1] + 1);
}

/* Bytes on a device, about: frames four times, as they are, in this batch and in the next one, which is sent meanwhile, and in lanes of values
 * and squares for scores and for statistics; shares of components; scores, back-pointers and arcs of some thirty nodes that a band has at a
 * frame. */
static uint64_t bytes_of(const pass_work *w, const lane *l)
{
    const trl_model *m = w->pass->model;
    uint64_t components = (uint64_t)(m->first_gaussian[m->tied_states] / (m->tied_states > 0 ? m->tied_states : 1)) + 1;
    return (uint64_t)l->frames.rows * (7 * sizeof(float) * l->frames.cols + 2 * sizeof(float) * components + 400);
}

/* Utterances from *next on, until there are enough for a batch, or their memory is; none: the block has no more. */
static int fill_batch(pass_work *w, worker *k, block *b, batch *into, size_t *next, size_t end, trl_error *err)
{
    uint64_t bytes = 0;
    int code = 0;
    into->filled = into->together = 0;
    for (; code >= 0 && *next < end && into->filled < k->lane_count && bytes <= k->memory; ++*next) {
        lane *l = &into->lanes[into->filled];
        outcome *o = into->outcomes[into->filled] = &b->outcomes[*next % TRL__UTTERANCE_BLOCK];
        code = load_utterance(w, k, l, *next, o, err);
        if (code <= 0)
            continue;
        bytes += bytes_of(w, l);
        into->taken[into->filled] = is_for_batch(w, k, l, &into->items[into->together]);
        into->together += (size_t)into->taken[into->filled++];
    }
    return code < 0 ? code : 0;
}

/* While a device works on a batch, the next one is there already; a processor has one batch, again and again. */
static int do_block(pass_work *w, worker *k, block *b, size_t item, trl_error *err)
{
    size_t next = item * TRL__UTTERANCE_BLOCK, end = block_end(w, item), last = k->batch_count - 1;
    int code = fill_batch(w, k, b, &k->batches[0], &next, end, err);
    for (size_t turn = 0; code == 0 && k->batches[turn].filled > 0; turn = last - turn) {
        batch *now = &k->batches[turn], *then = &k->batches[last - turn];
        if (then != now)
            code = fill_batch(w, k, b, then, &next, end, err);
        if (code == 0)
            code = do_batch(w, k, b, now, then, err);
        if (code == 0 && then == now)
            code = fill_batch(w, k, b, now, &next, end, err);
    }
    return code;
}

static int produce(void *user, size_t item, size_t slot, int number, trl_error *err)
{
    pass_work *w = user;
    block *b = &w->blocks[slot];
    trl__local_stats_zero(b->local);
    b->run_count = 0;
    memset(b->outcomes, 0, sizeof b->outcomes);
    read_ahead(w, item + w->worker_count);
    int code = do_block(w, &w->workers[number], b, item, err);
    trl_progress_add(w->pass->options->progress, block_end(w, item) - item * TRL__UTTERANCE_BLOCK);
    return code;
}

/* Keeps the TRL__NOTABLE with the highest rank, in falling order; equal ones in order of arrival. */
static void note(trl__notable *list, size_t *count, size_t utterance, double value, double sign)
{
    size_t at = *count;
    while (at > 0 && sign * list[at - 1].value < sign * value)
        at--;
    if (at == TRL__NOTABLE)
        return;
    *count += *count < TRL__NOTABLE;
    memmove(list + at + 1, list + at, (*count - at - 1) * sizeof *list);
    list[at] = (trl__notable){utterance, value};
}

static int add_failure(pass_work *w, size_t utterance, const outcome *o, trl_error *err)
{
    const trl__pass *p = w->pass;
    const trl_utterance *u = p->data->utterance[utterance];
    trl__pass_result *r = w->result;
    r->numbers.failed++;
    if (r->failed_count < TRL__NOTABLE)
        r->failed[r->failed_count++] = (trl__notable){utterance, o->status};
    if (p->named[utterance])
        return 0;
    p->named[utterance] = 1;
    return trl_findings_add(w->skipped, TRL_FINDING_UNALIGNED, u->source, u->line, u->id, err,
                            "left out of iteration %d: %s (%zu frames)", p->iteration, trl__status_text(o->status),
                            o->frames);
}

static int add_outcome(pass_work *w, size_t utterance, const outcome *o, const block *b, trl_error *err)
{
    trl_iteration *n = &w->result->numbers;
    n->redone += o->redone > 0;
    n->audited += (size_t)o->audited;
    n->audited_frames += o->audited ? (double)o->frames : 0;
    n->audited_differ += o->differ;
    n->sound += (double)o->frames * w->pass->data->frame_seconds;
    note(w->result->slowest, &w->result->slowest_count, utterance, o->seconds, 1);
    int code =
        trl__alignment_writer_add(w->alignments, o->status, o->log_likelihood, b->runs + o->first_run, o->runs, err);
    if (code < 0 || o->status != TRL__ALIGNED)
        return code < 0 ? code : add_failure(w, utterance, o, err);
    n->utterances++;
    w->log_det += (double)o->frames * trl__training_log_det(w->pass->data, utterance);
    note(w->result->worst, &w->result->worst_count, utterance, o->log_likelihood, -1);
    return 0;
}

static int consume(void *user, size_t item, size_t slot, trl_error *err)
{
    pass_work *w = user;
    const block *b = &w->blocks[slot];
    double start = trl__now();
    trl__stats_merge(w->stats, b->local);
    w->result->numbers.accumulate += trl__now() - start;
    int code = 0;
    for (size_t u = item * TRL__UTTERANCE_BLOCK; code == 0 && u < block_end(w, item); u++)
        code = add_outcome(w, u, &b->outcomes[u - item * TRL__UTTERANCE_BLOCK], b, err);
    return code;
}

/* ---- The pass ---- */

static int make_batch(batch *b, size_t count, trl__aligner *first, trl_error *err)
{
    int code = 0;
    b->lanes = trl__alloc_zero(count, sizeof *b->lanes);
    b->items = trl__alloc_zero(count, sizeof *b->items);
    if (!b->lanes || !b->items)
        return trl__fail_memory(err);
    for (size_t i = 0; code == 0 && i < count; i++)
        code = trl__aligner_create_beside(first, &b->lanes[i].aligner, err);
    return code;
}

/* A worker's lanes: one for a processor, two batches for devices that want them. */
static int make_worker(const pass_work *w, worker *k, trl_error *err)
{
    int code = trl__aligner_create(w->pass->device, &k->first, err);
    if (code < 0)
        return code;
    const trl__device_info *info = trl__aligner_device(k->first);
    k->lane_count = info->batch < TRL__UTTERANCE_BLOCK ? (size_t)info->batch : TRL__UTTERANCE_BLOCK;
    k->batch_count = k->lane_count > 1 ? 2 : 1;
    k->memory = info->memory / MEMORY_SHARE;
    for (size_t i = 0; code == 0 && i < k->batch_count; i++)
        code = make_batch(&k->batches[i], k->lane_count, k->first, err);
    return code;
}

static int set_up(pass_work *w, trl_error *err)
{
    const trl__pass *p = w->pass;
    w->worker_count = p->pool ? (size_t)trl_pool_threads(p->pool) : 1;
    w->block_count = 2 * w->worker_count;
    w->workers = trl__alloc_zero(w->worker_count, sizeof *w->workers);
    w->blocks = trl__alloc_zero(w->block_count, sizeof *w->blocks);
    if (!w->workers || !w->blocks)
        return trl__fail_memory(err);
    int code = trl__unit_map_create(p->model, p->lexicon, &w->map, err);
    if (code == 0)
        code = trl__device_load_model(p->device, p->model, p->pool, &w->parameters, err);
    for (size_t i = 0; code == 0 && i < w->worker_count; i++)
        code = make_worker(w, &w->workers[i], err);
    for (size_t i = 0; code == 0 && i < w->block_count; i++)
        code = trl__local_stats_create(p->model, &w->blocks[i].local, err);
    return code;
}

static void free_batch(batch *b, size_t count)
{
    for (size_t i = 0; b->lanes && i < count; i++) {
        trl__aligner_destroy(b->lanes[i].aligner);
        trl__graph_free(&b->lanes[i].graph);
        trl__view_room_free(&b->lanes[i].room);
    }
    trl__free(b->lanes);
    trl__free(b->items);
}

static void free_worker(worker *k)
{
    for (size_t i = 0; i < k->batch_count; i++)
        free_batch(&k->batches[i], k->lane_count);
    trl__aligner_destroy(k->first);
    trl__free(k->path);
}

static void tear_down(pass_work *w)
{
    for (size_t i = 0; w->workers && i < w->worker_count; i++)
        free_worker(&w->workers[i]);
    for (size_t i = 0; w->blocks && i < w->block_count; i++) {
        trl__local_stats_destroy(w->blocks[i].local);
        trl__free(w->blocks[i].runs);
    }
    trl__free(w->workers);
    trl__free(w->blocks);
    trl__parameters_free(w->parameters);
    trl__unit_map_destroy(w->map);
}

static void add_times(const batch *b, size_t lanes, trl_iteration *n)
{
    for (size_t i = 0; i < lanes; i++) {
        const trl__step_times *t = trl__aligner_times(b->lanes[i].aligner);
        n->load += t->load;
        n->score += t->score;
        n->alpha += t->alpha;
        n->backtrack += t->backtrack;
        n->accumulate += t->accumulate;
        n->gaussians_scored += t->gaussians;
    }
}

static void sum_times(const pass_work *w, trl_iteration *n)
{
    for (size_t i = 0; i < w->worker_count; i++) {
        const worker *k = &w->workers[i];
        n->load += k->load;
        for (size_t b = 0; b < k->batch_count; b++)
            add_times(&k->batches[b], k->lane_count, n);
    }
}

int trl__pass_run(const trl__pass *pass, trl__stats *stats, trl__alignment_writer *alignments, trl_findings *skipped,
                  trl__pass_result *result, trl_error *err)
{
    *result = (trl__pass_result){0};
    pass_work w = {.pass = pass, .stats = stats, .alignments = alignments, .skipped = skipped, .result = result};
    double start = trl__wall_seconds();
    int code = set_up(&w, err);
    trl__ordered_work work = {.count = (pass->data->count + TRL__UTTERANCE_BLOCK - 1) / TRL__UTTERANCE_BLOCK,
                              .window = w.block_count,
                              .produce = produce,
                              .consume = consume,
                              .user = &w};
    if (code == 0)
        code = trl__ordered_for(pass->pool, &work, err);
    if (code == 0)
        sum_times(&w, &result->numbers);
    trl_iteration *n = &result->numbers;
    n->number = pass->iteration;
    n->wide = pass->kind == TRL__PASS_FIRST || pass->kind == TRL__PASS_WIDE;
    n->frames = stats->totals.frames;
    n->log_likelihood = n->frames > 0 ? (stats->totals.log_likelihood + w.log_det) / n->frames : 0;
    n->joint = n->frames > 0 && is_by_path(&w) ? (stats->totals.joint + w.log_det) / n->frames : 0;
    n->seconds = trl__wall_seconds() - start;
    tear_down(&w);
    if (code == 0 && n->utterances == 0)
        code = trl__fail(err, TRL_EINVAL, "iteration %d: none of the %zu utterances could be aligned; %s",
                         pass->iteration, pass->data->count, trl__status_text((int32_t)result->failed[0].value));
    return code;
}
