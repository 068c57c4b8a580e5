/* The axioms of semirings on random weights, by the public functions. */
#include "fst_fixture.h"

static trl_weight any_weight(trl_semiring semiring, random_source *r)
{
    machine_kind kind = {.semiring = semiring};
    if (random_chance(r, 0.1))
        return trl_weight_zero(semiring);
    return random_chance(r, 0.1) ? trl_weight_one(semiring) : random_weight(&kind, r);
}

static void same(trl_semiring s, trl_weight a, trl_weight b)
{
    if (!trl_weight_equal(s, a, b, 1e-5f))
        fail_msg("%s: %g,%g is not %g,%g", trl_semiring_name(s), (double)a.value, (double)a.second, (double)b.value,
                 (double)b.second);
}

#define PLUS(a, b) trl_weight_plus(s, a, b)
#define TIMES(a, b) trl_weight_times(s, a, b)

static void check_axioms(trl_semiring s, trl_weight a, trl_weight b, trl_weight c)
{
    trl_weight zero = trl_weight_zero(s), one = trl_weight_one(s);
    same(s, PLUS(a, b), PLUS(b, a));
    same(s, PLUS(PLUS(a, b), c), PLUS(a, PLUS(b, c)));
    same(s, PLUS(a, zero), a);
    same(s, TIMES(TIMES(a, b), c), TIMES(a, TIMES(b, c)));
    same(s, TIMES(a, b), TIMES(b, a));
    same(s, TIMES(a, one), a);
    same(s, TIMES(a, zero), zero);
    same(s, TIMES(a, PLUS(b, c)), PLUS(TIMES(a, b), TIMES(a, c)));
    assert_true(trl_weight_is_member(s, PLUS(a, b)) && trl_weight_is_member(s, TIMES(a, b)));
    if (!trl_weight_is_zero(s, b))
        same(s, TIMES(trl_weight_divide(s, a, b), b), a);
    if (s == TRL_TROPICAL || s == TRL_LATTICE) {
        trl_weight sum = PLUS(a, b);
        assert_true(trl_weight_equal(s, sum, a, 0) || trl_weight_equal(s, sum, b, 0));
        same(s, PLUS(a, a), a);
    }
}

static void axioms_hold(void **state)
{
    (void)state;
    random_source r = {1};
    for (int i = 0; i < 40000; i++) {
        trl_semiring s = (trl_semiring)(i % TRL_SEMIRINGS);
        check_axioms(s, any_weight(s, &r), any_weight(s, &r), any_weight(s, &r));
    }
}

static void sums_are_what_the_names_say(void **state)
{
    (void)state;
    trl_weight a = {1, 0}, b = {3, 0};
    assert_float_equal(trl_weight_plus(TRL_TROPICAL, a, b).value, 1, 0);
    assert_float_equal(trl_weight_plus(TRL_LOG, a, b).value, -log(exp(-1) + exp(-3)), 1e-6);
    assert_float_equal(trl_weight_plus(TRL_REAL, a, b).value, 4, 0);
    assert_float_equal(trl_weight_times(TRL_REAL, a, b).value, 3, 0);
    trl_weight near = {1, 4}, far = {2, 4}, as_far = {4, 2};
    assert_float_equal(trl_weight_plus(TRL_LATTICE, far, near).value, 1, 0);
    assert_float_equal(trl_weight_plus(TRL_LATTICE, as_far, far).value, 2, 0); /* equal sums: the smaller difference */
    assert_float_equal(trl_weight_plus(TRL_LATTICE, far, as_far).value, 2, 0);
}

static void what_is_no_weight_is_seen(void **state)
{
    (void)state;
    for (int i = 0; i < TRL_SEMIRINGS; i++) {
        trl_semiring s = (trl_semiring)i, found;
        assert_false(trl_weight_is_member(s, (trl_weight){NAN, 0}));
        assert_false(trl_weight_is_member(s, (trl_weight){-INFINITY, -INFINITY}));
        assert_true(trl_weight_is_member(s, trl_weight_zero(s)));
        assert_true(trl_weight_is_zero(s, trl_weight_zero(s)));
        assert_false(trl_weight_is_zero(s, trl_weight_one(s)));
        assert_int_equal(trl_semiring_find(trl_semiring_name(s), &found), 0);
        assert_int_equal(found, s);
    }
    assert_false(trl_weight_is_member(TRL_REAL, (trl_weight){INFINITY, 0}));
    assert_false(trl_weight_is_member(TRL_LATTICE, (trl_weight){1, INFINITY}));
    trl_semiring found;
    assert_int_equal(trl_semiring_find("topical", &found), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(axioms_hold), cmocka_unit_test(sums_are_what_the_names_say),
                                       cmocka_unit_test(what_is_no_weight_is_seen)};
    return RUN(tests);
}
