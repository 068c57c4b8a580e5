/* A libcuda.so.1 for tests: the entry points of CUDA's driver interface that trellis uses, on the processor. Kernels are those of
 * src/backend/cuda/cuda_kernels.cu, compiled through the shim; the image that is given to cuModuleLoadData is not looked at. Queues are
 * lists of work that is done when somebody waits, so bytes that do not stay until then are missed; what other queues have is done only as far as
 * the one that is waited for follows them.
 *
 * Environment: FAKE_CUDA_DEVICES (default 2; 0: none), FAKE_CUDA_MEMORY (bytes of each device), FAKE_CUDA_LOST (after so many calls
 * all devices are lost; fake_cuda_lose says so in a test), FAKE_CUDA_OLD (cuInit refuses), FAKE_CUDA_FULL (this allocation and the
 * next fail, counted from 1), FAKE_CUDA_BACKWARDS (threads run in the opposite order), FAKE_CUDA_REFUSE (the status
 * of cuModuleLoadData), FAKE_CUDA_APART (no queue can follow another), FAKE_CUDA_LOG (a file that gets a line for each upload, kernel,
 * wait and queue that follows another, with the number of the queue; fake_cuda_log changes it, NULL: none).
 */
#include "cuda_shim.h"

#include "../../src/backend/cuda/cuda_kernels.cu"

extern "C" {
#include "backend/cuda/cuda_library.h"
#include "backend/device/driver.h"
}

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

const cuda_status DONE = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, UNAVAILABLE = 46, INVALID_CONTEXT = 201,
                  LAUNCH_FAILED = 719, DRIVER_MISMATCH = 803;
const int MOST_DEVICES = 8;

struct CUctx_st {
    int device;
};
struct CUfunc_st {
    const char *name;
    int (*run)(unsigned blocks, unsigned threads, void **arguments);
    std::vector<size_t> sizes;
};
struct CUstream_st {
    int device, number;
    std::deque<std::function<cuda_status()>> work;
    size_t done; /* pieces of work */
};
struct CUevent_st {
    CUstream_st *stream;
    size_t end; /* of the stream's work when it was recorded */
};

namespace
{
std::mutex lock;
CUctx_st contexts[MOST_DEVICES];
int retained[MOST_DEVICES];
std::map<cuda_address, size_t> pieces[MOST_DEVICES];
size_t used[MOST_DEVICES];
std::atomic<long> calls_left{-1}; /* until all devices are lost; -1: never */
cuda_status failure = UNAVAILABLE;
bool initialised;
std::atomic<int> streams{0};
FILE *calls_log;
std::set<void *> host_pieces[MOST_DEVICES];
thread_local CUctx_st *current_context;

long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

/* Every call that may fail asks here. */
bool is_lost()
{
    return calls_left >= 0 && (calls_left == 0 || --calls_left == 0);
}

template <typename... T> std::vector<size_t> sizes_of(void (*)(T...))
{
    return {sizeof(T)...};
}

template <auto kernel> int run_kernel(unsigned blocks, unsigned threads, void **arguments)
{
    return shim::launch(kernel, blocks, threads, arguments);
}

#define ENTRY(constant, function) {#function, run_kernel<function>, sizes_of(function)},
CUfunc_st functions[] = {TRL__KERNELS_OF_ALL(ENTRY)};

/* The piece of memory that has all of these bytes. */
bool is_memory(int device, cuda_address at, size_t size)
{
    std::lock_guard<std::mutex> hold(lock);
    auto next = pieces[device].upper_bound(at);
    return next != pieces[device].begin() && at + size <= std::prev(next)->first + std::prev(next)->second;
}

cuda_status here()
{
    if (!initialised)
        return NOT_INITIALIZED;
    return is_lost() ? failure : current_context ? DONE : INVALID_CONTEXT;
}

/* Does a stream's work, up to so many pieces since it was made. */
cuda_status catch_up(CUstream_st *stream, size_t end)
{
    cuda_status status = DONE;
    while (status == DONE && stream->done < end && !stream->work.empty()) {
        std::function<cuda_status()> work = std::move(stream->work.front());
        stream->work.pop_front();
        status = work();
        stream->done++;
    }
    return status;
}

cuda_status later(CUstream_st *stream, std::function<cuda_status()> work)
{
    cuda_status status = here();
    if (status == DONE && stream->device != current_context->device)
        return INVALID_CONTEXT;
    if (status == DONE)
        stream->work.push_back(std::move(work));
    return status;
}

void log_call(const char *what, const CUstream_st *stream, const char *of)
{
    std::lock_guard<std::mutex> hold(lock);
    if (calls_log) {
        fprintf(calls_log, "%s %d %s\n", what, stream->number, of);
        fflush(calls_log);
    }
}
} // namespace

EXPORT cuda_status cuInit(unsigned)
{
    if (getenv("FAKE_CUDA_OLD"))
        return DRIVER_MISMATCH;
    if (number("FAKE_CUDA_DEVICES", 2) == 0)
        return CUDA_ERROR_NO_DEVICE;
    shim::backwards = getenv("FAKE_CUDA_BACKWARDS") != nullptr;
    calls_left = number("FAKE_CUDA_LOST", -1);
    if (const char *name = getenv("FAKE_CUDA_LOG"))
        calls_log = fopen(name, "w");
    initialised = true;
    return DONE;
}

EXPORT void fake_cuda_log(const char *name)
{
    std::lock_guard<std::mutex> hold(lock);
    if (calls_log)
        fclose(calls_log);
    calls_log = name ? fopen(name, "w") : nullptr;
}

EXPORT void fake_cuda_lose(long calls, int status)
{
    calls_left = calls;
    failure = status;
}

EXPORT cuda_status cuDriverGetVersion(int *version)
{
    *version = 12040;
    return DONE;
}

EXPORT cuda_status cuGetErrorName(cuda_status status, const char **text)
{
    *text = status == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : status == UNAVAILABLE            ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
            : status == LAUNCH_FAILED          ? "CUDA_ERROR_LAUNCH_FAILED"
                                               : "CUDA_ERROR_OF_THE_FAKE";
    return DONE;
}

EXPORT cuda_status cuGetErrorString(cuda_status status, const char **text)
{
    *text = status == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory"
            : status == UNAVAILABLE            ? "the device is lost"
                                               : "an error";
    return DONE;
}

EXPORT cuda_status cuDeviceGetCount(int *count)
{
    *count = (int)number("FAKE_CUDA_DEVICES", 2);
    return initialised ? DONE : NOT_INITIALIZED;
}

EXPORT cuda_status cuDeviceGet(cuda_device *device, int index)
{
    *device = index;
    return index < MOST_DEVICES ? DONE : INVALID_VALUE;
}

EXPORT cuda_status cuDeviceGetName(char *name, int room, cuda_device device)
{
    snprintf(name, (size_t)room, "fake device %d", device);
    return DONE;
}

EXPORT cuda_status cuDeviceTotalMem_v2(size_t *bytes, cuda_device)
{
    *bytes = (size_t)number("FAKE_CUDA_MEMORY", 1L << 30);
    return DONE;
}

EXPORT cuda_status cuDeviceGetAttribute(int *value, int attribute, cuda_device)
{
    *value = attribute == CUDA_ATTRIBUTE_MAJOR ? 6 : attribute == CUDA_ATTRIBUTE_MINOR ? 1 : 0;
    return DONE;
}

EXPORT cuda_status cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
    std::lock_guard<std::mutex> hold(lock);
    contexts[device].device = device;
    retained[device]++;
    *context = &contexts[device];
    return DONE;
}

EXPORT cuda_status cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    std::lock_guard<std::mutex> hold(lock);
    size_t left = pieces[device].size() + host_pieces[device].size();
    if (--retained[device] == 0 && left > 0) {
        fprintf(stderr, "fake libcuda: %zu pieces of memory were not freed\n", left);
        abort();
    }
    return DONE;
}

EXPORT cuda_status cuCtxSetCurrent(cuda_context context)
{
    current_context = context;
    return DONE;
}

EXPORT cuda_status cuModuleLoadData(cuda_module *module, const void *)
{
    *module = (cuda_module)functions;
    return (cuda_status)number("FAKE_CUDA_REFUSE", DONE);
}

EXPORT cuda_status cuModuleUnload(cuda_module)
{
    return DONE;
}

EXPORT cuda_status cuModuleGetFunction(cuda_function *function, cuda_module, const char *name)
{
    for (CUfunc_st &f : functions)
        if (strcmp(f.name, name) == 0) {
            *function = &f;
            return DONE;
        }
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT cuda_status cuStreamCreate(cuda_stream *stream, unsigned)
{
    cuda_status status = here();
    if (status == DONE)
        *stream = new CUstream_st{current_context->device, ++streams, {}, 0};
    return status;
}

EXPORT cuda_status cuStreamDestroy_v2(cuda_stream stream)
{
    delete stream;
    return DONE;
}

EXPORT cuda_status cuStreamSynchronize(cuda_stream stream)
{
    cuda_status status = here();
    log_call("wait", stream, "");
    if (status == DONE)
        status = catch_up(stream, SIZE_MAX);
    stream->done += stream->work.size();
    stream->work.clear();
    return status;
}

EXPORT cuda_status cuEventCreate(cuda_event *event, unsigned)
{
    cuda_status status = here();
    if (status == DONE)
        *event = new CUevent_st{nullptr, 0};
    return status;
}

EXPORT cuda_status cuEventDestroy_v2(cuda_event event)
{
    delete event;
    return DONE;
}

EXPORT cuda_status cuEventRecord(cuda_event event, cuda_stream stream)
{
    *event = {stream, stream->done + stream->work.size()};
    return here();
}

/* As it was recorded; when it is recorded again, that is for those who come later. */
EXPORT cuda_status cuStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned)
{
    CUevent_st now = *event;
    if (getenv("FAKE_CUDA_APART"))
        return INVALID_VALUE;
    log_call("follow", stream, std::to_string(now.stream->number).c_str());
    if (now.stream->done >= now.end)
        return here();
    return later(stream, [=] { return catch_up(now.stream, now.end); });
}

EXPORT cuda_status cuMemHostAlloc(void **bytes, size_t size, unsigned)
{
    cuda_status status = here();
    if (status != DONE)
        return status;
    std::lock_guard<std::mutex> hold(lock);
    *bytes = malloc(size);
    host_pieces[current_context->device].insert(*bytes);
    return DONE;
}

EXPORT cuda_status cuMemFreeHost(void *bytes)
{
    std::lock_guard<std::mutex> hold(lock);
    if (host_pieces[current_context->device].erase(bytes) == 0)
        return INVALID_VALUE;
    free(bytes);
    return DONE;
}

EXPORT cuda_status cuMemAlloc_v2(cuda_address *address, size_t size)
{
    cuda_status status = here();
    if (status != DONE)
        return status;
    std::lock_guard<std::mutex> hold(lock);
    static const long full = number("FAKE_CUDA_FULL", 0);
    static long allocations = 0;
    int device = current_context->device;
    if (++allocations == full || (full > 0 && allocations == full + 1))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (size == 0 || used[device] + size > (size_t)number("FAKE_CUDA_MEMORY", 1L << 30))
        return size == 0 ? INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    void *memory = malloc(size);
    memset(memory, 0xff, size); /* NaN, where nobody wrote */
    *address = (cuda_address)memory;
    pieces[device][*address] = size;
    used[device] += size;
    return DONE;
}

EXPORT cuda_status cuMemFree_v2(cuda_address address)
{
    std::lock_guard<std::mutex> hold(lock);
    int device = current_context->device;
    auto piece = pieces[device].find(address);
    if (piece == pieces[device].end())
        return INVALID_VALUE;
    used[device] -= piece->second;
    pieces[device].erase(piece);
    free((void *)address);
    return DONE;
}

EXPORT cuda_status cuMemcpyHtoDAsync_v2(cuda_address to, const void *from, size_t size, cuda_stream stream)
{
    if (!is_memory(stream->device, to, size))
        return INVALID_VALUE;
    log_call("upload", stream, std::to_string(size).c_str());
    return later(stream, [=] {
        memcpy((void *)to, from, size);
        return DONE;
    });
}

EXPORT cuda_status cuMemcpyDtoHAsync_v2(void *to, cuda_address from, size_t size, cuda_stream stream)
{
    if (!is_memory(stream->device, from, size))
        return INVALID_VALUE;
    return later(stream, [=] {
        memcpy(to, (const void *)from, size);
        return DONE;
    });
}

/* Values are taken now, as CUDA does; the kernel runs later. */
EXPORT cuda_status cuLaunchKernel(cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                  cuda_stream stream, void **parameters, void **)
{
    std::vector<std::vector<char>> values;
    if (grid_x == 0 || grid_y * grid_z * block_y * block_z != 1 || block_x == 0 || block_x > 1024 || shared > 0)
        return INVALID_VALUE;
    for (size_t i = 0; i < function->sizes.size(); i++) {
        const char *at = static_cast<const char *>(parameters[i]);
        values.emplace_back(at, at + function->sizes[i]);
    }
    log_call("kernel", stream, function->name);
    return later(stream, [=]() mutable {
        std::vector<void *> arguments;
        for (auto &value : values)
            arguments.push_back(value.data());
        return function->run(grid_x, block_x, arguments.data()) == 0 ? DONE : LAUNCH_FAILED;
    });
}
