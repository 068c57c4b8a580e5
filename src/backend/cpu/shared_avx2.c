/* Tied mixtures for AVX2. */
#include "backend/cpu/lanes_avx2.h"

#define KERNEL trl__shared_avx2
#include "backend/cpu/shared_lanes.h"
