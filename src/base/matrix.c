#include "base/fail.h"
#include "base/memory.h"

#include <trellis/matrix.h>

int trl_matrix_resize(trl_matrix *matrix, size_t rows, size_t cols, trl_error *err)
{
    if (matrix->data && matrix->capacity == 0)
        return trl__fail(err, TRL_EINVAL, "a matrix that borrows its memory can't be resized");
    size_t needed;
    if (__builtin_mul_overflow(rows, cols, &needed))
        return trl__fail_memory(err);
    if (needed > matrix->capacity || !matrix->data) {
        float *data = trl__alloc_aligned(needed ? needed : 1, sizeof *data);
        if (!data)
            return trl__fail(err, TRL_ENOMEM, "out of memory for a matrix of %zu x %zu", rows, cols);
        trl__free(matrix->data);
        matrix->data = data;
        matrix->capacity = needed ? needed : 1;
    }
    matrix->rows = rows;
    matrix->cols = cols;
    matrix->stride = cols;
    return 0;
}

void trl_matrix_free(trl_matrix *matrix)
{
    if (matrix->capacity > 0)
        trl__free(matrix->data);
    *matrix = (trl_matrix){0};
}
