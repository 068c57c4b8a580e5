/* Lanes of AVX2 with FMA. */
#ifndef TRL_BACKEND_CPU_LANES_AVX2_H
#define TRL_BACKEND_CPU_LANES_AVX2_H

#include <immintrin.h>

#define LANES 8
#define fused(a, b, c) ((lanes)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define larger(a, b) ((lanes)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define choose(mask, a, b) ((lane_ints)_mm256_blendv_ps((__m256)(b), (__m256)(a), (__m256)(mask)))

#endif
