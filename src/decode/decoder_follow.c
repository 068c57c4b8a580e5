/* Arcs that read nothing, level by level: a token's cost is known when its level comes, and what it reaches lies on higher ones. The limits are those of the
 * level before, so they don't depend on the order within one.
 *
 * A level with many tokens is shared out: threads send links to the parts of the states that they lead to, then each part's are taken by one thread. All that
 * is sent is kept, so its place is known, and the only thing that the parts share is the number of tokens. */
#include "base/fail.h"
#include "decode/decoder_data.h"

#define LEAST_SHARED 4 /* of the tokens that make a frame worth sharing: so many with such arcs are worth it */

typedef struct following {
    trl__decoder *decoder;
    const trl__step *step;
    trl__frame *frame;
    int32_t level;
    uint32_t first_link[2 * TRL__TEAM_MOST]; /* by part: where its links go */
} following;

static uint32_t *list_of(const trl__decoder *d, uint32_t part, int32_t level)
{
    return &d->waiting[(size_t)part * (size_t)d->graph->levels + (size_t)level];
}

/* The token of a state, at this cost or a better one it had, by link number `number`. Ways from the frame before come first. */
static uint32_t reach(const following *f, int32_t state, const trl__link *link, uint32_t number)
{
    trl__decoder *d = f->decoder;
    trl__place_of_state *place = &d->place[state];
    trl__token *tokens = d->tokens + f->frame->first_token;
    if (place->stamp != d->stamp) {
        uint32_t new = atomic_fetch_add_explicit(&d->reached, 1, memory_order_relaxed);
        *place = (trl__place_of_state){d->stamp, new};
        tokens[new] = (trl__token){state, link->cost, 0, number};
        return new;
    }
    trl__token *token = &tokens[place->token];
    const trl__link *links = d->links + f->frame->first_link;
    if (link->cost < token->cost ||
        (link->cost == token->cost && token->back != TRL__NO_LINK && token->back >= f->frame->emitting &&
         trl__precedes(d->graph, tokens, link, &links[token->back]))) {
        token->cost = link->cost;
        token->back = number;
    }
    return place->token;
}

/* ---- a level by one thread ---- */

/* Takes the arcs of token k. Returns their least cost. */
static int follow_token(const following *f, uint32_t k, float *best, trl_error *err)
{
    trl__decoder *d = f->decoder;
    const trl_graph *g = d->graph;
    trl__frame *frame = f->frame;
    const trl__token token = d->tokens[frame->first_token + k];
    if (token.cost > f->step->limit)
        return 0;
    uint64_t arcs = g->emitting[token.state] - g->first[token.state];
    if (trl__decoder_reserve(d, arcs, arcs, err) < 0)
        return TRL_ENOMEM;
    for (uint64_t i = g->first[token.state]; i < g->emitting[token.state]; i++) {
        const trl__network_arc *arc = &g->arcs[i];
        trl__link link = {k, 0, (uint32_t)i, token.cost + arc->cost, 0};
        if (link.cost > (arc->word ? f->step->word_limit : f->step->limit))
            continue;
        *best = trl__smaller(*best, link.cost);
        link.to = reach(f, arc->next, &link, frame->links);
        d->links[frame->first_link + frame->links++] = link;
    }
    frame->tokens = atomic_load_explicit(&d->reached, memory_order_relaxed);
    trl__decoder_close_counts(d);
    return 0;
}

static int follow_alone(const following *f, uint32_t *taken, float *best, trl_error *err)
{
    trl__decoder *d = f->decoder;
    int code = 0;
    for (uint32_t p = 0; p < d->part_count; p++) {
        uint32_t k = *list_of(d, p, f->level);
        *list_of(d, p, f->level) = UINT32_MAX;
        for (; k != UINT32_MAX; k = d->next_waiting[k], ++*taken)
            if (code == 0)
                code = follow_token(f, k, best, err);
    }
    return code;
}

/* ---- a level by all ---- */

static void send_links(void *user, int32_t item, int worker)
{
    const following *f = user;
    trl__decoder *d = f->decoder;
    const trl_graph *g = d->graph;
    trl__search_worker *w = &d->workers[worker];
    double start = trl__clock(d);
    uint32_t k = *list_of(d, (uint32_t)item, f->level);
    *list_of(d, (uint32_t)item, f->level) = UINT32_MAX;
    for (; k != UINT32_MAX; k = d->next_waiting[k], w->inner++) {
        const trl__token token = d->tokens[f->frame->first_token + k];
        if (token.cost > f->step->limit)
            continue;
        for (uint64_t i = g->first[token.state]; i < g->emitting[token.state]; i++) {
            const trl__network_arc *arc = &g->arcs[i];
            float cost = token.cost + arc->cost;
            if (cost > (arc->word ? f->step->word_limit : f->step->limit))
                continue;
            trl__sent_links *to = &w->sent[trl__part_of((uint32_t)arc->next, d->part_count)];
            if (to->count == to->capacity && TRL_GROW(to->links, to->capacity, to->count + 1) < 0) {
                w->code = trl__fail_memory(&w->err);
                continue;
            }
            to->links[to->count++] = (trl__link){k, (uint32_t)arc->next, (uint32_t)i, cost, 0};
            w->best = trl__smaller(w->best, cost);
        }
    }
    trl__count_seconds(d, worker, TRL__EXPANSION, start);
}

static void take_links(void *user, int32_t item, int worker)
{
    const following *f = user;
    trl__decoder *d = f->decoder;
    double start = trl__clock(d);
    uint32_t number = f->first_link[item];
    for (int i = 0; i < d->worker_count; i++) {
        const trl__sent_links *sent = &d->workers[i].sent[item];
        for (size_t n = 0; n < sent->count; n++, number++) {
            trl__link *link = &d->links[f->frame->first_link + number];
            *link = sent->links[n];
            link->to = reach(f, (int32_t)sent->links[n].to, link, number);
        }
    }
    trl__count_seconds(d, worker, TRL__MERGING, start);
}

/* Where each part's links go; returns how many there are. */
static uint32_t place_links(following *f)
{
    const trl__decoder *d = f->decoder;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < d->part_count; p++) {
        f->first_link[p] = f->frame->links + sum;
        for (int i = 0; i < d->worker_count; i++)
            sum += (uint32_t)d->workers[i].sent[p].count;
    }
    return sum;
}

static int follow_together(following *f, uint32_t *taken, float *best, trl_error *err)
{
    trl__decoder *d = f->decoder;
    for (int i = 0; i < d->worker_count; i++) {
        trl__search_worker *w = &d->workers[i];
        w->best = INFINITY;
        w->inner = 0;
        for (uint32_t p = 0; p < d->part_count; p++)
            w->sent[p].count = 0;
    }
    trl__team_for(d->team, (int32_t)d->part_count, send_links, f);
    uint32_t sent = place_links(f);
    int code = trl__workers_failure(d, err);
    if (code == 0)
        code = trl__decoder_reserve(d, sent, sent, err);
    for (int i = 0; i < d->worker_count; i++) {
        *best = trl__smaller(*best, d->workers[i].best);
        *taken += d->workers[i].inner;
    }
    if (code < 0)
        return code;
    trl__team_for(d->team, (int32_t)d->part_count, take_links, f);
    f->frame->links += sent;
    f->frame->tokens = atomic_load_explicit(&d->reached, memory_order_relaxed);
    trl__decoder_close_counts(d);
    return 0;
}

/* ---- all levels ---- */

/* Lists the frame's tokens from number `from` on, on all parts' lists in turn. */
static int queue_tokens(trl__decoder *d, const trl__frame *frame, uint32_t from, uint32_t *queued, trl_error *err)
{
    if (TRL_GROW(d->next_waiting, d->waiting_capacity, frame->tokens) < 0)
        return trl__fail_memory(err);
    for (uint32_t k = from, part = 0; k < frame->tokens; k++)
        if (trl__decoder_queue(d, part, k, d->tokens[frame->first_token + k].state)) {
            ++*queued;
            part = part + 1 == d->part_count ? 0 : part + 1;
        }
    return 0;
}

static int follow_level(following *f, trl__step *s, uint32_t *queued, trl_error *err)
{
    trl__decoder *d = f->decoder;
    uint32_t tokens = f->frame->tokens, taken = 0;
    float best = INFINITY;
    int is_much = d->is_shared && !d->options.merges && *queued >= (uint32_t)d->options.least_shared / LEAST_SHARED;
    double start = trl__clock(d);
    int code = is_much ? follow_together(f, &taken, &best, err) : follow_alone(f, &taken, &best, err);
    if (!is_much)
        trl__count_seconds(d, 0, TRL__EXPANSION, start);
    *queued -= taken;
    if (code == 0)
        code = queue_tokens(d, f->frame, tokens, queued, err);
    trl__step_draw_in(s, best);
    return code;
}

int trl__decoder_follow(trl__decoder *d, trl__step *s, int is_queued, trl_error *err)
{
    following f = {.decoder = d, .step = s, .frame = &d->frames[d->frame_count - 1]};
    uint32_t queued = 0;
    int code = 0;
    atomic_store_explicit(&d->reached, f.frame->tokens, memory_order_relaxed);
    double start = trl__clock(d);
    if (!is_queued)
        code = queue_tokens(d, f.frame, 0, &queued, err);
    for (uint32_t p = 0; is_queued && p < d->part_count; p++)
        queued += d->parts[p].queued;
    trl__count_seconds(d, 0, TRL__EXPANSION, start);
    for (; code == 0 && queued > 0; f.level++)
        code = follow_level(&f, s, &queued, err);
    if (code < 0) /* lists must be empty when the next utterance begins */
        for (size_t i = 0; i < (size_t)d->part_count * (size_t)d->graph->levels; i++)
            d->waiting[i] = UINT32_MAX;
    return code;
}
