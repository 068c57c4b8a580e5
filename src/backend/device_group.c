#include "backend/device_group.h"
#include "backend/device_name.h"
#include "backend/machine.h"
#include "base/fail.h"
#include "base/log_write.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

typedef struct group {
    trl__device base;
    trl__device *member[TRL__DEVICES_MOST];
    size_t count;
    trl__device *reserve; /* NULL: none; only one member then */
    atomic_int lost;      /* the member can't be used any more */
    atomic_size_t streams;
    pthread_mutex_t lock; /* of the reserve's parameters */
    char name[200];
} group;

typedef struct group_parameters {
    trl__parameters base;
    trl__parameters *member[TRL__DEVICES_MOST];
    trl__parameters *reserve; /* made when they are needed, of */
    trl_model model;          /* whose arrays the caller keeps as long as these parameters */
} group_parameters;

typedef struct group_stream {
    trl__stream base;
    trl__stream *inner;
    size_t member;
    int on_reserve;
    /* The frames that were given last, to give them to the reserve too. */
    const group_parameters *parameters;
    trl__search *sent;
    size_t sent_count, sent_capacity;
} group_stream;

static const trl__backend group_backend;

static group *group_of(const group_stream *s)
{
    return (group *)s->base.device;
}

/* ---- Devices ---- */

static void close_group(trl__device *base)
{
    group *g = (group *)base;
    for (size_t i = 0; i < g->count; i++)
        trl__device_close(g->member[i]);
    trl__device_close(g->reserve);
    pthread_mutex_destroy(&g->lock);
    trl__free(g);
}

static group *make_group(void)
{
    group *g = trl__alloc_zero(1, sizeof *g);
    if (!g)
        return NULL;
    g->base.backend = &group_backend;
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

/* What a group says of itself: all names, the largest batch. */
static void describe(group *g)
{
    size_t at = 0;
    g->base.info = g->member[0]->info;
    for (size_t i = 0; i < g->count; i++) {
        const trl__device_info *info = &g->member[i]->info;
        int length = snprintf(g->name + at, sizeof g->name - at, "%s%s", i > 0 ? " + " : "", info->name);
        at = at + (size_t)length < sizeof g->name ? at + (size_t)length : sizeof g->name - 1;
        g->base.info.batch = info->batch > g->base.info.batch ? info->batch : g->base.info.batch;
    }
    g->base.info.name = g->name;
    g->base.info.streams = (int32_t)g->count;
}

int trl__group_open(const char *names, trl__device **out, trl_error *err)
{
    group *g = make_group();
    int code = g ? 0 : trl__fail_memory(err);
    *out = NULL;
    while (code == 0) {
        char name[64];
        size_t length = strcspn(names, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        code = trl__device_open(name, &g->member[g->count], err);
        g->count += code == 0;
        names += length;
        if (*names++ != ',')
            break;
    }
    if (code < 0) {
        if (g)
            close_group(&g->base);
        return code;
    }
    describe(g);
    *out = &g->base;
    return 0;
}

int trl__group_with_reserve(trl__device *device, trl__device *reserve, trl__device **out, trl_error *err)
{
    group *g = make_group();
    *out = NULL;
    if (!g) {
        trl__device_close(device);
        trl__device_close(reserve);
        return trl__fail_memory(err);
    }
    g->member[0] = device;
    g->count = 1;
    g->reserve = reserve;
    describe(g);
    *out = &g->base;
    return 0;
}

/* ---- The reserve ---- */

/* Failures of a device, not of what it was asked. */
static int is_trouble(int code)
{
    return code == TRL_EDEVICE || code == TRL_ENOMEM;
}

static void say_lost(group *g, const trl_error *why)
{
    if (atomic_exchange(&g->lost, 1) == 0)
        trl__log(TRL_LOG_WARNING, "%s fails: %s; the processor goes on", g->member[0]->info.name, why->text);
}

static int load_reserve(const group_parameters *p, const trl__parameters **out, trl_error *err)
{
    group *g = (group *)p->base.device;
    group_parameters *own = (group_parameters *)p; /* made late, behind the lock */
    pthread_mutex_lock(&g->lock);
    int code = own->reserve ? 0 : trl__device_load_model(g->reserve, &own->model, NULL, &own->reserve, err);
    *out = own->reserve;
    pthread_mutex_unlock(&g->lock);
    return code;
}

/* From now on the stream is the reserve's, with the same frames. */
static int switch_over(group_stream *s, trl_error *err)
{
    const trl__parameters *p = NULL;
    trl__stream *fresh = NULL;
    int code = trl__stream_create(group_of(s)->reserve, &fresh, err);
    if (code < 0)
        return code;
    trl__stream_destroy(s->inner);
    s->inner = fresh;
    s->on_reserve = 1;
    if (s->sent_count == 0)
        return 0;
    code = load_reserve(s->parameters, &p, err);
    return code < 0 ? code : trl__stream_frames(s->inner, p, s->sent, s->sent_count, err);
}

/* What the device had kept to itself: scores, and back-pointers where they are wanted. */
static int restore(const group_stream *s, trl__search *searches, size_t count, int with_back, trl_error *err)
{
    const trl__parameters *p = NULL;
    if (!s->on_reserve || count == 0 || (!searches[0].scores_at && !(with_back && searches[0].back_at)))
        return 0;
    int code = 0;
    if (searches[0].scores_at)
        code = load_reserve(s->parameters, &p, err);
    if (code == 0 && searches[0].scores_at)
        code = trl__stream_score(s->inner, p, searches, count, err);
    if (code == 0 && with_back && searches[0].back_at)
        code = trl__stream_viterbi(s->inner, searches, count, err);
    return code;
}

/* ---- Models ---- */

static void free_parameters(trl__parameters *base)
{
    group_parameters *p = (group_parameters *)base;
    for (size_t i = 0; i < ((group *)base->device)->count; i++)
        trl__parameters_free(p->member[i]);
    trl__parameters_free(p->reserve);
    trl__free(p);
}

static int load_members(group *g, group_parameters *p, trl_pool *pool, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < g->count && !atomic_load(&g->lost); i++)
        code = trl__device_load_model(g->member[i], &p->model, pool, &p->member[i], err);
    if (code < 0 && g->reserve && (is_trouble(code) || code == TRL_EUNSUPPORTED))
        say_lost(g, err);
    else if (code < 0)
        return code;
    return atomic_load(&g->lost) ? trl__device_load_model(g->reserve, &p->model, pool, &p->reserve, err) : 0;
}

static int load_model(trl__device *base, const trl_model *model, trl_pool *pool, trl__parameters **out, trl_error *err)
{
    group *g = (group *)base;
    trl_error own;
    group_parameters *p = trl__alloc_zero(1, sizeof *p);
    *out = NULL;
    if (!p)
        return trl__fail_memory(err);
    p->base.device = base;
    p->model = *model;
    int code = load_members(g, p, pool, err ? err : &own);
    if (code < 0) {
        free_parameters(&p->base);
        return code;
    }
    p->base.by_frame = p->reserve ? p->reserve->by_frame : p->member[0]->by_frame;
    *out = &p->base;
    return 0;
}

/* ---- Streams ---- */

static void destroy_stream(trl__stream *base)
{
    group_stream *s = (group_stream *)base;
    trl__stream_destroy(s->inner);
    trl__free(s->sent);
    trl__free(s);
}

static int create_stream(trl__device *base, trl__stream **out, trl_error *err)
{
    group *g = (group *)base;
    group_stream *s = trl__alloc_zero(1, sizeof *s);
    trl_error own;
    err = err ? err : &own;
    *out = NULL;
    if (!s)
        return trl__fail_memory(err);
    s->base.device = base;
    s->member = atomic_fetch_add(&g->streams, 1) % g->count;
    int code = atomic_load(&g->lost) ? 0 : trl__stream_create(g->member[s->member], &s->inner, err);
    if (is_trouble(code) && g->reserve)
        say_lost(g, err);
    if (g->reserve && atomic_load(&g->lost))
        code = switch_over(s, err);
    if (code < 0) {
        destroy_stream(&s->base);
        return code;
    }
    *out = &s->base;
    return 0;
}

static const trl__device_info *stream_info(const trl__stream *stream)
{
    return &((const group_stream *)stream)->inner->device->info;
}

static void trim(trl__stream *stream)
{
    group_stream *s = (group_stream *)stream;
    s->sent_count = 0;
    trl__stream_trim(s->inner);
}

/* The member's parameters for a stream, or the reserve's, which it goes over to where the device is lost. */
static int parameters_for(group_stream *s, const trl__parameters *base, const trl__parameters **out, trl_error *err)
{
    const group_parameters *p = (const group_parameters *)base;
    int code = 0;
    if (!s->on_reserve && atomic_load(&group_of(s)->lost))
        code = switch_over(s, err);
    *out = p && !s->on_reserve ? p->member[s->member] : NULL;
    return code == 0 && p && s->on_reserve ? load_reserve(p, out, err) : code;
}

static int remember_frames(group_stream *s, const trl__parameters *p, const trl__search *searches, size_t count,
                           trl_error *err)
{
    if (TRL_GROW(s->sent, s->sent_capacity, count + 1) < 0)
        return trl__fail_memory(err);
    memcpy(s->sent, searches, count * sizeof *searches);
    s->sent_count = count;
    s->parameters = (const group_parameters *)p;
    return 0;
}

/* ---- Operations ----
 *
 * Out of memory with several searches is the caller's: he can try fewer. */

typedef enum operation {
    FRAMES,
    SCORE,
    VITERBI,
    BACKTRACK,
    ACCUMULATE,
    FORWARD_BACKWARD,
    ACCUMULATE_SOFT,
    WAIT
} operation;

typedef struct request {
    operation what;
    const trl__parameters *parameters;
    trl__search *searches;
    size_t count;
    trl__local_stats *local;
} request;

static int pass_on(trl__stream *inner, const trl__parameters *p, const request *r, trl_error *err)
{
    switch (r->what) {
    case FRAMES: return trl__stream_frames(inner, p, r->searches, r->count, err);
    case SCORE: return trl__stream_score(inner, p, r->searches, r->count, err);
    case VITERBI: return trl__stream_viterbi(inner, r->searches, r->count, err);
    case BACKTRACK: return trl__stream_backtrack(inner, r->searches, r->count, err);
    case ACCUMULATE: return trl__stream_accumulate(inner, p, r->searches, r->count, r->local, err);
    case FORWARD_BACKWARD: return trl__stream_forward_backward(inner, r->searches, r->count, err);
    case ACCUMULATE_SOFT: return trl__stream_accumulate_soft(inner, p, r->searches, r->count, r->local, err);
    default: return trl__stream_wait(inner, err);
    }
}

static int try_once(group_stream *s, const request *r, trl_error *err)
{
    const trl__parameters *p = NULL;
    int code = parameters_for(s, r->parameters, &p, err);
    if (code == 0 && (r->what == VITERBI || r->what == FORWARD_BACKWARD || r->what == BACKTRACK))
        code = restore(s, r->searches, r->count, r->what == BACKTRACK, err);
    return code < 0 ? code : pass_on(s->inner, p, r, err);
}

static int name_member(const group_stream *s, int code, trl_error *err)
{
    trl_error inner = *err;
    return trl__fail(err, code, "%s: %.800s", s->inner->device->info.name, inner.text);
}

static int do_operation(trl__stream *base, const request *r, trl_error *err)
{
    group_stream *s = (group_stream *)base;
    trl_error own;
    err = err ? err : &own;
    int code = r->what == FRAMES ? remember_frames(s, r->parameters, r->searches, r->count, err) : 0;
    if (code == 0)
        code = try_once(s, r, err);
    if (!is_trouble(code) || s->on_reserve || (code == TRL_ENOMEM && s->sent_count > 1))
        return code;
    if (!group_of(s)->reserve)
        return name_member(s, code, err);
    say_lost(group_of(s), err);
    return try_once(s, r, err);
}

static int frames(trl__stream *s, const trl__parameters *p, trl__search *searches, size_t count, trl_error *err)
{
    return do_operation(s, &(request){FRAMES, p, searches, count, NULL}, err);
}

/* The reserve, and a processor among the members, have nothing to gain. What a lost device does not send is sent by the call that follows. */
static void frames_ahead(trl__stream *base, const trl__parameters *parameters, const trl__search *searches,
                         size_t count)
{
    group_stream *s = (group_stream *)base;
    const trl__parameters *p = ((const group_parameters *)parameters)->member[s->member];
    if (!s->on_reserve && p)
        trl__stream_frames_ahead(s->inner, p, searches, count);
}

static int score(trl__stream *s, const trl__parameters *p, trl__search *searches, size_t count, trl_error *err)
{
    return do_operation(s, &(request){SCORE, p, searches, count, NULL}, err);
}

static int viterbi(trl__stream *s, trl__search *searches, size_t count, trl_error *err)
{
    return do_operation(s, &(request){VITERBI, NULL, searches, count, NULL}, err);
}

static int backtrack(trl__stream *s, trl__search *searches, size_t count, trl_error *err)
{
    return do_operation(s, &(request){BACKTRACK, NULL, searches, count, NULL}, err);
}

static int accumulate(trl__stream *s, const trl__parameters *p, trl__search *searches, size_t count,
                      trl__local_stats *local, trl_error *err)
{
    return do_operation(s, &(request){ACCUMULATE, p, searches, count, local}, err);
}

static int forward_backward(trl__stream *s, trl__search *searches, size_t count, trl_error *err)
{
    return do_operation(s, &(request){FORWARD_BACKWARD, NULL, searches, count, NULL}, err);
}

static int accumulate_soft(trl__stream *s, const trl__parameters *p, trl__search *searches, size_t count,
                           trl__local_stats *local, trl_error *err)
{
    return do_operation(s, &(request){ACCUMULATE_SOFT, p, searches, count, local}, err);
}

static int wait_for(trl__stream *s, trl_error *err)
{
    return do_operation(s, &(request){.what = WAIT}, err);
}

/* ---- Buffers belong to one device ---- */

static int buffer_create(trl__device *device, size_t size, trl__buffer **out, trl_error *err)
{
    (void)size;
    *out = NULL;
    return trl__fail(err, TRL_EUNSUPPORTED, "%s: a buffer belongs to one device, not to a group", device->info.name);
}

/* ---- Transducers ---- */

/* One machine goes to one device. The reserve has none: who walks through it has the processor's own searches instead. */
static int create_machine(trl__device *base, const trl__machine_arrays *arrays, trl__machine **out, trl_error *err)
{
    const group *g = (const group *)base;
    if (g->count > 1)
        return trl__fail(err, TRL_EUNSUPPORTED, "transducers take one device, not %s", g->name);
    return trl__machine_create(g->member[0], arrays, out, err);
}

static int walk_machine(trl__stream *base, const trl__machine *machine, int kind, trl__passage *passages, size_t count,
                        size_t *done, trl_error *err)
{
    return trl__machine_walk(((group_stream *)base)->inner, machine, (trl__walk_kind)kind, passages, count, done, err);
}

static const trl__backend group_backend = {.name = "group",
                                           .close = close_group,
                                           .buffer_create = buffer_create,
                                           .stream_create = create_stream,
                                           .stream_destroy = destroy_stream,
                                           .stream_info = stream_info,
                                           .trim = trim,
                                           .frames_ahead = frames_ahead,
                                           .wait = wait_for,
                                           .load_model = load_model,
                                           .free_model = free_parameters,
                                           .frames = frames,
                                           .score = score,
                                           .viterbi = viterbi,
                                           .backtrack = backtrack,
                                           .accumulate = accumulate,
                                           .forward_backward = forward_backward,
                                           .accumulate_soft = accumulate_soft,
                                           .machine_create = create_machine,
                                           .machine_walk = walk_machine};
