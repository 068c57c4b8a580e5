/* From a path to words, phones and states with times. */
#ifndef TRL_ALIGN_SEGMENTS_H
#define TRL_ALIGN_SEGMENTS_H

#include "align/aligner.h"

#include <trellis/frontend.h>

/* A growing list of segments. */
typedef struct trl__segment_list {
    trl_segment *items;
    size_t count, capacity;
} trl__segment_list;

typedef struct trl__segmentation {
    trl__segment_list words, phones, states;
    int32_t *transitions; /* by frame */
    size_t transition_capacity;
} trl__segmentation;

/* Where frames lie in time, seconds. */
typedef struct trl__frame_times {
    double shift, offset; /* frame t begins at t * shift + offset, but the first at 0 and … */
    double seconds;       /* … the last ends here */
} trl__frame_times;

/* As align.h says; seconds <= 0: the sound ends with the last frame's window. */
trl__frame_times trl__frame_times_of(const trl_frontend_options *frontend, int32_t frames, double seconds);

/* The boundary before frame t. */
double trl__frame_time(const trl__frame_times *times, int32_t t, int32_t frames);

/* The path in the aligner's hand. unit_labels: by unit of the model; word_labels: by word of the transcript; they must outlive the
 * segments. slot and phone: posteriors by frame, or NULL. */
int trl__segments_make(trl__segmentation *out, const char *const *unit_labels, const trl__graph *graph,
                       const trl__aligner *aligner, int32_t frames, const trl__frame_times *times,
                       const char *const *word_labels, const float *slot, const float *phone, trl_error *err);
void trl__segments_free(trl__segmentation *segmentation);

#endif
