/* The list of devices, each tried with a small task. */
#include "backend/backend.h"
#include "backend/cuda/cuda_image.h"
#include "backend/device_speed.h"

#include <stdio.h>
#include <string.h>
#include <trellis/device.h>

#define FRAMES 512
#define SECONDS 0.2

extern const trl__backend trl__cpu_backend, trl__opencl_backend, trl__cuda_backend;

static const trl__backend *const backends[] = {&trl__cpu_backend, &trl__opencl_backend, &trl__cuda_backend};

static size_t count_of(const trl__backend *backend)
{
    int count = backend->devices(NULL);
    return count > 0 ? (size_t)count : 0;
}

/* Number `index` of a backend. */
static void try_device(const trl__backend *backend, int index, trl_device *d)
{
    trl__device *device = NULL;
    trl__device_sight sight;
    trl_error err;
    *d = (trl_device){.speed = 0};
    if (backend == &trl__cpu_backend)
        snprintf(d->device, sizeof d->device, "cpu");
    else
        snprintf(d->device, sizeof d->device, "%s:%d", backend->name, index);
    backend->see(index, &sight);
    snprintf(d->name, sizeof d->name, "%s", sight.name);
    int code = trl__device_open(d->device, &device, &err);
    if (code == 0) {
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
    *count = 0;
    for (size_t b = 0; b < sizeof backends / sizeof *backends; b++)
        for (size_t i = 0, there = count_of(backends[b]); i < there; i++, ++*count)
            if (*count < room)
                try_device(backends[b], (int)i, &devices[*count]);
    return 0;
}

int trl_device_missing(const char *backend, trl_error *err)
{
    for (size_t b = 0; b < sizeof backends / sizeof *backends; b++)
        if (strcmp(backends[b]->name, backend) == 0) {
            int count = backends[b]->devices(err);
            return count > 0 ? 0 : count == 0 ? TRL_ENOENT : count;
        }
    return 0;
}

const char *trl_device_backends(void)
{
    if (trl__cuda_image_size > 0)
        return TRELLIS_OPENCL ? "cpu, opencl, cuda" : "cpu, cuda";
    return TRELLIS_OPENCL ? "cpu, opencl" : "cpu";
}
