/* Letting go of the past, so that a search can go on for hours.
 *
 * A frame that is entered through one token only, in the pruned lattice, is passed there by every way that is still alive, and by the best one whatever
 * comes. What lies before is then a lattice of its own: its best path is a piece of the path that a search without this would find at the end, and
 * the lattices of all pieces are the parts of its lattice. The extra costs say so: that token's is 0 now and at the end, so pruning decides the
 * same before it.
 *
 * Nothing makes such a frame come. Where none did for too long, the best way of the moment decides: those that part from it in the
 * older half of what is kept are given up. Cost: O(what is kept). */
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

/* The token by which the best way of the moment enters frame t. */
static uint32_t entry_of_best(const trl__decoder *d, size_t t)
{
    size_t frame = d->frame_count - 1;
    uint32_t token = trl__best_token(d, &d->frames[frame]);
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
    uint32_t entry = entry_of_best(d, t);
    give_up(d, NULL, &d->frames[t], entry);
    for (size_t k = t + 1; k < d->frame_count; k++)
        give_up(d, &d->frames[k - 1], &d->frames[k], 0);
    int code = trl__decoder_compact(d, t, err);
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
