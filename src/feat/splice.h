/* Frames beside their neighbours, and a transform of them: the last two steps of a front end, for a whole utterance. */
#ifndef TRL_FEAT_SPLICE_H
#define TRL_FEAT_SPLICE_H

#include <trellis/error.h>
#include <trellis/matrix.h>

/* Row t of `out` is the transform of rows t - left … t + right of `frames`, the first and last repeated beyond the
 * ends: bit for bit what an extractor gives. `frames` may be columns of a wider matrix. `transform` has
 * (left + right + 1) * frames->cols columns or one more, the offset; without rows there is none. `out` is another
 * matrix, and resized. */
int trl__splice_transform(const trl_matrix *frames, int left, int right, const trl_matrix *transform, trl_matrix *out,
                          trl_error *err);

#endif
