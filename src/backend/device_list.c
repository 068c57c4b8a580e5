/* The list of devices, each tried with a small task. */
#include "backend/backend.h"
#include "backend/cuda/cuda_image.h"
#include "backend/device_speed.h"

#include <stdio.h>
#include <trellis/device.h>

#define FRAMES 512
#define SECONDS 0.2

extern const trl__backend trl__opencl_backend, trl__cuda_backend;

static void try_device(trl_device *d)
{
    trl__device *device = NULL;
    trl_error err;
    int code = trl__device_open(d->device, 0, &device, &err);
    if (code == 0) {
        snprintf(d->name, sizeof d->name, "%s", device->info.name);
        snprintf(d->level, sizeof d->level, "%s", device->info.level);
        d->memory = device->info.memory;
        code = trl__device_speed(device, FRAMES, SECONDS, &d->speed, &err);
    }
    if (code < 0)
        snprintf(d->trouble, sizeof d->trouble, "%s", err.text);
    trl__device_close(device);
}

int trl_device_list(trl_device *devices, size_t room, size_t *count, trl_error *err)
{
    (void)err;
    size_t opencl = (size_t)trl__opencl_backend.devices(), cuda = (size_t)trl__cuda_backend.devices();
    *count = 1 + opencl + cuda;
    for (size_t i = 0; i < *count && i < room; i++) {
        devices[i] = (trl_device){.device = "cpu"};
        if (i > opencl)
            snprintf(devices[i].device, sizeof devices[i].device, "cuda:%zu", i - 1 - opencl);
        else if (i > 0)
            snprintf(devices[i].device, sizeof devices[i].device, "opencl:%zu", i - 1);
        try_device(&devices[i]);
    }
    return 0;
}

const char *trl_device_backends(void)
{
    if (trl__cuda_image_size > 0)
        return TRELLIS_OPENCL ? "cpu, opencl, cuda" : "cpu, cuda";
    return TRELLIS_OPENCL ? "cpu, opencl" : "cpu";
}
