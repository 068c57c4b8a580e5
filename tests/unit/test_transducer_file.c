/* Transducers in files: what is written is read; a damaged one is refused, on opening or when the damaged part is used. */
#include "../fst_fixture.h"
#include "base/memory.h"
#include "temp_folder.h"
#include "transduce/transducer_data.h"

/* Two labels with bitmaps (many sources), others with lists, epsilons, symbol tables. */
static trl_transducer *example(void)
{
    trl_transducer_builder *b;
    trl_transducer *t;
    trl_symbols *symbols;
    assert_int_equal(trl_symbols_create("words", &symbols, NULL), 0);
    assert_int_equal(trl_symbols_add(symbols, "one", 1, NULL), 0);
    assert_int_equal(trl_symbols_add(symbols, "two", 2, NULL), 0);
    assert_int_equal(trl_transducer_builder_create(100, 0, &b, NULL), 0);
    for (int32_t label = 0; label < 6; label++)
        for (int32_t q = 0; q < 99; q++)
            if (label > 3 || q % 40 == label)
                assert_int_equal(trl_transducer_builder_arc(b, label, q, q + 1, label, (float)(q % 7) / 4, NULL), 0);
    assert_int_equal(trl_transducer_builder_final(b, 99, 0.5f, NULL), 0);
    assert_int_equal(trl_transducer_builder_final(b, 2, 1, NULL), 0);
    trl_transducer_builder_symbols(b, symbols, trl_symbols_share(symbols));
    assert_int_equal(trl_transducer_builder_finish(b, &t, NULL), 0);
    return t;
}

static void assert_same(const trl_transducer *a, const trl_transducer *b)
{
    assert_int_equal(trl_transducer_arcs(a), trl_transducer_arcs(b));
    assert_int_equal(trl_transducer_states(a), trl_transducer_states(b));
    assert_int_equal(trl_transducer_start(a), trl_transducer_start(b));
    assert_int_equal(trl_transducer_labels(a), trl_transducer_labels(b));
    assert_int_equal(trl_transducer_walked_bytes(a), trl_transducer_walked_bytes(b));
    for (uint64_t k = 0; k < trl_transducer_arcs(a); k++) {
        trl_transducer_arc x = trl_transducer_get(a, k), y = trl_transducer_get(b, k);
        assert_memory_equal(&x, &y, sizeof x);
    }
    for (int32_t q = 0; q < trl_transducer_states(a); q++)
        assert_true(trl_transducer_final(a, q) == trl_transducer_final(b, q));
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    trl_transducer *t = example(), *mapped, *loaded;
    trl_error err;
    assert_int_equal(trl_transducer_write(t, temp_path("a.trt"), &err), 0);
    assert_int_equal(trl_transducer_open(temp_path("a.trt"), &mapped, &err), 0);
    assert_int_equal(trl_transducer_load(temp_path("a.trt"), &loaded, &err), 0);
    assert_int_equal(trl_transducer_verify(mapped, NULL, &err), 0);
    assert_int_equal(trl_transducer_verify(loaded, NULL, &err), 0);
    assert_same(t, mapped);
    assert_same(t, loaded);
    assert_string_equal(trl_symbols_name(trl_transducer_input_symbols(mapped), 2), "two");
    assert_string_equal(trl_symbols_title(trl_transducer_output_symbols(mapped)), "words");
    assert_int_equal(trl_transducer_write(mapped, temp_path("b.trt"), &err), 0);
    trl_transducer_destroy(loaded);
    trl_transducer_destroy(mapped);
    trl_transducer_destroy(t);
}

static void arcs_are_sorted_whatever_their_order(void **state)
{
    (void)state;
    random_source r = {4};
    for (int32_t states = 3; states < 5000; states *= 7) {
        trl_transducer_builder *b;
        trl_transducer *t;
        assert_int_equal(trl_transducer_builder_create(states, 0, &b, NULL), 0);
        for (int i = 0; i < 6000; i++)
            assert_int_equal(trl_transducer_builder_arc(b, 1 + i / 4000, (int32_t)random_below(&r, (uint32_t)states),
                                                        (int32_t)random_below(&r, (uint32_t)states),
                                                        (int32_t)random_below(&r, 3), (float)random_below(&r, 9), NULL),
                             0);
        assert_int_equal(trl_transducer_builder_finish(b, &t, NULL), 0);
        assert_int_equal(trl_transducer_arcs(t), 6000);
        for (uint64_t k = 1; k < 6000; k++) {
            trl_transducer_arc x = trl_transducer_get(t, k - 1), y = trl_transducer_get(t, k);
            int32_t a[] = {x.input, x.source, x.target, x.output}, c[] = {y.input, y.source, y.target, y.output};
            int i = 0;
            while (i < 3 && a[i] == c[i])
                i++;
            assert_true(a[i] < c[i] || (a[i] == c[i] && x.weight <= y.weight));
        }
        trl_transducer_destroy(t);
    }
}

static void what_can_not_be_is_refused(void **state)
{
    (void)state;
    trl_transducer_builder *b;
    trl_transducer *t;
    assert_int_equal(trl_transducer_builder_create(2, 2, &b, NULL), TRL_EINVAL);
    assert_int_equal(trl_transducer_builder_create(2, 0, &b, NULL), 0);
    assert_int_equal(trl_transducer_builder_arc(b, 3, 0, 1, 0, 0, NULL), 0);
    assert_int_equal(trl_transducer_builder_arc(b, 2, 0, 1, 0, 0, NULL), TRL_EINVAL);
    assert_int_equal(trl_transducer_builder_arc(b, 3, 0, 2, 0, 0, NULL), TRL_EINVAL);
    assert_int_equal(trl_transducer_builder_arc(b, 3, 0, 1, 0, NAN, NULL), TRL_ENUMBER);
    assert_int_equal(trl_transducer_builder_arc(b, 3, 0, 1, 0, INFINITY, NULL), 0); /* left out */
    assert_int_equal(trl_transducer_builder_final(b, 1, 0, NULL), 0);
    assert_int_equal(trl_transducer_builder_final(b, 1, 0, NULL), TRL_EINVAL);
    assert_int_equal(trl_transducer_builder_finish(b, &t, NULL), 0);
    assert_int_equal(trl_transducer_arcs(t), 1);
    trl_transducer_destroy(t);
    assert_int_equal(trl_transducer_builder_create(2, 0, &b, NULL), 0); /* a cycle without input that costs -1 */
    assert_int_equal(trl_transducer_builder_arc(b, 0, 0, 1, 0, 1, NULL), 0);
    assert_int_equal(trl_transducer_builder_arc(b, 0, 1, 0, 0, -2, NULL), 0);
    assert_int_equal(trl_transducer_builder_finish(b, &t, NULL), TRL_ELIMIT);
    assert_int_equal(trl_transducer_builder_create(1, 0, &b, NULL),
                     0); /* a cycle whose sum has no limit, but a best path */
    assert_int_equal(trl_transducer_builder_arc(b, 0, 0, 0, 0, 0, NULL), 0);
    assert_int_equal(trl_transducer_builder_final(b, 0, 0, NULL), 0);
    assert_int_equal(trl_transducer_builder_finish(b, &t, NULL), 0);
    trl_transduce_work *work;
    trl_transduction result;
    assert_int_equal(trl_transduce_create(t, NULL, &work, NULL), 0);
    assert_int_equal(trl_transduce(work, TRL_TRANSDUCE_VITERBI, &(trl_transduce_input){0}, &result, NULL), 0);
    assert_true(result.found && result.weight == 0);
    assert_int_equal(trl_transduce(work, TRL_TRANSDUCE_FORWARD, &(trl_transduce_input){0}, &result, NULL), TRL_ELIMIT);
    trl_transduce_destroy(work);
    trl_transducer_destroy(t);
}

/* Every byte that says something, changed once: refused by opening or by looking at all. Zeros between sections count, too. */
static void damage_is_seen(void **state)
{
    (void)state;
    trl_transducer *t = example();
    trl_error err;
    assert_int_equal(trl_transducer_write(t, temp_path("whole.trt"), &err), 0);
    trl_transducer_destroy(t);
    FILE *file = fopen(temp_path("whole.trt"), "rb");
    assert_non_null(file);
    static char bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 1000 && size < sizeof bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(bytes[i] ^ 0x10);
        trl__container *container;
        int code = trl__container_from_memory("damaged", bytes, size, TRL__TRANSDUCER_KIND, TRL__TRANSDUCER_VERSION,
                                              &container, &err);
        if (code == 0)
            code = trl__transducer_from_container(container, &t, &err);
        if (code == 0) {
            code = trl_transducer_verify(t, NULL, &err);
            trl_transducer_destroy(t);
        }
        if (code >= 0)
            fail_msg("a change of byte %zu was not seen", i);
        bytes[i] = (char)(bytes[i] ^ 0x10);
    }
}

static void counts_come_back_from_files(void **state)
{
    (void)state;
    trl_transducer *t = example(), *other;
    trl_transducer_builder *b;
    trl_counts *counts, *again;
    int32_t labels[] = {4, 5};
    trl_transduce_input input = {.labels = labels, .count = 2};
    trl_error err;
    assert_int_equal(trl_transduce_count(t, NULL, &input, 1, &counts, &err), 0);
    assert_int_equal(trl_counts_inputs(counts), 1);
    assert_int_equal(trl_counts_write(counts, temp_path("a.counts"), &err), 0);
    assert_int_equal(trl_counts_read(temp_path("a.counts"), t, &again, &err), 0);
    assert_int_equal(trl_counts_merge(again, counts, &err), 0);
    assert_true(trl_counts_weight(again) == 2 * trl_counts_weight(counts));
    for (uint64_t k = 0; k < trl_transducer_arcs(t); k++)
        assert_true(trl_counts_arc(again, k) == 2 * trl_counts_arc(counts, k));
    trl_counts_destroy(again);
    assert_int_equal(trl_transducer_builder_create(3, 0, &b, &err), 0);
    assert_int_equal(trl_transducer_builder_finish(b, &other, &err), 0);
    assert_int_equal(trl_counts_read(temp_path("a.counts"), other, &again, &err), TRL_EINVAL);
    assert_int_equal(trl_counts_create(other, &again, &err), 0);
    assert_int_equal(trl_counts_merge(again, counts, &err), TRL_EINVAL);
    trl_counts_destroy(again);
    trl_counts_destroy(counts);
    trl_transducer_destroy(other);
    trl_transducer_destroy(t);
}

static void a_machine_and_back(void **state)
{
    (void)state;
    random_source r = {12};
    for (int round = 0; round < 100; round++) {
        machine_kind kind = {
            .semiring = TRL_TROPICAL, .states = 8, .arcs = 25, .labels = 3, .epsilons = 0.1, .cyclic = 1};
        trl_fst *fst = random_machine(&kind, &r), *back;
        trl_transducer *t;
        assert_int_equal(trl_transducer_from_fst(fst, &t, NULL), 0);
        assert_int_equal(trl_transducer_to_fst(t, TRL_TROPICAL, &back, NULL), 0);
        assert_int_equal(trl_fst_arcs(fst), trl_fst_arcs(back));
        assert_same_meaning(fst, back, 5, &r);
        trl_fst_destroy(back);
        trl_transducer_destroy(t);
        trl_fst_destroy(fst);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),     cmocka_unit_test(arcs_are_sorted_whatever_their_order),
        cmocka_unit_test(what_can_not_be_is_refused),  cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(counts_come_back_from_files), cmocka_unit_test(a_machine_and_back),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
