/* Time-synchronous beam search: token passing over a static graph (Ney and Ortmanns 1999), with all links within the beam kept and pruned
 * backwards now and then, so that a lattice is left (Povey et al. 2012).
 *
 * A frame: all arcs that read it are tried for the tokens within the beam (decoder_expand.c); when the best of them is known, those within its beam are taken
 * (decoder_reach.c). Where a state is reached again, the better way is kept as the token's own and both as links. Then arcs that read nothing are taken, level by
 * level (decoder_follow.c). Each of these is done by one thread or by a team. The result depends neither on the order of tokens, and so of threads, nor on how many
 * frames are given at a time: limits hold for a whole frame or level, and ties are decided by the graph.
 *
 * Cost: O(arcs of the tokens within the beam) per frame, and nothing per state of the graph. Memory: 12 bytes per state of the graph, 16 per token
 * and 20 per link of the last frames, later of those that the lattice needs. Threads that merge take 8 bytes more per state of the graph, each. */
#include "decode/decoder_data.h"
#include "base/fail.h"

#include <string.h>

trl__decode_options trl__decode_defaults(void)
{
    return (trl__decode_options){.beam = 13,
                                 .lattice_beam = 6,
                                 .most_active = 7000,
                                 .least_active = 200,
                                 .word_beam = INFINITY,
                                 .acoustic_scale = 0.1,
                                 .prune_interval = 50,
                                 .least_shared = 800,
                                 .lazy_bytes = (size_t)64 << 20};
}

int trl__decode_options_check(const trl__decode_options *o, trl_error *err)
{
    if (!(o->beam > 0))
        return trl__fail(err, TRL_EINVAL, "beam is %g; it must be more than 0", o->beam);
    if (!(o->lattice_beam >= 0))
        return trl__fail(err, TRL_EINVAL, "lattice_beam is %g; it must not be negative", o->lattice_beam);
    if (!(o->word_beam > 0))
        return trl__fail(err, TRL_EINVAL, "word_beam is %g; it must be more than 0", o->word_beam);
    if (!(o->acoustic_scale > 0 && isfinite(o->acoustic_scale)))
        return trl__fail(err, TRL_EINVAL, "acoustic_scale is %g; it must be more than 0", o->acoustic_scale);
    if (o->least_active < 0 || o->most_active < 1 || o->most_active < o->least_active)
        return trl__fail(err, TRL_EINVAL,
                         "%d to %d active tokens; there must be one at least, and the most not below the least",
                         (int)o->least_active, (int)o->most_active);
    if (o->prune_interval < 1)
        return trl__fail(err, TRL_EINVAL, "prune_interval is %d frames; it must be at least 1", (int)o->prune_interval);
    if (o->least_shared < 0)
        return trl__fail(err, TRL_EINVAL, "least_shared is %d tokens; it must not be negative", (int)o->least_shared);
    return 0;
}

/* ---- making one ---- */

static int32_t count_tied(const trl_graph *graph)
{
    int32_t count = 0;
    for (int32_t i = 1; i <= graph->transitions; i++)
        count = graph->tied[i] >= count ? graph->tied[i] + 1 : count;
    return count;
}

int trl__decoder_create(const trl_graph *graph, const trl__decode_options *options, trl__decoder **out, trl_error *err)
{
    *out = NULL;
    trl__decode_options o = options ? *options : trl__decode_defaults();
    int code = trl__decode_options_check(&o, err);
    if (code < 0)
        return code;
    if (graph->first[graph->states] > UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the graph has more than 2^32 arcs; make a smaller one");
    trl__decoder *d = *out = trl__alloc_zero(1, sizeof *d);
    if (!d)
        return trl__fail_memory(err);
    d->graph = graph;
    if (graph->rows && trl__lazy_graph_create(graph, o.lazy_bytes, &d->lazy, err) < 0) {
        trl__free(d);
        *out = NULL;
        return TRL_ENOMEM;
    }
    if (d->lazy)
        d->graph = trl__lazy_graph_view(d->lazy);
    d->options = o;
    d->scale = (float)o.acoustic_scale;
    d->lattice_limit = o.lattice_beam < (double)FLT_MAX ? (float)o.lattice_beam : FLT_MAX;
    d->tied = count_tied(graph);
    d->place_capacity = d->asked_capacity = (size_t)d->graph->states + 1;
    d->place = trl__alloc_zero(d->place_capacity, sizeof *d->place);
    d->asked = trl__alloc_zero(d->asked_capacity, sizeof *d->asked);
    d->wanted = trl__alloc((size_t)d->tied + 1, sizeof *d->wanted);
    if (d->place && d->asked && d->wanted && trl__decoder_share(d, NULL, err) == 0)
        return 0;
    trl__decoder_destroy(d);
    *out = NULL;
    return trl__fail_memory(err);
}

/* ---- who searches ---- */

static void free_workers(trl__decoder *d)
{
    for (int i = 0; i < d->worker_count; i++) {
        for (uint32_t p = 0; d->workers[i].sent && p < d->part_count; p++)
            trl__free(d->workers[i].sent[p].links);
        trl__free(d->workers[i].sent);
        trl__scratch_free(&d->workers[i].sounds);
    }
    for (uint32_t p = 0; p < d->part_count; p++) {
        trl__free(d->parts[p].tokens);
        trl__free(d->parts[p].links);
        trl__free(d->parts[p].place);
    }
    trl__free(d->workers);
    trl__free(d->parts);
    trl__free(d->waiting);
    d->workers = NULL;
    d->parts = NULL;
    d->waiting = NULL;
    d->worker_count = 0;
    d->part_count = 0;
}

static int make_workers(trl__decoder *d, int workers, uint32_t parts)
{
    size_t lists = parts * (size_t)d->graph->levels;
    d->workers = trl__alloc_zero((size_t)workers, sizeof *d->workers);
    d->parts = trl__alloc_zero(parts, sizeof *d->parts);
    d->waiting = trl__alloc(lists + 1, sizeof *d->waiting);
    if (!d->workers || !d->parts || !d->waiting)
        return -1;
    d->worker_count = workers;
    d->part_count = parts;
    for (size_t i = 0; i < lists; i++)
        d->waiting[i] = UINT32_MAX;
    for (int i = 0; i < workers; i++) {
        trl__search_worker *w = &d->workers[i];
        w->sent = trl__alloc_zero(parts, sizeof *w->sent);
        if (!w->sent)
            return -1;
    }
    for (uint32_t p = 0; d->options.merges && workers > 1 && p < parts; p++) {
        d->parts[p].place_capacity = d->place_capacity;
        if (!(d->parts[p].place = trl__alloc_zero(d->place_capacity, sizeof *d->place)))
            return -1;
    }
    return 0;
}

/* More parts than threads, so that those that are done early can help. */
static uint32_t parts_for(const trl__decode_options *o, int threads)
{
    return threads == 1 || o->merges ? (uint32_t)threads : threads < 16 ? (uint32_t)threads * 4 : (uint32_t)threads * 2;
}

static void clear_places(trl__decoder *d)
{
    memset(d->place, 0, d->place_capacity * sizeof *d->place);
    for (uint32_t p = 0; p < d->part_count; p++)
        if (d->parts[p].place)
            memset(d->parts[p].place, 0, d->parts[p].place_capacity * sizeof *d->place);
}

static void clear_asked(trl__decoder *d)
{
    memset(d->asked, 0, d->asked_capacity * sizeof *d->asked);
}

int trl__decoder_share(trl__decoder *d, trl__team *team, trl_error *err)
{
    int threads = trl__team_threads(team);
    free_workers(d);
    d->team = threads > 1 ? team : NULL;
    if (make_workers(d, threads, parts_for(&d->options, threads)) == 0) {
        if (team) { /* a page that comes only when it is first written to halts all threads for a moment */
            clear_places(d);
            clear_asked(d);
        }
        return 0;
    }
    free_workers(d);
    return trl__fail_memory(err);
}

int trl__workers_failure(trl__decoder *d, trl_error *err)
{
    int code = 0;
    for (int i = 0; i < d->worker_count; i++) {
        trl__search_worker *w = &d->workers[i];
        if (w->code < 0 && code == 0) {
            code = w->code;
            if (err)
                *err = w->err;
        }
        w->code = 0;
    }
    return code;
}

void trl__decoder_destroy(trl__decoder *d)
{
    if (!d)
        return;
    free_workers(d);
    trl__lazy_graph_destroy(d->lazy);
    trl__free(d->frames);
    trl__free(d->tokens);
    trl__free(d->links);
    trl__free(d->place);
    trl__free(d->asked);
    trl__free(d->wanted);
    trl__free(d->next_waiting);
    trl__free(d->words);
    trl__free(d->raw.first);
    trl__free(d->raw.arcs);
    trl__free(d->raw.final);
    trl__free(d->raw.time);
    trl__scratch_free(&d->costs);
    trl__scratch_free(&d->fresh);
    trl__scratch_free(&d->numbers);
    trl__scratch_free(&d->order);
    trl__free(d);
}

/* ---- one frame ---- */

static trl__step begin_step(const trl__decoder *d, float beam)
{
    float word_beam = trl__smaller((float)d->options.word_beam, beam);
    return (trl__step){.best = INFINITY, .limit = FLT_MAX, .word_limit = FLT_MAX, .beam = beam, .word_beam = word_beam};
}

int trl__decoder_reserve(trl__decoder *d, uint64_t tokens, uint64_t links, trl_error *err)
{
    if (d->link_count + links <= d->link_capacity && d->token_count + tokens <= d->token_capacity)
        return 0;
    if (TRL_GROW(d->links, d->link_capacity, d->link_count + (size_t)links) < 0 ||
        TRL_GROW(d->tokens, d->token_capacity, d->token_count + (size_t)tokens) < 0)
        return trl__fail_memory(err);
    return 0;
}

void trl__decoder_close_counts(trl__decoder *d)
{
    const trl__frame *last = &d->frames[d->frame_count - 1];
    d->token_count = last->first_token + last->tokens;
    d->link_count = last->first_link + last->links;
}

static int add_frame(trl__decoder *d, trl_error *err)
{
    if (TRL_GROW(d->frames, d->frame_capacity, d->frame_count + 1) < 0)
        return trl__fail_memory(err);
    d->frames[d->frame_count++] = (trl__frame){.first_token = d->token_count, .first_link = d->link_count};
    if (++d->stamp == 0) {
        clear_places(d);
        d->stamp = 1;
    }
    return 0;
}

/* Arcs that read the frame, then those that read nothing. */
static int take_arcs(trl__decoder *d, const trl__cutoff *c, trl__score_group *group, int32_t f, trl_error *err)
{
    trl__step s = begin_step(d, c->beam);
    int is_parted = d->is_shared && !d->options.merges;
    int code = trl__decoder_expand(d, &s, c, group, f, is_parted ? d->part_count : 1, err);
    if (code == 0)
        code = is_parted      ? trl__decoder_reach_parts(d, &s, err)
               : d->is_shared ? trl__decoder_reach_merging(d, &s, err)
                              : trl__decoder_reach(d, &s, err);
    d->counts.shared_frames += (uint64_t)d->is_shared;
    if (code == 0 && group->foreseen && f + 1 < group->frames)
        code = trl__decoder_foresee(d, group, f + 1, err);
    double start = trl__clock(d);
    if (code == 0 && d->lazy)
        code = trl__decoder_make_silent_arcs(d, err);
    trl__count_seconds(d, 0, TRL__COMPOSITION, start);
    return code < 0 ? code : trl__decoder_follow(d, &s, is_parted && !d->lazy, err);
}

static int advance_frame(trl__decoder *d, trl__score_group *group, int32_t f, trl_error *err)
{
    trl__cutoff c;
    double start = trl__clock(d);
    int code = trl__decoder_cutoff(d, &d->frames[d->frame_count - 1], &c, err);
    trl__count_seconds(d, 0, TRL__PRUNING, start);
    start = trl__clock(d);
    if (code == 0 && d->lazy)
        code = trl__decoder_make_arcs(d, &c, err);
    trl__count_seconds(d, 0, TRL__COMPOSITION, start);
    d->is_shared =
        d->frames[d->frame_count - 1].tokens >= (uint32_t)d->options.least_shared && trl__team_is_sharing(d->team);
    if (code == 0 && group->until)
        code = trl__decoder_ask(d, &c, group, f, err);
    if (code == 0)
        code = add_frame(d, err);
    if (code == 0)
        code = take_arcs(d, &c, group, f, err);
    if (code < 0)
        return code;
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    d->counts.frames++;
    d->counts.tokens += frame->tokens;
    d->counts.links += frame->links;
    if ((d->frame_count - 1) % (size_t)d->options.prune_interval != 0)
        return 0;
    start = trl__clock(d);
    code = trl__decoder_prune(d, 0, err);
    trl__count_seconds(d, 0, TRL__PRUNING, start);
    return code;
}

/* ---- an utterance ---- */

int trl__decoder_begin(trl__decoder *d, trl_error *err)
{
    d->frame_count = d->token_count = d->link_count = d->pruned = 0;
    d->settled = 0;
    d->lone_end = TRL__NO_LINK;
    d->is_finished = d->is_shared = 0;
    int code = d->lazy ? trl__decoder_begin_lazy(d, err) : 0;
    if (code == 0)
        code = add_frame(d, err);
    if (code < 0 || d->graph->start < 0)
        return code;
    if (trl__decoder_reserve(d, 1, 0, err) < 0)
        return TRL_ENOMEM;
    d->tokens[d->token_count++] = (trl__token){d->graph->start, 0, 0, TRL__NO_LINK};
    d->frames[0].tokens = 1;
    d->place[d->graph->start] = (trl__place_of_state){d->stamp, 0};
    trl__step s = begin_step(d, (float)d->options.beam);
    return trl__decoder_follow(d, &s, 0, err);
}

/* A wrong number anywhere is refused, whether the search would have met it or not. */
static int check_scores(const trl__decoder *d, const trl__score_group *g, trl_error *err)
{
    for (size_t f = 0; f < (size_t)g->frames; f++) {
        const float *scores = g->scores + f * g->step;
        int is_wrong = 0;
        for (size_t tied = 0; tied < (size_t)d->tied; tied++)
            is_wrong |= !(scores[tied * g->stride] < INFINITY);
        for (size_t tied = 0; is_wrong && tied < (size_t)d->tied; tied++)
            if (!(scores[tied * g->stride] < INFINITY))
                return trl__fail(err, TRL_ENUMBER, "the log-likelihood of tied state %zu in frame %zu is %g", tied,
                                 (size_t)d->settled + d->frame_count - 1 + f, (double)scores[tied * g->stride]);
    }
    return 0;
}

static void begin_group(trl__decoder *d, int32_t frames)
{
    d->group_begin = d->group_end;
    if (UINT32_MAX - d->group_begin <= (uint32_t)frames) {
        clear_asked(d);
        d->group_begin = 0;
    }
    d->group_end = d->group_begin + (uint32_t)frames;
}

int trl__decoder_advance_group(trl__decoder *d, trl__score_group *group, trl_error *err)
{
    if (d->frame_count == 0 || d->is_finished)
        return trl__fail(err, TRL_EINVAL, "frames come between the begin and the finish of an utterance");
    int code = group->until || group->cells || group->are_finite ? 0 : check_scores(d, group, err);
    begin_group(d, group->frames);
    for (int32_t f = 0; code == 0 && f < group->frames; f++)
        code = advance_frame(d, group, f, err);
    return code;
}

int trl__decoder_advance(trl__decoder *d, const float *scores, int32_t frames, size_t stride, trl_error *err)
{
    trl__score_group all = {.frames = frames, .scores = scores, .stride = stride, .step = 1};
    return trl__decoder_advance_group(d, &all, err);
}

/* ---- the end ---- */

/* Extra costs of the last frame, above the best end. */
static void price_ends(trl__decoder *d)
{
    const trl__frame *last = &d->frames[d->frame_count - 1];
    trl__token *tokens = d->tokens + last->first_token;
    float best = INFINITY, best_end = INFINITY;
    for (uint32_t i = 0; i < last->tokens; i++) {
        best = trl__smaller(best, tokens[i].cost);
        best_end = trl__smaller(best_end, tokens[i].cost + d->graph->final[tokens[i].state]);
    }
    d->raw.reached_end = best_end < INFINITY;
    d->best_end = d->raw.reached_end ? best_end : best;
    for (uint32_t i = 0; i < last->tokens; i++) {
        float extra = trl__end_extra(d, &tokens[i]);
        tokens[i].extra = extra <= d->lattice_limit ? extra : INFINITY;
    }
}

int trl__decoder_finish(trl__decoder *d, const trl__raw_lattice **raw, trl_error *err)
{
    *raw = NULL;
    if (d->frame_count == 0 || d->is_finished)
        return trl__fail(err, TRL_EINVAL, "an utterance has one begin and one finish");
    d->is_finished = 1;
    double start = trl__clock(d);
    price_ends(d);
    int code = trl__decoder_prune(d, 1, err);
    if (code == 0)
        code = trl__decoder_collect(d, err);
    trl__count_seconds(d, 0, TRL__PRUNING, start);
    if (code == 0)
        *raw = &d->raw;
    return code;
}

trl__decoder_counts trl__decoder_count(const trl__decoder *d)
{
    trl__decoder_counts counts = d->counts;
    for (int i = 0; i < d->worker_count; i++) {
        counts.scores_twice += d->workers[i].twice;
        for (int k = 0; k < TRL__WORKS; k++)
            counts.seconds[k] += d->workers[i].seconds[k];
    }
    return counts;
}
