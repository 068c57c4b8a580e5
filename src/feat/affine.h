/* A linear transform of frames, with or without offset: each value is the sum, in double precision, of the offset and
 * then the products in the order of the columns. A frame's values do not depend on how many are transformed at once. */
#ifndef TRL_FEAT_AFFINE_H
#define TRL_FEAT_AFFINE_H

#include <stddef.h>
#include <trellis/error.h>
#include <trellis/matrix.h>

/* The transform on its side: a row for each value of a frame, so that results stand side by side. */
typedef struct trl__affine {
    size_t in, out;
    size_t stride;
    double *weights; /* in + 1 rows; the last has the offsets */
} trl__affine;

/* transform: out x in, or out x (in + 1) with the offset in the last column. TRL_EINVAL: neither. */
int trl__affine_init(trl__affine *affine, const trl_matrix *transform, size_t in, trl_error *err);
void trl__affine_free(trl__affine *affine);

/* Row t begins at rows + t * stride; they may overlap. */
void trl__affine_rows(const trl__affine *affine, const double *rows, size_t count, size_t stride, float *out,
                      size_t out_stride);

/* out = after (before x): matrices with as many columns as values come in, or one more for the offset. out may be neither of them. */
int trl__affine_compose(const trl_matrix *after, const trl_matrix *before, size_t before_in, trl_matrix *out,
                        trl_error *err);

#endif
