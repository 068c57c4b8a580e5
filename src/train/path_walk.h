/* A walk along the paths that an iteration found: statistics of every kind but those of the E-step itself (contexts for
 * trees, LDA, semi-tied covariances, speakers' transforms, usage of pronunciations) are gathered by one.
 *
 * Utterances come in groups: blocks of TRL__UTTERANCE_BLOCK in corpus order, or speakers. A group is visited by one thread;
 * groups are merged in their order. So sums are the same bytes for every number of threads, and what waits is a few
 * groups.
 */
#ifndef TRL_TRAIN_PATH_WALK_H
#define TRL_TRAIN_PATH_WALK_H

#include "train/alignment_store.h"
#include "train/training_data.h"

typedef struct trl__visit {
    size_t utterance;
    const trl_matrix *frames;   /* in the data's view; without rows where the walk does without */
    const trl_matrix *original; /* before the speaker's transform; the same as frames unless wants_original */
    const trl__graph *graph;
    const trl__run *runs;
    size_t run_count;
    const int32_t *tied; /* by frame: the tied state, or -1 in silence and noise that leaves_silence names */
    int32_t frame_count;
} trl__visit;

/* Frames of silence and noise that a walk names -1. */
typedef enum trl__left_silence {
    TRL__NO_SILENCE,
    TRL__ALL_SILENCE,
    TRL__MOST_SILENCE /* all that transforms of speakers don't look at (adapt/fmllr.h) */
} trl__left_silence;

/* What is gathered. A sum is anything; `window` of them are made, one per group in work. */
typedef struct trl__gathering {
    int (*create)(void *user, void **sum, trl_error *err);
    void (*destroy)(void *sum);
    void (*zero)(void *sum);
    int (*visit)(void *user, void *sum, const trl__visit *visit, trl_error *err); /* any thread */
    int (*merge)(void *user, size_t group, void *sum, trl_error *err);            /* in order, one at a time */
    void *user;
    int by_speaker;     /* groups are the corpus's speakers, by their number */
    int without_frames; /* features are not read */
    int wants_original;
    trl__left_silence leaves_silence;
} trl__gathering;

typedef struct trl__walk {
    const trl__training_data *data;
    const trl_lexicon *lexicon;
    const trl_model *model; /* that the alignments were made with */
    const trl__alignment_store *alignments;
    trl_pool *pool;
} trl__walk;

/* Utterances that were not aligned are passed over. */
int trl__walk_run(const trl__walk *walk, const trl__gathering *gathering, trl_error *err);

#endif
