/* Random numbers: the published answers of Philox, and what samples of each distribution must look like. The seeds are
 * fixed, so the statistical bounds hold or fail for good; each is the one-in-a-thousand point or beyond. */
#include "cmocka_test.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 100000 };
static float samples[SAMPLES];

/* Known answers from the authors' Random123 distribution. */
static void philox_gives_the_published_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        trl__philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(trl__random_bits(0, 0, i), known[0].out[i]);
}

/* Number `index` of a stream is a word of block index / 4; the key is the seed, the counter's upper half the stream. */
static void numbers_are_words_of_blocks(void **state)
{
    (void)state;
    uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e, number = 0x05a308d3243f6a88;
    const uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, key[2] = {0xa4093822, 0x299f31d0};
    uint32_t out[4];
    trl__philox(counter, key, out);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(trl__random_bits(seed, stream, 4 * number + i), out[i]);
}

/* Seed, stream and index all matter, in their upper halves too. */
static void every_argument_matters(void **state)
{
    (void)state;
    uint32_t base = trl__random_bits(1, 2, 3);
    assert_int_not_equal(base, trl__random_bits(1ull << 32 | 1, 2, 3));
    assert_int_not_equal(base, trl__random_bits(1, 1ull << 32 | 2, 3));
    assert_int_not_equal(base, trl__random_bits(1, 2, 1ull << 34 | 3));
    assert_int_not_equal(base, trl__random_bits(2, 1, 3));
    assert_int_not_equal(base, trl__random_bits(1, 3, 2));
    assert_int_equal(base, trl__random_bits(1, 2, 3));
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double uniform_cdf(double x)
{
    return x;
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* Kolmogorov-Smirnov: the largest gap between the sample's distribution and the true one, times sqrt(n). */
static double ks_statistic(double (*cdf)(double))
{
    qsort(samples, SAMPLES, sizeof *samples, compare_floats);
    double largest = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double p = cdf((double)samples[i]);
        largest = fmax(largest, fmax(p - i / (double)SAMPLES, (i + 1) / (double)SAMPLES - p));
    }
    return largest * sqrt(SAMPLES);
}

static double moment(int power)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        sum += pow((double)samples[i], power);
    return sum / SAMPLES;
}

static void uniform_is_uniform(void **state)
{
    (void)state;
    for (uint64_t stream = 0; stream < 3; stream++) {
        for (uint64_t i = 0; i < SAMPLES; i++) {
            samples[i] = trl__random_uniform(42, stream, i);
            assert_true(samples[i] >= 0 && samples[i] < 1);
        }
        assert_true(fabs(moment(1) - 1.0 / 2) < 4 * sqrt(1.0 / 12 / SAMPLES));
        assert_true(fabs(moment(2) - 1.0 / 3) < 4 * sqrt(4.0 / 45 / SAMPLES));
        assert_true(ks_statistic(uniform_cdf) < 1.95);
    }
}

static void normal_is_normal(void **state)
{
    (void)state;
    for (uint64_t stream = 0; stream < 3; stream++) {
        for (uint64_t i = 0; i < SAMPLES; i++)
            samples[i] = trl__random_normal(42, stream, i);
        assert_true(fabs(moment(1)) < 4 * sqrt(1.0 / SAMPLES));
        assert_true(fabs(moment(2) - 1) < 4 * sqrt(2.0 / SAMPLES));
        assert_true(fabs(moment(3)) < 4 * sqrt(15.0 / SAMPLES));
        assert_true(fabs(moment(4) - 3) < 4 * sqrt(96.0 / SAMPLES));
        assert_true(ks_statistic(normal_cdf) < 1.95);
        assert_true(samples[SAMPLES - 1] > 3.5f && samples[SAMPLES - 1] < 6.8f);
    }
}

/* The two numbers of a Box-Muller pair share a radius: neither they nor their squares may be correlated. */
static void neighbours_and_streams_are_independent(void **state)
{
    (void)state;
    for (uint64_t lag = 1; lag <= 5; lag++) {
        double normal = 0, squares = 0, streams = 0;
        for (uint64_t i = 0; i < SAMPLES; i++) {
            double a = (double)trl__random_normal(7, 0, i), b = (double)trl__random_normal(7, 0, i + lag);
            normal += a * b;
            squares += (a * a - 1) * (b * b - 1) / 2;
            streams += a * (double)trl__random_normal(7, lag, i);
        }
        assert_true(fabs(normal) < 4 * sqrt(SAMPLES));
        assert_true(fabs(squares) < 4 * sqrt(SAMPLES));
        assert_true(fabs(streams) < 4 * sqrt(SAMPLES));
    }
}

static void every_bit_is_fair(void **state)
{
    (void)state;
    int ones[32] = {0};
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint32_t bits = trl__random_bits(9, 0, i);
        for (int b = 0; b < 32; b++)
            ones[b] += (int)(bits >> b & 1);
    }
    for (int b = 0; b < 32; b++)
        assert_true(fabs(ones[b] - SAMPLES / 2.0) < 4.5 * sqrt(SAMPLES / 4.0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers),
        cmocka_unit_test(numbers_are_words_of_blocks),
        cmocka_unit_test(every_argument_matters),
        cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(normal_is_normal),
        cmocka_unit_test(neighbours_and_streams_are_independent),
        cmocka_unit_test(every_bit_is_fair),
    };
    return RUN(tests);
}
