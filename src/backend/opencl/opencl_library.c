#if TRELLIS_OPENCL
#include "backend/opencl/opencl_library.h"
#include "base/run_time_library.h"
#include "base/fail.h"

#include <pthread.h>

#define NO_DRIVER (-1001) /* the loader's, of the extension cl_khr_icd */

static trl__opencl library;
static trl_error trouble; /* code 0: none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *handle;
    if (trl__run_time_library("libOpenCL.so.1", "libOpenCL.so", &handle, &trouble) < 0)
        return;
#define FIND(function)                                                                      \
    if (trouble.code == 0 && !trl__run_time_function(handle, #function, &library.function)) \
        trl__fail(&trouble, TRL_EDEVICE, "libOpenCL.so.1 is too old: it has no %s; OpenCL 1.2 has it", #function);
    TRL__OPENCL_FUNCTIONS(FIND)
}

int trl__opencl_library(const trl__opencl **out, trl_error *err)
{
    pthread_once(&once, load);
    *out = trouble.code == 0 ? &library : NULL;
    return *out ? 0 : trl__fail(err, trouble.code, "there is no OpenCL device here: %.800s", trouble.text);
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
        {CL_MAP_FAILURE, "memory of the device can't be seen by the host"},
        {CL_INVALID_VALUE, "a value is not allowed"},
        {CL_INVALID_DEVICE, "the device is not there any more"},
        {CL_INVALID_CONTEXT, "the device is lost"},
        {CL_INVALID_COMMAND_QUEUE, "the device is lost"},
        {CL_INVALID_MEM_OBJECT, "memory of the device is lost"},
        {CL_INVALID_PROGRAM_EXECUTABLE, "the kernels were not built"},
        {CL_INVALID_KERNEL_NAME, "a kernel is missing"},
        {CL_INVALID_KERNEL_ARGS, "an argument is missing"},
        {CL_INVALID_WORK_GROUP_SIZE, "the device does not take a work-group of this size"},
        {CL_INVALID_WORK_ITEM_SIZE, "the device does not take so many work-items"},
        {CL_INVALID_OPERATION, "the device can't do this"},
        {CL_INVALID_BUFFER_SIZE, "a buffer is larger than the device allows"},
        {NO_DRIVER, "no driver is installed"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return "a failure without a name";
}

#else
typedef int trl__no_opencl; /* a file must not be empty */
#endif
