/* The thread pool: every item once, uneven items balanced, nested loops, the lowest failure, exclusive scratch, many
 * callers. Run under ThreadSanitizer too: the plain counters below are races unless the pool keeps its promises. */
#define _GNU_SOURCE
#include "cmocka_test.h"

#include "base/fail.h"
#include "base/memory.h"

#include <trellis/pool.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const int thread_counts[] = {1, 2, 3, 8};
#define FOR_EACH_POOL(pool)                                                                        \
    for (size_t pool##_i = 0; pool##_i < sizeof thread_counts / sizeof *thread_counts; pool##_i++) \
        for (trl_pool *pool = make_pool(thread_counts[pool##_i]); pool; trl_pool_destroy(pool), pool = NULL)

static trl_pool *make_pool(int threads)
{
    trl_pool *pool;
    assert_int_equal(trl_pool_create(threads, &pool, NULL), 0);
    assert_int_equal(trl_pool_threads(pool), threads);
    return pool;
}

static int count_item(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    (void)err;
    ((int *)user)[index]++;
    return 0;
}

static void every_item_runs_once(void **state)
{
    (void)state;
    static int runs[1000];
    static const size_t counts[] = {0, 1, 2, 7, 1000};
    FOR_EACH_POOL(pool)
    for (size_t c = 0; c < 5; c++) {
        memset(runs, 0, sizeof runs);
        assert_int_equal(trl_pool_for(pool, counts[c], count_item, runs, NULL), 0);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(runs[i], i < counts[c]);
    }
    memset(runs, 0, sizeof runs);
    assert_int_equal(trl_pool_for(NULL, 1000, count_item, runs, NULL), 0);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(runs[i], 1);
}

static void sizes_of_pools(void **state)
{
    (void)state;
    trl_pool *pool = (trl_pool *)&pool;
    trl_error err;
    assert_int_equal(trl_pool_create(-1, &pool, &err), TRL_EINVAL);
    assert_null(pool);
    assert_int_equal(trl_pool_create(1000000, &pool, &err), TRL_EINVAL);
    assert_string_equal(err.text, "1000000 threads: choose 1 to 1024, or 0 for one per core");
    assert_int_equal(trl_pool_create(0, &pool, &err), 0);
    assert_true(trl_pool_threads(pool) >= 1);
    trl_pool_destroy(pool);
    trl_pool_destroy(NULL);
    assert_int_equal(trl_pool_threads(NULL), 1);
}

struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t done, needed;
    int timed_out;
};

/* The first item takes as long as all others together: only free hand-out lets the rest go on meanwhile. */
static int wait_for_the_others(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    (void)err;
    struct gate *gate = user;
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 120;
    pthread_mutex_lock(&gate->mutex);
    if (index > 0)
        gate->done++;
    else
        while (gate->done < gate->needed && !gate->timed_out)
            gate->timed_out = pthread_cond_timedwait(&gate->changed, &gate->mutex, &limit) == ETIMEDOUT;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
    return 0;
}

static void a_long_item_holds_nobody_up(void **state)
{
    (void)state;
    FOR_EACH_POOL(pool)
    {
        struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 99, 0};
        if (trl_pool_threads(pool) > 1)
            assert_int_equal(trl_pool_for(pool, 100, wait_for_the_others, &gate, NULL), 0);
        assert_false(gate.timed_out);
    }
}

/* An outer loop whose items each run a loop, whose items each run a loop. `busy` is per loop, `scratch` per worker. */
struct loop {
    trl_pool *pool;
    int depth;
    long sum;                       /* of the leaves below, filled in afterwards */
    long partial[16];               /* by worker, not atomic */
    atomic_int busy[16], conflicts; /* two items at once on one worker's number */
};

static int run_nested(void *user, size_t index, int worker, trl_error *err)
{
    struct loop *loop = user;
    if (atomic_exchange(&loop->busy[worker], 1) != 0)
        atomic_fetch_add(&loop->conflicts, 1);
    long value = (long)index + 1;
    int code = 0;
    if (loop->depth > 0) {
        struct loop inner = {.pool = loop->pool, .depth = loop->depth - 1};
        code = trl_pool_for(loop->pool, 1 + index % 5, run_nested, &inner, err);
        for (int w = 0; w < 16; w++)
            value += inner.partial[w];
        atomic_fetch_add(&loop->conflicts, atomic_load(&inner.conflicts));
    }
    loop->partial[worker] += value;
    atomic_store(&loop->busy[worker], 0);
    return code;
}

static long nested_total(size_t count, int depth)
{
    long total = 0;
    for (size_t i = 0; i < count; i++)
        total += (long)i + 1 + (depth > 0 ? nested_total(1 + i % 5, depth - 1) : 0);
    return total;
}

static void check_nested(trl_pool *pool, size_t count, int depth)
{
    struct loop loop = {.pool = pool, .depth = depth};
    assert_int_equal(trl_pool_for(pool, count, run_nested, &loop, NULL), 0);
    for (int w = 0; w < 16; w++)
        loop.sum += loop.partial[w];
    for (int w = trl_pool_threads(pool); w < 16; w++)
        assert_int_equal(loop.partial[w], 0);
    assert_int_equal(loop.sum, nested_total(count, depth));
    assert_int_equal(atomic_load(&loop.conflicts), 0);
}

static void loops_inside_loops(void **state)
{
    (void)state;
    FOR_EACH_POOL(pool)
    for (int depth = 0; depth <= 3; depth++)
        check_nested(pool, 40, depth);
}

/* Every thread has one item, since no item ends before all have begun; then each runs a loop of its own. */
struct meeting {
    trl_pool *pool;
    pthread_barrier_t barrier;
    int outer[16], inner[16]; /* worker numbers by item */
};

static int note_worker(void *user, size_t index, int worker, trl_error *err)
{
    (void)index;
    (void)err;
    *(int *)user = worker;
    return 0;
}

static int meet(void *user, size_t index, int worker, trl_error *err)
{
    struct meeting *meeting = user;
    meeting->outer[index] = worker;
    pthread_barrier_wait(&meeting->barrier);
    return trl_pool_for(meeting->pool, 1, note_worker, &meeting->inner[index], err);
}

static void threads_have_numbers_of_their_own(void **state)
{
    (void)state;
    FOR_EACH_POOL(pool)
    {
        struct meeting meeting = {.pool = pool};
        int threads = trl_pool_threads(pool), seen[16] = {0};
        pthread_barrier_init(&meeting.barrier, NULL, (unsigned)threads);
        assert_int_equal(trl_pool_for(pool, (size_t)threads, meet, &meeting, NULL), 0);
        pthread_barrier_destroy(&meeting.barrier);
        for (int i = 0; i < threads; i++) {
            assert_in_range(meeting.outer[i], 0, threads - 1);
            assert_int_equal(seen[meeting.outer[i]]++, 0);
            assert_int_equal(meeting.inner[i], meeting.outer[i]);
        }
    }
}

struct slow {
    pthread_barrier_t begun;
    int finished; /* plain: the end of the loop must order it */
};

static int finish_slowly(void *user, size_t index, int worker, trl_error *err)
{
    (void)index;
    (void)err;
    struct slow *slow = user;
    pthread_barrier_wait(&slow->begun);
    for (int i = 0; worker != 0 && i < 2000; i++)
        sched_yield();
    if (worker != 0)
        slow->finished = 1;
    return 0;
}

static void a_loop_ends_after_its_last_item(void **state)
{
    (void)state;
    trl_pool *pool = make_pool(2);
    struct slow slow = {.finished = 0};
    pthread_barrier_init(&slow.begun, NULL, 2);
    assert_int_equal(trl_pool_for(pool, 2, finish_slowly, &slow, NULL), 0);
    assert_int_equal(slow.finished, 1);
    pthread_barrier_destroy(&slow.begun);
    trl_pool_destroy(pool);
}

struct caller {
    trl_pool *pool;
    long sum, conflicts;
};

static void *call_from_outside(void *user)
{
    struct caller *caller = user;
    for (int round = 0; round < 30; round++) {
        struct loop loop = {.pool = caller->pool, .depth = 1};
        trl_pool_for(caller->pool, 10, run_nested, &loop, NULL);
        for (int w = 0; w < 16; w++)
            caller->sum += loop.partial[w];
        caller->conflicts += atomic_load(&loop.conflicts);
    }
    return NULL;
}

static void many_threads_call_at_once(void **state)
{
    (void)state;
    FOR_EACH_POOL(pool)
    {
        struct caller callers[6];
        pthread_t threads[6];
        for (int i = 0; i < 6; i++) {
            callers[i] = (struct caller){.pool = pool};
            assert_int_equal(pthread_create(&threads[i], NULL, call_from_outside, &callers[i]), 0);
        }
        for (int i = 0; i < 6; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(callers[i].sum, 30 * nested_total(10, 1));
            assert_int_equal(callers[i].conflicts, 0);
        }
    }
}

struct two_pools {
    trl_pool *other;
    int runs[20][5];
};

static int use_other_pool(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    struct two_pools *pools = user;
    return trl_pool_for(pools->other, 5, count_item, pools->runs[index], err);
}

static void a_loop_may_use_another_pool(void **state)
{
    (void)state;
    struct two_pools pools = {.other = make_pool(3)};
    FOR_EACH_POOL(pool)
    {
        memset(pools.runs, 0, sizeof pools.runs);
        assert_int_equal(trl_pool_for(pool, 20, use_other_pool, &pools, NULL), 0);
        for (int i = 0; i < 100; i++)
            assert_int_equal(pools.runs[i / 5][i % 5], 1);
    }
    trl_pool_destroy(pools.other);
}

struct failing {
    size_t first; /* this item fails, and every third after it */
    atomic_size_t ran;
};

static int fail_from(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    struct failing *failing = user;
    atomic_fetch_add(&failing->ran, 1);
    if (index < failing->first || (index - failing->first) % 3 != 0)
        return 0;
    return trl__fail(err, index % 2 ? TRL_EFORMAT : TRL_EIO, "item %zu", index);
}

static void the_lowest_failure_is_reported(void **state)
{
    (void)state;
    static const size_t firsts[] = {0, 1, 50, 997};
    FOR_EACH_POOL(pool)
    for (size_t f = 0; f < 4; f++) {
        struct failing failing = {.first = firsts[f]};
        trl_error err;
        char expected[32];
        snprintf(expected, sizeof expected, "item %zu", firsts[f]);
        int code = firsts[f] % 2 ? TRL_EFORMAT : TRL_EIO;
        assert_int_equal(trl_pool_for(pool, 1000, fail_from, &failing, &err), code);
        assert_int_equal(err.code, code);
        assert_string_equal(err.text, expected);
        assert_true(failing.ran > firsts[f]);
        if (trl_pool_threads(pool) == 1)
            assert_int_equal(failing.ran, firsts[f] + 1);
        assert_int_equal(trl_pool_for(pool, 1000, fail_from, &failing, NULL), code);
    }
}

/* Item 0 fails only after a later item has failed: the later failure must not win, and nothing new may start. */
struct late {
    pthread_mutex_t mutex;
    pthread_cond_t failed;
    int other_failed;
    atomic_int ran;
};

static int fail_late(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    struct late *late = user;
    atomic_fetch_add(&late->ran, 1);
    pthread_mutex_lock(&late->mutex);
    if (index > 0) {
        late->other_failed = 1;
        pthread_cond_broadcast(&late->failed);
    }
    while (!late->other_failed)
        pthread_cond_wait(&late->failed, &late->mutex);
    pthread_mutex_unlock(&late->mutex);
    return trl__fail(err, TRL_ELIMIT, "item %zu", index);
}

static void a_later_item_that_fails_sooner_does_not_win(void **state)
{
    (void)state;
    FOR_EACH_POOL(pool)
    {
        struct late late = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
        trl_error err;
        if (trl_pool_threads(pool) == 1)
            continue;
        assert_int_equal(trl_pool_for(pool, 100000, fail_late, &late, &err), TRL_ELIMIT);
        assert_string_equal(err.text, "item 0");
        assert_true(late.ran <= trl_pool_threads(pool)); /* each thread had one item at most */
    }
}

static int fail_inside(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    struct failing failing = {.first = index == 5 ? 3 : 1000};
    return trl_pool_for(user, 10, fail_from, &failing, err);
}

static void an_inner_failure_comes_out(void **state)
{
    (void)state;
    FOR_EACH_POOL(pool)
    {
        trl_error err;
        assert_int_equal(trl_pool_for(pool, 20, fail_inside, pool, &err), TRL_EFORMAT);
        assert_string_equal(err.text, "item 3");
    }
}

static int threads_left = -1; /* how many more the system gives; -1: as many as one wants */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (threads_left == 0)
        return EAGAIN;
    threads_left -= threads_left > 0;
    return real(thread, attributes, start, argument);
}

static void no_memory_and_no_threads(void **state)
{
    (void)state;
    trl_pool *pool;
    trl_error err;
    trl__memory_fail_after(1);
    assert_int_equal(trl_pool_create(2, &pool, &err), TRL_ENOMEM);
    trl__memory_fail_after(0);
    assert_null(pool);
    threads_left = 2;
    assert_int_equal(trl_pool_create(8, &pool, &err), TRL_ENOMEM);
    threads_left = -1;
    assert_null(pool);
    assert_string_equal(err.text, "the system refused thread 4 of 8, out of memory or of threads; ask for fewer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once),
        cmocka_unit_test(sizes_of_pools),
        cmocka_unit_test(a_long_item_holds_nobody_up),
        cmocka_unit_test(loops_inside_loops),
        cmocka_unit_test(threads_have_numbers_of_their_own),
        cmocka_unit_test(a_loop_ends_after_its_last_item),
        cmocka_unit_test(many_threads_call_at_once),
        cmocka_unit_test(a_loop_may_use_another_pool),
        cmocka_unit_test(the_lowest_failure_is_reported),
        cmocka_unit_test(a_later_item_that_fails_sooner_does_not_win),
        cmocka_unit_test(an_inner_failure_comes_out),
        cmocka_unit_test(no_memory_and_no_threads),
    };
    return RUN(tests);
}
