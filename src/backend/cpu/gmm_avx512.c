/* The lane kernel for AVX-512. */
#ifndef SIMDE_ENABLE_NATIVE_ALIASES /* the test has these functions from SIMDe */
#include <immintrin.h>
#endif

#define LANES 16
#define KERNEL trl__gmm_avx512
#define KERNEL_NAME "avx512"
#define fused(a, b, c) ((lanes)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define larger(a, b) ((lanes)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define choose(mask, a, b) (((mask) & (a)) | (~(mask) & (b)))
#include "backend/cpu/gmm_lanes.h"
