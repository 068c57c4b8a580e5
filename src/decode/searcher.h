/* A search as the public options want it: a decoder, where its scores come from, and the threads of both. */
#ifndef TRL_DECODE_SEARCHER_H
#define TRL_DECODE_SEARCHER_H

#include "decode/scorer.h"

#include <trellis/decode.h>

typedef struct trl__searcher {
    trl__team *team; /* NULL: one thread */
    trl__scorer *scorer;
    trl__decoder *decoder;
    double seconds; /* of searches, where they are timed */
    int is_timed;
} trl__searcher;

/* shift: seconds from frame to frame. Free it, whatever comes back. */
int trl__searcher_create(trl__searcher *searcher, trl__device *device, const trl_model *model, const trl_graph *graph,
                         const trl__decode_options *search, const trl_decode_options *options, double shift,
                         trl_error *err);
void trl__searcher_free(trl__searcher *searcher);

/* Advances the decoder by all frames that the scorer has. */
int trl__searcher_run(trl__searcher *searcher, trl_error *err);
int trl__searcher_finish(trl__searcher *searcher, const trl__raw_lattice **raw, trl_error *err);

void trl__searcher_add_profile(const trl__searcher *searcher, trl_decode_profile *sum);

#endif
