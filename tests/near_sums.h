/* Sums and statistics that two ways of computing gave: equal but for rounding. */
#ifndef TEST_NEAR_SUMS_H
#define TEST_NEAR_SUMS_H

#include "cmocka_test.h"

#include "model/statistics.h"

#include <math.h>

/* The tolerance is a share of the largest of b, at least of 1. */
static inline void assert_near(const double *a, const double *b, size_t count, double tolerance, const char *what)
{
    double scale = 1;
    for (size_t i = 0; i < count; i++)
        scale = fmax(scale, fabs(b[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * scale))
            fail_msg("%s %zu of %zu: %.10g, not %.10g", what, i, count, a[i], b[i]);
}

static inline void assert_near_sums(const trl__stats *a, const trl__stats *b, double tolerance)
{
    size_t sums = (size_t)b->gaussians * (size_t)b->dim;
    assert_near(a->count, b->count, (size_t)b->gaussians, tolerance, "count");
    assert_near(a->sum, b->sum, sums, tolerance, "sum");
    assert_near(a->square, b->square, sums, tolerance, "square");
    assert_near(a->transition, b->transition, (size_t)b->transitions + 1, tolerance, "transition");
}

#endif
