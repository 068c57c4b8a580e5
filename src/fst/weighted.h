/* The semiring that a file under fst/operations/ is compiled for.
 *
 * Every file there is compiled once per semiring, with TRL__SEMIRING 0 … 3, and reads as plain C: `weight`, `arc` and
 * the functions below are those of that semiring, so nothing is called through a pointer and a comparison of weights is
 * one instruction. Static names need no decoration; what others call is named by FN and reached through TRL__DISPATCH,
 * which stands in the first of the four only:
 *
 *     TRL__EACH(int, connect, (trl_fst *fst, trl_error *err));           // prototypes of all four
 *     int FN(connect)(trl_fst *fst, trl_error *err) { … }
 *     #if TRL__FIRST
 *     int trl_fst_connect(trl_fst *fst, trl_error *err) { TRL__DISPATCH(fst->semiring, connect, (fst, err)); }
 *     #endif
 */
#ifndef TRL_FST_WEIGHTED_H
#define TRL_FST_WEIGHTED_H

#include "base/fail.h"
#include "base/memory.h"
#include "fst/fst_data.h"

#include <math.h>
#include <string.h>

#ifndef TRL__SEMIRING
#error "files that include weighted.h live in src/fst/operations and are compiled once per semiring"
#endif

#define TRL__EACH(result, name, parameters)   \
    result trl__##name##_tropical parameters; \
    result trl__##name##_log parameters;      \
    result trl__##name##_real parameters;     \
    result trl__##name##_lattice parameters

#define TRL__DISPATCH(semiring, name, arguments)              \
    switch (semiring) {                                       \
    case TRL_LOG: return trl__##name##_log arguments;         \
    case TRL_REAL: return trl__##name##_real arguments;       \
    case TRL_LATTICE: return trl__##name##_lattice arguments; \
    default: return trl__##name##_tropical arguments;         \
    }

/* ---- The four semirings ---- */

/* HAS_PATH: the sum of two weights is one of them, so a best path has the weight of all. */
#if TRL__SEMIRING == 0
#define TRL__FIRST 1
#define HAS_PATH 1
#define FN(name) trl__##name##_tropical
typedef float weight;
#define ZERO ((weight)INFINITY)
#define ONE ((weight)0)
static inline weight plus(weight a, weight b)
{
    return a < b ? a : b;
}

#elif TRL__SEMIRING == 1
#define HAS_PATH 0
#define FN(name) trl__##name##_log
typedef float weight;
#define ZERO ((weight)INFINITY)
#define ONE ((weight)0)
static inline weight plus(weight a, weight b)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return isinf(high) ? (weight)low : (weight)(low - log1p(exp(low - high)));
}

#elif TRL__SEMIRING == 2
#define HAS_PATH 0
#define FN(name) trl__##name##_real
typedef float weight;
#define ZERO ((weight)0)
#define ONE ((weight)1)
static inline weight plus(weight a, weight b)
{
    return a + b;
}

#else
#define HAS_PATH 1
#define FN(name) trl__##name##_lattice
typedef trl_weight weight;
#define ZERO ((weight){INFINITY, INFINITY})
#define ONE ((weight){0, 0})
#endif

#ifndef TRL__FIRST
#define TRL__FIRST 0
#endif

#if TRL__SEMIRING == 0 || TRL__SEMIRING == 1 /* negative logarithms */
static inline weight times(weight a, weight b)
{
    return a + b;
}
static inline weight divide(weight a, weight b)
{
    return a == ZERO ? ZERO : a - b;
}
static inline int is_member(weight a)
{
    return a == a && a != -INFINITY;
}
#elif TRL__SEMIRING == 2
static inline weight times(weight a, weight b)
{
    return a * b;
}
static inline weight divide(weight a, weight b)
{
    return a / b;
}
static inline int is_member(weight a)
{
    return isfinite(a);
}
#endif

#if TRL__SEMIRING < 3
static inline int is_zero(weight a)
{
    return a == ZERO;
}
static inline int same(weight a, weight b)
{
    return a == b;
}
static inline int nearly(weight a, weight b, float delta)
{
    return a == b || fabsf(a - b) <= delta;
}
static inline weight from_public(trl_weight w)
{
    return w.value;
}
static inline trl_weight to_public(weight w)
{
    return (trl_weight){w, 0};
}
/* To the nearest multiple of delta: weights that are nearly equal become the same key of a table. */
static inline weight quantize(weight a, float delta)
{
    return isinf(a) ? a : floorf(a / delta + 0.5f) * delta;
}
#else
/* Costs: the sum counts, between equal sums the difference. */
static inline int less(weight a, weight b)
{
    float sum_a = a.value + a.second, sum_b = b.value + b.second;
    return sum_a != sum_b ? sum_a < sum_b : a.value < b.value;
}
static inline weight plus(weight a, weight b)
{
    return less(b, a) ? b : a;
}
static inline weight times(weight a, weight b)
{
    return (weight){a.value + b.value, a.second + b.second};
}
static inline int is_zero(weight a)
{
    return a.value == INFINITY;
}
static inline weight divide(weight a, weight b)
{
    return is_zero(a) ? ZERO : (weight){a.value - b.value, a.second - b.second};
}
static inline int is_member(weight a)
{
    return a.value == a.value && a.second == a.second && a.value != -INFINITY && a.second != -INFINITY &&
           isinf(a.value) == isinf(a.second);
}
static inline int same(weight a, weight b)
{
    return a.value == b.value && a.second == b.second;
}
static inline int nearly(weight a, weight b, float delta)
{
    return same(a, b) || (fabsf(a.value - b.value) <= delta && fabsf(a.second - b.second) <= delta);
}
static inline weight from_public(trl_weight w)
{
    return w;
}
static inline trl_weight to_public(weight w)
{
    return w;
}
static inline weight quantize(weight a, float delta)
{
    return is_zero(a) ? a : (weight){floorf(a.value / delta + 0.5f) * delta, floorf(a.second / delta + 0.5f) * delta};
}
#endif

#if TRL__SEMIRING < 2
static inline int less(weight a, weight b)
{
    return a < b;
}
#elif TRL__SEMIRING == 2
static inline int less(weight a, weight b)
{
    return a > b;
} /* the larger probability is the better one */
#endif

/* ---- Arcs and states ---- */

/* 16 bytes, in the order of OpenFst's files; 20 in the lattice semiring. */
typedef struct arc {
    int32_t ilabel, olabel;
    weight weight;
    int32_t next;
} arc;

static inline int32_t label_of(const arc *a, int output)
{
    return output ? a->olabel : a->ilabel;
}

/* A machine without arcs has no array, to whose address nothing may be added but as a number. */
static inline arc *arcs_of(const trl_fst *fst, int32_t state)
{
    return (arc *)((uintptr_t)fst->arcs + (uintptr_t)fst->range[state].first * sizeof(arc));
}

static inline uint32_t arc_count(const trl_fst *fst, int32_t state)
{
    return fst->range[state].count;
}

static inline weight final_of(const trl_fst *fst, int32_t state)
{
    return ((const weight *)fst->final)[state];
}

static inline void set_final(trl_fst *fst, int32_t state, weight w)
{
    ((weight *)fst->final)[state] = w;
}

/* Appends an arc that is known to be right. Building state by state, this is a bounds check and a store. */
static inline int push_arc(trl_fst *fst, int32_t state, arc a, trl_error *err)
{
    trl__range *range = &fst->range[state];
    if (range->first + range->count != fst->used || fst->used == fst->capacity || range->count == UINT32_MAX) {
        int code = trl__fst_reserve(fst, state, 1, err);
        if (code < 0)
            return code;
    }
    ((arc *)fst->arcs)[range->first + range->count++] = a;
    if (range->first + range->count > fst->used)
        fst->used = range->first + range->count;
    if (range->count > range->room)
        range->room = range->count;
    return 0;
}

/* A new state, not final, without arcs: its number, or a negative error code. */
static inline int32_t push_state(trl_fst *fst, trl_error *err)
{
    int32_t state;
    int code = trl_fst_add_state(fst, &state, err);
    return code < 0 ? code : state;
}

#endif
