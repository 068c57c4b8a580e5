/* Checkpoints: after each iteration the model and the alignments, and then, by one atomic rename, the file that names
 * them.
 *
 *     FOLDER/features.trf             the features, made once
 *     FOLDER/iteration-7.trm          the model that iteration 8 starts from
 *     FOLDER/iteration-7.tra          the alignments of iteration 7
 *     FOLDER/iteration-7.trs          the transforms of the speakers, where there are some
 *     FOLDER/stage-2.lexicon          pronunciations with the probabilities that the stage uses
 *     FOLDER/carried.tra              the alignments of the last stage, carried over to the model of the next
 *     FOLDER/checkpoint               "trellis checkpoint 2", iteration, stage, its first iteration, settled, fingerprint:
 *                                     which of them count
 */
#ifndef TRL_TRAIN_CHECKPOINT_H
#define TRL_TRAIN_CHECKPOINT_H

#include <stdint.h>
#include <trellis/error.h>

typedef struct trl__checkpoint {
    char *folder;
    uint64_t fingerprint; /* of data and options: another training's checkpoint is refused */
    int iteration;        /* the last one that is complete; 0: none */
    int stage;            /* that it belongs to, from 0 */
    int stage_first;      /* the stage's first iteration */
    int settled;          /* alignments move little: the next iteration searches in a band */
    int lock;             /* on a named folder; -1: none */
    int temporary;        /* the folder goes away at the end, whatever happens */
} trl__checkpoint;

/* Makes the folder when it is missing; NULL: a temporary one. TRL_EINVAL: another process is at work in it. */
int trl__checkpoint_create(const char *folder, trl__checkpoint **out, trl_error *err);

/* A temporary folder goes away with all that is in it. */
void trl__checkpoint_destroy(trl__checkpoint *checkpoint);

/* Names in the folder; freed by trl__free. NULL: out of memory. */
char *trl__checkpoint_features(const trl__checkpoint *checkpoint);
char *trl__checkpoint_model(const trl__checkpoint *checkpoint, int iteration);
char *trl__checkpoint_alignments(const trl__checkpoint *checkpoint, int iteration);
char *trl__checkpoint_speakers(const trl__checkpoint *checkpoint, int iteration);
char *trl__checkpoint_lexicon(const trl__checkpoint *checkpoint, int stage);
char *trl__checkpoint_carried(const trl__checkpoint *checkpoint);

/* Reads which iteration is complete. TRL_ENOENT: there is no checkpoint; TRL_EINVAL: it belongs to other data or
 * options. */
int trl__checkpoint_resume(trl__checkpoint *checkpoint, trl_error *err);

/* Removes what an earlier training left: a new one begins. Its features stay, in case they are this one's input. */
void trl__checkpoint_forget(trl__checkpoint *checkpoint);

/* The folder goes away with all that a training put there, but not features that were its input (NULL: none). */
void trl__checkpoint_clean(trl__checkpoint *checkpoint, const char *given);

/* Model and alignments of `iteration` are in place: from now on they count, and the ones before are removed. */
int trl__checkpoint_commit(trl__checkpoint *checkpoint, int iteration, trl_error *err);

#endif
