/* With the first and last frame repeated and nothing between the frames, each spliced row is a stretch of one array: no
 * row is ever put together. */
#include "feat/splice.h"
#include "base/fail.h"
#include "base/memory.h"
#include "feat/affine.h"

#include <string.h>

/* Frame t, or the nearest one. */
static const float *nearest(const trl_matrix *frames, int64_t t)
{
    int64_t last = (int64_t)frames->rows - 1;
    return trl_matrix_row(frames, (size_t)(t < 0 ? 0 : t > last ? last : t));
}

static int splice(const trl_matrix *frames, int left, int right, trl_matrix *out, trl_error *err)
{
    int code = trl_matrix_resize(out, frames->rows, (size_t)(left + right + 1) * frames->cols, err);
    for (size_t t = 0; code == 0 && t < frames->rows; t++)
        for (int i = -left; i <= right; i++)
            memcpy(trl_matrix_row(out, t) + (size_t)(i + left) * frames->cols, nearest(frames, (int64_t)t + i),
                   frames->cols * sizeof(float));
    return code;
}

static double *widened(const trl_matrix *frames, int left, int right)
{
    double *wide = trl__alloc_aligned((frames->rows + (size_t)(left + right)) * frames->cols, sizeof *wide);
    double *to = wide;
    for (int64_t t = -left; wide && t < (int64_t)frames->rows + right; t++) {
        const float *frame = nearest(frames, t);
        for (size_t i = 0; i < frames->cols; i++)
            *to++ = (double)frame[i];
    }
    return wide;
}

int trl__splice_transform(const trl_matrix *frames, int left, int right, const trl_matrix *transform, trl_matrix *out,
                          trl_error *err)
{
    if (transform->rows == 0)
        return splice(frames, left, right, out, err);
    trl__affine affine;
    int code = trl__affine_init(&affine, transform, (size_t)(left + right + 1) * frames->cols, err);
    if (code == 0)
        code = trl_matrix_resize(out, frames->rows, affine.out, err);
    if (code == 0 && frames->rows > 0) {
        double *wide = widened(frames, left, right);
        if (wide)
            trl__affine_rows(&affine, wide, frames->rows, frames->cols, out->data, out->stride);
        else
            code = trl__fail_memory(err);
        trl__free(wide);
    }
    trl__affine_free(&affine);
    return code;
}
