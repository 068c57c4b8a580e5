/* Densities for AVX2. */
#define LANES 8
#define KERNEL trl__shared_densities_avx2
#include "backend/cpu/shared_lanes.h"
