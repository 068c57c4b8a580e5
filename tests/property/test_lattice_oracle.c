/* The path with the fewest errors, against all paths and the edit distance by its definition. */
#include "base/memory.h"
#include "random_lattice.h"

#include <trellis/lattice_oracle.h>

#define MOST 40

static trl_error err;

static size_t distance(const int32_t *a, size_t n, const int32_t *b, size_t m)
{
    size_t cost[MOST + 1][MOST + 1];
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            size_t best = i == 0 ? j : i;
            if (i > 0 && j > 0) {
                best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
                best = cost[i - 1][j] + 1 < best ? cost[i - 1][j] + 1 : best;
                best = cost[i][j - 1] + 1 < best ? cost[i][j - 1] + 1 : best;
            }
            cost[i][j] = best;
        }
    return cost[n][m];
}

/* The path is one of the lattice's, with its costs, and has as many errors as it says. */
static void check(const trl_lattice *lattice, const int32_t *said, size_t count)
{
    trl_oracle_path path;
    path_list paths = all_paths(lattice);
    size_t least = SIZE_MAX, found = 0;
    assert_int_equal(trl_lattice_oracle(lattice, NULL, said, count, &path, &err), 0);
    for (size_t i = 0; i < paths.count; i++) {
        const lattice_path *p = &paths.items[i];
        size_t errors = distance(said, count, p->words, p->word_count);
        least = errors < least ? errors : least;
        found += errors == trl_errors(path.counts) && p->graph == path.graph && p->acoustic == path.acoustic &&
                 compare_ints(p->words, p->word_count, path.words, path.count) == 0;
    }
    assert_int_equal(trl_errors(path.counts), least);
    assert_true(found > 0);
    assert_int_equal(path.counts.words, count);
    assert_int_equal(path.counts.correct + path.counts.substitutions + path.counts.deletions, count);
    assert_int_equal(path.counts.correct + path.counts.substitutions + path.counts.insertions, path.count);
    assert_int_equal(path.counts.utterances, 1);
    assert_int_equal(path.counts.wrong, least > 0);
    trl_oracle_path_free(&path);
    free_paths(&paths);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        random_source random = {seed};
        lattice_kind kind = {
            .states = 2 + (int32_t)(seed % 8), .arcs = 3, .words = 4, .frames = 12, .ambiguous = seed % 2};
        trl_lattice *lattice = random_lattice(&kind, &random);
        int32_t said[12];
        size_t count = random_below(&random, 12);
        for (size_t i = 0; i < count; i++)
            said[i] = random_chance(&random, 0.1) ? -1 : 1 + (int32_t)random_below(&random, 4);
        check(lattice, said, count);
        trl_lattice_destroy(lattice);
    }
}

static void test_empty(void **state)
{
    (void)state;
    trl_lattice *lattice;
    trl_oracle_path path;
    trl__lattice_draft draft = {0};
    assert_int_equal(trl__draft_finish(&draft, NULL, &lattice, &err), 0);
    assert_int_equal(trl_lattice_oracle(lattice, NULL, (int32_t[]){1, 2}, 2, &path, &err), 0);
    assert_int_equal(path.counts.deletions, 2);
    assert_int_equal(path.count, 0);
    trl_oracle_path_free(&path);
    trl_lattice_destroy(lattice);
}

static void test_memory(void **state)
{
    (void)state;
    random_source random = {3};
    trl_lattice *lattice = random_lattice(&(lattice_kind){.states = 6, .arcs = 3, .words = 4, .frames = 9}, &random);
    trl_oracle_path path;
    for (long n = 1; n <= 2; n++) {
        trl__memory_fail_after(n);
        assert_int_equal(trl_lattice_oracle(lattice, NULL, (int32_t[]){1}, 1, &path, &err), TRL_ENOMEM);
        trl__memory_fail_after(0);
        trl_oracle_path_free(&path);
    }
    trl_lattice_destroy(lattice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_empty),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
