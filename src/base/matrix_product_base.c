/* The product for any machine with registers of two doubles. */
#define LANES 2
#define KERNEL trl__product_base
#include "base/matrix_product_lanes.h"
