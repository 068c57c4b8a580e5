/* Disambiguation: no input has two paths, each keeps its weight and its output; against all paths of small machines. */
#include "fst_path_list.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>

/* The same path list with epsilons left out of what is read. */
static void without_epsilons(path_list *list)
{
    for (int i = 0; i < list->count; i++) {
        path *p = &list->paths[i];
        int kept = 0;
        for (int k = 0; k < p->nx; k++)
            if (p->x[k] != 0)
                p->x[kept++] = p->x[k];
        p->nx = kept;
    }
}

static void assert_one_path_for_each_input(const path_list *list)
{
    for (int i = 0; i < list->count; i++)
        for (int k = 0; k < i; k++)
            assert_false(same_input(&list->paths[i], &list->paths[k]));
}

static trl_determinize_options exact_options(void)
{
    trl_determinize_options o = trl_determinize_defaults();
    o.delta = 1e-5f;
    return o;
}

static machine_kind some_kind(int round, random_source *r)
{
    machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                         .states = 1 + (int32_t)random_below(r, 7),
                         .labels = 1 + (int32_t)random_below(r, 3),
                         .unweighted = random_below(r, 4) == 0};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    return kind;
}

static void acceptors_get_one_path_for_each_string(void **state)
{
    (void)state;
    static path_list list;
    random_source r = {1};
    int still_nondeterministic = 0;
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = 1;
        kind.epsilons = random_below(&r, 2) * 0.2;
        trl_fst *fst = random_machine(&kind, &r), *one;
        trl_determinize_options o = exact_options();
        uint32_t properties;
        assert_int_equal(trl_fst_disambiguate(fst, &o, &one, NULL), 0);
        assert_int_equal(trl_fst_verify(one, NULL), 0);
        all_paths(one, &list);
        assert_one_path_for_each_input(&list);
        assert_same_meaning(fst, one, 3, &r);
        assert_int_equal(trl_fst_properties(one, &properties, NULL), 0);
        still_nondeterministic += !(properties & TRL_FST_IDETERMINISTIC);
        trl_fst_destroy(fst);
        trl_fst_destroy(one);
    }
    assert_true(still_nondeterministic > 300);
}

/* Some labels are not written, so that outputs come at different times. */
static trl_fst *with_delays(const trl_fst *fst, random_source *r)
{
    trl_fst *copy;
    assert_int_equal(trl_fst_create(trl_fst_semiring(fst), &copy, NULL), 0);
    assert_int_equal(trl_fst_add_states(copy, trl_fst_states(fst), NULL), 0);
    assert_int_equal(trl_fst_set_start(copy, trl_fst_start(fst), NULL), 0);
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        assert_int_equal(trl_fst_set_final(copy, s, trl_fst_final(fst, s), NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            a.olabel = random_chance(r, 0.5) ? 0 : 1;
            assert_int_equal(trl_fst_add_arc(copy, s, a, NULL), 0);
        }
    }
    return copy;
}

static void functional_transducers_get_one_path_for_each_input(void **state)
{
    (void)state;
    static path_list list;
    random_source r = {2};
    int ambiguous = 0;
    for (int round = 0; round < 20000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *plain = random_machine(&kind, &r), *fst = with_delays(plain, &r), *one;
        trl_determinize_options o = exact_options();
        all_paths(fst, &list);
        int functional = is_functional(&list), code = trl_fst_disambiguate(fst, &o, &one, NULL);
        assert_int_equal(code, functional ? 0 : TRL_EINVAL);
        if (code == 0) {
            int before = list.count;
            all_paths(one, &list);
            without_epsilons(&list);
            assert_one_path_for_each_input(&list);
            assert_same_meaning(fst, one, 3, &r);
            ambiguous += list.count < before;
        }
        trl_fst_destroy(plain);
        trl_fst_destroy(fst);
        trl_fst_destroy(one);
    }
    assert_true(ambiguous > 200);
}

/* Two paths for one string, by definition: pairs of states that one string leads to, apart at least once, that end or
 * meet. */
static int is_ambiguous(const trl_fst *fst)
{
    enum { MOST = 200 };
    static uint8_t apart[MOST][MOST], together[MOST][MOST];
    int32_t n = trl_fst_states(fst);
    trl_semiring semiring = trl_fst_semiring(fst);
    assert_true(n <= MOST);
    memset(apart, 0, sizeof apart);
    memset(together, 0, sizeof together);
    if (n > 0)
        together[trl_fst_start(fst)][trl_fst_start(fst)] = 1;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t a = 0; a < n; a++)
            for (int32_t b = 0; b < n; b++)
                for (uint32_t i = 0; together[a][b] + apart[a][b] > 0 && i < trl_fst_arc_count(fst, a); i++)
                    for (uint32_t k = 0; k < trl_fst_arc_count(fst, b); k++) {
                        trl_arc x = trl_fst_arc(fst, a, i), y = trl_fst_arc(fst, b, k);
                        if (x.ilabel != y.ilabel)
                            continue;
                        uint8_t parts = apart[a][b] | (a != b || i != k);
                        uint8_t *to = parts ? &apart[x.next][y.next] : &together[x.next][y.next];
                        changed |= !*to;
                        *to = 1;
                    }
    }
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < n; b++)
            if (apart[a][b] && !trl_weight_is_zero(semiring, trl_fst_final(fst, a)) &&
                !trl_weight_is_zero(semiring, trl_fst_final(fst, b)))
                return 1;
    return 0;
}

static void cycles_end_unambiguous_or_meet_the_limit(void **state)
{
    (void)state;
    random_source r = {3};
    int done = 0, stopped = 0, only_this_way = 0;
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = kind.cyclic = 1;
        kind.unweighted &= kind.semiring == TRL_TROPICAL || kind.semiring == TRL_LATTICE;
        trl_fst *fst = random_machine(&kind, &r), *one, *det;
        trl_determinize_options o = exact_options();
        o.most_states = 150;
        int code = trl_fst_disambiguate(fst, &o, &one, NULL);
        assert_true(code == 0 || code == TRL_ELIMIT);
        if (code == 0) {
            assert_false(is_ambiguous(one));
            assert_same_meaning(fst, one, 2, &r);
            only_this_way += trl_fst_determinize(fst, &o, &det, NULL) == TRL_ELIMIT;
            trl_fst_destroy(det);
        }
        done += code == 0;
        stopped += code != 0;
        trl_fst_destroy(fst);
        trl_fst_destroy(one);
    }
    assert_true(done > 500 && stopped > 20 && only_this_way > 0);
}

/* With a coarse delta, paths of one string come to states that differ by rounding only. */
static void rounding_makes_nothing_ambiguous(void **state)
{
    (void)state;
    random_source r = {6};
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = 1;
        kind.arcs = 3 * kind.states;
        kind.unweighted = 0;
        trl_fst *fst = random_machine(&kind, &r), *one;
        trl_determinize_options o = exact_options();
        o.delta = 1;
        assert_int_equal(trl_fst_disambiguate(fst, &o, &one, NULL), 0);
        assert_false(is_ambiguous(one));
        for (int i = 0; i < 5; i++) { /* the same strings are there */
            pair p = sample_pair(fst, 6, &r);
            p.any_output = 1;
            assert_int_equal(meaning_of(fst, &p).value == meaning_zero(kind.semiring).value,
                             meaning_of(one, &p).value == meaning_zero(kind.semiring).value);
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(one);
    }
}

static void pruning_keeps_what_is_near_the_best(void **state)
{
    (void)state;
    static path_list list;
    random_source r = {4};
    for (int round = 0; round < 2000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = 1;
        kind.semiring = TRL_TROPICAL;
        trl_fst *fst = random_machine(&kind, &r), *one;
        trl_determinize_options o = exact_options();
        o.has_prune = 1;
        o.prune = (trl_weight){(float)random_below(&r, 16) / 4 + 0.1f, 0};
        assert_int_equal(trl_fst_disambiguate(fst, &o, &one, NULL), 0);
        all_paths(fst, &list);
        double best = INFINITY;
        for (int i = 0; i < list.count; i++)
            best = fmin(best, list.paths[i].weight.value);
        for (int i = 0; i < list.count; i++) {
            pair p = {.nx = list.paths[i].nx, .any_output = 1};
            memcpy(p.x, list.paths[i].x, sizeof p.x);
            if (list.paths[i].weight.value <= best + (double)o.prune.value - 0.01)
                assert_same_for_pair(fst, one, &p);
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(one);
    }
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {5};
    machine_kind kind = {.semiring = TRL_LOG, .states = 12, .labels = 2, .arcs = 30, .acceptor = 1};
    trl_fst *fst = random_machine(&kind, &r);
    assert_true(times_out_of_memory(trl_fst_disambiguate, fst, NULL) > 20);
    trl_fst_destroy(fst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acceptors_get_one_path_for_each_string),
        cmocka_unit_test(functional_transducers_get_one_path_for_each_input),
        cmocka_unit_test(cycles_end_unambiguous_or_meet_the_limit),
        cmocka_unit_test(rounding_makes_nothing_ambiguous),
        cmocka_unit_test(pruning_keeps_what_is_near_the_best),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
