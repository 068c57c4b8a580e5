/* The lane kernel for any machine with registers of four floats. */
#define LANES 4
#define KERNEL trl__gmm_base
#define KERNEL_NAME "base"
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
#include "backend/cpu/gmm_lanes.h"
