/* The lane kernel for any machine with registers of four floats. */
#include "backend/cpu/lanes_base.h"

#define KERNEL trl__gmm_base
#define KERNEL_NAME "base"
#include "backend/cpu/gmm_lanes.h"
