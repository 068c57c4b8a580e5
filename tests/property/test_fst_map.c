/* Maps of weights and arcs against their definitions, and the meaning of what they make. */
#include "fst_fixture.h"

#include <trellis/fst_structure.h>

#define ROUNDS 3000

static double mapped_by_definition(const trl_fst_map_options *o, trl_semiring s, double w, double other)
{
    switch (o->kind) {
    case TRL_MAP_INVERT: return s == TRL_REAL ? 1 / w : -w;
    case TRL_MAP_TIMES: return s == TRL_REAL ? w * other : w + other;
    case TRL_MAP_PLUS: return meaning_plus(s, (meaning){w, 0}, (meaning){other, 0}).value;
    case TRL_MAP_POWER: return s == TRL_REAL ? pow(w, o->power) : w * o->power;
    case TRL_MAP_QUANTIZE: return round(w / (double)o->delta) * (double)o->delta;
    case TRL_MAP_REMOVE_WEIGHTS: return s == TRL_REAL ? 1 : 0;
    case TRL_MAP_TO_REAL: return s == TRL_REAL ? w : exp(-w);
    case TRL_MAP_TO_TROPICAL:
    case TRL_MAP_TO_LOG:
    case TRL_MAP_TO_LATTICE: return s == TRL_REAL ? -log(w) : w;
    default: return w;
    }
}

/* Single weights; those of lattices have two parts, which are looked at in the test after this one. */
static void maps_change_weights(void **state)
{
    (void)state;
    static const trl_fst_map_kind kinds[] = {TRL_MAP_IDENTITY,       TRL_MAP_INVERT,    TRL_MAP_TIMES,
                                             TRL_MAP_PLUS,           TRL_MAP_POWER,     TRL_MAP_QUANTIZE,
                                             TRL_MAP_REMOVE_WEIGHTS, TRL_MAP_TO_REAL,   TRL_MAP_TO_LOG,
                                             TRL_MAP_TO_TROPICAL,    TRL_MAP_TO_LATTICE};
    random_source r = {29};
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 3), &r);
        trl_fst *fst = random_machine(&kind, &r), *other = copy_of(fst);
        trl_fst_map_options o = {.kind = kinds[random_below(&r, 11)], .weight = {1.5f, 0}, .power = 2, .delta = 0.031f};
        assert_int_equal(trl_fst_map(other, &o, NULL), 0);
        assert_int_equal(trl_fst_verify(other, NULL), 0);
        for (int32_t s = 0; s < trl_fst_states(fst); s++) {
            trl_weight f = trl_fst_final(fst, s), g = trl_fst_final(other, s);
            int zero = trl_weight_is_zero(kind.semiring, f);
            assert_int_equal(zero, trl_weight_is_zero(trl_fst_semiring(other), g));
            if (!zero)
                assert_true(fabs((double)g.value - mapped_by_definition(&o, kind.semiring, (double)f.value, 1.5)) <
                            1e-4);
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                trl_arc a = trl_fst_arc(fst, s, i), b = trl_fst_arc(other, s, i);
                assert_true(fabs((double)b.weight.value -
                                 mapped_by_definition(&o, kind.semiring, (double)a.weight.value, 1.5)) < 1e-4);
                assert_true(a.ilabel == b.ilabel && a.olabel == b.olabel && a.next == b.next);
            }
        }
        trl_fst_destroy(fst);
        trl_fst_destroy(other);
    }
}

static void lattice_weights_are_joined_by_their_sum(void **state)
{
    (void)state;
    trl_fst *fst;
    assert_int_equal(trl_fst_create(TRL_LATTICE, &fst, NULL), 0);
    assert_int_equal(trl_fst_add_states(fst, 1, NULL), 0);
    assert_int_equal(trl_fst_set_final(fst, 0, (trl_weight){1.5f, 2}, NULL), 0);
    assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_POWER, .power = 2}, NULL), 0);
    assert_true(trl_fst_final(fst, 0).value == 3 && trl_fst_final(fst, 0).second == 4);
    assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_TO_LOG}, NULL), 0);
    assert_true(trl_fst_final(fst, 0).value == 7 && trl_fst_semiring(fst) == TRL_LOG);
    assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_TO_LATTICE}, NULL), 0);
    assert_true(trl_fst_final(fst, 0).value == 7 && trl_fst_final(fst, 0).second == 0);
    assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_QUANTIZE}, NULL), TRL_EINVAL);
    assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_TIMES, .weight = {NAN, 0}}, NULL),
                     TRL_ENUMBER);
    assert_true(trl_fst_final(fst, 0).value == 7);
    trl_fst_destroy(fst);
}

/* No two arcs of a state with the same labels and next state and, unless they were summed, the same weight. */
static void assert_distinct(const trl_fst *fst, int summed)
{
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t i = 1; i < trl_fst_arc_count(fst, s); i++)
            for (uint32_t j = 0; j < i; j++) {
                trl_arc a = trl_fst_arc(fst, s, i), b = trl_fst_arc(fst, s, j);
                assert_true(a.ilabel != b.ilabel || a.olabel != b.olabel || a.next != b.next ||
                            (!summed && (a.weight.value != b.weight.value || a.weight.second != b.weight.second)));
            }
}

static void maps_change_arcs(void **state)
{
    (void)state;
    random_source r = {30};
    for (int round = 0; round < ROUNDS; round++) {
        machine_kind kind = small_kind((trl_semiring)(round % 4), &r);
        kind.labels = 1;
        kind.arcs *= 2;
        trl_fst *fst = random_machine(&kind, &r), *sum = copy_of(fst), *unique = copy_of(fst), *end = copy_of(fst);
        assert_int_equal(trl_fst_map(sum, &(trl_fst_map_options){.kind = TRL_MAP_ARC_SUM}, NULL), 0);
        assert_int_equal(trl_fst_map(unique, &(trl_fst_map_options){.kind = TRL_MAP_ARC_UNIQUE}, NULL), 0);
        assert_int_equal(trl_fst_map(end, &(trl_fst_map_options){.kind = TRL_MAP_SUPERFINAL}, NULL), 0);
        assert_distinct(sum, 1);
        assert_distinct(unique, 0);
        assert_same_meaning(fst, sum, 2, &r);
        assert_same_meaning(fst, end, 2, &r);
        if (kind.semiring == TRL_TROPICAL || kind.semiring == TRL_LATTICE)
            assert_same_meaning(fst, unique, 1, &r);
        for (int32_t s = 0; s < trl_fst_states(end); s++)
            assert_int_equal(trl_weight_is_zero(kind.semiring, trl_fst_final(end, s)), s < trl_fst_states(end) - 1);
        assert_int_equal(trl_fst_map(end, &(trl_fst_map_options){.kind = TRL_MAP_INPUT_EPSILON}, NULL), 0);
        for (int32_t s = 0; s < trl_fst_states(fst); s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
                assert_int_equal(trl_fst_arc(end, s, i).ilabel, 0);
                assert_int_equal(trl_fst_arc(end, s, i).olabel, trl_fst_arc(fst, s, i).olabel);
            }
        assert_int_equal(trl_fst_map(fst, &(trl_fst_map_options){.kind = TRL_MAP_OUTPUT_EPSILON}, NULL), 0);
        for (int32_t s = 0; s < trl_fst_states(fst); s++)
            for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++)
                assert_int_equal(trl_fst_arc(fst, s, i).olabel, 0);
        trl_fst_destroy(fst);
        trl_fst_destroy(sum);
        trl_fst_destroy(unique);
        trl_fst_destroy(end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_change_weights),
        cmocka_unit_test(lattice_weights_are_joined_by_their_sum),
        cmocka_unit_test(maps_change_arcs),
    };
    return RUN(tests);
}
