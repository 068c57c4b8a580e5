/* What generated speech is drawn from: one stream of random numbers per thing, and distributions that speech has. */
#ifndef TRELLIS_BENCH_WORKLOAD_DICE_H
#define TRELLIS_BENCH_WORKLOAD_DICE_H

#include "base/random.h"

#include <math.h>

#define ZIPF_SHIFT 2.7

typedef struct dice {
    uint64_t seed, stream, next;
} dice;

static inline double uniform(dice *d)
{
    return (double)trl__random_uniform(d->seed, d->stream, d->next++);
}

static inline float normal(dice *d)
{
    return trl__random_normal(d->seed, d->stream, d->next++);
}

static inline int below(dice *d, int count)
{
    return (int)(uniform(d) * count);
}

/* An utterance's length: 69 % take less than 2 s, log-uniform from 0.5 s; the others 2 to 30 s, exponential. */
static inline double draw_seconds(dice *d)
{
    if (uniform(d) < 0.69)
        return 0.5 * pow(4, uniform(d));
    double share = 1 - exp(-28 / 8.12); /* of an exponential that ends at 30 s */
    return 2 - 8.12 * log(1 - share * uniform(d));
}

/* Zipf and Mandelbrot: the word of rank r has a frequency like 1 / (r + 2.7). */
static inline int draw_word(dice *d, int words)
{
    return (int)(ZIPF_SHIFT * (pow((words + ZIPF_SHIFT) / ZIPF_SHIFT, uniform(d)) - 1));
}

/* How far apart things are, in standard deviations of a component: statics, first and second differences. */
static inline float spread(int dimension, int dimensions)
{
    return dimension < dimensions / 3 ? 1.0f : dimension < 2 * dimensions / 3 ? 0.5f : 0.35f;
}

#endif
