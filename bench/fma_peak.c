/* What the arithmetic units can do: chains of fused multiply-adds that do not wait for each other, nothing from memory.
 * Enough chains to hide the latency (2 units x 4 or 5 cycles), few enough for the registers. */
#include "bench.h"

#include <math.h>
#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

#define ROUNDS 200000
#define CHAINS 12

/* A loop over CHAINS registers of LANES floats; the sum keeps the compiler from leaving it out. */
#define PEAK(name, target, vector, lanes, splat, fma, add, store)    \
    target static float name(void)                                   \
    {                                                                \
        vector chain[CHAINS], sum = splat(0.0f);                     \
        const vector factor = splat(0.999999f), term = splat(1e-6f); \
        for (int i = 0; i < CHAINS; i++)                             \
            chain[i] = splat((float)i);                              \
        for (int round = 0; round < ROUNDS; round++)                 \
            for (int i = 0; i < CHAINS; i++)                         \
                chain[i] = fma(chain[i], factor, term);              \
        for (int i = 0; i < CHAINS; i++)                             \
            sum = add(sum, chain[i]);                                \
        float out[lanes];                                            \
        store(out, sum);                                             \
        return out[0] + out[lanes - 1];                              \
    }

#if defined __x86_64__
#define FMA_SSE(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
PEAK(peak_sse, , __m128, 4, _mm_set1_ps, FMA_SSE, _mm_add_ps, _mm_storeu_ps)
PEAK(peak_avx2, __attribute__((target("avx2,fma"))), __m256, 8, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps,
     _mm256_storeu_ps)
PEAK(peak_avx512, __attribute__((target("avx512f"))), __m512, 16, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps,
     _mm512_storeu_ps)
#elif defined __aarch64__
#define FMA_NEON(a, b, c) vfmaq_f32(c, a, b)
PEAK(peak_neon, , float32x4_t, 4, vdupq_n_f32, FMA_NEON, vaddq_f32, vst1q_f32)
#else
#define SAME(x) (x)
#define FMA_PLAIN(a, b, c) ((a) * (b) + (c))
#define ADD_PLAIN(a, b) ((a) + (b))
#define STORE_PLAIN(out, x) (*(out) = (x))
PEAK(peak_plain, , float, 1, SAME, FMA_PLAIN, ADD_PLAIN, STORE_PLAIN)
#endif

typedef struct unit {
    float (*run)(void);
    int lanes;
} unit;

static unit choose(const char *level)
{
#if defined __x86_64__
    if (strcmp(level, "avx512") == 0)
        return (unit){peak_avx512, 16};
    if (strcmp(level, "avx2") == 0)
        return (unit){peak_avx2, 8};
    return (unit){peak_sse, 4};
#elif defined __aarch64__
    (void)level;
    return (unit){peak_neon, 4};
#else
    (void)level;
    return (unit){peak_plain, 1};
#endif
}

double bench_fma_peak(const char *level)
{
    unit u = choose(level);
    double best = INFINITY;
    volatile float kept = 0;
    for (int run = 0; run < 30; run++) {
        double start = bench_wall_seconds();
        kept = u.run();
        best = fmin(best, bench_wall_seconds() - start);
    }
    (void)kept;
    return 2.0 * ROUNDS * CHAINS * u.lanes / best;
}
