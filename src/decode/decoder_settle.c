/* Letting go of the past, so that a search can go on for hours.
 *
 * A frame that is entered through one token only, in the pruned lattice, is passed there by every way that is still alive, and by the best one whatever
 * comes. What lies before is then a lattice of its own: its best path is a piece of the path that a search without this would find at the end, and
 * the lattices of all pieces are the parts of its lattice. The extra costs say so: that token's is 0 now and at the end, so pruning decides the
 * same before it.
 *
 * Nothing makes such a frame come. Where none did for too long, the best way of the moment decides: those that part from it in the
 * older half of what is kept are given up. That happens in long silence, where silence before the next word and at the end of all are
 * searched side by side; so the way must be one on which words can still come, if there is such a way. Cost: O(what is kept). */
#include "base/fail.h"
#include "decode/decoder_data.h"

#include <string.h>

/* The token that all links from the frame before lead to, or TRL__NO_LINK. */
static uint32_t entry_of(const trl__decoder *d, const trl__frame *frame)
{
    const trl__link *links = d->links + frame->first_link;
    for (uint32_t i = 1; i < frame->emitting; i++)
        if (links[i].to != links[0].to)
            return TRL__NO_LINK;
    return frame->emitting > 0 ? links[0].to : TRL__NO_LINK;
}

/* The last frame with one entry; 0: none. */
static size_t find_entry(const trl__decoder *d, uint32_t *token)
{
    for (size_t t = d->frame_count - 1; t > 0; t--)
        if ((*token = entry_of(d, &d->frames[t])) != TRL__NO_LINK)
            return t;
    return 0;
}

/* ---- by force ---- */

/* A walk through the graph. */
typedef struct walk {
    uint32_t *seen; /* by state: the number of the last walk that came there */
    int32_t *stack;
    size_t capacity;
} walk;

/* Can a word come from this state on? Returns 1 or 0; -1: out of memory. The answer is near: a word, or the few states behind the last one. */
static int leads_to_word(const trl_graph *g, int32_t state, uint32_t number, walk *w)
{
    size_t count = 0;
    if (TRL_GROW(w->stack, w->capacity, 1) < 0)
        return -1;
    w->stack[count++] = state;
    w->seen[state] = number;
    while (count > 0) {
        int32_t s = w->stack[--count];
        for (uint64_t i = g->first[s]; i < g->end[s]; i++) {
            if (g->arcs[i].word)
                return 1;
            if (w->seen[g->arcs[i].next] == number)
                continue;
            if (TRL_GROW(w->stack, w->capacity, count + 1) < 0)
                return -1;
            w->seen[g->arcs[i].next] = number;
            w->stack[count++] = g->arcs[i].next;
        }
    }
    return 0;
}

/* The best token of the last frame that words can come from; where there is none, the best. */
static int choose_way(const trl__decoder *d, uint32_t *token, trl_error *err)
{
    const trl__frame *last = &d->frames[d->frame_count - 1];
    const trl__token *tokens = d->tokens + last->first_token;
    const trl_graph *g = d->lazy ? trl__lazy_graph_loop(d->lazy) : d->graph; /* words are in the loop */
    walk w = {.seen = trl__alloc_zero((size_t)g->states + 1, sizeof *w.seen)};
    int is_found = 0, answer = w.seen ? 0 : -1;
    *token = trl__best_token(d, last);
    for (uint32_t i = 0; answer >= 0 && i < last->tokens; i++) {
        if (is_found && !trl__token_precedes(d, &tokens[i], &tokens[*token]))
            continue;
        int32_t state = d->lazy ? trl__lazy_graph_loop_state(d->lazy, tokens[i].state) : tokens[i].state;
        answer = leads_to_word(g, state, i + 1, &w);
        if (answer > 0) {
            is_found = 1;
            *token = i;
        }
    }
    trl__free(w.seen);
    trl__free(w.stack);
    return answer < 0 ? trl__fail_memory(err) : 0;
}

/* The token by which the way of a token of the last frame enters frame t. */
static uint32_t entry_of_way(const trl__decoder *d, uint32_t token, size_t t)
{
    size_t frame = d->frame_count - 1;
    for (;;) {
        const trl__frame *f = &d->frames[frame];
        uint32_t back = d->tokens[f->first_token + token].back;
        if (back == TRL__NO_LINK || (frame == t && back < f->emitting))
            return token;
        token = d->links[f->first_link + back].from;
        frame -= back < f->emitting;
    }
}

/* Marks the tokens of a frame whose own way does not come from a token that is kept, and the links from or to them. before: the frame before; NULL: only
 * `entry` may be entered from there. Inner links come by the level of their source, so that one's fate is known. */
static void give_up(trl__decoder *d, const trl__frame *before, const trl__frame *frame, uint32_t entry)
{
    trl__token *tokens = d->tokens + frame->first_token;
    trl__link *links = d->links + frame->first_link;
    for (uint32_t i = 0; i < frame->links; i++) {
        trl__token *to = &tokens[links[i].to];
        int is_inner = i >= frame->emitting;
        int is_lost = is_inner || before
                          ? d->tokens[(is_inner ? frame : before)->first_token + links[i].from].extra == INFINITY
                          : links[i].to != entry;
        if (is_lost && to->back == i)
            to->extra = INFINITY;
        if (is_lost)
            links[i].to = TRL__NO_LINK;
    }
    for (uint32_t i = 0; i < frame->links; i++)
        if (links[i].to != TRL__NO_LINK && tokens[links[i].to].extra == INFINITY)
            links[i].to = TRL__NO_LINK;
}

static int settle_by_force(trl__decoder *d, size_t t, trl_error *err)
{
    uint32_t token;
    int code = choose_way(d, &token, err);
    if (code < 0)
        return code;
    give_up(d, NULL, &d->frames[t], entry_of_way(d, token, t));
    for (size_t k = t + 1; k < d->frame_count; k++)
        give_up(d, &d->frames[k - 1], &d->frames[k], 0);
    code = trl__decoder_compact(d, t, err);
    return code < 0 ? code : trl__decoder_prune(d, 1, err);
}

/* ---- a piece of the lattice ---- */

/* The raw lattice up to token `entry` of frame t. The frame's other tokens are states that nothing leads to. */
static int collect_piece(trl__decoder *d, size_t t, uint32_t entry, trl_error *err)
{
    trl__frame *end = &d->frames[t];
    const trl__frame kept = *end;
    size_t frames = d->frame_count, tokens = d->token_count, links = d->link_count;
    end->links = end->emitting;
    d->frame_count = t + 1;
    d->token_count = end->first_token + end->tokens;
    d->link_count = end->first_link + end->links;
    d->raw.reached_end = 0;
    d->lone_end = entry;
    int code = trl__decoder_collect(d, err);
    d->lone_end = TRL__NO_LINK;
    d->frame_count = frames;
    d->token_count = tokens;
    d->link_count = links;
    *end = kept;
    return code;
}

/* Frame t becomes the first. */
static void forget_before(trl__decoder *d, size_t t, uint32_t entry)
{
    const trl__frame first = d->frames[t];
    size_t first_link = first.first_link + first.emitting;
    d->tokens[first.first_token + entry].back = TRL__NO_LINK;
    for (uint32_t i = 0; i < first.tokens; i++) {
        trl__token *token = &d->tokens[first.first_token + i];
        token->back -= token->back == TRL__NO_LINK ? 0 : first.emitting;
    }
    d->token_count -= first.first_token;
    d->link_count -= first_link;
    d->frame_count -= t;
    d->pruned -= d->pruned < t ? d->pruned : t;
    memmove(d->tokens, d->tokens + first.first_token, d->token_count * sizeof *d->tokens);
    memmove(d->links, d->links + first_link, d->link_count * sizeof *d->links);
    memmove(d->frames, d->frames + t, d->frame_count * sizeof *d->frames);
    d->frames[0].links -= first.emitting;
    d->frames[0].emitting = 0;
    d->frames[0].first_link = first_link;
    for (size_t k = 0; k < d->frame_count; k++) {
        d->frames[k].first_token -= first.first_token;
        d->frames[k].first_link -= first_link;
    }
    d->settled += (int64_t)t;
}

int trl__decoder_settle(trl__decoder *d, int32_t most, const trl__raw_lattice **piece, int *is_forced, trl_error *err)
{
    uint32_t entry = TRL__NO_LINK;
    *piece = NULL;
    *is_forced = 0;
    if (d->frame_count == 0 || d->is_finished)
        return trl__fail(err, TRL_EINVAL, "pieces are those of an utterance that is not finished");
    if (d->frames[d->frame_count - 1].tokens == 0)
        return 0;
    int code = trl__decoder_prune(d, 1, err);
    size_t t = code == 0 ? find_entry(d, &entry) : 0;
    if (code == 0 && d->frame_count - 1 - t > (size_t)most) {
        *is_forced = 1;
        code = settle_by_force(d, (t + d->frame_count) / 2, err);
        t = code == 0 ? find_entry(d, &entry) : 0;
    }
    if (code < 0 || t == 0)
        return code;
    code = collect_piece(d, t, entry, err);
    if (code < 0)
        return code;
    forget_before(d, t, entry);
    *piece = &d->raw;
    return 0;
}

int64_t trl__decoder_settled(const trl__decoder *d)
{
    return d->settled;
}
