/* CUDA's driver interface as a driver. Kernels are in the library, compiled (cuda_image.h); a device's primary context is shared with whoever else uses
 * it in the process. A context is current in a thread, so every call begins with the choice of its own. */
#include "backend/cuda/cuda_image.h"
#include "backend/cuda/cuda_library.h"
#include "backend/device/device_backend.h"
#include "backend/device_name.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>

#define MOST_ARGUMENTS 24
#define OWN_ORDER 1 /* CU_STREAM_NON_BLOCKING: a stream does not wait for the default one */
#define NO_TIME 2   /* CU_EVENT_DISABLE_TIMING: such events cost less */

typedef struct cuda_opened {
    const trl__cuda *cuda;
    cuda_device id;
    int index;
    cuda_context context;
    cuda_module module;
    cuda_function function[TRL__KERNEL_COUNT]; /* NULL: a kernel of processors */
} cuda_opened;

typedef struct cuda_queue {
    const cuda_opened *device;
    cuda_stream stream;
    cuda_event so_far; /* what the stream had when somebody came to follow it */
} cuda_queue;

typedef struct cuda_memory {
    const cuda_opened *device;
    cuda_address address;
} cuda_memory;

static int fail_status(const trl__cuda *cuda, trl_error *err, cuda_status status, const char *what)
{
    const char *name = NULL, *text = NULL;
    int no_memory = status == CUDA_ERROR_OUT_OF_MEMORY || status == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    cuda->error_name(status, &name);
    cuda->error_text(status, &text);
    return trl__fail(err, no_memory ? TRL_ENOMEM : TRL_EDEVICE, "CUDA, %s: %s (%s, %d)", what, text ? text : "?",
                     name ? name : "?", status);
}

/* ---- Devices ---- */

static int count_devices(trl_error *err)
{
    const trl__cuda *cuda;
    int count = 0, code = trl__cuda_library(&cuda, err);
    if (code < 0)
        return code == TRL_ENOENT ? 0 : code;
    cuda_status status = cuda->device_count(&count);
    return status == CUDA_SUCCESS ? count : fail_status(cuda, err, status, "counting devices");
}

static int find_device(int index, cuda_device *id, const trl__cuda **cuda, trl_error *err)
{
    trl_error why;
    int count = count_devices(&why);
    if (count < 0 || trl__cuda_library(cuda, &why) < 0)
        return trl__fail(err, TRL_EDEVICE, "%s", why.text);
    if (index >= count)
        return trl__device_name_beyond("cuda", "CUDA", index, count, err);
    cuda_status status = (*cuda)->device_get(id, index);
    return status == CUDA_SUCCESS ? 0 : fail_status(*cuda, err, status, "asking for the device");
}

static int facts(int index, trl__driver_facts *f, trl_error *err)
{
    const trl__cuda *cuda = NULL;
    cuda_device id = 0;
    size_t memory = 0;
    int code = find_device(index, &id, &cuda, err);
    if (code < 0)
        return code;
    *f = (trl__driver_facts){.has_double = 1};
    cuda_status status = cuda->device_name(f->name, (int)sizeof f->name - 1, id);
    if (status == CUDA_SUCCESS)
        status = cuda->device_memory(&memory, id);
    f->memory = f->largest = memory;
    return status == CUDA_SUCCESS ? 0 : fail_status(cuda, err, status, "asking for the device's name and memory");
}

static void close_device(void *handle)
{
    cuda_opened *d = handle;
    if (d->context) {
        d->cuda->context_use(d->context);
        if (d->module)
            d->cuda->module_unload(d->module);
        d->cuda->context_release(d->id);
    }
    trl__free(d);
}

/* Why a driver refuses the kernels. */
static int fail_module(const cuda_opened *d, trl_error *err, cuda_status status)
{
    int major = 0, minor = 0, version = 0;
    d->cuda->device_attribute(&major, CUDA_ATTRIBUTE_MAJOR, d->id);
    d->cuda->device_attribute(&minor, CUDA_ATTRIBUTE_MINOR, d->id);
    d->cuda->driver_version(&version);
    if (trl__cuda_image_size == 0)
        return trl__fail(
            err, TRL_EDEVICE,
            "this trellis was built where there was no nvcc, so it has no kernels for CUDA; the device may "
            "work as opencl:N");
    if (status == CUDA_ERROR_NO_BINARY_FOR_GPU)
        return trl__fail(
            err, TRL_EDEVICE,
            "cuda:%d has compute capability %d.%d; the kernels are for 7.5 and newer. The device may work as "
            "opencl:N",
            d->index, major, minor);
    if (status == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || status == CUDA_ERROR_INVALID_IMAGE)
        return trl__fail(
            err, TRL_EDEVICE,
            "NVIDIA's driver (CUDA %d.%d) is older than the compiler of the kernels: install a newer driver",
            version / 1000, version % 1000 / 10);
    return fail_status(d->cuda, err, status, "loading the kernels");
}

static int load_kernels(cuda_opened *d, trl_error *err)
{
#define NULL_NAME(constant, function) [TRL__KERNEL_##constant] = NULL,
#define NAME(constant, function) [TRL__KERNEL_##constant] = #function,
    static const char *const names[] = {TRL__KERNELS_OF_PROCESSORS(NULL_NAME) TRL__KERNELS_OF_ALL(NAME)};
    cuda_status status = d->cuda->module_load(&d->module, trl__cuda_image);
    if (status != CUDA_SUCCESS)
        return fail_module(d, err, status);
    for (int i = 0; i < TRL__KERNEL_COUNT; i++) {
        status = names[i] ? d->cuda->module_function(&d->function[i], d->module, names[i]) : CUDA_SUCCESS;
        if (status != CUDA_SUCCESS)
            return fail_status(d->cuda, err, status, names[i]);
    }
    return 0;
}

static int open_device(int index, void **out, trl_error *err)
{
    const trl__cuda *cuda = NULL;
    cuda_device id = 0;
    int code = find_device(index, &id, &cuda, err);
    cuda_opened *d = code == 0 ? trl__alloc_zero(1, sizeof *d) : NULL;
    if (!d)
        return code < 0 ? code : trl__fail_memory(err);
    *d = (cuda_opened){.cuda = cuda, .id = id, .index = index};
    cuda_status status = cuda->context_retain(&d->context, id);
    if (status != CUDA_SUCCESS)
        d->context = NULL;
    else
        status = cuda->context_use(d->context);
    code = status == CUDA_SUCCESS ? load_kernels(d, err) : fail_status(cuda, err, status, "opening the device");
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
    cuda_queue *q = handle;
    q->device->cuda->context_use(q->device->context);
    if (q->so_far)
        q->device->cuda->event_destroy(q->so_far);
    if (q->stream)
        q->device->cuda->stream_destroy(q->stream);
    trl__free(q);
}

static int queue_create(void *device, void **out, trl_error *err)
{
    const cuda_opened *d = device;
    cuda_queue *q = trl__alloc_zero(1, sizeof *q);
    if (!q)
        return trl__fail_memory(err);
    q->device = d;
    cuda_status status = d->cuda->context_use(d->context);
    if (status == CUDA_SUCCESS)
        status = d->cuda->stream_create(&q->stream, OWN_ORDER);
    if (status == CUDA_SUCCESS)
        status = d->cuda->event_create(&q->so_far, NO_TIME);
    if (status != CUDA_SUCCESS) {
        queue_destroy(q);
        return fail_status(d->cuda, err, status, "making a queue");
    }
    *out = q;
    return 0;
}

static int memory_create(void *device, size_t size, void **out, trl_error *err)
{
    const cuda_opened *d = device;
    cuda_memory *m = trl__alloc_zero(1, sizeof *m);
    char what[60];
    if (!m)
        return trl__fail_memory(err);
    m->device = d;
    cuda_status status = d->cuda->context_use(d->context);
    if (status == CUDA_SUCCESS)
        status = d->cuda->memory_create(&m->address, size);
    if (status != CUDA_SUCCESS) {
        trl__free(m);
        snprintf(what, sizeof what, "%zu bytes of memory", size);
        return fail_status(d->cuda, err, status, what);
    }
    *out = m;
    return 0;
}

static void memory_destroy(void *handle)
{
    cuda_memory *m = handle;
    m->device->cuda->context_use(m->device->context);
    m->device->cuda->memory_destroy(m->address);
    trl__free(m);
}

static int host_create(void *device, size_t size, void **bytes, trl_error *err)
{
    const cuda_opened *d = device;
    cuda_status status = d->cuda->context_use(d->context);
    if (status == CUDA_SUCCESS)
        status = d->cuda->host_create(bytes, size, 0);
    return status == CUDA_SUCCESS ? 0 : fail_status(d->cuda, err, status, "memory of the host");
}

static void host_destroy(void *device, void *bytes)
{
    const cuda_opened *d = device;
    d->cuda->context_use(d->context);
    d->cuda->host_destroy(bytes);
}

static int write_memory(void *queue, void *memory, size_t offset, const void *bytes, size_t size, trl_error *err)
{
    const cuda_queue *q = queue;
    const trl__cuda *cuda = q->device->cuda;
    cuda_status status = cuda->context_use(q->device->context);
    if (status == CUDA_SUCCESS)
        status = cuda->upload(((cuda_memory *)memory)->address + offset, bytes, size, q->stream);
    return status == CUDA_SUCCESS ? 0 : fail_status(cuda, err, status, "sending data");
}

static int read_memory(void *queue, void *memory, size_t offset, void *bytes, size_t size, trl_error *err)
{
    const cuda_queue *q = queue;
    const trl__cuda *cuda = q->device->cuda;
    cuda_status status = cuda->context_use(q->device->context);
    if (status == CUDA_SUCCESS)
        status = cuda->download(bytes, ((cuda_memory *)memory)->address + offset, size, q->stream);
    return status == CUDA_SUCCESS ? 0 : fail_status(cuda, err, status, "fetching data");
}

/* CUDA takes the address of every argument; of memory that is the address of its address. */
static int launch(void *queue, trl__kernel kernel, size_t groups, size_t items, const trl__kernel_argument *arguments,
                  size_t count, trl_error *err)
{
    const cuda_queue *q = queue;
    const trl__cuda *cuda = q->device->cuda;
    const void *parameters[MOST_ARGUMENTS];
    if (count > MOST_ARGUMENTS || groups > INT32_MAX || !q->device->function[kernel])
        return trl__fail(err, TRL_EDEVICE, "CUDA: kernel %d with %zu arguments and %zu groups can't be started",
                         (int)kernel, count, groups);
    for (size_t i = 0; i < count; i++)
        parameters[i] = arguments[i].size == TRL__MEMORY_ARGUMENT ? &((const cuda_memory *)arguments[i].value)->address
                                                                  : arguments[i].value;
    cuda_status status = cuda->context_use(q->device->context);
    if (status == CUDA_SUCCESS)
        status = cuda->launch(q->device->function[kernel], (unsigned)groups, 1, 1, (unsigned)items, 1, 1, 0, q->stream,
                              (void **)parameters, NULL);
    return status == CUDA_SUCCESS ? 0 : fail_status(cuda, err, status, "starting a kernel");
}

static int finish(void *queue, trl_error *err)
{
    const cuda_queue *q = queue;
    const trl__cuda *cuda = q->device->cuda;
    cuda_status status = cuda->context_use(q->device->context);
    if (status == CUDA_SUCCESS)
        status = cuda->stream_wait(q->stream);
    return status == CUDA_SUCCESS ? 0 : fail_status(cuda, err, status, "waiting for the device");
}

static int follow(void *queue, void *other, trl_error *err)
{
    const cuda_queue *q = queue, *first = other;
    const trl__cuda *cuda = q->device->cuda;
    cuda_status status = cuda->context_use(q->device->context);
    if (status == CUDA_SUCCESS)
        status = cuda->event_record(first->so_far, first->stream);
    if (status == CUDA_SUCCESS)
        status = cuda->stream_follow(q->stream, first->so_far, 0);
    return status == CUDA_SUCCESS ? 0 : fail_status(cuda, err, status, "following a queue");
}

static const trl__driver driver = {.name = "cuda",
                                   .facts = facts,
                                   .open = open_device,
                                   .close = close_device,
                                   .queue_create = queue_create,
                                   .queue_destroy = queue_destroy,
                                   .memory_create = memory_create,
                                   .memory_destroy = memory_destroy,
                                   .write = write_memory,
                                   .read = read_memory,
                                   .launch = launch,
                                   .finish = finish,
                                   .follow = follow,
                                   .host_create = host_create,
                                   .host_destroy = host_destroy};

static void see(int index, trl__device_sight *sight)
{
    trl__driven_see(&driver, index, sight);
}

static int open_cuda(const char *level, int index, trl__device **out, trl_error *err)
{
    return trl__driven_open(&trl__cuda_backend, &driver, level, index, out, err);
}

const trl__backend trl__cuda_backend = TRL__DRIVEN_BACKEND("cuda", count_devices, see, open_cuda);
