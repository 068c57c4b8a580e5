/* Searching a graph that is made meanwhile (lazy_graph.h). Ahead of a frame, the states of the tokens that go on are expanded, and ahead of the arcs that read
 * nothing those that have some: so whatever is met is there.
 *
 * What was made stays for later utterances. Where it takes more memory than it should in the middle of one, what the kept tokens stand on is made anew and all
 * else is forgotten: links tell which arc of their source's state they took, and arcs come in the same order again. Where that alone is more than half of the limit, the limit
 * becomes twice that, so that memory is what the search needs, and time does not go into making room. */
#include "base/fail.h"
#include "decode/decoder_data.h"

#include <string.h>

static int grow_places(trl__place_of_state **place, size_t *capacity, size_t states)
{
    size_t grown = *capacity;
    if (TRL_GROW(*place, grown, states) < 0)
        return -1;
    memset(*place + *capacity, 0, (grown - *capacity) * sizeof **place);
    *capacity = grown;
    return 0;
}

/* Room by state for what the graph has. */
static int make_room(trl__decoder *d, trl_error *err)
{
    size_t states = (size_t)d->graph->states + 1, asked = d->asked_capacity;
    int code = grow_places(&d->place, &d->place_capacity, states);
    for (uint32_t p = 0; code == 0 && p < d->part_count; p++)
        if (d->parts[p].place)
            code = grow_places(&d->parts[p].place, &d->parts[p].place_capacity, states);
    if (code < 0 || TRL_GROW(d->asked, d->asked_capacity, states) < 0)
        return trl__fail_memory(err);
    memset(d->asked + asked, 0, (d->asked_capacity - asked) * sizeof *d->asked);
    return 0;
}

int trl__decoder_begin_lazy(trl__decoder *d, trl_error *err)
{
    int code = trl__lazy_graph_begin(d->lazy, err);
    return code < 0 ? code : make_room(d, err);
}

/* ---- Making room ---- */

/* number: by old state, the new one; -1: none yet. */
static int take_over_states(trl__decoder *d, trl__lazy_graph *fresh, int32_t *number, trl_error *err)
{
    for (size_t i = 0; i < d->token_count; i++) {
        int32_t *state = &number[d->tokens[i].state];
        if (*state < 0)
            *state = trl__lazy_graph_take_over(fresh, d->lazy, d->tokens[i].state, err);
        if (*state < 0)
            return *state;
    }
    return 0;
}

/* Links of frame t come from tokens of the frame before, then of its own. */
static void renumber_arcs(trl__decoder *d, size_t t, const trl_graph *fresh, const int32_t *number)
{
    const trl__frame *frame = &d->frames[t];
    for (uint32_t i = 0; i < frame->links; i++) {
        trl__link *link = &d->links[frame->first_link + i];
        const trl__frame *source = i < frame->emitting ? frame - 1 : frame;
        int32_t state = d->tokens[source->first_token + link->from].state;
        link->arc = (uint32_t)(link->arc - d->graph->first[state] + fresh->first[number[state]]);
    }
}

static int forget_rest(trl__decoder *d, trl_error *err)
{
    trl__lazy_graph *fresh = NULL;
    int32_t *number = trl__alloc((size_t)d->graph->states + 1, sizeof *number);
    int code = number ? trl__lazy_graph_like(d->lazy, &fresh, err) : trl__fail_memory(err);
    for (int32_t s = 0; code == 0 && s < d->graph->states; s++)
        number[s] = -1;
    if (code == 0)
        code = take_over_states(d, fresh, number, err);
    for (size_t t = 0; code == 0 && t < d->frame_count; t++)
        renumber_arcs(d, t, trl__lazy_graph_view(fresh), number);
    for (size_t i = 0; code == 0 && i < d->token_count; i++)
        d->tokens[i].state = number[d->tokens[i].state];
    trl__free(number);
    if (code < 0) {
        trl__lazy_graph_destroy(fresh);
        return code;
    }
    trl__lazy_graph_destroy(d->lazy);
    d->lazy = fresh;
    d->graph = trl__lazy_graph_view(fresh);
    memset(d->asked, 0, d->asked_capacity * sizeof *d->asked);
    trl__lazy_graph_make_room(fresh);
    return 0;
}

/* ---- A frame ---- */

int trl__decoder_make_arcs(trl__decoder *d, const trl__cutoff *c, trl_error *err)
{
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    int code = trl__lazy_graph_is_full(d->lazy) ? forget_rest(d, err) : 0;
    for (uint32_t i = 0; code == 0 && i < frame->tokens; i++) {
        const trl__token *token = &d->tokens[frame->first_token + i];
        if (token->cost <= c->limit && !trl__lazy_graph_is_expanded(d->lazy, token->state))
            code = trl__lazy_graph_want(d->lazy, token->state, err);
    }
    if (code == 0)
        code = trl__lazy_graph_expand(d->lazy, err);
    return code < 0 ? code : make_room(d, err);
}

int trl__decoder_make_silent_arcs(trl__decoder *d, trl_error *err)
{
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < frame->tokens; i++) {
        int32_t state = d->tokens[frame->first_token + i].state;
        if (trl__lazy_graph_is_silent(d->lazy, state))
            code = trl__lazy_graph_want(d->lazy, state, err);
    }
    if (code == 0)
        code = trl__lazy_graph_expand(d->lazy, err);
    return code < 0 ? code : make_room(d, err);
}
