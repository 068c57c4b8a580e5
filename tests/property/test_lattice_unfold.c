/* Lattices with many paths of the same words become lattices with one, the best. */
#include "base/memory.h"
#include "random_lattice.h"

static trl_error err;
static const trl_lattice_scale scale = {0.5, 1, 0};

static double score_of(const lattice_path *p)
{
    return scale.acoustic * p->acoustic + scale.graph * p->graph;
}

static int same_words(const lattice_path *a, const lattice_path *b)
{
    return compare_ints(a->words, a->word_count, b->words, b->word_count) == 0;
}

/* The path is one of those that are the best among the paths with its words. */
static void assert_best(const path_list *all, const lattice_path *path)
{
    double best = INFINITY;
    int found = 0;
    for (size_t i = 0; i < all->count; i++)
        if (same_words(&all->items[i], path) && score_of(&all->items[i]) < best)
            best = score_of(&all->items[i]);
    for (size_t i = 0; i < all->count; i++) {
        const lattice_path *p = &all->items[i];
        found |= same_words(p, path) && score_of(p) < best + 1e-3 && fabs(p->graph - path->graph) < 1e-3 &&
                 fabs(p->acoustic - path->acoustic) < 1e-3 &&
                 compare_ints(p->transitions, p->transition_count, path->transitions, path->transition_count) == 0;
    }
    assert_true(found);
}

static size_t count_strings(const path_list *all)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += i == 0 || !same_words(&all->items[i - 1], &all->items[i]);
    return count;
}

static void test_random(void **state)
{
    (void)state;
    size_t shorter = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        random_source random = {seed};
        lattice_kind kind = {.states = 2 + (int32_t)(seed % 7), .arcs = 3, .words = 2, .frames = 12, .ambiguous = 1};
        trl_lattice *lattice = random_lattice(&kind, &random), *out;
        if (trl_lattice_determinize(lattice, &scale, INFINITY, &out, &err) < 0)
            fail_msg("%s", err.text);
        path_list before = all_paths(lattice), after = all_paths(out);
        assert_int_equal(after.count, count_strings(&before));
        assert_int_equal(after.count, count_strings(&after));
        for (size_t i = 0; i < after.count; i++)
            assert_best(&before, &after.items[i]);
        shorter += after.count < before.count;
        assert_int_equal(trl_lattice_look(out).frames, trl_lattice_look(lattice).frames);
        free_paths(&before);
        free_paths(&after);
        trl_lattice_destroy(lattice);
        trl_lattice_destroy(out);
    }
    assert_true(shorter > 50);
}

static void test_refused(void **state)
{
    (void)state;
    random_source random = {3};
    lattice_kind kind = {.states = 5, .arcs = 3, .words = 2, .frames = 12, .ambiguous = 1};
    trl_lattice *lattice = random_lattice(&kind, &random), *out;
    trl_lattice_scale wrong = {1, 0, 0};
    assert_int_equal(trl_lattice_determinize(lattice, &wrong, 1, &out, &err), TRL_EINVAL);
    assert_int_equal(trl_lattice_determinize(lattice, &scale, -1, &out, &err), TRL_EINVAL);
    int code = TRL_ENOMEM;
    for (long n = 1; code == TRL_ENOMEM; n++) {
        trl__memory_fail_after(n);
        code = trl_lattice_determinize(lattice, &scale, INFINITY, &out, &err);
        trl__memory_fail_after(0);
    }
    assert_int_equal(code, 0);
    trl_lattice_destroy(out);
    trl_lattice_destroy(lattice);
    trl__lattice_draft nothing = {0};
    assert_int_equal(trl__draft_finish(&nothing, NULL, &lattice, &err), 0);
    assert_int_equal(trl_lattice_determinize(lattice, &scale, INFINITY, &out, &err), 0);
    assert_int_equal(trl_lattice_look(out).states, 0);
    trl_lattice_destroy(out);
    trl_lattice_destroy(lattice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
