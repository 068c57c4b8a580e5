/* Frames that hold nothing: found by their samples, and filled in with silence. */
#ifndef TRL_FEAT_NO_SIGNAL_H
#define TRL_FEAT_NO_SIGNAL_H

#include <trellis/frontend.h>

/* Most of the frame's samples, in units of 16 bits, vary by no more than noise of one unit would. Cost: a few
 * additions for a frame of sound, three for each sample of one without. */
int trl__holds_signal(const trl_frontend_options *options, const float *samples, size_t count);

/* The quietest rows in a row, TRL__QUIET_ROWS of them or, where all stretches that hold something are shorter, as
 * many as there are: their number, 0 if all rows hold nothing, and the first. */
#define TRL__QUIET_ROWS 10
size_t trl__quiet_rows(const trl_frontend_options *options, const trl_matrix *statics, size_t *first);

/* Which of `count` rows, to and fro, stands for frame t. */
size_t trl__to_and_fro(size_t count, int64_t t);

#endif
