/* Teams: every item once, whoever comes; idle work in between, that ends when it is told to. */
#include "cmocka_test.h"
#include "base/memory.h"
#include "base/team.h"

#include <stdatomic.h>

#define ITEMS 1000
#define LOOPS 2000

static atomic_int counts[ITEMS];

static void count_item(void *user, int32_t item, int worker)
{
    int threads = *(int *)user;
    assert_true(worker >= 0 && worker < threads);
    atomic_fetch_add(&counts[item], 1);
}

static void every_item_is_done_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 7; threads += 2) {
        trl__team *team;
        assert_int_equal(trl__team_create(threads, threads / 2, &team, NULL), 0);
        assert_int_equal(trl__team_threads(team), threads);
        assert_int_equal(trl__team_workers(team), threads + threads / 2);
        for (int i = 0; i < LOOPS; i++) {
            int32_t items = i % 20 == 0 ? ITEMS : i % 7;
            trl__team_for(team, items, count_item, &threads);
            for (int32_t k = 0; k < items; k++)
                assert_int_equal(atomic_exchange(&counts[k], 0), 1);
        }
        trl__team_destroy(team);
    }
}

static void no_team_is_the_caller(void **state)
{
    (void)state;
    int threads = 1;
    trl__team_for(NULL, ITEMS, count_item, &threads);
    for (int32_t k = 0; k < ITEMS; k++)
        assert_int_equal(atomic_exchange(&counts[k], 0), 1);
    assert_int_equal(trl__team_threads(NULL), 1);
    assert_int_equal(trl__team_workers(NULL), 1);
}

typedef struct errand {
    atomic_int left, done, is_over;
} errand;

static int do_piece(void *user, int worker, int is_free)
{
    errand *e = user;
    (void)is_free;
    assert_true(worker > 0);
    assert_int_equal(atomic_load(&e->is_over), 0);
    int left = atomic_load(&e->left);
    while (left > 0 && !atomic_compare_exchange_weak(&e->left, &left, left - 1))
        ;
    if (left <= 0)
        return 0;
    atomic_fetch_add(&e->done, 1);
    return 1;
}

static int is_all_done(void *user)
{
    return atomic_load(&((errand *)user)->done) >= 500;
}

/* Loops go on meanwhile; helpers work though they share no loop; and after the end nobody is at it. */
static void idle_work_is_done_between_loops(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++)
        for (int round = 0; round < 50; round++) {
            trl__team *team;
            errand e = {.left = 400};
            assert_int_equal(trl__team_create(threads, 1, &team, NULL), 0);
            trl__team_idle(team, do_piece, &e);
            for (int i = 0; i < 20; i++)
                trl__team_for(team, 10, count_item, &threads);
            atomic_fetch_add(&e.left, 100);
            trl__team_more(team);
            trl__team_wait(team, is_all_done, &e);
            trl__team_idle(team, NULL, NULL);
            atomic_store(&e.is_over, 1);
            assert_int_equal(atomic_load(&e.done), 500);
            trl__team_for(team, 10, count_item, &threads);
            trl__team_destroy(team);
        }
    for (int32_t k = 0; k < 10; k++)
        atomic_store(&counts[k], 0);
}

static void impossible_teams_are_refused(void **state)
{
    (void)state;
    const int wrong[][2] = {{0, 0}, {-1, 0}, {1, -1}, {TRL__TEAM_MOST, 1}, {TRL__TEAM_MOST + 1, 0}};
    trl__team *team;
    trl_error err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(trl__team_create(wrong[i][0], wrong[i][1], &team, &err), TRL_EINVAL);
        assert_null(team);
    }
    trl__memory_fail_after(1);
    assert_int_equal(trl__team_create(2, 0, &team, &err), TRL_ENOMEM);
    trl__memory_fail_after(0);
    trl__team_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(no_team_is_the_caller),
        cmocka_unit_test(idle_work_is_done_between_loops),
        cmocka_unit_test(impossible_teams_are_refused),
    };
    return RUN(tests);
}
