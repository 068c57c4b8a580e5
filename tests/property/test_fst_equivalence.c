/* Equal, isomorphic, equivalent: machines that are changed a little are told apart, those that only look different are
 * not. Encoding and decoding give the machine back. */
#include "temp_folder.h"

#include "fst_path_list.h"

#include "base/memory.h"

#include <trellis/fst_optimize.h>

static machine_kind some_kind(int round, random_source *r)
{
    machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                         .states = 1 + (int32_t)random_below(r, 9),
                         .labels = 1 + (int32_t)random_below(r, 4),
                         .acceptor = (int)random_below(r, 2),
                         .cyclic = (int)random_below(r, 2),
                         .epsilons = random_below(r, 2) * 0.2,
                         .unweighted = random_below(r, 4) == 0};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    return kind;
}

/* The machine with the states of `order` in place of its own, and its arcs turned around; `change` alters one arc or
 * end of those that the walk finds as number `at`: 1 a weight, 2 a label, 3 an end. Returns whether that happened. */
static int rebuilt(const trl_fst *fst, const int32_t *order, int turned, int change, int at, trl_fst **out)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    int32_t n = trl_fst_states(fst), seen = 0, done = 0;
    assert_int_equal(trl_fst_create(semiring, out, NULL), 0);
    assert_int_equal(trl_fst_add_states(*out, n, NULL), 0);
    if (trl_fst_start(fst) >= 0)
        assert_int_equal(trl_fst_set_start(*out, order[trl_fst_start(fst)], NULL), 0);
    for (int32_t s = 0; s < n; s++) {
        trl_weight final = trl_fst_final(fst, s);
        if (change == 3 && s == at) {
            final = trl_weight_is_zero(semiring, final) ? trl_weight_one(semiring) : trl_weight_zero(semiring);
            done = 1;
        }
        assert_int_equal(trl_fst_set_final(*out, order[s], final, NULL), 0);
        uint32_t count = trl_fst_arc_count(fst, s);
        for (uint32_t i = 0; i < count; i++, seen++) {
            trl_arc a = trl_fst_arc(fst, s, turned ? count - 1 - i : i);
            if (change == 1 && seen == at)
                a.weight.value += 0.5f, done = 1;
            if (change == 2 && seen == at)
                a.ilabel += 20, a.olabel += 20, done = 1;
            a.next = order[a.next];
            assert_int_equal(trl_fst_add_arc(*out, order[s], a, NULL), 0);
        }
    }
    return done;
}

static void shuffle(int32_t *order, int32_t n, random_source *r, int mix)
{
    for (int32_t i = 0; i < n; i++)
        order[i] = i;
    for (int32_t i = n - 1; mix && i > 0; i--) {
        int32_t k = (int32_t)random_below(r, (uint32_t)i + 1), other = order[i];
        order[i] = order[k];
        order[k] = other;
    }
}

static void equal_machines_are_the_same_arc_by_arc(void **state)
{
    (void)state;
    random_source r = {1};
    for (int round = 0; round < 6000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *fst = random_machine(&kind, &r), *other;
        int32_t order[16];
        int yes, change = (int)random_below(&r, 4);
        shuffle(order, kind.states, &r, 0);
        int changed = rebuilt(fst, order, 0, change, (int)random_below(&r, 12), &other);
        assert_int_equal(trl_fst_equal(fst, other, 0.01f, &yes, NULL), 0);
        assert_int_equal(yes, !changed);
        assert_int_equal(trl_fst_equal(fst, other, 0.51f, &yes, NULL), 0);
        assert_true(yes == !changed || change == 1 || kind.semiring == TRL_REAL);
        assert_true(yes || change != 1);
        trl_fst_destroy(fst);
        trl_fst_destroy(other);
    }
}

/* Deterministic and without useless states, so that every change can be seen. Cyclic weights may meet the limit:
 * NULL. */
static trl_fst *random_trimmed(int round, random_source *r)
{
    machine_kind kind = some_kind(round, r);
    trl_fst *fst, *det;
    kind.acceptor = 1;
    kind.epsilons = 0;
    kind.unweighted &= !kind.cyclic || kind.semiring == TRL_TROPICAL || kind.semiring == TRL_LATTICE;
    fst = random_machine(&kind, r);
    trl_determinize_options o = trl_determinize_defaults();
    o.most_states = 100;
    assert_int_equal(trl_fst_connect(fst, NULL), 0);
    if (trl_fst_determinize(fst, &o, &det, NULL) != 0)
        det = NULL;
    trl_fst_destroy(fst);
    return det;
}

/* The machine in another order, mostly with a change. Returns whether there is one. */
static int some_relative(const trl_fst *fst, random_source *r, trl_fst **out)
{
    int32_t order[100];
    int change = (int)random_below(r, 4);
    shuffle(order, trl_fst_states(fst), r, 1);
    return rebuilt(fst, order, 1, change, (int)random_below(r, 12), out);
}

static void isomorphic_machines_differ_in_names_only(void **state)
{
    (void)state;
    random_source r = {2};
    int same = 0, different = 0;
    for (int round = 0; round < 6000; round++) {
        trl_fst *fst = random_trimmed(round, &r), *other;
        if (!fst)
            continue;
        int yes, changed = some_relative(fst, &r, &other);
        assert_int_equal(trl_fst_isomorphic(fst, other, 1e-4f, &yes, NULL), 0);
        assert_int_equal(yes, !changed);
        assert_int_equal(trl_fst_isomorphic(other, fst, 1e-4f, &yes, NULL), 0);
        assert_int_equal(yes, !changed);
        same += !changed;
        different += changed;
        trl_fst_destroy(fst);
        trl_fst_destroy(other);
    }
    assert_true(same > 500 && different > 500);
}

static void states_have_one_partner_each(void **state)
{
    (void)state;
    trl_fst *fst[2];
    int yes;
    for (int i = 0; i < 2; i++) { /* "1" and "2" end in two states, or in one */
        assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst[i], NULL), 0);
        assert_int_equal(trl_fst_add_states(fst[i], 3, NULL), 0);
        assert_int_equal(trl_fst_set_start(fst[i], 0, NULL), 0);
        for (int32_t k = 1; k <= 2; k++) {
            assert_int_equal(trl_fst_add_arc(fst[i], 0, (trl_arc){k, k, {0, 0}, i ? 1 : k}, NULL), 0);
            assert_int_equal(trl_fst_set_final(fst[i], k, (trl_weight){0, 0}, NULL), 0);
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trl_fst_isomorphic(fst[i], fst[1 - i], 0, &yes, NULL), 0);
        assert_int_equal(yes, 0);
        assert_int_equal(trl_fst_equivalent(fst[i], fst[1 - i], 0, &yes, NULL), 0);
        assert_int_equal(yes, 1);
    }
    trl_fst_destroy(fst[0]);
    trl_fst_destroy(fst[1]);
}

/* What a string means in the two, for all strings up to a length. */
static int agree_on_all(const trl_fst *a, const trl_fst *b, pair *p, int longest)
{
    meaning x = meaning_of(a, p), y = meaning_of(b, p);
    if (trl_fst_semiring(a) == TRL_REAL ? fabs(x.value - y.value) > 1e-2 * fabs(x.value) : !meaning_equal(x, y, 1e-3))
        return 0;
    for (int32_t label = 1; p->nx < longest && label <= 24;
         label += label == 4 ? 17 : 1) { /* 1 … 4, and the changed ones */
        p->x[p->nx++] = label;
        int agree = agree_on_all(a, b, p, longest);
        p->nx--;
        if (!agree)
            return 0;
    }
    return 1;
}

/* Deterministic machines of n states differ, if at all, in a string of less than 2n labels; here 2 or 3 states. */
static void equivalent_machines_give_all_strings_the_same_weight(void **state)
{
    (void)state;
    random_source r = {3};
    int same = 0, different = 0;
    for (int round = 0; round < 1500; round++) {
        trl_fst *one = random_trimmed(round, &r), *two = random_trimmed(round, &r);
        int yes;
        if (one && two && trl_fst_states(one) <= 3 && trl_fst_states(two) <= 2) {
            pair p = {.any_output = 1};
            int expected = agree_on_all(one, two, &p, 5);
            assert_int_equal(trl_fst_equivalent(one, two, 0.01f, &yes, NULL), 0);
            assert_int_equal(yes, expected);
            same += yes;
            different += !yes;
        }
        trl_fst_destroy(one);
        trl_fst_destroy(two);
    }
    assert_true(same > 20 && different > 20);
}

static void minimizing_and_renaming_keep_machines_equivalent(void **state)
{
    (void)state;
    random_source r = {4};
    int same = 0, different = 0;
    for (int round = 0; round < 6000; round++) {
        trl_fst *fst = random_trimmed(round, &r), *other;
        if (!fst)
            continue;
        int yes, changed = some_relative(fst, &r, &other);
        uint32_t properties;
        assert_int_equal(trl_fst_properties(other, &properties, NULL), 0);
        int entered =
            !(properties & TRL_FST_INITIAL_ACYCLIC); /* then an epsilon might come to stand before the start */
        if (!entered && !changed)
            assert_int_equal(trl_fst_minimize(other, NULL, NULL), 0);
        assert_int_equal(trl_fst_equivalent(fst, other, 1e-3f, &yes, NULL), 0);
        assert_int_equal(yes, !changed);
        same += yes;
        different += !yes;
        trl_fst_destroy(fst);
        trl_fst_destroy(other);
    }
    assert_true(same > 500 && different > 500);
}

static void useless_states_do_not_matter(void **state)
{
    (void)state;
    trl_fst *fst, *empty;
    int yes;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &empty, NULL), 0);
    assert_int_equal(trl_fst_equivalent(fst, empty, 0, &yes, NULL), 0);
    assert_int_equal(yes, 1);
    assert_int_equal(trl_fst_add_states(fst, 2, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 1, {2, 0}, 1}, NULL), 0);
    assert_int_equal(trl_fst_equivalent(fst, empty, 0, &yes, NULL), 0);
    assert_int_equal(yes, 1);
    assert_int_equal(trl_fst_set_final(fst, 1, (trl_weight){0, 0}, NULL), 0);
    assert_int_equal(trl_fst_equivalent(fst, empty, 0, &yes, NULL), 0);
    assert_int_equal(yes, 0);
    assert_int_equal(trl_fst_isomorphic(fst, empty, 0, &yes, NULL), 0);
    assert_int_equal(yes, 0);
    trl_fst_destroy(fst);
    trl_fst_destroy(empty);
}

static void what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    trl_fst *fst, *log;
    int yes;
    trl_error err;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_create(TRL_LOG, &log, NULL), 0);
    assert_int_equal(trl_fst_equal(fst, log, 0, &yes, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_isomorphic(fst, log, 0, &yes, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_equivalent(fst, log, 0, &yes, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_add_states(fst, 2, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 2, {0, 0}, 1}, NULL), 0);
    assert_int_equal(trl_fst_equivalent(fst, fst, 0, &yes, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "first"));
    trl_fst_destroy(fst);
    trl_fst_destroy(log);
}

/* ---- Encoding ---- */

/* The table through a file and back. */
static trl_fst_codes *stored_and_read(trl_fst_codes *codes)
{
    assert_int_equal(trl_fst_codes_write(codes, temp_path("codes"), NULL), 0);
    trl_fst_codes_destroy(codes);
    assert_int_equal(trl_fst_codes_read(temp_path("codes"), &codes, NULL), 0);
    return codes;
}

static void decoding_gives_the_machine_back(void **state)
{
    (void)state;
    random_source r = {5};
    for (int round = 0; round < 6000; round++) {
        int what = 1 + round % 3, yes;
        machine_kind kind = some_kind(round / 3, &r);
        trl_fst *fst[2], *copy[2];
        trl_fst_codes *codes;
        assert_int_equal(trl_fst_codes_create(what, &codes, NULL), 0);
        for (int i = 0; i < 2; i++) {
            fst[i] = random_machine(&kind, &r);
            copy[i] = copy_of(fst[i]);
            assert_int_equal(trl_fst_encode(copy[i], codes, NULL), 0);
            uint32_t properties;
            assert_int_equal(trl_fst_properties(copy[i], &properties, NULL), 0);
            assert_true(!(what & TRL_ENCODE_LABELS) || properties & TRL_FST_ACCEPTOR);
            assert_true(!(what & TRL_ENCODE_WEIGHTS) || properties & TRL_FST_UNWEIGHTED);
            assert_true(properties & TRL_FST_NO_IEPSILONS);
        }
        if (round % 53 == 0) /* writing a file waits for the disk */
            codes = stored_and_read(codes);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(trl_fst_decode(copy[i], codes, NULL), 0);
            assert_int_equal(trl_fst_equal(fst[i], copy[i], 0, &yes, NULL), 0);
            assert_int_equal(yes, 1);
            trl_fst_destroy(fst[i]);
            trl_fst_destroy(copy[i]);
        }
        trl_fst_codes_destroy(codes);
    }
}

static void encoded_machines_can_be_made_small(void **state)
{
    (void)state;
    random_source r = {6};
    for (int round = 0; round < 4000; round++) {
        machine_kind kind = some_kind(round, &r);
        kind.semiring = round % 2 ? TRL_LATTICE : TRL_TROPICAL; /* equal paths become one */
        trl_fst *fst = random_machine(&kind, &r), *copy, *small;
        trl_fst_codes *codes;
        assert_int_equal(trl_fst_codes_create(TRL_ENCODE_LABELS | TRL_ENCODE_WEIGHTS, &codes, NULL), 0);
        copy = copy_of(fst);
        assert_int_equal(trl_fst_encode(copy, codes, NULL), 0);
        assert_int_equal(trl_fst_determinize(copy, NULL, &small, NULL), 0);
        assert_int_equal(trl_fst_minimize(small, NULL, NULL), 0);
        assert_int_equal(trl_fst_decode(small, codes, NULL), 0);
        assert_same_meaning(fst, small, 3, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(copy);
        trl_fst_destroy(small);
        trl_fst_codes_destroy(codes);
    }
}

static void equal_pairs_have_equal_codes(void **state)
{
    (void)state;
    trl_fst *fst;
    trl_fst_codes *codes;
    trl_error err;
    assert_int_equal(trl_fst_codes_create(4, &codes, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_codes_create(TRL_ENCODE_LABELS, &codes, &err), 0);
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 1, NULL), 0);
    for (int32_t i = 0; i < 4; i++)
        assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1 + i / 2 % 2, 1, {(float)i, 0}, 0}, NULL), 0);
    assert_int_equal(trl_fst_encode(fst, codes, &err), 0);
    assert_int_equal(trl_fst_arc(fst, 0, 0).ilabel, trl_fst_arc(fst, 0, 1).ilabel);
    assert_int_not_equal(trl_fst_arc(fst, 0, 1).ilabel, trl_fst_arc(fst, 0, 2).ilabel);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){77, 77, {0, 0}, 0}, NULL), 0);
    assert_int_equal(trl_fst_decode(fst, codes, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "77"));
    trl_fst_codes_destroy(codes);
    assert_int_equal(trl_fst_codes_create(TRL_ENCODE_LABELS, &codes, &err), 0);
    assert_int_equal(trl_fst_codes_write(codes, temp_path("codes"), &err), TRL_EINVAL);
    trl_fst_codes_destroy(codes);
    trl_fst_destroy(fst);
}

static int work_with_two(const trl_fst *fst, const trl_fst *other)
{
    trl_fst *copy = NULL;
    trl_fst_codes *codes = NULL;
    int yes, code = trl_fst_equivalent(fst, other, 0.01f, &yes, NULL);
    if (code == 0)
        code = trl_fst_isomorphic(fst, other, 0.01f, &yes, NULL);
    if (code == 0)
        code = trl_fst_codes_create(TRL_ENCODE_LABELS | TRL_ENCODE_WEIGHTS, &codes, NULL);
    if (code == 0)
        code = trl_fst_copy(fst, &copy, NULL);
    if (code == 0)
        code = trl_fst_encode(copy, codes, NULL);
    if (code == 0)
        code = trl_fst_decode(copy, codes, NULL);
    trl_fst_destroy(copy);
    trl_fst_codes_destroy(codes);
    return code;
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {7};
    trl_fst *fst = NULL, *other;
    int32_t order[100];
    for (int round = 0; !fst || trl_fst_states(fst) < 6; round++) {
        trl_fst_destroy(fst);
        fst = random_trimmed(round, &r);
    }
    shuffle(order, trl_fst_states(fst), &r, 1);
    rebuilt(fst, order, 1, 0, 0, &other);
    int failures = 0, code = TRL_ENOMEM;
    for (long n = 1; code != 0; n++) {
        trl__memory_fail_after(n);
        code = work_with_two(fst, other);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
    }
    assert_true(failures > 20);
    trl_fst_destroy(fst);
    trl_fst_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_machines_are_the_same_arc_by_arc),
        cmocka_unit_test(isomorphic_machines_differ_in_names_only),
        cmocka_unit_test(states_have_one_partner_each),
        cmocka_unit_test(equivalent_machines_give_all_strings_the_same_weight),
        cmocka_unit_test(minimizing_and_renaming_keep_machines_equivalent),
        cmocka_unit_test(useless_states_do_not_matter),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
        cmocka_unit_test(decoding_gives_the_machine_back),
        cmocka_unit_test(encoded_machines_can_be_made_small),
        cmocka_unit_test(equal_pairs_have_equal_codes),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
