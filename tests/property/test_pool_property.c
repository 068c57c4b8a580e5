/* Random loops: any counts, any failing items, any number of threads, items of very uneven length. The outcome must be
 * what one thread that runs the items in order would give. */
#include "cmocka_test.h"

#include "base/fail.h"
#include "base/random.h"

#include <trellis/pool.h>

#include <stdatomic.h>
#include <stdio.h>

enum { MOST_ITEMS = 300 };

struct trial {
    trl_pool *pool;
    uint64_t seed;
    unsigned failing_percent;
    int depth;
    atomic_uchar runs[MOST_ITEMS];
};

static int item_fails(const struct trial *trial, size_t index)
{
    return trl__random_bits(trial->seed, 1, index) % 100 < trial->failing_percent;
}

/* Busy for a time that differs by a factor of a thousand from item to item. */
static void work(uint64_t seed, size_t index)
{
    uint32_t steps = 1u << trl__random_bits(seed, 2, index) % 11;
    for (volatile uint32_t i = 0; i < steps; i++) {
    }
}

static int run_item(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    struct trial *trial = user;
    atomic_fetch_add(&trial->runs[index], 1);
    work(trial->seed, index);
    if (trial->depth > 0) {
        struct trial inner = {.pool = trial->pool, .seed = trial->seed + index, .depth = trial->depth - 1};
        if (trl_pool_for(trial->pool, trl__random_bits(inner.seed, 3, 0) % 6, run_item, &inner, err) < 0)
            return TRL_EINVAL;
    }
    return item_fails(trial, index) ? trl__fail(err, TRL_EFORMAT, "item %zu", index) : 0;
}

static void check_trial(trl_pool *pool, uint64_t seed)
{
    struct trial trial = {.pool = pool, .seed = seed, .depth = seed % 3 == 0};
    trial.failing_percent = seed % 4 * (seed % 4); /* 0, 1, 4 or 9 */
    size_t count = trl__random_bits(seed, 0, 0) % MOST_ITEMS, lowest = 0;
    while (lowest < count && !item_fails(&trial, lowest))
        lowest++;
    trl_error err;
    char expected[32];
    snprintf(expected, sizeof expected, "item %zu", lowest);
    int code = trl_pool_for(pool, count, run_item, &trial, &err);
    assert_int_equal(code, lowest < count ? TRL_EFORMAT : 0);
    if (code < 0)
        assert_string_equal(err.text, expected);
    for (size_t i = 0; i < MOST_ITEMS; i++) { /* up to the failure all ran; behind it some may have, none twice */
        if (i < count && i <= lowest)
            assert_int_equal(trial.runs[i], 1);
        else
            assert_true(trial.runs[i] <= (i < count));
    }
}

static void any_number_of_threads_gives_the_serial_outcome(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 9; threads += 2) {
        trl_pool *pool;
        assert_int_equal(trl_pool_create(threads, &pool, NULL), 0);
        for (uint64_t seed = 0; seed < 120; seed++)
            check_trial(pool, seed);
        trl_pool_destroy(pool);
    }
}

static void pools_come_and_go(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        trl_pool *pool;
        assert_int_equal(trl_pool_create(1 + (int)(seed % 6), &pool, NULL), 0);
        if (seed % 5)
            check_trial(pool, seed);
        trl_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_serial_outcome),
        cmocka_unit_test(pools_come_and_go),
    };
    return RUN(tests);
}
