/* The product for AVX2. */
#define LANES 4
#define KERNEL trl__product_avx2
#include "base/matrix_product_lanes.h"
