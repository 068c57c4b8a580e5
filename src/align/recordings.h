/* Utterances gathered by recording. Formats that show a whole sound file need all of its utterances together, but these
 * come in the order of their ids, which may mix recordings. So the segments wait in a temporary file, and at the end
 * each recording is put together from there: memory holds a small record per utterance, and the segments of one
 * recording.
 *
 *     trl__recordings_create(&recordings, err);
 *     trl__recordings_add(recordings, alignment, err);
 *     trl__recordings_each(recordings, use, user, err);
 *     trl__recordings_destroy(recordings);
 */
#ifndef TRL_ALIGN_RECORDINGS_H
#define TRL_ALIGN_RECORDINGS_H

#include <trellis/align.h>

typedef struct trl__recordings trl__recordings;

typedef struct trl__recorded {
    const trl_utterance *utterance;
    double seconds; /* of its sound */
    trl_segments words, phones, states;
} trl__recorded;

typedef struct trl__recording {
    const char *name; /* unique, and fit to be a file's; see alignment_file.h */
    double seconds;   /* of the whole sound file where it can be opened, else to the end of the last utterance */
    const trl__recorded *utterances; /* by channel, then start */
    size_t count;
} trl__recording;

typedef int (*trl__recording_fn)(void *user, const trl__recording *recording, trl_error *err);

int trl__recordings_create(trl__recordings **out, trl_error *err);
int trl__recordings_add(trl__recordings *recordings, const trl_alignment *alignment, trl_error *err);

/* Calls `use` for each recording, in the order of their names. Returns 0 or the first failure. */
int trl__recordings_each(trl__recordings *recordings, trl__recording_fn use, void *user, trl_error *err);
void trl__recordings_destroy(trl__recordings *recordings);

#endif
