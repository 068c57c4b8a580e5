#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <trellis/version.h>

static const char *const names[] = {"ref", "base", "avx2"};

static trl__cpu_level best_level(void)
{
#if TRELLIS_SIMD
    if (__builtin_cpu_supports("avx2"))
        return TRL__CPU_AVX2;
#endif
    return TRL__CPU_BASE;
}

trl__cpu_level trl__cpu(void)
{
    trl__cpu_level best = best_level();
    const char *wanted = getenv("TRELLIS_CPU");
    for (int level = TRL__CPU_REF; wanted && level <= (int)best; level++)
        if (strcmp(wanted, names[level]) == 0)
            return (trl__cpu_level)level;
    return best;
}

const char *trl_cpu_level(void)
{
    return names[trl__cpu()];
}

const char *trl_version(void)
{
    return TRL_VERSION;
}
