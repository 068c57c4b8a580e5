/* What a decoder is made of.
 *
 * Tokens and links of all frames lie in two arrays, one frame behind the other. Frame t has what is alive after t frames of sound: its tokens, one
 * for each graph state, and the links that lead to them, first those from tokens of frame t - 1, then those from tokens of the frame itself,
 * by the level of their source. Tokens and links are numbered within their frame, so that older frames can shrink without those behind
 * them being rewritten.
 *
 * Costs are relative: those of frame t + 1 have the best cost of frame t taken off. So floats are exact enough for any length. */
#ifndef TRL_DECODE_DECODER_DATA_H
#define TRL_DECODE_DECODER_DATA_H

#include "base/memory.h"
#include "decode/decoder.h"
#include "decode/lazy_graph.h"

#include <float.h>
#include <math.h>
#include <time.h>

#define TRL__NO_LINK UINT32_MAX

typedef struct trl__token {
    int32_t state;
    float cost;
    float
        extra; /* of the best path through it, above the best path to the last frame, as of the last pruning; INFINITY: leads nowhere */
    uint32_t back; /* the link that gave its cost; TRL__NO_LINK: the path begins here */
} trl__token;

typedef struct trl__link {
    uint32_t from, to; /* tokens; to TRL__NO_LINK: pruned */
    uint32_t arc;      /* of the graph */
    float cost;        /* of the best way that ends with it, as the costs of its frame */
    float acoustic;    /* unscaled */
} trl__link;

typedef struct trl__frame {
    size_t first_token, first_link;
    uint32_t tokens, links, emitting; /* the first `emitting` links come from the frame before */
} trl__frame;

typedef struct trl__place_of_state {
    uint32_t stamp, token; /* token of the current frame when the stamp is the decoder's */
} trl__place_of_state;

/* Links on their way to the states that they lead to: `to` is a state, with WRITES where the arc has a word. */
#define TRL__WRITES 0x80000000u
typedef struct trl__sent_links {
    trl__link *links;
    size_t count, capacity;
} trl__sent_links;

/* Tokens and links in the making, of one part of the states. */
typedef struct trl__part {
    trl__token *tokens;
    trl__link *links;
    size_t token_capacity, link_capacity;
    uint32_t count, kept;             /* tokens, links */
    uint32_t first_token, first_link; /* where they begin in the frame */
    uint32_t queued;                  /* tokens with arcs that read nothing */
    trl__place_of_state *place;       /* of a worker that merges: its own; else NULL */
    size_t place_capacity;
} trl__part;

/* What belongs to one thread of those that search. */
typedef struct trl__search_worker {
    trl__sent_links *sent; /* by part */
    float best;            /* the least cost that it tried */
    uint32_t inner;        /* links that read nothing that it tried */
    trl__scratch sounds;   /* acoustic costs of a few tokens' arcs */
    uint64_t twice;
    double seconds[TRL__WORKS];
    int code; /* what went wrong */
    trl_error err;
} trl__search_worker;

/* A frame in the making: its limits. */
typedef struct trl__step {
    float best, limit, word_limit; /* tokens above the limit are not made, nor by an arc with a word above the other */
    float beam, word_beam;
} trl__step;

typedef struct trl__cutoff {
    float best, limit;   /* of a frame's tokens: those up to the limit go on */
    uint32_t best_token; /* the first of the best */
    float beam;          /* for the next frame's */
} trl__cutoff;

struct trl__decoder {
    const trl_graph *graph; /* where it is made while searching, what there is of it */
    trl__lazy_graph *lazy;  /* NULL: it is complete */
    trl__decode_options options;
    float scale, lattice_limit;
    int32_t tied; /* states of the model that the graph knows */
    int is_finished;
    float best_end; /* after finish: cost of the best end */

    trl__frame *frames; /* frame_count, at least one after begin */
    size_t frame_count, frame_capacity;
    trl__token *tokens;
    size_t token_count, token_capacity;
    trl__link *links;
    size_t link_count, link_capacity;
    size_t pruned;     /* frames below this have been pruned once */
    int64_t settled;   /* frames before the first that is kept */
    uint32_t lone_end; /* while a piece is collected: the token of its last frame that ends it; else TRL__NO_LINK */

    trl__place_of_state *place; /* by graph state */
    uint32_t stamp;
    uint32_t *
        asked; /* by graph state: its arcs' scores were asked for in frames below this one, counted since the decoder was made … */
    uint32_t group_begin, group_end; /* … as are these, of the group that is searched */
    size_t place_capacity, asked_capacity;
    int32_t *wanted, wanted_count; /* tied states whose scores are asked for in the frame */
    uint32_t *waiting;      /* by part and level: the first token whose arcs that read nothing are still to be taken */
    uint32_t *next_waiting; /* by token of the frame */
    size_t waiting_capacity;
    atomic_uint reached; /* tokens of the frame, while such arcs are taken */

    trl__team *team; /* NULL: one thread */
    trl__search_worker *workers;
    int worker_count;
    trl__part *parts;
    uint32_t part_count;
    int is_shared;            /* the frame in the making, by threads */
    _Atomic float best_tried; /* by any thread */

    trl__scratch costs, fresh, numbers, order;
    int32_t *words; /* partial result */
    size_t word_capacity;
    trl__raw_lattice raw;
    size_t state_capacity, final_capacity, time_capacity, arc_capacity;
    trl__decoder_counts counts;
};

static inline float trl__smaller(float a, float b)
{
    return a < b ? a : b;
}

static inline void trl__step_draw_in(trl__step *s, float cost)
{
    if (cost < s->best) {
        s->best = cost;
        s->limit = trl__smaller(cost + s->beam, FLT_MAX);
        s->word_limit = trl__smaller(cost + s->word_beam, FLT_MAX);
    }
}

/* The part of a state that links lead to. Neighbours in the array of places have the same, and so never two threads a cache line of it. */
static inline uint32_t trl__part_of(uint32_t state, uint32_t parts)
{
    uint32_t mixed = (state >> 6) * 0x9E3779B1u;
    return (uint32_t)((uint64_t)mixed * parts >> 32);
}

/* Of two equally good ways from the same frame to a token, the one that the lattice has first: it has sources by level and the graph's order of states, and the arcs of
 * each as the graph has them. So the choice does not depend on who came first. */
static inline int trl__precedes(const trl_graph *g, const trl__token *sources, const trl__link *a, const trl__link *b)
{
    int32_t state = sources[a->from].state, other = sources[b->from].state;
    if (state == other)
        return a->arc < b->arc;
    return g->level[state] != g->level[other] ? g->level[state] < g->level[other]
                                              : trl__state_order(g, state) < trl__state_order(g, other);
}

/* A clock for one kind of work of a worker; 0 where nothing is timed. */
static inline double trl__clock(const trl__decoder *d)
{
    if (!d->options.is_timed)
        return 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void trl__count_seconds(trl__decoder *d, int worker, trl__decoder_work kind, double start)
{
    if (d->options.is_timed)
        d->workers[worker].seconds[kind] += trl__clock(d) - start;
}

/* The first failure of any worker; 0: none. */
int trl__workers_failure(trl__decoder *decoder, trl_error *err);

/* Room for so many more tokens and links. */
int trl__decoder_reserve(trl__decoder *decoder, uint64_t tokens, uint64_t links, trl_error *err);

/* The last frame's tokens and links are those at the end of the arrays. */
void trl__decoder_close_counts(trl__decoder *decoder);

/* How many tokens a thread takes at a time: few enough for all to have some, many enough to be worth it. */
static inline uint32_t trl__tokens_at_once(const trl__decoder *d, uint32_t tokens)
{
    uint32_t share = tokens / (4 * (uint32_t)d->worker_count) + 1;
    return share < 256 ? share : 256;
}

/* Makes the scores that the arcs of the tokens within the limit need, for frame f of the group (decoder_scores.c). */
int trl__decoder_ask(trl__decoder *decoder, const trl__cutoff *cutoff, trl__score_group *group, int32_t f,
                     trl_error *err);

/* Lists what the frame's tokens that will go on, as far as can be told before all are there, will ask for in frame f of the group, or some frames later. O(tokens). */
int trl__decoder_foresee(trl__decoder *decoder, trl__score_group *group, int32_t f, trl_error *err);

/* Tries all arcs that read frame f of the group, of all tokens that go on, by one thread or all: what may be within the beam is sent to the `parts` it leads to.
 * The step learns the best cost (decoder_expand.c). */
int trl__decoder_expand(trl__decoder *decoder, trl__step *step, const trl__cutoff *cutoff, trl__score_group *group,
                        int32_t f, uint32_t parts, trl_error *err);

/* What was sent becomes the last frame's tokens and links: by one thread, part by part, or as [004] 3.1 has it (decoder_reach.c). */
int trl__decoder_reach(trl__decoder *decoder, const trl__step *step, trl_error *err);
int trl__decoder_reach_parts(trl__decoder *decoder, const trl__step *step, trl_error *err);
int trl__decoder_reach_merging(trl__decoder *decoder, const trl__step *step, trl_error *err);

/* Arcs of the last frame that read nothing, level by level (decoder_follow.c). is_queued: the parts' lists have the tokens with such arcs. */
int trl__decoder_follow(trl__decoder *decoder, trl__step *step, int is_queued, trl_error *err);

/* Puts a token on a part's list of its level, if it has such arcs; returns 1 then. */
static inline uint32_t trl__decoder_queue(trl__decoder *d, uint32_t part, uint32_t k, int32_t state)
{
    const trl_graph *g = d->graph;
    if (g->first[state] == g->emitting[state])
        return 0;
    uint32_t *head = &d->waiting[(size_t)part * (size_t)g->levels + (size_t)g->level[state]];
    d->next_waiting[k] = *head;
    *head = k;
    return 1;
}

/* A graph that is made while searching (decoder_lazy.c): its beginning; ahead of each frame, what the tokens up to the limit lead to; and what those that the frame
 * has reached lead to without reading. */
int trl__decoder_begin_lazy(trl__decoder *decoder, trl_error *err);
int trl__decoder_make_arcs(trl__decoder *decoder, const trl__cutoff *cutoff, trl_error *err);
int trl__decoder_make_silent_arcs(trl__decoder *decoder, trl_error *err);

int trl__decoder_cutoff(trl__decoder *decoder, const trl__frame *frame, trl__cutoff *cutoff, trl_error *err);

/* What ending at a token of the last frame costs above the best end. */
static inline float trl__end_extra(const trl__decoder *d, const trl__token *token)
{
    return token->cost + (d->raw.reached_end ? d->graph->final[token->state] : 0) - d->best_end;
}

/* Drops what is further than the lattice beam behind the best way to any token of the last frame; with `to_end`, to the end, as the extra
 * costs of the last frame say. */
int trl__decoder_prune(trl__decoder *decoder, int to_end, trl_error *err);

/* Moves together what is left from frame `first` on: tokens whose extra cost is finite, links that lead somewhere. */
int trl__decoder_compact(trl__decoder *decoder, size_t first, trl_error *err);

/* Whether a token of a frame is better than another; of equals, the one that the lattice has first. */
int trl__token_precedes(const trl__decoder *decoder, const trl__token *a, const trl__token *b);

/* The token of a frame that has the least cost. */
uint32_t trl__best_token(const trl__decoder *decoder, const trl__frame *frame);

/* Fills decoder->raw from what is left. */
int trl__decoder_collect(trl__decoder *decoder, trl_error *err);

#endif
