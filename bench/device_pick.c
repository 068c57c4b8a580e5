/* Which device a benchmark takes: --device's, else the first graphics processor of an interface, else its first device. */
#include "backend/backend.h"
#include "backend/device_name.h"
#include "bench.h"

#include <stdio.h>
#include <string.h>

extern const trl__backend trl__opencl_backend, trl__cuda_backend;

static int first_graphics(const trl__backend *backend)
{
    for (int i = 0, count = backend->devices(NULL); i < count; i++) {
        trl__device_sight sight;
        backend->see(i, &sight);
        if (sight.is_graphics)
            return i;
    }
    return 0;
}

void bench_device(const bench_options *o, const char *family, char name[BENCH_DEVICE_NAME])
{
    trl__device_name given = {.index = 0};
    trl_error err;
    if (o->device)
        bench_check(trl__device_name_parse(o->device, strlen(o->device), &given, &err), &err);
    int index = strcmp(given.family, family) == 0
                    ? given.index
                    : first_graphics(strcmp(family, "cuda") == 0 ? &trl__cuda_backend : &trl__opencl_backend);
    snprintf(name, BENCH_DEVICE_NAME, "%s:%d", family, index);
}
