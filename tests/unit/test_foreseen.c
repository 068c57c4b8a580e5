/* What is foreseen: a block is taken once, by whoever comes first, and is forgotten when the search has it. */
#include "cmocka_test.h"
#include "decode/foreseen.h"

#include <pthread.h>

#define STATES 50
#define TAKERS 3

static void a_block_goes_through_its_stages(void **state)
{
    (void)state;
    trl__foreseen f;
    trl__taken_block taken[STATES], other;
    int32_t next;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 0);
    assert_false(trl__foreseen_take(&f, 7, &other));
    for (int32_t tied = 5; tied < 10; tied++)
        trl__foreseen_list(&f, tied, 100 + (uint32_t)tied, TRL__LATER);
    assert_true(trl__foreseen_take(&f, 6, &other)); /* by its name: it is not to be had any more */
    assert_false(trl__foreseen_take(&f, 6, &other));
    trl__foreseen_drop(&f, 7);
    assert_false(trl__foreseen_is_listed(&f, 7));
    assert_int_equal(trl__foreseen_take_next(&f, taken, 2, &next), 2);
    assert_int_equal(next, 9);
    assert_int_equal(taken[0].tied, 5);
    assert_int_equal(taken[1].tied, 8);
    assert_int_equal(taken[1].begin, 108);
    assert_true(trl__foreseen_place(&f, &taken[0]));
    trl__foreseen_made(&f, &taken[0], 1);
    trl__foreseen_made(&f, &taken[1], 0); /* could not be made */
    assert_true(trl__foreseen_is_listed(&f, 5));
    assert_true(trl__foreseen_await(&f, 5));
    assert_false(trl__foreseen_is_listed(&f, 5));
    assert_false(trl__foreseen_await(&f, 8));
    trl__foreseen_clear(&f);
    assert_false(trl__foreseen_is_listed(&f, 9));
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 0);
    trl__foreseen_free(&f);
}

/* The search loses patience with whoever holds a block; that one can do no harm later, also when the block has been listed and taken again. */
static void who_is_late_places_nothing(void **state)
{
    (void)state;
    trl__foreseen f;
    trl__taken_block late, dropped, prompt;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    trl__foreseen_list(&f, 3, 10, TRL__SOON);
    assert_true(trl__foreseen_take(&f, 3, &late));
    assert_false(trl__foreseen_await(&f, 3));
    assert_false(trl__foreseen_is_listed(&f, 3));
    assert_false(trl__foreseen_place(&f, &late));
    trl__foreseen_list(&f, 3, 20, TRL__SOON);
    assert_true(trl__foreseen_take(&f, 3, &dropped));
    trl__foreseen_made(&f, &late, 0);
    trl__foreseen_drop(&f, 3);
    trl__foreseen_list(&f, 3, 30, TRL__SOON);
    assert_true(trl__foreseen_take(&f, 3, &prompt));
    assert_int_equal(prompt.begin, 30);
    assert_false(trl__foreseen_place(&f, &late));
    assert_false(trl__foreseen_place(&f, &dropped));
    trl__foreseen_made(&f, &dropped, 0);
    assert_true(trl__foreseen_place(&f, &prompt));
    trl__foreseen_made(&f, &prompt, 1);
    trl__foreseen_made(&f, &late, 0);
    assert_true(trl__foreseen_await(&f, 3));
    trl__foreseen_free(&f);
}

/* What is wanted soon goes before all that was listed earlier, also where it comes while the rest is being taken. */
static void what_is_wanted_soon_goes_first(void **state)
{
    (void)state;
    trl__foreseen f;
    trl__taken_block taken[STATES];
    int32_t next;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    for (int32_t tied = 0; tied < 4; tied++)
        trl__foreseen_list(&f, tied, 0, TRL__LATER);
    trl__foreseen_list(&f, 10, 0, TRL__SOON);
    assert_int_equal(trl__foreseen_take_next(&f, taken, 1, &next), 1);
    assert_int_equal(taken[0].tied, 10);
    assert_int_equal(next, 0);
    trl__foreseen_list(&f, 11, 0, TRL__SOON);
    trl__foreseen_list(&f, 12, 0, TRL__SOON);
    assert_int_equal(trl__foreseen_take_next(&f, taken, 3, &next), 3);
    assert_int_equal(taken[0].tied, 11);
    assert_int_equal(taken[1].tied, 12);
    assert_int_equal(taken[2].tied, 0);
    assert_int_equal(next, 1);
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 3);
    assert_int_equal(next, -1);
    trl__foreseen_free(&f);
}

static void fewer_are_taken_towards_the_end(void **state)
{
    (void)state;
    trl__foreseen f;
    trl__taken_block taken[STATES];
    int32_t next, before = TRL__MOST_AT_ONCE;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    for (int32_t tied = 0; tied < STATES; tied++)
        trl__foreseen_list(&f, tied, 0, TRL__SOON);
    assert_int_equal(trl__foreseen_at_once(&f), TRL__MOST_AT_ONCE);
    for (int32_t left = STATES; left > 0;) {
        int32_t most = trl__foreseen_at_once(&f);
        assert_in_range(most, 1, before);
        assert_true(most == 1 || most * 8 <= left);
        left -= trl__foreseen_take_next(&f, taken, most, &next);
        before = most;
    }
    assert_int_equal(before, 1);
    trl__foreseen_free(&f);
}

/* Blocks that are taken by name stay in the ring until somebody passes over them. */
static void a_full_ring_loses_nothing(void **state)
{
    (void)state;
    trl__foreseen f;
    trl__taken_block taken[STATES], one;
    int32_t next;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    for (int i = 0; i < 500; i++) {
        trl__foreseen_list(&f, i % STATES, (uint32_t)i, i % 3 == 0 ? TRL__SOON : TRL__LATER);
        assert_true(trl__foreseen_take(&f, i % STATES, &one));
        assert_true(trl__foreseen_place(&f, &one));
        trl__foreseen_made(&f, &one, 1);
        assert_true(trl__foreseen_await(&f, i % STATES));
    }
    trl__foreseen_list(&f, 3, 0, TRL__SOON);
    assert_true(trl__foreseen_take(&f, 3, &one));
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 0);
    trl__foreseen_list(&f, 4, 0, TRL__LATER);
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 1);
    trl__foreseen_free(&f);
}

/* ---- several threads ---- */

typedef struct crowd {
    trl__foreseen foreseen;
    long made[STATES]; /* by tied state: the round in which it was made; whoever places it writes there, nobody else */
    atomic_int is_over;
} crowd;

static void place(crowd *c, const trl__taken_block *taken)
{
    int is_placed = trl__foreseen_place(&c->foreseen, taken);
    if (is_placed)
        c->made[taken->tied] = taken->begin;
    trl__foreseen_made(&c->foreseen, taken, is_placed);
}

/* Some wait so long that the search makes their blocks itself, and lists the next ones. */
static void *take_and_make(void *user)
{
    crowd *c = user;
    trl__taken_block taken[4];
    int32_t next;
    for (uint32_t turn = 0; !atomic_load(&c->is_over); turn++) {
        int32_t count = trl__foreseen_take_next(&c->foreseen, taken, 4, &next);
        for (int i = 0; turn % 7 == 0 && i < 1000; i++)
            trl__relax();
        for (int32_t i = 0; i < count; i++)
            place(c, &taken[i]);
    }
    return NULL;
}

/* Each block that is listed is there when the search has it, and none of an earlier round. */
static void every_block_is_there(void **state)
{
    (void)state;
    crowd c = {0};
    pthread_t threads[TAKERS];
    assert_int_equal(trl__foreseen_create(&c.foreseen, STATES), 0);
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_make, &c), 0);
    for (long round = 1; round <= RANDOM_CASES(2000); round++) {
        for (int32_t tied = 0; tied < STATES; tied++)
            trl__foreseen_list(&c.foreseen, tied, (uint32_t)round, tied % 2 == 0 ? TRL__SOON : TRL__LATER);
        for (int32_t tied = STATES - 1; tied >= 0; tied--) {
            trl__taken_block taken;
            if (tied % 5 == 0) {
                trl__foreseen_drop(&c.foreseen, tied);
                continue;
            }
            if (trl__foreseen_take(&c.foreseen, tied, &taken))
                place(&c, &taken);
            if (!trl__foreseen_await(&c.foreseen, tied))
                c.made[tied] = round;
            assert_int_equal(c.made[tied], round);
        }
    }
    atomic_store(&c.is_over, 1);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(threads[i], NULL);
    trl__foreseen_free(&c.foreseen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_goes_through_its_stages), cmocka_unit_test(who_is_late_places_nothing),
        cmocka_unit_test(what_is_wanted_soon_goes_first),  cmocka_unit_test(fewer_are_taken_towards_the_end),
        cmocka_unit_test(a_full_ring_loses_nothing),       cmocka_unit_test(every_block_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
