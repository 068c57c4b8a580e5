#include "backend/cuda/cuda_library.h"
#include "backend/device/run_time_library.h"
#include "base/fail.h"

#include <pthread.h>
#include <stdio.h>

static trl__cuda library;
static char trouble[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void begin_library(void)
{
    cuda_status status = library.init(0);
    const char *name = NULL;
    int version = 0;
    if (status == CUDA_SUCCESS)
        return;
    library.driver_version(&version);
    library.error_name(status, &name);
    if (status == CUDA_ERROR_NO_DEVICE)
        snprintf(trouble, sizeof trouble, "NVIDIA's driver is installed, but it has no device");
    else
        snprintf(trouble, sizeof trouble, "NVIDIA's driver (CUDA %d.%d) can't be used: %s (%d)", version / 1000,
                 version % 1000 / 10, name ? name : "?", status);
}

static void load(void)
{
    void *handle = trl__run_time_library("libcuda.so.1", "libcuda.so");
    if (!handle) {
        snprintf(trouble, sizeof trouble, "libcuda.so.1, which comes with NVIDIA's driver, is not installed");
        return;
    }
#define FIND(name, symbol, parameters)                                          \
    if (!trouble[0] && !trl__run_time_function(handle, #symbol, &library.name)) \
        snprintf(trouble, sizeof trouble, "NVIDIA's driver is too old: it has no %s; CUDA 11 has it", #symbol);
    TRL__CUDA_FUNCTIONS(FIND)
    if (!trouble[0])
        begin_library();
}

const trl__cuda *trl__cuda_library(trl_error *err)
{
    pthread_once(&once, load);
    if (!trouble[0])
        return &library;
    trl__fail(err, TRL_EDEVICE, "there is no CUDA device here: %s", trouble);
    return NULL;
}
