/* Composition while searching: a graph that holds all words at any time (the loop), and an n-gram model beside it (ngram_rows.h), as one graph of which only what the
 * search visits is made.
 *
 *     trl__lazy_graph_create(graph, limit, &lazy, err);            // one per search; memory is reused
 *     trl__lazy_graph_begin(lazy, err);                            // an utterance: what is known stays, up to the limit
 *     trl__lazy_graph_want(lazy, state, err);                      // some states' arcs, ahead of the frame that they read
 *     trl__lazy_graph_expand(lazy, err);                           // all of these
 *     const trl_graph *g = trl__lazy_graph_view(lazy);             // arrays as of any graph; they move when it grows
 *
 * A state is (state of the loop, history). With a state those are expanded that it leads to without reading and that lead on so themselves: following such arcs from an
 * expanded state never meets one that is not. The order of a state's arcs is the loop's, so a search does not depend on how states are numbered. */
#ifndef TRL_DECODE_LAZY_GRAPH_H
#define TRL_DECODE_LAZY_GRAPH_H

#include "decode/ngram_rows.h"

typedef struct trl__lazy_graph trl__lazy_graph;

/* limit: bytes above which it is emptied between utterances; a search may make room within one (decoder_lazy.c). The graph must outlive it. */
int trl__lazy_graph_create(const trl_graph *graph, size_t limit, trl__lazy_graph **out, trl_error *err);
void trl__lazy_graph_destroy(trl__lazy_graph *lazy);
int trl__lazy_graph_begin(trl__lazy_graph *lazy, trl_error *err);
int trl__lazy_graph_want(trl__lazy_graph *lazy, int32_t state, trl_error *err);
int trl__lazy_graph_expand(trl__lazy_graph *lazy, trl_error *err);
int trl__lazy_graph_is_expanded(const trl__lazy_graph *lazy, int32_t state);
int trl__lazy_graph_is_silent(const trl__lazy_graph *lazy,
                              int32_t state); /* it is not, and will have arcs that read nothing */
const trl_graph *trl__lazy_graph_view(const trl__lazy_graph *lazy);
const trl_graph *trl__lazy_graph_loop(const trl__lazy_graph *lazy);
int32_t trl__lazy_graph_loop_state(const trl__lazy_graph *lazy, int32_t state);

/* Does it take more memory than it should within an utterance? That is the limit, or more where that is too little for a search: until it is emptied. */
int trl__lazy_graph_is_full(const trl__lazy_graph *lazy);

/* An empty one over the same graph, to take over what is still needed. */
int trl__lazy_graph_like(const trl__lazy_graph *lazy, trl__lazy_graph **out, trl_error *err);

/* The state of another one over the same graph, with its arcs, in the same order, where it is expanded there; its number here, or an error. */
int32_t trl__lazy_graph_take_over(trl__lazy_graph *lazy, const trl__lazy_graph *other, int32_t state, trl_error *err);

/* What was taken over may be half of what it takes. */
void trl__lazy_graph_make_room(trl__lazy_graph *lazy);

#endif
