/* A matrix of floats: one row per frame, one column per coefficient.
 *
 *     trl_matrix m = {0};
 *     trl_matrix_resize(&m, 100, 39, &err);
 *     trl_matrix_row(&m, 7)[0] = 1.0f;
 *     trl_matrix_free(&m);
 *
 * Indices: rows and columns count from 0. Row r begins at data + r * stride; stride >= cols, counted in floats.
 */
#ifndef TRELLIS_MATRIX_H
#define TRELLIS_MATRIX_H

#include <stddef.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

typedef struct trl_matrix {
    float *data; /* 64-byte aligned when allocated by trl_matrix_resize */
    size_t rows, cols;
    size_t stride;   /* floats from one row to the next */
    size_t capacity; /* floats that data can hold; 0: the memory belongs to somebody else */
} trl_matrix;

/* Makes room for rows x cols, stride = cols. Keeps the memory when it is large enough; the contents are undefined.
 * Returns 0, TRL_ENOMEM, or TRL_EINVAL when the matrix borrows its memory. */
TRL_API int trl_matrix_resize(trl_matrix *matrix, size_t rows, size_t cols, trl_error *err);

/* Frees what trl_matrix_resize allocated (nothing for borrowed memory) and clears the struct. */
TRL_API void trl_matrix_free(trl_matrix *matrix);

static inline float *trl_matrix_row(const trl_matrix *matrix, size_t row)
{
    return matrix->data + row * matrix->stride;
}

TRL_END_DECLS

#endif
