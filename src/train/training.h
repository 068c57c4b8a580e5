/* What the files of a training share: train.c (the sequence of stages), iterate.c (an iteration), stage_*.c (how each stage begins and what it does
 * besides iterating).
 *
 * A stage is a function from (model, data, alignments) to model: `begin` makes a first model from what the stage before it left, then come
 * iterations in rounds, each round with more Gaussians. All that a stage decides follows from the last checkpoint (model, alignments,
 * speakers' transforms) and the options, so a training that was interrupted comes to the same bytes.
 */
#ifndef TRL_TRAIN_TRAINING_H
#define TRL_TRAIN_TRAINING_H

#include "model/context_stats.h"
#include "train/checkpoint.h"
#include "train/train_pass.h"
#include "train/path_walk.h"

typedef struct trl__training trl__training;

typedef struct trl__stage {
    const char *name;
    int (*begin)(trl__training *training, trl_error *err);
    int (*before)(trl__training *training, int iteration,
                  trl_error *err);                       /* ahead of an iteration, from 1 in the stage; NULL: nothing */
    int (*end)(trl__training *training, trl_error *err); /* after the last; NULL: nothing */
} trl__stage;

extern const trl__stage trl__stage_mono, trl__stage_tri, trl__stage_lda, trl__stage_sat;

struct trl__training {
    const trl_train_options *options;
    const trl_lexicon *lexicon; /* given, or counted */
    trl_lexicon *counted;       /* with probabilities from the alignments; NULL: not yet */
    trl_pool *pool;
    trl_findings *skipped;
    uint8_t *named; /* by utterance: it could not be aligned in some iteration, and a finding says so */
    trl__device *device;
    trl__training_data *data;
    trl__checkpoint *checkpoint;
    trl__alignment_store *alignments; /* of the last iteration; NULL before the first */
    trl_model *model;
    char *history, *journal;
    const trl__stage *stages[TRL_MOST_STAGES];
    int stage_count;
    int rounds;         /* of the stage in hand */
    int iterations;     /* of the stage in hand */
    double stage_start; /* the clock */
    double gain; /* log-likelihood per frame that a transform brought since the last iteration; 0: there was none */
};

/* The stages that the options name, at most TRL_MOST_STAGES. TRL_EINVAL: what is wrong with them. */
int trl__parse_stages(const trl_train_options *options, const trl__stage **stages, int *count, trl_error *err);

/* How many rounds and iterations the stage in hand has: from its model, the data and the options alone. */
void trl__plan_stage(trl__training *training);

/* Iteration `number` (from 1, over all stages): transforms, E-step, M-step, checkpoint, report. */
int trl__iterate(trl__training *training, int number, trl_error *err);

/* The walk along the last iteration's paths in the model in hand. */
trl__walk trl__training_walk(const trl__training *training);

/* Paths for a model that was not trained here: a wide search for everybody. */
int trl__align_first(trl__training *training, trl_error *err);

/* Which share of each tied state's frames counts in the next iteration, by the paths in hand: NULL where all do. Freed by trl__free. */
int trl__choose_sample(const trl__training *training, float **sample, trl_error *err);

/* Probabilities of pronunciations and of silence between words, from the paths in hand: into the lexicon and the model in hand. */
int trl__count_usage(trl__training *training, trl_error *err);

/* The lexicon of the stage in hand, as part of a checkpoint: none is fine. */
int trl__load_lexicon(trl__training *training, trl_error *err);

/* Statistics of every context that occurs along the paths in hand, by frames in the data's present view. */
int trl__gather_contexts(const trl__training *training, trl__context_stats **out, trl_error *err);

/* The model becomes one of phones in context, as the options want it: a tree from the frames in the data's present view along the paths in
 * hand, one Gaussian per leaf; the paths are carried over. */
int trl__begin_contexts(trl__training *training, trl_error *err);

/* Can the file of questions be used, if there is one? Units in it that the model lacks become a finding. */
int trl__check_questions(const trl__training *training, trl_error *err);

/* Writes the view's front end into the model. */
int trl__describe_view(trl__training *training, trl_error *err);

/* The speakers' transforms, as part of a checkpoint. load: of the iteration that the checkpoint names, where a
 * stage has adapted anybody. */
int trl__save_speakers(const trl__training *training, int number, trl_error *err);
int trl__load_speakers(trl__training *training, trl_error *err);

/* The stage's iterations ahead of which transforms are estimated anew: 2, 4, 6, 12. */
int trl__is_transform_iteration(int iteration);

#endif
