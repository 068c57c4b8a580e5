/* Log-likelihoods for a search, of a model or from a matrix.
 *
 *     trl__scorer_create(device, tied_states, &scorer, err);                   // one per decoder
 *     trl__scorer_share(scorer, team, &options, err);                          // if the decoder has a team, or for another way
 *     trl__scorer_begin(scorer, parameters, frames, err);                      // a model on the device …
 *     trl__scorer_begin_likelihoods(scorer, matrix);                           // … or a matrix: a column per tied state
 *     trl__scorer_search(scorer, decoder, err);                                // all of these frames through the search
 *
 * There are three ways to the scores of a model. They give the same bits, so the search finds the same:
 *
 *   block    tied states that the search asks for, in 16 frames from the one on where it does: long enough for the kernels to work well, and so short that
 *            most of what is made is used. With a team, threads that have nothing to search make blocks before they are asked for (foreseen.h).
 *   demand   one tied state in one frame when an arc wants it, kept for the others ([004] 3.1): the fewest scores, and each of them dear.
 *   ahead    all tied states, chunk by chunk into a buffer, by threads that have nothing to search ([004] 4.1). The makers wait where the buffer is full, and the
 *            search, where it is empty, makes scores itself. A device does it by a thread of its own (scorer_filler.c).
 */
#ifndef TRL_DECODE_SCORER_H
#define TRL_DECODE_SCORER_H

#include "backend/backend.h"
#include "decode/decoder.h"

typedef struct trl__scorer trl__scorer;

typedef enum trl__score_way {
    TRL__SCORES_BLOCK,
    TRL__SCORES_DEMAND,
    TRL__SCORES_AHEAD,
    TRL__SCORES_AUTO, /* the first frames try all three; then the quickest */
    TRL__SCORE_WAYS = TRL__SCORES_AUTO
} trl__score_way;

typedef struct trl__scorer_options {
    trl__score_way way;
    int32_t ahead; /* frames that the buffer holds, at least; default 1000 */
    int is_timed;
    int is_filled; /* 1: ways ahead and auto: a device fills the buffer, by a thread of its own */
} trl__scorer_options;

/* Who makes scores. */
typedef struct trl__score_maker {
    /* Scores of all rows, into scores[row.offset …]. Called by any worker of the team, by each one at a time. */
    int (*make)(void *user, int worker, const trl__row *rows, int32_t count, float *scores, trl_error *err);
    void *user;
    int by_frame; /* 1: scores of one frame have most of their work in common */
    int32_t
        gaussians; /* that a tied state's score takes, on average; what a thread takes from a list at a time depends on it */
} trl__score_maker;

/* device: NULL where there will be matrices or other makers only. */
int trl__scorer_create(trl__device *device, int32_t tied_states, trl__scorer **out, trl_error *err);
void trl__scorer_destroy(trl__scorer *scorer);

/* The decoder's team, which must outlive the scorer; NULL: one thread. options NULL: block. */
int trl__scorer_share(trl__scorer *scorer, trl__team *team, const trl__scorer_options *options, trl_error *err);
trl__scorer_options trl__scorer_defaults(void);

/* Frames, matrix, parameters and maker must stay as they are until the utterance is done. TRL_ENUMBER: a value is not finite. */
int trl__scorer_begin(trl__scorer *scorer, const trl__parameters *parameters, const trl_matrix *frames, trl_error *err);
void trl__scorer_begin_likelihoods(trl__scorer *scorer, const trl_matrix *likelihoods);
void trl__scorer_begin_making(trl__scorer *scorer, const trl__score_maker *maker, int32_t frames);

/* All frames from `begin` on, as a group for the decoder, in blocks, valid until the next call; nothing is foreseen. A matrix has all scores. */
void trl__scorer_open(trl__scorer *scorer, int32_t begin, trl__score_group **group);

/* Advances the decoder by all frames. */
int trl__scorer_search(trl__scorer *scorer, trl__decoder *decoder, trl_error *err);

/* What was made since the scorer was. */
typedef struct trl__scorer_counts {
    uint64_t all, made;   /* scores: tied states x frames; those that were made */
    double ahead_seconds; /* of all threads, for scores that nobody had asked for yet; where it is timed */
    trl__score_way way;   /* the one in use; TRL__SCORES_AUTO: not decided */
} trl__scorer_counts;
trl__scorer_counts trl__scorer_count(const trl__scorer *scorer);

#endif
