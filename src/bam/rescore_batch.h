/* What all hypotheses of an utterance have in common ([001] III-B): each state that some alignment passes through, once, and each M-phone that may be asked for, once.
 *
 *     trl__batch_begin(&batch, order);
 *     trl__batch_add(&batch, key, first, end, tied, &segment, err);    // of every hypothesis: many are the same
 *     trl__batch_fetch(&batch, lookup, err);                            // one request
 *     trl__batch_score(&batch, &scorer, frames, parameters, err);       // one for the first-pass model, one for the M-phones' mixtures
 *
 * Cost: frames of distinct segments times the Gaussians of their mixtures; hypotheses of a list differ in few words, so that ten cost about twice as much as one.
 */
#ifndef TRL_BAM_RESCORE_BATCH_H
#define TRL_BAM_RESCORE_BATCH_H

#include "backend/backend.h"
#include "bam/lookup.h"
#include "base/hash_map.h"
#include "base/memory.h"

/* An M-phone, and the one that it backs off to; -1: none. */
typedef struct trl__batch_key {
    const unsigned char *bytes;
    int32_t next;
    int32_t mixture; /* which of those that segments use; -1: none does */
} trl__batch_key;

typedef enum trl__batch_outcome { TRL__BATCH_FOUND, TRL__BATCH_FIRST_PASS, TRL__BATCH_LOST } trl__batch_outcome;

typedef struct trl__batch_segment {
    int32_t key;        /* its longest M-phone … */
    int32_t found;      /* … and the longest that the store has; -1: none, or it is not known */
    int32_t first, end; /* frames */
    int32_t tied;       /* of the first-pass model */
    trl__batch_outcome outcome;
    double again,
        bam; /* log-likelihoods of its frames: by the first-pass model, and by what the store has, else by that model */
} trl__batch_segment;

/* Memory is reused from utterance to utterance; initialise with {0}. */
typedef struct trl__batch {
    int order;
    trl__arena arena; /* of the maps' keys */
    trl__map segment_index, key_index;
    trl__batch_segment *segments;
    trl__batch_key *keys;
    size_t segment_count, segment_capacity, key_count, key_capacity;
    unsigned char *request; /* keys one behind the other */
    trl__lookup_result *results;
    size_t request_capacity, result_capacity;
} trl__batch;

void trl__batch_begin(trl__batch *batch, int order);
void trl__batch_free(trl__batch *batch);

int trl__batch_add(trl__batch *batch, const unsigned char *key, int32_t first, int32_t end, int32_t tied,
                   int32_t *segment, trl_error *err);

/* Finds the longest M-phone of every segment. Where one is lost before any was found, the segment is: a shorter one may not be what the model has. */
int trl__batch_fetch(trl__batch *batch, trl__lookup *lookup, trl_error *err);

/* One per thread; initialise with {.device = …, .stream = …}, which stay the caller's. */
typedef struct trl__batch_scorer {
    trl__device *device;
    trl__stream *stream;
    trl__row *rows;
    float *scores;
    size_t row_capacity, score_capacity;
} trl__batch_scorer;

/* Fills `again` and `bam`. Without a fetch, or where nothing was found, both are the first-pass model's. */
int trl__batch_score(trl__batch *batch, trl__batch_scorer *scorer, const trl_matrix *frames,
                     const trl__parameters *first_pass, trl_error *err);
void trl__batch_scorer_free(trl__batch_scorer *scorer);

#endif
