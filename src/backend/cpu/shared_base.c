/* Tied mixtures for any machine with registers of four floats. */
#include "backend/cpu/lanes_base.h"

#define KERNEL trl__shared_base
#include "backend/cpu/shared_lanes.h"
