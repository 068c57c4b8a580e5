/* Distances against plain iteration of their definition; pushing and reweighting against meaning, and against what they
 * promise of every state. */
#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>

#define MOST 12

/* The distances are what is left alone by one more step along all arcs: iterate from nothing. */
static void distances_by_definition(const trl_fst *fst, int reverse, meaning *d)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    int32_t n = trl_fst_states(fst);
    meaning next[MOST + 4];
    for (int32_t s = 0; s < n; s++)
        d[s] = meaning_zero(semiring);
    for (int round = 0, moved = 1; moved && round < 20000; round++) {
        for (int32_t s = 0; s < n; s++) {
            trl_weight w = reverse                   ? trl_fst_final(fst, s)
                           : s == trl_fst_start(fst) ? trl_weight_one(semiring)
                                                     : trl_weight_zero(semiring);
            next[s] = (meaning){w.value, w.second};
        }
        for (int32_t s = 0; s < n; s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                int32_t from = reverse ? a.next : s, to = reverse ? s : a.next;
                next[to] = meaning_plus(semiring, next[to], meaning_times(semiring, d[from], a.weight));
            }
        moved = 0;
        for (int32_t s = 0; s < n; s++)
            moved |= !meaning_equal(next[s], d[s], 1e-14);
        memcpy(d, next, (size_t)n * sizeof *d);
    }
}

static void distances_are_what_the_definition_says(void **state)
{
    (void)state;
    random_source r = {11};
    for (int round = 0; round < 20000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        trl_fst *fst = random_machine(&kind, &r);
        for (int reverse = 0; reverse < 2; reverse++) {
            meaning wanted[MOST + 1];
            trl_weight *found;
            distances_by_definition(fst, reverse, wanted);
            assert_int_equal(trl_fst_shortestdistance(fst, reverse, (trl_queue)(round % 3), 0, &found, NULL), 0);
            for (int32_t s = 0; s < kind.states; s++)
                if (!meaning_equal(wanted[s], (meaning){found[s].value, found[s].second}, 3e-6)) {
                    print_machine(fst);
                    print_message("reverse %d, state %d: %g,%g is not %g,%g\n", reverse, (int)s, (double)found[s].value,
                                  (double)found[s].second, wanted[s].value, wanted[s].second);
                    fail();
                }
            free(found);
        }
        trl_fst_destroy(fst);
    }
}

/* Negative costs on cycles that cost something in all: potentials make such machines of harmless ones. */
static void negative_costs_on_cycles_are_fine(void **state)
{
    (void)state;
    random_source r = {12};
    trl_semiring semirings[] = {TRL_TROPICAL, TRL_LOG, TRL_LATTICE};
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        kind.semiring = semirings[round % 3];
        kind.cyclic = 1;
        trl_fst *fst = random_machine(&kind, &r), *moved;
        trl_weight potential[MOST + 1], *before, *after;
        for (int32_t s = 0; s < kind.states; s++)
            potential[s] = (trl_weight){(float)random_below(&r, 64) - 32,
                                        kind.semiring == TRL_LATTICE ? (float)random_below(&r, 64) - 32 : 0};
        int32_t start = trl_fst_start(fst), all = kind.states;
        assert_int_equal(trl_fst_create(kind.semiring, &moved, NULL), 0);
        assert_int_equal(trl_fst_add_states(moved, all, NULL), 0);
        assert_int_equal(trl_fst_set_start(moved, start, NULL), 0);
        for (int32_t s = 0; s < all; s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                a.weight.value += potential[a.next].value - potential[s].value;
                a.weight.second += potential[a.next].second - potential[s].second;
                assert_int_equal(trl_fst_add_arc(moved, s, a, NULL), 0);
            }
        assert_int_equal(trl_fst_shortestdistance(fst, 0, TRL_QUEUE_AUTO, 0, &before, NULL), 0);
        assert_int_equal(trl_fst_shortestdistance(moved, 0, TRL_QUEUE_AUTO, 0, &after, NULL), 0);
        for (int32_t s = 0; s < all; s++) {
            trl_weight w = {before[s].value + potential[s].value - potential[start].value,
                            before[s].second + potential[s].second - potential[start].second};
            if (!trl_weight_equal(kind.semiring, w, after[s], 1e-4f)) {
                print_machine(moved);
                print_message("%d: %g,%g is not %g,%g\n", (int)s, (double)after[s].value, (double)after[s].second,
                              (double)w.value, (double)w.second);
                fail();
            }
        }
        free(before);
        free(after);
        trl_fst_destroy(fst);
        trl_fst_destroy(moved);
    }
}

/* A ring of `states` whose arcs weigh w, and its start's distance to an end of weight one at the start. */
static int ring(trl_semiring semiring, int32_t states, float w, float *found)
{
    trl_fst *fst;
    trl_weight *d;
    assert_int_equal(trl_fst_create(semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, states, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 0, trl_weight_one(semiring), NULL), 0);
    for (int32_t s = 0; s < states; s++)
        assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){1, 1, {w, 0}, (s + 1) % states}, NULL), 0);
    int code = trl_fst_shortestdistance(fst, 1, TRL_QUEUE_AUTO, 0, &d, NULL);
    *found = code == 0 ? d[0].value : 0;
    free(code == 0 ? d : NULL);
    trl_fst_destroy(fst);
    return code;
}

static void rings_have_a_closed_form(void **state)
{
    (void)state;
    float found;
    int32_t sizes[] = {1, 2, 3, 50};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (double p = 0.5; p < 0.9999; p = (1 + p) / 2) {
            double sum = 1 / (1 - pow((double)(float)p, sizes[i])), cost = (double)(float)-log(p);
            assert_int_equal(ring(TRL_REAL, sizes[i], (float)p, &found), 0);
            assert_true(fabs((double)found / sum - 1) < 1e-5);
            assert_int_equal(ring(TRL_LOG, sizes[i], (float)-log(p), &found), 0);
            assert_true(fabs((double)found - log(1 - exp(-cost * sizes[i]))) < 1e-5);
        }
    for (int32_t n = 1; n < 60; n += 7) {
        assert_int_equal(ring(TRL_REAL, n, 1, &found), TRL_ELIMIT);
        assert_int_equal(ring(TRL_REAL, n, 1.5f, &found), TRL_ELIMIT);
        assert_int_equal(ring(TRL_LOG, n, 0, &found), TRL_ELIMIT);
        assert_int_equal(ring(TRL_LOG, n, -0.5f, &found), TRL_ELIMIT);
        assert_int_equal(ring(TRL_TROPICAL, n, -0.5f, &found), TRL_ELIMIT);
        assert_int_equal(ring(TRL_TROPICAL, n, 0, &found), 0);
        assert_true(found == 0);
    }
}

/* A ring of two states of which one nearly stays for ever: each turn adds a thousand times what the last one did. */
static void sums_that_grow_fast_do_not_end(void **state)
{
    (void)state;
    static const trl_arc arcs[] = {{1, 1, {0.3f, 0}, 1}, {1, 1, {2.4f, 0}, 0}, {2, 2, {0.0005f, 0}, 1}};
    trl_fst *fst;
    trl_weight *d;
    trl_error err;
    assert_int_equal(trl_fst_create(TRL_LOG, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 2, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 1, (trl_weight){0.45f, 0}, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(trl_fst_add_arc(fst, i > 0, arcs[i], NULL), 0);
    assert_int_equal(trl_fst_shortestdistance(fst, 1, TRL_QUEUE_AUTO, 0, &d, &err), TRL_ELIMIT);
    trl_fst_destroy(fst);
}

static void queues_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    random_source r = {3};
    machine_kind kind = {.semiring = TRL_LOG, .states = 5, .labels = 2, .arcs = 40, .cyclic = 1};
    trl_fst *fst = random_machine(&kind, &r), *empty;
    trl_weight *d;
    trl_error err;
    assert_int_equal(trl_fst_shortestdistance(fst, 0, TRL_QUEUE_SHORTEST, 0, &d, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_shortestdistance(fst, 0, TRL_QUEUE_TOP, 0, &d, &err), TRL_EINVAL);
    trl_fst_destroy(fst);
    assert_int_equal(trl_fst_create(TRL_LOG, &empty, NULL), 0);
    assert_int_equal(trl_fst_shortestdistance(empty, 0, TRL_QUEUE_TOP, 0, &d, &err), 0);
    assert_null(d);
    assert_int_equal(trl_fst_push(empty, NULL, NULL), 0);
    trl_fst_destroy(empty);
}

/* ---- Pushing ---- */

/* The sum of what begins (ends) at each useful state. */
static void assert_stochastic(const trl_fst *fst, const uint8_t *useful, int32_t states, int to_final, int32_t except)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    meaning sum[MOST + 2];
    trl_weight one = trl_weight_one(semiring);
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        trl_weight w = to_final ? trl_weight_zero(semiring) : trl_fst_final(fst, s);
        sum[s] = (meaning){w.value, w.second};
    }
    if (to_final)
        sum[trl_fst_start(fst)] = (meaning){one.value, one.second};
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            int32_t at = to_final ? a.next : s;
            if ((s >= states || useful[s]) && a.next < states && useful[a.next])
                sum[at] = meaning_plus(semiring, sum[at],
                                       meaning_times(semiring, (meaning){one.value, one.second}, a.weight));
        }
    for (int32_t s = 0; s < states; s++)
        if (useful[s] && s != except && !meaning_equal(sum[s], (meaning){one.value, one.second}, 1e-4)) {
            print_machine(fst);
            print_message("state %d sums up to %g,%g\n", (int)s, sum[s].value, sum[s].second);
            fail();
        }
}

static void find_useful(const trl_fst *fst, uint8_t *useful)
{
    meaning to[MOST + 4], from[MOST + 4];
    trl_semiring semiring = trl_fst_semiring(fst);
    distances_by_definition(fst, 0, from);
    distances_by_definition(fst, 1, to);
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        useful[s] = from[s].value != meaning_zero(semiring).value && to[s].value != meaning_zero(semiring).value;
}

static void pushed_weights_sum_up_to_one(void **state)
{
    (void)state;
    random_source r = {13};
    for (int round = 0; round < 8000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        trl_fst *fst = random_machine(&kind, &r), *pushed;
        uint8_t useful[MOST + 2];
        find_useful(fst, useful);
        trl_push_options o = trl_push_defaults();
        o.to_final = (int)random_below(&r, 2);
        o.remove_total_weight = (int)random_below(&r, 2);
        pushed = copy_of(fst);
        assert_int_equal(trl_fst_push(pushed, &o, NULL), 0);
        assert_int_equal(trl_fst_verify(pushed, NULL), 0);
        int grown = trl_fst_states(pushed) > kind.states;
        assert_stochastic(pushed, useful, kind.states, o.to_final,
                          !o.to_final && !grown && !o.remove_total_weight ? trl_fst_start(fst) : TRL_NO_STATE);
        if (!o.remove_total_weight)
            assert_same_meaning(fst, pushed, 2, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(pushed);
    }
}

static void the_total_weight_is_one_when_it_is_removed(void **state)
{
    (void)state;
    random_source r = {14};
    for (int round = 0; round < 4000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        trl_fst *fst = random_machine(&kind, &r);
        trl_weight *before, *after;
        trl_push_options o = trl_push_defaults();
        o.to_final = (int)random_below(&r, 2);
        o.remove_total_weight = 1;
        assert_int_equal(trl_fst_shortestdistance(fst, 1, TRL_QUEUE_AUTO, 0, &before, NULL), 0);
        assert_int_equal(trl_fst_push(fst, &o, NULL), 0);
        assert_int_equal(trl_fst_shortestdistance(fst, 1, TRL_QUEUE_AUTO, 0, &after, NULL), 0);
        if (!trl_weight_is_zero(kind.semiring, before[0]))
            assert_true(
                trl_weight_equal(kind.semiring, after[trl_fst_start(fst)], trl_weight_one(kind.semiring), 1e-4f));
        free(before);
        free(after);
        trl_fst_destroy(fst);
    }
}

static void reweighting_keeps_the_meaning(void **state)
{
    (void)state;
    random_source r = {15};
    for (int round = 0; round < 4000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        trl_fst *fst = random_machine(&kind, &r), *moved;
        trl_weight potential[MOST + 1];
        for (int32_t s = 0; s < kind.states; s++)
            potential[s] = random_weight(&kind, &r);
        moved = copy_of(fst);
        assert_int_equal(trl_fst_reweight(moved, potential, (int)random_below(&r, 2), NULL), 0);
        assert_same_meaning(fst, moved, 2, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(moved);
    }
}

/* ---- Labels ---- */

/* Which labels the outputs from a state begin with (bits), bit 0: one is empty. By iteration. */
static void first_outputs(const trl_fst *fst, uint32_t *first, int32_t n)
{
    for (int32_t s = 0; s < n; s++)
        first[s] = !trl_weight_is_zero(trl_fst_semiring(fst), trl_fst_final(fst, s));
    uint8_t ends[200] = {0};
    for (int32_t s = 0; s < n; s++)
        ends[s] = (uint8_t)first[s];
    for (int round = 0; round < n; round++)
        for (int32_t s = 0; s < n; s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++)
                ends[s] |= ends[trl_fst_arc(fst, s, i).next];
    for (int round = 0; round < n; round++)
        for (int32_t s = 0; s < n; s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                first[s] |= !ends[a.next] ? 0 : a.olabel ? 1u << a.olabel : first[a.next];
            }
}

static void pushed_labels_have_no_common_beginning_left(void **state)
{
    (void)state;
    random_source r = {16};
    int longer = 0;
    for (int round = 0; round < 8000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        kind.labels = 1 + (int32_t)random_below(&r, 2);
        trl_fst *fst = random_machine(&kind, &r), *pushed;
        trl_push_options o = {.labels = 1};
        pushed = copy_of(fst);
        assert_int_equal(trl_fst_push(pushed, &o, NULL), 0);
        assert_int_equal(trl_fst_verify(pushed, NULL), 0);
        assert_same_meaning(fst, pushed, 3, &r);
        uint32_t first[200];
        assert_true(trl_fst_states(pushed) < 200);
        first_outputs(pushed, first, trl_fst_states(pushed));
        for (int32_t s = 0; s < kind.states; s++)
            if (s != trl_fst_start(pushed)) /* none, the empty one, or at least two labels */
                assert_true(first[s] == 0 || (first[s] & 1) || (first[s] & (first[s] - 1)));
        longer += trl_fst_states(pushed) > kind.states;
        trl_fst_destroy(fst);
        trl_fst_destroy(pushed);
    }
    assert_true(longer > 200);
}

static void labels_pushed_to_the_ends_mean_the_same(void **state)
{
    (void)state;
    random_source r = {17};
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        kind.labels = 1 + (int32_t)random_below(&r, 2);
        trl_fst *fst = random_machine(&kind, &r), *pushed;
        trl_push_options o = {.labels = 1, .weights = (int)random_below(&r, 2), .to_final = 1};
        pushed = copy_of(fst);
        assert_int_equal(trl_fst_push(pushed, &o, NULL), 0);
        assert_int_equal(trl_fst_verify(pushed, NULL), 0);
        assert_same_meaning(fst, pushed, 3, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(pushed);
    }
}

/* "7 8" before and "9" behind everything that a random machine writes: what all outputs have in common is gone when it
 * is removed, and the inputs keep their weights. */
static void a_common_affix_can_be_removed(void **state)
{
    (void)state;
    random_source r = {18};
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = mixed_kind(round, MOST - 1, &r);
        trl_fst *fst = random_machine(&kind, &r);
        int32_t n = kind.states, start = trl_fst_start(fst);
        trl_weight one = trl_weight_one(kind.semiring);
        assert_int_equal(trl_fst_add_states(fst, 3, NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, n, (trl_arc){0, 7, one, n + 1}, NULL), 0);
        assert_int_equal(trl_fst_add_arc(fst, n + 1, (trl_arc){0, 8, one, start}, NULL), 0);
        for (int32_t s = 0; s < n; s++) {
            trl_weight f = trl_fst_final(fst, s);
            assert_int_equal(trl_fst_set_final(fst, s, trl_weight_zero(kind.semiring), NULL), 0);
            if (!trl_weight_is_zero(kind.semiring, f))
                assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){0, 9, f, n + 2}, NULL), 0);
        }
        assert_int_equal(trl_fst_set_start(fst, n, NULL), 0);
        assert_int_equal(trl_fst_set_final(fst, n + 2, one, NULL), 0);
        uint8_t useful[MOST + 4];
        find_useful(fst, useful);
        trl_fst *pushed;
        trl_push_options o = {.labels = 1, .remove_common_affix = 1, .to_final = (int)random_below(&r, 2)};
        pushed = copy_of(fst);
        assert_int_equal(trl_fst_push(pushed, &o, NULL), 0);
        for (int i = 0; i < 4 && useful[n]; i++) {
            pair p = sample_pair(pushed, 8, &r);
            for (int k = 0; k < p.ny; k++)
                assert_true(o.to_final ? p.y[k] != 9 : p.y[k] < 7 || p.y[k] == 9);
            p.any_output = 1;
            assert_same_for_pair(fst, pushed, &p);
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(pushed);
    }
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {19};
    int failures = 0;
    for (int round = 0; round < 40; round++) {
        machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                             .states = 8,
                             .labels = 2,
                             .arcs = 14,
                             .epsilons = 0.3,
                             .cyclic = round % 8 > 3};
        trl_fst *fst = random_machine(&kind, &r);
        for (long n = 1; n < 60; n++) {
            trl_fst *copy;
            copy = copy_of(fst);
            trl_push_options o = {.labels = 1, .weights = 1, .to_final = round & 1};
            trl_weight *d = NULL;
            trl__memory_fail_after(n);
            int code = trl_fst_shortestdistance(fst, round & 1, TRL_QUEUE_AUTO, 0, &d, NULL);
            if (code == 0)
                code = trl_fst_push(copy, &o, NULL);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
            failures += code != 0;
            free(d);
            trl_fst_destroy(copy);
        }
        trl_fst_destroy(fst);
    }
    assert_true(failures > 400 && failures < 2360);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_what_the_definition_says),
        cmocka_unit_test(negative_costs_on_cycles_are_fine),
        cmocka_unit_test(rings_have_a_closed_form),
        cmocka_unit_test(sums_that_grow_fast_do_not_end),
        cmocka_unit_test(queues_that_make_no_sense_are_refused),
        cmocka_unit_test(pushed_weights_sum_up_to_one),
        cmocka_unit_test(the_total_weight_is_one_when_it_is_removed),
        cmocka_unit_test(reweighting_keeps_the_meaning),
        cmocka_unit_test(pushed_labels_have_no_common_beginning_left),
        cmocka_unit_test(labels_pushed_to_the_ends_mean_the_same),
        cmocka_unit_test(a_common_affix_can_be_removed),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
