/* Several devices as one, and a device with another in reserve.
 *
 * "opencl:0,opencl:1", "cpu,cuda": streams go to the members by turns, so that threads, each with a stream of its own, work on all of them at
 * once. Whoever is free takes the next block of work. The model is loaded into each.
 *
 * "auto": when the device fails in mid-run (it is lost, out of memory, or can't take the model at all), its streams go on with the
 * processor. An operation that failed has changed nothing yet, so it is done again; what lay on the device, frames, scores and
 * back-pointers, is made again from what the searches have. The log gets a warning.
 */
#ifndef TRL_BACKEND_DEVICE_GROUP_H
#define TRL_BACKEND_DEVICE_GROUP_H

#include "backend/backend.h"

/* "A,B,…". */
int trl__group_open(const char *names, trl__device **out, trl_error *err);
/* Takes both devices over, also when it fails. */
int trl__group_with_reserve(trl__device *device, trl__device *reserve, trl__device **out, trl_error *err);

#endif
