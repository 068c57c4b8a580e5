/* Removal of epsilons: none is left, and the meaning is kept, in all semirings, with epsilon cycles. */
#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>

static machine_kind some_kind(int round, random_source *r)
{
    machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                         .states = 1 + (int32_t)random_below(r, 12),
                         .labels = 1 + (int32_t)random_below(r, 3),
                         .epsilons = 0.2 + random_below(r, 3) * 0.3,
                         .cyclic = (int)random_below(r, 2),
                         .acceptor = (int)random_below(r, 2),
                         .finals = 0.1 + 0.3 * random_below(r, 2)};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    return kind;
}

static void epsilons_go_and_the_meaning_stays(void **state)
{
    (void)state;
    random_source r = {31};
    for (int round = 0; round < 8000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *fst = random_machine(&kind, &r), *out;
        trl_rmepsilon_options o = trl_rmepsilon_defaults();
        o.connect = (int)random_below(&r, 2);
        out = copy_of(fst);
        assert_int_equal(trl_fst_rmepsilon(out, o.connect ? NULL : &o, NULL), 0);
        assert_int_equal(trl_fst_verify(out, NULL), 0);
        uint32_t properties;
        assert_int_equal(trl_fst_properties(out, &properties, NULL), 0);
        assert_true(properties & TRL_FST_NO_EPSILONS);
        if (o.connect)
            assert_true((properties & TRL_FST_ACCESSIBLE) && (properties & TRL_FST_COACCESSIBLE));
        assert_same_meaning(fst, out, 3, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(out);
    }
}

/* Where many ways of epsilons lead to the same arc, one arc is left, with their sum. */
static void arcs_alike_become_one(void **state)
{
    (void)state;
    trl_fst *fst;
    assert_int_equal(trl_fst_create(TRL_REAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 12, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 11, (trl_weight){1, 0}, NULL), 0);
    for (int32_t s = 1; s < 11; s++) {
        assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){0, 0, {0.5f, 0}, s}, NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){1, 2, {0.25f, 0}, 11}, NULL), 0);
    }
    assert_int_equal(trl_fst_rmepsilon(fst, NULL, NULL), 0);
    assert_int_equal(trl_fst_states(fst), 2);
    assert_int_equal(trl_fst_arcs(fst), 1);
    assert_true(trl_fst_arc(fst, 0, 0).weight.value == 1.25f);
    trl_fst_destroy(fst);
}

static void pruning_follows(void **state)
{
    (void)state;
    random_source r = {32};
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.semiring = round % 2 ? TRL_TROPICAL : TRL_LATTICE;
        trl_fst *a = random_machine(&kind, &r), *b;
        trl_rmepsilon_options o = trl_rmepsilon_defaults();
        o.has_prune = 1;
        o.prune = (trl_weight){(float)random_below(&r, 16) / 8, 0};
        b = copy_of(a);
        assert_int_equal(trl_fst_rmepsilon(a, &o, NULL), 0);
        assert_int_equal(trl_fst_rmepsilon(b, NULL, NULL), 0);
        assert_int_equal(trl_fst_prune(b, o.prune, 0, NULL), 0);
        assert_int_equal(trl_fst_arcs(a), trl_fst_arcs(b));
        assert_same_meaning(a, b, 2, &r);
        trl_fst_destroy(a);
        trl_fst_destroy(b);
    }
}

/* A cycle of epsilons that gets better for ever, or whose sum does not end. */
static void epsilon_cycles_without_distances_are_refused(void **state)
{
    (void)state;
    float weights[TRL_SEMIRINGS] = {-1, 0, 1, -1};
    for (int s = 0; s < TRL_SEMIRINGS; s++) {
        trl_fst *fst;
        trl_error err;
        assert_int_equal(trl_fst_create((trl_semiring)s, &fst, NULL), 0);
        assert_int_equal(trl_fst_add_states(fst, 2, NULL), 0);
        assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
        assert_int_equal(trl_fst_set_final(fst, 1, trl_weight_one((trl_semiring)s), NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){0, 0, {weights[s], 0}, 1}, NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, 1, (trl_arc){0, 0, trl_weight_one((trl_semiring)s), 0}, NULL), 0);
        assert_int_equal(trl_fst_rmepsilon(fst, NULL, &err), TRL_ELIMIT);
        assert_int_equal(trl_fst_arcs(fst), 2); /* unchanged */
        trl_fst_destroy(fst);
    }
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {33};
    int failures = 0;
    for (int round = 0; round < 40; round++) {
        machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                             .states = 10,
                             .labels = 2,
                             .arcs = 25,
                             .epsilons = 0.7,
                             .cyclic = round & 1};
        trl_fst *fst = random_machine(&kind, &r);
        for (long n = 1; n < 60; n++) {
            trl_fst *copy;
            copy = copy_of(fst);
            trl__memory_fail_after(n);
            int code = trl_fst_rmepsilon(copy, NULL, NULL);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
            failures += code != 0;
            trl_fst_destroy(copy);
        }
        trl_fst_destroy(fst);
    }
    assert_true(failures > 400 && failures < 2360);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(epsilons_go_and_the_meaning_stays),
        cmocka_unit_test(arcs_alike_become_one),
        cmocka_unit_test(pruning_follows),
        cmocka_unit_test(epsilon_cycles_without_distances_are_refused),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
