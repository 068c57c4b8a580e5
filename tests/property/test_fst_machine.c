/* Machines as data: arcs stay what they are in whatever order they were added; copies, trimming and properties against
 * plain definitions. */
#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_structure.h>

#define MOST 40

/* The same machine as a plain list. */
typedef struct listed {
    trl_arc arcs[400];
    int32_t from[400];
    int count;
} listed;

static void compare_with_list(const trl_fst *fst, const listed *list)
{
    uint32_t seen[MOST] = {0};
    for (int i = 0; i < list->count; i++) {
        trl_arc a = trl_fst_arc(fst, list->from[i], seen[list->from[i]]++);
        assert_int_equal(a.ilabel, list->arcs[i].ilabel);
        assert_int_equal(a.olabel, list->arcs[i].olabel);
        assert_int_equal(a.next, list->arcs[i].next);
        assert_true(a.weight.value == list->arcs[i].weight.value && a.weight.second == list->arcs[i].weight.second);
    }
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        assert_int_equal(trl_fst_arc_count(fst, s), seen[s]);
    assert_int_equal(trl_fst_arcs(fst), list->count);
}

static void arcs_can_be_added_in_any_order(void **state)
{
    (void)state;
    random_source r = {2};
    for (int round = 0; round < 2000; round++) {
        machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                             .states = 1 + (int32_t)random_below(&r, MOST),
                             .labels = 5,
                             .epsilons = 0.2,
                             .cyclic = 1};
        trl_fst *fst, *copy;
        listed list = {.count = 0};
        assert_int_equal(trl_fst_create(kind.semiring, &fst, NULL), 0);
        assert_int_equal(trl_fst_add_states(fst, kind.states, NULL), 0);
        int wanted = (int)random_below(&r, 400), stay = (int)random_below(&r, 10);
        int32_t from = 0;
        for (int i = 0; i < wanted; i++) {
            from = random_below(&r, 10) < (uint32_t)stay ? from : (int32_t)random_below(&r, (uint32_t)kind.states);
            trl_arc a = {random_label(&kind, &r), random_label(&kind, &r), random_weight(&kind, &r),
                         (int32_t)random_below(&r, (uint32_t)kind.states)};
            list.from[list.count] = from;
            list.arcs[list.count++] = a;
            assert_int_equal(trl_fst_add_arc(fst, from, a, NULL), 0);
        }
        compare_with_list(fst, &list);
        assert_int_equal(trl_fst_verify(fst, NULL), 0);
        copy = copy_of(fst);
        compare_with_list(copy, &list);
        trl_fst_destroy(fst);
        trl_fst_destroy(copy);
    }
}

/* reach[a][b]: a path of one or more arcs leads from a to b. Warshall. */
static void find_reach(const trl_fst *fst, uint8_t reach[MOST][MOST])
{
    int32_t n = trl_fst_states(fst);
    memset(reach, 0, MOST * MOST);
    for (int32_t s = 0; s < n; s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++)
            reach[s][trl_fst_arc(fst, s, i).next] = 1;
    for (int32_t k = 0; k < n; k++)
        for (int32_t a = 0; a < n; a++)
            for (int32_t b = 0; b < n; b++)
                reach[a][b] |= reach[a][k] & reach[k][b];
}

static int is_final(const trl_fst *fst, int32_t s)
{
    return !trl_weight_is_zero(trl_fst_semiring(fst), trl_fst_final(fst, s));
}

static int reaches_end(const trl_fst *fst, uint8_t reach[MOST][MOST], int32_t s)
{
    int yes = is_final(fst, s);
    for (int32_t b = 0; b < trl_fst_states(fst); b++)
        yes |= reach[s][b] && is_final(fst, b);
    return yes;
}

static uint32_t properties_by_definition(const trl_fst *fst)
{
    static uint8_t reach[MOST][MOST];
    find_reach(fst, reach);
    trl_semiring semiring = trl_fst_semiring(fst);
    trl_weight one = trl_weight_one(semiring);
    uint32_t no = 0;
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        no |= s == 0 || reach[0][s] ? 0 : TRL_FST_ACCESSIBLE;
        no |= reaches_end(fst, reach, s) ? 0 : TRL_FST_COACCESSIBLE;
        no |= reach[s][s] ? TRL_FST_ACYCLIC | (s == 0 ? TRL_FST_INITIAL_ACYCLIC : 0) : 0;
        no |= is_final(fst, s) && !trl_weight_equal(semiring, trl_fst_final(fst, s), one, 0) ? TRL_FST_UNWEIGHTED : 0;
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            no |= a.ilabel != a.olabel ? TRL_FST_ACCEPTOR : 0;
            no |= !trl_weight_equal(semiring, a.weight, one, 0) ? TRL_FST_UNWEIGHTED : 0;
            no |= !a.ilabel ? TRL_FST_NO_IEPSILONS : 0;
            no |= !a.olabel ? TRL_FST_NO_OEPSILONS : 0;
            no |= !a.ilabel && !a.olabel ? TRL_FST_NO_EPSILONS : 0;
            no |= a.next <= s ? TRL_FST_TOPSORTED : 0;
            if (!trl_weight_equal(semiring, a.weight, one, 0) && (a.next == s || reach[a.next][s]))
                no |= TRL_FST_UNWEIGHTED_CYCLES;
            for (uint32_t j = 0; j < i; j++) {
                trl_arc b = trl_fst_arc(fst, s, j);
                no |= b.ilabel == a.ilabel ? TRL_FST_IDETERMINISTIC : 0;
                no |= b.olabel == a.olabel ? TRL_FST_ODETERMINISTIC : 0;
                no |= b.ilabel > a.ilabel ? TRL_FST_ISORTED : 0;
                no |= b.olabel > a.olabel ? TRL_FST_OSORTED : 0;
            }
        }
    }
    return ~no & ((TRL_FST_STRING - 1) | TRL_FST_UNWEIGHTED_CYCLES);
}

static machine_kind some_kind(int round, random_source *r)
{
    machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                         .states = 1 + (int32_t)random_below(r, 12),
                         .labels = 1 + (int32_t)random_below(r, 20),
                         .epsilons = random_below(r, 3) * 0.1,
                         .cyclic = (int)random_below(r, 2),
                         .acceptor = (int)random_below(r, 2),
                         .unweighted = (int)random_below(r, 2),
                         .finals = 0.1 + 0.3 * random_below(r, 3)};
    kind.arcs = (int32_t)random_below(r, 3 * (uint32_t)kind.states);
    return kind;
}

static void properties_are_what_their_names_say(void **state)
{
    (void)state;
    random_source r = {3};
    for (int round = 0; round < 20000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *fst = random_machine(&kind, &r);
        uint32_t found;
        assert_int_equal(trl_fst_properties(fst, &found, NULL), 0);
        assert_int_equal(found & ~(uint32_t)TRL_FST_STRING, properties_by_definition(fst));
        trl_fst_destroy(fst);
    }
}

static void a_string_is_one_path(void **state)
{
    (void)state;
    trl_fst *fst;
    uint32_t found;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 3, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    for (int32_t s = 0; s < 2; s++)
        assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){7, 7, {0, 0}, s + 1}, NULL), 0);
    assert_int_equal(trl_fst_properties(fst, &found, NULL), 0);
    assert_false(found & TRL_FST_STRING);
    assert_int_equal(trl_fst_set_final(fst, 2, (trl_weight){0, 0}, NULL), 0);
    assert_int_equal(trl_fst_properties(fst, &found, NULL), 0);
    assert_true(found & TRL_FST_STRING);
    assert_int_equal(trl_fst_set_final(fst, 1, (trl_weight){0, 0}, NULL), 0);
    assert_int_equal(trl_fst_properties(fst, &found, NULL), 0);
    assert_false(found & TRL_FST_STRING);
    trl_fst_destroy(fst);
}

static void trimming_keeps_useful_states_and_the_meaning(void **state)
{
    (void)state;
    static uint8_t reach[MOST][MOST];
    random_source r = {4};
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = some_kind(round, &r);
        trl_fst *fst = random_machine(&kind, &r), *trimmed;
        trimmed = copy_of(fst);
        assert_int_equal(trl_fst_connect(trimmed, NULL), 0);
        find_reach(fst, reach);
        int32_t useful = 0;
        for (int32_t s = 0; s < kind.states; s++)
            useful += (s == 0 || reach[0][s]) && reaches_end(fst, reach, s);
        assert_int_equal(trl_fst_states(trimmed), useful);
        assert_int_equal(trl_fst_verify(trimmed, NULL), 0);
        assert_same_meaning(fst, trimmed, 2, &r);
        trl_fst_destroy(fst);
        trl_fst_destroy(trimmed);
    }
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    trl_fst *fst;
    trl_error err;
    assert_int_equal(trl_fst_create((trl_semiring)9, &fst, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_create(TRL_LOG, &fst, &err), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_add_states(fst, 2, &err), 0);
    assert_int_equal(trl_fst_add_states(fst, INT32_MAX, &err), TRL_ELIMIT);
    assert_int_equal(trl_fst_add_arc(fst, 2, (trl_arc){1, 1, {0, 0}, 0}, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){-1, 1, {0, 0}, 0}, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 1, {NAN, 0}, 0}, &err), TRL_ENUMBER);
    assert_int_equal(trl_fst_set_final(fst, 0, (trl_weight){-INFINITY, 0}, &err), TRL_ENUMBER);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 1, {0, 0}, 2}, &err), 0);
    assert_int_equal(trl_fst_verify(fst, &err), TRL_EINVAL);
    trl_fst_destroy(fst);
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {5};
    machine_kind kind = {.semiring = TRL_LATTICE, .states = 8, .labels = 3, .arcs = 30, .cyclic = 1};
    trl_fst *fst = random_machine(&kind, &r), *copy;
    uint32_t found;
    int failures = 0;
    for (long n = 1; n < 40; n++) {
        trl__memory_fail_after(n);
        int code = trl_fst_copy(fst, &copy, NULL);
        if (code == 0)
            code = trl_fst_properties(copy, &found, NULL);
        if (code == 0)
            code = trl_fst_connect(copy, NULL);
        trl__memory_fail_after(0);
        trl_fst_destroy(copy);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
    }
    assert_true(failures > 10 && failures < 39);
    trl_fst_destroy(fst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arcs_can_be_added_in_any_order),
        cmocka_unit_test(properties_are_what_their_names_say),
        cmocka_unit_test(a_string_is_one_path),
        cmocka_unit_test(trimming_keeps_useful_states_and_the_meaning),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
