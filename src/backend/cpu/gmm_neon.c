/* The lane kernel for NEON, which every aarch64 has. */
#include <arm_neon.h>

#define LANES 4
#define KERNEL trl__gmm_neon
#define KERNEL_NAME "neon"
#define fused(a, b, c) ((lanes)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#define larger(a, b) ((lanes)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define choose(mask, a, b) ((lane_ints)vbslq_s32((uint32x4_t)(mask), (int32x4_t)(a), (int32x4_t)(b)))
#include "backend/cpu/gmm_lanes.h"
