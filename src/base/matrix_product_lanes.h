/* Products of matrices, one column per SIMD lane.
 *
 * Included by one file per instruction set, which defines LANES (doubles of a register) and KERNEL. The code is GCC's
 * vector extension, which clang has too; nothing is contracted.
 *
 * A tile is 4 rows times 3 registers of columns (fewer at the edges), whose 12 sums stay in registers while the terms
 * pass by: a term takes 7 loads for 12 products. Tiles go down the rows first, so that the columns of b stay in the
 * first-level cache.
 */
#include "base/matrix_product.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline)) /* constants must reach the loops that they unroll */
#define ROWS 4
#define VECTORS 3

typedef double lanes __attribute__((vector_size(8 * LANES)));

INLINE lanes load(const double *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* A register of c, and back: of the last one of a row only `count` columns are there. */
INLINE lanes load_sums(const double *c, size_t count)
{
    lanes sums = {0};
    if (count >= LANES)
        return load(c);
    for (size_t l = 0; l < LANES; l++)
        if (l < count)
            sums[l] = c[l];
    return sums;
}

INLINE void store_sums(double *c, size_t count, lanes sums)
{
    if (count >= LANES)
        memcpy(c, &sums, sizeof sums);
    else
        for (size_t l = 0; l < LANES; l++)
            if (l < count)
                c[l] = sums[l];
}

INLINE void tile(const trl__product *p, size_t i, size_t j, size_t width, const int rows, const int vectors)
{
    lanes sums[ROWS][VECTORS], columns[VECTORS];
    const double *a = p->a + i * p->a_row, *b = p->b + j;
    double *c = p->c + i * p->c_row + j;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            sums[r][v] = load_sums(c + (size_t)r * p->c_row + v * LANES, width - (size_t)v * LANES);
    for (size_t k = 0; k < p->terms; k++, a += p->a_step, b += p->b_step) {
        for (int v = 0; v < vectors; v++)
            columns[v] = load(b + v * LANES);
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++)
                sums[r][v] += a[(size_t)r * p->a_row] * columns[v];
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            store_sums(c + (size_t)r * p->c_row + v * LANES, width - (size_t)v * LANES, sums[r][v]);
}

INLINE void tiles_down(const trl__product *p, size_t j, size_t width, const int vectors)
{
    size_t i = 0;
    for (; i + ROWS <= p->rows; i += ROWS)
        tile(p, i, j, width, ROWS, vectors);
    switch (p->rows - i) {
    case 3: tile(p, i, j, width, 3, vectors); break;
    case 2: tile(p, i, j, width, 2, vectors); break;
    case 1: tile(p, i, j, width, 1, vectors); break;
    default: break;
    }
}

void KERNEL(const trl__product *p)
{
    for (size_t j = 0; j < p->cols; j += VECTORS * LANES) {
        size_t width = p->cols - j < VECTORS * LANES ? p->cols - j : VECTORS * LANES;
        switch ((width + LANES - 1) / LANES) {
        case 3: tiles_down(p, j, width, 3); break;
        case 2: tiles_down(p, j, width, 2); break;
        default: tiles_down(p, j, width, 1);
        }
    }
}
