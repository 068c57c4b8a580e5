/* Densities for any machine with registers of four floats. */
#define LANES 4
#define KERNEL trl__shared_densities_base
#include "backend/cpu/shared_lanes.h"
