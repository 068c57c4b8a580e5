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
    int32_t taken[STATES], next;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 0);
    assert_false(trl__foreseen_take(&f, 7));
    for (int32_t tied = 5; tied < 10; tied++)
        trl__foreseen_list(&f, tied, 100 + (uint32_t)tied, TRL__LATER);
    assert_true(trl__foreseen_take(&f, 6)); /* by its name: it is not to be had any more */
    assert_false(trl__foreseen_take(&f, 6));
    trl__foreseen_drop(&f, 7);
    assert_false(trl__foreseen_is_listed(&f, 7));
    assert_int_equal(trl__foreseen_take_next(&f, taken, 2, &next), 2);
    assert_int_equal(next, 9);
    assert_int_equal(taken[0], 5);
    assert_int_equal(taken[1], 8);
    assert_int_equal(f.begin[8], 108);
    trl__foreseen_made(&f, 5, 1);
    trl__foreseen_made(&f, 8, 0); /* could not be made */
    assert_true(trl__foreseen_is_listed(&f, 5));
    assert_true(trl__foreseen_await(&f, 5));
    assert_false(trl__foreseen_is_listed(&f, 5));
    assert_false(trl__foreseen_await(&f, 8));
    trl__foreseen_clear(&f);
    assert_false(trl__foreseen_is_listed(&f, 9));
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 0);
    trl__foreseen_free(&f);
}

/* What is wanted soon goes before all that was listed earlier, also where it comes while the rest is being taken. */
static void what_is_wanted_soon_goes_first(void **state)
{
    (void)state;
    trl__foreseen f;
    int32_t taken[STATES], next;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    assert_true(trl__foreseen_is_done(&f));
    for (int32_t tied = 0; tied < 4; tied++)
        trl__foreseen_list(&f, tied, 0, TRL__LATER);
    trl__foreseen_list(&f, 10, 0, TRL__SOON);
    assert_false(trl__foreseen_is_done(&f));
    assert_int_equal(trl__foreseen_take_next(&f, taken, 1, &next), 1);
    assert_int_equal(taken[0], 10);
    assert_int_equal(next, 0);
    trl__foreseen_list(&f, 11, 0, TRL__SOON);
    trl__foreseen_list(&f, 12, 0, TRL__SOON);
    assert_int_equal(trl__foreseen_take_next(&f, taken, 3, &next), 3);
    assert_int_equal(taken[0], 11);
    assert_int_equal(taken[1], 12);
    assert_int_equal(taken[2], 0);
    assert_int_equal(next, 1);
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 3);
    assert_int_equal(next, -1);
    assert_true(trl__foreseen_is_done(&f));
    trl__foreseen_free(&f);
}

/* Blocks that are taken by name stay in the ring until somebody passes over them. */
static void a_full_ring_loses_nothing(void **state)
{
    (void)state;
    trl__foreseen f;
    int32_t taken[STATES], next;
    assert_int_equal(trl__foreseen_create(&f, STATES), 0);
    for (int i = 0; i < 500; i++) {
        trl__foreseen_list(&f, i % STATES, (uint32_t)i, i % 3 == 0 ? TRL__SOON : TRL__LATER);
        assert_true(trl__foreseen_take(&f, i % STATES));
        trl__foreseen_made(&f, i % STATES, 1);
        assert_true(trl__foreseen_await(&f, i % STATES));
    }
    trl__foreseen_list(&f, 3, 0, TRL__SOON);
    assert_true(trl__foreseen_take(&f, 3));
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 0);
    trl__foreseen_list(&f, 4, 0, TRL__LATER);
    assert_int_equal(trl__foreseen_take_next(&f, taken, STATES, &next), 1);
    trl__foreseen_free(&f);
}

/* ---- several threads ---- */

typedef struct crowd {
    trl__foreseen foreseen;
    long made[STATES]; /* by tied state; whoever has taken it counts, nobody else */
    atomic_int is_over;
} crowd;

static void *take_and_make(void *user)
{
    crowd *c = user;
    int32_t taken[4], next;
    while (!atomic_load(&c->is_over)) {
        int32_t count = trl__foreseen_take_next(&c->foreseen, taken, 4, &next);
        for (int32_t i = 0; i < count; i++) {
            c->made[taken[i]]++;
            trl__foreseen_made(&c->foreseen, taken[i], 1);
        }
    }
    return NULL;
}

/* Each block that is listed is made once, before the search has it. */
static void every_block_is_made_once(void **state)
{
    (void)state;
    crowd c = {0};
    pthread_t threads[TAKERS];
    assert_int_equal(trl__foreseen_create(&c.foreseen, STATES), 0);
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_make, &c), 0);
    for (long round = 1; round <= RANDOM_CASES(2000); round++) {
        for (int32_t tied = 0; tied < STATES; tied++)
            trl__foreseen_list(&c.foreseen, tied, 0, tied % 2 == 0 ? TRL__SOON : TRL__LATER);
        for (int32_t tied = STATES - 1; tied >= 0; tied--) {
            if (trl__foreseen_take(&c.foreseen, tied)) {
                c.made[tied]++;
                trl__foreseen_made(&c.foreseen, tied, 1);
            }
            assert_true(trl__foreseen_await(&c.foreseen, tied));
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
        cmocka_unit_test(a_block_goes_through_its_stages),
        cmocka_unit_test(what_is_wanted_soon_goes_first),
        cmocka_unit_test(a_full_ring_loses_nothing),
        cmocka_unit_test(every_block_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
