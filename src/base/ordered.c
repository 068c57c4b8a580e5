#include "base/ordered.h"
#include "base/fail.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdint.h>

typedef struct ordered {
    const trl__ordered_work *work;
    pthread_mutex_t mutex;
    pthread_cond_t moved; /* `next` rose, or something failed */
    char *done;           /* per slot: produced, not yet consumed */
    size_t next;          /* the item to be consumed next */
    int consuming;        /* a thread is at it */
    size_t failed_item;   /* SIZE_MAX: none */
    trl_error failure;
} ordered;

static void record_failure(ordered *o, size_t item, int code, const trl_error *err)
{
    if (item < o->failed_item) {
        o->failed_item = item;
        o->failure = *err;
        o->failure.code = code;
    }
    pthread_cond_broadcast(&o->moved);
}

/* Uses all results that are next in order. The mutex is held, but not during consume. */
static void consume_ready(ordered *o)
{
    if (o->consuming)
        return;
    o->consuming = 1;
    while (o->next < o->work->count && o->next < o->failed_item && o->done[o->next % o->work->window]) {
        size_t item = o->next;
        trl_error err = {0, ""};
        pthread_mutex_unlock(&o->mutex);
        int code = o->work->consume(o->work->user, item, item % o->work->window, &err);
        pthread_mutex_lock(&o->mutex);
        o->done[item % o->work->window] = 0;
        o->next++;
        pthread_cond_broadcast(&o->moved);
        if (code < 0)
            record_failure(o, item, code, &err);
    }
    o->consuming = 0;
}

/* Waits for the slot. Items are handed out in rising order, so the one that is next never waits: no deadlock. */
static int run_item(void *user, size_t item, int worker, trl_error *unused)
{
    (void)unused;
    ordered *o = user;
    pthread_mutex_lock(&o->mutex);
    while (item >= o->next + o->work->window && item < o->failed_item)
        pthread_cond_wait(&o->moved, &o->mutex);
    int wanted = item < o->failed_item;
    pthread_mutex_unlock(&o->mutex);
    if (!wanted)
        return 0;
    trl_error err = {0, ""};
    int code = o->work->produce(o->work->user, item, item % o->work->window, worker, &err);
    pthread_mutex_lock(&o->mutex);
    if (code < 0)
        record_failure(o, item, code, &err);
    else
        o->done[item % o->work->window] = 1;
    consume_ready(o);
    pthread_mutex_unlock(&o->mutex);
    return 0;
}

int trl__ordered_for(trl_pool *pool, const trl__ordered_work *work, trl_error *err)
{
    ordered o = {.work = work, .failed_item = SIZE_MAX};
    o.done = trl__alloc_zero(work->window, 1);
    if (!o.done)
        return trl__fail_memory(err);
    pthread_mutex_init(&o.mutex, NULL);
    pthread_cond_init(&o.moved, NULL);
    trl_pool_for(pool, work->count, run_item, &o, NULL);
    pthread_cond_destroy(&o.moved);
    pthread_mutex_destroy(&o.mutex);
    trl__free(o.done);
    if (o.failure.code != 0 && err)
        *err = o.failure;
    return o.failure.code;
}
