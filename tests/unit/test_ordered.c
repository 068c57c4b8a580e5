/* The ordered loop: results are used in order, few wait at once, and the first failure by item is the one that counts.
 */
#include "cmocka_test.h"

#include "base/memory.h"
#include "base/ordered.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NONE ((size_t)-1)

typedef struct record {
    size_t window;
    size_t fail_produce[2], fail_consume; /* items; NONE: none */
    int first_fails_first;                /* fail_produce[1] waits until fail_produce[0] has failed */
    atomic_int first_has_failed;
    size_t slots[64]; /* what produce left there: item + 1 */
    int workers[64];  /* threads in produce, per worker number */
    atomic_size_t produced;
    atomic_int consuming;
    size_t consumed;
    int wrong;
} record;

/* A thread that is given little or much to do, by the item's number. */
static unsigned work(size_t item)
{
    unsigned x = (unsigned)item * 2654435761u;
    for (unsigned i = 0; i < x % 3000; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}

static int produce(void *user, size_t item, size_t slot, int worker, trl_error *err)
{
    record *r = user;
    if (r->workers[worker]++ != 0 || slot != item % r->window)
        r->wrong = 1;
    r->slots[slot] = item + (work(item) == 77 ? 2 : 1);
    atomic_fetch_add(&r->produced, 1);
    r->workers[worker]--;
    if (item != r->fail_produce[0] && item != r->fail_produce[1])
        return 0;
    while (r->first_fails_first && item == r->fail_produce[1] && !atomic_load(&r->first_has_failed))
        sched_yield();
    atomic_store(&r->first_has_failed, item == r->fail_produce[0]);
    snprintf(err->text, sizeof err->text, "produce %zu", item);
    return TRL_EIO;
}

static int consume(void *user, size_t item, size_t slot, trl_error *err)
{
    record *r = user;
    if (atomic_fetch_add(&r->consuming, 1) != 0 || item != r->consumed || slot != item % r->window ||
        r->slots[slot] != item + 1)
        r->wrong = 1;
    if (atomic_load(&r->produced) > item + r->window) /* produced and not consumed, this one included */
        r->wrong = 1;
    r->slots[slot] = 0;
    r->consumed++;
    atomic_fetch_sub(&r->consuming, 1);
    if (item != r->fail_consume)
        return 0;
    snprintf(err->text, sizeof err->text, "consume %zu", item);
    return TRL_ECORRUPT;
}

static int run(record *r, int threads, size_t count, trl_error *err)
{
    trl_pool *pool = NULL;
    trl__ordered_work w = {count, r->window, produce, consume, r};
    assert_int_equal(trl_pool_create(threads, &pool, err), 0);
    int code = trl__ordered_for(pool, &w, err);
    trl_pool_destroy(pool);
    assert_false(r->wrong);
    assert_int_equal(atomic_load(&r->consuming), 0);
    return code;
}

static const int thread_counts[] = {1, 2, 5, 16};

static void test_order_and_window(void **state)
{
    (void)state;
    const size_t windows[] = {1, 2, 7, 64};
    for (size_t t = 0; t < 4; t++)
        for (size_t w = 0; w < 4; w++)
            for (size_t count = 0; count < 600; count = count * 3 + 1) {
                record r = {.window = windows[w], .fail_produce = {NONE, NONE}, .fail_consume = NONE};
                trl_error err = {0, ""};
                assert_int_equal(run(&r, thread_counts[t], count, &err), 0);
                assert_int_equal(r.consumed, count);
                assert_int_equal(atomic_load(&r.produced), count);
            }
}

static void test_no_pool(void **state)
{
    (void)state;
    record r = {.window = 3, .fail_produce = {NONE, NONE}, .fail_consume = NONE};
    trl__ordered_work w = {10, 3, produce, consume, &r};
    assert_int_equal(trl__ordered_for(NULL, &w, NULL), 0);
    assert_int_equal(r.consumed, 10);
    r.consumed = 0;
    r.fail_consume = 4;
    assert_int_equal(trl__ordered_for(NULL, &w, NULL), TRL_ECORRUPT); /* no place for the text is fine */
    assert_int_equal(r.consumed, 5);
}

/* Whoever fails first by item wins, for any threads; everything before it was used, nothing behind it. */
static void test_lowest_failure(void **state)
{
    (void)state;
    const struct {
        size_t produce[2], consume;
        int code;
        const char *text;
        size_t used;
    } cases[] = {
        {{50, NONE}, NONE, TRL_EIO, "produce 50", 50},   {{51, 50}, NONE, TRL_EIO, "produce 50", 50},
        {{0, 1}, NONE, TRL_EIO, "produce 0", 0},         {{NONE, NONE}, 50, TRL_ECORRUPT, "consume 50", 51},
        {{51, 52}, 50, TRL_ECORRUPT, "consume 50", 51},  {{50, 49}, 51, TRL_EIO, "produce 49", 49},
        {{NONE, NONE}, 0, TRL_ECORRUPT, "consume 0", 1}, {{199, NONE}, NONE, TRL_EIO, "produce 199", 199},
        {{NONE, 3}, 199, TRL_EIO, "produce 3", 3},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t t = 0; t < 4; t++) {
            record r = {.window = 8,
                        .fail_produce = {cases[c].produce[0], cases[c].produce[1]},
                        .fail_consume = cases[c].consume};
            trl_error err = {0, ""};
            assert_int_equal(run(&r, thread_counts[t], 200, &err), cases[c].code);
            assert_int_equal(err.code, cases[c].code);
            assert_string_equal(err.text, cases[c].text);
            assert_int_equal(r.consumed, cases[c].used);
            assert_true(atomic_load(&r.produced) <= cases[c].used + 1 + r.window); /* no work for nothing */
        }
}

/* The higher of two items fails while the lower is still at work. */
static void test_later_lower_failure(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        record r = {.window = 8, .fail_produce = {51, 50}, .fail_consume = NONE, .first_fails_first = 1};
        trl_error err = {0, ""};
        assert_int_equal(run(&r, 2 + i % 5, 200, &err), TRL_EIO);
        assert_string_equal(err.text, "produce 50");
        assert_int_equal(r.consumed, 50);
    }
}

static void test_memory(void **state)
{
    (void)state;
    record r = {.window = 3, .fail_produce = {NONE, NONE}, .fail_consume = NONE};
    trl__ordered_work w = {10, 3, produce, consume, &r};
    trl_error err;
    trl__memory_fail_after(1);
    int code = trl__ordered_for(NULL, &w, &err);
    trl__memory_fail_after(0);
    assert_int_equal(code, TRL_ENOMEM);
    assert_int_equal(r.consumed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_window), cmocka_unit_test(test_no_pool),
        cmocka_unit_test(test_lowest_failure),   cmocka_unit_test(test_later_lower_failure),
        cmocka_unit_test(test_memory),
    };
    return RUN(tests);
}
