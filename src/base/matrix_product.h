/* Products of small matrices in double precision: what is summed up over frames.
 *
 *     trl__product p = {.rows = 39, .cols = 39, .terms = frames, .a = x, .a_step = 40, .a_row = 1,
 *                       .b = x, .b_step = 40, .c = sums, .c_row = 39};
 *     trl__product_add(&p);                                        // sums += x' x
 *
 * Why not a BLAS: statistics are gathered by many threads at once, and OpenBLAS built for one thread may hand two of
 * them the same buffer, while built for many it may divide the sums by their number. Here an element of c is summed up
 * in the order of the terms, one product and one addition after the other, whatever stands beside it: the same bits for
 * every instruction set and for every division into blocks of rows and columns.
 */
#ifndef TRL_BASE_MATRIX_PRODUCT_H
#define TRL_BASE_MATRIX_PRODUCT_H

#include <stddef.h>

/* c[i * c_row + j] += sum over k < terms of a[k * a_step + i * a_row] * b[k * b_step + j], for i < rows, j < cols. */
typedef struct trl__product {
    size_t rows, cols, terms;
    const double *a;
    size_t a_step, a_row;
    const double *b; /* rows are read up to the next multiple of TRL__PRODUCT_PAD columns */
    size_t b_step;
    double *c; /* nothing but rows x cols is touched */
    size_t c_row;
} trl__product;

#define TRL__PRODUCT_PAD 4

static inline size_t trl__product_padded(size_t cols)
{
    return (cols + TRL__PRODUCT_PAD - 1) / TRL__PRODUCT_PAD * TRL__PRODUCT_PAD;
}

typedef void trl__product_kernel(const trl__product *product);
trl__product_kernel trl__product_base, trl__product_avx2;

/* By the kernel for this machine (or for TRELLIS_CPU). */
void trl__product_add(const trl__product *product);

#endif
