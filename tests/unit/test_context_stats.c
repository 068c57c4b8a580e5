/* Sums per context, sums' likelihoods and clustering. */
#include "context_fixture.h"

static trl_error err;

static void counts_sums_and_squares(void **state)
{
    (void)state;
    trl__context_stats *s = stats_for(3, 1, 2);
    const int32_t a[] = {TRL__NOTHING, 4, 2, 0}, b[] = {TRL__NOTHING, 4, 2, 1};
    trl__context_stats_add(trl__context_stats_slot(s, a), 2, (float[]){1, 2});
    trl__context_stats_add(trl__context_stats_slot(s, b), 2, (float[]){5, -5});
    trl__context_stats_add(trl__context_stats_slot(s, a), 2, (float[]){3, -4});
    const double want[] = {2, 4, -2, 10, 20, 1, 5, -5, 25, 25};
    assert_int_equal(s->keys.count, 2);
    assert_memory_equal(s->slots, want, sizeof want);
    trl__context_stats_zero(s);
    assert_int_equal(s->keys.count, 0);
    assert_int_equal(trl__tuples_find(&s->keys, a), -1);
    assert_true(trl__context_stats_slot(s, b)[0] == 0 && trl__context_stats_slot(s, b)[4] == 0);
    assert_int_equal(s->keys.count, 1);
    trl__context_stats_destroy(s);
    trl__context_stats_destroy(NULL);
}

static void refuses_impossible_shapes(void **state)
{
    (void)state;
    trl__context_stats *s;
    const int32_t shapes[][3] = {{0, 0, 1}, {16, 0, 1}, {3, 3, 1}, {3, -1, 1}, {3, 1, 0}, {3, 1, TRL__DIM_MOST + 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_int_equal(trl__context_stats_create(shapes[i][0], shapes[i][1], shapes[i][2], &s, &err), TRL_EINVAL);
        assert_null(s);
    }
}

/* Whole numbers, so that sums are exact in any order. */
static void add_whole(dice *d, trl__context_stats *s, trl__context_stats *too)
{
    int32_t key[4] = {roll(d, -1, 3), roll(d, 0, 3), roll(d, -1, 3), roll(d, 0, 2)};
    float frame[3] = {(float)roll(d, -9, 9), (float)roll(d, -9, 9), (float)roll(d, -9, 9)};
    trl__context_stats_add(trl__context_stats_slot(s, key), 3, frame);
    if (too)
        trl__context_stats_add(trl__context_stats_slot(too, key), 3, frame);
}

static void merged_blocks_are_all_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        dice d = {seed, 0};
        trl__context_stats *all = stats_for(3, 1, 3), *merged = stats_for(3, 1, 3), *block = stats_for(3, 1, 3);
        for (int blocks = roll(&d, 1, 5); blocks > 0; blocks--) {
            trl__context_stats_zero(block);
            for (int frames = roll(&d, 0, 60); frames > 0; frames--)
                add_whole(&d, all, block);
            must_work(trl__context_stats_merge(merged, block, &err), &err);
        }
        assert_int_equal(all->keys.count, merged->keys.count);
        if (all->keys.count > 0) {
            assert_memory_equal(all->keys.keys, merged->keys.keys, all->keys.count * 4 * sizeof(int32_t));
            assert_memory_equal(all->slots, merged->slots, all->keys.count * 7 * sizeof(double));
        }
        trl__context_stats_destroy(all);
        trl__context_stats_destroy(merged);
        trl__context_stats_destroy(block);
    }
}

static void refuses_to_merge_other_shapes(void **state)
{
    (void)state;
    trl__context_stats *a = stats_for(3, 1, 2), *b[] = {stats_for(5, 1, 2), stats_for(3, 2, 2), stats_for(3, 1, 3)};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(trl__context_stats_merge(a, b[i], &err), TRL_EINVAL);
        trl__context_stats_destroy(b[i]);
    }
    trl__context_stats_destroy(a);
}

static void checks_units_states_and_numbers(void **state)
{
    (void)state;
    trl_model *m = model_of_phones(2, 3, 0, 2); /* units 0 … 3 */
    const int32_t keys[][4] = {
        {TRL__NOTHING, 3, 0, 2}, {-2, 3, 0, 0}, {0, 3, 4, 0}, {0, TRL__NOTHING, 0, 0}, {0, 4, 0, 0},
        {0, 3, TRL__NOTHING, 3}, {0, 3, 0, -1}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        trl__context_stats *s = stats_for(3, 1, 2);
        trl__context_stats_add(trl__context_stats_slot(s, keys[i]), 2, (float[]){1, 2});
        assert_int_equal(trl__context_stats_check(s, m, &err), i == 0 ? 0 : TRL_EINVAL);
        s->slots[i % 5] = i % 2 ? (double)NAN : (double)INFINITY;
        assert_int_equal(trl__context_stats_check(s, m, &err), i == 0 ? TRL_ENUMBER : TRL_EINVAL);
        trl__context_stats_destroy(s);
    }
    trl_model_destroy(m);
}

static void runs_out_of_memory_cleanly(void **state)
{
    (void)state;
    int n = 1, code = -1;
    for (; code < 0; n++) {
        dice d = {1, 0};
        trl__context_stats *s = NULL, *other = stats_for(3, 1, 3);
        for (int i = 0; i < 300; i++)
            add_whole(&d, other, NULL);
        trl__memory_fail_after(n);
        code = trl__context_stats_create(3, 1, 3, &s, &err);
        if (code == 0)
            code = trl__context_stats_merge(s, other, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        trl__context_stats_destroy(s);
        trl__context_stats_destroy(other);
    }
    assert_true(n > 5);
}

/* ---- likelihoods and clusters ---- */

static void likelihood_is_that_of_the_definition(void **state)
{
    (void)state;
    const double none[3] = {0}, one[3] = {4, 8, 16 + 4 * 2.5}; /* mean 2, variance 2.5 */
    assert_true(trl__sums_likelihood(none, 1, 0.01) == 0);
    assert_float_equal((float)trl__sums_likelihood(one, 1, 0.01), -2 * (1 + log(2 * acos(-1)) + log(2.5)), 1e-5);
    for (uint64_t seed = 0; seed < 2000; seed++) {
        dice d = {seed, 0};
        int32_t dim = seed % 50 == 0 ? roll(&d, 1000, 5000) : roll(&d, 1, 50);
        double *sums = malloc(trl__sums_size(dim) * sizeof *sums), n = roll(&d, 1, 1000);
        double floor = exp(roll(&d, -30, 5));
        assert_non_null(sums);
        sums[0] = n;
        for (int32_t k = 0; k < dim; k++) {
            double mean = 3 * (roll_uniform(&d) - 0.5);
            sums[1 + k] = n * mean;
            sums[1 + dim + k] = n * (mean * mean + exp(roll(&d, -10, 20)));
        }
        double want = plain_likelihood(sums, dim, floor), got = trl__sums_likelihood(sums, dim, floor);
        if (fabs(got - want) > 1e-11 * n * dim)
            fail_msg("seed %d: %.17g, not %.17g", (int)seed, got, want);
        free(sums);
    }
}

static double naive_loss(const double *a, const double *b, int32_t dim, double floor)
{
    double both[64];
    for (size_t k = 0; k < trl__sums_size(dim); k++)
        both[k] = a[k] + b[k];
    return plain_likelihood(a, dim, floor) + plain_likelihood(b, dim, floor) - plain_likelihood(both, dim, floor);
}

/* The least loss of any pair of rows that are left. */
static double least_loss(const double *rows, const int *alive, int count, int32_t dim, double floor)
{
    double least = INFINITY;
    size_t size = trl__sums_size(dim);
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++)
            if (alive[i] && alive[j])
                least = fmin(least, naive_loss(rows + (size_t)i * size, rows + (size_t)j * size, dim, floor));
    return least;
}

static void clusters_as_all_pairs_say(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        dice d = {seed, 0};
        int count = roll(&d, 0, 14), alive[14];
        int32_t dim = roll(&d, 1, 4);
        size_t size = trl__sums_size(dim);
        double rows[14 * 9] = {0}, plain[14 * 9], most = roll(&d, 0, 1) ? (double)INFINITY : roll(&d, 0, 60);
        for (int i = 0; i < count; i++) {
            alive[i] = 1;
            for (int n = roll(&d, 2, 30); n > 0; n--) {
                float frame[4];
                for (int32_t k = 0; k < dim; k++)
                    frame[k] = trl__random_normal(seed, 2, d.next++) + 2 * trl__random_normal(seed, 3, (uint64_t)i);
                trl__context_stats_add(rows + (size_t)i * size, dim, frame);
            }
        }
        memcpy(plain, rows, sizeof rows);
        trl__join joins[14];
        double floor = (double[]){0.01, 1, 4}[roll(&d, 0, 2)];
        int32_t joined = trl__sums_cluster(rows, count, dim, floor, most, joins);
        for (int32_t j = 0; j < joined; j++) {
            double *into = plain + (size_t)joins[j].into * size, *from = plain + (size_t)joins[j].from * size;
            double least = least_loss(plain, alive, count, dim, floor), loss = naive_loss(into, from, dim, floor);
            assert_true(joins[j].into < joins[j].from && alive[joins[j].into] && alive[joins[j].from]);
            assert_true(fabs(loss - least) < 1e-9 && fabs(loss - joins[j].loss) < 1e-9 && joins[j].loss < most);
            trl__sums_add(into, from, size);
            alive[joins[j].from] = 0;
        }
        assert_true(least_loss(plain, alive, count, dim, floor) >= most - 1e-9);
    }
}

static void of_equal_pairs_takes_the_first(void **state)
{
    (void)state;
    double rows[4][3] = {{3, 3, 9}, {3, 3, 9}, {3, 3, 9}, {3, 3, 9}};
    trl__join joins[4];
    assert_int_equal(trl__sums_cluster(rows[0], 4, 1, 0.01, (double)INFINITY, joins), 3);
    assert_true(joins[0].into == 0 && joins[0].from == 1 && joins[0].loss == 0);
    trl__memory_fail_after(1);
    assert_int_equal(trl__sums_cluster(rows[0], 4, 1, 0.01, 1, joins), -1);
    trl__memory_fail_after(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_sums_and_squares),
        cmocka_unit_test(refuses_impossible_shapes),
        cmocka_unit_test(merged_blocks_are_all_at_once),
        cmocka_unit_test(refuses_to_merge_other_shapes),
        cmocka_unit_test(checks_units_states_and_numbers),
        cmocka_unit_test(runs_out_of_memory_cleanly),
        cmocka_unit_test(likelihood_is_that_of_the_definition),
        cmocka_unit_test(clusters_as_all_pairs_say),
        cmocka_unit_test(of_equal_pairs_takes_the_first),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
