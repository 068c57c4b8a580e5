/* Minimization: the meaning stays, and there are as many states as there are different futures, counted by
 * definition. */
#include "fst_path_list.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>

#define MOST 40

/* ---- Machines ---- */

static int has_label(const trl_fst *fst, int32_t s, int32_t label)
{
    for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++)
        if (trl_fst_arc(fst, s, i).ilabel == label)
            return 1;
    return 0;
}

/* A random machine without the arcs whose input label their state has already, and without useless states. */
static trl_fst *random_deterministic(const machine_kind *kind, random_source *r)
{
    trl_fst *all = random_machine(kind, r), *fst;
    assert_int_equal(trl_fst_create(kind->semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, kind->states, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    for (int32_t s = 0; s < kind->states; s++) {
        assert_int_equal(trl_fst_set_final(fst, s, trl_fst_final(all, s), NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(all, s); i++)
            if (!has_label(fst, s, trl_fst_arc(all, s, i).ilabel))
                assert_int_equal(trl_fst_add_arc(fst, s, trl_fst_arc(all, s, i), NULL), 0);
    }
    trl_fst_destroy(all);
    assert_int_equal(trl_fst_connect(fst, NULL), 0);
    return fst;
}

static machine_kind some_kind(int round, random_source *r)
{
    machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                         .states = 1 + (int32_t)random_below(r, 12),
                         .labels = 1 + (int32_t)random_below(r, 3),
                         .acceptor = 1,
                         .unweighted = random_below(r, 2) == 0,
                         .finals = 0.2 + 0.2 * random_below(r, 4)};
    kind.arcs = (int32_t)random_below(r, 4 * (uint32_t)kind.states);
    return kind;
}

/* ---- Acceptors: futures as a table of pairs that differ ---- */

static meaning one_of(trl_semiring s)
{
    trl_weight w = trl_weight_one(s);
    return (meaning){w.value, w.second};
}

static meaning product(trl_semiring s, meaning a, meaning b)
{
    return s == TRL_REAL ? (meaning){a.value * b.value, 0} : (meaning){a.value + b.value, a.second + b.second};
}

static meaning quotient(trl_semiring s, meaning a, meaning b)
{
    if (a.value == meaning_zero(s).value)
        return a;
    return s == TRL_REAL ? (meaning){a.value / b.value, 0} : (meaning){a.value - b.value, a.second - b.second};
}

static meaning wide(trl_weight w)
{
    return (meaning){w.value, w.second};
}

/* From each state to the ends, by repeating the definition; arcs of acyclic machines lead to higher states. */
static void find_distances(const trl_fst *fst, meaning *far)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    int32_t n = trl_fst_states(fst);
    for (int32_t s = 0; s < n; s++)
        far[s] = meaning_zero(semiring);
    for (int32_t pass = 0; pass <= n; pass++)
        for (int32_t s = n - 1; s >= 0; s--) {
            far[s] = wide(trl_fst_final(fst, s));
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i);
                far[s] = meaning_plus(semiring, far[s], product(semiring, wide(a.weight), far[a.next]));
            }
        }
}

/* The arc of `s` with the label, its weight relative to the distances; next -1: there is none. */
static int32_t follow(const trl_fst *fst, const meaning *far, int32_t s, int32_t label, meaning *w)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    *w = meaning_zero(semiring);
    for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
        trl_arc a = trl_fst_arc(fst, s, i);
        if (a.ilabel == label) {
            *w = quotient(semiring, product(semiring, wide(a.weight), far[a.next]), far[s]);
            return a.next;
        }
    }
    return -1;
}

static int pair_differs(const trl_fst *fst, const meaning *far, uint8_t differ[MOST][MOST], int32_t a, int32_t b)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    if (!meaning_equal(quotient(semiring, wide(trl_fst_final(fst, a)), far[a]),
                       quotient(semiring, wide(trl_fst_final(fst, b)), far[b]), 1e-5))
        return 1;
    for (int32_t label = 1; label <= 3; label++) {
        meaning v, w;
        int32_t x = follow(fst, far, a, label, &v), y = follow(fst, far, b, label, &w);
        if ((x < 0) != (y < 0) || (x >= 0 && (differ[x][y] || !meaning_equal(v, w, 1e-5))))
            return 1;
    }
    return 0;
}

/* Of the classes of states that do not differ. */
static int32_t count_classes(uint8_t differ[MOST][MOST], int32_t n)
{
    int32_t count = 0;
    for (int32_t a = 0; a < n; a++) {
        int first = 1;
        for (int32_t b = 0; b < a; b++)
            first &= differ[a][b];
        count += first;
    }
    return count;
}

/* *shared: another state has the future of the start. */
static int32_t count_futures(const trl_fst *fst, const meaning *far, int *shared)
{
    static uint8_t differ[MOST][MOST];
    int32_t n = trl_fst_states(fst);
    memset(differ, 0, sizeof differ);
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t a = 0; a < n; a++)
            for (int32_t b = 0; b < n; b++)
                if (!differ[a][b] && pair_differs(fst, far, differ, a, b))
                    differ[a][b] = 1, changed = 1;
    }
    for (int32_t a = 0; a < n; a++)
        *shared |= a != trl_fst_start(fst) && !differ[a][trl_fst_start(fst)];
    return count_classes(differ, n);
}

static int start_is_entered(const trl_fst *fst)
{
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++)
            if (trl_fst_arc(fst, s, i).next == trl_fst_start(fst))
                return 1;
    return 0;
}

static void check_minimal(const machine_kind *kind, random_source *r)
{
    trl_fst *fst = random_deterministic(kind, r), *small;
    meaning far[MOST];
    trl_minimize_options o = trl_minimize_defaults();
    o.delta = 1e-4f;
    small = copy_of(fst);
    assert_int_equal(trl_fst_minimize(small, &o, NULL), 0);
    assert_int_equal(trl_fst_verify(small, NULL), 0);
    assert_same_meaning(fst, small, 3, r);
    find_distances(fst, far);
    int shared = 0;
    int32_t expected = count_futures(fst, far, &shared);
    /* What all strings cost together is the start's alone, so it can't be one with states that are entered. */
    if (trl_fst_states(fst) > 0 && (shared || start_is_entered(fst)) &&
        !meaning_equal(far[trl_fst_start(fst)], one_of(kind->semiring), 0))
        expected++;
    if (trl_fst_states(small) != expected) {
        print_message("%d states, not %d:\n", (int)trl_fst_states(small), (int)expected);
        print_machine(fst);
        print_machine(small);
    }
    assert_int_equal(trl_fst_states(small), expected);
    trl_fst_destroy(fst);
    trl_fst_destroy(small);
}

static void acyclic_acceptors_have_one_state_per_future(void **state)
{
    (void)state;
    random_source r = {1};
    for (int round = 0; round < 8000; round++) {
        machine_kind kind = some_kind(round, &r);
        check_minimal(&kind, &r);
    }
}

static void cyclic_acceptors_have_one_state_per_future(void **state)
{
    (void)state;
    random_source r = {2};
    for (int round = 0; round < 8000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.cyclic = 1;
        kind.semiring = round % 2 ? TRL_LATTICE : TRL_TROPICAL;
        check_minimal(&kind, &r);
    }
}

/* ---- Transducers: futures as lists of paths ---- */

/* What all outputs begin with is left out, and what all weights have in common. */
static void normalize(trl_semiring semiring, path_list *f)
{
    int common = f->paths[0].ny;
    meaning total = meaning_zero(semiring);
    for (int i = 0; i < f->count; i++) {
        int n = 0;
        while (n < common && n < f->paths[i].ny && f->paths[i].y[n] == f->paths[0].y[n])
            n++;
        common = n;
        total = meaning_plus(semiring, total, f->paths[i].weight);
    }
    for (int i = 0; i < f->count; i++) {
        path *p = &f->paths[i];
        p->ny -= common;
        memmove(p->y, p->y + common, (size_t)p->ny * sizeof p->y[0]);
        p->weight = quotient(semiring, p->weight, total);
    }
}

static int has_path(const path_list *f, const path *p)
{
    for (int i = 0; i < f->count; i++) {
        const path *q = &f->paths[i];
        if (same_input(p, q) && same_output(p, q) && meaning_equal(p->weight, q->weight, 1e-5))
            return 1;
    }
    return 0;
}

static int same_future(const path_list *f, const path_list *g)
{
    int same = f->count == g->count;
    for (int i = 0; same && i < f->count; i++)
        same = has_path(g, &f->paths[i]);
    return same;
}

/* States that only write on the way read nothing; the machines here have no other arcs that do. */
static int32_t count_readers(const trl_fst *fst)
{
    int32_t count = 0;
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        count += trl_fst_arc_count(fst, s) != 1 || trl_fst_arc(fst, s, 0).ilabel != 0;
    return count;
}

static void acyclic_transducers_have_one_state_per_future(void **state)
{
    (void)state;
    static path_list futures[8];
    random_source r = {3};
    int chains = 0;
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.states = 1 + (int32_t)random_below(&r, 7);
        kind.arcs = 3 * kind.states;
        kind.acceptor = 0;
        trl_fst *fst = random_deterministic(&kind, &r), *small;
        trl_minimize_options o = {.delta = 1e-4f};
        small = copy_of(fst);
        assert_int_equal(trl_fst_minimize(small, &o, NULL), 0);
        assert_same_meaning(fst, small, 3, &r);
        int32_t expected = 0;
        for (int32_t s = 0; s < trl_fst_states(fst); s++) {
            paths_from(fst, s, &futures[s]);
            normalize(kind.semiring, &futures[s]);
            int first = 1;
            for (int32_t t = 0; t < s; t++)
                first &= !same_future(&futures[s], &futures[t]);
            expected += first;
        }
        assert_int_equal(count_readers(small), expected);
        chains += trl_fst_states(small) > expected;
        trl_fst_destroy(fst);
        trl_fst_destroy(small);
    }
    assert_true(chains > 100);
}

static void cyclic_transducers_keep_their_meaning(void **state)
{
    (void)state;
    random_source r = {4};
    int smaller = 0;
    for (int round = 0; round < 4000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.acceptor = 0;
        kind.cyclic = 1;
        kind.epsilons = random_below(&r, 2) * 0.1;
        kind.unweighted &= kind.semiring == TRL_TROPICAL || kind.semiring == TRL_LATTICE; /* else sums diverge */
        trl_fst *fst = random_deterministic(&kind, &r), *small;
        trl_minimize_options o = {.delta = 1e-4f};
        small = copy_of(fst);
        assert_int_equal(trl_fst_minimize(small, &o, NULL), 0);
        assert_same_meaning(fst, small, 3, &r);
        smaller += trl_fst_states(small) < trl_fst_states(fst);
        trl_fst_destroy(fst);
        trl_fst_destroy(small);
    }
    assert_true(smaller > 20);
}

/* ---- Nondeterministic machines ---- */

static int any_match(const trl_fst *fst, uint8_t differ[MOST][MOST], trl_arc a, int32_t other)
{
    for (uint32_t i = 0; i < trl_fst_arc_count(fst, other); i++) {
        trl_arc b = trl_fst_arc(fst, other, i);
        if (a.ilabel == b.ilabel && !differ[a.next][b.next])
            return 1;
    }
    return 0;
}

/* Bisimilar by definition: the largest relation in which each arc of one has a like of the other. Unweighted
 * acceptors. */
static int32_t count_bisimilar(const trl_fst *fst)
{
    static uint8_t differ[MOST][MOST];
    int32_t n = trl_fst_states(fst);
    memset(differ, 0, sizeof differ);
    for (int changed = 1; changed;) {
        changed = 0;
        for (int32_t a = 0; a < n; a++)
            for (int32_t b = 0; b < n; b++) {
                int differs = trl_fst_final(fst, a).value != trl_fst_final(fst, b).value;
                for (uint32_t i = 0; i < trl_fst_arc_count(fst, a); i++)
                    differs |= !any_match(fst, differ, trl_fst_arc(fst, a, i), b);
                if (differs && !differ[a][b])
                    differ[a][b] = differ[b][a] = 1, changed = 1;
            }
    }
    return count_classes(differ, n);
}

static void nondeterministic_machines_become_smaller_by_bisimulation(void **state)
{
    (void)state;
    random_source r = {5};
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.semiring = round % 2 ? TRL_LATTICE : TRL_TROPICAL;
        kind.cyclic = round / 2 % 2;
        kind.acceptor = kind.unweighted || random_below(&r, 2);
        trl_fst *fst = random_machine(&kind, &r), *small;
        trl_minimize_options o = trl_minimize_defaults();
        assert_int_equal(trl_fst_connect(fst, NULL), 0);
        small = copy_of(fst);
        o.allow_nondeterministic = 1;
        assert_int_equal(trl_fst_minimize(small, &o, NULL), 0);
        assert_same_meaning(fst, small, 3, &r);
        if (kind.unweighted)
            assert_int_equal(trl_fst_states(small), count_bisimilar(fst));
        trl_fst_destroy(fst);
        trl_fst_destroy(small);
    }
}

static trl_fst *two_alike(trl_semiring semiring, int32_t second_label)
{
    trl_fst *fst;
    assert_int_equal(trl_fst_create(semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 3, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    trl_weight one = trl_weight_one(semiring);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 1, one, 1}, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){second_label, second_label, one, 2}, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 1, one, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 2, one, NULL), 0);
    return fst;
}

static void what_is_not_deterministic_is_refused_unless_allowed(void **state)
{
    (void)state;
    for (int i = 0; i < TRL_SEMIRINGS; i++)
        for (int allow = 0; allow < 2; allow++) {
            trl_fst *fst = two_alike((trl_semiring)i, 1);
            trl_minimize_options o = {.delta = 1e-6f, .allow_nondeterministic = allow};
            int has_path = i == TRL_TROPICAL || i == TRL_LATTICE;
            assert_int_equal(trl_fst_minimize(fst, &o, NULL), has_path && allow ? 0 : TRL_EINVAL);
            assert_int_equal(trl_fst_states(fst), has_path && allow ? 2 : 3);
            trl_fst_destroy(fst);
        }
}

static void weights_nearer_than_delta_are_the_same(void **state)
{
    (void)state;
    for (int far = 0; far < 2; far++) {
        trl_fst *fst = two_alike(TRL_TROPICAL, 2); /* states 1 and 2 each get an arc and an end, one a little dearer */
        for (int32_t s = 1; s <= 2; s++)
            assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){3, 3, {s == 1 ? 1 : 1.001f, 0}, s}, NULL), 0);
        trl_minimize_options o = {.delta = far ? 1e-6f : 0.01f};
        assert_int_equal(trl_fst_minimize(fst, &o, NULL), 0);
        assert_int_equal(trl_fst_states(fst), far ? 3 : 2);
        trl_fst_destroy(fst);
    }
}

static void long_chains_are_no_problem(void **state)
{
    (void)state;
    enum { LENGTH = 200000 };
    for (int cyclic = 0; cyclic < 2; cyclic++) { /* two equal chains of one length; or a loop that is all one state */
        trl_fst *fst;
        assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
        assert_int_equal(trl_fst_add_states(fst, 2 * LENGTH + 1, NULL), 0);
        assert_int_equal(trl_fst_set_start(fst, 2 * LENGTH, NULL), 0);
        for (int32_t s = 0; s < 2 * LENGTH; s++) {
            int last = s % LENGTH == LENGTH - 1;
            if (!last || cyclic)
                assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){1, 1, {0, 0}, last ? s + 1 - LENGTH : s + 1}, NULL),
                                 0);
            if (last || cyclic)
                assert_int_equal(trl_fst_set_final(fst, s, (trl_weight){0, 0}, NULL), 0);
        }
        for (int32_t i = 0; i < 2; i++)
            assert_int_equal(trl_fst_add_arc(fst, 2 * LENGTH, (trl_arc){1 + i, 1 + i, {0, 0}, i * LENGTH}, NULL), 0);
        assert_int_equal(trl_fst_minimize(fst, NULL, NULL), 0);
        assert_int_equal(trl_fst_states(fst), cyclic ? 2 : LENGTH + 1);
        trl_fst_destroy(fst);
    }
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    for (int cyclic = 0; cyclic < 2; cyclic++) {
        int failures = 0, code = TRL_ENOMEM;
        for (long n = 1; code != 0; n++) {
            random_source r = {6};
            machine_kind kind = {
                .semiring = TRL_TROPICAL, .states = 30, .labels = 5, .arcs = 100, .cyclic = cyclic, .epsilons = 0};
            trl_fst *fst = random_deterministic(&kind, &r);
            trl__memory_fail_after(n);
            code = trl_fst_minimize(fst, NULL, NULL);
            trl__memory_fail_after(0);
            trl_fst_destroy(fst);
            assert_true(code == 0 || code == TRL_ENOMEM);
            failures += code != 0;
        }
        assert_true(failures > 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acyclic_acceptors_have_one_state_per_future),
        cmocka_unit_test(cyclic_acceptors_have_one_state_per_future),
        cmocka_unit_test(acyclic_transducers_have_one_state_per_future),
        cmocka_unit_test(cyclic_transducers_keep_their_meaning),
        cmocka_unit_test(nondeterministic_machines_become_smaller_by_bisimulation),
        cmocka_unit_test(what_is_not_deterministic_is_refused_unless_allowed),
        cmocka_unit_test(weights_nearer_than_delta_are_the_same),
        cmocka_unit_test(long_chains_are_no_problem),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
