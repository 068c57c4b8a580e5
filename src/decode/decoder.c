/* Time-synchronous beam search: token passing over a static graph (Ney and Ortmanns 1999), with all links within the beam kept and pruned
 * backwards now and then, so that a lattice is left (Povey et al. 2012).
 *
 * A frame: all arcs that read it are tried for the tokens within the beam; when the best of them is known, those within its beam are taken. Where a
 * state is reached again, the better way is kept as the token's own and both as links. Then arcs that read nothing are taken, level by
 * level. The result depends on the order of tokens, which is always the same, and not on how many frames are given at a time.
 *
 * Cost: O(arcs of the tokens within the beam) per frame, and nothing per state of the graph. Memory: 12 bytes per state of the graph, 16 per token
 * and 20 per link of the last frames, later of those that the lattice needs. */
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
    d->waiting = trl__alloc((size_t)graph->levels + 1, sizeof *d->waiting);
    if (d->place && d->asked && d->waiting) {
        for (int32_t i = 0; i < graph->levels; i++)
            d->waiting[i] = UINT32_MAX;
        return 0;
    }
    trl__decoder_destroy(d);
    *out = NULL;
    return trl__fail_memory(err);
}

void trl__decoder_destroy(trl__decoder *d)
{
    if (!d)
        return;
    trl__lazy_graph_destroy(d->lazy);
    trl__free(d->frames);
    trl__free(d->tokens);
    trl__free(d->links);
    trl__free(d->place);
    trl__free(d->asked);
    trl__free(d->waiting);
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

/* A frame's log-likelihoods, of tied state s at s * stride. */
typedef struct sounds {
    const float *scores;
    size_t stride;
} sounds;

/* A frame in the making: its limits. */
typedef struct step {
    float best, limit, word_limit; /* tokens above the limit are not made, nor by an arc with a word above the other */
    float beam, word_beam;
} step;

static inline void draw_in(step *s, float cost)
{
    if (cost < s->best) {
        s->best = cost;
        s->limit = trl__smaller(cost + s->beam, FLT_MAX);
        s->word_limit = trl__smaller(cost + s->word_beam, FLT_MAX);
    }
}

static step begin_step(const trl__decoder *d, float beam)
{
    float word_beam = trl__smaller((float)d->options.word_beam, beam);
    return (step){.best = INFINITY, .limit = FLT_MAX, .word_limit = FLT_MAX, .beam = beam, .word_beam = word_beam};
}

static int reserve(trl__decoder *d, uint64_t arcs, trl_error *err)
{
    if (d->link_count + arcs <= d->link_capacity && d->token_count + arcs <= d->token_capacity)
        return 0;
    if (TRL_GROW(d->links, d->link_capacity, d->link_count + (size_t)arcs) < 0 ||
        TRL_GROW(d->tokens, d->token_capacity, d->token_count + (size_t)arcs) < 0)
        return trl__fail_memory(err);
    return 0;
}

/* The last frame's tokens and links are those at the end of the arrays. */
static void close_counts(trl__decoder *d)
{
    const trl__frame *last = &d->frames[d->frame_count - 1];
    d->token_count = last->first_token + last->tokens;
    d->link_count = last->first_link + last->links;
}

/* Asks for the scores that the arcs of the tokens within the limit need. Most tokens are of states that had one in an earlier frame of the group: these have
 * asked. */
static int ask_for_scores(trl__decoder *d, const trl__cutoff *c, trl__score_group *group, int32_t f, trl_error *err)
{
    const trl_graph *g = d->graph;
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    const trl__token *tokens = d->tokens + frame->first_token;
    for (uint32_t k = 0; k < frame->tokens; k++) {
        int32_t state = tokens[k].state;
        if (tokens[k].cost > c->limit || d->asked[state] == d->group)
            continue;
        d->asked[state] = d->group;
        for (uint64_t i = g->emitting[state]; i < g->end[state]; i++) {
            int32_t tied = g->tied[g->arcs[i].transition];
            group->wanted[group->count] = tied;
            group->count += group->stamps[tied] != group->number;
            group->stamps[tied] = group->number;
        }
    }
    return group->count > 0 ? group->fill(group, f, err) : 0;
}

/* What an arc that reads the frame takes to be tried. Copied out of decoder and graph: links are written meanwhile, and the compiler can't know that these stay
 * as they are. */
typedef struct trial {
    const trl__network_arc *arcs;
    const int32_t *tied;
    const float *scores;
    size_t stride;
    float scale;
} trial;

static inline float acoustic_cost(trial t, uint64_t arc)
{
    return -t.scores[(size_t)t.tied[t.arcs[arc].transition] * t.stride];
}

/* from: the token's cost above the best. */
static inline float arc_cost(trial t, float from, uint64_t arc, float acoustic)
{
    return from + t.arcs[arc].cost + t.scale * acoustic;
}

/* The least cost that the best token leads to. It is seldom far from the least of all, so that few links are tried in vain. */
static float guess_best(const trl__decoder *d, const trl__cutoff *c, trial t)
{
    const trl_graph *g = d->graph;
    const trl__frame *before = &d->frames[d->frame_count - 2];
    float best = INFINITY;
    if (c->best_token == before->tokens)
        return best;
    int32_t state = d->tokens[before->first_token + c->best_token].state;
    for (uint64_t i = g->emitting[state]; i < g->end[state]; i++)
        best = trl__smaller(arc_cost(t, 0, i, acoustic_cost(t, i)), best);
    return best;
}

/* Tries all arcs that read the frame, of all tokens that go on: links to nowhere yet. Which will be within the beam can't be foretold, so there is
 * no branch on costs here. Returns through *tried how many are not above what is known of the limit. */
static int try_arcs(trl__decoder *d, step *s, const trl__cutoff *c, sounds heard, uint32_t *tried, trl_error *err)
{
    const trl_graph *g = d->graph;
    const trial t = {g->arcs, g->tied, heard.scores, heard.stride, d->scale};
    const trl__frame *before = &d->frames[d->frame_count - 2];
    const trl__token *tokens = d->tokens + before->first_token;
    size_t first = d->link_count, count = 0;
    float best = guess_best(d, c, t), limit = trl__smaller(best + s->beam, FLT_MAX);
    for (uint32_t k = 0; k < before->tokens; k++) {
        const trl__token token = tokens[k];
        if (token.cost > c->limit)
            continue;
        uint64_t begin = g->emitting[token.state], end = g->end[token.state];
        if (first + count + (size_t)(end - begin) > d->link_capacity &&
            TRL_GROW(d->links, d->link_capacity, first + count + (size_t)(end - begin)) < 0)
            return trl__fail_memory(err);
        trl__link *link = d->links + first + count;
        const float from = token.cost - c->best;
        for (uint64_t i = begin; i < end; i++) {
            float acoustic = acoustic_cost(t, i), cost = arc_cost(t, from, i, acoustic);
            link->from = k;
            link->arc = (uint32_t)i;
            link->cost = cost;
            link->acoustic = acoustic;
            link += cost <= limit;
            best = trl__smaller(cost, best);
        }
        count = (size_t)(link - d->links) - first;
        limit = trl__smaller(best + s->beam, FLT_MAX);
    }
    draw_in(s, best);
    *tried = (uint32_t)count;
    return 0;
}

/* Of two equally good ways to a token, the one that the lattice finds first: it has states by level. */
static int precedes(const trl__decoder *d, const trl__frame *source, uint32_t from, uint32_t other)
{
    const trl__token *tokens = d->tokens + source->first_token;
    int32_t level = d->graph->level[tokens[from].state], other_level = d->graph->level[tokens[other].state];
    return level != other_level ? level < other_level : from < other;
}

/* Keeps the links within the beam, which is known now, and makes the tokens that they lead to. Whether a state has been reached before can't be
 * foretold either: one that has not takes the next token, which waits with an infinite cost. There is room for one token more than links. */
static void reach_states(trl__decoder *d, const step *s, trl__frame *frame, uint32_t tried)
{
    const trl__network_arc *arcs = d->graph->arcs;
    trl__link *links = d->links + frame->first_link;
    trl__token *tokens = d->tokens + frame->first_token;
    trl__place_of_state *places = d->place;
    uint32_t count = 0, kept = 0, stamp = d->stamp;
    const float limit = s->limit, word_limit = s->word_limit;
    tokens[0].cost = INFINITY;
    for (uint32_t i = 0; i < tried; i++) {
        const trl__link *link = &links[i];
        const trl__network_arc *arc = &arcs[link->arc];
        float cost = link->cost;
        if (cost > (arc->word ? word_limit : limit))
            continue;
        int32_t next = arc->next;
        uint32_t is_new = places[next].stamp != stamp, to = is_new ? count : places[next].token;
        places[next] = (trl__place_of_state){stamp, to};
        trl__token *token = &tokens[to];
        float known = token->cost;
        if (cost == known && precedes(d, frame - 1, link->from, links[token->back].from))
            token->back = kept;
        token->state = next;
        token->extra = 0;
        token->back = cost < known ? kept : token->back;
        token->cost = trl__smaller(cost, known);
        links[kept] = *link;
        links[kept++].to = to;
        count += is_new;
        tokens[count].cost = INFINITY;
    }
    frame->tokens = count;
    frame->links = frame->emitting = kept;
}

static int emit(trl__decoder *d, step *s, const trl__cutoff *c, sounds heard, trl_error *err)
{
    uint32_t tried = 0;
    int code = try_arcs(d, s, c, heard, &tried, err);
    if (code == 0)
        code = reserve(d, (uint64_t)tried + 1, err);
    if (code < 0)
        return code;
    reach_states(d, s, &d->frames[d->frame_count - 1], tried);
    close_counts(d);
    return 0;
}

/* ---- arcs that read nothing ---- */

/* Puts tokens with such arcs on the list of their level. Returns how many. */
static int queue_tokens(trl__decoder *d, const trl__frame *frame, uint32_t from, size_t *queued, trl_error *err)
{
    const trl_graph *g = d->graph;
    if (TRL_GROW(d->next_waiting, d->waiting_capacity, frame->tokens) < 0)
        return trl__fail_memory(err);
    for (uint32_t k = from; k < frame->tokens; k++) {
        int32_t state = d->tokens[frame->first_token + k].state;
        if (g->first[state] == g->emitting[state])
            continue;
        uint32_t *head = &d->waiting[g->level[state]];
        d->next_waiting[k] = *head;
        *head = k;
        ++*queued;
    }
    return 0;
}

/* The token of a state, at this cost or a better one it had, by link number `link`. Ways from the frame before come first. */
static uint32_t reach(trl__decoder *d, trl__frame *frame, int32_t state, float cost, uint32_t from, uint32_t link)
{
    trl__place_of_state *place = &d->place[state];
    trl__token *tokens = d->tokens + frame->first_token;
    if (place->stamp != d->stamp) {
        *place = (trl__place_of_state){d->stamp, frame->tokens};
        tokens[frame->tokens++] = (trl__token){state, cost, 0, link};
        return place->token;
    }
    trl__token *token = &tokens[place->token];
    const trl__link *links = d->links + frame->first_link;
    if (cost < token->cost ||
        (cost == token->cost && token->back >= frame->emitting && precedes(d, frame, from, links[token->back].from))) {
        token->cost = cost;
        token->back = link;
    }
    return place->token;
}

/* Takes the arcs of token k that read nothing. */
static int follow(trl__decoder *d, step *s, uint32_t k, trl_error *err)
{
    const trl_graph *g = d->graph;
    trl__frame *frame = &d->frames[d->frame_count - 1];
    const trl__token token = d->tokens[frame->first_token + k];
    if (token.cost > s->limit)
        return 0;
    if (reserve(d, g->emitting[token.state] - g->first[token.state], err) < 0)
        return TRL_ENOMEM;
    for (uint64_t i = g->first[token.state]; i < g->emitting[token.state]; i++) {
        const trl__network_arc *arc = &g->arcs[i];
        float cost = token.cost + arc->cost;
        if (cost > (arc->word ? s->word_limit : s->limit))
            continue;
        draw_in(s, cost);
        uint32_t to = reach(d, frame, arc->next, cost, k, frame->links);
        d->links[frame->first_link + frame->links++] = (trl__link){k, to, (uint32_t)i, cost, 0};
    }
    close_counts(d);
    return 0;
}

/* What a level reaches lies on higher ones. */
static int close_frame(trl__decoder *d, step *s, trl_error *err)
{
    size_t queued = 0;
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    int code = queue_tokens(d, frame, 0, &queued, err);
    for (int32_t level = 0; queued > 0; level++) {
        uint32_t k = d->waiting[level];
        d->waiting[level] = UINT32_MAX;
        for (; k != UINT32_MAX; k = d->next_waiting[k], queued--) {
            uint32_t tokens = frame->tokens;
            if (code == 0)
                code = follow(d, s, k, err);
            if (code == 0 && frame->tokens > tokens)
                code = queue_tokens(d, frame, tokens, &queued, err);
        }
    }
    return code;
}

/* ---- an utterance ---- */

static int add_frame(trl__decoder *d, trl_error *err)
{
    if (TRL_GROW(d->frames, d->frame_capacity, d->frame_count + 1) < 0)
        return trl__fail_memory(err);
    d->frames[d->frame_count++] = (trl__frame){.first_token = d->token_count, .first_link = d->link_count};
    if (++d->stamp == 0) {
        memset(d->place, 0, d->place_capacity * sizeof *d->place);
        d->stamp = 1;
    }
    return 0;
}

int trl__decoder_begin(trl__decoder *d, trl_error *err)
{
    d->frame_count = d->token_count = d->link_count = d->pruned = 0;
    d->settled = 0;
    d->lone_end = TRL__NO_LINK;
    d->is_finished = 0;
    int code = d->lazy ? trl__decoder_begin_lazy(d, err) : 0;
    if (code == 0)
        code = add_frame(d, err);
    if (code < 0 || d->graph->start < 0)
        return code;
    if (reserve(d, 1, err) < 0)
        return TRL_ENOMEM;
    d->tokens[d->token_count++] = (trl__token){d->graph->start, 0, 0, TRL__NO_LINK};
    d->frames[0].tokens = 1;
    d->place[d->graph->start] = (trl__place_of_state){d->stamp, 0};
    step s = begin_step(d, (float)d->options.beam);
    return close_frame(d, &s, err);
}

static int advance_frame(trl__decoder *d, trl__score_group *group, int32_t f, trl_error *err)
{
    trl__cutoff c;
    int code = trl__decoder_cutoff(d, &d->frames[d->frame_count - 1], &c, err);
    if (code == 0 && d->lazy)
        code = trl__decoder_expand(d, &c, err);
    if (code == 0 && group->stamps)
        code = ask_for_scores(d, &c, group, f, err);
    if (code == 0)
        code = add_frame(d, err);
    if (code < 0)
        return code;
    step s = begin_step(d, c.beam);
    code = emit(d, &s, &c, (sounds){group->scores + (size_t)f * group->step, group->stride}, err);
    if (code == 0)
        code = close_frame(d, &s, err);
    const trl__frame *frame = &d->frames[d->frame_count - 1];
    d->counts.frames++;
    d->counts.tokens += frame->tokens;
    d->counts.links += frame->links;
    if (code == 0 && (d->frame_count - 1) % (size_t)d->options.prune_interval == 0)
        code = trl__decoder_prune(d, 0, err);
    return code;
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

static void begin_group(trl__decoder *d)
{
    if (++d->group == 0) {
        memset(d->asked, 0, d->asked_capacity * sizeof *d->asked);
        d->group = 1;
    }
}

int trl__decoder_advance_group(trl__decoder *d, trl__score_group *group, trl_error *err)
{
    if (d->frame_count == 0 || d->is_finished)
        return trl__fail(err, TRL_EINVAL, "frames come between the begin and the finish of an utterance");
    int code = group->stamps ? 0 : check_scores(d, group, err);
    begin_group(d);
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
    price_ends(d);
    int code = trl__decoder_prune(d, 1, err);
    if (code == 0)
        code = trl__decoder_collect(d, err);
    if (code == 0)
        *raw = &d->raw;
    return code;
}

trl__decoder_counts trl__decoder_count(const trl__decoder *d)
{
    return d->counts;
}
