/* Random paths: as often as their probabilities say; equivalence by chance; and where labels wait: synchronizing,
 * epsilon normalization. */
#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>
#include <trellis/fst_paths.h>

/* Three ways, of probability 1/2, 1/3 and 1/6: an end at once, a label, two labels. */
static trl_fst *three_ways(trl_semiring semiring)
{
    trl_fst *fst;
    double p[] = {1. / 2, 1. / 3, 1. / 6};
    trl_weight w[3];
    for (int i = 0; i < 3; i++)
        w[i] = (trl_weight){(float)(semiring == TRL_REAL ? p[i] : -log(p[i])), 0};
    trl_weight one = trl_weight_one(semiring);
    assert_int_equal(trl_fst_create(semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 3, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 0, w[0], NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 2, one, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 1, w[1], 2}, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){2, 2, w[2], 1}, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 1, (trl_arc){3, 3, one, 2}, NULL), 0);
    return fst;
}

/* Of the paths side by side at the start: how many begin with 0, 1, 2. */
static void count_ways(const trl_fst *paths, int *counts)
{
    memset(counts, 0, 3 * sizeof *counts);
    for (uint32_t i = 0; i < trl_fst_arc_count(paths, 0); i++)
        counts[trl_fst_arc(paths, 0, i).ilabel]++;
}

static double chi_square(const int *counts, const double *p, int paths)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += (counts[i] - p[i] * paths) * (counts[i] - p[i] * paths) / (p[i] * paths);
    return sum;
}

static void paths_come_as_often_as_they_should(void **state)
{
    (void)state;
    double by_weight[] = {1. / 2, 1. / 3, 1. / 6}, alike[] = {1. / 3, 1. / 3, 1. / 3};
    for (int s = 0; s < TRL_SEMIRINGS; s++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            trl_fst *fst = three_ways((trl_semiring)s), *paths;
            int counts[3];
            trl_randgen_options o = {.paths = 6000, .seed = seed, .kind = TRL_RANDGEN_LOG_PROBABILITY};
            assert_int_equal(trl_fst_randgen(fst, &o, &paths, NULL), 0);
            count_ways(paths, counts);
            assert_int_equal(counts[0] + counts[1] + counts[2], 6000);
            assert_true(chi_square(counts, by_weight, 6000) < 13.8); /* one in a thousand is above */
            trl_fst_destroy(paths);
            o.kind = TRL_RANDGEN_UNIFORM;
            assert_int_equal(trl_fst_randgen(fst, &o, &paths, NULL), 0);
            count_ways(paths, counts);
            assert_true(chi_square(counts, alike, 6000) < 13.8);
            trl_fst_destroy(paths);
            trl_fst_destroy(fst);
        }
}

static void a_tree_has_the_shares_of_paths(void **state)
{
    (void)state;
    for (int s = 0; s < TRL_SEMIRINGS; s++) {
        trl_fst *fst = three_ways((trl_semiring)s), *paths, *tree;
        int counts[3];
        trl_randgen_options o = {.paths = 500, .seed = 7, .kind = TRL_RANDGEN_LOG_PROBABILITY};
        assert_int_equal(trl_fst_randgen(fst, &o, &paths, NULL), 0);
        count_ways(paths, counts);
        o.weighted = 1;
        assert_int_equal(trl_fst_randgen(fst, &o, &tree, NULL), 0);
        assert_int_equal(trl_fst_states(tree), 4);
        for (int i = 0; i < 3; i++) {
            pair p = {.x = {i, 3}, .y = {i, 3}, .nx = i, .ny = i};
            double w = meaning_of(tree, &p).value, share = counts[i] / 500.;
            assert_true(fabs((s == TRL_REAL ? w : exp(-w)) - share) < 1e-5);
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(paths);
        trl_fst_destroy(tree);
    }
}

/* Every path there is a path of the machine, with its weights, and no longer than allowed. */
static void paths_are_those_of_the_machine(void **state)
{
    (void)state;
    random_source r = {41};
    int found = 0;
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = mixed_kind(round, 8, &r);
        trl_fst *fst = random_machine(&kind, &r), *paths, *fewer;
        trl_randgen_options o = {.paths = 5, .seed = (uint64_t)round, .longest = 7};
        assert_int_equal(trl_fst_randgen(fst, &o, &paths, NULL), 0);
        assert_int_equal(trl_fst_verify(paths, NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(paths, 0); i++) {
            uint8_t at[16] = {1}; /* states that the path can be in */
            int length = 0;
            for (trl_arc a = trl_fst_arc(paths, 0, i);; a = trl_fst_arc(paths, a.next, 0), length++) {
                uint8_t next[16] = {0};
                int empty = length == 0 && a.ilabel == 0 && a.olabel == 0 && trl_fst_arc_count(paths, a.next) == 0;
                for (int32_t s = 0; s < kind.states; s++)
                    for (uint32_t k = 0; at[s] && k < trl_fst_arc_count(fst, s); k++) {
                        trl_arc b = trl_fst_arc(fst, s, k);
                        next[b.next] |= a.ilabel == b.ilabel && a.olabel == b.olabel &&
                                        trl_weight_equal(kind.semiring, a.weight, b.weight, 0);
                    }
                if (empty)
                    next[0] = 1; /* an empty path begins with an epsilon */
                memcpy(at, next, sizeof at);
                if (trl_fst_arc_count(paths, a.next) > 0)
                    continue;
                int ends = 0;
                for (int32_t s = 0; s < kind.states; s++)
                    ends |= at[s] &&
                            trl_weight_equal(kind.semiring, trl_fst_final(paths, a.next), trl_fst_final(fst, s), 0);
                assert_true(ends);
                break;
            }
            assert_true(length < 7);
            found++;
        }
        o.paths = 2; /* the first paths of more are the same */
        assert_int_equal(trl_fst_randgen(fst, &o, &fewer, NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(fewer, 0); i++)
            assert_int_equal(trl_fst_arc(fewer, 0, i).ilabel, trl_fst_arc(paths, 0, i).ilabel);
        trl_fst_destroy(fst);
        trl_fst_destroy(paths);
        trl_fst_destroy(fewer);
    }
    assert_true(found > 3000);
}

static void equivalence_by_chance(void **state)
{
    (void)state;
    random_source r = {42};
    int differing = 0, tried = 0;
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = mixed_kind(round, 8, &r);
        trl_fst *a = random_machine(&kind, &r), *b;
        int yes;
        b = copy_of(a);
        assert_int_equal(trl_fst_rmepsilon(b, NULL, NULL), 0);
        assert_int_equal(trl_fst_push(b, NULL, NULL), 0);
        assert_int_equal(trl_fst_randequivalent(a, b, 5, TRL_DELTA, (uint64_t)round, 10, &yes, NULL), 0);
        if (!yes)
            print_machine(a), print_machine(b);
        assert_true(yes);
        if (trl_fst_start(b) >= 0) { /* a weight that is another one is noticed */
            trl_weight f = trl_fst_final(b, trl_fst_start(b));
            int final = !trl_weight_is_zero(kind.semiring, f);
            f = final ? trl_weight_times(kind.semiring, f, (trl_weight){2, 0}) : trl_weight_one(kind.semiring);
            assert_int_equal(trl_fst_set_final(b, trl_fst_start(b), f, NULL), 0);
            assert_int_equal(trl_fst_randequivalent(a, b, 20, 1e-6f, (uint64_t)round, 10, &yes, NULL), 0);
            differing += !yes;
            tried++;
        }
        trl_fst_destroy(a);
        trl_fst_destroy(b);
    }
    assert_true(differing > tried * 8 / 10);
}

/* ---- Labels that wait ---- */

/* A machine in which cycles read as much as they write, up to `extra` chances of others. */
static trl_fst *some_machine(int round, random_source *r)
{
    machine_kind kind = mixed_kind(round, 8, r);
    kind.acceptor = 0;
    if (kind.cyclic && random_below(r, 2))
        kind.epsilons = 0;
    return random_machine(&kind, r);
}

/* Which label an arc may not have behind another arc. */
typedef int (*rule)(const trl_arc *arc, const trl_arc *behind, trl_side side);

static int sides_end_for_good(const trl_arc *a, const trl_arc *b, trl_side side)
{
    (void)side;
    return !a->ilabel == !a->olabel || (a->ilabel ? !b->olabel : !b->ilabel);
}

static int epsilons_are_last(const trl_arc *a, const trl_arc *b, trl_side side)
{
    return side == TRL_SIDE_INPUT ? a->ilabel || !b->ilabel : a->olabel || !b->olabel;
}

typedef struct outcomes {
    int endless, done;
} outcomes;

static void check_outcome(const trl_fst *fst, trl_fst *out, int code, rule holds, trl_side side, random_source *r,
                          outcomes *met)
{
    assert_true(code == 0 || code == TRL_ELIMIT);
    if (code == 0) {
        assert_int_equal(trl_fst_verify(out, NULL), 0);
        assert_same_meaning(fst, out, 2, r);
        for (int32_t s = 0; s < trl_fst_states(out); s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(out, s); i++) {
                trl_arc a = trl_fst_arc(out, s, i);
                for (uint32_t k = 0; k < trl_fst_arc_count(out, a.next); k++) {
                    trl_arc b = trl_fst_arc(out, a.next, k);
                    assert_true(holds(&a, &b, side));
                }
            }
        met->done++;
    }
    met->endless += code != 0;
    trl_fst_destroy(out);
}

static void synchronized_machines_mean_the_same(void **state)
{
    (void)state;
    random_source r = {43};
    outcomes met = {0};
    for (int round = 0; round < 4000; round++) {
        trl_fst *fst = some_machine(round, &r), *out;
        int code = trl_fst_synchronize(fst, 20000, &out, NULL);
        check_outcome(fst, out, code, sides_end_for_good, TRL_SIDE_INPUT, &r, &met);
        trl_fst_destroy(fst);
    }
    assert_true(met.done > 2000 && met.endless > 100);
}

static void normalized_machines_mean_the_same(void **state)
{
    (void)state;
    random_source r = {44};
    outcomes met = {0};
    for (int round = 0; round < 4000; round++) {
        trl_fst *fst = some_machine(round, &r), *out;
        trl_side side = random_below(&r, 2) ? TRL_SIDE_OUTPUT : TRL_SIDE_INPUT;
        int code = trl_fst_epsnormalize(fst, side, &out, NULL);
        check_outcome(fst, out, code, epsilons_are_last, side, &r, &met);
        trl_fst_destroy(fst);
    }
    assert_true(met.done > 2000 && met.endless > 100);
}

/* 0 may end or go on to 1, from where there is no way to an end, only circles. */
static void circles_without_end_are_left(void **state)
{
    (void)state;
    trl_fst *fst, *paths;
    const trl_weight one = trl_weight_one(TRL_TROPICAL);
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 3, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 0, one, NULL), 0);
    const int32_t ways[][2] = {{0, 1}, {1, 1}, {1, 2}, {2, 1}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(trl_fst_add_arc(fst, ways[i][0], (trl_arc){1, 1, one, ways[i][1]}, NULL), 0);
    for (int kind = 0; kind < 2; kind++) {
        trl_randgen_options o = {.paths = 1000, .kind = (trl_randgen_kind)kind};
        assert_int_equal(trl_fst_randgen(fst, &o, &paths, NULL), 0);
        assert_in_range(trl_fst_arc_count(paths, 0), 400, 600); /* half of them end at once */
        trl_fst_destroy(paths);
    }
    trl_fst_destroy(fst);
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {45};
    int failures = 0;
    for (int round = 0; round < 40; round++) {
        machine_kind kind = {
            .semiring = (trl_semiring)(round % 4), .states = 6, .labels = 2, .arcs = 9, .epsilons = 0.4};
        trl_fst *fst = random_machine(&kind, &r);
        for (long n = 1; n < 100; n++) {
            trl_fst *paths = NULL, *same = NULL, *tree = NULL, *normal = NULL;
            int yes;
            trl__memory_fail_after(n);
            int code = trl_fst_randgen(fst, &(trl_randgen_options){.paths = 3}, &paths, NULL);
            if (code == 0)
                code = trl_fst_randgen(fst, &(trl_randgen_options){.paths = 3, .weighted = 1}, &tree, NULL);
            if (code == 0)
                code = trl_fst_synchronize(fst, 0, &same, NULL);
            if (code == 0)
                code = trl_fst_epsnormalize(fst, TRL_SIDE_INPUT, &normal, NULL);
            if (code == 0)
                code = trl_fst_randequivalent(fst, same, 2, TRL_DELTA, 1, 9, &yes, NULL);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
            failures += code != 0;
            trl_fst_destroy(paths);
            trl_fst_destroy(tree);
            trl_fst_destroy(same);
            trl_fst_destroy(normal);
        }
        trl_fst_destroy(fst);
    }
    assert_true(failures > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_come_as_often_as_they_should),  cmocka_unit_test(a_tree_has_the_shares_of_paths),
        cmocka_unit_test(paths_are_those_of_the_machine),      cmocka_unit_test(equivalence_by_chance),
        cmocka_unit_test(synchronized_machines_mean_the_same), cmocka_unit_test(normalized_machines_mean_the_same),
        cmocka_unit_test(circles_without_end_are_left),        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
