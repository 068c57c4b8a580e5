/* Pruning of the lattice: from the last frame backwards, every token learns how much worse than the best way to the end the best way through it
 * is; links beyond the lattice beam go, and tokens that no link leads on from. While frames still come, all tokens of the last one count as
 * best, since nobody knows which will win. Frames that were pruned before are gone through only until nothing changes much any more.
 *
 * What is left of a frame moves together as soon as its fate is known, while the frame before is judged, by another thread if there is one; at the end the frames move
 * together. O(tokens and links of the frames gone through). */
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

/* ---- what is left of a frame moves together ---- */

/* New numbers of a frame's tokens. */
static void number_tokens(const trl__decoder *d, const trl__frame *frame, uint32_t *numbers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < frame->tokens; i++)
        numbers[i] = d->tokens[frame->first_token + i].extra < INFINITY ? count++ : TRL__NO_LINK;
}

/* before: new numbers of the frame before; NULL: they are as they were. */
static void move_links(trl__decoder *d, trl__frame *frame, const uint32_t *before, const uint32_t *numbers)
{
    trl__token *tokens = d->tokens + frame->first_token;
    trl__link *links = d->links + frame->first_link;
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
        links[left++] = link;
    }
    frame->links = left;
    frame->emitting = emitting;
}

static void move_tokens(trl__decoder *d, trl__frame *frame, const uint32_t *numbers)
{
    trl__token *tokens = d->tokens + frame->first_token;
    uint32_t left = 0;
    for (uint32_t i = 0; i < frame->tokens; i++)
        if (numbers[i] != TRL__NO_LINK)
            tokens[left++] = tokens[i];
    frame->tokens = left;
}

/* A way backwards through the frames. */
typedef struct pruning {
    trl__decoder *decoder;
    size_t frame;               /* links to this one are judged, and the one behind moves together */
    int to_end, is_moving;      /* to_end: all frames are gone through */
    float *old;                 /* extra costs */
    uint32_t *numbers, *before; /* new numbers of tokens: of the frame behind; of this one */
} pruning;

static int begin_pruning(pruning *p, trl__decoder *d, trl_error *err)
{
    size_t most = 0;
    for (size_t t = 0; t < d->frame_count; t++)
        most = d->frames[t].tokens > most ? d->frames[t].tokens : most;
    *p = (pruning){.decoder = d,
                   .frame = d->frame_count - 1,
                   .is_moving = 1,
                   .old = trl__scratch_get(&d->fresh, most + 1, sizeof *p->old),
                   .numbers = trl__scratch_get(&d->numbers, 2 * most + 1, sizeof *p->numbers)};
    if (!p->old || !p->numbers)
        return trl__fail_memory(err);
    p->before = p->numbers + most;
    return 0;
}

static int has_behind(const pruning *p)
{
    return p->frame + 1 < p->decoder->frame_count;
}

/* The frame behind p->frame, if there is one, moves together. */
static void move_behind(const pruning *p)
{
    trl__decoder *d = p->decoder;
    trl__frame *frame = &d->frames[p->frame + 1];
    if (!has_behind(p))
        return;
    number_tokens(d, &d->frames[p->frame], p->before);
    move_links(d, frame, p->before, p->numbers);
    move_tokens(d, frame, p->numbers);
}

static void step_back(pruning *p)
{
    uint32_t *kept = p->numbers;
    if (has_behind(p)) {
        p->numbers = p->before;
        p->before = kept;
    }
    p->frame--;
}

/* Frames from p->frame on lie together, each by itself: one behind the other. */
static void close_gaps(const pruning *p)
{
    trl__decoder *d = p->decoder;
    size_t tokens = d->frames[p->frame].first_token, links = d->frames[p->frame].first_link;
    for (size_t t = p->frame; t < d->frame_count; t++) {
        trl__frame *frame = &d->frames[t];
        if (frame->tokens > 0)
            memmove(d->tokens + tokens, d->tokens + frame->first_token, frame->tokens * sizeof *d->tokens);
        if (frame->links > 0)
            memmove(d->links + links, d->links + frame->first_link, frame->links * sizeof *d->links);
        frame->first_token = tokens;
        frame->first_link = links;
        tokens += frame->tokens;
        links += frame->links;
    }
    d->token_count = tokens;
    d->link_count = links;
}

/* p->frame is the first that something may be gone from. */
static void finish_pruning(const pruning *p)
{
    trl__decoder *d = p->decoder;
    const uint32_t *numbers = has_behind(p) ? p->before : p->numbers;
    move_behind(p);
    move_links(d, &d->frames[p->frame], NULL, numbers);
    move_tokens(d, &d->frames[p->frame], numbers);
    close_gaps(p);
}

int trl__decoder_compact(trl__decoder *d, size_t first, trl_error *err)
{
    pruning p;
    int code = begin_pruning(&p, d, err);
    if (code < 0)
        return code;
    number_tokens(d, &d->frames[p.frame], p.numbers);
    for (; p.frame > first; step_back(&p))
        move_behind(&p);
    finish_pruning(&p);
    return 0;
}

/* ---- both at once ---- */

static void judge_step(pruning *p)
{
    trl__decoder *d = p->decoder;
    const trl__frame *before = &d->frames[p->frame - 1];
    for (uint32_t i = 0; i < before->tokens; i++)
        p->old[i] = d->tokens[before->first_token + i].extra;
    judge_emitting(d, before, &d->frames[p->frame]);
    judge_inner(d, before);
    p->is_moving = p->to_end || p->frame > d->pruned || has_changed(d, before, p->old);
}

static void prune_step(void *user, int32_t item, int worker)
{
    pruning *p = user;
    double start = trl__clock(p->decoder);
    if (item == 0)
        judge_step(p);
    else
        move_behind(p);
    if (worker > 0) /* the caller's time is counted as a whole */
        trl__count_seconds(p->decoder, worker, TRL__PRUNING, start);
}

int trl__decoder_prune(trl__decoder *d, int to_end, trl_error *err)
{
    pruning p;
    int code = begin_pruning(&p, d, err);
    if (code < 0)
        return code;
    p.to_end = to_end;
    judge_inner(d, &d->frames[p.frame]);
    number_tokens(d, &d->frames[p.frame], p.numbers);
    for (; p.frame > 0 && p.is_moving; step_back(&p))
        trl__team_for(d->team, 2, prune_step, &p);
    finish_pruning(&p);
    d->pruned = d->frame_count - 1;
    return 0;
}
