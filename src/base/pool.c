/* The thread pool.
 *
 * A loop is a job on the caller's stack: an atomic counter hands out its items in rising order, and the caller works on
 * its own job until no item is left. Idle threads of the pool join whatever job is in the list. The caller leaves when
 * the last helper has left its job, so the job may live on the stack. A loop inside an item is one more job in the
 * list: whoever waits for a job waits only for items that are already running, so nesting can't deadlock.
 */
#include "base/fail.h"
#include "base/memory.h"

#include <trellis/pool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MOST_THREADS 1024

typedef struct job {
    trl_pool_fn fn;
    void *user;
    size_t count;
    atomic_size_t next; /* the next item to hand out; >= count: none left */
    struct job *link;   /* the list of jobs that still have items; guarded by the pool's mutex, like all below */
    int helpers;        /* threads inside the job besides its caller */
    size_t failed_item;
    trl_error failure; /* code 0: none */
} job;

typedef struct worker {
    trl_pool *pool;
    pthread_t thread;
    int number; /* 1 … threads-1; the caller from outside is 0 */
} worker;

struct trl_pool {
    pthread_mutex_t mutex;
    pthread_cond_t work; /* a job was added, or the pool is closing */
    pthread_cond_t done; /* a helper left a job */
    job *jobs;
    int closing;
    int threads; /* with the caller */
    worker workers[];
};

/* Which worker of which pool the running thread is. */
static _Thread_local const worker *current_worker;

static void record_failure(trl_pool *pool, job *j, size_t item, int code, trl_error *err)
{
    pthread_mutex_lock(&pool->mutex);
    if (j->failure.code == 0 || item < j->failed_item) {
        j->failure = *err;
        j->failure.code = code;
        j->failed_item = item;
    }
    pthread_mutex_unlock(&pool->mutex);
    atomic_store(&j->next, j->count);
}

/* Items below a failed one have all been handed out before it, so the lowest failure does not depend on timing. */
static void run_items(trl_pool *pool, job *j, int number)
{
    for (;;) {
        size_t item = atomic_load(&j->next);
        do {
            if (item >= j->count)
                return;
        } while (!atomic_compare_exchange_weak(&j->next, &item, item + 1));
        trl_error err = {0, ""};
        int code = j->fn(j->user, item, number, &err);
        if (code < 0)
            record_failure(pool, j, item, code, &err);
    }
}

static job *find_job(trl_pool *pool)
{
    for (job *j = pool->jobs; j; j = j->link)
        if (atomic_load(&j->next) < j->count)
            return j;
    return NULL;
}

static void *worker_main(void *argument)
{
    const worker *self = argument;
    trl_pool *pool = self->pool;
    current_worker = self;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->closing) {
        job *j = find_job(pool);
        if (!j) {
            pthread_cond_wait(&pool->work, &pool->mutex);
            continue;
        }
        j->helpers++;
        pthread_mutex_unlock(&pool->mutex);
        run_items(pool, j, self->number);
        pthread_mutex_lock(&pool->mutex);
        if (--j->helpers == 0)
            pthread_cond_broadcast(&pool->done);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static int core_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int)cores;
}

int trl_pool_create(int threads, trl_pool **out, trl_error *err)
{
    *out = NULL;
    if (threads < 0 || threads > MOST_THREADS)
        return trl__fail(err, TRL_EINVAL, "%d threads: choose 1 to %d, or 0 for one per core", threads, MOST_THREADS);
    if (threads == 0)
        threads = core_count();
    trl_pool *pool = trl__alloc_zero(1, sizeof *pool + (size_t)threads * sizeof(worker));
    if (!pool)
        return trl__fail_memory(err);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->threads = 1;
    for (int i = 1; i < threads; i++) {
        pool->workers[i] = (worker){.pool = pool, .number = i};
        if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) != 0) {
            trl_pool_destroy(pool);
            return trl__fail(err, TRL_ENOMEM,
                             "the system refused thread %d of %d, out of memory or of threads; ask for fewer", i + 1,
                             threads);
        }
        pool->threads = i + 1;
    }
    *out = pool;
    return 0;
}

void trl_pool_destroy(trl_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->closing = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 1; i < pool->threads; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    trl__free(pool);
}

int trl_pool_threads(const trl_pool *pool)
{
    return pool ? pool->threads : 1;
}

static int run_serially(size_t count, trl_pool_fn fn, void *user, trl_error *err)
{
    for (size_t i = 0; i < count; i++) {
        trl_error local = {0, ""};
        int code = fn(user, i, 0, &local);
        if (code < 0) {
            if (err) {
                *err = local;
                err->code = code;
            }
            return code;
        }
    }
    return 0;
}

static void add_job(trl_pool *pool, job *j)
{
    pthread_mutex_lock(&pool->mutex);
    j->link = pool->jobs;
    pool->jobs = j;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
}

static void finish_job(trl_pool *pool, job *j)
{
    pthread_mutex_lock(&pool->mutex);
    job **place = &pool->jobs;
    while (*place != j)
        place = &(*place)->link;
    *place = j->link;
    while (j->helpers > 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

int trl_pool_for(trl_pool *pool, size_t count, trl_pool_fn fn, void *user, trl_error *err)
{
    if (!pool || pool->threads == 1)
        return run_serially(count, fn, user, err);
    job j = {.fn = fn, .user = user, .count = count};
    if (count > 1)
        add_job(pool, &j);
    run_items(pool, &j, current_worker && current_worker->pool == pool ? current_worker->number : 0);
    if (count > 1)
        finish_job(pool, &j);
    if (j.failure.code != 0 && err)
        *err = j.failure;
    return j.failure.code;
}
