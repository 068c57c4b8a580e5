#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <trellis/version.h>

#if defined __aarch64__
static const char *const names[] = {"ref", "neon", "avx2", "avx512"};
#else
static const char *const names[] = {"ref", "base", "avx2", "avx512"};
#endif

trl__cpu_level trl__cpu_best(void)
{
#if TRELLIS_SIMD
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return TRL__CPU_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return TRL__CPU_AVX2;
#endif
    return TRL__CPU_BASE;
}

trl__cpu_level trl__cpu(void)
{
    trl__cpu_level best = trl__cpu_best();
    const char *wanted = getenv("TRELLIS_CPU");
    for (int level = TRL__CPU_REF; wanted && level <= (int)best; level++)
        if (strcmp(wanted, names[level]) == 0 || (level == TRL__CPU_BASE && strcmp(wanted, "base") == 0))
            return (trl__cpu_level)level;
    return best;
}

const char *trl__cpu_level_name(trl__cpu_level level)
{
    return names[level];
}

const char *trl_cpu_level(void)
{
    return names[trl__cpu()];
}

const char *trl_version(void)
{
    return TRL_VERSION;
}
