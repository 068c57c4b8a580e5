/* Links that were sent become tokens and links of the frame: those within the beam, which is known now.
 *
 * One thread puts them where they belong at once. Several share out the states: each state is of one part, and whoever has the part takes what all threads
 * sent to it, so no state is touched by two. Then the parts are laid one behind the other, by all threads again.
 *
 * The other way is that of [004] 3.1, to compare with: every thread makes tokens of what it sent itself, with copies of states that others reach
 * too, and one thread merges the copies. */
#include "base/fail.h"
#include "decode/decoder_data.h"

#include <string.h>

typedef struct reaching {
    trl__decoder *decoder;
    const trl__step *step;
    const trl__frame *frame;   /* in the making */
    const trl__token *sources; /* tokens of the frame before */
} reaching;

static reaching reaching_of(trl__decoder *d, const trl__step *s)
{
    trl__frame *frame = &d->frames[d->frame_count - 1];
    return (reaching){d, s, frame, d->tokens + (frame - 1)->first_token};
}

/* Whether a state has been reached before can't be foretold either: one that has not takes the next token, which waits with an infinite
 * cost. There is room for one token more than links. */
static void reach_states(const reaching *r, trl__place_of_state *places, const trl__sent_links *sent, trl__part *part)
{
    trl__token *tokens = part->tokens;
    trl__link *links = part->links;
    uint32_t count = part->count, kept = part->kept, stamp = r->decoder->stamp;
    const float limit = r->step->limit, word_limit = r->step->word_limit;
    tokens[count].cost = INFINITY;
    for (size_t i = 0; i < sent->count; i++) {
        const trl__link *link = &sent->links[i];
        float cost = link->cost;
        if (cost > (link->to & TRL__WRITES ? word_limit : limit))
            continue;
        uint32_t next = link->to & ~TRL__WRITES;
        uint32_t is_new = places[next].stamp != stamp, to = is_new ? count : places[next].token;
        places[next] = (trl__place_of_state){stamp, to};
        trl__token *token = &tokens[to];
        float known = token->cost;
        if (cost == known && trl__precedes(r->decoder->graph, r->sources, link, &links[token->back]))
            token->back = kept;
        token->state = (int32_t)next;
        token->extra = 0;
        token->back = cost < known ? kept : token->back;
        token->cost = trl__smaller(cost, known);
        links[kept] = *link;
        links[kept++].to = to;
        count += is_new;
        tokens[count].cost = INFINITY;
    }
    part->count = count;
    part->kept = kept;
}

int trl__decoder_reach(trl__decoder *d, const trl__step *s, trl_error *err)
{
    const trl__sent_links *sent = &d->workers[0].sent[0];
    double start = trl__clock(d);
    int code = trl__decoder_reserve(d, sent->count + 1, sent->count, err);
    if (code < 0)
        return code;
    reaching r = reaching_of(d, s);
    trl__frame *frame = &d->frames[d->frame_count - 1];
    trl__part all = {.tokens = d->tokens + frame->first_token, .links = d->links + frame->first_link};
    reach_states(&r, d->place, sent, &all);
    frame->tokens = all.count;
    frame->links = frame->emitting = all.kept;
    trl__decoder_close_counts(d);
    trl__count_seconds(d, 0, TRL__MERGING, start);
    return 0;
}

/* ---- in parts ---- */

static int begin_part(trl__part *part, size_t sent)
{
    part->count = part->kept = part->queued = 0;
    return TRL_GROW(part->tokens, part->token_capacity, sent + 1) < 0 ||
                   TRL_GROW(part->links, part->link_capacity, sent) < 0
               ? -1
               : 0;
}

static void make_part(void *user, int32_t item, int worker)
{
    const reaching *r = user;
    trl__decoder *d = r->decoder;
    trl__search_worker *w = &d->workers[worker];
    double start = trl__clock(d);
    size_t sent = 0;
    for (int i = 0; i < d->worker_count; i++)
        sent += d->workers[i].sent[item].count;
    if (begin_part(&d->parts[item], sent) < 0)
        w->code = trl__fail_memory(&w->err);
    for (int i = 0; w->code == 0 && i < d->worker_count; i++)
        reach_states(r, d->place, &d->workers[i].sent[item], &d->parts[item]);
    trl__count_seconds(d, worker, TRL__MERGING, start);
}

static void lay_part(void *user, int32_t item, int worker)
{
    const reaching *r = user;
    trl__decoder *d = r->decoder;
    trl__part *part = &d->parts[item];
    double start = trl__clock(d);
    trl__link *links = d->links + r->frame->first_link + part->first_link;
    trl__token *tokens = d->tokens + r->frame->first_token + part->first_token;
    for (uint32_t i = 0; i < part->kept; i++) {
        links[i] = part->links[i];
        links[i].to += part->first_token;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        tokens[i] = part->tokens[i];
        tokens[i].back += part->first_link;
        d->place[tokens[i].state].token = part->first_token + i;
        if (!d->lazy) /* its arcs may not be there yet */
            part->queued += trl__decoder_queue(d, (uint32_t)item, part->first_token + i, tokens[i].state);
    }
    trl__count_seconds(d, worker, TRL__MERGING, start);
}

/* Where each part begins, and room for all. */
static int place_parts(trl__decoder *d, uint32_t parts, trl__frame *frame, trl_error *err)
{
    uint32_t tokens = 0, links = 0;
    for (uint32_t p = 0; p < parts; p++) {
        d->parts[p].first_token = tokens;
        d->parts[p].first_link = links;
        tokens += d->parts[p].count;
        links += d->parts[p].kept;
    }
    frame->tokens = tokens;
    frame->links = frame->emitting = links;
    if (TRL_GROW(d->next_waiting, d->waiting_capacity, tokens) < 0)
        return trl__fail_memory(err);
    return trl__decoder_reserve(d, tokens, links, err);
}

int trl__decoder_reach_parts(trl__decoder *d, const trl__step *s, trl_error *err)
{
    trl__frame *frame = &d->frames[d->frame_count - 1];
    reaching r = reaching_of(d, s);
    trl__team_for(d->team, (int32_t)d->part_count, make_part, &r);
    int code = trl__workers_failure(d, err);
    if (code == 0)
        code = place_parts(d, d->part_count, frame, err);
    if (code < 0)
        return code;
    trl__team_for(d->team, (int32_t)d->part_count, lay_part, &r);
    trl__decoder_close_counts(d);
    return 0;
}

/* ---- copies that are merged ---- */

static void make_copies(void *user, int32_t item, int worker)
{
    const reaching *r = user;
    trl__decoder *d = r->decoder;
    trl__search_worker *w = &d->workers[worker];
    trl__part *part = &d->parts[item];
    double start = trl__clock(d);
    if (begin_part(part, d->workers[item].sent[0].count) < 0)
        w->code = trl__fail_memory(&w->err);
    else
        reach_states(r, part->place, &d->workers[item].sent[0], part);
    trl__count_seconds(d, worker, TRL__MERGING, start);
}

/* A copy's token becomes the frame's, or makes that one better. Returns its number. */
static uint32_t merge_token(const reaching *r, trl__frame *frame, const trl__token *copy, uint32_t first_link)
{
    trl__decoder *d = r->decoder;
    trl__place_of_state *place = &d->place[copy->state];
    trl__token *tokens = d->tokens + frame->first_token;
    const trl__link *links = d->links + frame->first_link;
    uint32_t back = copy->back + first_link;
    if (place->stamp != d->stamp) {
        *place = (trl__place_of_state){d->stamp, frame->tokens};
        tokens[frame->tokens++] = (trl__token){copy->state, copy->cost, 0, back};
        return place->token;
    }
    trl__token *token = &tokens[place->token];
    if (copy->cost < token->cost ||
        (copy->cost == token->cost && trl__precedes(d->graph, r->sources, &links[back], &links[token->back]))) {
        token->cost = copy->cost;
        token->back = back;
    }
    return place->token;
}

static int merge_copies(const reaching *r, trl__frame *frame, trl_error *err)
{
    trl__decoder *d = r->decoder;
    for (int i = 0; i < d->worker_count; i++) {
        const trl__part *part = &d->parts[i];
        uint32_t *number = trl__scratch_get(&d->numbers, (size_t)part->count + 1, sizeof *number);
        trl__link *links = d->links + frame->first_link + frame->links;
        if (!number)
            return trl__fail_memory(err);
        if (part->kept > 0)
            memcpy(links, part->links, part->kept * sizeof *links);
        for (uint32_t k = 0; k < part->count; k++)
            number[k] = merge_token(r, frame, &part->tokens[k], frame->links);
        for (uint32_t k = 0; k < part->kept; k++)
            links[k].to = number[links[k].to];
        frame->links += part->kept;
    }
    frame->emitting = frame->links;
    return 0;
}

int trl__decoder_reach_merging(trl__decoder *d, const trl__step *s, trl_error *err)
{
    trl__frame *frame = &d->frames[d->frame_count - 1];
    reaching r = reaching_of(d, s);
    uint64_t tokens = 0, links = 0;
    trl__team_for(d->team, d->worker_count, make_copies, &r);
    int code = trl__workers_failure(d, err);
    double start = trl__clock(d);
    for (int i = 0; code == 0 && i < d->worker_count; i++) {
        tokens += d->parts[i].count;
        links += d->parts[i].kept;
    }
    if (code == 0)
        code = trl__decoder_reserve(d, tokens, links, err);
    if (code < 0)
        return code;
    r = reaching_of(d, s);
    code = merge_copies(&r, frame, err);
    trl__decoder_close_counts(d);
    trl__count_seconds(d, 0, TRL__MERGING, start);
    return code;
}
