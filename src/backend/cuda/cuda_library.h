/* CUDA's driver interface, found when the program runs. What is used of it is declared here, by its documentation: neither CUDA's headers
 * nor its libraries are needed to build. */
#ifndef TRL_BACKEND_CUDA_CUDA_LIBRARY_H
#define TRL_BACKEND_CUDA_CUDA_LIBRARY_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

typedef int cuda_status; /* CUresult */
typedef int cuda_device;
typedef uint64_t cuda_address; /* CUdeviceptr */
typedef struct CUctx_st *cuda_context;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;

enum { /* CUresult, those that are told apart */
       CUDA_SUCCESS = 0,
       CUDA_ERROR_OUT_OF_MEMORY = 2,
       CUDA_ERROR_NO_DEVICE = 100,
       CUDA_ERROR_INVALID_IMAGE = 200,
       CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
       CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
       CUDA_ERROR_NOT_FOUND = 500,
       CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
};
enum { /* CUdevice_attribute */
       CUDA_ATTRIBUTE_MAJOR = 75,
       CUDA_ATTRIBUTE_MINOR = 76
};

/* X(name, symbol, parameters) */
#define TRL__CUDA_FUNCTIONS(X)                                                                                        \
    X(init, cuInit, (unsigned flags))                                                                                 \
    X(driver_version, cuDriverGetVersion, (int *version))                                                             \
    X(error_name, cuGetErrorName, (cuda_status status, const char **text))                                            \
    X(error_text, cuGetErrorString, (cuda_status status, const char **text))                                          \
    X(device_count, cuDeviceGetCount, (int *count))                                                                   \
    X(device_get, cuDeviceGet, (cuda_device * device, int index))                                                     \
    X(device_name, cuDeviceGetName, (char *name, int room, cuda_device device))                                       \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, cuda_device device))                                       \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, cuda_device device))                        \
    X(context_retain, cuDevicePrimaryCtxRetain, (cuda_context * context, cuda_device device))                         \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (cuda_device device))                                            \
    X(context_use, cuCtxSetCurrent, (cuda_context context))                                                           \
    X(module_load, cuModuleLoadData, (cuda_module * module, const void *image))                                       \
    X(module_unload, cuModuleUnload, (cuda_module module))                                                            \
    X(module_function, cuModuleGetFunction, (cuda_function * function, cuda_module module, const char *name))         \
    X(stream_create, cuStreamCreate, (cuda_stream * stream, unsigned flags))                                          \
    X(stream_destroy, cuStreamDestroy_v2, (cuda_stream stream))                                                       \
    X(stream_wait, cuStreamSynchronize, (cuda_stream stream))                                                         \
    X(stream_follow, cuStreamWaitEvent, (cuda_stream stream, cuda_event event, unsigned flags))                       \
    X(event_create, cuEventCreate, (cuda_event * event, unsigned flags))                                              \
    X(event_destroy, cuEventDestroy_v2, (cuda_event event))                                                           \
    X(event_record, cuEventRecord, (cuda_event event, cuda_stream stream))                                            \
    X(host_create, cuMemHostAlloc, (void **bytes, size_t size, unsigned flags))                                       \
    X(host_destroy, cuMemFreeHost, (void *bytes))                                                                     \
    X(memory_create, cuMemAlloc_v2, (cuda_address * address, size_t size))                                            \
    X(memory_destroy, cuMemFree_v2, (cuda_address address))                                                           \
    X(upload, cuMemcpyHtoDAsync_v2, (cuda_address to, const void *from, size_t size, cuda_stream stream))             \
    X(download, cuMemcpyDtoHAsync_v2, (void *to, cuda_address from, size_t size, cuda_stream stream))                 \
    X(launch, cuLaunchKernel,                                                                                         \
      (cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
       unsigned block_z, unsigned shared, cuda_stream stream, void **parameters, void **extra))

typedef struct trl__cuda {
#define TRL__CUDA_POINTER(name, symbol, parameters) cuda_status(*name) parameters;
    TRL__CUDA_FUNCTIONS(TRL__CUDA_POINTER)
#undef TRL__CUDA_POINTER
} trl__cuda;

/* TRL_ENOENT: there is no driver here, or it has no device; TRL_EDEVICE: there is one that can't be used. Any thread. */
int trl__cuda_library(const trl__cuda **out, trl_error *err);

#endif
