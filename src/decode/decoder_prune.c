/* Pruning of the lattice: from the last frame backwards, every token learns how much worse than the best way to the end the best way through it
 * is; links beyond the lattice beam go, and tokens that no link leads on from. While frames still come, all tokens of the last one count as
 * best, since nobody knows which will win. Frames that were pruned before are gone through only until nothing changes much any more.
 * Then what is left moves together. O(tokens and links of the frames gone through). */
#include "base/fail.h"
#include "decode/decoder_data.h"

#include <string.h>

#define STILL 0.1f /* of the lattice beam: such changes of extra costs need not be told to older frames */

/* ---- backwards: what leads on ---- */

/* Judges a link to token `to`; *extra becomes its source's, where it is better. Nothing foretells the outcome, so there is no branch on it. */
static inline void judge(trl__link *link, const trl__token *to, float *extra, float limit)
{
    float above = link->cost - to->cost + to->extra;
    int is_beyond = !(above <= limit);
    float known = *extra, new = is_beyond ? INFINITY : above;
    *extra = new < known ? new : known;
    link->to |= 0u - (uint32_t)is_beyond; /* TRL__NO_LINK */
}

/* Links within the frame, the highest level first: a source's extra cost is complete when links to it are judged. */
static void judge_inner(const trl__decoder *d, const trl__frame *frame)
{
    trl__token *tokens = d->tokens + frame->first_token;
    trl__link *links = d->links + frame->first_link;
    for (uint32_t i = frame->links; i-- > frame->emitting;)
        judge(&links[i], &tokens[links[i].to], &tokens[links[i].from].extra, d->lattice_limit);
}

/* Links from frame `before`, whose tokens get new extra costs. */
static void judge_emitting(const trl__decoder *d, const trl__frame *before, const trl__frame *frame)
{
    trl__token *sources = d->tokens + before->first_token;
    const trl__token *tokens = d->tokens + frame->first_token;
    trl__link *links = d->links + frame->first_link;
    float limit = d->lattice_limit;
    for (uint32_t i = 0; i < before->tokens; i++)
        sources[i].extra = INFINITY;
    for (uint32_t i = 0; i < frame->emitting; i++)
        judge(&links[i], &tokens[links[i].to], &sources[links[i].from].extra, limit);
}

static int has_changed(const trl__decoder *d, const trl__frame *frame, const float *old)
{
    const trl__token *tokens = d->tokens + frame->first_token;
    float still = STILL * d->lattice_limit;
    for (uint32_t i = 0; i < frame->tokens; i++)
        if (tokens[i].extra == INFINITY || fabsf(tokens[i].extra - old[i]) > still)
            return 1;
    return 0;
}

/* Returns through *first the first frame that something may be gone from. */
static int judge_frames(trl__decoder *d, int to_end, size_t *first, trl_error *err)
{
    size_t t = d->frame_count - 1;
    judge_inner(d, &d->frames[t]);
    for (int is_moving = 1; t > 0 && is_moving; t--) {
        const trl__frame *before = &d->frames[t - 1];
        float *old = trl__scratch_get(&d->fresh, (size_t)before->tokens + 1, sizeof *old);
        if (!old)
            return trl__fail_memory(err);
        for (uint32_t i = 0; i < before->tokens; i++)
            old[i] = d->tokens[before->first_token + i].extra;
        judge_emitting(d, before, &d->frames[t]);
        judge_inner(d, before);
        is_moving = to_end || t > d->pruned || has_changed(d, before, old);
    }
    *first = t;
    return 0;
}

/* ---- forwards: together ---- */

/* New numbers of a frame's tokens; returns how many are left. */
static uint32_t number_tokens(const trl__decoder *d, const trl__frame *frame, uint32_t *numbers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < frame->tokens; i++)
        numbers[i] = d->tokens[frame->first_token + i].extra < INFINITY ? count++ : TRL__NO_LINK;
    return count;
}

/* before: new numbers of the frame before; NULL: they are as they were. */
static void move_links(trl__decoder *d, trl__frame *frame, const uint32_t *before, const uint32_t *numbers)
{
    trl__token *tokens = d->tokens + frame->first_token;
    const trl__link *links = d->links + frame->first_link;
    size_t first = d->link_count;
    uint32_t left = 0, emitting = 0;
    for (uint32_t i = 0; i < frame->links; i++) {
        trl__link link = links[i];
        if (link.to == TRL__NO_LINK)
            continue;
        if (tokens[link.to].back == i)
            tokens[link.to].back = left;
        link.to = numbers[link.to];
        if (i >= frame->emitting)
            link.from = numbers[link.from];
        else if (before)
            link.from = before[link.from];
        emitting += i < frame->emitting;
        d->links[first + left++] = link;
    }
    frame->first_link = first;
    frame->links = left;
    frame->emitting = emitting;
    d->link_count += left;
}

static void move_tokens(trl__decoder *d, trl__frame *frame, const uint32_t *numbers, uint32_t left)
{
    const trl__token *tokens = d->tokens + frame->first_token;
    size_t first = d->token_count;
    for (uint32_t i = 0; i < frame->tokens; i++)
        if (numbers[i] != TRL__NO_LINK)
            d->tokens[first + numbers[i]] = tokens[i];
    frame->first_token = first;
    frame->tokens = left;
    d->token_count += left;
}

static uint32_t most_tokens(const trl__decoder *d, size_t first)
{
    uint32_t most = 0;
    for (size_t t = first; t < d->frame_count; t++)
        most = d->frames[t].tokens > most ? d->frames[t].tokens : most;
    return most;
}

int trl__decoder_compact(trl__decoder *d, size_t first, trl_error *err)
{
    size_t most = most_tokens(d, first);
    uint32_t *numbers = trl__scratch_get(&d->numbers, 2 * most + 1, sizeof *numbers), *before = NULL;
    if (!numbers)
        return trl__fail_memory(err);
    d->token_count = d->frames[first].first_token;
    d->link_count = d->frames[first].first_link;
    for (size_t t = first; t < d->frame_count; t++) {
        trl__frame *frame = &d->frames[t];
        uint32_t *other = before ? before : numbers + most;
        uint32_t left = number_tokens(d, frame, numbers);
        move_links(d, frame, before, numbers);
        move_tokens(d, frame, numbers, left);
        before = numbers;
        numbers = other;
    }
    return 0;
}

int trl__decoder_prune(trl__decoder *d, int to_end, trl_error *err)
{
    size_t first = 0;
    int code = judge_frames(d, to_end, &first, err);
    if (code == 0)
        code = trl__decoder_compact(d, first, err);
    d->pruned = d->frame_count - 1;
    return code;
}
