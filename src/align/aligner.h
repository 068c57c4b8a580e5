/* The aligner: finds the best path of an utterance through its graph, by one banded search.
 *
 *     trl__aligner_create(device, &aligner, err);                          // one per thread
 *     trl__aligner_begin(aligner, parameters, frames, &graph, err);        // step 0
 *     trl__aligner_search(aligner, &options, previous, previous_runs, &result, err);     // steps 1, 2a, 2b
 *     trl__aligner_accumulate(aligner, local, err);                        // step 3
 *
 * Where the search looks:
 *   full     every node at every frame;
 *   margin   node n from its first frame in the previous alignment - margin to its last + margin ([000] 3.1.5),
 *            whichever copy of its phone was visited. A state the previous path did not visit takes the range of its
 *            slot: the frames of the word, or the boundary where a silence was left out.
 *   auto     the same with a small margin, but at least as far as TRL__NEIGHBOURS runs of the previous path reach: next to a long
 *            state, which may have swallowed what belongs to others, the band is long too. Afterwards the path must keep
 *            TRL__GUARD frames from the edge of the band of every node it visits (edges of the utterance don't count),
 *            else margin and neighbours are doubled for this utterance and the search is done again.
 *   beam     for a first alignment: tiles of frames one after the other; after each only the nodes within `beam` of the
 *            best stay, and those they can reach within the next tile. No path at the end: done again with a wider
 *            beam, then in full. Memory: back-pointers of the nodes that were alive, so an hour of sound works.
 */
#ifndef TRL_ALIGN_ALIGNER_H
#define TRL_ALIGN_ALIGNER_H

#include "align/utterance_graph.h"
#include "backend/backend.h"

#include <trellis/align.h>

#define TRL__GUARD 2      /* frames */
#define TRL__NEIGHBOURS 3 /* runs of the previous path */

typedef struct trl__aligner trl__aligner;

/* A node and how many frames the path stays there. */
typedef struct trl__run {
    int32_t node, frames;
} trl__run;

typedef struct trl__search_options {
    int margin; /* frames; TRL_MARGIN_AUTO, TRL_MARGIN_FULL (align.h). Without a previous path: a beam, unless FULL */
    int auto_margin; /* where auto starts */
    double beam;     /* log score; doubled twice when no path is found, then in full */
    trl__combine combine;
    int accumulates; /* the path's statistics are wanted afterwards */
    int shares;      /* in them, components share frames (backend.h) */
} trl__search_options;

typedef enum trl__search_status {
    TRL__ALIGNED,
    TRL__TOO_SHORT, /* fewer frames than the shortest path has states */
    TRL__NO_PATH,   /* every path has probability zero, even in full */
    TRL__TOO_LARGE  /* no path within the widest beam, and the full search would take more than 4 GiB */
} trl__search_status;

typedef struct trl__search_result {
    trl__search_status status;
    double log_likelihood;
    int32_t redone;       /* how often it had to be widened */
    int32_t last_margin;  /* that was enough; -1: full or beam */
    const trl__run *runs; /* of the path; until the next call */
    size_t run_count;
} trl__search_result;

/* Seconds of the calling thread's clock, summed up over calls. */
typedef struct trl__step_times {
    double load, score, alpha, backtrack, accumulate;
    double gaussians; /* frames x components that step 1 was asked for */
} trl__step_times;

/* Seconds of the running thread's processor time since *start, which is set to now. */
double trl__lap(double *start);
double trl__now(void);

int trl__aligner_create(trl__device *device, trl__aligner **out, trl_error *err);
/* One that shares the stream of another, for utterances of the same batch; it goes before the other. */
int trl__aligner_create_beside(trl__aligner *first, trl__aligner **out, trl_error *err);
void trl__aligner_destroy(trl__aligner *aligner);
const trl__device_info *trl__aligner_device(const trl__aligner *aligner); /* that it works on */
trl__step_times *trl__aligner_times(trl__aligner *aligner);               /* the caller may reset it */

/* frames and graph must live until the last call for this utterance. */
int trl__aligner_begin(trl__aligner *aligner, const trl__parameters *parameters, const trl_matrix *frames,
                       const trl__graph *graph, trl_error *err);
/* The same, but the frames are sent when they are needed, or with a batch. */
int trl__aligner_prepare(trl__aligner *aligner, const trl__parameters *parameters, const trl_matrix *frames,
                         const trl__graph *graph, trl_error *err);
/* The same with log-likelihoods from elsewhere, a column per tied state, times `scale`. Nothing can be accumulated. */
int trl__aligner_begin_likelihoods(trl__aligner *aligner, const trl_matrix *likelihoods, double scale,
                                   const trl__graph *graph, trl_error *err);

int trl__aligner_search(trl__aligner *aligner, const trl__search_options *options, const trl__run *previous,
                        size_t previous_runs, trl__search_result *result, trl_error *err);

/* The path in hand without a search (equal alignment, or one that was stored). */
int trl__aligner_set_path(trl__aligner *aligner, const trl__run *runs, size_t count, trl_error *err);
int trl__aligner_equal_path(trl__aligner *aligner, trl__search_result *result, trl_error *err);

const int32_t *trl__aligner_path(const trl__aligner *aligner, const int32_t **path_arc,
                                 int32_t *last_arc); /* by frame */

/* From now on statistics of Gaussians are those of a sample of the frames: sample[j] is the probability that a frame of
 * tied state j counts, NULL: each does (trl__sample_shares makes it). The array must live as long as statistics are
 * gathered. `seed` is the utterance's: give each another one, and the same in every iteration, then the sample is the
 * same as long as the alignment is. Transitions and totals have all frames. */
void trl__aligner_sample(trl__aligner *aligner, const float *sample, uint64_t seed);

/* Step 3 for the path in hand; *joint is its score with the best component of every frame. */
int trl__aligner_accumulate(trl__aligner *aligner, trl__local_stats *local, double *joint, trl_error *err);

typedef struct trl__posterior_options {
    int margin;              /* frames around the path in hand; TRL_MARGIN_FULL: everywhere */
    double acoustic_scale;   /* of the scores; 1 for Baum-Welch */
    trl__local_stats *local; /* gets Baum-Welch's statistics; NULL: not wanted */
    float *slot, *phone; /* by frame: posterior of the slot, and of the phone, that the path is in; NULL: not wanted */
} trl__posterior_options;

/* Forward-backward. *log_likelihood (may be NULL) becomes that of all paths; -inf: there is none, and nothing was
 * added. Long utterances without `local` are done in overlapping pieces of half a minute, so that memory does not grow
 * with them: paths are then held to the one in hand 2 s outside each piece, and log_likelihood is NaN. */
int trl__aligner_posteriors(trl__aligner *aligner, const trl__posterior_options *options, double *log_likelihood,
                            trl_error *err);

/* ---- several utterances at once, for devices that like batches ----
 *
 *     trl__aligner_prepare(items[i].aligner, …);                    // aligners beside each other
 *     trl__aligners_send(items, count, err);                        // step 0
 *     trl__aligners_send_ahead(next, count_of_next);                // step 0 of those that come next, meanwhile
 *     trl__aligners_search(items, count, &options, err);            // steps 1 and 2
 *     trl__aligners_accumulate(items, count, local, err);           // step 3, of those that are done
 *     trl__aligners_posteriors(items, count, &options, err);        // or Baum-Welch's statistics, where all are done
 *
 * The search is in the first band around `previous`, which all have, or within the first beam, where none has one. Those that are not done need a wider search: each goes its own way from trl__aligner_begin on. A call that fails has added nothing. */
typedef struct trl__batch_item {
    trl__aligner *aligner;
    const trl__run *previous;
    size_t previous_runs;
    int done; /* filled by the search; by the caller, where a path comes from elsewhere */
    trl__search_result result;
} trl__batch_item;

/* Can the utterance in hand be searched in a batch? Around a path it needs a band that is smaller than everything, without
 * one more than a tile: a single one's back-pointers would stay on the device, at the batch's place. */
int trl__aligners_can(const trl__aligner *aligner, const trl__search_options *options, int has_previous);
int trl__aligners_send(trl__batch_item *items, size_t count, trl_error *err);
/* Utterances that are prepared, and stay as they are until they are sent. Where it can't be done, they are sent then. */
void trl__aligners_send_ahead(const trl__batch_item *items, size_t count);
int trl__aligners_search(trl__batch_item *items, size_t count, const trl__search_options *options, trl_error *err);
int trl__aligners_accumulate(trl__batch_item *items, size_t count, trl__local_stats *local, trl_error *err);
/* Statistics (options->local) of all paths around those in hand; each item's log-likelihood becomes that of all paths. TRL_ENUMBER: an utterance has none. */
int trl__aligners_posteriors(trl__batch_item *items, size_t count, const trl__posterior_options *options,
                             trl_error *err);
/* Gives back what memory the stream has on the device. */
void trl__aligner_trim(trl__aligner *aligner);

#endif
