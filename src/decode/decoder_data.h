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
    uint32_t *asked, group; /* by graph state: `group` when its arcs' scores were asked for in this group of frames */
    size_t place_capacity, asked_capacity;
    uint32_t *waiting;      /* by level: the first token whose arcs that read nothing are still to be taken */
    uint32_t *next_waiting; /* by token of the frame */
    size_t waiting_capacity;

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

/* A graph that is made while searching (decoder_lazy.c): its beginning, and ahead of each frame what the tokens up to the limit lead to. */
int trl__decoder_begin_lazy(trl__decoder *decoder, trl_error *err);
int trl__decoder_expand(trl__decoder *decoder, const trl__cutoff *cutoff, trl_error *err);

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

/* The token of a frame that has the least cost. */
uint32_t trl__best_token(const trl__decoder *decoder, const trl__frame *frame);

/* Fills decoder->raw from what is left. */
int trl__decoder_collect(trl__decoder *decoder, trl_error *err);

#endif
