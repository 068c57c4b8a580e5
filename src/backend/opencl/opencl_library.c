#if TRELLIS_OPENCL
#include "backend/opencl/opencl_library.h"
#include "backend/device/run_time_library.h"

#include <pthread.h>

static trl__opencl library;
static int is_there;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *handle = trl__run_time_library("libOpenCL.so.1", "libOpenCL.so");
    if (!handle)
        return;
    is_there = 1;
#define FIND(function) is_there &= trl__run_time_function(handle, #function, &library.function);
    TRL__OPENCL_FUNCTIONS(FIND)
}

const trl__opencl *trl__opencl_library(void)
{
    pthread_once(&once, load);
    return is_there ? &library : NULL;
}

const char *trl__opencl_error_name(cl_int status)
{
    static const struct {
        cl_int status;
        const char *name;
    } names[] = {
        {CL_DEVICE_NOT_FOUND, "no device"},
        {CL_DEVICE_NOT_AVAILABLE, "the device is not available"},
        {CL_COMPILER_NOT_AVAILABLE, "the driver has no compiler"},
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, "the device has no memory left"},
        {CL_OUT_OF_RESOURCES, "the device has no resources left"},
        {CL_OUT_OF_HOST_MEMORY, "out of memory"},
        {CL_BUILD_PROGRAM_FAILURE, "the kernels do not build"},
        {CL_INVALID_BUFFER_SIZE, "a buffer is larger than the device allows"},
        {CL_INVALID_WORK_GROUP_SIZE, "the device does not take a work-group of this size"},
        {CL_INVALID_KERNEL_NAME, "a kernel is missing"},
        {CL_INVALID_KERNEL_ARGS, "an argument is missing"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return "see CL/cl.h";
}

#else
typedef int trl__no_opencl; /* a file must not be empty */
#endif
