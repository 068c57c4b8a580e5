/* Determinization: the meaning stays, no input label is there twice, what can't be done is refused; against all paths
 * of small machines. */
#include "fst_path_list.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>

/* No state has two arcs with one input label, except those that write what is left, whose label is `but`. */
static void assert_deterministic(const trl_fst *fst, int32_t but)
{
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++)
            for (uint32_t k = 0; k < i; k++) {
                int32_t label = trl_fst_arc(fst, s, i).ilabel;
                assert_true(label == but || label != trl_fst_arc(fst, s, k).ilabel);
            }
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

static trl_determinize_options exact_options(trl_determinize_kind kind)
{
    trl_determinize_options o = trl_determinize_defaults();
    o.kind = kind;
    o.delta = 1e-5f;
    return o;
}

static void acceptors_keep_their_meaning(void **state)
{
    (void)state;
    random_source r = {1};
    for (int round = 0; round < RANDOM_CASES(6000); round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = 1;
        kind.epsilons = random_below(&r, 2) * 0.2;
        trl_fst *fst = random_machine(&kind, &r), *det;
        trl_determinize_options o = exact_options((trl_determinize_kind)(round / 4 % 2));
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), 0);
        assert_int_equal(trl_fst_verify(det, NULL), 0);
        assert_deterministic(det, TRL_NO_STATE);
        assert_same_meaning(fst, det, 3, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
}

/* Many arcs, and labels of every size: three layers of states. */
static void large_subsets_are_sorted(void **state)
{
    (void)state;
    random_source r = {10};
    for (int round = 0; round < RANDOM_CASES(40); round++) {
        int32_t labels[60], states = 600;
        trl_fst *fst, *det;
        assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
        assert_int_equal(trl_fst_add_states(fst, states, NULL), 0);
        assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
        for (int i = 0; i < 60; i++)
            labels[i] = 1 + (int32_t)random_below(&r, 1u << (1 + random_below(&r, 30)));
        for (int i = 0; i < 1500; i++) {
            int layer = i % 3;
            int32_t label = labels[random_below(&r, 60)], to = layer == 2 ? states - 1 : 1 + 250 * layer;
            int32_t from = layer == 0 ? 0 : 1 + 250 * (layer - 1) + (int32_t)random_below(&r, 250);
            to += layer == 2 ? 0 : (int32_t)random_below(&r, 250);
            trl_weight weight = {(float)random_below(&r, 64) / 8, 0};
            assert_int_equal(trl_fst_add_arc(fst, from, (trl_arc){label, label, weight, to}, NULL), 0);
        }
        assert_int_equal(trl_fst_set_final(fst, states - 1, (trl_weight){0, 0}, NULL), 0);
        assert_int_equal(trl_fst_determinize(fst, NULL, &det, NULL), 0);
        assert_deterministic(det, TRL_NO_STATE);
        assert_same_meaning(fst, det, 20, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
}

static void cycles_without_weights_can_always_be_determinized(void **state)
{
    (void)state;
    random_source r = {2};
    for (int round = 0; round < RANDOM_CASES(3000); round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = kind.cyclic = kind.unweighted = 1;
        if (kind.semiring == TRL_LOG || kind.semiring == TRL_REAL)
            kind.semiring = TRL_TROPICAL;
        trl_fst *fst = random_machine(&kind, &r), *det;
        assert_int_equal(trl_fst_determinize(fst, NULL, &det, NULL), 0);
        assert_deterministic(det, TRL_NO_STATE);
        assert_true(trl_fst_states(det) < 1 << kind.states);
        assert_same_meaning(fst, det, 3, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
}

static void cycles_with_weights_end_or_meet_the_limit(void **state)
{
    (void)state;
    random_source r = {3};
    int done = 0, stopped = 0;
    for (int round = 0; round < RANDOM_CASES(2000); round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = kind.cyclic = 1;
        trl_fst *fst = random_machine(&kind, &r), *det;
        trl_determinize_options o = exact_options(TRL_DETERMINIZE_FUNCTIONAL);
        o.most_states = 300;
        int code = trl_fst_determinize(fst, &o, &det, NULL);
        assert_true(code == 0 || code == TRL_ELIMIT);
        if (code == 0) {
            assert_true(trl_fst_states(det) <= 300);
            assert_deterministic(det, TRL_NO_STATE);
            assert_same_meaning(fst, det, 2, &r);
        } else {
            assert_null(det);
        }
        done += code == 0;
        stopped += code != 0;
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
    assert_true(done > RANDOM_CASES(200) && stopped > RANDOM_CASES(20));
}

static void functional_means_one_output_for_each_input(void **state)
{
    (void)state;
    static path_list before;
    random_source r = {4};
    int functional = 0, refused = 0;
    for (int round = 0; round < RANDOM_CASES(8000); round++) {
        machine_kind kind = some_kind(round, &r);
        kind.epsilons = random_below(&r, 2) * 0.3;
        trl_fst *fst = random_machine(&kind, &r), *det;
        trl_determinize_options o = exact_options(TRL_DETERMINIZE_FUNCTIONAL);
        all_paths(fst, &before);
        int code = trl_fst_determinize(fst, &o, &det, NULL);
        assert_int_equal(code, is_functional(&before) ? 0 : TRL_EINVAL);
        if (code == 0) {
            assert_deterministic(det, 0);
            assert_same_meaning(fst, det, 3, &r);
            functional += before.count > 1;
        }
        refused += code != 0;
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
    assert_true(functional > RANDOM_CASES(1000) && refused > RANDOM_CASES(1000));
}

static void add_arc(trl_fst *fst, int32_t from, int32_t x, int32_t y, float w, int32_t to)
{
    assert_int_equal(trl_fst_add_arc(fst, from, (trl_arc){x, y, {w, 0}, to}, NULL), 0);
}

static trl_fst *new_machine(trl_semiring semiring, int32_t states, int32_t final)
{
    trl_fst *fst;
    assert_int_equal(trl_fst_create(semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, states, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, final, trl_weight_one(semiring), NULL), 0);
    return fst;
}

/* Words that share beginnings, each with its output somewhere along it, in a loop: a lexicon. Ends tell them apart. */
static trl_fst *random_lexicon(trl_semiring semiring, random_source *r)
{
    trl_fst *fst = new_machine(semiring, 1, 0);
    machine_kind kind = {.semiring = semiring, .cyclic = 1};
    int words = 1 + (int)random_below(r, 8);
    for (int w = 0; w < words; w++) {
        int length = 1 + (int)random_below(r, 4), at = (int)random_below(r, (uint32_t)length + 1);
        int32_t s = 0;
        for (int i = 0; i <= length; i++) {
            int32_t next = 0, x = i == length ? 10 + w : 1 + (int32_t)random_below(r, 2);
            if (i < length)
                assert_int_equal(trl_fst_add_state(fst, &next, NULL), 0);
            trl_weight weight = i == at ? random_weight(&kind, r) : trl_weight_one(semiring);
            assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){x, i == at ? 100 + w : 0, weight, next}, NULL), 0);
            s = next;
        }
    }
    return fst;
}

static void lexicons_become_trees(void **state)
{
    (void)state;
    random_source r = {5};
    for (int round = 0; round < RANDOM_CASES(3000); round++) {
        trl_fst *fst = random_lexicon((trl_semiring)(round % 4), &r), *det;
        trl_determinize_options o = exact_options((trl_determinize_kind)(round / 4 % 2));
        o.most_states = trl_fst_states(fst);
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), 0);
        assert_deterministic(det, TRL_NO_STATE);
        assert_same_meaning(fst, det, 2, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
}

static void all_outputs_stay_where_there_are_several(void **state)
{
    (void)state;
    random_source r = {6};
    for (int round = 0; round < RANDOM_CASES(6000); round++) {
        machine_kind kind = some_kind(round, &r);
        kind.epsilons = random_below(&r, 2) * 0.3;
        trl_fst *fst = random_machine(&kind, &r), *det;
        trl_determinize_options o = exact_options(TRL_DETERMINIZE_NONFUNCTIONAL);
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), 0);
        assert_int_equal(trl_fst_verify(det, NULL), 0);
        assert_deterministic(det, 0);
        assert_same_meaning(fst, det, 3, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
}

/* The weight of the best path that reads p's input; with an output: that too. */
static meaning best_of(trl_semiring s, const path_list *list, const path *p, int with_output)
{
    meaning best = meaning_zero(s);
    for (int i = 0; i < list->count; i++)
        if (same_input(&list->paths[i], p) && (!with_output || same_output(&list->paths[i], p)))
            best = meaning_plus(s, best, list->paths[i].weight);
    return best;
}

static void of_several_outputs_the_best_stays(void **state)
{
    (void)state;
    static path_list before, after;
    random_source r = {7};
    for (int round = 0; round < RANDOM_CASES(4000); round++) {
        machine_kind kind = some_kind(round, &r);
        kind.semiring = round % 2 ? TRL_LATTICE : TRL_TROPICAL;
        trl_fst *fst = random_machine(&kind, &r), *det;
        trl_determinize_options o = exact_options(TRL_DETERMINIZE_DISAMBIGUATE);
        o.subsequential_label = 50; /* so that the end of what is read can be seen */
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), 0);
        assert_deterministic(det, TRL_NO_STATE);
        all_paths(fst, &before);
        all_paths(det, &after);
        for (int i = 0; i < after.count; i++)
            while (after.paths[i].nx > 0 && after.paths[i].x[after.paths[i].nx - 1] == 50)
                after.paths[i].nx--;
        assert_true(is_functional(&after));
        for (int i = 0; i < before.count; i++) {
            meaning best = best_of(kind.semiring, &before, &before.paths[i], 0);
            assert_true(meaning_equal(best, best_of(kind.semiring, &after, &before.paths[i], 0), 1e-4));
        }
        for (int i = 0; i < after.count; i++) {
            const path *p = &after.paths[i];
            assert_true(meaning_equal(p->weight, best_of(kind.semiring, &before, p, 1), 1e-4));
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
}

static double cost(meaning w)
{
    return w.value + w.second;
}

static double weight_cost(trl_weight w)
{
    return (double)w.value + (double)w.second;
}

/* Every arc and every end is on a path that costs no more than `limit`. */
static void assert_all_within(const trl_fst *fst, double limit)
{
    int32_t n = trl_fst_states(fst);
    double *here = malloc((size_t)(n + 1) * sizeof *here), *onwards = malloc((size_t)(n + 1) * sizeof *onwards);
    for (int32_t s = 0; s < n; s++) {
        here[s] = s == trl_fst_start(fst) ? 0 : INFINITY;
        onwards[s] = weight_cost(trl_fst_final(fst, s));
    }
    for (int32_t pass = 0; pass < 2 * n + 1; pass++) /* n relaxations, then the look at each arc and end */
        for (int32_t s = 0; s < n; s++) {
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                here[a.next] = fmin(here[a.next], here[s] + weight_cost(a.weight));
                onwards[s] = fmin(onwards[s], weight_cost(a.weight) + onwards[a.next]);
                assert_true(pass < 2 * n || here[s] + weight_cost(a.weight) + onwards[a.next] < limit + 1e-3);
            }
            double final = weight_cost(trl_fst_final(fst, s));
            assert_true(pass < 2 * n || isinf(final) || here[s] + final < limit + 1e-3);
        }
    free(here);
    free(onwards);
}

static void pruning_keeps_what_is_near_the_best(void **state)
{
    (void)state;
    static path_list before;
    random_source r = {8};
    for (int round = 0; round < RANDOM_CASES(6000); round++) {
        machine_kind kind = some_kind(round, &r);
        kind.semiring = round % 2 ? TRL_LATTICE : TRL_TROPICAL;
        kind.acceptor = round / 2 % 2;
        trl_fst *fst = random_machine(&kind, &r), *det;
        trl_determinize_options o =
            exact_options(kind.acceptor ? TRL_DETERMINIZE_FUNCTIONAL : TRL_DETERMINIZE_NONFUNCTIONAL);
        o.has_prune = 1;
        o.prune = (trl_weight){(float)random_below(&r, 32) / 8, 0};
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), 0);
        assert_deterministic(det, 0);
        all_paths(fst, &before);
        meaning best = meaning_zero(kind.semiring);
        for (int i = 0; i < before.count; i++)
            best = meaning_plus(kind.semiring, best, before.paths[i].weight);
        double limit = cost(best) + (double)o.prune.value;
        assert_all_within(det, limit);
        for (int i = 0; i < before.count; i++) {
            pair p = {.nx = before.paths[i].nx, .ny = before.paths[i].ny};
            memcpy(p.x, before.paths[i].x, sizeof p.x);
            memcpy(p.y, before.paths[i].y, sizeof p.y);
            if (cost(meaning_of(fst, &p)) < limit - 1e-3)
                assert_same_for_pair(fst, det, &p);
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(det);
    }
}

/* Two loops of different weight on one label: what one owes more than the other grows without end. */
static void without_twins_the_limit_is_met(void **state)
{
    (void)state;
    trl_fst *fst = new_machine(TRL_TROPICAL, 4, 3), *det;
    trl_error err;
    add_arc(fst, 0, 1, 1, 0, 1);
    add_arc(fst, 0, 1, 1, 0, 2);
    add_arc(fst, 1, 2, 2, 1, 1);
    add_arc(fst, 2, 2, 2, 2, 2);
    add_arc(fst, 1, 3, 3, 0, 3);
    add_arc(fst, 2, 4, 4, 0, 3);
    trl_determinize_options o = trl_determinize_defaults();
    o.most_states = 1000;
    assert_int_equal(trl_fst_determinize(fst, &o, &det, &err), TRL_ELIMIT);
    assert_null(det);
    assert_non_null(strstr(err.text, "1000"));
    o.most_states = 0; /* there is a limit where none is given: 1,000,000 and 16 for each of four states */
    assert_int_equal(trl_fst_determinize(fst, &o, &det, &err), TRL_ELIMIT);
    assert_non_null(strstr(err.text, "1000064"));
    o.has_prune = 1; /* within 10 of the best there are finitely many */
    o.prune = (trl_weight){10, 0};
    assert_int_equal(trl_fst_determinize(fst, &o, &det, &err), 0);
    assert_true(trl_fst_states(det) > 10 && trl_fst_states(det) < 60);
    trl_fst_destroy(det);
    trl_fst_destroy(fst);
}

/* "1 2" and "1 3" end alike after another 4 when their weights do. */
static void weights_nearer_than_delta_are_the_same(void **state)
{
    (void)state;
    for (int near = 0; near < 2; near++) {
        trl_fst *fst = new_machine(TRL_TROPICAL, 4, 3), *det;
        float more = near ? 0.0002f : 0.01f;
        for (int32_t label = 2; label <= 3; label++) {
            add_arc(fst, 0, label, label, 0, 1);
            add_arc(fst, 0, label, label, label == 2 ? 1 : 1 + more, 2);
        }
        add_arc(fst, 1, 4, 4, 0, 3);
        add_arc(fst, 2, 5, 5, 0, 3);
        assert_int_equal(trl_fst_determinize(fst, NULL, &det, NULL), 0);
        assert_int_equal(trl_fst_states(det), near ? 3 : 4);
        trl_fst_destroy(det);
        trl_fst_destroy(fst);
    }
}

/* Two arcs with label 1 to one state, and one with label 2: after either the state stands alone, whatever rounding
 * says. */
static void sums_of_shares_are_one(void **state)
{
    (void)state;
    random_source r = {11};
    for (int round = 0; round < RANDOM_CASES(2000); round++) {
        trl_semiring semiring = round % 2 ? TRL_LOG : TRL_REAL;
        trl_fst *fst = new_machine(semiring, 2, 1), *det;
        for (int i = 0; i < 5; i++)
            add_arc(fst, 0, i < 4 ? 1 : 2, i < 4 ? 1 : 2, (float)(1 + random_below(&r, 1000)) / 333, 1);
        assert_int_equal(trl_fst_determinize(fst, NULL, &det, NULL), 0);
        assert_int_equal(trl_fst_states(det), 2);
        assert_same_meaning(fst, det, 1, &r);
        trl_fst_destroy(det);
        trl_fst_destroy(fst);
    }
}

static void what_is_left_is_written_at_the_end(void **state)
{
    (void)state;
    trl_fst *fst = new_machine(TRL_TROPICAL, 3, 2), *det;
    add_arc(fst, 0, 1, 7, 1, 1);
    add_arc(fst, 1, 2, 8, 0, 2);
    add_arc(fst, 0, 1, 9, 2, 1);
    trl_determinize_options o = exact_options(TRL_DETERMINIZE_NONFUNCTIONAL);
    o.subsequential_label = 50;
    o.increment_subsequential = 1;
    assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), 0);
    assert_deterministic(det, TRL_NO_STATE);
    pair low = {.x = {1, 2, 50, 50}, .y = {7, 8}, .nx = 4, .ny = 2};
    pair high = {.x = {1, 2, 51, 50}, .y = {9, 8}, .nx = 4, .ny = 2};
    int either = 0;
    for (int swap = 0; swap < 2; swap++) { /* which of the two comes first is not said */
        low.x[2] = 50 + swap;
        high.x[2] = 51 - swap;
        either += meaning_of(det, &low).value == 1 && meaning_of(det, &high).value == 2;
    }
    assert_int_equal(either, 1);
    trl_fst_destroy(det);
    trl_fst_destroy(fst);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < TRL_SEMIRINGS; i++) {
        trl_semiring s = (trl_semiring)i;
        int has_path = s == TRL_TROPICAL || s == TRL_LATTICE;
        trl_fst *fst = new_machine(s, 1, 0), *det;
        trl_determinize_options o = exact_options(TRL_DETERMINIZE_DISAMBIGUATE);
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), has_path ? 0 : TRL_EINVAL);
        trl_fst_destroy(det);
        o = exact_options(TRL_DETERMINIZE_FUNCTIONAL);
        o.has_prune = 1;
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), has_path ? 0 : TRL_EINVAL);
        trl_fst_destroy(det);
        o = exact_options(TRL_DETERMINIZE_FUNCTIONAL);
        o.delta = 0;
        assert_int_equal(trl_fst_determinize(fst, &o, &det, NULL), TRL_EINVAL);
        trl_fst_destroy(fst);
        assert_int_equal(trl_fst_create(s, &fst, NULL), 0);
        assert_int_equal(trl_fst_determinize(fst, NULL, &det, NULL), 0);
        assert_int_equal(trl_fst_states(det), 0);
        trl_fst_destroy(det);
        trl_fst_destroy(fst);
    }
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {9};
    machine_kind kind = {.semiring = TRL_LATTICE, .states = 40, .labels = 4, .arcs = 300};
    trl_fst *fst = random_machine(&kind, &r);
    trl_determinize_options o = exact_options(TRL_DETERMINIZE_DISAMBIGUATE);
    o.has_prune = 1;
    o.prune = (trl_weight){3, 3};
    assert_true(times_out_of_memory(trl_fst_determinize, fst, &o) > 20);
    trl_fst_destroy(fst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acceptors_keep_their_meaning),
        cmocka_unit_test(large_subsets_are_sorted),
        cmocka_unit_test(cycles_without_weights_can_always_be_determinized),
        cmocka_unit_test(cycles_with_weights_end_or_meet_the_limit),
        cmocka_unit_test(functional_means_one_output_for_each_input),
        cmocka_unit_test(lexicons_become_trees),
        cmocka_unit_test(all_outputs_stay_where_there_are_several),
        cmocka_unit_test(of_several_outputs_the_best_stays),
        cmocka_unit_test(pruning_keeps_what_is_near_the_best),
        cmocka_unit_test(without_twins_the_limit_is_met),
        cmocka_unit_test(weights_nearer_than_delta_are_the_same),
        cmocka_unit_test(sums_of_shares_are_one),
        cmocka_unit_test(what_is_left_is_written_at_the_end),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
