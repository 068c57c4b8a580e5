/* Lanes of a SIMD register, and the functions of them that scores need.
 *
 * Included behind definitions for an instruction set (such as lanes_base.h): LANES (floats of a register) and
 *
 *     fused(a, b, c)        a * b + c for lanes of floats
 *     larger(a, b)          the larger one
 *     choose(mask, a, b)    a where the mask is set, else b, for lanes of integers
 *
 * Types and the other operations are GCC's vector extension, which clang has too.
 */
#ifndef TRL_BACKEND_CPU_LANE_MATH_H
#define TRL_BACKEND_CPU_LANE_MATH_H

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline)) /* constants must reach the loops that they unroll */
#define LN_2 0.6931471806f

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t lane_ints __attribute__((vector_size(4 * LANES)));

INLINE lanes load(const float *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(float *to, lanes v)
{
    memcpy(to, &v, sizeof v);
}

INLINE lanes splat(float x)
{
    return x - (lanes){0}; /* x - 0 is x, also for -0 */
}

/* 2^x for x <= 0, relative error below 2.7e-6; not less than 2^-126. x = n + f with f in [-1/2, 1/2]: added to 1.5 *
 * 2^23 it leaves n in the last bits, and 2^f is a polynomial whose relative error is the same at all its extremes. */
INLINE lanes power_of_two(lanes x)
{
    x = larger(x, splat(-126));
    lanes shifted = x + 12582912.0f, f = x - (shifted - 12582912.0f);
    lanes p = splat(0.009570101653f);
    p = fused(p, f, splat(0.05591786210f));
    p = fused(p, f, splat(0.2402474485f));
    p = fused(p, f, splat(0.6931218145f));
    p = fused(p, f, splat(0.9999992614f));
    return (lanes)((lane_ints)p + ((lane_ints)shifted << 23));
}

/* log2 x for normal positive x. x = 2^e m with m in [sqrt(1/2), sqrt(2)); with s = (m - 1) / (m + 1), ln m = 2 (s +
 * s³/3 + s⁵/5 + …), |s| < 0.1716, so four terms leave 5e-8. */
INLINE lanes logarithm(lanes x)
{
    lane_ints bits = (lane_ints)x;
    lane_ints exponent = (bits - 0x3F3504F3) >> 23; /* 0x3F3504F3: sqrt(1/2) */
    lanes m = (lanes)(bits - (exponent << 23));
    lanes s = (m - 1.0f) / (m + 1.0f), square = s * s;
    lanes series = splat(0.4121985831f); /* 2 log2(e) / 7 */
    series = fused(series, square, splat(0.5770780164f));
    series = fused(series, square, splat(0.9617966939f));
    series = fused(series, square, splat(2.885390082f));
    return fused(series, s, __builtin_convertvector(exponent, lanes));
}

#endif
