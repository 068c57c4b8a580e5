/* Arcs that read a frame are tried for all tokens that go on. Which links will be within the beam can't be foretold, so there is no branch on costs: each is
 * written where the next one of its part goes, and stays if it is not above what is known of the limit.
 *
 * Threads take blocks of tokens. Each has its own lists of what it sends to the parts, so nothing is locked; the best cost so far is all they tell each other. */
#include "base/fail.h"
#include "decode/decoder_data.h"

#include <string.h>

#define BLOCK 32            /* tokens: room for their links is made at once */
#define PENDING 0x7FC0ACEDu /* instead of a score that is being made: not a number, as no score is */
#define LOOKS 1000          /* for it */

/* What it takes to try arcs. Copied out of decoder and graph: links are written meanwhile, and the compiler can't know that these stay as they are. */
typedef struct trial {
    trl__decoder *decoder;
    trl__score_group *group;
    const trl__token *tokens;
    uint32_t count; /* tokens */
    const trl__network_arc *arcs;
    const int32_t *tied;
    const float *scores;
    size_t stride;
    float scale, beam;
    float from_limit, from_best; /* of the tokens */
    uint32_t parts, at_once;     /* tokens */
} trial;

typedef struct source {
    uint64_t begin, end; /* arcs */
    uint32_t token;
    float cost; /* above the best */
} source;

static inline float acoustic_cost(const trial *t, uint64_t arc)
{
    return -t->scores[(size_t)t->tied[t->arcs[arc].transition] * t->stride];
}

static inline float arc_cost(const trial *t, float from, uint64_t arc, float acoustic)
{
    return from + t->arcs[arc].cost + t->scale * acoustic;
}

/* ---- scores when an arc wants them ---- */

/* A cell has its frame's number and the score together, so no thread sees half of it. Who is first puts PENDING there; others look for a while and then make the score too, so
 * that nobody depends on a thread that has lost its core. */
static uint64_t cell_of(uint32_t number, uint32_t bits)
{
    return (uint64_t)number << 32 | bits;
}

/* Returns the cell when its score is there, or a pending one after some time. */
static uint64_t await_score(atomic_uint_fast64_t *cell, uint32_t number)
{
    uint64_t seen = atomic_load_explicit(cell, memory_order_relaxed);
    for (int i = 0; i < LOOKS && seen == cell_of(number, PENDING); i++) {
        trl__relax();
        seen = atomic_load_explicit(cell, memory_order_relaxed);
    }
    return seen;
}

static int make_score(const trial *t, int worker, int32_t tied, uint32_t *bits)
{
    union {
        float score;
        uint32_t bits;
    } value;
    trl__score_group *g = t->group;
    trl__search_worker *w = &t->decoder->workers[worker];
    double start = trl__clock(t->decoder);
    w->code = g->make(g, worker, tied, &value.score, &w->err);
    if (w->code < 0)
        return w->code;
    *bits = value.bits;
    uint64_t before = atomic_exchange_explicit(&g->cells[tied], cell_of(g->number, value.bits), memory_order_relaxed);
    w->twice += before != cell_of(g->number, PENDING);
    trl__count_seconds(t->decoder, worker, TRL__LIKELIHOODS, start);
    if (t->decoder->options.is_timed)
        w->seconds[TRL__EXPANSION] -= trl__clock(t->decoder) - start;
    return 0;
}

static int look_up(const trial *t, int worker, int32_t tied, float *score)
{
    const trl__score_group *g = t->group;
    uint64_t cell = atomic_load_explicit(&g->cells[tied], memory_order_relaxed);
    int is_first = cell >> 32 != g->number &&
                   atomic_compare_exchange_strong_explicit(&g->cells[tied], &cell, cell_of(g->number, PENDING),
                                                           memory_order_relaxed, memory_order_relaxed);
    if (!is_first)
        cell = await_score(&g->cells[tied], g->number);
    uint32_t bits = (uint32_t)cell;
    if ((is_first || bits == PENDING) && make_score(t, worker, tied, &bits) < 0)
        return t->decoder->workers[worker].code;
    memcpy(score, &bits, sizeof *score);
    return 0;
}

/* Acoustic costs of all arcs of a block, one behind the other. NULL: failed. */
static const float *sounds_of(const trial *t, int worker, const source *sources, uint32_t count, uint64_t arcs)
{
    trl__search_worker *w = &t->decoder->workers[worker];
    float *sounds = trl__scratch_get(&w->sounds, (size_t)arcs + 1, sizeof *sounds), *next = sounds;
    if (!sounds) {
        w->code = trl__fail_memory(&w->err);
        return NULL;
    }
    for (uint32_t k = 0; k < count; k++)
        for (uint64_t i = sources[k].begin; i < sources[k].end; i++, next++) {
            if (look_up(t, worker, t->tied[t->arcs[i].transition], next) < 0)
                return NULL;
            *next = -*next;
        }
    return sounds;
}

/* ---- arcs ---- */

/* One arc's link is written, and left there if it may be within the beam. */
static inline trl__link *put(const trial *t, trl__link *link, uint32_t token, uint64_t arc, float cost, float acoustic,
                             float limit)
{
    const trl__network_arc *a = &t->arcs[arc];
    link->from = token;
    link->to = (uint32_t)a->next | (a->word ? TRL__WRITES : 0);
    link->arc = (uint32_t)arc;
    link->cost = cost;
    link->acoustic = acoustic;
    return link + (cost <= limit);
}

/* sounds: NULL: all scores are there. Returns the least cost. */
static inline __attribute__((always_inline)) float try_sources(const trial *t, const source *sources, uint32_t count,
                                                               const float *sounds, trl__link **ends,
                                                               const uint32_t parts, float best)
{
    trl__link *end = ends[0];
    for (uint32_t k = 0; k < count; k++) {
        const source from = sources[k];
        const float limit = trl__smaller(best + t->beam, FLT_MAX);
        for (uint64_t i = from.begin; i < from.end; i++) {
            float acoustic = sounds ? *sounds++ : acoustic_cost(t, i);
            float cost = arc_cost(t, from.cost, i, acoustic);
            if (parts == 1) {
                end = put(t, end, from.token, i, cost, acoustic, limit);
            } else {
                trl__link **place = &ends[trl__part_of((uint32_t)t->arcs[i].next, parts)];
                *place = put(t, *place, from.token, i, cost, acoustic, limit);
            }
            best = trl__smaller(cost, best);
        }
    }
    if (parts == 1)
        ends[0] = end;
    return best;
}

/* The tokens within the limit, and how many arcs they have. */
static uint32_t find_sources(const trial *t, uint32_t begin, uint32_t end, source *sources, uint64_t *arcs)
{
    const trl_graph *g = t->decoder->graph;
    uint32_t count = 0;
    *arcs = 0;
    for (uint32_t k = begin; k < end; k++) {
        const trl__token *token = &t->tokens[k];
        if (token->cost > t->from_limit)
            continue;
        source s = {g->emitting[token->state], g->end[token->state], k, token->cost - t->from_best};
        *arcs += s.end - s.begin;
        sources[count++] = s;
    }
    return count;
}

/* There is one part at least. */
static int make_room(trl__search_worker *w, uint32_t parts, uint64_t arcs, trl__link **ends)
{
    uint32_t p = 0;
    do {
        trl__sent_links *s = &w->sent[p];
        if (s->count + arcs > s->capacity && TRL_GROW(s->links, s->capacity, s->count + (size_t)arcs) < 0)
            return w->code = trl__fail_memory(&w->err);
        ends[p] = s->links + s->count;
    } while (++p < parts);
    return 0;
}

static int try_block(const trial *t, int worker, uint32_t begin, uint32_t end)
{
    trl__search_worker *w = &t->decoder->workers[worker];
    source sources[BLOCK];
    trl__link *ends[2 * TRL__TEAM_MOST];
    uint64_t arcs;
    uint32_t count = find_sources(t, begin, end, sources, &arcs);
    const float *sounds = NULL;
    if (make_room(w, t->parts, arcs + 1, ends) < 0)
        return w->code;
    if (t->group->cells && !(sounds = sounds_of(t, worker, sources, count, arcs)))
        return w->code;
    float known = trl__smaller(w->best, atomic_load_explicit(&t->decoder->best_tried, memory_order_relaxed));
    float best = sounds          ? try_sources(t, sources, count, sounds, ends, t->parts, known)
                 : t->parts == 1 ? try_sources(t, sources, count, NULL, ends, 1, known)
                                 : try_sources(t, sources, count, NULL, ends, t->parts, known);
    w->best = best;
    if (best < known)
        atomic_store_explicit(&t->decoder->best_tried, best, memory_order_relaxed); /* a worse one may win: no harm */
    for (uint32_t p = 0; p < t->parts; p++)
        w->sent[p].count = (size_t)(ends[p] - w->sent[p].links);
    return 0;
}

static void try_tokens(void *user, int32_t item, int worker)
{
    const trial *t = user;
    double start = trl__clock(t->decoder);
    uint32_t begin = (uint32_t)item * t->at_once, end = t->count - begin < t->at_once ? t->count : begin + t->at_once;
    for (int code = t->decoder->workers[worker].code; code == 0 && begin < end; begin += BLOCK)
        code = try_block(t, worker, begin, end - begin < BLOCK ? end : begin + BLOCK);
    trl__count_seconds(t->decoder, worker, TRL__EXPANSION, start);
}

/* ---- all of them ---- */

/* The least cost that the best token leads to. It is seldom far from the least of all, so that few links are tried in vain. */
static float guess_best(const trial *t, const trl__cutoff *c)
{
    const trl_graph *g = t->decoder->graph;
    float best = INFINITY;
    if (c->best_token == t->count || t->group->cells)
        return best;
    int32_t state = t->tokens[c->best_token].state;
    for (uint64_t i = g->emitting[state]; i < g->end[state]; i++)
        best = trl__smaller(arc_cost(t, 0, i, acoustic_cost(t, i)), best);
    return best;
}

int trl__decoder_expand(trl__decoder *d, trl__step *s, const trl__cutoff *c, trl__score_group *group, int32_t f,
                        uint32_t parts, trl_error *err)
{
    const trl_graph *g = d->graph;
    const trl__frame *before = &d->frames[d->frame_count - 2];
    size_t place = group->window ? (size_t)f % group->window : (size_t)f;
    trial t = {.decoder = d,
               .group = group,
               .tokens = d->tokens + before->first_token,
               .count = before->tokens,
               .arcs = g->arcs,
               .tied = g->tied,
               .scores = group->cells ? NULL : group->scores + place * group->step,
               .stride = group->stride,
               .scale = d->scale,
               .beam = s->beam,
               .from_limit = c->limit,
               .from_best = c->best,
               .parts = parts,
               .at_once = d->is_shared ? trl__tokens_at_once(d, before->tokens) : before->tokens};
    float best = guess_best(&t, c);
    atomic_store_explicit(&d->best_tried, best, memory_order_relaxed);
    for (int i = 0; i < d->worker_count; i++) {
        d->workers[i].best = best;
        for (uint32_t p = 0; p < d->part_count; p++)
            d->workers[i].sent[p].count = 0;
    }
    if (d->is_shared)
        trl__team_for(d->team, (int32_t)((t.count + t.at_once - 1) / t.at_once), try_tokens, &t);
    else
        try_tokens(&t, 0, 0);
    for (int i = 0; i < d->worker_count; i++)
        best = trl__smaller(best, d->workers[i].best);
    trl__step_draw_in(s, best);
    return trl__workers_failure(d, err);
}
