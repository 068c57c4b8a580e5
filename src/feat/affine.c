#include "feat/affine.h"
#include "base/fail.h"
#include "base/matrix_product.h"
#include "base/memory.h"

#include <string.h>

int trl__affine_init(trl__affine *affine, const trl_matrix *transform, size_t in, trl_error *err)
{
    *affine = (trl__affine){.in = in, .out = transform->rows, .stride = trl__product_padded(transform->rows)};
    if (transform->cols != in && transform->cols != in + 1)
        return trl__fail(
            err, TRL_EINVAL,
            "the transform has %zu columns, but frames have %zu values (one more column would be the offset)",
            transform->cols, in);
    size_t numbers;
    if (__builtin_mul_overflow(in + 1, affine->stride, &numbers))
        return trl__fail_memory(err);
    affine->weights = trl__alloc_aligned(numbers ? numbers : 1, sizeof *affine->weights);
    if (!affine->weights)
        return trl__fail_memory(err);
    memset(affine->weights, 0, numbers * sizeof *affine->weights);
    for (size_t r = 0; r < transform->rows; r++)
        for (size_t i = 0; i < transform->cols; i++)
            affine->weights[i * affine->stride + r] = (double)trl_matrix_row(transform, r)[i];
    return 0;
}

void trl__affine_free(trl__affine *affine)
{
    trl__free(affine->weights);
    *affine = (trl__affine){0};
}

#define BLOCK_ROWS 32
#define BLOCK_COLS 48

/* `count` rows, `width` of the results from the first one on. */
static void apply_block(const trl__affine *affine, size_t first, size_t width, const double *rows, size_t count,
                        size_t stride, float *out, size_t out_stride)
{
    double sums[BLOCK_ROWS * BLOCK_COLS];
    const double *offsets = affine->weights + affine->in * affine->stride + first;
    for (size_t t = 0; t < count; t++)
        memcpy(sums + t * BLOCK_COLS, offsets, width * sizeof *sums);
    trl__product_add(&(trl__product){.rows = count,
                                     .cols = width,
                                     .terms = affine->in,
                                     .a = rows,
                                     .a_step = 1,
                                     .a_row = stride,
                                     .b = affine->weights + first,
                                     .b_step = affine->stride,
                                     .c = sums,
                                     .c_row = BLOCK_COLS});
    for (size_t t = 0; t < count; t++)
        for (size_t r = 0; r < width; r++)
            out[t * out_stride + first + r] = (float)sums[t * BLOCK_COLS + r];
}

void trl__affine_rows(const trl__affine *affine, const double *rows, size_t count, size_t stride, float *out,
                      size_t out_stride)
{
    for (size_t t = 0; t < count; t += BLOCK_ROWS)
        for (size_t first = 0; first < affine->out; first += BLOCK_COLS)
            apply_block(affine, first, affine->out - first < BLOCK_COLS ? affine->out - first : BLOCK_COLS,
                        rows + t * stride, count - t < BLOCK_ROWS ? count - t : BLOCK_ROWS, stride,
                        out + t * out_stride, out_stride);
}

int trl__affine_compose(const trl_matrix *after, const trl_matrix *before, size_t before_in, trl_matrix *out,
                        trl_error *err)
{
    size_t middle = before->rows;
    int offset = before->cols > before_in || after->cols > middle;
    int code = trl_matrix_resize(out, after->rows, before_in + (size_t)offset, err);
    for (size_t r = 0; code == 0 && r < out->rows; r++)
        for (size_t c = 0; c < out->cols; c++) {
            const float *row = trl_matrix_row(after, r);
            double sum = c == before_in && after->cols > middle ? (double)row[middle] : 0;
            for (size_t i = 0; i < middle && c < before->cols; i++)
                sum += (double)row[i] * (double)trl_matrix_row(before, i)[c];
            trl_matrix_row(out, r)[c] = (float)sum;
        }
    return code;
}
