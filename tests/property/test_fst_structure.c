/* Operations on the structure of machines against what they mean for strings: sums over the ways to split a pair of
 * strings for the rational operations, reversed strings for reversal, copying by hand for replacement. */
#include "fst_fixture.h"

#include "base/memory.h"

#include <trellis/fst_structure.h>

#define ROUNDS 3000

/* Now and then a machine without a start, or without anything. */
static trl_fst *some_machine(const machine_kind *kind, random_source *r)
{
    trl_fst *fst = random_machine(kind, r);
    if (random_below(r, 30) > 0)
        return fst;
    trl_fst_destroy(fst);
    assert_int_equal(trl_fst_create(kind->semiring, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, (int32_t)random_below(r, 3), NULL), 0);
    return fst;
}

static pair mixed_pair(const trl_fst *a, const trl_fst *b, int longest, random_source *r)
{
    pair p = sample_pair(a, longest, r), q = sample_pair(b, longest, r);
    memcpy(p.y, q.y, sizeof p.y);
    p.ny = q.ny;
    return p;
}

static meaning product_of(trl_semiring s, meaning a, meaning b)
{
    return s == TRL_REAL ? (meaning){a.value * b.value, 0} : (meaning){a.value + b.value, a.second + b.second};
}

/* Labels from (i, j) up to (k, l). */
static pair piece(const pair *p, int i, int j, int k, int l)
{
    pair out = {.nx = k - i, .ny = l - j};
    memcpy(out.x, p->x + i, (size_t)(k - i) * sizeof *out.x);
    memcpy(out.y, p->y + j, (size_t)(l - j) * sizeof *out.y);
    return out;
}

static void check(const trl_fst *result, const pair *p, meaning expected)
{
    meaning found = meaning_of(result, p);
    if (meaning_equal(expected, found, 1e-3))
        return;
    print_message("expected %g,%g, found %g,%g\n", expected.value, expected.second, found.value, found.second);
    print_pair(p);
    print_machine(result);
    fail();
}

/* ---- Sorting ---- */

static int32_t label_of(trl_arc a, trl_side side)
{
    return side == TRL_SIDE_INPUT ? a.ilabel : a.olabel;
}

/* Arcs carry their place in their weight. */
static void sorting_keeps_the_order_of_equal_labels(void **state)
{
    (void)state;
    random_source r = {21};
    for (int round = 0; round < ROUNDS; round++) {
        trl_semiring semiring = (trl_semiring)(round % 4);
        trl_side side = (trl_side)random_below(&r, 2);
        uint32_t counts[3] = {random_below(&r, 6), random_below(&r, 40), random_below(&r, 600)};
        uint32_t limit = 1u << (1 + random_below(&r, 31));
        static trl_arc before[600];
        trl_fst *fst;
        assert_int_equal(trl_fst_create(semiring, &fst, NULL), 0);
        assert_int_equal(trl_fst_add_states(fst, 3, NULL), 0);
        for (int32_t s = 0; s < 3; s++)
            for (uint32_t i = 0; i < counts[s]; i++) {
                trl_arc a = {(int32_t)(random_below(&r, limit) & INT32_MAX),
                             (int32_t)(random_below(&r, limit) & INT32_MAX),
                             {(float)i, 0},
                             s};
                before[i] = s == 2 ? a : before[i];
                assert_int_equal(trl_fst_add_arc(fst, s, a, NULL), 0);
            }
        assert_int_equal(trl_fst_arcsort(fst, side, NULL), 0);
        for (int32_t s = 0; s < 3; s++)
            for (uint32_t i = 0; i < counts[s]; i++) {
                trl_arc a = trl_fst_arc(fst, s, i), b = trl_fst_arc(fst, s, i ? i - 1 : 0);
                assert_true(label_of(b, side) < label_of(a, side) || i == 0 ||
                            (label_of(b, side) == label_of(a, side) && b.weight.value < a.weight.value));
                if (s == 2)
                    assert_memory_equal(&a, &before[(int)a.weight.value], sizeof a);
            }
        trl_fst_destroy(fst);
    }
}

static void topological_order_leads_forward(void **state)
{
    (void)state;
    random_source r = {22};
    int sorted = 0, refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 4), &r);
        trl_fst *fst = some_machine(&kind, &r), *other = copy_of(fst), *unsorted;
        int32_t states = trl_fst_states(fst), shuffle = states > 1 ? states - 1 : 0;
        assert_int_equal(trl_fst_reverse(fst, &unsorted, NULL), 0);
        uint32_t properties;
        assert_int_equal(trl_fst_properties(unsorted, &properties, NULL), 0);
        int code = trl_fst_topsort(unsorted, NULL);
        assert_int_equal(code, properties & TRL_FST_ACYCLIC ? 0 : TRL_EINVAL);
        assert_int_equal(trl_fst_topsort(other, NULL), code);
        assert_int_equal(trl_fst_properties(other, &properties, NULL), 0);
        assert_true(code < 0 || (properties & TRL_FST_TOPSORTED));
        assert_int_equal(trl_fst_properties(unsorted, &properties, NULL), 0);
        assert_true(code < 0 || (properties & TRL_FST_TOPSORTED));
        assert_same_meaning(fst, other, 2, &r);
        sorted += code == 0 && shuffle > 0;
        refused += code < 0;
        trl_fst_destroy(fst);
        trl_fst_destroy(other);
        trl_fst_destroy(unsorted);
    }
    assert_true(sorted > 100 && refused > 100);
}

/* ---- Labels ---- */

static void inverting_swaps_and_projecting_forgets(void **state)
{
    (void)state;
    random_source r = {23};
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 4), &r);
        trl_fst *fst = some_machine(&kind, &r), *inverse = copy_of(fst), *input = copy_of(fst), *output = copy_of(fst);
        assert_int_equal(trl_fst_invert(inverse, NULL), 0);
        assert_int_equal(trl_fst_project(input, TRL_SIDE_INPUT, NULL), 0);
        assert_int_equal(trl_fst_project(output, TRL_SIDE_OUTPUT, NULL), 0);
        for (int i = 0; i < 3; i++) {
            pair p = mixed_pair(fst, i ? fst : inverse, 5, &r), q = p, any = p, same = p, written = p;
            memcpy(q.x, p.y, sizeof q.x);
            memcpy(q.y, p.x, sizeof q.y);
            q.nx = p.ny;
            q.ny = p.nx;
            check(inverse, &q, meaning_of(fst, &p));
            any.any_output = 1;
            memcpy(same.y, same.x, sizeof same.y);
            same.ny = same.nx;
            check(input, &same, meaning_of(fst, &any));
            q.any_output = 1;
            memcpy(written.x, written.y, sizeof written.x);
            written.nx = written.ny;
            check(output, &written, meaning_of(inverse, &q));
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(inverse);
        trl_fst_destroy(input);
        trl_fst_destroy(output);
    }
}

static void relabelling_is_simultaneous(void **state)
{
    (void)state;
    random_source r = {24};
    static const int32_t from[] = {1, 2, 7}, to[] = {2, 1, 0}, twice[] = {3, 3}, negative[] = {1, -2};
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 4), &r);
        kind.labels = 9;
        trl_fst *fst = some_machine(&kind, &r), *other = copy_of(fst);
        trl_side side = (trl_side)random_below(&r, 2);
        assert_int_equal(trl_fst_relabel(other, side, from, to, 3, NULL), 0);
        for (int32_t s = 0; s < trl_fst_states(fst); s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i), b = trl_fst_arc(other, s, i);
                int32_t label = label_of(a, side);
                assert_int_equal(label_of(b, side), label == 1 ? 2 : label == 2 ? 1 : label == 7 ? 0 : label);
                assert_int_equal(label_of(b, !side), label_of(a, !side));
                assert_int_equal(a.next, b.next);
            }
        assert_int_equal(trl_fst_relabel(other, side, twice, to, 2, NULL), TRL_EINVAL);
        assert_int_equal(trl_fst_relabel(other, side, from, negative, 2, NULL), TRL_EINVAL);
        assert_int_equal(trl_fst_relabel(other, side, negative, to, 2, NULL), TRL_EINVAL);
        trl_fst_destroy(fst);
        trl_fst_destroy(other);
    }
}

/* ---- Rational operations ---- */

static meaning concat_meaning(const trl_fst *a, const trl_fst *b, const pair *p)
{
    trl_semiring s = trl_fst_semiring(a);
    meaning total = meaning_zero(s);
    for (int i = 0; i <= p->nx; i++)
        for (int j = 0; j <= p->ny; j++) {
            pair left = piece(p, 0, 0, i, j), right = piece(p, i, j, p->nx, p->ny);
            total = meaning_plus(s, total, product_of(s, meaning_of(a, &left), meaning_of(b, &right)));
        }
    return total;
}

static void union_adds_and_concatenation_splits(void **state)
{
    (void)state;
    random_source r = {25};
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 4), &r), second = small_kind(kind.semiring, &r);
        trl_fst *a = some_machine(&kind, &r), *b = some_machine(&second, &r), *either = copy_of(a), *both = copy_of(a);
        if (random_below(&r, 10) == 0) { /* a machine with itself */
            trl_fst_destroy(b);
            b = copy_of(a);
            assert_int_equal(trl_fst_union(either, either, NULL), 0);
            assert_int_equal(trl_fst_concat(both, both, NULL), 0);
        } else {
            assert_int_equal(trl_fst_union(either, b, NULL), 0);
            assert_int_equal(trl_fst_concat(both, b, NULL), 0);
        }
        assert_int_equal(trl_fst_verify(either, NULL), 0);
        assert_int_equal(trl_fst_verify(both, NULL), 0);
        for (int i = 0; i < 3; i++) {
            pair p = sample_pair(i ? either : a, 4, &r), q = sample_pair(both, 4, &r);
            check(either, &p, meaning_plus(kind.semiring, meaning_of(a, &p), meaning_of(b, &p)));
            check(both, &q, concat_meaning(a, b, &q));
            check(both, &p, concat_meaning(a, b, &p));
        }
        trl_fst_destroy(a);
        trl_fst_destroy(b);
        trl_fst_destroy(either);
        trl_fst_destroy(both);
    }
}

/* The sum of all powers. Costs are not negative here, so none costs least. */
static meaning star(trl_semiring s, meaning a)
{
    if (s == TRL_REAL)
        return (meaning){1 / (1 - a.value), 0};
    return (meaning){s == TRL_LOG ? log1p(-exp(-a.value)) : 0, 0};
}

/* What any number of pieces gives for the strings from (i, j) on: W = one at the end + sum over first pieces P *
 * W(rest), where the empty piece leads back to W itself. */
static void closure_table(const trl_fst *a, const pair *p, meaning w[6][6])
{
    trl_semiring s = trl_fst_semiring(a);
    trl_weight one = trl_weight_one(s);
    pair none = {.nx = 0};
    meaning loop = star(s, meaning_of(a, &none));
    for (int i = p->nx; i >= 0; i--)
        for (int j = p->ny; j >= 0; j--) {
            meaning total = i == p->nx && j == p->ny ? (meaning){one.value, 0} : meaning_zero(s);
            for (int k = i; k <= p->nx; k++)
                for (int l = j; l <= p->ny; l++) {
                    pair first = piece(p, i, j, k, l);
                    if (k > i || l > j)
                        total = meaning_plus(s, total, product_of(s, meaning_of(a, &first), w[k][l]));
                }
            w[i][j] = product_of(s, loop, total);
        }
}

static void closure_is_any_number_of_pieces(void **state)
{
    (void)state;
    random_source r = {26};
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 4), &r);
        kind.cyclic = 1; /* weights whose sums converge */
        trl_fst *fst = some_machine(&kind, &r), *none_or_more = copy_of(fst), *one_or_more = copy_of(fst);
        assert_int_equal(trl_fst_closure(none_or_more, TRL_CLOSURE_STAR, NULL), 0);
        assert_int_equal(trl_fst_closure(one_or_more, TRL_CLOSURE_PLUS, NULL), 0);
        for (int i = 0; i < 3; i++) {
            pair p = sample_pair(i ? none_or_more : fst, 4, &r);
            meaning w[6][6], plus = meaning_zero(kind.semiring);
            closure_table(fst, &p, w);
            for (int k = 0; k <= p.nx; k++)
                for (int l = 0; l <= p.ny; l++) {
                    pair first = piece(&p, 0, 0, k, l);
                    plus =
                        meaning_plus(kind.semiring, plus, product_of(kind.semiring, meaning_of(fst, &first), w[k][l]));
                }
            check(none_or_more, &p, w[0][0]);
            check(one_or_more, &p, plus);
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(none_or_more);
        trl_fst_destroy(one_or_more);
    }
}

static void reversing_reverses_strings(void **state)
{
    (void)state;
    random_source r = {27};
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 4), &r);
        trl_fst *fst = some_machine(&kind, &r), *back;
        assert_int_equal(trl_fst_reverse(fst, &back, NULL), 0);
        assert_int_equal(trl_fst_verify(back, NULL), 0);
        for (int i = 0; i < 4; i++) {
            pair p = mixed_pair(fst, fst, 5, &r), q = p;
            if (i % 2)
                p = q = sample_pair(fst, 5, &r);
            for (int k = 0; k < p.nx; k++)
                q.x[k] = p.x[p.nx - 1 - k];
            for (int k = 0; k < p.ny; k++)
                q.y[k] = p.y[p.ny - 1 - k];
            check(back, &q, meaning_of(fst, &p));
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(back);
    }
}

/* ---- Replacement ---- */

/* Copies a part into `out`, parts inside it too; its ends lead to `end` (or are final, at TRL_NO_STATE). Returns its
 * start. */
static int32_t copy_part(trl_fst *out, const trl_fst_part *parts, int count, int part, int32_t end)
{
    const trl_fst *fst = parts[part].fst;
    int32_t base = trl_fst_states(out);
    assert_int_equal(trl_fst_add_states(out, trl_fst_states(fst), NULL), 0);
    for (int32_t s = 0; s < trl_fst_states(fst); s++) {
        trl_weight final = trl_fst_final(fst, s);
        if (end == TRL_NO_STATE)
            assert_int_equal(trl_fst_set_final(out, base + s, final, NULL), 0);
        else if (!trl_weight_is_zero(trl_fst_semiring(fst), final))
            assert_int_equal(trl_fst_add_arc(out, base + s, (trl_arc){0, 0, final, end}, NULL), 0);
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            int called = -1;
            for (int k = 0; k < count; k++)
                called = parts[k].label == a.olabel ? k : called;
            a.next += base;
            if (called >= 0) {
                a.olabel = 0;
                a.next = copy_part(out, parts, count, called, a.next);
            }
            if (a.next != TRL_NO_STATE)
                assert_int_equal(trl_fst_add_arc(out, base + s, a, NULL), 0);
        }
    }
    return trl_fst_start(fst) == TRL_NO_STATE ? TRL_NO_STATE : base + trl_fst_start(fst);
}

/* Part k may call parts behind it only. */
static trl_fst *part_machine(trl_semiring semiring, int k, random_source *r)
{
    machine_kind kind = small_kind(semiring, r);
    trl_fst *fst = some_machine(&kind, r);
    for (int calls = (int)random_below(r, 3); k < 2 && trl_fst_states(fst) > 0 && calls > 0; calls--) {
        uint32_t states = (uint32_t)trl_fst_states(fst);
        trl_arc a = {(int32_t)random_below(r, 3), 11 + k + (int32_t)random_below(r, (uint32_t)(2 - k)),
                     random_weight(&kind, r), (int32_t)random_below(r, states)};
        int32_t from = (int32_t)random_below(r, states);
        if (kind.cyclic || from < a.next)
            assert_int_equal(trl_fst_add_arc(fst, from, a, NULL), 0);
    }
    return fst;
}

static void replacing_copies_parts_in(void **state)
{
    (void)state;
    random_source r = {28};
    for (int round = 0; round < ROUNDS; round++) {
        trl_semiring semiring = (trl_semiring)(round % 4);
        trl_fst_part parts[3];
        trl_fst *machines[3], *result, *expected;
        for (int k = 0; k < 3; k++) {
            machines[k] = part_machine(semiring, k, &r);
            parts[k] = (trl_fst_part){k == 0 ? TRL_NO_LABEL : 10 + k, machines[k]};
        }
        assert_int_equal(trl_fst_create(semiring, &expected, NULL), 0);
        int32_t start = copy_part(expected, parts, 3, 0, TRL_NO_STATE);
        if (start != TRL_NO_STATE)
            assert_int_equal(trl_fst_set_start(expected, start, NULL), 0);
        assert_int_equal(trl_fst_replace(parts, 3, TRL_NO_LABEL, NULL, &result, NULL), 0);
        assert_int_equal(trl_fst_verify(result, NULL), 0);
        assert_same_meaning(expected, result, 2, &r);
        for (int k = 0; k < 3; k++)
            trl_fst_destroy(machines[k]);
        trl_fst_destroy(expected);
        trl_fst_destroy(result);
    }
}

static void endless_replacement_is_refused(void **state)
{
    (void)state;
    trl_fst *fst, *result;
    trl_error err;
    assert_int_equal(trl_fst_create(TRL_TROPICAL, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 2, NULL), 0);
    assert_int_equal(trl_fst_set_start(fst, 0, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 1, (trl_weight){0, 0}, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){1, 7, {0, 0}, 1}, NULL), 0);
    trl_fst_part parts[] = {{7, fst}, {8, fst}}, twice[] = {{7, fst}, {7, fst}};
    assert_int_equal(trl_fst_replace(parts, 2, 8, NULL, &result, &err), TRL_ELIMIT);
    assert_null(result);
    assert_int_equal(trl_fst_replace(parts, 2, 9, NULL, &result, &err), TRL_EINVAL);
    assert_int_equal(trl_fst_replace(twice, 2, 7, NULL, &result, &err), TRL_EINVAL);
    trl_replace_options o = trl_replace_defaults();
    trl_fst_delete_arcs(fst, 0);
    trl_fst *root;
    root = copy_of(fst);
    assert_int_equal(trl_fst_add_arc(root, 0, (trl_arc){1, 7, {0, 0}, 1}, NULL), 0);
    assert_int_equal(trl_fst_add_arc(fst, 0, (trl_arc){3, 4, {0, 0}, 1}, NULL), 0);
    parts[1].fst = root;
    o.call = TRL_REPLACE_BOTH;
    o.back = TRL_REPLACE_OUTPUT;
    o.return_label = 5;
    assert_int_equal(trl_fst_replace(parts, 2, 8, &o, &result, &err), 0);
    pair p = {.x = {1, 3}, .y = {7, 4, 5}, .nx = 2, .ny = 3};
    check(result, &p, (meaning){0, 0});
    trl_fst_destroy(result);
    o.most_states = 1;
    assert_int_equal(trl_fst_replace(parts, 2, 8, &o, &result, &err), TRL_ELIMIT);
    trl_fst_destroy(fst);
    trl_fst_destroy(root);
}

/* ---- Failures ---- */

static void different_semirings_are_refused(void **state)
{
    (void)state;
    trl_fst *a, *b;
    assert_int_equal(trl_fst_create(TRL_LOG, &a, NULL), 0);
    assert_int_equal(trl_fst_create(TRL_REAL, &b, NULL), 0);
    assert_int_equal(trl_fst_union(a, b, NULL), TRL_EINVAL);
    assert_int_equal(trl_fst_concat(a, b, NULL), TRL_EINVAL);
    trl_fst_destroy(a);
    trl_fst_destroy(b);
}

static int do_all(const trl_fst *fst, const trl_fst *forward)
{
    trl_fst *work = NULL, *other = NULL;
    static const int32_t from[] = {1, 2}, to[] = {2, 3};
    trl_fst_part parts[] = {{TRL_NO_LABEL, fst}, {2, forward}};
    int code = trl_fst_copy(fst, &work, NULL);
    code = code ? code : trl_fst_arcsort(work, TRL_SIDE_INPUT, NULL);
    code = code ? code : trl_fst_relabel(work, TRL_SIDE_INPUT, from, to, 2, NULL);
    code = code ? code : trl_fst_union(work, forward, NULL);
    code = code ? code : trl_fst_concat(work, forward, NULL);
    code = code ? code : trl_fst_closure(work, TRL_CLOSURE_STAR, NULL);
    code = code ? code : trl_fst_map(work, &(trl_fst_map_options){.kind = TRL_MAP_SUPERFINAL}, NULL);
    code = code ? code : trl_fst_map(work, &(trl_fst_map_options){.kind = TRL_MAP_TO_LATTICE}, NULL);
    code = code ? code : trl_fst_connect(work, NULL);
    code = code ? code : trl_fst_reverse(forward, &other, NULL);
    code = code ? code : trl_fst_topsort(other, NULL);
    trl_fst_destroy(other);
    other = NULL;
    code = code ? code : trl_fst_replace(parts, 2, TRL_NO_LABEL, NULL, &other, NULL);
    trl_fst_destroy(other);
    trl_fst_destroy(work);
    return code;
}

static void running_out_of_memory_is_survived(void **state)
{
    (void)state;
    random_source r = {31};
    machine_kind kind = {.semiring = TRL_LOG, .states = 4, .labels = 3, .arcs = 130, .cyclic = 1};
    trl_fst *fst = random_machine(&kind, &r);
    kind.cyclic = 0;
    kind.labels = 1;
    trl_fst *forward = random_machine(&kind, &r);
    int failures = 0, code = TRL_ENOMEM;
    for (long n = 1; n < 400 && code != 0; n++) {
        trl__memory_fail_after(n);
        code = do_all(fst, forward);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        failures += code != 0;
    }
    assert_int_equal(code, 0);
    assert_true(failures > 20);
    trl_fst_destroy(fst);
    trl_fst_destroy(forward);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_keeps_the_order_of_equal_labels),
        cmocka_unit_test(topological_order_leads_forward),
        cmocka_unit_test(inverting_swaps_and_projecting_forgets),
        cmocka_unit_test(relabelling_is_simultaneous),
        cmocka_unit_test(union_adds_and_concatenation_splits),
        cmocka_unit_test(closure_is_any_number_of_pieces),
        cmocka_unit_test(reversing_reverses_strings),
        cmocka_unit_test(replacing_copies_parts_in),
        cmocka_unit_test(endless_replacement_is_refused),
        cmocka_unit_test(different_semirings_are_refused),
        cmocka_unit_test(running_out_of_memory_is_survived),
    };
    return RUN(tests);
}
