/* The lane kernel compiled for AVX2. */
#define LANES 8
#define KERNEL trl__static_avx2
#define KERNEL_NAME "avx2"
#include "feat/static_lanes.h"
