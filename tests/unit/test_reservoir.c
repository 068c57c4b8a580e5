/* The sample of an M-phone: those with the smallest hashes, whatever the order; as uniform as the reservoir of [001] III-A2; and of how much memory. */
#include "bam_fixture.h"

#define DIM 2

static trl__reservoir *reservoir_of(size_t most)
{
    trl__reservoir *r;
    must(trl__reservoir_create(most, DIM, &r, &err));
    return r;
}

static void add(trl__reservoir *r, uint64_t hash)
{
    float frame[DIM] = {(float)(hash % 1000003), (float)(hash % 777)};
    trl__reservoir_add(r, hash, frame);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorted, each once, the first `most`. */
static void check_sample(trl__reservoir *r, uint64_t *hashes, size_t count)
{
    size_t kept = 0;
    qsort(hashes, count, sizeof *hashes, by_value);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || hashes[kept - 1] != hashes[i])
            hashes[kept++] = hashes[i];
    trl__reservoir_settle(r);
    assert_int_equal(r->overflow, kept > r->most);
    assert_int_equal(r->count, kept < r->most ? kept : r->most);
    for (size_t i = 0; i < r->count; i++) {
        assert_true(r->hash[i] == hashes[i]);
        assert_true(trl__reservoir_frame(r, i)[0] == (float)(hashes[i] % 1000003));
        assert_true(trl__reservoir_frame(r, i)[1] == (float)(hashes[i] % 777));
    }
}

static void test_smallest(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        dice d = {.seed = seed};
        size_t most = (size_t)roll_int(&d, 1, seed % 3 == 0 ? 5 : 3000), count = (size_t)roll_int(&d, 1, 9000);
        uint64_t range = seed % 2 ? UINT64_MAX : count / 2 + 1, *hashes = malloc(sizeof *hashes * count);
        trl__reservoir *r = reservoir_of(most);
        for (int turn = 0; turn < 2; turn++) { /* the second time in what the first left */
            trl__reservoir_empty(r);
            for (size_t i = 0; i < count; i++) {
                hashes[i] = trl__bam_frame_hash(seed + (uint64_t)turn, (uint32_t)i) % range;
                add(r, hashes[i]);
            }
            check_sample(r, hashes, count);
        }
        trl__reservoir_destroy(r);
        free(hashes);
    }
}

/* Samples of parts, put together in any order, are the sample of the whole. */
static void test_merged(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        dice d = {.seed = seed, .stream = 1};
        size_t most = (size_t)roll_int(&d, 1, 200), count = (size_t)roll_int(&d, 1, 1500);
        uint64_t *hashes = malloc(sizeof *hashes * count);
        trl__reservoir *parts[4], *all = reservoir_of(most);
        for (int i = 0; i < 4; i++)
            parts[i] = reservoir_of(most);
        for (size_t i = 0; i < count; i++) {
            hashes[i] = trl__bam_frame_hash(seed, (uint32_t)roll_int(&d, 0, 1000));
            add(parts[roll_int(&d, 0, 3)], hashes[i]);
        }
        for (int i = 3; i >= 0; i--)
            trl__reservoir_merge(all, parts[i]);
        check_sample(all, hashes, count);
        for (int i = 0; i < 4; i++)
            trl__reservoir_destroy(parts[i]);
        trl__reservoir_destroy(all);
        free(hashes);
    }
}

/* ---- uniform ---- */

#define ITEMS 40
#define KEPT 10
#define TRIALS 4000

/* The paper's: sample i (from 1) beyond the first K goes to place r of [0, i), which the paper writes one too short, if r < K. */
static void sample_like_paper(dice *d, int *count)
{
    int kept[KEPT];
    for (int i = 0; i < ITEMS; i++) {
        int r = i < KEPT ? i : roll_int(d, 0, i);
        if (r < KEPT)
            kept[r] = i;
    }
    for (int i = 0; i < KEPT; i++)
        count[kept[i]]++;
}

static void sample_by_hash(uint64_t seed, int *count)
{
    trl__reservoir *r = reservoir_of(KEPT);
    uint64_t utterance = trl__bam_utterance_hash(seed, "an251-fash-b");
    for (int i = 0; i < ITEMS; i++) {
        float frame[DIM] = {(float)i, 0};
        trl__reservoir_add(r, trl__bam_frame_hash(utterance, (uint32_t)i), frame);
    }
    trl__reservoir_settle(r);
    for (size_t i = 0; i < KEPT; i++)
        count[(int)trl__reservoir_frame(r, i)[0]]++;
    trl__reservoir_destroy(r);
}

/* Chi-square of being chosen: each with probability K / n, so the variance is that of K of n without replacement; n - 1 degrees of freedom. */
static double chi_square(const int *count)
{
    double expected = (double)TRIALS * KEPT / ITEMS, sum = 0;
    for (int i = 0; i < ITEMS; i++)
        sum += (count[i] - expected) * (count[i] - expected);
    return sum / (expected * (1 - (double)KEPT / ITEMS)) * (ITEMS - 1) / ITEMS;
}

/* 99.99 % of chi-square with 39 degrees of freedom are below 80 and above 13: a wrong range of the index, by one, gives several hundred. */
static void test_uniform(void **state)
{
    (void)state;
    int paper[ITEMS] = {0}, hash[ITEMS] = {0};
    dice d = {.seed = 11};
    for (uint64_t t = 0; t < TRIALS; t++) {
        sample_like_paper(&d, paper);
        sample_by_hash(t, hash);
    }
    assert_true(chi_square(paper) > 13 && chi_square(paper) < 80);
    assert_true(chi_square(hash) > 13 && chi_square(hash) < 80);
}

/* ---- sizes ---- */

/* [001] IV-B and IV-C. */
static void test_components(void **state)
{
    (void)state;
    trl_bam_options o = trl_bam_defaults();
    assert_int_equal(trl_bam_components(&o, 4000), 26);
    assert_int_equal(trl_bam_components(&o, 18000), 42);
    assert_int_equal(trl_bam_components(&o, 256000), 92);
    assert_int_equal(trl_bam_components(&o, 10000000), 92);
    assert_int_equal(trl_bam_components(&o, 1), 2);
    o.alpha = 0.7;
    o.beta = 0.1;
    assert_int_equal(trl_bam_components(&o, 256000), 611);
    assert_int_equal(trl_bam_components(&o, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_smallest), cmocka_unit_test(test_merged),
                                       cmocka_unit_test(test_uniform), cmocka_unit_test(test_components)};
    return RUN(tests);
}
