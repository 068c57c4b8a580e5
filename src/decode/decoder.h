/* Search: frame after frame through a graph, keeping what is within a beam of the best, with links for the lattice.
 *
 *     trl__decoder_create(graph, &options, &decoder, err);                      // one per utterance at a time; memory is reused
 *     trl__decoder_share(decoder, team, err);                                   // if several threads are to search: the same result
 *     trl__decoder_begin(decoder, err);
 *     while (…) trl__decoder_advance(decoder, scores, frames, stride, err);     // however many at a time: the same result …
 *     while (…) trl__decoder_advance_group(decoder, group, err);                // … or scores that are made when they are needed
 *     trl__decoder_partial(decoder, 0, &words, &count, err);                    // the best words so far
 *     trl__decoder_settle(decoder, 3000, &piece, &is_forced, err);              // lets go of what can't change any more
 *     trl__decoder_finish(decoder, &raw, err);                                  // the pruned raw lattice, the decoder's until the next begin
 */
#ifndef TRL_DECODE_DECODER_H
#define TRL_DECODE_DECODER_H

#include "base/team.h"
#include "decode/foreseen.h"
#include "decode/graph_data.h"

#include <stdatomic.h>

typedef struct trl__decode_options {
    double beam;            /* cost above the best token of a frame; default 13 */
    double lattice_beam;    /* cost above the best path; 0: only paths as good as the best; default 6 */
    int32_t most_active;    /* tokens of a frame; default 7000 */
    int32_t least_active;   /* default 200 */
    double word_beam;       /* of arcs that write a word; default: as beam, with which the smaller counts */
    double acoustic_scale;  /* default 0.1 */
    int32_t prune_interval; /* frames between prunings of the lattice; default 50 */
    int32_t least_shared;   /* tokens of a frame that are worth more than one thread; default 800 */
    int merges;             /* 1: threads merge by turns, see decoder_reach.c; default 0 */
    int is_timed;           /* 1: trl__decoder_count tells where the time went; default 0 */
    size_t lazy_bytes;      /* of a graph that is made while searching (lazy_graph.h); default 64 MiB */
} trl__decode_options;

typedef struct trl__decoder trl__decoder;

/* The raw lattice: states are (frame, graph state), arcs as in the graph with their costs; pruned by lattice_beam. No state: the search found no
 * way through all frames. */
typedef struct trl__raw_arc {
    int32_t next;
    int32_t transition, word;
    float graph, acoustic; /* acoustic: negative log-likelihood, unscaled */
} trl__raw_arc;

typedef struct trl__raw_lattice {
    int32_t states, frames;
    uint32_t *first; /* states + 1; states in topological order, 0 the start */
    trl__raw_arc *arcs;
    float *
        final; /* by state: graph cost; INFINITY: none. Where no end of the graph was reached, every state of the last frame ends at cost 0 */
    int32_t *time;   /* by state: frames before it */
    int reached_end; /* 0: the sound ended in the middle of what the graph has */
} trl__raw_lattice;

trl__decode_options trl__decode_defaults(void);
int trl__decode_options_check(const trl__decode_options *options, trl_error *err);

int trl__decoder_create(const trl_graph *graph, const trl__decode_options *options, trl__decoder **out, trl_error *err);
void trl__decoder_destroy(trl__decoder *decoder);
int trl__decoder_begin(trl__decoder *decoder, trl_error *err);

/* scores[tied * stride + f]: log-likelihood of frame f of this call, natural logarithm, for every tied state of the graph; -INFINITY: impossible.
 * TRL_ENUMBER: one is NaN or infinite; the utterance can't go on then. */
int trl__decoder_advance(trl__decoder *decoder, const float *scores, int32_t frames, size_t stride, trl_error *err);

/* Scores of some frames, of which most may still have to be made: the search asks for the tied states that it needs in a frame. With `until`, each is asked for once in a block of
 * frames, which begins where it is needed; with cells, which are of one frame, whichever thread needs one makes it, and two may do so at the same time. */
typedef struct trl__score_group trl__score_group;
struct trl__score_group {
    int32_t frames;
    const float
        *scores; /* of tied state s in frame f: scores[s * stride + f * step], with a window f % window instead of f */
    size_t stride, step, window;
    int are_finite; /* 1: scores need not be looked through for wrong numbers */
    int by_frame;   /* 1: threads that make scores share out frames, not tied states */
    int32_t block;  /* frames; where threads share out frames, a block ends at a multiple of it */
    uint32_t
        *until; /* by tied state: it was asked for in frames below this one; NULL: all scores are there, or cells */
    atomic_uint_fast64_t *
        cells; /* by tied state: number << 32 | the bits of its score once that is there, or is being made; NULL: until */
    uint32_t number;
    trl__foreseen *
        foreseen; /* is told which blocks will be wanted, and has them made; with `until`; NULL: nobody wants to know */
    /* Makes the scores of these tied states, each named once, in frames [first, end) of the group, no more than
     * `block` of them. Any worker of the decoder's team may call it, at the same time as others. TRL_EINVAL: there is
     * no room for so many, or there are no such frames or tied states. */
    int (*fill)(trl__score_group *group, int worker, int32_t first, int32_t end, const int32_t *wanted, int32_t count,
                trl_error *err);
    /* The same for one tied state in the only frame of a group with cells. */
    int (*make)(trl__score_group *group, int worker, int32_t tied, float *score, trl_error *err);
    /* Makes blocks that were taken from what is foreseen, as far as nobody has lost patience. next: the tied state that may come behind them, so that its parameters come from memory meanwhile; -1: none. */
    void (*make_blocks)(trl__score_group *group, int worker, const trl__taken_block *taken, int32_t count,
                        int32_t next);
    void *user; /* of all three */
};

/* The frame behind a block of scores that begins with frame f. */
static inline int32_t trl__block_end(const trl__score_group *group, int32_t f)
{
    int32_t end = (group->by_frame ? f / group->block * group->block : f) + group->block;
    return end < group->frames ? end : group->frames;
}

/* As trl__decoder_advance. */
int trl__decoder_advance_group(trl__decoder *decoder, trl__score_group *group, trl_error *err);

/* The words of the best token (settled = 0), or those that all tokens of the last frame have in common, which will not change any more
 * (settled = 1); valid until the next call. */
int trl__decoder_partial(trl__decoder *decoder, int settled, const int32_t **words, size_t *count, trl_error *err);

/* The transitions of the best token's way, the last one first, `most` at most; returns how many. 0: no way is left, or none has been gone. */
size_t trl__decoder_recent(const trl__decoder *decoder, int32_t *transitions, size_t most);
int trl__decoder_is_alive(const trl__decoder *decoder); /* 0: no way is left */

/* What all ways of today have in common, up to the last frame where they meet, comes back as a raw lattice of its own, whose only end is there, at
 * cost 0. The decoder forgets it, and goes on as if it had not. *piece: the decoder's until the next call of it or of finish; NULL: nothing is settled. Where more than
 * `most` frames would be kept, half of them are settled by force, along the best way of the moment on which words can still come: *is_forced, and from there on the search may find
 * other words than it would have.
 *
 * The words of all pieces and of what finish returns, each found by trl__best_words_find, are those of the whole lattice. */
int trl__decoder_settle(trl__decoder *decoder, int32_t most, const trl__raw_lattice **piece, int *is_forced,
                        trl_error *err);
int64_t trl__decoder_settled(const trl__decoder *decoder); /* frames of this utterance that were let go */

/* All that is left within lattice_beam of the best path. Nothing can be added after it. */
int trl__decoder_finish(trl__decoder *decoder, const trl__raw_lattice **raw, trl_error *err);

/* Several threads search one utterance at a time: the same lattice, byte by byte. The team must outlive the decoder, and nobody else may use it while the decoder
 * works. NULL: the caller alone. TRL_ENOMEM. */
int trl__decoder_share(trl__decoder *decoder, trl__team *team, trl_error *err);

/* What the time of the search goes into. */
typedef enum trl__decoder_work {
    TRL__EXPANSION,   /* arcs are tried */
    TRL__MERGING,     /* what they reach becomes tokens and links */
    TRL__PRUNING,     /* limits of a frame, the lattice behind */
    TRL__LIKELIHOODS, /* scores that the search asked for */
    TRL__COMPOSITION, /* arcs of a graph that is made while searching */
    TRL__WORKS
} trl__decoder_work;

/* How much was searched since the decoder was made. */
typedef struct trl__decoder_counts {
    uint64_t frames, tokens, links; /* tokens: made; links: before pruning */
    uint64_t shared_frames;         /* by more than one thread */
    uint64_t scores_twice;          /* that two threads made at the same time */
    double seconds[TRL__WORKS];     /* of all threads together, where options.is_timed */
} trl__decoder_counts;
trl__decoder_counts trl__decoder_count(const trl__decoder *decoder);

#endif
