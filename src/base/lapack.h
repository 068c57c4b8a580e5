/* Linear algebra of small matrices by LAPACK, in double precision, row by row.
 *
 * Calls take turns, and use one thread of OpenBLAS: built for one thread, it does not bear to be called by several at
 * once; built for many, its results may depend on their number. What is summed up over frames does not come here
 * (base/matrix_product.h).
 */
#ifndef TRL_BASE_LAPACK_H
#define TRL_BASE_LAPACK_H

#include <stddef.h>
#include <trellis/error.h>

/* The eigenvectors of a symmetric n x n matrix, of which the upper triangle is read: row k of `a` becomes that of
 * values[k]; values rise. TRL_ENUMBER: they were not found. */
int trl__eigen_symmetric(double *a, size_t n, double *values, trl_error *err);

/* A symmetric matrix as its upper triangle, row after row: n (n + 1) / 2 numbers. The factor takes their place, with
 * its diagonal where that of the matrix was. 1: the matrix is not positive definite; `a` is spoilt. */
int trl__cholesky_packed(double *a, size_t n);
void trl__cholesky_solve(const double *factor, size_t n, double *b); /* b becomes the solution */

/* The inverse in place, and the logarithm of the determinant's size. pivots: n numbers, work: n * n.
 * 1: singular; `a` is spoilt. */
int trl__invert(double *a, size_t n, int *pivots, double *work, double *log_det);

#endif
