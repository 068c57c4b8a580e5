/* Composition against its definition: the weight of (x, y) is the sum over all strings m of that of (x, m) in the first
 * machine times that of (m, y) in the second. Strings m are enumerated, which the first machines allow: they have no
 * cycles, or write no more labels than they read. */
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
        o.look_ahead = random_below(&r, 3) == 0;
        o.filter = o.look_ahead ? TRL_FILTER_AUTO : o.filter;
        sort_some(a, b, &r);
        assert_int_equal(trl_fst_compose(a, b, &o, &both, NULL), 0);
        assert_int_equal(trl_fst_verify(both, NULL), 0);
        compare_composition(a, b, both, 3, &r);
        trl_fst_destroy(a);
        trl_fst_destroy(b);
        trl_fst_destroy(both);
    }
}

/* ---- States with many arcs ---- */

/* All pairs of states, without epsilons. */
static trl_fst *product_by_definition(const trl_fst *a, const trl_fst *b)
{
    trl_fst *out;
    trl_semiring semiring = trl_fst_semiring(a);
    int32_t width = trl_fst_states(b);
    assert_int_equal(trl_fst_create(semiring, &out, NULL), 0);
    assert_int_equal(trl_fst_add_states(out, trl_fst_states(a) * width, NULL), 0);
    assert_int_equal(trl_fst_set_start(out, trl_fst_start(a) * width + trl_fst_start(b), NULL), 0);
    for (int32_t s = 0; s < trl_fst_states(out); s++) {
        trl_weight final = trl_weight_times(semiring, trl_fst_final(a, s / width), trl_fst_final(b, s % width));
        assert_int_equal(trl_fst_set_final(out, s, final, NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(a, s / width); i++)
            for (uint32_t j = 0; j < trl_fst_arc_count(b, s % width); j++) {
                trl_arc x = trl_fst_arc(a, s / width, i), y = trl_fst_arc(b, s % width, j);
                trl_arc z = {x.ilabel, y.olabel, trl_weight_times(semiring, x.weight, y.weight),
                             x.next * width + y.next};
                if (x.olabel == y.ilabel)
                    assert_int_equal(trl_fst_add_arc(out, s, z, NULL), 0);
            }
    }
    assert_int_equal(trl_fst_connect(out, NULL), 0);
    return out;
}

static void labels_are_found_among_many(void **state)
{
    (void)state;
    random_source r = {12};
    for (int round = 0; round < 300; round++) {
        machine_kind kind = {.semiring = (trl_semiring)(round % 4), .states = 3, .cyclic = 1};
        trl_fst *machine[2], *both;
        for (int k = 0; k < 2; k++) {
            kind.labels = 1 << (1 + random_below(&r, 12));
            kind.arcs = (int32_t)random_below(&r, 1u << (4 + random_below(&r, 6)));
            machine[k] = random_machine(&kind, &r);
        }
        sort_some(machine[0], machine[1], &r);
        trl_compose_options o = trl_compose_defaults();
        o.filter = random_below(&r, 2) ? TRL_FILTER_NULL : TRL_FILTER_AUTO;
        assert_int_equal(trl_fst_compose(machine[0], machine[1], &o, &both, NULL), 0);
        trl_fst *expected = product_by_definition(machine[0], machine[1]);
        assert_int_equal(trl_fst_states(both), trl_fst_states(expected));
        assert_int_equal(trl_fst_arcs(both), trl_fst_arcs(expected));
        assert_same_meaning(expected, both, 1, &r);
        trl_fst_destroy(machine[0]);
        trl_fst_destroy(machine[1]);
        trl_fst_destroy(expected);
        trl_fst_destroy(both);
    }
}

/* ---- Looking ahead ---- */

/* Many labels, and long ways without any, so that what a state can write next is many intervals. */
static void looking_ahead_changes_nothing_else(void **state)
{
    (void)state;
    random_source r = {17};
    for (int round = 0; round < 1500; round++) {
        machine_kind kind = {.semiring = (trl_semiring)(round % 4),
                             .states = 8,
                             .labels = 40,
                             .arcs = 10 + (int32_t)random_below(&r, 60),
                             .epsilons = 0.5,
                             .cyclic = round % 4 == TRL_TROPICAL || round % 4 == TRL_LATTICE};
        trl_fst *a = random_machine(&kind, &r), *plain, *ahead;
        kind.states = 3;
        kind.epsilons = random_below(&r, 2) * 0.1;
        kind.arcs = 1 << (4 + random_below(&r, 6));
        trl_fst *b = random_machine(&kind, &r);
        trl_compose_options o = trl_compose_defaults();
        assert_int_equal(trl_fst_arcsort(b, TRL_SIDE_INPUT, NULL), 0);
        assert_int_equal(trl_fst_compose(a, b, &o, &plain, NULL), 0);
        o.look_ahead = 1;
        assert_int_equal(trl_fst_compose(a, b, &o, &ahead, NULL), 0);
        assert_int_equal(trl_fst_verify(ahead, NULL), 0);
        assert_same_meaning(plain, ahead, 1, &r);
        trl_fst_destroy(a);
        trl_fst_destroy(b);
        trl_fst_destroy(plain);
        trl_fst_destroy(ahead);
    }
}

static trl_fst *machine_of(const trl_arc *arcs, const int32_t *from, int count, int32_t states, int32_t end)
{
    trl_fst *fst;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, states, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, end, (trl_weight){0, 0}, NULL), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(trl_fst_add_arc(fst, from[i], arcs[i], NULL), 0);
    return fst;
}

/* Words 11 = "1 2 3", 12 = "1 2 4", 13 = "1 5", of which the grammar has 11 at a cost of 3 and 13 at a cost of 2:
 * nothing leads towards 12, the first arc costs 2, and the words are written by the second. */
static void looking_ahead_avoids_dead_ends(void **state)
{
    (void)state;
    const trl_arc words[] = {
        {1, 0, {0, 0}, 1}, {2, 0, {0, 0}, 2}, {3, 11, {0, 0}, 3}, {4, 12, {0, 0}, 3}, {5, 13, {0, 0}, 3}};
    const trl_arc grammar[] = {{11, 11, {3, 0}, 1}, {13, 13, {2, 0}, 1}};
    trl_fst *a = machine_of(words, (const int32_t[]){0, 1, 2, 2, 1}, 5, 4, 3);
    trl_fst *b = machine_of(grammar, (const int32_t[]){0, 0}, 2, 2, 1), *out;
    trl_compose_options o = trl_compose_defaults();
    o.look_ahead = 1;
    o.connect = 0;
    assert_int_equal(trl_fst_compose(a, b, &o, &out, NULL), 0);
    assert_int_equal(trl_fst_arcs(out), 4);
    trl_arc first = trl_fst_arc(out, 0, 0);
    assert_true(trl_fst_arc_count(out, 0) == 1 && first.weight.value == 2 && first.olabel == 0);
    assert_int_equal(trl_fst_arc_count(out, first.next), 2);
    for (uint32_t i = 0; i < 2; i++) {
        trl_arc second = trl_fst_arc(out, first.next, i);
        assert_int_equal(second.olabel, second.ilabel == 2 ? 11 : 13);
        assert_true(second.weight.value == (second.ilabel == 2 ? 1 : 0));
    }
    trl_fst_destroy(a);
    trl_fst_destroy(b);
    trl_fst_destroy(out);
}

/* ---- Labels that stand for others ---- */

enum { RHO = 6, SIGMA = 7, PHI = 8 };

typedef struct resolver {
    const trl_fst *b;
    trl_fst *out;
    int32_t phi;
    int acceptor;
} resolver;

/* Adds what label `l` can do in state s to state `to`, if arcs have the label `with`. */
static int resolve_with(const resolver *v, int32_t s, int32_t with, int32_t l, trl_weight before, int32_t to)
{
    int found = 0;
    for (uint32_t i = 0; i < trl_fst_arc_count(v->b, s); i++) {
        trl_arc a = trl_fst_arc(v->b, s, i);
        if (a.ilabel != with)
            continue;
        a.olabel = with != l && v->acceptor ? l : a.olabel;
        a.ilabel = l;
        a.weight = trl_weight_times(trl_fst_semiring(v->b), before, a.weight);
        assert_int_equal(trl_fst_add_arc(v->out, to, a, NULL), 0);
        found = 1;
    }
    return found;
}

static int find_failure(const resolver *v, int32_t s, trl_arc *arc)
{
    for (uint32_t i = trl_fst_arc_count(v->b, s); i-- > 0;)
        if (trl_fst_arc(v->b, s, i).ilabel == v->phi)
            *arc = trl_fst_arc(v->b, s, i);
    for (uint32_t i = 0; i < trl_fst_arc_count(v->b, s); i++)
        if (trl_fst_arc(v->b, s, i).ilabel == v->phi)
            return 1;
    return 0;
}

static void resolve(const resolver *v, int32_t s, int32_t l, trl_weight before, int32_t to)
{
    trl_arc phi;
    int found = resolve_with(v, s, l, l, before, to);
    found |= resolve_with(v, s, SIGMA, l, before, to);
    if (found || resolve_with(v, s, RHO, l, before, to) || !find_failure(v, s, &phi))
        return;
    if (phi.next == s)
        resolve_with(v, s, v->phi, l, before, to);
    else
        resolve(v, phi.next, l, trl_weight_times(trl_fst_semiring(v->b), before, phi.weight), to);
}

static trl_weight resolved_final(const resolver *v, int32_t s)
{
    trl_arc phi;
    trl_semiring semiring = trl_fst_semiring(v->b);
    if (!trl_weight_is_zero(semiring, trl_fst_final(v->b, s)) || !find_failure(v, s, &phi) || phi.next == s)
        return trl_fst_final(v->b, s);
    return trl_weight_times(semiring, phi.weight, resolved_final(v, phi.next));
}

/* The same machine with plain labels only. */
static trl_fst *resolved(const trl_fst *b, int32_t phi, int acceptor)
{
    resolver v = {b, NULL, phi, acceptor};
    assert_int_equal(trl_fst_create(trl_fst_semiring(b), &v.out, NULL), 0);
    assert_int_equal(trl_fst_add_states(v.out, trl_fst_states(b), NULL), 0);
    assert_int_equal(trl_fst_set_start(v.out, trl_fst_start(b), NULL), 0);
    for (int32_t s = 0; s < trl_fst_states(b); s++) {
        trl_weight one = trl_weight_one(trl_fst_semiring(b));
        if (phi != 0)
            resolve_with(&v, s, 0, 0, one, s);
        for (int32_t l = 1; l <= LABELS; l++)
            resolve(&v, s, l, one, s);
        assert_int_equal(trl_fst_set_final(v.out, s, resolved_final(&v, s), NULL), 0);
    }
    return v.out;
}

/* Failure arcs lead to lower states or back to their own. */
static void add_special_arcs(trl_fst *b, int acceptor, const machine_kind *kind, random_source *r)
{
    for (uint32_t i = random_below(r, 6); i > 0; i--) {
        int32_t s = (int32_t)random_below(r, (uint32_t)kind->states), label = RHO + (int32_t)random_below(r, 3);
        trl_arc a = {label, acceptor ? label : (int32_t)random_below(r, LABELS + 1), random_weight(kind, r), 0};
        a.next = (int32_t)random_below(r, label == PHI ? (uint32_t)s + 1 : (uint32_t)kind->states);
        assert_int_equal(trl_fst_add_arc(b, s, a, NULL), 0);
    }
}

static void labels_stand_for_others(void **state)
{
    (void)state;
    random_source r = {13};
    for (int round = 0; round < 6000; round++) {
        trl_semiring semiring = (trl_semiring)(round % 4);
        machine_kind kind = some_kind(semiring, &r);
        kind.cyclic = 1;
        kind.acceptor = (int)random_below(&r, 2);
        int32_t phi = round % 5 == 0 ? 0 : PHI;
        if (phi == 0) {
            kind.cyclic = 0;
            kind.epsilons = 0.3;
        }
        trl_fst *a = first_machine(semiring, &r), *b = random_machine(&kind, &r), *both, *expected;
        if (phi != 0)
            add_special_arcs(b, kind.acceptor, &kind, &r);
        trl_fst *plain = resolved(b, phi, kind.acceptor || trl_fst_arcs(b) == 0);
        trl_compose_options o = trl_compose_defaults();
        assert_int_equal(trl_fst_arcsort(plain, TRL_SIDE_INPUT, NULL), 0);
        assert_int_equal(trl_fst_arcsort(b, TRL_SIDE_INPUT, NULL), 0);
        assert_int_equal(trl_fst_compose(a, plain, &o, &expected, NULL), 0);
        o.phi = phi;
        o.rho = RHO;
        o.sigma = SIGMA;
        o.filter = (trl_compose_filter)random_below(&r, 4);
        uint32_t properties;
        assert_int_equal(trl_fst_properties(b, &properties, NULL), 0);
        int code = trl_fst_compose(a, b, &o, &both, NULL);
        assert_int_equal(code, 0);
        if (kind.acceptor ||
            !(properties & TRL_FST_ACCEPTOR)) /* else labels are written that the test did not expect */
            assert_same_meaning(expected, both, 2, &r);
        trl_fst_destroy(a);
        trl_fst_destroy(b);
        trl_fst_destroy(plain);
        trl_fst_destroy(expected);
        trl_fst_destroy(both);
    }
}

/* ---- Acceptors ---- */

static pair accepted_string(const trl_fst *fst, random_source *r)
{
    pair p = sample_pair(fst, 4, r);
    memcpy(p.y, p.x, sizeof p.y);
    p.ny = p.nx;
    return p;
}

static void intersection_multiplies(void **state)
{
    (void)state;
    random_source r = {14};
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = some_kind((trl_semiring)(round % 4), &r), second = some_kind(kind.semiring, &r);
        kind.acceptor = second.acceptor = 1;
        trl_fst *a = random_machine(&kind, &r), *b = random_machine(&second, &r), *both;
        sort_some(a, b, &r);
        assert_int_equal(trl_fst_intersect(a, b, NULL, &both, NULL), 0);
        for (int i = 0; i < PAIRS; i++) {
            pair p = accepted_string(i % 2 ? a : b, &r);
            meaning expected = product_of(kind.semiring, meaning_of(a, &p), meaning_of(b, &p));
            assert_true(meaning_equal(meaning_of(both, &p), expected, 1e-3));
        }
        trl_fst_destroy(a);
        trl_fst_destroy(b);
        trl_fst_destroy(both);
    }
}

/* Each state has an arc with each label, or not; all lead anywhere. */
static trl_fst *deterministic_machine(trl_semiring semiring, random_source *r)
{
    trl_fst *fst;
    int32_t states = 1 + (int32_t)random_below(r, 4);
    assert_int_equal(trl_fst_create(semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, states, NULL), 0);
    for (int32_t s = 0; s < states; s++) {
        for (int32_t l = 1; l <= LABELS; l++) {
            trl_arc a = {l, l, trl_weight_one(semiring), (int32_t)random_below(r, (uint32_t)states)};
            if (random_below(r, 3))
                assert_int_equal(trl_fst_add_arc(fst, s, a, NULL), 0);
        }
        if (random_below(r, 2))
            assert_int_equal(trl_fst_set_final(fst, s, trl_weight_one(semiring), NULL), 0);
    }
    if (random_below(r, 20))
        assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    return fst;
}

static void difference_keeps_what_the_second_refuses(void **state)
{
    (void)state;
    random_source r = {15};
    for (int round = 0; round < 3000; round++) {
        machine_kind kind = some_kind((trl_semiring)(round % 4), &r);
        kind.acceptor = 1;
        trl_fst *a = random_machine(&kind, &r), *b = deterministic_machine(kind.semiring, &r), *rest;
        meaning zero = meaning_zero(kind.semiring);
        assert_int_equal(trl_fst_difference(a, b, NULL, &rest, NULL), 0);
        for (int i = 0; i < PAIRS; i++) {
            pair p = accepted_string(i % 2 ? a : b, &r);
            int accepted = meaning_of(b, &p).value != zero.value;
            assert_true(meaning_equal(meaning_of(rest, &p), accepted ? zero : meaning_of(a, &p), 1e-3));
        }
        trl_fst_destroy(a);
        trl_fst_destroy(b);
        trl_fst_destroy(rest);
    }
}

/* ---- Failures ---- */

static trl_fst *loop_of(trl_semiring semiring, const int32_t (*labels)[2], int count)
{
    trl_fst *fst;
    assert_int_equal(trl_fst_create(semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 2, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 1, trl_weight_one(semiring), NULL), 0);
    for (int i = 0; i < count; i++)
        for (int32_t s = 0; s < 2; s++)
            assert_int_equal(trl_fst_add_arc(fst, s, (trl_arc){labels[i][0], labels[i][1], {1, 0}, !s}, NULL), 0);
    return fst;
}

static void what_cannot_be_composed_is_refused(void **state)
{
    (void)state;
    trl_fst *down = loop_of(TRL_LOG, (const int32_t[][2]){{2, 2}, {1, 1}}, 2), *out;
    trl_fst *up = loop_of(TRL_LOG, (const int32_t[][2]){{1, 1}, {2, 3}}, 2);
    trl_fst *real = loop_of(TRL_REAL, (const int32_t[][2]){{1, 1}}, 1);
    trl_fst *fails = loop_of(TRL_LOG, (const int32_t[][2]){{9, 9}}, 1);
    trl_compose_options o = trl_compose_defaults();
    trl_error err;
    assert_int_equal(trl_fst_compose(down, down, &o, &out, &err), TRL_EINVAL);
    assert_null(out);
    assert_int_equal(trl_fst_compose(down, real, &o, &out, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_intersect(down, up, &o, &out, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_difference(down, up, &o, &out, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_difference(down, fails, &o, &out, &err), TRL_EINVAL);
    o.phi = 9; /* a cycle of failures */
    assert_int_equal(trl_fst_compose(down, fails, &o, &out, &err), TRL_EINVAL);
    o.phi = 2; /* which the first machine writes */
    assert_int_equal(trl_fst_compose(down, up, &o, &out, &err), TRL_EINVAL);
    o.phi = TRL_NO_LABEL;
    o.sigma = 0;
    assert_int_equal(trl_fst_compose(down, up, &o, &out, &err), TRL_EINVAL);
    o.sigma = 5;
    o.look_ahead = 1;
    assert_int_equal(trl_fst_compose(down, up, &o, &out, &err), TRL_EINVAL);
    o.sigma = TRL_NO_LABEL;
    o.filter = TRL_FILTER_SEQUENCE;
    assert_int_equal(trl_fst_compose(down, up, &o, &out, &err), TRL_EINVAL);
    o = trl_compose_defaults();
    o.most_states = 1;
    assert_int_equal(trl_fst_compose(down, up, &o, &out, &err), TRL_ELIMIT);
    o.most_states = 2;
    assert_int_equal(trl_fst_compose(down, up, &o, &out, &err), 0);
    trl_fst_destroy(out);
    trl_fst_destroy(down);
    trl_fst_destroy(up);
    trl_fst_destroy(real);
    trl_fst_destroy(fails);
}

static trl_symbols *table_of(const char *epsilon, const char *one)
{
    trl_symbols *symbols;
    assert_int_equal(trl_symbols_create("words", &symbols, NULL), 0);
    assert_int_equal(trl_symbols_add(symbols, epsilon, 0, NULL), 0);
    assert_int_equal(trl_symbols_add(symbols, one, 1, NULL), 0);
    return symbols;
}

static void symbols_must_agree(void **state)
{
    (void)state;
    trl_fst *a = loop_of(TRL_LOG, (const int32_t[][2]){{1, 1}}, 1),
            *b = loop_of(TRL_LOG, (const int32_t[][2]){{1, 1}}, 1);
    trl_fst *out;
    trl_error err;
    trl_fst_set_symbols(a, table_of("-", "in"), table_of("-", "one"));
    trl_fst_set_symbols(b, table_of("<eps>", "two"), table_of("<eps>", "out"));
    assert_int_equal(trl_fst_compose(a, b, NULL, &out, &err), TRL_EINVAL);
    trl_fst_set_symbols(b, table_of("<eps>", "one"), table_of("<eps>", "out"));
    assert_int_equal(trl_fst_compose(a, b, NULL, &out, &err), 0);
    assert_string_equal(trl_symbols_name(trl_fst_input_symbols(out), 1), "in");
    assert_string_equal(trl_symbols_name(trl_fst_output_symbols(out), 1), "out");
    trl_fst_destroy(a);
    trl_fst_destroy(b);
    trl_fst_destroy(out);
}

static int compose_all(const trl_fst *a, const trl_fst *b, const trl_fst *acceptor)
{
    trl_fst *out = NULL;
    trl_compose_options o = trl_compose_defaults();
    int code = trl_fst_compose(a, b, &o, &out, NULL);
    trl_fst_destroy(out);
    o.look_ahead = 1;
    code = code ? code : (out = NULL, trl_fst_compose(a, b, &o, &out, NULL));
    trl_fst_destroy(code ? NULL : out);
    o.look_ahead = 0;
    o.phi = 3;
    code = code ? code : (out = NULL, trl_fst_compose(acceptor, b, &o, &out, NULL));
    trl_fst_destroy(code ? NULL : out);
    code = code ? code : (out = NULL, trl_fst_difference(a, acceptor, NULL, &out, NULL));
    trl_fst_destroy(code ? NULL : out);
    return code;
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {16};
    machine_kind kind = {
        .semiring = TRL_TROPICAL, .states = 5, .labels = 3, .arcs = 250, .cyclic = 1, .epsilons = 0.1, .acceptor = 1};
    trl_fst *a = random_machine(&kind, &r), *b = random_machine(&kind, &r);
    trl_fst *acceptor = deterministic_machine(TRL_TROPICAL, &r);
    assert_int_equal(trl_fst_arcsort(a, TRL_SIDE_OUTPUT, NULL), 0);
    assert_int_equal(trl_fst_arcsort(b, TRL_SIDE_INPUT, NULL), 0);
    int failures = 0, code = TRL_ENOMEM;
    for (long n = 1; n < 600 && code != 0; n++) {
        trl__memory_fail_after(n);
        code = compose_all(a, b, acceptor);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
    }
    assert_int_equal(code, 0);
    assert_true(failures > 20);
    trl_fst_destroy(a);
    trl_fst_destroy(b);
    trl_fst_destroy(acceptor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composition_sums_over_middle_strings),
        cmocka_unit_test(labels_are_found_among_many),
        cmocka_unit_test(looking_ahead_changes_nothing_else),
        cmocka_unit_test(looking_ahead_avoids_dead_ends),
        cmocka_unit_test(labels_stand_for_others),
        cmocka_unit_test(intersection_multiplies),
        cmocka_unit_test(difference_keeps_what_the_second_refuses),
        cmocka_unit_test(what_cannot_be_composed_is_refused),
        cmocka_unit_test(symbols_must_agree),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
