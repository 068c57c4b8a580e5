/* Lanes of any machine with registers of four floats. */
#ifndef TRL_BACKEND_CPU_LANES_BASE_H
#define TRL_BACKEND_CPU_LANES_BASE_H

#define LANES 4
#define fused(a, b, c) ((a) * (b) + (c))
#define larger(a, b) select_larger(a, b)
#define choose(mask, a, b) (((mask) & (a)) | (~(mask) & (b)))
typedef float base_lanes __attribute__((vector_size(16)));
typedef int base_ints __attribute__((vector_size(16)));
static inline __attribute__((always_inline)) base_lanes select_larger(base_lanes a, base_lanes b)
{
    base_ints mask = a > b;
    return (base_lanes)((mask & (base_ints)a) | (~mask & (base_ints)b));
}

#endif
