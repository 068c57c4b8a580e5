/* Weights as keys of tables: those with the same key count as equal. */
#ifndef TRL_FST_WEIGHT_KEY_H
#define TRL_FST_WEIGHT_KEY_H

#include "fst/weighted.h"

/* To the nearest integer; what is too large for one is taken as it is. */
static inline int32_t trl__rounded(float value, float scale)
{
    float x = value * scale;
    int32_t bits;
    if (fabsf(x) < 1e9f)
        return (int32_t)(x + (x < 0 ? -0.5f : 0.5f));
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Multiples of delta, which is 1 / scale: of costs, or of the logarithms of probabilities. */
static inline uint64_t trl__weight_key(weight w, float scale)
{
#if TRL__SEMIRING == 3
    return (uint64_t)(uint32_t)trl__rounded(w.value, scale) << 32 | (uint32_t)trl__rounded(w.second, scale);
#elif TRL__SEMIRING == 2
    return w == 0 ? 1 : (uint64_t)(uint32_t)trl__rounded(logf(fabsf(w)), scale) << 2 | (w < 0) << 1;
#else
    return (uint32_t)trl__rounded(w, scale);
#endif
}

#endif
