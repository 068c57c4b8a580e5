/* The lane kernel for AVX2 and FMA. */
#include <immintrin.h>

#define LANES 8
#define KERNEL trl__gmm_avx2
#define KERNEL_NAME "avx2"
#define fused(a, b, c) ((lanes)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define larger(a, b) ((lanes)_mm256_max_ps((__m256)(a), (__m256)(b)))
#include "backend/cpu/gmm_lanes.h"
