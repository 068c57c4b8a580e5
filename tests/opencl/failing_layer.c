/* A layer between OpenCL's loader and a driver that works (OPENCL_LAYERS=this file), which makes a device fail as others do:
 *
 *     FAIL_OPENCL=open      from call FAIL_AFTER on (counted from 0), the device can't be opened
 *     FAIL_OPENCL=build     kernels do not build
 *     FAIL_OPENCL=double    the device has no double precision
 *     FAIL_OPENCL=memory    from call FAIL_AFTER on, no buffer is made
 *     FAIL_OPENCL=lost      from call FAIL_AFTER on, waiting for a queue says that there is none
 *
 * Without FAIL_AFTER nothing fails, and the number of calls is told at the end. The device is said to be a graphics processor, so that
 * --device auto takes it.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_layer.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cl_icd_dispatch *driver;
static cl_icd_dispatch layer;
static atomic_long calls;

static int is_to_fail(const char *what)
{
    const char *wanted = getenv("FAIL_OPENCL");
    return wanted && strcmp(wanted, what) == 0;
}

/* One more call of those that may fail. */
static int fails_now(const char *what)
{
    if (!is_to_fail(what))
        return 0;
    const char *after = getenv("FAIL_AFTER");
    long call = atomic_fetch_add(&calls, 1);
    return after && call >= strtol(after, NULL, 10);
}

static void tell_calls(void)
{
    if (!getenv("FAIL_AFTER") && atomic_load(&calls) > 0)
        fprintf(stderr, "calls: %ld\n", atomic_load(&calls));
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                          size_t *needed)
{
    const cl_device_type graphics = CL_DEVICE_TYPE_GPU;
    cl_int status = driver->clGetDeviceInfo(device, what, size, value, needed);
    if (what == CL_DEVICE_TYPE && value)
        memcpy(value, &graphics, sizeof graphics);
    if (what == CL_DEVICE_DOUBLE_FP_CONFIG && value && is_to_fail("double"))
        memset(value, 0, size);
    return status;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *devices,
                                             void(CL_CALLBACK *tell)(const char *, const void *, size_t, void *),
                                             void *user, cl_int *status)
{
    if (!fails_now("open"))
        return driver->clCreateContext(properties, count, devices, tell, user, status);
    *status = CL_DEVICE_NOT_AVAILABLE;
    return NULL;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *status)
{
    const char *broken = "kernel void\nbroken() { nonsense; }\n";
    const size_t length = strlen(broken);
    return is_to_fail("build") ? driver->clCreateProgramWithSource(context, 1, &broken, &length, status)
                               : driver->clCreateProgramWithSource(context, count, texts, lengths, status);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *status)
{
    if (!fails_now("memory"))
        return driver->clCreateBuffer(context, flags, size, host, status);
    *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return NULL;
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    cl_int status = driver->clFinish(queue);
    return fails_now("lost") ? CL_INVALID_COMMAND_QUEUE : status;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *needed)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && size < sizeof version))
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, &version, sizeof version);
    if (needed)
        *needed = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *own_entries,
                                            const cl_icd_dispatch **own)
{
    driver = target;
    memcpy(&layer, target, entries < sizeof layer / sizeof(void *) ? entries * sizeof(void *) : sizeof layer);
    layer.clGetDeviceInfo = get_device_info;
    layer.clCreateContext = create_context;
    layer.clCreateProgramWithSource = create_program;
    layer.clCreateBuffer = create_buffer;
    layer.clFinish = finish;
    *own = &layer;
    *own_entries = sizeof layer / sizeof(void *);
    atexit(tell_calls);
    return CL_SUCCESS;
}
