/* One Gaussian per sum, and bottom-up clustering of sums. See sums.h.
 *
 * Clustering: every cluster remembers its nearest among those of higher number, so the best pair is found in one look
 * at all clusters, and after a join only those are compared anew whose nearest took part in it. Memory is proportional
 * to the clusters; the cost is about count^2 * dim, as for the first comparison of all pairs (count^3 * dim at worst).
 */
#include "model/sums.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define LOG_2PI 1.8378770664093454836
#define LOG_2 0.69314718055994530942
#define LANES 4
#define STEP 1024 /* dimensions: the product of so many mantissas in LANES products does not overflow */

/* Sum of the logarithms of the variances of up to STEP dimensions. Mantissas are multiplied and exponents added: one
 * logarithm instead of one per dimension. */
static double log_variances(const double *sum, const double *square, int32_t dim, double inverse, double floor)
{
    double product[LANES] = {1, 1, 1, 1};
    int64_t exponent[LANES] = {0};
    for (int32_t k = 0; k < dim; k += LANES)
        for (int32_t i = 0; i < LANES && k + i < dim; i++) {
            double mean = sum[k + i] * inverse, variance = square[k + i] * inverse - mean * mean;
            variance = variance > floor ? variance : floor;
            uint64_t bits;
            memcpy(&bits, &variance, sizeof bits);
            exponent[i] += (int64_t)(bits >> 52) - 1023;
            bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
            memcpy(&variance, &bits, sizeof bits);
            product[i] *= variance;
        }
    double logs = 0;
    for (int i = 0; i < LANES; i++)
        logs += log(product[i]) + (double)exponent[i] * LOG_2;
    return logs;
}

double trl__sums_likelihood(const double *sums, int32_t dim, double floor)
{
    double frames = sums[0], logs = 0;
    if (!(frames > 0))
        return 0;
    for (int32_t k = 0; k < dim; k += STEP)
        logs += log_variances(sums + 1 + k, sums + 1 + dim + k, dim - k < STEP ? dim - k : STEP, 1 / frames, floor);
    return -0.5 * frames * ((double)dim * (1 + LOG_2PI) + logs);
}

/* ---- clustering ---- */

typedef struct cluster {
    int32_t nearest; /* of higher number; -1: none */
    int gone;        /* joined to another */
    double likelihood, loss;
} cluster;

typedef struct clustering {
    double *sums, *both;
    cluster *all;
    int32_t count, dim;
    double floor;
} clustering;

static double loss_of(const clustering *c, int32_t a, int32_t b)
{
    size_t size = trl__sums_size(c->dim);
    const double *x = c->sums + (size_t)a * size, *y = c->sums + (size_t)b * size;
    for (size_t i = 0; i < size; i++)
        c->both[i] = x[i] + y[i];
    return c->all[a].likelihood + c->all[b].likelihood - trl__sums_likelihood(c->both, c->dim, c->floor);
}

static void consider(clustering *c, int32_t a, int32_t b)
{
    cluster *at = &c->all[a];
    double loss = loss_of(c, a, b);
    if (at->nearest < 0 || loss < at->loss || (loss == at->loss && b < at->nearest)) {
        at->nearest = b;
        at->loss = loss;
    }
}

static void find_nearest(clustering *c, int32_t a)
{
    c->all[a].nearest = -1;
    for (int32_t b = a + 1; b < c->count; b++)
        if (!c->all[b].gone)
            consider(c, a, b);
}

/* The first of the pair that loses least; -1: there is no pair. */
static int32_t find_best(const clustering *c)
{
    int32_t best = -1;
    for (int32_t a = 0; a < c->count; a++)
        if (!c->all[a].gone && c->all[a].nearest >= 0 && (best < 0 || c->all[a].loss < c->all[best].loss))
            best = a;
    return best;
}

static void join(clustering *c, int32_t into, int32_t from)
{
    size_t size = trl__sums_size(c->dim);
    double *sums = c->sums + (size_t)into * size;
    trl__sums_add(sums, c->sums + (size_t)from * size, size);
    c->all[from].gone = 1;
    c->all[into].likelihood = trl__sums_likelihood(sums, c->dim, c->floor);
    find_nearest(c, into);
    for (int32_t a = 0; a < from; a++) {
        int32_t nearest = c->all[a].nearest;
        if (c->all[a].gone || a == into)
            continue;
        if (nearest == into || nearest == from)
            find_nearest(c, a);
        else if (a < into)
            consider(c, a, into);
    }
}

int32_t trl__sums_cluster(double *sums, int32_t count, int32_t dim, double floor, double most, trl__join *joins)
{
    size_t size = trl__sums_size(dim);
    clustering c = {.sums = sums, .count = count, .dim = dim, .floor = floor};
    int32_t joined = 0;
    c.both = trl__alloc(size, sizeof *c.both);
    c.all = trl__alloc_zero((size_t)count, sizeof *c.all);
    if (!c.both || (!c.all && count > 0))
        joined = -1;
    for (int32_t a = 0; joined == 0 && a < count; a++)
        c.all[a].likelihood = trl__sums_likelihood(sums + (size_t)a * size, dim, floor);
    for (int32_t a = 0; joined == 0 && a < count; a++)
        find_nearest(&c, a);
    while (joined >= 0) {
        int32_t best = find_best(&c);
        if (best < 0 || !(c.all[best].loss < most))
            break;
        joins[joined++] = (trl__join){best, c.all[best].nearest, c.all[best].loss};
        join(&c, best, c.all[best].nearest);
    }
    trl__free(c.both);
    trl__free(c.all);
    return joined;
}
