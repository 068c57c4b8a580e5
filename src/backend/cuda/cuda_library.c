#include "backend/cuda/cuda_library.h"
#include "base/run_time_library.h"
#include "base/fail.h"

#include <pthread.h>

static trl__cuda library;
static trl_error trouble; /* code 0: none */
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
        trl__fail(&trouble, TRL_ENOENT, "NVIDIA's driver is installed, but it has no device");
    else
        trl__fail(&trouble, TRL_EDEVICE, "NVIDIA's driver (CUDA %d.%d) can't be used: %s (%d)", version / 1000,
                  version % 1000 / 10, name ? name : "?", status);
}

static void load(void)
{
    void *handle;
    int code = trl__run_time_library("libcuda.so.1", "libcuda.so", &handle, &trouble);
    if (code == TRL_ENOENT)
        trl__fail(&trouble, code, "libcuda.so.1, which comes with NVIDIA's driver, is not installed");
    if (code < 0)
        return;
#define FIND(name, symbol, parameters)                                                \
    if (trouble.code == 0 && !trl__run_time_function(handle, #symbol, &library.name)) \
        trl__fail(&trouble, TRL_EDEVICE, "NVIDIA's driver is too old: it has no %s; CUDA 11 has it", #symbol);
    TRL__CUDA_FUNCTIONS(FIND)
    if (trouble.code == 0)
        begin_library();
}

int trl__cuda_library(const trl__cuda **out, trl_error *err)
{
    pthread_once(&once, load);
    *out = trouble.code == 0 ? &library : NULL;
    return *out ? 0 : trl__fail(err, trouble.code, "there is no CUDA device here: %.800s", trouble.text);
}
