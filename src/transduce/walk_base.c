/* The loops for what every machine of the architecture has, and the choice between the two. */
#define KERNEL trl__walk_base
#include "transduce/walk_loops.h"
#include "base/cpu.h"

const trl__walk *trl__walk_choose(void)
{
#if TRELLIS_SIMD
    if (trl__cpu() >= TRL__CPU_AVX2)
        return &trl__walk_avx2;
#endif
    return &trl__walk_base;
}
