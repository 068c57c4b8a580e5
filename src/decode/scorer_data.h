/* What a scorer is made of. */
#ifndef TRL_DECODE_SCORER_DATA_H
#define TRL_DECODE_SCORER_DATA_H

#include "base/memory.h"
#include "decode/scorer.h"

#define TRL__SCORE_BLOCK 16                      /* frames that a tied state is scored for at a time */
#define TRL__SCORE_WINDOW (2 * TRL__SCORE_BLOCK) /* frames whose scores are kept */

#define TRL__SCORE_TRIALS 7 /* trials of each way that a choice is made by, behind one that warms up */

typedef struct trl__scorer_worker {
    trl__stream *stream; /* NULL: no device */
    uint64_t has;        /* the utterance whose frames the stream has */
    trl__row *rows;
    float *block; /* TRL__SCORE_BLOCK scores of each row */
    uint64_t made;
    double seconds; /* ahead */
    int code;       /* what went wrong where nobody had asked for it yet */
    trl_error err;
} trl__scorer_worker;

/* The buffer: chunks of frames, each in a slot; a chunk is made in pieces. Both are numbered from the utterance's first chunk on. */
typedef struct trl__ahead {
    float *scores; /* (slot * tied states + tied) * TRL__CHUNK + frame */
    size_t score_capacity;
    atomic_int *made; /* by slot: pieces */
    size_t slot_capacity;
    int32_t begin; /* the first frame */
    int32_t chunks, slots, pieces;
    int32_t chunk;               /* that the search waits for or works on */
    atomic_int_fast64_t next;    /* the piece to be made next */
    atomic_int used, has_failed; /* used: chunks whose slots are free again */
} trl__ahead;

struct trl__scorer {
    trl__device *device;
    int32_t tied_states;
    trl__scorer_options options;
    trl__team *team;
    trl__scorer_worker *workers;
    int worker_count;

    trl__score_maker maker;            /* make NULL: likelihoods from a matrix */
    const trl__parameters *parameters; /* of the maker that is ours */
    const trl_matrix *matrix;          /* frames, or likelihoods */
    int32_t frames;
    uint64_t utterance; /* counted */

    trl__score_group group; /* that was opened last */
    int32_t group_begin;
    float *scores; /* of a group: TRL__SCORE_WINDOW by tied state */
    uint32_t *until;
    trl__foreseen foreseen;
    atomic_uint_fast64_t *cells;
    uint32_t number;
    uint64_t all;

    int trials;                                         /* of all ways in turn */
    double seconds[TRL__SCORE_WAYS][TRL__SCORE_TRIALS]; /* per frame, of trials */
    int tried[TRL__SCORE_WAYS];
    trl__score_way way; /* in use */
    trl__ahead ahead;
    struct trl__filler *filler; /* made when it is first wanted */
};

double trl__scorer_clock(void);

/* Makes what the worker's rows say. */
int trl__scorer_make(trl__scorer *scorer, int worker, int32_t rows, float *scores, trl_error *err);

/* What a worker complained about, for once; nobody may be at work. 0: nothing. */
int trl__scorer_failure(trl__scorer *scorer, trl_error *err);

/* Advances the decoder by all frames from `begin` on, with scores that are made ahead (scorer_ahead.c). */
int trl__scorer_search_ahead(trl__scorer *scorer, trl__decoder *decoder, int32_t begin, trl_error *err);

/* The same with a buffer that a device fills (scorer_filler.c). */
int trl__scorer_search_filled(trl__scorer *scorer, trl__decoder *decoder, int32_t begin, trl_error *err);
void trl__filler_destroy(struct trl__filler *filler);

#endif
