/* Step 0: frames go up, now or ahead of their time, and into lanes. */
#include "backend/device/device_backend.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define PLACE_ITEMS 64

int trl__launch_place(trl__driven_stream *stream, const trl__driven_parameters *p, const trl__room *source,
                      const trl__room *lanes, size_t count, trl_error *err)
{
    int tiles = trl__driven_device_of(stream)->tiles;
    const int32_t lane_count = (int32_t)count;
    const trl__kernel_argument arguments[] = {
        trl__memory_argument(&stream->here.frames),
        trl__memory_argument(source),
        trl__memory_argument(&p->centre),
        trl__memory_argument(lanes),
        trl__value_argument(&p->m.dim, sizeof p->m.dim),
        trl__value_argument(&p->lane_rows, sizeof p->lane_rows),
        trl__value_argument(&lane_count, sizeof lane_count),
    };
    if (count == 0)
        return 0;
    return stream->driver->launch(stream->queue, tiles ? TRL__KERNEL_PLACE_TILES : TRL__KERNEL_PLACE_FRAMES,
                                  trl__whole(count, LANES) / LANES, tiles ? 1 : PLACE_ITEMS, arguments,
                                  sizeof arguments / sizeof *arguments, err);
}

/* What a set will hold; frames that are no numbers are refused. */
static int measure(trl__frame_set *set, size_t dim, const trl__search *searches, size_t count, trl_error *err)
{
    if (TRL_GROW(set->sent, set->capacity, count) < 0)
        return trl__fail_memory(err);
    set->dim = dim;
    set->floats = set->lanes = 0;
    for (size_t i = 0; i < count; i++) {
        const trl__search *s = &searches[i];
        int code = trl__frames_check(s->frames, dim, s->begin, s->end, err);
        if (code < 0)
            return code;
        set->floats += (size_t)(s->end - s->begin) * dim;
        set->lanes += trl__whole((size_t)(s->end - s->begin), LANES);
    }
    return 0;
}

static void fill(trl__frame_set *set, const trl__search *searches, size_t count, float *frames, int64_t *source)
{
    int64_t frame_at = 0, lane = 0, dim = (int64_t)set->dim;
    for (size_t i = 0; i < count; i++) {
        const trl__search *s = &searches[i];
        set->sent[i] =
            (trl__sent){.source = s->frames, .begin = s->begin, .end = s->end, .frame_at = frame_at, .lane_at = lane};
        for (int32_t t = s->begin; t < s->end; t++, frame_at += dim) {
            memcpy(frames + frame_at, trl_matrix_row(s->frames, (size_t)t), set->dim * sizeof *frames);
            source[lane++] = frame_at;
        }
        while (lane % LANES != 0)
            source[lane++] = -1;
    }
}

/* By either queue. */
static int send_set(trl__driven_stream *stream, void *queue, trl__frame_set *set, const trl__search *searches,
                    size_t count, trl_error *err)
{
    const trl__driver *driver = stream->driver;
    size_t frame_size = trl__whole(set->floats * sizeof(float), 8), source_size = set->lanes * sizeof(int64_t);
    char *bytes = trl__staging_get(stream, &set->bytes, frame_size + source_size, err);
    if (!bytes)
        return TRL_ENOMEM;
    fill(set, searches, count, (float *)bytes, (int64_t *)(bytes + frame_size));
    int code = trl__room_get(stream, &set->frames, frame_size, err);
    if (code == 0)
        code = trl__room_get(stream, &set->source, source_size, err);
    if (code < 0 || set->lanes == 0)
        return code;
    set->bytes.busy = 1;
    code = driver->write(queue, set->frames.memory, 0, bytes, frame_size, err);
    return code < 0 ? code : driver->write(queue, set->source.memory, 0, bytes + frame_size, source_size, err);
}

static int is_ahead(const trl__frame_set *ahead, size_t dim, const trl__search *searches, size_t count)
{
    if (count == 0 || ahead->count != count || ahead->dim != dim)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const trl__sent *sent = &ahead->sent[i];
        if (sent->source != searches[i].frames || sent->begin != searches[i].begin || sent->end != searches[i].end)
            return 0;
    }
    return 1;
}

/* The sets change places. The next frames that are sent ahead go where those in use have been so far; their transfer follows the first
 * queue, so it does not overtake kernels that read them. */
static int take_over(trl__driven_stream *stream, trl_error *err)
{
    trl__frame_set before = stream->here;
    int code = stream->driver->follow(stream->queue, stream->transfers, err);
    if (code < 0)
        return code;
    stream->here = stream->ahead;
    stream->ahead = before;
    stream->ahead.count = 0;
    stream->on_the_way = 0;
    stream->here.bytes.busy = 1; /* as what was sent by the first queue is */
    return 0;
}

int trl__driven_frames(trl__stream *base, const trl__parameters *parameters, trl__search *searches, size_t count,
                       trl_error *err)
{
    trl__driven_stream *stream = (trl__driven_stream *)base;
    const trl__driven_parameters *p = (const trl__driven_parameters *)parameters;
    size_t dim = (size_t)p->m.dim;
    int code;
    stream->here.count = 0;
    if (is_ahead(&stream->ahead, dim, searches, count)) {
        code = take_over(stream, err);
    } else {
        code = measure(&stream->here, dim, searches, count, err);
        if (code == 0)
            code = send_set(stream, stream->queue, &stream->here, searches, count, err);
    }
    if (code == 0)
        code = trl__room_get(stream, &stream->lanes, trl__lanes_size(p, stream->here.lanes), err);
    if (code == 0)
        code = trl__launch_place(stream, p, &stream->here.source, &stream->lanes, stream->here.lanes, err);
    stream->here.count = code == 0 ? count : 0;
    return code;
}

void trl__driven_frames_ahead(trl__stream *base, const trl__parameters *parameters, const trl__search *searches,
                              size_t count)
{
    trl__driven_stream *stream = (trl__driven_stream *)base;
    const trl__driver *driver = stream->driver;
    size_t dim = (size_t)((const trl__driven_parameters *)parameters)->m.dim;
    trl__forget_ahead(stream);
    if (count == 0 || measure(&stream->ahead, dim, searches, count, NULL) < 0)
        return;
    if (!stream->transfers && driver->queue_create(trl__driven_device_of(stream)->handle, &stream->transfers, NULL) < 0)
        return;
    stream->on_the_way = 1;
    int code = driver->follow(stream->transfers, stream->queue, NULL);
    if (code == 0)
        code = send_set(stream, stream->transfers, &stream->ahead, searches, count, NULL);
    if (code == 0 && driver->flush)
        code = driver->flush(stream->transfers, NULL);
    stream->ahead.count = code == 0 ? count : 0;
}

trl__sent *trl__sent_of(trl__driven_stream *stream, const trl__search *s, size_t i, trl_error *err)
{
    trl__sent *sent = i < stream->here.count ? &stream->here.sent[i] : NULL;
    if (sent && sent->source == s->frames && sent->begin <= s->begin && sent->end >= s->end)
        return sent;
    trl__fail(err, TRL_EINVAL, "search %zu: frames %d to %d were not given to the stream first", i, (int)s->begin,
              (int)s->end);
    return NULL;
}
