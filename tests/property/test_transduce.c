/* Strings, pairs and lattices through random transducers: every method against the definition (meaning_of, and all
 * paths one by one). */
#include "../fst_fixture.h"
#include "base/memory.h"
#include "transduce/search.h"

#include <trellis/transduce.h>

#define METHODS 4
#define MOST_ARCS 64

static const trl_transduce_method methods[METHODS] = {TRL_METHOD_SERIAL, TRL_METHOD_FRONTIER, TRL_METHOD_PARALLEL,
                                                      TRL_METHOD_PREFIX};
static trl_pool *pools[3]; /* 1, 2, 7 threads */

typedef struct machine {
    trl_fst *fst;
    trl_transducer *t;
    trl_transduce_work *work[METHODS];
} machine;

/* The same machine with weights `times` as large. */
static trl_fst *enlarge(const trl_fst *fst, float times)
{
    trl_fst *large;
    assert_int_equal(trl_fst_create(trl_fst_semiring(fst), &large, NULL), 0);
    assert_int_equal(trl_fst_add_states(large, trl_fst_states(fst), NULL), 0);
    assert_int_equal(trl_fst_set_start(large, trl_fst_start(fst), NULL), 0);
    for (int32_t q = 0; q < trl_fst_states(fst); q++) {
        trl_weight final = trl_fst_final(fst, q);
        final.value *= times;
        assert_int_equal(trl_fst_set_final(large, q, final, NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, q); i++) {
            trl_arc a = trl_fst_arc(fst, q, i);
            a.weight.value *= times;
            assert_int_equal(trl_fst_add_arc(large, q, a, NULL), 0);
        }
    }
    return large;
}

/* The loops of the machine's best instruction set and those of every machine by turns. */
static machine make_machine(const machine_kind *kind, float times, trl_pool *pool, random_source *r)
{
    static int turn;
    trl_fst *fst = random_machine(kind, r);
    machine m = {.fst = enlarge(fst, times)};
    trl_error err;
    trl_fst_destroy(fst);
    turn = !turn;
    if (trl_transducer_from_fst(m.fst, &m.t, &err) < 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < METHODS; i++) {
        trl_transduce_options options = {.method = methods[i], .pool = pool};
        assert_int_equal(trl_transduce_create(m.t, &options, &m.work[i], NULL), 0);
        m.work[i]->huge = 2; /* so that small steps are shared out, too */
        m.work[i]->walk = turn ? trl__walk_choose() : &trl__walk_base;
    }
    return m;
}

static void free_machine(machine *m)
{
    for (int i = 0; i < METHODS; i++)
        trl_transduce_destroy(m->work[i]);
    trl_transducer_destroy(m->t);
    trl_fst_destroy(m->fst);
}

static trl_transduction run(machine *m, int method, trl_transduce_operation operation, const trl_transduce_input *input)
{
    trl_transduction result;
    trl_error err;
    if (trl_transduce(m->work[method], operation, input, &result, &err) < 0)
        fail_msg("%s", err.text);
    return result;
}

static int close_to(double a, double b, double delta)
{
    return a == b || fabs(a - b) <= delta * (1 + fabs(a));
}

/* The path is one: it reads x, writes what it says, and weighs what it says. */
static void check_path(const machine *m, const trl_transduction *result, const int32_t *x, size_t nx)
{
    int32_t state = trl_transducer_start(m->t);
    double weight = 0;
    size_t read = 0, written = 0;
    for (size_t i = 0; i < result->arc_count; i++) {
        trl_transducer_arc a = trl_transducer_get(m->t, result->arcs[i]);
        assert_int_equal(a.source, state);
        state = a.target;
        weight += (double)a.weight;
        if (a.input) {
            assert_true(read < nx);
            assert_int_equal(a.input, x[read++]);
        }
        if (a.output) {
            assert_true(written < result->output_count);
            assert_int_equal(a.output, result->outputs[written++]);
        }
    }
    assert_int_equal(read, nx);
    assert_int_equal(written, result->output_count);
    assert_true(close_to(weight + (double)trl_transducer_final(m->t, state), result->weight, 1e-9));
}

static double reference(const machine *m, const pair *p)
{
    return meaning_of(m->fst, p).value;
}

/* The weight of one input by all methods and operations. */
static void check_weights(machine *m, const pair *p, const trl_transduce_input *input, int tropical)
{
    double wanted = reference(m, p);
    trl_transduce_operation operations[3] = {TRL_TRANSDUCE_FORWARD, TRL_TRANSDUCE_BACKWARD, TRL_TRANSDUCE_COUNTS};
    for (int i = 0; i < METHODS; i++) {
        if (methods[i] == TRL_METHOD_PREFIX && input->target)
            continue;
        for (int k = 0; k < (tropical ? 1 : 3); k++) {
            trl_transduction result = run(m, i, tropical ? TRL_TRANSDUCE_VITERBI : operations[k], input);
            if (result.found != (wanted < INFINITY) || !close_to(wanted, result.weight, 2e-5)) {
                print_message("method %d, operation %d: %.9g, not %.9g, of\n", i, k, result.weight, wanted);
                print_pair(p);
                print_machine(m->fst);
                fail();
            }
            if (tropical && result.found)
                check_path(m, &result, p->x, (size_t)p->nx);
        }
    }
}

static machine_kind some_kind(trl_semiring semiring, int round, random_source *r)
{
    return (machine_kind){.semiring = semiring,
                          .states = 1 + (int32_t)random_below(r, round % 10 == 0 ? 200 : 9),
                          .arcs = 1 + (int32_t)random_below(r, round % 10 == 0 ? 900 : 30),
                          .labels = 1 + (int32_t)random_below(r, 4),
                          .epsilons = (double)(round % 3) * 0.2,
                          .cyclic = round % 2};
}

static void check_definition(trl_semiring semiring, float times, int rounds)
{
    random_source r = {(uint64_t)semiring + 7};
    for (int round = 0; round < RANDOM_CASES(rounds); round++) {
        machine_kind kind = some_kind(semiring, round, &r);
        machine m = make_machine(&kind, times, pools[round % 3], &r);
        for (int k = 0; k < 3; k++) {
            pair p = sample_pair(m.fst, 7, &r);
            if (k == 2 && p.nx > 0)
                p.x[random_below(&r, (uint32_t)p.nx)] = 1 + (int32_t)random_below(&r, 5);
            trl_transduce_input input = {.labels = p.x, .count = (size_t)p.nx};
            p.any_output = 1;
            check_weights(&m, &p, &input, semiring == TRL_TROPICAL);
            p.any_output = 0;
            input.target = p.y;
            input.target_count = (size_t)p.ny;
            check_weights(&m, &p, &input, semiring == TRL_TROPICAL);
        }
        free_machine(&m);
    }
}

static void best_paths_are_what_they_mean(void **state)
{
    (void)state;
    check_definition(TRL_TROPICAL, 1, 1500);
    check_definition(TRL_TROPICAL, 1000, 200);
}

static void sums_are_what_they_mean(void **state)
{
    (void)state;
    check_definition(TRL_LOG, 1, 1500);
}

/* Sums that one double can't hold beside each other, and arcs whose probability is no float: logarithms are used
 * then. */
static void sums_of_wide_ranges_are_right(void **state)
{
    (void)state;
    check_definition(TRL_LOG, 13, 600);
    check_definition(TRL_LOG, 200, 600);
}

/* ---- All paths, one by one ---- */

typedef struct paths {
    const machine *m;
    const int32_t *x;
    size_t nx;
    uint64_t arc[MOST_ARCS]; /* of the path so far */
    double count[1000], sum;
} paths;

static void follow(paths *p, int32_t state, size_t read, size_t depth, double weight)
{
    double end = weight + (double)trl_transducer_final(p->m->t, state);
    if (read == p->nx && end < INFINITY) {
        p->sum += exp(-end);
        for (size_t i = 0; i < depth; i++)
            p->count[p->arc[i]] += exp(-end);
    }
    for (uint64_t k = 0; k < trl_transducer_arcs(p->m->t); k++) {
        trl_transducer_arc a = trl_transducer_get(p->m->t, k);
        if (a.source != state || (a.input && (read == p->nx || a.input != p->x[read])))
            continue;
        p->arc[depth] = k;
        follow(p, a.target, read + (a.input != 0), depth + 1, weight + (double)a.weight);
    }
}

static void check_counts(machine *m, const pair *x, const paths *p)
{
    trl_transduce_input input = {.labels = x->x, .count = (size_t)x->nx};
    for (int i = 0; i < METHODS; i++) {
        trl_transduction result = run(m, i, TRL_TRANSDUCE_COUNTS, &input);
        double count[1000] = {0}, ends = 0;
        assert_int_equal(result.found, p->sum > 0);
        for (size_t k = 0; k < result.arc_count; k++)
            count[result.arcs[k]] += result.counts[k];
        for (uint64_t k = 0; result.found && k < trl_transducer_arcs(m->t); k++)
            if (!close_to(p->count[k] / p->sum, count[k], 1e-5))
                fail_msg("method %d: arc %d counts %g, not %g", i, (int)k, count[k], p->count[k] / p->sum);
        for (size_t k = 0; k < result.final_count; k++)
            ends += result.final_counts[k];
        assert_true(!result.found || close_to(1, ends, 1e-5));
    }
}

static void counts_are_those_of_all_paths(void **state)
{
    (void)state;
    random_source r = {99};
    for (int round = 0; round < RANDOM_CASES(2000); round++) {
        machine_kind kind = {.semiring = TRL_LOG,
                             .states = 2 + (int32_t)random_below(&r, 7),
                             .arcs = 4 + (int32_t)random_below(&r, 14),
                             .labels = 2,
                             .epsilons = (double)(round % 2) * 0.3};
        machine m = make_machine(&kind, round % 4 == 3 ? 30 : 1, pools[round % 3], &r);
        pair x = sample_pair(m.fst, 6, &r);
        paths p = {.m = &m, .x = x.x, .nx = (size_t)x.nx};
        follow(&p, 0, 0, 0, 0);
        check_counts(&m, &x, &p);
        free_machine(&m);
    }
}

static void counts_add_up_to_the_length(void **state)
{
    (void)state;
    random_source r = {5};
    for (int round = 0; round < RANDOM_CASES(1000); round++) {
        machine_kind kind = {.semiring = TRL_LOG, .states = 30, .arcs = 200, .labels = 3, .cyclic = 1};
        machine m = make_machine(&kind, 1, pools[round % 3], &r);
        pair x = sample_pair(m.fst, 20, &r);
        trl_transduce_input input = {.labels = x.x, .count = (size_t)x.nx};
        for (int i = 0; i < METHODS; i++) {
            trl_transduction result = run(&m, i, TRL_TRANSDUCE_COUNTS, &input);
            double sum = 0;
            for (size_t k = 0; k < result.arc_count; k++)
                sum += result.counts[k];
            assert_true(!result.found || close_to(x.nx, sum, 1e-5));
        }
        free_machine(&m);
    }
}

/* ---- Lattices ---- */

/* The sum, or the best, over the lattice's paths of their weight times that of what they write. */
static double lattice_meaning(const machine *m, const trl_fst *lattice, int32_t at, pair *p, double weight)
{
    trl_semiring semiring = trl_fst_semiring(m->fst);
    meaning total = meaning_zero(semiring);
    double end = (double)trl_fst_final(lattice, at).value;
    if (end < INFINITY)
        total.value = weight + end + reference(m, p);
    for (uint32_t i = 0; i < trl_fst_arc_count(lattice, at); i++) {
        trl_arc a = trl_fst_arc(lattice, at, i);
        int before = p->nx;
        if (a.olabel)
            p->x[p->nx++] = a.olabel;
        meaning there = {lattice_meaning(m, lattice, a.next, p, weight + (double)a.weight.value), 0};
        total = meaning_plus(semiring, total, there);
        p->nx = before;
    }
    return total.value;
}

static void lattices_are_what_they_mean(void **state)
{
    (void)state;
    random_source r = {17};
    for (int round = 0; round < RANDOM_CASES(1500); round++) {
        trl_semiring semiring = round % 2 ? TRL_LOG : TRL_TROPICAL;
        machine_kind kind = some_kind(semiring, round | 1, &r);
        machine_kind lattice_kind = {.semiring = semiring, .states = 5, .arcs = 9, .labels = 4, .epsilons = 0.2};
        machine m = make_machine(&kind, 1, pools[round % 3], &r);
        trl_fst *lattice = random_machine(&lattice_kind, &r);
        pair p = {.any_output = 1};
        double wanted = lattice_meaning(&m, lattice, 0, &p, 0);
        trl_transduce_input input = {.lattice = lattice};
        for (int i = 0; i < METHODS; i++)
            for (int op = 0; op < 4; op++) {
                if (methods[i] == TRL_METHOD_PREFIX || (op == TRL_TRANSDUCE_VITERBI) != (semiring == TRL_TROPICAL))
                    continue;
                trl_transduction result = run(&m, i, (trl_transduce_operation)op, &input);
                if (!close_to(wanted, result.weight, 2e-5))
                    fail_msg("round %d, method %d, operation %d: %g, not %g", round, i, op, result.weight, wanted);
            }
        trl_fst_destroy(lattice);
        free_machine(&m);
    }
}

int main(void)
{
    static const int threads[3] = {1, 2, 7};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_paths_are_what_they_mean), cmocka_unit_test(sums_are_what_they_mean),
        cmocka_unit_test(sums_of_wide_ranges_are_right), cmocka_unit_test(counts_are_those_of_all_paths),
        cmocka_unit_test(counts_add_up_to_the_length),   cmocka_unit_test(lattices_are_what_they_mean),
    };
    for (int i = 0; i < 3; i++)
        if (trl_pool_create(threads[i], &pools[i], NULL) < 0)
            return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 3; i++)
        trl_pool_destroy(pools[i]);
    return failed;
}
