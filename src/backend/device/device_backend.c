/* Devices, memory, streams and models: see device_backend.h. */
#include "backend/device/device_backend.h"
#include "backend/device_speed.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define TRIAL_FRAMES 64
#define TRIAL_SECONDS 0.01
#define MUCH_FASTER 2 /* times */
#define WHOLE_MODEL 4 /* a model of up to this part of the memory stays on the device … */
#define PAGE 16       /* … a larger one goes up in parts of this part */
#define BATCH 32      /* searches per call that keep a graphics processor busy */

/* ---- Devices ---- */

/* The shape that the device's type suggests, unless the other one is much faster, or the only one that works. Less than that would be
 * chance: the same device should have the same shape every time. */
static void choose_shape(trl__driven_device *device)
{
    double suggested, other;
    device->tiles = device->facts.is_processor;
    trl__device_speed(&device->base, TRIAL_FRAMES, TRIAL_SECONDS, &suggested, NULL);
    device->tiles = !device->tiles;
    trl__device_speed(&device->base, TRIAL_FRAMES, TRIAL_SECONDS, &other, NULL);
    if (!(other > MUCH_FASTER * suggested))
        device->tiles = !device->tiles;
}

void trl__driven_see(const trl__driver *driver, int index, trl__device_sight *sight)
{
    trl__driver_facts facts;
    *sight = (trl__device_sight){.is_graphics = 0};
    if (driver->facts(index, &facts, NULL) < 0)
        return;
    memcpy(sight->name, facts.name, sizeof sight->name);
    sight->is_graphics = !facts.is_processor;
}

int trl__driven_open(const trl__backend *backend, const trl__driver *driver, const char *shape, int index,
                     trl__device **out, trl_error *err)
{
    *out = NULL;
    trl__driven_device *device = trl__alloc_zero(1, sizeof *device);
    if (!device)
        return trl__fail_memory(err);
    int code = driver->facts(index, &device->facts, err);
    if (code == 0 && !device->facts.has_double)
        code = trl__fail(err, TRL_EDEVICE, "%s:%d (%s) has no double precision, which sums need", driver->name, index,
                         device->facts.name);
    if (code == 0 && shape && strcmp(shape, "cpu") == 0 && !device->facts.has_tiles)
        code = trl__fail(err, TRL_EINVAL, "%s:%d: its kernels have the shape of graphics processors only, gpu",
                         driver->name, index);
    if (code == 0)
        code = driver->open(index, &device->handle, err);
    if (code < 0) {
        trl__free(device);
        return code;
    }
    device->driver = driver;
    device->base.backend = backend;
    if (shape || !device->facts.has_tiles)
        device->tiles = shape && strcmp(shape, "cpu") == 0;
    else
        choose_shape(device);
    device->base.info = (trl__device_info){driver->name, device->facts.name,   device->tiles ? "cpu" : "gpu",
                                           BATCH,        device->facts.memory, 1};
    *out = &device->base;
    return 0;
}

void trl__driven_close(trl__device *base)
{
    trl__driven_device *device = (trl__driven_device *)base;
    device->driver->close(device->handle);
    trl__free(device);
}

/* ---- Memory ---- */

int trl__driven_finish(trl__driven_stream *stream, trl_error *err)
{
    trl__staging *all[] = {&stream->here.bytes,   &stream->ahead.bytes, &stream->piece_bytes,
                           &stream->search_bytes, &stream->score_bytes, &stream->passage_bytes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]->busy = 0;
    return stream->driver->finish(stream->queue, err);
}

void trl__room_free(const trl__driver *driver, trl__room *room)
{
    if (room->memory)
        driver->memory_destroy(room->memory);
    *room = (trl__room){0};
}

void trl__forget_ahead(trl__driven_stream *stream)
{
    if (stream->on_the_way)
        stream->driver->finish(stream->transfers, NULL);
    stream->on_the_way = 0;
    stream->ahead.count = 0;
}

/* Gives the second set's memory back. Returns whether there was any. */
static int give_up_ahead(trl__driven_stream *stream)
{
    trl__frame_set *ahead = &stream->ahead;
    if (!ahead->frames.memory && !ahead->source.memory)
        return 0;
    trl__forget_ahead(stream);
    trl__driven_finish(stream, NULL);
    trl__room_free(stream->driver, &ahead->frames);
    trl__room_free(stream->driver, &ahead->source);
    return 1;
}

static int make_room(trl__driven_stream *stream, trl__room *room, size_t size, trl_error *err)
{
    int code = stream->driver->memory_create(trl__driven_device_of(stream)->handle, size, &room->memory, err);
    room->size = code == 0 ? size : 0;
    return code;
}

int trl__room_get(trl__driven_stream *stream, trl__room *room, size_t size, trl_error *err)
{
    int is_ahead = room == &stream->ahead.frames || room == &stream->ahead.source;
    size_t largest = (size_t)trl__driven_device_of(stream)->facts.largest, wanted = size + size / 2 + 64;
    if (room->memory && room->size >= size)
        return 0;
    int code = room->memory ? trl__driven_finish(stream, err) : 0;
    if (code < 0)
        return code;
    trl__room_free(stream->driver, room);
    if (wanted > largest && size <= largest)
        wanted = largest;
    code = is_ahead ? TRL_ENOMEM : make_room(stream, room, wanted, err);
    if (code == TRL_ENOMEM) /* without what it might grow to */
        code = make_room(stream, room, size + 64, err);
    if (code == TRL_ENOMEM && !is_ahead && give_up_ahead(stream))
        code = make_room(stream, room, size + 64, err);
    return code;
}

static void free_staging(const trl__driven_stream *stream, trl__staging *staging)
{
    if (staging->is_drivers)
        stream->driver->host_destroy(trl__driven_device_of(stream)->handle, staging->block);
    else
        trl__free(staging->block);
    *staging = (trl__staging){0};
}

/* The driver's own memory, or where it has none, or none left, any. */
static void *make_staging(const trl__driven_stream *stream, trl__staging *staging, size_t size)
{
    void *handle = trl__driven_device_of(stream)->handle;
    free_staging(stream, staging);
    staging->is_drivers =
        stream->driver->host_create && stream->driver->host_create(handle, size, &staging->block, NULL) == 0;
    if (!staging->is_drivers)
        staging->block = trl__alloc_aligned(size, 1);
    staging->size = staging->block ? size : 0;
    return staging->block;
}

void *trl__staging_get(trl__driven_stream *stream, trl__staging *staging, size_t size, trl_error *err)
{
    if (staging->busy && trl__driven_finish(stream, err) < 0)
        return NULL;
    if (size >= staging->size && !make_staging(stream, staging, size + size / 4 + 1))
        trl__fail_memory(err);
    return staging->block;
}

int trl__send(trl__driven_stream *stream, trl__staging *staging, trl__room *room, size_t size, trl_error *err)
{
    int code = trl__room_get(stream, room, size, err);
    staging->busy = 1;
    return code < 0 || size == 0 ? code
                                 : stream->driver->write(stream->queue, room->memory, 0, staging->block, size, err);
}

static void lay_out_down(void *user, trl__pieces *pieces)
{
    trl__down *down = user;
    for (size_t i = 0; i < sizeof down->size / sizeof *down->size; i++)
        down->part[i] = trl__take(pieces, down->size[i], 1);
}

int trl__down_get(trl__driven_stream *stream, trl__down *down, trl_error *err)
{
    return trl__scratch_lay_out(&stream->down, lay_out_down, down) < 0 ? trl__fail_memory(err) : 0;
}

int trl__fetch(trl__driven_stream *stream, const trl__room *room, size_t offset, void *bytes, size_t size,
               trl_error *err)
{
    int code = size > 0 ? stream->driver->read(stream->queue, room->memory, offset, bytes, size, err) : 0;
    return code < 0 ? code : trl__driven_finish(stream, err);
}

typedef struct driven_buffer {
    trl__buffer base;
    const trl__driver *driver;
    void *memory;
} driven_buffer;

int trl__driven_buffer_create(trl__device *base, size_t size, trl__buffer **out, trl_error *err)
{
    trl__driven_device *device = (trl__driven_device *)base;
    driven_buffer *buffer = trl__alloc_zero(1, sizeof *buffer);
    *out = NULL;
    if (!buffer)
        return trl__fail_memory(err);
    int code = device->driver->memory_create(device->handle, size + 1, &buffer->memory, err);
    if (code < 0) {
        trl__free(buffer);
        return code;
    }
    buffer->base = (trl__buffer){base, size};
    buffer->driver = device->driver;
    *out = &buffer->base;
    return 0;
}

void trl__driven_buffer_destroy(trl__buffer *base)
{
    driven_buffer *buffer = (driven_buffer *)base;
    buffer->driver->memory_destroy(buffer->memory);
    trl__free(buffer);
}

int trl__driven_upload(trl__stream *base, trl__buffer *buffer, size_t offset, const void *bytes, size_t size,
                       trl_error *err)
{
    trl__driven_stream *stream = (trl__driven_stream *)base;
    int code = size > 0
                   ? stream->driver->write(stream->queue, ((driven_buffer *)buffer)->memory, offset, bytes, size, err)
                   : 0;
    return code < 0 ? code : trl__driven_finish(stream, err);
}

int trl__driven_download(trl__stream *base, const trl__buffer *buffer, size_t offset, void *bytes, size_t size,
                         trl_error *err)
{
    trl__driven_stream *stream = (trl__driven_stream *)base;
    int code = size > 0 ? stream->driver->read(stream->queue, ((const driven_buffer *)buffer)->memory, offset, bytes,
                                               size, err)
                        : 0;
    return code < 0 ? code : trl__driven_finish(stream, err);
}

/* ---- Streams ---- */

int trl__driven_stream_create(trl__device *base, trl__stream **out, trl_error *err)
{
    trl__driven_device *device = (trl__driven_device *)base;
    trl__driven_stream *stream = trl__alloc_zero(1, sizeof *stream);
    *out = NULL;
    if (!stream)
        return trl__fail_memory(err);
    stream->base.device = base;
    stream->driver = device->driver;
    int code = device->driver->queue_create(device->handle, &stream->queue, err);
    if (code < 0) {
        trl__free(stream);
        return code;
    }
    *out = &stream->base;
    return 0;
}

void trl__driven_trim(trl__stream *base)
{
    trl__driven_stream *s = (trl__driven_stream *)base;
    trl__room *rooms[] = {&s->here.frames,    &s->here.source,   &s->ahead.frames, &s->ahead.source, &s->lanes,
                          &s->pieces,         &s->scores,        &s->records,      &s->back,         &s->alpha,
                          &s->path,           &s->last,          &s->gamma,        &s->counts,       &s->stretches,
                          &s->stretch_source, &s->stretch_lanes, &s->shares,       &s->best,         &s->sums,
                          &s->page,           &s->page_items,    &s->passages,     &s->work};
    trl__forget_ahead(s);
    trl__driven_finish(s, NULL);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        trl__room_free(s->driver, rooms[i]);
    s->here.count = 0;
}

void trl__driven_stream_destroy(trl__stream *base)
{
    trl__driven_stream *s = (trl__driven_stream *)base;
    trl__scratch *scratches[] = {&s->down, &s->moves, &s->ends, &s->arc_counts, &s->items, &s->order};
    trl__staging *stagings[] = {&s->here.bytes,   &s->ahead.bytes, &s->piece_bytes,
                                &s->search_bytes, &s->score_bytes, &s->passage_bytes};
    trl__driven_trim(base);
    for (size_t i = 0; i < sizeof scratches / sizeof *scratches; i++)
        trl__scratch_free(scratches[i]);
    for (size_t i = 0; i < sizeof stagings / sizeof *stagings; i++)
        free_staging(s, stagings[i]);
    if (s->transfers)
        s->driver->queue_destroy(s->transfers);
    s->driver->queue_destroy(s->queue);
    trl__free(s->here.sent);
    trl__free(s->ahead.sent);
    trl__free(s->row_at);
    trl__free(s);
}

int trl__driven_wait(trl__stream *stream, trl_error *err)
{
    return trl__driven_finish((trl__driven_stream *)stream, err);
}

/* ---- Models ---- */

void trl__driven_free_model(trl__parameters *base)
{
    trl__driven_parameters *p = (trl__driven_parameters *)base;
    const trl__driver *driver = ((trl__driven_device *)base->device)->driver;
    trl__room *rooms[] = {&p->packed, &p->packed_at, &p->first_gaussian, &p->differences, &p->centre};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        trl__room_free(driver, rooms[i]);
    if (p->whole) {
        trl__room_free(driver, &p->whole->packed);
        trl__room_free(driver, &p->whole->packed_at);
        pthread_mutex_destroy(&p->whole->lock);
        trl__free(p->whole);
    }
    trl__mixtures_free(&p->m);
    trl__free(p->page_first);
    trl__free(p);
}

int trl__send_array(trl__driven_stream *stream, trl__room *room, const void *bytes, size_t size, trl_error *err)
{
    int code = trl__room_get(stream, room, size, err);
    return code < 0 || size == 0 ? code : stream->driver->write(stream->queue, room->memory, 0, bytes, size, err);
}

static size_t state_size(const trl__mixtures *m, size_t state)
{
    size_t groups = (size_t)(trl__components(m, (int32_t)state) + m->group - 1) / (size_t)m->group;
    return groups * trl__group_size(m);
}

/* Where pages begin: one for all when it takes no more than a quarter of the device's memory, else as many states as fit into a
 * sixteenth. `at` gets the states' places in their pages, in floats. */
static int cut_pages(trl__driven_parameters *p, const trl__driver_facts *facts, int64_t *at, trl_error *err)
{
    const trl__mixtures *m = &p->m;
    size_t states = (size_t)m->tied_states, floats = states > 0 ? m->at[states - 1] + state_size(m, states - 1) : 0;
    uint64_t bytes = floats * sizeof(float), most = bytes;
    if (bytes > facts->memory / WHOLE_MODEL || bytes > facts->largest)
        most = facts->memory / PAGE < facts->largest ? facts->memory / PAGE : facts->largest;
    p->page_first = trl__alloc(states + 2, sizeof *p->page_first);
    if (!p->page_first)
        return trl__fail_memory(err);
    size_t begin = 0;
    for (size_t s = 0; s < states; s++) {
        if (s == 0 || (m->at[s] + state_size(m, s) - begin) * sizeof(float) > most) {
            p->page_first[p->pages++] = (int32_t)s;
            begin = m->at[s];
        }
        at[s] = (int64_t)(m->at[s] - begin);
    }
    p->page_first[p->pages] = (int32_t)states;
    return 0;
}

static int send_model(trl__driven_stream *stream, trl__driven_parameters *p, trl_error *err)
{
    const trl__mixtures *m = &p->m;
    size_t states = (size_t)m->tied_states;
    int64_t *at = trl__alloc(states + 1, sizeof *at);
    if (!at)
        return trl__fail_memory(err);
    int code = cut_pages(p, &trl__driven_device_of(stream)->facts, at, err);
    if (code == 0 && p->pages == 1)
        code = trl__send_array(stream, &p->packed, m->packed,
                               (m->at[states - 1] + state_size(m, states - 1)) * sizeof(float), err);
    if (code == 0)
        code = trl__send_array(stream, &p->packed_at, at, states * sizeof *at, err);
    if (code == 0)
        code = trl__send_array(stream, &p->first_gaussian, m->first_gaussian, (states + 1) * sizeof(int32_t), err);
    if (code == 0)
        code = trl__send_array(stream, &p->differences, m->differences, states, err);
    if (code == 0)
        code = trl__send_array(stream, &p->centre, m->centre, (size_t)m->dim * sizeof(float), err);
    int finished = trl__driven_finish(stream, code < 0 ? NULL : err);
    trl__free(at);
    if (p->pages == 1) { /* the device has it now */
        trl__free(p->m.packed);
        p->m.packed = NULL;
    }
    return code < 0 ? code : finished;
}

/* ---- Pages ---- */

size_t trl__page_of(const trl__driven_parameters *p, int32_t tied)
{
    size_t low = 0, high = p->pages;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (p->page_first[middle] <= tied)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A page's parameters, and the items that need them. */
static int send_page(trl__driven_stream *stream, const trl__driven_parameters *p, const trl__page_work *work,
                     size_t first, size_t end, trl_error *err)
{
    const trl__mixtures *m = &p->m;
    size_t page = trl__page_of(p, work->tied_of(work->items + first * work->size));
    size_t begin = m->at[p->page_first[page]], last = (size_t)p->page_first[page + 1] - 1;
    int code = trl__send_array(stream, &stream->page, m->packed + begin,
                               (m->at[last] + state_size(m, last) - begin) * sizeof(float), err);
    if (code == 0)
        code = trl__send_array(stream, &stream->page_items, work->items + first * work->size,
                               (end - first) * work->size, err);
    return code;
}

int trl__for_pages(trl__driven_stream *stream, const trl__driven_parameters *p, const trl__page_work *work,
                   trl_error *err)
{
    int code = 0;
    if (p->pages == 1)
        return work->launch(work->user, work->whole, &p->packed, work->count, err);
    for (size_t first = 0, end; code == 0 && first < work->count; first = end) {
        size_t page = trl__page_of(p, work->tied_of(work->items + first * work->size));
        for (end = first + 1; end < work->count; end++)
            if (trl__page_of(p, work->tied_of(work->items + end * work->size)) != page)
                break;
        code = send_page(stream, p, work, first, end, err);
        if (code == 0)
            code = work->launch(work->user, &stream->page_items, &stream->page, end - first, err);
    }
    return code;
}

int trl__driven_load_model(trl__device *device, const trl_model *model, trl_pool *pool, trl__parameters **out,
                           trl_error *err)
{
    static const trl__gmm_kernel layout = {.name = "device", .group = COMPONENTS};
    trl__stream *stream = NULL;
    *out = NULL;
    if (model->shared)
        return trl__fail(err, TRL_EUNSUPPORTED,
                         "%s computes with mixtures of a state's own; this model has codebooks: use --device cpu",
                         device->info.backend);
    trl__driven_parameters *p = trl__alloc_zero(1, sizeof *p);
    if (!p)
        return trl__fail_memory(err);
    p->base.device = device;
    p->whole = trl__alloc_zero(1, sizeof *p->whole);
    if (!p->whole) {
        trl__free(p);
        return trl__fail_memory(err);
    }
    pthread_mutex_init(&p->whole->lock, NULL);
    int code = trl__mixtures_pack(&p->m, model, &layout, pool, err);
    if (code == 0)
        code = trl__driven_stream_create(device, &stream, err);
    p->lane_rows = p->m.dim * (p->m.any_differences ? 3 : 2);
    if (code == 0)
        code = send_model((trl__driven_stream *)stream, p, err);
    if (stream)
        trl__driven_stream_destroy(stream);
    if (code < 0)
        trl__driven_free_model(&p->base);
    else
        *out = &p->base;
    return code;
}
