/* Composition against its definition: the weight of (x, y) is the sum over all strings m of that of (x, m) in the first machine times that
 * of (m, y) in the second. Strings m are enumerated, which the first machines allow: they have no cycles, or
 * write no more labels than they read. */
#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_compose.h>
#include <trellis/fst_structure.h>

#define LABELS 2
#define PAIRS 4

static meaning product_of(trl_semiring s, meaning a, meaning b)
{
    return s == TRL_REAL ? (meaning){a.value * b.value, 0} : (meaning){a.value + b.value, a.second + b.second};
}

/* The sum over all middle strings of up to `longest` labels. */
static meaning composed_meaning(const trl_fst *a, const trl_fst *b, const pair *p, int longest)
{
    trl_semiring s = trl_fst_semiring(a);
    meaning zero = meaning_zero(s), total = zero;
    for (int length = 0, strings = 1; length <= longest; length++, strings *= LABELS)
        for (int k = 0; k < strings; k++) {
            pair left = *p, right = *p;
            left.ny = right.nx = length;
            for (int i = 0, rest = k; i < length; i++, rest /= LABELS)
                left.y[i] = right.x[i] = 1 + rest % LABELS;
            meaning w = meaning_of(a, &left);
            if (w.value != zero.value)
                total = meaning_plus(s, total, product_of(s, w, meaning_of(b, &right)));
        }
    return total;
}

static void compare_with_definition(const trl_fst *a, const trl_fst *b, const trl_fst *both, const pair *p, int longest)
{
    meaning expected = composed_meaning(a, b, p, longest), found = meaning_of(both, p);
    if (meaning_equal(expected, found, 1e-3))
        return;
    print_message("expected %g,%g, found %g,%g\n", expected.value, expected.second, found.value, found.second);
    print_pair(p);
    print_machine(a);
    print_message("  with\n");
    print_machine(b);
    print_message("  is\n");
    print_machine(both);
    fail();
}

/* Pairs of the result, and pairs of strings from the operands, which the result may have lost. */
static void compare_composition(const trl_fst *a, const trl_fst *b, const trl_fst *both, int longest, random_source *r)
{
    for (int i = 0; i < PAIRS; i++) {
        pair p = sample_pair(both, 3, r), x = sample_pair(a, 3, r), y = sample_pair(b, 3, r);
        memcpy(x.y, y.y, sizeof x.y);
        x.ny = y.ny;
        compare_with_definition(a, b, both, &p, longest);
        compare_with_definition(a, b, both, &x, longest);
    }
}

/* The same machine with other input labels in place of epsilon. */
static trl_fst *reading_always(const trl_fst *fst, const machine_kind *kind, random_source *r)
{
    trl_fst *out;
    assert_int_equal(trl_fst_create(kind->semiring, &out, NULL), 0);
    assert_int_equal(trl_fst_add_states(out, trl_fst_states(fst), NULL), 0);
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            a.ilabel = a.ilabel ? a.ilabel : 1 + (int32_t)random_below(r, LABELS);
            assert_int_equal(trl_fst_add_arc(out, s, a, NULL), 0);
        }
        assert_int_equal(trl_fst_set_final(out, s, trl_fst_final(fst, s), NULL), 0);
    }
    assert_int_equal(trl_fst_set_start(out, trl_fst_start(fst), NULL), 0);
    return out;
}

static machine_kind some_kind(trl_semiring semiring, random_source *r)
{
    machine_kind kind = {.semiring = semiring,
                         .states = 1 + (int32_t)random_below(r, 4),
                         .labels = LABELS,
                         .epsilons = random_below(r, 4) * 0.15,
                         .cyclic = (int)random_below(r, 2),
                         .finals = 0.4};
    kind.arcs = (int32_t)random_below(r, 4 * (uint32_t)kind.states);
    return kind;
}

/* A first machine whose middle strings have at most three labels for inputs of up to three. */
static trl_fst *first_machine(trl_semiring semiring, random_source *r)
{
    machine_kind kind = some_kind(semiring, r);
    trl_fst *a = random_machine(&kind, r);
    if (kind.cyclic) {
        trl_fst *reading = reading_always(a, &kind, r);
        trl_fst_destroy(a);
        a = reading;
    }
    return a;
}

static trl_fst *second_machine(trl_semiring semiring, random_source *r)
{
    machine_kind kind = some_kind(semiring, r);
    return random_machine(&kind, r);
}

static void sort_some(trl_fst *a, trl_fst *b, random_source *r)
{
    uint32_t which = 1 + random_below(r, 3);
    if (which & 1)
        assert_int_equal(trl_fst_arcsort(a, TRL_SIDE_OUTPUT, NULL), 0);
    if (which & 2)
        assert_int_equal(trl_fst_arcsort(b, TRL_SIDE_INPUT, NULL), 0);
}

static void composition_sums_over_middle_strings(void **state)
{
    (void)state;
    static const trl_compose_filter filters[] = {TRL_FILTER_AUTO, TRL_FILTER_SEQUENCE, TRL_FILTER_ALT_SEQUENCE,
                                                 TRL_FILTER_MATCH, TRL_FILTER_TRIVIAL};
    random_source r = {11};
    for (int round = 0; round < 6000; round++) {
        trl_semiring semiring = (trl_semiring)(round % 4);
        int idempotent = semiring == TRL_TROPICAL || semiring == TRL_LATTICE;
        trl_fst *a = first_machine(semiring, &r), *b = second_machine(semiring, &r), *both;
        trl_compose_options o = trl_compose_defaults();
        o.filter = filters[random_below(&r, idempotent ? 5 : 4)];
        o.connect = (int)random_below(&r, 2);
        sort_some(a, b, &r);
        assert_int_equal(trl_fst_compose(a, b, &o, &both, NULL), 0);
        assert_int_equal(trl_fst_verify(both, NULL), 0);
        compare_composition(a, b, both, 3, &r);
        trl_fst_destroy(a);
        trl_fst_destroy(b);
        trl_fst_destroy(both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composition_sums_over_middle_strings),
    };
    return RUN(tests);
}
