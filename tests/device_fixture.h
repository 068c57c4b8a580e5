/* The devices of this machine that a test can be run on: the processor's levels, then each shape of the first OpenCL device's kernels, then a CUDA device,
 * which is the fake one as a rule.
 * Where OpenCL is missing, TRELLIS_NEEDS_OPENCL=1 in the environment makes that a failure instead of a smaller test. Under the address
 * and thread sanitizers drivers are left out, as in a build without OpenCL: they bring a compiler and threads that are not built for them, and leak. */
#ifndef TEST_DEVICE_FIXTURE_H
#define TEST_DEVICE_FIXTURE_H

#include "backend/backend.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct test_devices {
    const char *name[8];
    trl__device *device[8];
    size_t count, processors; /* the first ones are the processor's */
} test_devices;

static inline void add_device(test_devices *d, const char *name)
{
    trl_error why;
    d->name[d->count] = name;
    if (trl__device_open(name, &d->device[d->count], &why) == 0) {
        d->count++;
    } else {
        printf("without %s: %s\n", name, why.text);
        if (getenv("TRELLIS_NEEDS_OPENCL"))
            abort();
    }
}

#if !TRELLIS_OPENCL || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define WITH_DRIVERS 0
#else
#define WITH_DRIVERS 1
#endif

/* The fake libcuda (tests/cuda) is our own code, and goes with the address sanitizer too. */
static inline void open_devices_of_drivers(test_devices *d)
{
    const char *fake = getenv("TRELLIS_FAKE_CUDA");
    d->processors = d->count;
    if (WITH_DRIVERS) {
        add_device(d, "opencl:0:cpu");
        add_device(d, "opencl:0:gpu");
    }
    if (fake && fake[0])
        add_device(d, "cuda:0");
}

static inline void close_devices_of_test(test_devices *d)
{
    for (size_t i = 0; i < d->count; i++)
        trl__device_close(d->device[i]);
    d->count = 0;
}

#endif
