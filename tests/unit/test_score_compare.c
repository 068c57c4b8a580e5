/* Intervals and comparisons where the answer has a closed form. */
#include "cmocka_test.h"
#include "decode/transcripts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UTTERANCES 100

typedef struct system {
    trl_transcripts *said, *heard;
    trl_score *score;
} system_t;

static system_t score_texts(const char *said, const char *heard)
{
    system_t s = {NULL, NULL, NULL};
    trl__text text;
    trl_score_options usual = trl_score_defaults();
    assert_int_equal(trl__text_from_memory("said", said, strlen(said), &text, NULL), 0);
    assert_int_equal(trl__transcripts_parse("said", &text, TRL_TRANSCRIPTS_TEXT, &s.said, NULL), 0);
    assert_int_equal(trl__text_from_memory("heard", heard, strlen(heard), &text, NULL), 0);
    assert_int_equal(trl__transcripts_parse("heard", &text, TRL_TRANSCRIPTS_TEXT, &s.heard, NULL), 0);
    assert_int_equal(trl_score_create(s.said, s.heard, &usual, NULL, &s.score, NULL), 0);
    return s;
}

static void free_system(system_t *s)
{
    trl_score_destroy(s->score);
    trl_transcripts_destroy(s->said);
    trl_transcripts_destroy(s->heard);
}

/* Utterances of one word each, ten per speaker; those from `from` up to `to` are wrong. */
static system_t score_single_words(int from, int to)
{
    static char said[UTTERANCES * 16], heard[UTTERANCES * 16];
    said[0] = heard[0] = '\0';
    for (int i = 0; i < UTTERANCES; i++) {
        snprintf(said + strlen(said), 16, "s%d-%d a\n", i / 10, i);
        snprintf(heard + strlen(heard), 16, "s%d-%d %s\n", i / 10, i, i >= from && i < to ? "b" : "a");
    }
    return score_texts(said, heard);
}

/* The sum of n draws with half of the utterances wrong is binomial: of 100, 95 % lie from 40 to 60. Of ten speakers, 95 % from 2 to 8. */
static void test_interval_is_binomial(void **state)
{
    (void)state;
    system_t s = score_single_words(0, 50);
    trl_bootstrap how = trl_bootstrap_defaults();
    double interval[2];
    how.replicates = 10000;
    assert_int_equal(trl_score_interval(s.score, &how, NULL, interval, NULL), 0);
    assert_float_equal(interval[0], 0.40, 0.0101);
    assert_float_equal(interval[1], 0.60, 0.0101);
    how.speakers = 1;
    assert_int_equal(trl_score_interval(s.score, &how, NULL, interval, NULL), 0);
    assert_float_equal(interval[0], 0.2, 1e-12);
    assert_float_equal(interval[1], 0.8, 1e-12);
    how.speakers = 0;
    how.level = 0.5; /* 46.6 to 53.4: whole numbers between */
    assert_int_equal(trl_score_interval(s.score, &how, NULL, interval, NULL), 0);
    assert_float_equal(interval[0], 0.47, 0.0101);
    assert_float_equal(interval[1], 0.53, 0.0101);
    free_system(&s);
}

static void test_interval_without_doubt(void **state)
{
    (void)state;
    system_t s = score_single_words(0, UTTERANCES);
    trl_bootstrap how = trl_bootstrap_defaults();
    double interval[2];
    how.replicates = 50;
    assert_int_equal(trl_score_interval(s.score, &how, NULL, interval, NULL), 0);
    assert_float_equal(interval[0], 1, 0);
    assert_float_equal(interval[1], 1, 0);
    free_system(&s);
    s = score_texts("", "");
    assert_int_equal(trl_score_interval(s.score, &how, NULL, interval, NULL), 0);
    assert_float_equal(interval[1], 0, 0);
    free_system(&s);
}

static void test_threads_and_seeds(void **state)
{
    (void)state;
    system_t s = score_single_words(0, 37);
    trl_bootstrap how = trl_bootstrap_defaults();
    double one[2], many[2], other[2];
    trl_pool *pool;
    how.replicates = 501;
    assert_int_equal(trl_pool_create(4, &pool, NULL), 0);
    assert_int_equal(trl_score_interval(s.score, &how, NULL, one, NULL), 0);
    assert_int_equal(trl_score_interval(s.score, &how, pool, many, NULL), 0);
    assert_memory_equal(one, many, sizeof one);
    how.level = 0.123; /* between the steps of the rate, so that other draws show */
    assert_int_equal(trl_score_interval(s.score, &how, pool, many, NULL), 0);
    int differ = 0;
    for (how.seed = 2; how.seed < 12; how.seed++) {
        assert_int_equal(trl_score_interval(s.score, &how, pool, other, NULL), 0);
        differ |= many[0] != other[0] || many[1] != other[1];
    }
    assert_true(differ);
    trl_pool_destroy(pool);
    free_system(&s);
}

/* First wrong in 0 … 24, second in 20 … 34: 20 times only the first, 10 times only the second, 5 times both. */
static void test_matched_pairs(void **state)
{
    (void)state;
    system_t a = score_single_words(0, 25), b = score_single_words(20, 35);
    trl_bootstrap how = trl_bootstrap_defaults();
    trl_comparison c;
    assert_int_equal(trl_score_compare(a.score, b.score, &how, NULL, &c, NULL), 0);
    assert_float_equal(c.difference, 0.1, 1e-12);
    assert_int_equal(c.units.pairs, UTTERANCES);
    assert_float_equal(c.units.mean, 0.1, 1e-12);
    assert_float_equal(c.units.deviation, sqrt((30 - 100 * 0.01) / 99), 1e-12);
    assert_float_equal(c.units.z, 0.1 / (sqrt(29.0 / 99) / 10), 1e-12);
    assert_float_equal(c.units.p, 0.064653674, 1e-8); /* 2 (1 - Phi(z)), by SciPy */
    assert_int_equal(c.segments.pairs, 35);
    assert_float_equal(c.segments.mean, 10.0 / 35, 1e-12);
    assert_float_equal(c.segments.deviation, sqrt((30 - 100.0 / 35) / 34), 1e-12);
    /* The drawn difference has mean 0.1 and standard deviation sqrt(0.29) / 10. */
    assert_float_equal(c.interval[0], 0.1 - 1.96 * sqrt(0.29) / 10, 0.015);
    assert_float_equal(c.interval[1], 0.1 + 1.96 * sqrt(0.29) / 10, 0.015);
    assert_float_equal(c.second_better, 0.968, 0.015);
    how.speakers = 1; /* differences of speakers: 10, 10, 0, -5, -5 … */
    assert_int_equal(trl_score_compare(a.score, b.score, &how, NULL, &c, NULL), 0);
    assert_int_equal(c.units.pairs, 10);
    free_system(&a);
    free_system(&b);
}

/* One right word does not end a segment, two do; an insertion behind the last word counts for either system. */
static void test_segments(void **state)
{
    (void)state;
    const char *said = "s-1 a b c d e f g h\n";
    system_t a = score_texts(said, "s-1 x b x d e f g h\n"), b = score_texts(said, "s-1 a b c d e f x h y\n");
    trl_bootstrap how = trl_bootstrap_defaults();
    trl_comparison c;
    assert_int_equal(trl_score_compare(a.score, b.score, &how, NULL, &c, NULL), 0);
    assert_int_equal(c.segments.pairs, 2); /* 2 and 0 errors, 0 and 2 */
    assert_float_equal(c.segments.mean, 0, 1e-12);
    assert_float_equal(c.segments.deviation, sqrt(8), 1e-12);
    assert_float_equal(c.segments.p, 1, 1e-12);
    assert_int_equal(c.units.pairs, 1);
    assert_float_equal(c.units.p, 1, 0);
    assert_float_equal(c.second_better, 0.5, 0);
    free_system(&a);
    free_system(&b);
}

static void test_all_differences_equal(void **state)
{
    (void)state;
    system_t a = score_single_words(0, UTTERANCES), b = score_single_words(0, 0), c = score_texts("s-1 a\n", "s-1 a\n");
    trl_bootstrap how = trl_bootstrap_defaults();
    trl_comparison r;
    trl_error err;
    assert_int_equal(trl_score_compare(a.score, b.score, &how, NULL, &r, &err), 0);
    assert_true(isinf(r.units.z) && r.units.z > 0);
    assert_float_equal(r.units.p, 0, 0);
    assert_float_equal(r.second_better, 1, 0);
    assert_int_equal(trl_score_compare(b.score, b.score, &how, NULL, &r, &err), 0);
    assert_int_equal(r.segments.pairs, 0);
    assert_float_equal(r.segments.p, 1, 0);
    assert_float_equal(r.units.p, 1, 0);
    assert_int_equal(trl_score_compare(a.score, c.score, &how, NULL, &r, &err), TRL_EINVAL);
    how.replicates = 0;
    assert_int_equal(trl_score_compare(a.score, b.score, &how, NULL, &r, &err), TRL_EINVAL);
    how = trl_bootstrap_defaults();
    how.level = 1;
    assert_int_equal(trl_score_compare(a.score, b.score, &how, NULL, &r, &err), TRL_EINVAL);
    free_system(&a);
    free_system(&b);
    free_system(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval_is_binomial),
        cmocka_unit_test(test_interval_without_doubt),
        cmocka_unit_test(test_threads_and_seeds),
        cmocka_unit_test(test_matched_pairs),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_all_differences_equal),
    };
    return RUN(tests);
}
