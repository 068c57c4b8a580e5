/* Devices behind a driver (OpenCL, CUDA): the operations of backend.h, written once for all of them.
 *
 * Kernels come in two shapes. *Lanes* is for graphics processors: many work-items, local memory, neighbours read neighbouring words.
 * *Tiles* is for processors: groups of one item, vectors in registers. The device's type chooses; "opencl:0:gpu" and "opencl:0:cpu" force
 * one of them.
 *
 * What stays on the device: the model, the frames of the last call of `frames`, their scores, and back-pointers of whole
 * utterances. A stream is a queue with its memory, which grows to the largest batch. `frames` and `score` (of scores that
 * stay) return before the device is done; other operations have their results when they return.
 *
 * Transfers and computation overlap in two ways. Streams of several threads know nothing of each other: while one computes, another sends. And a
 * stream has a second queue, by which `frames_ahead` sends a later batch's frames into a second set of memory; the call of `frames` for
 * that batch has the first queue follow the second, exchanges the sets, and launches what is left of step 0. Memory of the second set is
 * given back when anything else needs it.
 */
#ifndef TRL_BACKEND_DEVICE_DEVICE_BACKEND_H
#define TRL_BACKEND_DEVICE_DEVICE_BACKEND_H

#include "backend/backend.h"
#include "backend/cpu/gmm_kernel.h"
#include "backend/device/driver.h"
#include "backend/kernels/device_records.h"

#include <pthread.h>

extern const trl__backend trl__opencl_backend, trl__cuda_backend;

typedef struct trl__driven_device {
    trl__device base;
    const trl__driver *driver;
    void *handle;
    trl__driver_facts facts;
    int tiles; /* the processor's shape */
} trl__driven_device;

/* A piece of the device's memory. */
typedef struct trl__room {
    void *memory;
    size_t size;
} trl__room;

/* The parameters once more, as whole frames are scored with (score_whole.cl); made when they are first wanted. */
typedef struct trl__whole_parameters {
    pthread_mutex_t lock;
    int is_there;
    trl__room packed, packed_at;
} trl__whole_parameters;

typedef struct trl__driven_parameters {
    trl__parameters base;
    trl__mixtures m;
    int32_t lane_rows; /* of a block of lanes */
    trl__room packed, packed_at, first_gaussian, differences, centre;
    trl__whole_parameters *whole;
    /* A model that is too large for the device stays on the host and goes up page by page, for each call: page i has the tied states
     * [page_first[i], page_first[i + 1]), and packed_at counts from the page's first. A model that fits is one page. */
    int32_t *page_first;
    size_t pages;
} trl__driven_parameters;

/* The frames of a search that are on the device. */
typedef struct trl__sent {
    const trl_matrix *source;
    int32_t begin, end;
    int64_t frame_at, lane_at; /* floats; a lane, the first of a block */
    /* What else is there of the same search, each with the stamp that the search has of it. */
    int64_t scores, back; /* 0: none */
    int64_t first_row;    /* in row_at */
} trl__sent;

/* Bytes on their way up: they must stay until the queue is done. */
typedef struct trl__staging {
    void *block;
    size_t size;
    int is_drivers; /* made by the driver's host_create */
    int busy;
} trl__staging;

/* Frames of a call on the device, without gaps, and for every lane of every block where its frame lies. */
typedef struct trl__frame_set {
    trl__sent *sent;
    size_t count, capacity;
    size_t dim, floats, lanes;
    trl__staging bytes;
    trl__room frames, source;
} trl__frame_set;

typedef struct trl__driven_stream {
    trl__stream base;
    const trl__driver *driver;
    void *queue, *transfers;    /* the second is made when something is sent ahead */
    trl__frame_set here, ahead; /* of the last call of `frames`; of a later one */
    int on_the_way;             /* the second queue may not be done with `ahead` */
    int64_t stamps;             /* given out so far */
    int64_t *row_at;            /* by row of the searches that were scored: where its scores lie */
    size_t row_capacity;
    trl__staging piece_bytes, search_bytes, score_bytes, passage_bytes;
    trl__scratch down; /* what comes down */
    trl__scratch moves, ends, arc_counts;
    trl__scratch items, order;
    trl__room lanes, pieces, scores;                                        /* steps 0 and 1 */
    trl__room records, back, alpha, path, last, gamma, counts;              /* step 2 */
    trl__room stretches, stretch_source, stretch_lanes, shares, best, sums; /* step 3 */
    trl__room passages, work;                                               /* machines */
    trl__room page, page_items; /* of a model that does not fit, and what is computed with them */
} trl__driven_stream;

void trl__driven_see(const trl__driver *driver, int index, trl__device_sight *sight);
/* shape: "gpu", "cpu", or NULL: the one that suits the device. */
int trl__driven_open(const trl__backend *backend, const trl__driver *driver, const char *shape, int index,
                     trl__device **out, trl_error *err);

/* ---- For the files of this folder ---- */

static inline const trl__driven_device *trl__driven_device_of(const trl__driven_stream *stream)
{
    return (const trl__driven_device *)stream->base.device;
}

/* Memory of at least so many bytes; its content is lost when it grows. What was sent ahead makes room for it. */
int trl__room_get(trl__driven_stream *stream, trl__room *room, size_t size, trl_error *err);
/* Bytes on the host to fill and send; waits for the queue when the last ones are still on their way. NULL: out of memory. */
void *trl__staging_get(trl__driven_stream *stream, trl__staging *staging, size_t size, trl_error *err);
int trl__send(trl__driven_stream *stream, trl__staging *staging, trl__room *room, size_t size, trl_error *err);
/* An array that stays; the bytes must, until the queue is done. */
int trl__send_array(trl__driven_stream *stream, trl__room *room, const void *bytes, size_t size, trl_error *err);
void trl__room_free(const trl__driver *driver, trl__room *room);
/* Room on the host for what comes down together. */
typedef struct trl__down {
    size_t size[3]; /* bytes; 0: nothing */
    void *part[3];
} trl__down;

int trl__down_get(trl__driven_stream *stream, trl__down *down, trl_error *err);
/* Fetches and waits. */
int trl__fetch(trl__driven_stream *stream, const trl__room *room, size_t offset, void *bytes, size_t size,
               trl_error *err);
int trl__driven_finish(trl__driven_stream *stream, trl_error *err);
/* What was sent ahead is not wanted any more, and no transfer has to do with its memory. */
void trl__forget_ahead(trl__driven_stream *stream);

static inline trl__kernel_argument trl__memory_argument(const trl__room *room)
{
    return (trl__kernel_argument){TRL__MEMORY_ARGUMENT, room->memory};
}

static inline trl__kernel_argument trl__value_argument(const void *value, size_t size)
{
    return (trl__kernel_argument){size, value};
}

static inline size_t trl__whole(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* Something that is computed with each page of a model: `count` items of `size` bytes, in the order of their pages, which tied_of
 * tells. `launch` starts the work on a page's items, which are in `items`; `packed` has its parameters. */
typedef struct trl__page_work {
    const char *items;
    size_t count, size;
    int32_t (*tied_of)(const void *item);
    const trl__room *whole; /* has all items; used where the model is one page */
    int (*launch)(void *user, const trl__room *items, const trl__room *packed, size_t count, trl_error *err);
    void *user;
} trl__page_work;

int trl__for_pages(trl__driven_stream *stream, const trl__driven_parameters *p, const trl__page_work *work,
                   trl_error *err);
/* The page of a tied state. */
size_t trl__page_of(const trl__driven_parameters *p, int32_t tied);

/* Bytes of so many lanes. */
static inline size_t trl__lanes_size(const trl__driven_parameters *p, size_t count)
{
    return trl__whole(count, LANES) / LANES * (size_t)p->lane_rows * LANE_STRIDE * sizeof(float);
}

/* Frames into `count` lanes; the source of every lane is in `source`. */
int trl__launch_place(trl__driven_stream *stream, const trl__driven_parameters *p, const trl__room *source,
                      const trl__room *lanes, size_t count, trl_error *err);
/* What is on the device of search i. NULL with an error: its frames are not. */
trl__sent *trl__sent_of(trl__driven_stream *stream, const trl__search *s, size_t i, trl_error *err);

int trl__driven_frames(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl_error *);
void trl__driven_frames_ahead(trl__stream *, const trl__parameters *, const trl__search *, size_t count);
int trl__driven_score(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl_error *);
int trl__driven_viterbi(trl__stream *, trl__search *, size_t count, trl_error *);
int trl__driven_backtrack(trl__stream *, trl__search *, size_t count, trl_error *);
int trl__driven_accumulate(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl__local_stats *,
                           trl_error *);
int trl__driven_forward_backward(trl__stream *, trl__search *, size_t count, trl_error *);
int trl__driven_accumulate_soft(trl__stream *, const trl__parameters *, trl__search *, size_t count, trl__local_stats *,
                                trl_error *);
int trl__driven_machine_create(trl__device *, const struct trl__machine_arrays *, trl__machine **, trl_error *);
void trl__driven_machine_destroy(trl__machine *);
int trl__driven_machine_walk(trl__stream *, const trl__machine *, int kind, struct trl__passage *, size_t count,
                             size_t *done, trl_error *);

void trl__driven_close(trl__device *base);
int trl__driven_buffer_create(trl__device *base, size_t size, trl__buffer **out, trl_error *err);
void trl__driven_buffer_destroy(trl__buffer *base);
int trl__driven_upload(trl__stream *base, trl__buffer *buffer, size_t offset, const void *bytes, size_t size,
                       trl_error *err);
int trl__driven_download(trl__stream *base, const trl__buffer *buffer, size_t offset, void *bytes, size_t size,
                         trl_error *err);
int trl__driven_stream_create(trl__device *base, trl__stream **out, trl_error *err);
void trl__driven_stream_destroy(trl__stream *base);
int trl__driven_wait(trl__stream *stream, trl_error *err);
void trl__driven_trim(trl__stream *base);
int trl__driven_load_model(trl__device *device, const trl_model *model, trl_pool *pool, trl__parameters **out,
                           trl_error *err);
void trl__driven_free_model(trl__parameters *base);

/* A backend is its name, the number of its devices, and how one is seen and opened. */
#define TRL__DRIVEN_BACKEND(name, devices, see, open)                                                                  \
    {                                                                                                                  \
        name, devices, see, open, trl__driven_close, trl__driven_buffer_create, trl__driven_buffer_destroy,            \
            trl__driven_upload, trl__driven_download, trl__driven_stream_create, trl__driven_stream_destroy,           \
            trl__driven_wait, trl__driven_load_model, trl__driven_free_model, trl__driven_frames, trl__driven_score,   \
            trl__driven_viterbi, trl__driven_backtrack, trl__driven_accumulate, trl__driven_forward_backward,          \
            trl__driven_accumulate_soft, NULL, trl__driven_trim, trl__driven_frames_ahead, trl__driven_machine_create, \
            trl__driven_machine_destroy, trl__driven_machine_walk                                                      \
    }

#endif
