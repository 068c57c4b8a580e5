/* Training and counting: the likelihood never falls, parts add up to the whole, threads change nothing. */
#include "../fst_fixture.h"
#include "base/memory.h"

#include <trellis/transduce.h>

#define INPUTS 12

typedef struct corpus {
    pair pairs[INPUTS];
    trl_transduce_input inputs[INPUTS];
} corpus;

/* Strings of random paths, with their outputs or without. */
static void make_corpus(corpus *c, const trl_fst *fst, int with_outputs, random_source *r)
{
    for (int i = 0; i < INPUTS; i++) {
        c->pairs[i] = sample_pair(fst, 6, r);
        c->inputs[i] = (trl_transduce_input){.labels = c->pairs[i].x,
                                             .count = (size_t)c->pairs[i].nx,
                                             .target = with_outputs ? c->pairs[i].y : NULL,
                                             .target_count = (size_t)c->pairs[i].ny};
    }
}

static trl_transducer *make(const trl_fst *fst)
{
    trl_transducer *t;
    trl_error err;
    if (trl_transducer_from_fst(fst, &t, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

typedef struct history {
    double weight;
    uint64_t without;
    int rounds;
} history;

static int never_falls(void *user, int round, const trl_counts *counts, trl_error *err)
{
    history *h = user;
    (void)err;
    double weight = trl_counts_weight(counts);
    assert_int_equal(round, h->rounds++);
    if (round > 1 && weight > h->weight + 1e-4 * (1 + fabs(h->weight)))
        fail_msg("round %d: weight %.9g after %.9g", round, weight, h->weight);
    if (round > 0)
        assert_int_equal(trl_counts_without(counts), h->without); /* what had a path keeps one */
    h->weight = weight;
    h->without = trl_counts_without(counts);
    return 0;
}

/* Round 0 may have weights that are no probabilities, and so a likelihood above that of any that are; from round 1 on
 * it never falls. */
static void likelihood_never_falls(void **state)
{
    (void)state;
    random_source r = {3};
    for (int round = 0; round < 400; round++) {
        machine_kind kind = {.semiring = TRL_LOG,
                             .states = 2 + (int32_t)random_below(&r, 6),
                             .arcs = 6 + (int32_t)random_below(&r, 20),
                             .labels = 2,
                             .epsilons = (double)(round % 3) * 0.15,
                             .cyclic = round % 2,
                             .finals = 0.6};
        trl_fst *fst = random_machine(&kind, &r);
        trl_transducer *t = make(fst), *trained;
        corpus c;
        history h = {0};
        trl_error err;
        make_corpus(&c, fst, round % 4 < 2, &r);
        trl_train_pairs_options options = {.normal = round % 8 < 4 ? TRL_NORMAL_JOINT : TRL_NORMAL_CONDITIONAL,
                                           .rounds = 8,
                                           .least_gain = -1,
                                           .each = never_falls,
                                           .user = &h};
        /* Conditional groups of arcs without input can add up to 1 and go round for ever. */
        if (options.normal == TRL_NORMAL_CONDITIONAL && kind.cyclic && kind.epsilons > 0)
            options.normal = TRL_NORMAL_JOINT;
        int code = trl_transducer_train(t, &options, c.inputs, INPUTS, &trained, &err);
        if (code < 0 && code != TRL_EINVAL)
            fail_msg("%s", err.text);
        if (code == 0)
            assert_in_range(h.rounds, 2, 9);
        trl_transducer_destroy(trained);
        trl_transducer_destroy(t);
        trl_fst_destroy(fst);
    }
}

/* One state, three arcs a:x, a:y, b:z, known counts: the estimate is the shares. */
static void estimates_are_shares(void **state)
{
    (void)state;
    trl_transducer_builder *b;
    trl_transducer *t, *trained;
    assert_int_equal(trl_transducer_builder_create(1, 0, &b, NULL), 0);
    assert_int_equal(trl_transducer_builder_arc(b, 1, 0, 0, 1, 1, NULL), 0);
    assert_int_equal(trl_transducer_builder_arc(b, 1, 0, 0, 2, 2, NULL), 0);
    assert_int_equal(trl_transducer_builder_arc(b, 2, 0, 0, 3, 3, NULL), 0);
    assert_int_equal(trl_transducer_builder_final(b, 0, 0.5f, NULL), 0);
    assert_int_equal(trl_transducer_builder_finish(b, &t, NULL), 0);
    int32_t x[] = {1, 1, 2}, y[] = {1, 2, 3};
    trl_transduce_input input = {.labels = x, .count = 3, .target = y, .target_count = 3};
    trl_train_pairs_options options = {.normal = TRL_NORMAL_JOINT, .rounds = 1};
    assert_int_equal(trl_transducer_train(t, &options, &input, 1, &trained, NULL), 0);
    for (uint64_t k = 0; k < 3; k++)
        assert_float_equal(trl_transducer_get(trained, k).weight, logf(4), 1e-6); /* three arcs and the end */
    assert_float_equal(trl_transducer_final(trained, 0), logf(4), 1e-6);
    trl_transducer_destroy(trained);
    options.normal = TRL_NORMAL_CONDITIONAL;
    assert_int_equal(trl_transducer_train(t, &options, &input, 1, &trained, NULL), 0);
    assert_float_equal(trl_transducer_get(trained, 0).weight, logf(2), 1e-6);
    assert_float_equal(trl_transducer_get(trained, 2).weight, 0, 1e-6);
    assert_float_equal(trl_transducer_final(trained, 0), 0.5, 0);
    trl_transducer_destroy(trained);
    trl_transducer_destroy(t);
}

/* ---- Parts and threads ---- */

static void assert_same_counts(const trl_transducer *t, const trl_counts *a, const trl_counts *b, double delta)
{
    for (uint64_t k = 0; k < trl_transducer_arcs(t); k++)
        assert_true(fabs(trl_counts_arc(a, k) - trl_counts_arc(b, k)) <= delta);
    for (int32_t q = 0; q < trl_transducer_states(t); q++)
        assert_true(fabs(trl_counts_final(a, q) - trl_counts_final(b, q)) <= delta);
    assert_true(fabs(trl_counts_weight(a) - trl_counts_weight(b)) <= delta);
    assert_int_equal(trl_counts_inputs(a), trl_counts_inputs(b));
    assert_int_equal(trl_counts_without(a), trl_counts_without(b));
}

static void parts_add_up_and_threads_change_nothing(void **state)
{
    (void)state;
    random_source r = {8};
    trl_pool *pool[2];
    assert_int_equal(trl_pool_create(2, &pool[0], NULL), 0);
    assert_int_equal(trl_pool_create(7, &pool[1], NULL), 0);
    for (int round = 0; round < 200; round++) {
        machine_kind kind = {
            .semiring = TRL_LOG, .states = 20, .arcs = 120, .labels = 3, .epsilons = 0.1 * (round % 2), .cyclic = 1};
        trl_fst *fst = random_machine(&kind, &r);
        trl_transducer *t = make(fst);
        corpus c;
        trl_counts *whole, *first, *second, *many;
        make_corpus(&c, fst, round % 3 == 0, &r);
        assert_int_equal(trl_transduce_count(t, NULL, c.inputs, INPUTS, &whole, NULL), 0);
        assert_int_equal(trl_transduce_count(t, NULL, c.inputs, 5, &first, NULL), 0);
        assert_int_equal(trl_transduce_count(t, NULL, c.inputs + 5, INPUTS - 5, &second, NULL), 0);
        assert_int_equal(trl_counts_merge(first, second, NULL), 0);
        assert_same_counts(t, whole, first, 1e-9);
        assert_int_equal(
            trl_transduce_count(t, &(trl_transduce_options){.pool = pool[round % 2]}, c.inputs, INPUTS, &many, NULL),
            0);
        assert_same_counts(t, whole, many, 0);
        trl_counts_destroy(whole);
        trl_counts_destroy(first);
        trl_counts_destroy(second);
        trl_counts_destroy(many);
        trl_transducer_destroy(t);
        trl_fst_destroy(fst);
    }
    trl_pool_destroy(pool[0]);
    trl_pool_destroy(pool[1]);
}

/* ---- Out of memory ---- */

static int use_all(const trl_fst *fst, const corpus *c, trl_transduce_method method)
{
    trl_transducer *t = NULL, *trained = NULL;
    trl_transduce_work *work = NULL;
    trl_transduction result;
    trl_train_pairs_options train = {.rounds = 2};
    trl_transduce_options options = {.method = method};
    int code = trl_transducer_from_fst(fst, &t, NULL);
    if (code == 0)
        code = trl_transduce_create(t, &options, &work, NULL);
    for (int op = 0; code == 0 && op < 4; op++)
        code = trl_transduce(work, (trl_transduce_operation)op, &c->inputs[0], &result, NULL);
    if (code == 0)
        code = trl_transducer_train(t, &train, c->inputs, INPUTS, &trained, NULL);
    trl_transduce_destroy(work);
    trl_transducer_destroy(trained);
    trl_transducer_destroy(t);
    return code;
}

static void memory_that_runs_out_is_survived(void **state)
{
    (void)state;
    random_source r = {21};
    machine_kind kind = {.semiring = TRL_LOG, .states = 8, .arcs = 30, .labels = 2, .epsilons = 0.2, .cyclic = 1};
    trl_fst *fst = random_machine(&kind, &r);
    corpus c;
    make_corpus(&c, fst, 0, &r);
    for (int method = 0; method < 4; method++) {
        int code = TRL_ENOMEM;
        for (long n = 1; code != 0; n++) {
            trl__memory_fail_after(n);
            code = use_all(fst, &c, (trl_transduce_method)method);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
        }
    }
    trl_fst_destroy(fst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood_never_falls),
        cmocka_unit_test(estimates_are_shares),
        cmocka_unit_test(parts_add_up_and_threads_change_nothing),
        cmocka_unit_test(memory_that_runs_out_is_survived),
    };
    return RUN(tests);
}
