#include "train/path_walk.h"
#include "adapt/fmllr.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/ordered.h"

#include <string.h>

typedef struct worker {
    trl__graph graph;
    trl__view_room room, original_room;
    int32_t *tied;
    size_t tied_capacity;
} worker;

typedef struct walking {
    const trl__walk *walk;
    const trl__gathering *gathering;
    trl__unit_map *map;
    worker *workers;
    size_t worker_count;
    void **sums;
    size_t window;
    size_t groups;
    size_t *first; /* groups + 1: where each begins in `order` */
    size_t *order; /* utterances, group by group */
} walking;

/* ---- Groups ---- */

static size_t group_of(const walking *w, size_t utterance)
{
    return w->gathering->by_speaker ? (size_t)w->walk->data->utterance[utterance]->speaker_index
                                    : utterance / TRL__UTTERANCE_BLOCK;
}

/* A counting sort: within a group utterances keep their order. */
static int make_groups(walking *w, trl_error *err)
{
    const trl__training_data *d = w->walk->data;
    w->groups = w->gathering->by_speaker ? d->speakers : (d->count + TRL__UTTERANCE_BLOCK - 1) / TRL__UTTERANCE_BLOCK;
    w->first = trl__alloc_zero(w->groups + 2, sizeof *w->first);
    w->order = trl__alloc(d->count, sizeof *w->order);
    if (!w->first || !w->order)
        return trl__fail_memory(err);
    for (size_t u = 0; u < d->count; u++)
        w->first[group_of(w, u) + 2]++;
    for (size_t g = 1; g < w->groups + 2; g++)
        w->first[g] += w->first[g - 1];
    for (size_t u = 0; u < d->count; u++)
        w->order[w->first[group_of(w, u) + 1]++] = u;
    return 0;
}

/* ---- An utterance ---- */

static int counts(const trl__gathering *g, int unit_kind, size_t frame)
{
    return g->leaves_silence == 0                   ? 1
           : g->leaves_silence == TRL__MOST_SILENCE ? trl__fmllr_counts(unit_kind, frame)
                                                    : unit_kind == TRL_UNIT_PHONE;
}

static int name_tied_states(const walking *w, worker *k, const trl__run *runs, size_t count, int32_t *frames,
                            trl_error *err)
{
    const trl_model *model = w->walk->model;
    const trl__graph *g = &k->graph;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (TRL_GROW(k->tied, k->tied_capacity, at + (size_t)runs[i].frames) < 0)
            return trl__fail_memory(err);
        int32_t unit = g->phone[g->node_phone[runs[i].node]].unit;
        for (int32_t f = 0; f < runs[i].frames; f++, at++)
            k->tied[at] = counts(w->gathering, model->unit_kind[unit], at) ? g->node_tied[runs[i].node] : -1;
    }
    *frames = (int32_t)at;
    return 0;
}

static int read_frames(const walking *w, worker *k, size_t utterance, trl_matrix *frames, trl_matrix *original,
                       trl_error *err)
{
    const trl__training_data *d = w->walk->data;
    if (w->gathering->without_frames)
        return 0;
    int code = trl__training_frames(d, utterance, 1, &k->room, frames, err);
    *original = *frames;
    if (code == 0 && w->gathering->wants_original)
        code = trl__training_frames(d, utterance, 0, &k->original_room, original, err);
    return code;
}

static int visit(const walking *w, worker *k, size_t utterance, void *sum, trl_error *err)
{
    const trl__training_data *d = w->walk->data;
    trl__visit v = {.utterance = utterance, .graph = &k->graph};
    const trl__stored_alignment *stored = trl__alignment_store_get(w->walk->alignments, utterance, &v.runs);
    if (stored->status != TRL__ALIGNED)
        return 0;
    v.run_count = stored->runs;
    trl_matrix frames = {0}, original = {0};
    int code = read_frames(w, k, utterance, &frames, &original, err);
    if (code == 0)
        code = trl__graph_build(&k->graph, w->map, w->walk->lexicon, d->words + d->first_word[utterance],
                                d->first_word[utterance + 1] - d->first_word[utterance], err);
    if (code == 0)
        code = name_tied_states(w, k, v.runs, v.run_count, &v.frame_count, err);
    v.frames = &frames;
    v.original = &original;
    v.tied = k->tied;
    return code < 0 ? code : w->gathering->visit(w->gathering->user, sum, &v, err);
}

static int produce(void *user, size_t group, size_t slot, int number, trl_error *err)
{
    walking *w = user;
    w->gathering->zero(w->sums[slot]);
    int code = 0;
    for (size_t i = w->first[group]; code == 0 && i < w->first[group + 1]; i++)
        code = visit(w, &w->workers[number], w->order[i], w->sums[slot], err);
    return code;
}

static int consume(void *user, size_t group, size_t slot, trl_error *err)
{
    walking *w = user;
    return w->gathering->merge(w->gathering->user, group, w->sums[slot], err);
}

/* ---- The walk ---- */

static int set_up(walking *w, trl_error *err)
{
    w->worker_count = w->walk->pool ? (size_t)trl_pool_threads(w->walk->pool) : 1;
    w->window = 2 * w->worker_count;
    w->workers = trl__alloc_zero(w->worker_count, sizeof *w->workers);
    w->sums = trl__alloc_zero(w->window, sizeof *w->sums);
    if (!w->workers || !w->sums)
        return trl__fail_memory(err);
    int code = make_groups(w, err);
    if (code == 0)
        code = trl__unit_map_create(w->walk->model, w->walk->lexicon, &w->map, err);
    for (size_t i = 0; code == 0 && i < w->window; i++)
        code = w->gathering->create(w->gathering->user, &w->sums[i], err);
    return code;
}

static void tear_down(walking *w)
{
    for (size_t i = 0; w->workers && i < w->worker_count; i++) {
        trl__graph_free(&w->workers[i].graph);
        trl__view_room_free(&w->workers[i].room);
        trl__view_room_free(&w->workers[i].original_room);
        trl__free(w->workers[i].tied);
    }
    for (size_t i = 0; w->sums && i < w->window; i++)
        if (w->sums[i])
            w->gathering->destroy(w->sums[i]);
    trl__free(w->workers);
    trl__free(w->sums);
    trl__free(w->first);
    trl__free(w->order);
    trl__unit_map_destroy(w->map);
}

int trl__walk_run(const trl__walk *walk, const trl__gathering *gathering, trl_error *err)
{
    walking w = {.walk = walk, .gathering = gathering};
    int code = set_up(&w, err);
    trl__ordered_work work = {
        .count = w.groups, .window = w.window, .produce = produce, .consume = consume, .user = &w};
    if (code == 0)
        code = trl__ordered_for(walk->pool, &work, err);
    tear_down(&w);
    return code;
}
