/* Scores for the search: tokens within the limit ask for what their arcs need, and what is not there is made.
 *
 * Most tokens are of states that had one in an earlier frame of the block: these have asked. What the others want is made by the caller alone; by all threads, where they share out
 * frames; or through the list of what is foreseen (foreseen.h). Threads that have nothing to search take blocks from its beginning while the search is still busy with other things; the
 * search then makes what is left of those that it needs, and waits for those that are being made. */
#include "base/fail.h"
#include "decode/decoder_data.h"

/* Frames before the end of a block of scores in which the next is thought of. The further, the more is made in vain. */
#define HORIZON 4

typedef struct asking {
    trl__decoder *decoder;
    trl__score_group *group;
    int32_t frame, end; /* scores are made for frames [frame, end) of the group */
} asking;

/* Makes sure that a tied state's scores from this frame on are listed. Returns the end of their block. */
static int32_t list_now(const asking *a, int32_t tied)
{
    trl__foreseen *foreseen = a->group->foreseen;
    if (trl__foreseen_is_listed(foreseen, tied)) {
        int32_t end = trl__block_end(a->group, trl__foreseen_begin(foreseen, tied));
        if (end > a->frame)
            return end;
        trl__foreseen_drop(foreseen, tied); /* it was not wanted when its block began */
    }
    trl__foreseen_list(foreseen, tied, (uint32_t)a->frame, TRL__SOON);
    if (a->decoder->wanted_count % 8 == 1) /* the caller has counted it */
        trl__team_more(foreseen->team);
    return a->end;
}

static void ask(const asking *a, float limit)
{
    trl__decoder *d = a->decoder;
    const trl_graph *g = d->graph;
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    const trl__token *tokens = d->tokens + frame->first_token;
    uint32_t *until = a->group->until;
    const uint32_t now = (uint32_t)a->frame;
    double start = trl__clock(d);
    d->wanted_count = 0;
    for (uint32_t k = 0; k < frame->tokens; k++) {
        int32_t state = tokens[k].state;
        if (tokens[k].cost > limit || d->asked[state] > d->group_begin + now)
            continue;
        uint32_t least = (uint32_t)a->group->frames;
        for (uint64_t i = g->emitting[state]; i < g->end[state]; i++) {
            int32_t tied = g->tied[g->arcs[i].transition];
            if (until[tied] <= now) {
                d->wanted[d->wanted_count++] = tied;
                until[tied] = (uint32_t)(a->group->foreseen ? list_now(a, tied) : a->end);
            }
            least = until[tied] < least ? until[tied] : least;
        }
        d->asked[state] = d->group_begin + least;
    }
    trl__count_seconds(d, 0, TRL__EXPANSION, start);
}

/* ---- making them ---- */

static void fill(const asking *a, int worker, int32_t first, int32_t end, const int32_t *wanted, int32_t count)
{
    trl__search_worker *w = &a->decoder->workers[worker];
    double start = trl__clock(a->decoder);
    if (w->code == 0 && count > 0)
        w->code = a->group->fill(a->group, worker, first, end, wanted, count, &w->err);
    trl__count_seconds(a->decoder, worker, TRL__LIKELIHOODS, start);
}

/* An item is always the same frames of the block, so that a thread gets those whose densities it has; as many as can be, since each
 * takes the weights of all rows. */
static void fill_frames(void *user, int32_t item, int worker)
{
    const asking *a = user;
    int32_t threads = a->decoder->worker_count, begin = a->frame / a->group->block * a->group->block;
    int32_t first = begin + (a->end - begin) * item / threads, end = begin + (a->end - begin) * (item + 1) / threads;
    first = first < a->frame ? a->frame : first;
    if (first < end)
        fill(a, worker, first, end, a->decoder->wanted, a->decoder->wanted_count);
}

/* From the end on, as others take them from the beginning. */
static void make_listed(const asking *a)
{
    const trl__decoder *d = a->decoder;
    trl__foreseen *foreseen = a->group->foreseen;
    double start = trl__clock(d);
    trl__taken_block taken[TRL__MOST_AT_ONCE];
    int32_t count = 0, most = trl__foreseen_at_once(foreseen);
    for (int32_t i = d->wanted_count - 1; i >= 0; i--) {
        count += trl__foreseen_take(foreseen, d->wanted[i], &taken[count]);
        if (count == most || (i == 0 && count > 0)) {
            a->group->make_blocks(a->group, 0, taken, count, i > 0 ? d->wanted[i - 1] : -1);
            count = 0;
            most = trl__foreseen_at_once(foreseen);
        }
    }
    trl__count_seconds(a->decoder, 0, TRL__LIKELIHOODS, start);
    for (int32_t i = 0; i < d->wanted_count; i++) {
        if (trl__foreseen_await(foreseen, d->wanted[i]))
            continue;
        uint32_t end = a->group->until[d->wanted[i]]; /* it takes too long, or could not be made: to hear why */
        fill(a, 0, a->frame, (int32_t)end, &d->wanted[i], 1);
        d->workers[0].twice += end - (uint32_t)a->frame;
    }
}

int trl__decoder_ask(trl__decoder *d, const trl__cutoff *c, trl__score_group *group, int32_t f, trl_error *err)
{
    asking a = {d, group, f, trl__block_end(group, f)};
    ask(&a, c->limit);
    if (group->foreseen)
        make_listed(&a);
    else if (d->team && group->by_frame && d->wanted_count > 0)
        trl__team_for(d->team, d->worker_count, fill_frames, &a);
    else
        fill(&a, 0, f, a.end, d->wanted, d->wanted_count);
    return trl__workers_failure(d, err);
}

/* ---- what will soon be wanted ---- */

int trl__decoder_foresee(trl__decoder *d, trl__score_group *group, int32_t f, trl_error *err)
{
    const trl_graph *g = d->graph;
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    const trl__token *tokens = d->tokens + frame->first_token;
    const uint32_t now = (uint32_t)f, horizon = now + HORIZON;
    double start = trl__clock(d);
    trl__cutoff c;
    int listed = 0, code = trl__decoder_cutoff(d, frame, &c, err);
    if (code < 0)
        return code;
    for (uint32_t k = 0; k < frame->tokens; k++) {
        int32_t state = tokens[k].state;
        if (tokens[k].cost > c.limit || d->asked[state] > d->group_begin + horizon ||
            (d->lazy && !trl__lazy_graph_is_expanded(d->lazy, state)))
            continue;
        for (uint64_t i = g->emitting[state]; i < g->end[state]; i++) {
            int32_t tied = g->tied[g->arcs[i].transition];
            uint32_t until = group->until[tied];
            if (until > horizon || until >= (uint32_t)group->frames || trl__foreseen_is_listed(group->foreseen, tied))
                continue;
            trl__foreseen_list(group->foreseen, tied, until > now ? until : now, until > now ? TRL__LATER : TRL__SOON);
            listed++;
        }
    }
    if (listed > 0)
        trl__team_more(group->foreseen->team);
    trl__count_seconds(d, 0, TRL__EXPANSION, start);
    return 0;
}
