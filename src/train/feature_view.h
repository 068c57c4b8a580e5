/* What a stage of training sees of the features: the frames of the file as they are, or their static part spliced and transformed, and
 * either of them adapted to the speaker. One file of features serves all stages; the rest is computed whenever an utterance
 * is read, which costs little beside scoring it.
 *
 *     trl__view_describe(&view, data->frontend, &text, err);       // the front end that makes such frames of sound
 *     trl__view_from(text, data->frontend, &view, err);            // and back
 */
#ifndef TRL_TRAIN_FEATURE_VIEW_H
#define TRL_TRAIN_FEATURE_VIEW_H

#include <stdint.h>
#include <trellis/error.h>
#include <trellis/matrix.h>

typedef struct trl__view_speaker {
    trl_matrix transform; /* affine; rows 0: none */
    double log_det;       /* what the log-likelihood of a frame as it came has on top of the adapted one's */
} trl__view_speaker;

typedef struct trl__feature_view {
    size_t columns;              /* the first of each frame; 0: all, and nothing is spliced or transformed */
    int left, right;             /* splicing: frames */
    trl_matrix transform;        /* of spliced frames; rows 0: none */
    trl__view_speaker *speakers; /* by the corpus's speaker: what comes after all that; NULL: nothing */
    size_t speaker_count;
} trl__feature_view;

/* Memory for one utterance, reused. */
typedef struct trl__view_room {
    trl_matrix spliced, adapted;
} trl__view_room;

void trl__view_free(trl__feature_view *view);
void trl__view_room_free(trl__view_room *room);

/* out: the file's frames themselves, or in the room until the next call. adapted = 0: as they were before the speaker's transform. */
int trl__view_apply(const trl__feature_view *view, const trl_matrix *frames, int32_t speaker, int adapted,
                    trl__view_room *room, trl_matrix *out, trl_error *err);

/* How many values frames have in this view. */
size_t trl__view_dim(const trl__feature_view *view, size_t file_dim);

/* The description of a front end; `base` is the file's. Freed by trl__free. Speakers are not part of it. */
int trl__view_describe(const trl__feature_view *view, const char *base, char **text, trl_error *err);

/* The view under which a file made by `base` gives the frames that `description` would. */
int trl__view_from(const char *description, const char *base, trl__feature_view *view, trl_error *err);

/* Do the two describe the same frames of training? Means that were learnt from them are no difference. */
int trl__view_same(const char *description, const char *other);

/* How many static coefficients come first in each frame of a front end. */
int trl__view_statics(const char *base, size_t *statics, trl_error *err);

/* The front end without splicing and transform: what makes a file whose view can be `description`. Freed by trl__free. */
int trl__view_base(const char *description, char **base, trl_error *err);

#endif
