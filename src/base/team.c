/* The team.
 *
 * A loop is open while its items are handed out. A thread that comes says so first (`inside`), then looks whether the loop is open; the caller
 * closes it and waits until nobody is inside. Both sides write before they read, so either the thread is seen or it sees that it is too late.
 *
 * Whoever has something for the others counts `calls` up. Threads watch that number alone: for SPIN looks, then asleep. */
#include "base/team.h"
#include "base/fail.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define SPIN 3000   /* looks, some 0.05 ms: longer than most things that one thread does alone between two loops */
#define PATIENT 300 /* looks after which a thread is free */

#define WINDOW 128      /* loops by which the others are judged */
#define LEAST_WORK 3e-6 /* seconds of a loop that counts */
#define LEAST_GAIN 1.15 /* so much quicker than the caller alone must they be, by and large … */
#define LEAST_REST 2e-3 /* … else it is alone for so many seconds, twice as long the next time … */
#define MOST_REST 1.0   /* … up to this */

typedef struct range {
    alignas(TRL_ALIGNMENT) atomic_int next;
    int32_t end;
} range;

typedef struct member {
    trl__team *team;
    pthread_t thread;
    int number;
} member;

struct trl__team {
    alignas(TRL_ALIGNMENT) atomic_uint calls;
    atomic_int is_open, is_closing;
    _Atomic(trl__team_idle_fn) idle;
    alignas(TRL_ALIGNMENT) atomic_int inside; /* the loop */
    atomic_int helped;                        /* items that others did */
    atomic_int busy;                          /* with idle work */
    alignas(TRL_ALIGNMENT) atomic_int asleep; /* members */
    atomic_int is_waiting;                    /* the caller, for idle work */
    trl__team_fn fn;
    void *user, *idle_user;
    int threads, workers, spin, insists;
    double rest, alone_until; /* seconds: alone the next time; the time until which the caller is */
    int loops;                /* of the window */
    double spent, alone;      /* seconds of theirs; that the caller would have taken alone */
    pthread_mutex_t mutex;
    pthread_cond_t call, progress;
    range ranges[TRL__TEAM_MOST];
    member members[TRL__TEAM_MOST];
};

/* ---- members ---- */

/* Returns how many. */
static int take_items(trl__team *t, int number)
{
    int taken = 0;
    for (int i = 0; i < t->threads; i++) {
        range *r = &t->ranges[(number + i) % t->threads];
        while (atomic_load_explicit(&r->next, memory_order_relaxed) < r->end) {
            int32_t item = atomic_fetch_add(&r->next, 1);
            if (item >= r->end)
                break;
            t->fn(t->user, item, number);
            taken++;
        }
    }
    return taken;
}

static void join_loop(trl__team *t, int number)
{
    atomic_fetch_add(&t->inside, 1);
    if (atomic_load(&t->is_open))
        atomic_fetch_add(&t->helped, take_items(t, number));
    atomic_fetch_sub(&t->inside, 1);
}

static int do_idle_work(trl__team *t, int number, int is_free)
{
    int did = 0;
    if (!atomic_load(&t->idle))
        return 0;
    atomic_fetch_add(&t->busy, 1);
    trl__team_idle_fn fn = atomic_load(&t->idle);
    if (fn)
        did = fn(t->idle_user, number, is_free);
    atomic_fetch_sub(&t->busy, 1);
    if (did && atomic_load(&t->is_waiting)) {
        pthread_mutex_lock(&t->mutex);
        pthread_cond_broadcast(&t->progress);
        pthread_mutex_unlock(&t->mutex);
    }
    return did;
}

/* Looks for a call that was not seen; returns 0 when there was none for so many looks. */
static int look_out(trl__team *t, unsigned seen, int looks)
{
    for (int i = 0; i < looks; i++) {
        if (atomic_load(&t->calls) != seen)
            return 1;
        trl__relax();
    }
    return 0;
}

static void sleep_until_called(trl__team *t, unsigned seen)
{
    pthread_mutex_lock(&t->mutex);
    atomic_fetch_add(&t->asleep, 1);
    while (atomic_load(&t->calls) == seen)
        pthread_cond_wait(&t->call, &t->mutex);
    atomic_fetch_sub(&t->asleep, 1);
    pthread_mutex_unlock(&t->mutex);
}

static void *member_main(void *argument)
{
    const member *self = argument;
    trl__team *t = self->team;
    for (;;) {
        unsigned seen = atomic_load(&t->calls);
        if (atomic_load(&t->is_closing))
            return NULL;
        int shares = self->number < t->threads;
        if (shares && atomic_load(&t->is_open))
            join_loop(t, self->number);
        if (do_idle_work(t, self->number, !shares) || look_out(t, seen, t->spin < PATIENT ? t->spin : PATIENT) ||
            do_idle_work(t, self->number, 1) || look_out(t, seen, t->spin))
            continue;
        sleep_until_called(t, seen);
    }
}

/* ---- making one ---- */

static int count_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > TRL__TEAM_MOST ? TRL__TEAM_MOST : (int)cores;
}

int trl__team_create(int threads, int helpers, trl__team **out, trl_error *err)
{
    *out = NULL;
    if (threads < 1 || helpers < 0 || threads > TRL__TEAM_MOST || helpers > TRL__TEAM_MOST - threads)
        return trl__fail(err, TRL_EINVAL, "%d threads and %d helpers; choose 1 to %d together", threads, helpers,
                         TRL__TEAM_MOST);
    trl__team *t = trl__alloc_aligned(1, sizeof *t);
    if (!t)
        return trl__fail_memory(err);
    *t = (trl__team){.threads = threads, .workers = 1, .rest = LEAST_REST};
    t->spin = threads + helpers <= count_cores() ? SPIN : 0;
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->call, NULL);
    pthread_cond_init(&t->progress, NULL);
    for (int i = 1; i < threads + helpers; i++) {
        t->members[i] = (member){.team = t, .number = i};
        if (pthread_create(&t->members[i].thread, NULL, member_main, &t->members[i]) != 0) {
            trl__team_destroy(t);
            return trl__fail(err, TRL_ENOMEM,
                             "the system refused thread %d of %d, out of memory or of threads; ask for fewer", i + 1,
                             threads + helpers);
        }
        t->workers = i + 1;
    }
    *out = t;
    return 0;
}

static void call_members(trl__team *t)
{
    atomic_fetch_add(&t->calls, 1);
    if (atomic_load(&t->asleep) > 0) {
        pthread_mutex_lock(&t->mutex);
        pthread_cond_broadcast(&t->call);
        pthread_mutex_unlock(&t->mutex);
    }
}

void trl__team_destroy(trl__team *t)
{
    if (!t)
        return;
    atomic_store(&t->is_closing, 1);
    call_members(t);
    for (int i = 1; i < t->workers; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->progress);
    pthread_cond_destroy(&t->call);
    pthread_mutex_destroy(&t->mutex);
    trl__free(t);
}

int trl__team_threads(const trl__team *t)
{
    return t ? t->threads : 1;
}

int trl__team_workers(const trl__team *t)
{
    return t ? t->workers : 1;
}

/* ---- work ---- */

/* What others are doing ends soon, unless they have no core. */
static void await_zero(atomic_int *count, int spin)
{
    for (int i = 0; atomic_load(count) != 0; i++)
        if (i < spin)
            trl__relax();
        else
            sched_yield();
}

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int trl__team_is_sharing(const trl__team *t)
{
    return t && t->threads > 1 && clock_seconds() >= t->alone_until;
}

void trl__team_insist(trl__team *t)
{
    t->insists = 1;
}

/* Judges a loop by the caller's seconds of work, those that it waited for others, and the share of the items that it had. */
static void learn(trl__team *t, double work, double wait, double share, double now)
{
    if (t->insists || work + wait < LEAST_WORK)
        return;
    t->spent += work + wait;
    t->alone += share > 0 ? work / share : work + wait;
    if (++t->loops < WINDOW)
        return;
    int is_worth_it = t->alone > LEAST_GAIN * t->spent;
    if (!is_worth_it)
        t->alone_until = now + t->rest;
    t->rest = is_worth_it ? LEAST_REST : t->rest < MOST_REST / 2 ? 2 * t->rest : MOST_REST;
    t->loops = 0;
    t->spent = t->alone = 0;
}

static void share_items(trl__team *t, int32_t count, trl__team_fn fn, void *user)
{
    t->fn = fn;
    t->user = user;
    for (int i = 0; i < t->threads; i++) {
        atomic_store_explicit(&t->ranges[i].next, (int)((int64_t)count * i / t->threads), memory_order_relaxed);
        t->ranges[i].end = (int32_t)((int64_t)count * (i + 1) / t->threads);
    }
    atomic_store(&t->is_open, 1);
    call_members(t);
    take_items(t, 0);
    atomic_store(&t->is_open, 0);
}

void trl__team_for(trl__team *t, int32_t count, trl__team_fn fn, void *user)
{
    if (count < 2 || !trl__team_is_sharing(t)) {
        for (int32_t i = 0; i < count; i++)
            fn(user, i, 0);
        return;
    }
    double start = clock_seconds();
    int was_busy = atomic_load(&t->busy);
    atomic_store(&t->helped, 0);
    share_items(t, count, fn, user);
    double done = clock_seconds();
    await_zero(&t->inside, t->spin);
    double now = clock_seconds();
    if (!was_busy)
        learn(t, done - start, now - done, (double)(count - atomic_load(&t->helped)) / count, now);
}

void trl__team_idle(trl__team *t, trl__team_idle_fn fn, void *user)
{
    if (!t)
        return;
    atomic_store(&t->idle, NULL);
    await_zero(&t->busy, t->spin);
    if (!fn)
        return;
    t->idle_user = user;
    atomic_store(&t->idle, fn);
    call_members(t);
}

void trl__team_more(trl__team *t)
{
    if (t && t->workers > 1)
        call_members(t);
}

void trl__team_wait(trl__team *t, int (*is_done)(void *user), void *user)
{
    for (int i = 0; i < t->spin; i++) {
        if (is_done(user))
            return;
        trl__relax();
    }
    pthread_mutex_lock(&t->mutex);
    atomic_store(&t->is_waiting, 1);
    while (!is_done(user))
        pthread_cond_wait(&t->progress, &t->mutex);
    atomic_store(&t->is_waiting, 0);
    pthread_mutex_unlock(&t->mutex);
}
