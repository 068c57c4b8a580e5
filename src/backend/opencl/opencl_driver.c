/* OpenCL 1.2 as a driver. Devices of all platforms are numbered through, in the order the runtime has them. */
#include "backend/device/device_backend.h"
#include "backend/device_name.h"
#if TRELLIS_OPENCL
#include "backend/kernels/kernel_source.h"
#include "backend/opencl/opencl_library.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define MOST_PLATFORMS 16
#define MOST_DEVICES 64

typedef struct opencl_device {
    const trl__opencl *cl;
    cl_device_id id;
    cl_context context;
    cl_program program;
} opencl_device;

typedef struct opencl_queue {
    const opencl_device *device;
    cl_command_queue queue;
    cl_kernel kernel[TRL__KERNEL_COUNT]; /* a kernel's arguments belong to it, so each queue has its own */
} opencl_queue;

typedef struct opencl_memory {
    const opencl_device *device;
    cl_mem memory;
} opencl_memory;

static int fail_status(trl_error *err, cl_int status, const char *what)
{
    int code = status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY ||
                       status == CL_OUT_OF_RESOURCES || status == CL_INVALID_BUFFER_SIZE
                   ? TRL_ENOMEM
                   : TRL_EDEVICE;
    return trl__fail(err, code, "OpenCL, %s: %s (%d)", what, trl__opencl_error_name(status), (int)status);
}

/* ---- Devices ---- */

static cl_uint find_devices(const trl__opencl *cl, cl_device_id ids[MOST_DEVICES])
{
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint platform_count = 0, count = 0;
    if (cl->clGetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count) != CL_SUCCESS)
        return 0;
    for (cl_uint p = 0; p < platform_count && p < MOST_PLATFORMS; p++) {
        cl_uint found = 0, room = MOST_DEVICES - count;
        if (room > 0 && cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, room, ids + count, &found) == CL_SUCCESS)
            count += found < room ? found : room;
    }
    return count;
}

static int count_devices(trl_error *err)
{
    cl_device_id ids[MOST_DEVICES];
    const trl__opencl *cl;
    int code = trl__opencl_library(&cl, err);
    if (code < 0)
        return code == TRL_ENOENT ? 0 : code;
    int count = (int)find_devices(cl, ids);
    if (count == 0)
        trl__fail(err, TRL_ENOENT,
                  "there is no OpenCL device here: the loader libOpenCL is installed, but no driver; install the "
                  "device's, or pocl-opencl-icd for the processor");
    return count;
}

static int find_device(int index, const trl__opencl **cl, cl_device_id *id, trl_error *err)
{
    cl_device_id ids[MOST_DEVICES];
    trl_error why;
    int count = count_devices(&why);
    if (count <= 0 || trl__opencl_library(cl, &why) < 0)
        return trl__fail(err, TRL_EDEVICE, "%s", why.text);
    if (index >= count)
        return trl__device_name_beyond("opencl", "OpenCL", index, count, err);
    find_devices(*cl, ids);
    *id = ids[index];
    return 0;
}

static int has_long_atomics(const trl__opencl *cl, cl_device_id id)
{
    size_t size = 0;
    cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size);
    char *names = trl__alloc_zero(size + 1, 1);
    int has = names && cl->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, names, NULL) == CL_SUCCESS &&
              strstr(names, "cl_khr_int64_base_atomics") && strstr(names, "cl_khr_int64_extended_atomics");
    trl__free(names);
    return has;
}

static int facts(int index, trl__driver_facts *f, trl_error *err)
{
    cl_device_id id = NULL;
    const trl__opencl *cl = NULL;
    int code = find_device(index, &cl, &id, err);
    cl_device_type type = 0;
    cl_device_fp_config doubles = 0;
    cl_ulong memory = 0, largest = 0;
    if (code < 0)
        return code;
    *f = (trl__driver_facts){0};
    cl->clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof f->name - 1, f->name, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof doubles, &doubles, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, NULL);
    f->is_processor = (type & CL_DEVICE_TYPE_CPU) != 0;
    f->has_double = doubles != 0;
    f->lacks_long_atomics = !has_long_atomics(cl, id);
    f->has_tiles = 1;
    f->memory = memory;
    f->largest = largest;
    return 0;
}

static void close_device(void *handle)
{
    opencl_device *d = handle;
    if (d->program)
        d->cl->clReleaseProgram(d->program);
    if (d->context)
        d->cl->clReleaseContext(d->context);
    trl__free(d);
}

/* The beginning of what the compiler says, in one line. */
static int fail_build(const opencl_device *d, trl_error *err, cl_int status)
{
    char log[600] = "";
    size_t size = 0;
    d->cl->clGetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *whole = trl__alloc_zero(size + 1, 1);
    if (whole && d->cl->clGetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, size, whole, NULL) == CL_SUCCESS)
        snprintf(log, sizeof log, "%s", whole + strspn(whole, "\n"));
    trl__free(whole);
    for (size_t end = strlen(log); end > 0 && log[end - 1] == '\n'; end--)
        log[end - 1] = '\0';
    for (char *line = strchr(log, '\n'); line; line = strchr(line, '\n'))
        *line = ' ';
    return trl__fail(err, TRL_EDEVICE, "OpenCL: the kernels do not build (%d): %s", (int)status, log);
}

static int build(opencl_device *d, trl_error *err)
{
    cl_int status;
    const char *text = trl__kernel_source;
    size_t size = trl__kernel_source_size;
    d->context = d->cl->clCreateContext(NULL, 1, &d->id, NULL, NULL, &status);
    if (!d->context)
        return fail_status(err, status, "opening the device");
    d->program = d->cl->clCreateProgramWithSource(d->context, 1, &text, &size, &status);
    if (!d->program)
        return fail_status(err, status, "reading the kernels");
    status = d->cl->clBuildProgram(d->program, 1, &d->id, "-cl-std=CL1.2", NULL, NULL);
    return status == CL_SUCCESS ? 0 : fail_build(d, err, status);
}

static int open_device(int index, void **out, trl_error *err)
{
    cl_device_id id = NULL;
    const trl__opencl *cl = NULL;
    int code = find_device(index, &cl, &id, err);
    opencl_device *d = code == 0 ? trl__alloc_zero(1, sizeof *d) : NULL;
    if (!d)
        return code < 0 ? code : trl__fail_memory(err);
    d->cl = cl;
    d->id = id;
    code = build(d, err);
    if (code < 0) {
        close_device(d);
        return code;
    }
    *out = d;
    return 0;
}

/* ---- Queues and memory ---- */

static void queue_destroy(void *handle)
{
    opencl_queue *q = handle;
    for (int i = 0; i < TRL__KERNEL_COUNT; i++)
        if (q->kernel[i])
            q->device->cl->clReleaseKernel(q->kernel[i]);
    if (q->queue)
        q->device->cl->clReleaseCommandQueue(q->queue);
    trl__free(q);
}

static int queue_create(void *device, void **out, trl_error *err)
{
    static const char *const names[] = {
#define NAME(constant, function) #function,
        TRL__KERNELS(NAME)};
    opencl_device *d = device;
    opencl_queue *q = trl__alloc_zero(1, sizeof *q);
    cl_int status;
    if (!q)
        return trl__fail_memory(err);
    q->device = d;
    q->queue = d->cl->clCreateCommandQueue(d->context, d->id, 0, &status);
    for (int i = 0; q->queue && status == CL_SUCCESS && i < TRL__KERNEL_COUNT; i++)
        q->kernel[i] = d->cl->clCreateKernel(d->program, names[i], &status);
    if (status != CL_SUCCESS) {
        queue_destroy(q);
        return fail_status(err, status, "making a queue");
    }
    *out = q;
    return 0;
}

static int memory_create(void *device, size_t size, void **out, trl_error *err)
{
    opencl_device *d = device;
    opencl_memory *m = trl__alloc_zero(1, sizeof *m);
    cl_int status;
    char what[60];
    if (!m)
        return trl__fail_memory(err);
    m->device = d;
    m->memory = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, size, NULL, &status);
    if (!m->memory) {
        trl__free(m);
        snprintf(what, sizeof what, "%zu bytes of memory", size);
        return fail_status(err, status, what);
    }
    *out = m;
    return 0;
}

static void memory_destroy(void *handle)
{
    opencl_memory *m = handle;
    m->device->cl->clReleaseMemObject(m->memory);
    trl__free(m);
}

static int write_memory(void *queue, void *memory, size_t offset, const void *bytes, size_t size, trl_error *err)
{
    opencl_queue *q = queue;
    cl_mem to = ((opencl_memory *)memory)->memory;
    cl_int status = q->device->cl->clEnqueueWriteBuffer(q->queue, to, CL_FALSE, offset, size, bytes, 0, NULL, NULL);
    return status == CL_SUCCESS ? 0 : fail_status(err, status, "sending data");
}

static int read_memory(void *queue, void *memory, size_t offset, void *bytes, size_t size, trl_error *err)
{
    opencl_queue *q = queue;
    cl_mem from = ((opencl_memory *)memory)->memory;
    cl_int status = q->device->cl->clEnqueueReadBuffer(q->queue, from, CL_FALSE, offset, size, bytes, 0, NULL, NULL);
    return status == CL_SUCCESS ? 0 : fail_status(err, status, "fetching data");
}

static int map_memory(void *queue, void *memory, size_t size, const void **bytes, trl_error *err)
{
    opencl_queue *q = queue;
    cl_mem from = ((opencl_memory *)memory)->memory;
    cl_int status;
    *bytes = q->device->cl->clEnqueueMapBuffer(q->queue, from, CL_FALSE, CL_MAP_READ, 0, size, 0, NULL, NULL, &status);
    return status == CL_SUCCESS ? 0 : fail_status(err, status, "fetching data");
}

static int unmap_memory(void *queue, void *memory, const void *bytes, trl_error *err)
{
    opencl_queue *q = queue;
    cl_mem from = ((opencl_memory *)memory)->memory;
    cl_int status = q->device->cl->clEnqueueUnmapMemObject(q->queue, from, (void *)bytes, 0, NULL, NULL);
    return status == CL_SUCCESS ? 0 : fail_status(err, status, "fetching data");
}

static int launch(void *queue, trl__kernel kernel, size_t groups, size_t items, const trl__kernel_argument *arguments,
                  size_t count, trl_error *err)
{
    opencl_queue *q = queue;
    const trl__opencl *cl = q->device->cl;
    size_t all = groups * items;
    cl_int status = CL_SUCCESS;
    for (size_t i = 0; status == CL_SUCCESS && i < count; i++) {
        const trl__kernel_argument *a = &arguments[i];
        if (a->size == TRL__MEMORY_ARGUMENT)
            status = cl->clSetKernelArg(q->kernel[kernel], (cl_uint)i, sizeof(cl_mem),
                                        &((const opencl_memory *)a->value)->memory);
        else
            status = cl->clSetKernelArg(q->kernel[kernel], (cl_uint)i, a->size, a->value);
    }
    if (status == CL_SUCCESS)
        status = cl->clEnqueueNDRangeKernel(q->queue, q->kernel[kernel], 1, NULL, &all, &items, 0, NULL, NULL);
    return status == CL_SUCCESS ? 0 : fail_status(err, status, "starting a kernel");
}

static int finish(void *queue, trl_error *err)
{
    opencl_queue *q = queue;
    cl_int status = q->device->cl->clFinish(q->queue);
    return status == CL_SUCCESS ? 0 : fail_status(err, status, "waiting for the device");
}

static int flush(void *queue, trl_error *err)
{
    opencl_queue *q = queue;
    cl_int status = q->device->cl->clFlush(q->queue);
    return status == CL_SUCCESS ? 0 : fail_status(err, status, "starting a queue");
}

/* The other queue must be on its way, or this one might wait for ever. */
static int follow(void *queue, void *other, trl_error *err)
{
    opencl_queue *q = queue;
    const trl__opencl *cl = q->device->cl;
    cl_event so_far;
    cl_int status = cl->clEnqueueMarkerWithWaitList(((opencl_queue *)other)->queue, 0, NULL, &so_far);
    if (status != CL_SUCCESS)
        return fail_status(err, status, "marking a queue");
    int code = flush(other, err);
    if (code == 0)
        status = cl->clEnqueueBarrierWithWaitList(q->queue, 1, &so_far, NULL);
    cl->clReleaseEvent(so_far);
    return status == CL_SUCCESS ? code : fail_status(err, status, "following a queue");
}

static const trl__driver driver = {.name = "opencl",
                                   .facts = facts,
                                   .open = open_device,
                                   .close = close_device,
                                   .queue_create = queue_create,
                                   .queue_destroy = queue_destroy,
                                   .memory_create = memory_create,
                                   .memory_destroy = memory_destroy,
                                   .write = write_memory,
                                   .read = read_memory,
                                   .map = map_memory,
                                   .unmap = unmap_memory,
                                   .launch = launch,
                                   .finish = finish,
                                   .follow = follow,
                                   .flush = flush};

#else /* built without OpenCL's headers */
#include "base/fail.h"

static int count_devices(trl_error *err)
{
    trl__fail(err, TRL_ENOENT, "there is no OpenCL device here: this trellis was built without OpenCL");
    return 0;
}

static int facts(int index, trl__driver_facts *f, trl_error *err)
{
    (void)index, (void)f;
    return trl__fail(err, TRL_EDEVICE, "this trellis was built without OpenCL");
}

static const trl__driver driver = {.name = "opencl", .facts = facts};
#endif

static void see(int index, trl__device_sight *sight)
{
    trl__driven_see(&driver, index, sight);
}

static int open_opencl(const char *level, int index, trl__device **out, trl_error *err)
{
    return trl__driven_open(&trl__opencl_backend, &driver, level, index, out, err);
}

const trl__backend trl__opencl_backend = TRL__DRIVEN_BACKEND("opencl", count_devices, see, open_opencl);
