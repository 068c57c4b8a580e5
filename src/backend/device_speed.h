/* How fast a device is, with a small task: observation probabilities of 64 tied states of 16 Gaussians over 39 dimensions. */
#ifndef TRL_BACKEND_DEVICE_SPEED_H
#define TRL_BACKEND_DEVICE_SPEED_H

#include "backend/backend.h"

/* *gflops: GFLOP/s over so many frames, transfers included, again and again for at least so many seconds; 0: it failed. */
int trl__device_speed(trl__device *device, int32_t frames, double seconds, double *gflops, trl_error *err);

#endif
