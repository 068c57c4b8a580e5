/* The registry of backends, and the calls that lead into them. */
#include "backend/device_group.h"
#include "backend/device_name.h"
#include "backend/machine.h"
#include "base/container.h"
#include "base/fail.h"
#include "base/log_write.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <trellis/device.h>

extern const trl__backend trl__cpu_backend, trl__opencl_backend, trl__cuda_backend;

/* The later ones are faster where there are any. */
static const trl__backend *const backends[] = {&trl__cpu_backend, &trl__opencl_backend, &trl__cuda_backend};

/* ---- "auto" ---- */

/* What "auto" tells, it tells once: some open a device for each piece of their work. */
static atomic_int is_told;

static void tell_trouble(const char *what, const trl_error *why)
{
    if (!atomic_load(&is_told))
        trl__log(TRL_LOG_WARNING, "%s can't be used: %s", what, why->text);
}

static void tell_choice(const trl__device *device, int troubles)
{
    const trl__device_info *info = &device->info;
    if (atomic_exchange(&is_told, 1))
        return;
    if (troubles > 0 && strcmp(info->backend, "cpu") == 0)
        trl__log(TRL_LOG_WARNING, "no graphics processor can be used; the processor goes on");
    else
        trl__log(TRL_LOG_INFO, "device: %s, %s", info->backend, info->name);
}

/* The first graphics processor of a backend that opens; NULL: none. Adds to *troubles what can't be used. */
static trl__device *open_graphics(const trl__backend *backend, int *troubles)
{
    trl_error why;
    trl__device *device;
    int count = backend->devices(&why);
    if (count < 0) {
        tell_trouble(backend->name, &why);
        ++*troubles;
    }
    for (int i = 0; i < count; i++) {
        trl__device_sight sight = {.is_graphics = 0};
        char name[200];
        backend->see(i, &sight);
        if (!sight.is_graphics)
            continue;
        if (backend->open(NULL, i, &device, &why) == 0)
            return device;
        snprintf(name, sizeof name, "%s:%d (%s)", backend->name, i, sight.name);
        tell_trouble(name, &why);
        ++*troubles;
    }
    return NULL;
}

/* A graphics processor, by its maker's own interface if possible; else, and when that one fails later, the processor, by our own
 * kernels. */
static int open_best(trl__device **out, trl_error *err)
{
    trl__device *device = NULL;
    int troubles = 0, code = trl__cpu_backend.open(NULL, 0, out, err);
    for (size_t i = sizeof backends / sizeof *backends; code == 0 && !device && i-- > 0;)
        device = open_graphics(backends[i], &troubles);
    if (code < 0)
        return code;
    tell_choice(device ? device : *out, troubles);
    return device ? trl__group_with_reserve(device, *out, out, err) : 0;
}

/* ---- Devices ---- */

static int open_named(const trl__device_name *name, trl__device **out, trl_error *err)
{
    const char *level = name->level[0] ? name->level : NULL;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(backends[i]->name, name->family) == 0)
            return backends[i]->open(level, name->index, out, err);
    return open_best(out, err);
}

int trl__device_open(const char *name, trl__device **out, trl_error *err)
{
    trl__device_name parts;
    *out = NULL;
    int code = trl_device_check_name(name, err);
    if (code == 0 && strchr(name, ','))
        return trl__group_open(name, out, err);
    if (code == 0)
        code = trl__device_name_parse(name, strlen(name), &parts, err);
    return code == 0 ? open_named(&parts, out, err) : code;
}

void trl__device_close(trl__device *device)
{
    if (device)
        device->backend->close(device);
}

int trl__device_check_threads(const trl__device *device, int threads, trl_error *err)
{
    if (threads >= device->info.streams)
        return 0;
    return trl__fail(err, TRL_EINVAL, "%d devices need a thread each, and there are %d (--threads)",
                     (int)device->info.streams, threads);
}

int trl__buffer_create(trl__device *device, size_t size, trl__buffer **out, trl_error *err)
{
    return device->backend->buffer_create(device, size, out, err);
}

void trl__buffer_destroy(trl__buffer *buffer)
{
    if (buffer)
        buffer->device->backend->buffer_destroy(buffer);
}

static int check_part(const trl__buffer *buffer, size_t offset, size_t size, trl_error *err)
{
    if (offset > buffer->size || size > buffer->size - offset)
        return trl__fail(err, TRL_EINVAL, "%zu bytes at %zu of a buffer of %zu", size, offset, buffer->size);
    return 0;
}

int trl__stream_upload(trl__stream *stream, trl__buffer *buffer, size_t offset, const void *bytes, size_t size,
                       trl_error *err)
{
    int code = check_part(buffer, offset, size, err);
    return code < 0 ? code : stream->device->backend->upload(stream, buffer, offset, bytes, size, err);
}

int trl__stream_download(trl__stream *stream, const trl__buffer *buffer, size_t offset, void *bytes, size_t size,
                         trl_error *err)
{
    int code = check_part(buffer, offset, size, err);
    return code < 0 ? code : stream->device->backend->download(stream, buffer, offset, bytes, size, err);
}

int trl__device_load_model(trl__device *device, const trl_model *model, trl_pool *pool, trl__parameters **out,
                           trl_error *err)
{
    int code = device->backend->load_model(device, model, pool, out, err);
    if (code == 0 && model->tied_states > 0)
        (*out)->gaussians = model->first_gaussian[model->tied_states] / model->tied_states;
    if (code == TRL_ENUMBER && model->file) /* a number of the model's that can't be */
        code = trl__fail_in(err, code, trl__container_path(model->file));
    return code;
}

void trl__parameters_free(trl__parameters *parameters)
{
    if (parameters)
        parameters->device->backend->free_model(parameters);
}

int trl__stream_create(trl__device *device, trl__stream **out, trl_error *err)
{
    return device->backend->stream_create(device, out, err);
}

void trl__stream_destroy(trl__stream *stream)
{
    if (stream)
        stream->device->backend->stream_destroy(stream);
}

const trl__device_info *trl__stream_info(const trl__stream *stream)
{
    const trl__device *device = stream->device;
    return device->backend->stream_info ? device->backend->stream_info(stream) : &device->info;
}

void trl__stream_trim(trl__stream *stream)
{
    if (stream->device->backend->trim)
        stream->device->backend->trim(stream);
}

int trl__stream_wait(trl__stream *stream, trl_error *err)
{
    return stream->device->backend->wait(stream, err);
}

int trl__stream_frames(trl__stream *stream, const trl__parameters *parameters, trl__search *searches, size_t count,
                       trl_error *err)
{
    return stream->device->backend->frames(stream, parameters, searches, count, err);
}

void trl__stream_frames_ahead(trl__stream *stream, const trl__parameters *parameters, const trl__search *searches,
                              size_t count)
{
    if (stream->device->backend->frames_ahead)
        stream->device->backend->frames_ahead(stream, parameters, searches, count);
}

int trl__stream_score(trl__stream *stream, const trl__parameters *parameters, trl__search *searches, size_t count,
                      trl_error *err)
{
    return stream->device->backend->score(stream, parameters, searches, count, err);
}

int trl__stream_viterbi(trl__stream *stream, trl__search *searches, size_t count, trl_error *err)
{
    return stream->device->backend->viterbi(stream, searches, count, err);
}

int trl__stream_backtrack(trl__stream *stream, trl__search *searches, size_t count, trl_error *err)
{
    return stream->device->backend->backtrack(stream, searches, count, err);
}

int trl__stream_accumulate(trl__stream *stream, const trl__parameters *parameters, trl__search *searches, size_t count,
                           trl__local_stats *local, trl_error *err)
{
    return stream->device->backend->accumulate(stream, parameters, searches, count, local, err);
}

int trl__stream_forward_backward(trl__stream *stream, trl__search *searches, size_t count, trl_error *err)
{
    return stream->device->backend->forward_backward(stream, searches, count, err);
}

int trl__stream_accumulate_soft(trl__stream *stream, const trl__parameters *parameters, trl__search *searches,
                                size_t count, trl__local_stats *local, trl_error *err)
{
    return stream->device->backend->accumulate_soft(stream, parameters, searches, count, local, err);
}

int trl__machine_create(trl__device *device, const trl__machine_arrays *arrays, trl__machine **out, trl_error *err)
{
    *out = NULL;
    if (!device->backend->machine_create)
        return trl__fail(err, TRL_EUNSUPPORTED, "device %s has no transducers", device->info.backend);
    return device->backend->machine_create(device, arrays, out, err);
}

void trl__machine_destroy(trl__machine *machine)
{
    if (machine)
        machine->device->backend->machine_destroy(machine);
}

int trl__machine_walk(trl__stream *stream, const trl__machine *machine, trl__walk_kind kind, trl__passage *passages,
                      size_t count, size_t *done, trl_error *err)
{
    return stream->device->backend->machine_walk(stream, machine, (int)kind, passages, count, done, err);
}
