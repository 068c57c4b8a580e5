/* What training reads: features of every usable utterance, mapped, and its words as numbers. */
#ifndef TRL_TRAIN_TRAINING_DATA_H
#define TRL_TRAIN_TRAINING_DATA_H

#include "train/feature_view.h"

#include <trellis/feature_file.h>
#include <trellis/train.h>

#define TRL__UTTERANCE_BLOCK 50 /* utterances that one thread works on at a time ([000] 3.4: 50 to 200) */

typedef struct trl__training_data {
    trl_feature_reader *features;
    char *frontend;         /* description of what made them */
    int32_t dim;            /* of the file's frames */
    trl__feature_view view; /* what is seen of them */
    double frame_seconds;   /* from one frame to the next */
    size_t count;           /* utterances, in corpus order */
    size_t speakers;        /* of the corpus */
    double frames;          /* of all utterances */
    const trl_utterance **utterance;
    size_t *feature;    /* by utterance: its number in `features` */
    size_t *first_word; /* count + 1 */
    int32_t *words;     /* of all utterances: lexicon's numbers, or TRL__WORD_NOISE */
    size_t word_count, word_capacity;
    uint64_t fingerprint; /* of ids, numbers of frames, words and the front end */
} trl__training_data;

/* Features come from options->features (packed) or are extracted into `path`; when `reuse` is 1 those that are there
 * already are taken. Utterances that can't be used become findings. TRL_EINVAL when nothing is left. */
int trl__training_data_create(const trl_corpus *corpus, const trl_lexicon *lexicon, const trl_frontend *frontend,
                              const trl_train_options *options, const char *path, int reuse, trl_pool *pool,
                              trl_findings *skipped, trl__training_data **out, trl_error *err);

/* An utterance's frames in the data's view (adapted = 0: without the speaker's transform): the mapped file's own, or in the room until
 * its next use. Many threads may read at once, each with its room. */
int trl__training_frames(const trl__training_data *data, size_t utterance, int adapted, trl__view_room *room,
                         trl_matrix *frames, trl_error *err);

/* What the log-likelihood per frame of an utterance has on top because its frames were adapted. */
double trl__training_log_det(const trl__training_data *data, size_t utterance);
void trl__training_data_destroy(trl__training_data *data);

#endif
