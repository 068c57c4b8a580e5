/* What a device's own interface (OpenCL, CUDA) has to offer, so that everything above it is written once: memory, queues, kernels.
 *
 * Handles are the driver's. Writes, reads and launches return before they are done; a queue does them in order, and `finish` waits for
 * all. Bytes that are given to write and read must stay until then. A queue is used by one thread at a time, different ones by different threads.
 * Queues of a device know nothing of each other, but where one is told to follow another.
 */
#ifndef TRL_BACKEND_DEVICE_DRIVER_H
#define TRL_BACKEND_DEVICE_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <trellis/error.h>

/* X(constant, function): every kernel of src/backend/kernels. Those in the shape of processors are OpenCL's alone. */
#define TRL__KERNELS(X) TRL__KERNELS_OF_ALL(X) TRL__KERNELS_OF_PROCESSORS(X)
#define TRL__KERNELS_OF_PROCESSORS(X) \
    X(PLACE_TILES, place_tiles)       \
    X(SCORE_TILES, score_tiles)       \
    X(SHARE_TILES, share_tiles)       \
    X(SUM_TILES, sum_tiles)           \
    X(BACKTRACK_ALONE, backtrack_alone)
#define TRL__KERNELS_OF_ALL(X)            \
    X(PLACE_FRAMES, place_frames)         \
    X(SCORE_ROWS, score_rows)             \
    X(PACK_WHOLE, pack_whole)             \
    X(SCORE_WHOLE, score_whole)           \
    X(VITERBI, viterbi)                   \
    X(VITERBI_LARGE, viterbi_large)       \
    X(BACKTRACK, backtrack)               \
    X(FORWARD_BACKWARD, forward_backward) \
    X(SHARE_LANES, share_lanes)           \
    X(FIND_USED, find_used)               \
    X(SUM_LANES, sum_lanes)               \
    X(BEST_PATHS, best_paths)             \
    X(SUM_FORWARD, sum_forward)           \
    X(SUM_BACKWARD, sum_backward)

typedef enum trl__kernel {
#define TRL__KERNEL_CONSTANT(constant, function) TRL__KERNEL_##constant,
    TRL__KERNELS(TRL__KERNEL_CONSTANT)
#undef TRL__KERNEL_CONSTANT
        TRL__KERNEL_COUNT
} trl__kernel;

typedef struct trl__driver_facts {
    char name[128];
    int is_processor; /* the host's cores, or some like them */
    int has_double;
    int lacks_long_atomics;   /* of 64 bits, which machines need */
    int has_tiles;            /* the kernels of processors too */
    uint64_t memory, largest; /* bytes in all, and of one piece */
} trl__driver_facts;

/* A value, or a piece of memory by its handle: then size is TRL__MEMORY_ARGUMENT. */
#define TRL__MEMORY_ARGUMENT SIZE_MAX
typedef struct trl__kernel_argument {
    size_t size;
    const void *value;
} trl__kernel_argument;

typedef struct trl__driver {
    const char *name;
    int (*facts)(int index, trl__driver_facts *facts, trl_error *err);
    int (*open)(int index, void **device, trl_error *err); /* kernels are built here */
    void (*close)(void *device);
    int (*queue_create)(void *device, void **queue, trl_error *err);
    void (*queue_destroy)(void *queue);
    int (*memory_create)(void *device, size_t size, void **memory, trl_error *err);
    void (*memory_destroy)(void *memory);
    int (*write)(void *queue, void *memory, size_t offset, const void *bytes, size_t size, trl_error *err);
    int (*read)(void *queue, void *memory, size_t offset, void *bytes, size_t size, trl_error *err);
    /* The first `size` bytes where the host can read them, behind `finish`, until unmap; a processor's are not copied. NULL: read. */
    int (*map)(void *queue, void *memory, size_t size, const void **bytes, trl_error *err);
    int (*unmap)(void *queue, void *memory, const void *bytes, trl_error *err);
    int (*launch)(void *queue, trl__kernel kernel, size_t groups, size_t items, const trl__kernel_argument *arguments,
                  size_t count, trl_error *err);
    int (*finish)(void *queue, trl_error *err);
    /* What comes into `queue` from now on waits for all that `other` has so far, which begins by itself. */
    int (*follow)(void *queue, void *other, trl_error *err);
    /* What the queue has begins now, not only when somebody waits. NULL: it always does. */
    int (*flush)(void *queue, trl_error *err);
    /* Memory of the host from which bytes go up beside kernels. NULL: from any memory they do, as far as they can. */
    int (*host_create)(void *device, size_t size, void **bytes, trl_error *err);
    void (*host_destroy)(void *device, void *bytes);
} trl__driver;

#endif
