/* Laws of trees and of models with them, over random ones: looked up by rules, kept by copies, files and Kaldi's
 * form. */
#include "tree_fixture.h"

#define CASES 400
#define WINDOWS 60

static trl_error err;

static void lookups_follow_the_rules(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {seed, 0};
        int32_t states[100], units = roll(&d, 1, seed % 10 == 0 ? 100 : 6), window[8];
        for (int32_t u = 0; u < units; u++)
            states[u] = roll(&d, 1, 3);
        grown_tree g = grow_tree(&d, units, states, 1);
        if (trl__tree_check(g.tree, "random", &err) < 0)
            fail_msg("seed %d: %s", (int)seed, err.text);
        for (int i = 0; i < WINDOWS; i++) {
            random_window(&d, g.tree, window);
            int32_t s = roll(&d, 0, g.tree->states - 1), unit = window[g.tree->centre];
            assert_int_equal(trl__tree_find(g.tree, window, s), s < states[unit] ? find_by_rules(&g, window, s) : -1);
        }
        free_grown(&g);
    }
}

static void tied_states_are_those_of_any_context(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {seed, 0};
        int32_t states[6], units = roll(&d, 1, 6), window[8];
        for (int32_t u = 0; u < units; u++)
            states[u] = roll(&d, 1, 3);
        grown_tree g = grow_tree(&d, units, states, 1);
        uint8_t *marks = calloc((size_t)g.tree->leaves, 1);
        int32_t *tied = malloc((size_t)g.tree->leaves * sizeof *tied); /* no more room than is promised */
        for (int32_t u = 0; u < units; u++)
            for (int32_t s = 0; s < states[u]; s++) {
                int32_t count = trl__tree_tied_states(g.tree, u, s, tied), next = 0;
                mark_by_rules(&g, u, s, marks);
                for (int32_t j = 0; j < g.tree->leaves; j++)
                    if (marks[j])
                        assert_true(next < count && tied[next++] == j);
                assert_int_equal(next, count);
                random_window(&d, g.tree, window);
                window[g.tree->centre] = u;
                assert_true(marks[trl__tree_find(g.tree, window, s)]);
            }
        free(marks);
        free(tied);
        free_grown(&g);
    }
}

static void files_and_copies_keep_every_byte(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 16; seed++) { /* every file is synced */
        grown_tree g;
        trl_model *m = random_tree_model(seed, &g), *read, *copy;
        int32_t window[8];
        dice d = {seed, 1000};
        assert_int_equal(trl_model_write(m, temp_path("first"), &err), 0);
        if (trl_model_read(temp_path("first"), &read, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(trl__model_copy(read, &copy, &err), 0);
        assert_same_model_file(m, read);
        assert_same_model_file(m, copy);
        for (int i = 0; i < WINDOWS; i++) {
            random_window(&d, m->tree, window);
            for (int32_t s = 0; s < trl__unit_topology(m, window[m->tree->centre])->states; s++)
                assert_int_equal(trl_model_find_tied(read, window, s), find_by_rules(&g, window, s));
        }
        /* the mixtures can be replaced one set after the other, whichever lies in the file */
        trl__model_set_mixtures(read, copy->first_gaussian, copy->log_weight, copy->mean, copy->variance);
        copy->first_gaussian = NULL;
        copy->log_weight = copy->mean = copy->variance = NULL;
        assert_same_model_file(m, read);
        trl_model_destroy(m);
        trl_model_destroy(read);
        trl_model_destroy(copy);
        trl__free(g.rules);
    }
}

static void triples_are_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 4; seed++) {
        grown_tree g;
        trl_model *m = random_tree_model(seed, &g);
        for (int32_t u = 0; u < trl_model_units(m); u++)
            for (int32_t s = 0; s <= m->tree->states; s++)
                for (int32_t j = 0; j < m->tied_states; j++) {
                    int32_t expected = -1;
                    for (int32_t i = 0; i < m->triples; i++)
                        if (m->triple[i].unit == u && m->triple[i].state == s && m->triple[i].tied == j)
                            expected = i;
                    assert_int_equal(trl__model_find_triple(m, u, s, j), expected);
                }
        trl_model_destroy(m);
        trl__free(g.rules);
    }
}

static int windows_differ(const trl_model *a, const trl_model *b, int32_t *window, int32_t p)
{
    int different = 0;
    if (p < a->tree->width) {
        for (int32_t u = p == a->tree->centre ? 0 : -1; u < a->tree->units; u++) {
            window[p] = u;
            different += windows_differ(a, b, window, p + 1);
        }
        return different;
    }
    for (int32_t s = 0; s < trl__unit_topology(a, window[a->tree->centre])->states; s++)
        different += trl_model_find_tied(a, window, s) != trl_model_find_tied(b, window, s);
    return different;
}

/* Written for Kaldi, binary or text, and read again, the tree answers the same to every window. */
static void kaldis_form_keeps_every_answer(void **state)
{
    (void)state;
    int compared = 0;
    for (uint64_t seed = 1; seed <= CASES / 10; seed++) {
        grown_tree g;
        int32_t window[8];
        trl_model *m = random_tree_model(seed, &g), *read = NULL;
        if (trl_model_write_kaldi(m, temp_path("kaldi"), seed % 2 == 0, &err) < 0 ||
            trl_model_read_kaldi(temp_path("kaldi/final.mdl"), temp_path("kaldi/phones.txt"), &read, &err) < 0)
            fail_msg("seed %d: %s", (int)seed, err.text);
        assert_same_structure(m, read, 1);
        if (read->tree && m->tree->width < 5) {
            assert_int_equal(windows_differ(m, read, window, 0), 0);
            compared++;
        }
        trl_model_destroy(m);
        trl_model_destroy(read);
        trl__free(g.rules);
    }
    assert_true(compared > CASES / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookups_follow_the_rules),         cmocka_unit_test(tied_states_are_those_of_any_context),
        cmocka_unit_test(files_and_copies_keep_every_byte), cmocka_unit_test(triples_are_found),
        cmocka_unit_test(kaldis_form_keeps_every_answer),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
