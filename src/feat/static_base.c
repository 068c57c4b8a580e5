/* The lane kernel for what every machine of the architecture has. */
#define LANES 4
#define KERNEL trl__static_base
#define KERNEL_NAME "base"
#include "feat/static_lanes.h"
