/* Scores for the search: tokens within the limit ask for what their arcs need, and what is not there is made, by all threads if it is much.
 *
 * Most tokens are of states that had one in an earlier frame of the group: these have asked. A tied state's stamp says who was first; that one puts it on
 * his list. */
#include "base/fail.h"
#include "decode/decoder_data.h"

#include <string.h>

#define MOST_ROWS 8 /* tied states that are scored at a time, where there are many */
#define PIECES 3    /* for each thread, where there are few: most frames of a group want some states more */

typedef struct asking {
    trl__decoder *decoder;
    trl__score_group *group;
    float limit;
    int32_t frame, frames; /* scores are made for frames [frame, frames) of the group */
    uint32_t at_once;      /* tokens */
    int32_t rows;          /* tied states of a piece */
} asking;

static void ask(const asking *a, uint32_t begin, uint32_t end, trl__search_worker *w)
{
    trl__decoder *d = a->decoder;
    const trl_graph *g = d->graph;
    const trl__token *tokens = d->tokens + d->frames[d->frame_count - 1].first_token;
    atomic_uint *stamps = a->group->stamps;
    uint32_t number = a->group->number;
    for (uint32_t k = begin; k < end; k++) {
        int32_t state = tokens[k].state;
        if (tokens[k].cost > a->limit || d->asked[state] == d->group)
            continue;
        d->asked[state] = d->group;
        for (uint64_t i = g->emitting[state]; i < g->end[state]; i++) {
            int32_t tied = g->tied[g->arcs[i].transition];
            if (atomic_load_explicit(&stamps[tied], memory_order_relaxed) != number &&
                atomic_exchange_explicit(&stamps[tied], number, memory_order_relaxed) != number)
                w->wanted[w->wanted_count++] = tied;
        }
    }
}

static void ask_some(void *user, int32_t item, int worker)
{
    const asking *a = user;
    trl__decoder *d = a->decoder;
    double start = trl__clock(d);
    uint32_t tokens = d->frames[d->frame_count - 1].tokens, begin = (uint32_t)item * a->at_once;
    ask(a, begin, tokens - begin < a->at_once ? tokens : begin + a->at_once, &d->workers[worker]);
    trl__count_seconds(d, worker, TRL__EXPANSION, start);
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

static int32_t pieces_of(const asking *a, const trl__search_worker *w)
{
    return (w->wanted_count + a->rows - 1) / a->rows;
}

/* Item i of all workers' lists, cut into pieces. */
static void fill_rows(void *user, int32_t item, int worker)
{
    const asking *a = user;
    const trl__search_worker *w = a->decoder->workers;
    for (; item >= pieces_of(a, w); w++)
        item -= pieces_of(a, w);
    int32_t left = w->wanted_count - item * a->rows;
    fill(a, worker, a->frame, a->frames, w->wanted + item * a->rows, left < a->rows ? left : a->rows);
}

/* An item is always the same frames of the group, so that a thread gets those whose densities it has; as many as can be, since each
 * takes the weights of all rows. */
static void fill_frames(void *user, int32_t item, int worker)
{
    const asking *a = user;
    int32_t threads = a->decoder->worker_count;
    int32_t first = a->frames * item / threads, end = a->frames * (item + 1) / threads;
    first = first < a->frame ? a->frame : first;
    for (int i = 0; i < a->decoder->worker_count && first < end; i++)
        fill(a, worker, first, end, a->decoder->workers[i].wanted, a->decoder->workers[i].wanted_count);
}

static void fill_shared(asking *a)
{
    const trl__decoder *d = a->decoder;
    int32_t pieces = 0, count = 0;
    for (int i = 0; i < d->worker_count; i++)
        count += d->workers[i].wanted_count;
    a->rows = 1 + (count - 1) / (PIECES * d->worker_count);
    a->rows = a->rows < MOST_ROWS ? a->rows : MOST_ROWS;
    for (int i = 0; i < d->worker_count; i++)
        pieces += pieces_of(a, &d->workers[i]);
    if (count > 0 && a->group->by_frame)
        trl__team_for(d->team, d->worker_count, fill_frames, a);
    else
        trl__team_for(d->team, pieces, fill_rows, a);
}

int trl__decoder_ask(trl__decoder *d, const trl__cutoff *c, trl__score_group *group, int32_t f, trl_error *err)
{
    uint32_t tokens = d->frames[d->frame_count - 1].tokens, at_once = trl__tokens_at_once(d, tokens);
    asking a = {d, group, c->limit, f, group->frames, at_once, 1};
    for (int i = 0; i < d->worker_count; i++)
        d->workers[i].wanted_count = 0;
    if (d->is_shared) {
        trl__team_for(d->team, (int32_t)((tokens + at_once - 1) / at_once), ask_some, &a);
    } else {
        double start = trl__clock(d);
        ask(&a, 0, tokens, &d->workers[0]);
        trl__count_seconds(d, 0, TRL__EXPANSION, start);
    }
    if (d->team)
        fill_shared(&a);
    else
        fill(&a, 0, f, a.frames, d->workers[0].wanted, d->workers[0].wanted_count);
    return trl__workers_failure(d, err);
}
