/* Strings, pairs and lattices through random transducers on devices, in both shapes and both ways to walk, against method serial on the
 * processor: the same best path (weights are multiples of 1/8, so ties are everywhere), sums and counts within rounding. */
#include "../fst_fixture.h"
#include "device_fixture.h"
#include "transduce/search.h"

#include <trellis/transduce.h>

#define MOST_ARCS 4000
#define BATCH 150

static test_devices devices;
static trl_error err;

static const trl_transduce_method methods[] = {TRL_METHOD_SERIAL, TRL_METHOD_FRONTIER};

static int open_all(void **state)
{
    (void)state;
    open_devices_of_drivers(&devices);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    close_devices_of_test(&devices);
    return 0;
}

/* Under oclgrind, which interprets kernels (tests/cli/test_oclgrind.sh), there is less of everything. */
static int is_small(void)
{
    return getenv("TRELLIS_TEST_SMALL") != NULL;
}

static int rounds_of(int many)
{
    return is_small() ? (many + 29) / 30 : many;
}

/* ---- One machine on every device ---- */

typedef struct machine {
    trl_fst *fst;
    trl_transducer *t;
    trl_transduce_work *serial, *other[8][2];
    int is_refused; /* by devices */
} machine;

static void attach(machine *m, size_t device, int method)
{
    trl_transduce_options options = {.method = methods[method]};
    trl_transduce_work **w = &m->other[device][method];
    assert_int_equal(trl_transduce_create(m->t, &options, w, NULL), 0);
    int code = trl__on_device_attach(*w, devices.device[device], &err);
    assert_int_equal(code, m->is_refused ? TRL_EUNSUPPORTED : 0);
    if (m->is_refused)
        assert_non_null(strstr(err.text, "cycles"));
}

static machine make_machine(const machine_kind *kind, random_source *r)
{
    trl_transduce_options options = {.method = TRL_METHOD_SERIAL};
    machine m = {.fst = random_machine(kind, r)};
    if (trl_transducer_from_fst(m.fst, &m.t, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(trl_transduce_create(m.t, &options, &m.serial, NULL), 0);
    m.is_refused = m.t->epsilons.has_cycles;
    for (size_t d = 0; d < devices.count; d++)
        for (int method = 0; method < 2; method++)
            attach(&m, d, method);
    return m;
}

static void free_machine(machine *m)
{
    for (size_t d = 0; d < devices.count; d++)
        for (int method = 0; method < 2; method++)
            trl_transduce_destroy(m->other[d][method]);
    trl_transduce_destroy(m->serial);
    trl_transducer_destroy(m->t);
    trl_fst_destroy(m->fst);
}

/* ---- The same results ---- */

static void check_path(const trl_transduction *a, const trl_transduction *b)
{
    assert_true(a->weight == b->weight);
    assert_int_equal(a->arc_count, b->arc_count);
    assert_int_equal(a->output_count, b->output_count);
    for (size_t i = 0; i < a->arc_count; i++)
        assert_int_equal(a->arcs[i], b->arcs[i]);
    for (size_t i = 0; i < a->output_count; i++)
        assert_int_equal(a->outputs[i], b->outputs[i]);
}

static void add_up(const trl_transduction *result, double *arcs, double *finals)
{
    memset(arcs, 0, MOST_ARCS * sizeof *arcs);
    memset(finals, 0, MOST_ARCS * sizeof *finals);
    for (size_t i = 0; i < result->arc_count; i++)
        arcs[result->arcs[i]] += result->counts[i];
    for (size_t i = 0; i < result->final_count; i++)
        finals[result->final_states[i]] += result->final_counts[i];
}

static void check_counts(const trl_transduction *a, const trl_transduction *b)
{
    static double arcs[2][MOST_ARCS], finals[2][MOST_ARCS];
    add_up(a, arcs[0], finals[0]);
    add_up(b, arcs[1], finals[1]);
    for (size_t i = 0; i < MOST_ARCS; i++)
        if (!nearly_equal(arcs[0][i], arcs[1][i], 1e-8) || !nearly_equal(finals[0][i], finals[1][i], 1e-8))
            fail_msg("arc or state %zu: %.17g and %.17g, not %.17g and %.17g", i, arcs[1][i], finals[1][i], arcs[0][i],
                     finals[0][i]);
}

static void check_result(const trl_transduction *wanted, const trl_transduction *result,
                         trl_transduce_operation operation)
{
    assert_int_equal(wanted->found, result->found);
    if (operation == TRL_TRANSDUCE_VITERBI)
        check_path(wanted, result);
    else if (!nearly_equal(wanted->weight, result->weight, 1e-9))
        fail_msg("%.17g, not %.17g", result->weight, wanted->weight);
    if (operation == TRL_TRANSDUCE_COUNTS)
        check_counts(wanted, result);
}

/* Every operation on every device. */
static void check_input(machine *m, const trl_transduce_input *input)
{
    for (int op = 0; op < 4; op++)
        for (size_t d = 0; d < devices.count; d++)
            for (int method = 0; method < 2 && !m->is_refused; method++) {
                trl_transduction wanted, result;
                if (trl_transduce(m->serial, (trl_transduce_operation)op, input, &wanted, &err) < 0 ||
                    trl_transduce(m->other[d][method], (trl_transduce_operation)op, input, &result, &err) < 0)
                    fail_msg("%s, method %d, operation %d: %s", devices.name[d], method, op, err.text);
                check_result(&wanted, &result, (trl_transduce_operation)op);
            }
}

static machine_kind some_kind(trl_semiring semiring, int round, random_source *r)
{
    int is_large = round % 5 == 0 && !is_small();
    return (machine_kind){.semiring = semiring,
                          .states = 1 + (int32_t)random_below(r, is_large ? 150 : 7),
                          .arcs = 1 + (int32_t)random_below(r, is_large ? 900 : 30),
                          .labels = 1 + (int32_t)random_below(r, 4),
                          .epsilons = (double)(round % 3) * 0.2,
                          .cyclic = round % 2};
}

static void strings_and_pairs_are_serials(void **state)
{
    random_source r = {3};
    int walked = 0;
    (void)state;
    for (int round = 0; round < rounds_of(60); round++) {
        machine_kind kind = some_kind(round % 4 < 2 ? TRL_TROPICAL : TRL_LOG, round, &r);
        machine m = make_machine(&kind, &r);
        pair p = sample_pair(m.fst, is_small() ? 2 : 7, &r);
        trl_transduce_input input = {.labels = p.x, .count = (size_t)p.nx};
        check_input(&m, &input);
        input.target = p.y;
        input.target_count = (size_t)p.ny;
        check_input(&m, &input);
        if (p.nx > 0) /* maybe no path */
            p.x[random_below(&r, (uint32_t)p.nx)] = 1 + (int32_t)random_below(&r, 5);
        input.target = NULL;
        check_input(&m, &input);
        walked += !m.is_refused;
        free_machine(&m);
    }
    assert_true(walked >= rounds_of(60) / 2);
}

static void lattices_are_serials(void **state)
{
    random_source r = {8};
    (void)state;
    for (int round = 0; round < rounds_of(40); round++) {
        trl_semiring semiring = round % 2 ? TRL_LOG : TRL_TROPICAL;
        machine_kind kind = some_kind(semiring, round + 1, &r);
        machine_kind lattice_kind = {.semiring = semiring, .states = 6, .arcs = 14, .labels = 4, .epsilons = 0.2};
        machine m = make_machine(&kind, &r);
        trl_fst *lattice = random_machine(&lattice_kind, &r);
        check_input(&m, &(trl_transduce_input){.lattice = lattice});
        trl_fst_destroy(lattice);
        free_machine(&m);
    }
}

static trl_transducer *hand_made(int32_t states, float final)
{
    trl_transducer_builder *b;
    trl_transducer *t;
    assert_int_equal(trl_transducer_builder_create(states, states > 0 ? 0 : TRL_NO_STATE, &b, &err), 0);
    if (states > 0)
        assert_int_equal(trl_transducer_builder_final(b, 0, final, &err), 0);
    assert_int_equal(trl_transducer_builder_finish(b, &t, &err), 0);
    return t;
}

/* One state without an arc: the empty string has a path, others have none. */
static void edges_are_found(void **state)
{
    (void)state;
    trl_transducer *t = hand_made(1, 0.5f);
    for (size_t d = 0; d < devices.count; d++)
        for (int op = 0; op < 4; op += is_small() ? 3 : 1) {
            trl_transduce_work *w;
            trl_transduction result;
            assert_int_equal(trl_transduce_create(t, NULL, &w, &err), 0);
            assert_int_equal(trl__on_device_attach(w, devices.device[d], &err), 0);
            trl_transduce_input input = {.labels = (int32_t[]){1}, .count = 0};
            assert_int_equal(trl_transduce(w, (trl_transduce_operation)op, &input, &result, &err), 0);
            assert_true(result.found && result.weight == 0.5);
            assert_int_equal(result.arc_count, 0);
            input.count = 1;
            assert_int_equal(trl_transduce(w, (trl_transduce_operation)op, &input, &result, &err), 0);
            assert_true(!result.found && result.weight == INFINITY);
            trl_transduce_destroy(w);
        }
    trl_transducer_destroy(t);
}

/* ---- Batches ---- */

/* What one input gave, kept. */
typedef struct kept {
    trl_transduction result[BATCH];
    double *arcs[BATCH]; /* counts, or the path */
    size_t next;
} kept;

static int keep(void *user, size_t index, const trl_transduction *result, trl_error *e)
{
    kept *k = user;
    (void)e;
    assert_int_equal(index, k->next++);
    k->result[index] = *result;
    k->arcs[index] = calloc(MOST_ARCS, sizeof(double));
    for (size_t i = 0; i < result->arc_count; i++)
        k->arcs[index][result->arcs[i]] += result->counts ? result->counts[i] : (double)(i + 1);
    return 0;
}

static void compare_and_free(kept *a, kept *b)
{
    for (size_t i = 0; i < a->next; i++) {
        assert_int_equal(a->result[i].found, b->result[i].found);
        assert_true(nearly_equal(a->result[i].weight, b->result[i].weight, 1e-9));
        for (size_t k = 0; k < MOST_ARCS; k++)
            if (!nearly_equal(a->arcs[i][k], b->arcs[i][k], 1e-8))
                fail_msg("input %zu, arc %zu: %.17g, not %.17g", i, k, b->arcs[i][k], a->arcs[i][k]);
        free(a->arcs[i]);
        free(b->arcs[i]);
    }
    memset(a, 0, sizeof *a);
    memset(b, 0, sizeof *b);
}

/* Inputs of all lengths, some without a plan and some without a path, in one call; results come in order. */
static void ragged_batches_are_serials(void **state)
{
    static pair pairs[BATCH];
    static kept wanted, got;
    trl_transduce_input inputs[BATCH];
    random_source r = {21};
    machine_kind kind = {.semiring = TRL_LOG,
                         .states = is_small() ? 9 : 120,
                         .arcs = is_small() ? 70 : 2000,
                         .labels = 5,
                         .cyclic = 1,
                         .finals = 0.1};
    machine m = make_machine(&kind, &r);
    size_t count = (size_t)rounds_of(BATCH);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        pairs[i] = sample_pair(m.fst, 1 + (int)(i % (LONGEST - 1)), &r);
        inputs[i] = (trl_transduce_input){.labels = pairs[i].x, .count = (size_t)pairs[i].nx};
        if (i % 7 == 3 && pairs[i].nx > 0)
            pairs[i].x[0] = i % 2 ? 77 : TRL_UNKNOWN_LABEL;
    }
    for (size_t d = 0; d < devices.count; d++)
        for (int op = is_small() ? 3 : 0; op < 4; op++) {
            trl_transduce_options serial = {.method = TRL_METHOD_SERIAL}, other = {.device = devices.name[d]};
            assert_int_equal(
                trl_transduce_batch(m.t, &serial, (trl_transduce_operation)op, inputs, count, keep, &wanted, &err), 0);
            if (trl_transduce_batch(m.t, &other, (trl_transduce_operation)op, inputs, count, keep, &got, &err) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(got.next, count);
            compare_and_free(&wanted, &got);
        }
    free_machine(&m);
}

/* More live states than there is room for at first. */
static void large_frontiers_get_their_room(void **state)
{
    enum { STATES = 30000, LENGTH = 3 };
    trl_transducer_builder *b;
    trl_transducer *t;
    (void)state;
    if (is_small())
        skip();
    assert_int_equal(trl_transducer_builder_create(STATES, 0, &b, &err), 0);
    for (int32_t i = 1; i < STATES; i++) {
        assert_int_equal(trl_transducer_builder_arc(b, 1, 0, i, i, (float)(i % 7), &err), 0);
        assert_int_equal(trl_transducer_builder_arc(b, 1, i, STATES - i, i, (float)(i % 5), &err), 0);
    }
    assert_int_equal(trl_transducer_builder_final(b, STATES - 1, 0, &err), 0);
    assert_int_equal(trl_transducer_builder_finish(b, &t, &err), 0);
    trl_transduce_input input = {.labels = (int32_t[]){1, 1, 1}, .count = LENGTH};
    for (size_t d = 0; d < devices.count; d++) {
        trl_transduce_work *serial, *w;
        trl_transduction wanted, result;
        assert_int_equal(trl_transduce_create(t, &(trl_transduce_options){.method = TRL_METHOD_SERIAL}, &serial, &err),
                         0);
        assert_int_equal(trl_transduce_create(t, NULL, &w, &err), 0);
        assert_int_equal(trl__on_device_attach(w, devices.device[d], &err), 0);
        for (int op = 0; op < 2; op++) {
            assert_int_equal(trl_transduce(serial, (trl_transduce_operation)op, &input, &wanted, &err), 0);
            assert_int_equal(trl_transduce(w, (trl_transduce_operation)op, &input, &result, &err), 0);
            check_result(&wanted, &result, (trl_transduce_operation)op);
        }
        trl_transduce_destroy(serial);
        trl_transduce_destroy(w);
    }
    trl_transducer_destroy(t);
}

/* ---- Training ---- */

static int keep_weight(void *user, int round, const trl_counts *counts, trl_error *e)
{
    (void)e;
    ((double *)user)[round] = trl_counts_weight(counts);
    return 0;
}

/* Three rounds of EM: the same likelihoods, and the same arcs with the same weights but for rounding. */
static void training_is_the_processors(void **state)
{
    enum { ROUNDS = 3, PAIRS = 20 };
    random_source r = {5};
    (void)state;
    for (int round = 0; round < rounds_of(6); round++) {
        static pair pairs[PAIRS];
        trl_transduce_input inputs[PAIRS];
        machine_kind kind = {.semiring = TRL_LOG, .states = 6, .arcs = 40, .labels = 3, .cyclic = 1, .finals = 0.5};
        machine m = make_machine(&kind, &r);
        trl_transducer *wanted, *got;
        double likely[2][ROUNDS + 1];
        for (int i = 0; i < PAIRS; i++) {
            pairs[i] = sample_pair(m.fst, 1 + i % (LONGEST - 1), &r);
            inputs[i] = (trl_transduce_input){.labels = pairs[i].x,
                                              .count = (size_t)pairs[i].nx,
                                              .target = i % 2 ? pairs[i].y : NULL,
                                              .target_count = (size_t)pairs[i].ny};
        }
        trl_train_pairs_options options = {.rounds = ROUNDS, .each = keep_weight, .user = likely[0]};
        assert_int_equal(trl_transducer_train(m.t, &options, inputs, PAIRS, &wanted, &err), 0);
        assert_true(likely[0][ROUNDS] < likely[0][0]);
        for (size_t d = 0; d < devices.count; d++) {
            options.search = &(trl_transduce_options){.device = devices.name[d]};
            options.user = likely[1];
            if (trl_transducer_train(m.t, &options, inputs, PAIRS, &got, &err) < 0)
                fail_msg("%s: %s", devices.name[d], err.text);
            for (int i = 0; i <= ROUNDS; i++)
                assert_true(nearly_equal(likely[0][i], likely[1][i], 1e-6));
            assert_int_equal(wanted->arcs, got->arcs);
            for (uint64_t k = 0; k < wanted->arcs; k++) {
                assert_int_equal(wanted->arc[k].target, got->arc[k].target);
                assert_true(nearly_equal(wanted->arc[k].weight, got->arc[k].weight, 1e-4));
            }
            trl_transducer_destroy(got);
        }
        trl_transducer_destroy(wanted);
        free_machine(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_and_pairs_are_serials),
        cmocka_unit_test(lattices_are_serials),
        cmocka_unit_test(edges_are_found),
        cmocka_unit_test(ragged_batches_are_serials),
        cmocka_unit_test(large_frontiers_get_their_room),
        cmocka_unit_test(training_is_the_processors),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
