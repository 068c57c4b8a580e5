/* Sums of frames and the one Gaussian they give: how likely the frames are under it, and which sums are most alike.
 *
 * Sums are 1 + 2 * dim numbers: frames, sums, squares. Those of a union are added up.
 */
#ifndef TRL_MODEL_SUMS_H
#define TRL_MODEL_SUMS_H

#include <stddef.h>
#include <stdint.h>

static inline size_t trl__sums_size(int32_t dim)
{
    return 1 + 2 * (size_t)dim;
}

static inline void trl__sums_add(double *to, const double *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] += from[i];
}

/* Log-likelihood of the frames under their own Gaussian with diagonal covariance, whose variances are at least `floor`
 * (positive): -n/2 (dim (1 + log 2 pi) + sum of log variances). 0 without frames. */
double trl__sums_likelihood(const double *sums, int32_t dim, double floor);

typedef struct trl__join {
    int32_t into, from; /* into < from */
    double loss;        /* of log-likelihood */
} trl__join;

/* Bottom-up clustering: the two sums that lose least by being joined are, again and again, as long as they lose less
 * than `most` (INFINITY: until one is left); of equals the first pair. sums: `count` rows, changed: a joined row is
 * added to that of lower number and is not used again. joins: room for count - 1. Returns how many, or -1: out of
 * memory. */
int32_t trl__sums_cluster(double *sums, int32_t count, int32_t dim, double floor, double most, trl__join *joins);

#endif
