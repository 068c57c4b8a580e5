/* N-best lists: files as decode writes them and as they are after rescoring; what is wrong with them is said. Errors of all hypotheses and the grid, against sums by definition. How
 * many frames a Gaussian needs. */
#include "align_fixture.h"
#include "temp_folder.h"

#include "bam/bam_lists.h"

static trl_bam_lists *read_text(const char *text)
{
    trl_bam_lists *lists;
    temp_write("lists", text, strlen(text));
    must(trl_bam_lists_read(temp_path("lists"), &lists, &err));
    return lists;
}

static void refuse(const char *text, const char *why)
{
    trl_bam_lists *lists;
    temp_write("lists", text, strlen(text));
    assert_int_equal(trl_bam_lists_read(temp_path("lists"), &lists, &err), TRL_EFORMAT);
    assert_null(lists);
    if (!strstr(err.text, why))
        fail_msg("no '%s' in: %s", why, err.text);
}

static void test_text(void **state)
{
    (void)state;
    trl_bam_lists *l = read_text("a\t1\t2.5\t100\tone two\na\t2\t3\t-7\t\nb\t1\t-\t-\ttwo\n");
    assert_int_equal(trl_bam_lists_count(l), 2);
    trl_bam_list a = trl_bam_lists_get(l, 0), b = trl_bam_lists_get(l, 1);
    assert_string_equal(a.id, "a");
    assert_int_equal(a.count, 2);
    assert_int_equal(a.hypotheses[0].count, 2);
    assert_string_equal(a.hypotheses[0].words[1], "two");
    assert_true(a.hypotheses[0].language == -2.5 && a.hypotheses[0].first == -100);
    assert_true(a.hypotheses[1].count == 0 && a.hypotheses[1].first == 7);
    assert_true(b.hypotheses[0].language == 0 && isnan(b.hypotheses[0].first) && isnan(b.hypotheses[0].bam));
    assert_int_equal(trl_bam_lists_run(l)->rescored, 0);
    trl_bam_lists_destroy(l);
}

static void test_faults(void **state)
{
    (void)state;
    refuse("", "no list");
    refuse("a\t1\t2.5\t100\tone\na\t3\t2\t100\ttwo\n", ":2: utterance a: rank 3 instead of 2");
    refuse("a\t2\t2.5\t100\tone\n", "rank 2 instead of 1");
    refuse("a\t1\t2.5\t100\tone\na\t2\t2.5\t1", ":2: expected id, rank");
    refuse("a\t1\t2.5\t100\tone tw", "has been cut");
    refuse("a\t1\tx\t100\tone\n", "neither a number");
    refuse("a one two\n", "expected id, rank");
    refuse("a\t1\t1\t1\tx\nb\t1\t1\t1\tx\na\t1\t1\t1\tx\n", ":3: utterance a has had its list in line 1");
    refuse("{\"id\":\"a\",\"nbest\":[{\"words\":[\"x\"],\"gra", "not JSON, or cut");
    refuse("{\"id\":\"a\",\"nbest\":[]}\n", "list \"nbest\"");
    refuse("{\"id\":\"a\",\"nbest\":[{\"words\":[1]}]}\n", "strings");
    refuse("{\"id\":\"a\",\"nbest\":[{}]}\n", "list of \"words\"");
    refuse("{\"bam\":{\"rescored\":1}}\n", "does not say");
    refuse("{\"bam\":{\"rescored\":1,\"order\":1,\"lm_weight\":3,\"hits\":[[1],[2,3]]}}\n", "square");
    refuse("{\"bam\":{\"rescored\":1,\"order\":0,\"lm_weight\":3,\"hits\":[[1]]}}\n"
           "{\"id\":\"a\",\"nbest\":[{\"words\":[\"x\"],\"acoustic_cost\":1,\"aligned_cost\":1}]}\n",
           ":2: utterance a: hypothesis 1 lacks a score");
}

/* Random lists of up to five hypotheses of words a, b, c, as if rescored. */
static trl_bam_lists *random_lists(dice *d, int count)
{
    static const char *const alphabet[] = {"a", "b", "c"};
    trl_bam_lists *l;
    must(trl__lists_create("random", &l, &err));
    l->run = (trl_bam_run){.rescored = 1,
                           .order = 2,
                           .word_boundaries = 1,
                           .least_frames = 4000,
                           .most_frames = 256000,
                           .alpha = 0.3,
                           .beta = 2.2,
                           .gaussians = 12345,
                           .model_gaussians = 99,
                           .hours = 0.7,
                           .weights = {0.4, 0.2, 17},
                           .first_pass = 3,
                           .lost = 1};
    l->run.hit[1][2] = 77;
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "u%02d", i);
        must(trl__lists_add(l, id, i + 2, &err));
        for (int k = roll_int(d, 1, 5); k > 0; k--) {
            const char *words[6];
            int length = roll_int(d, 0, 6);
            for (int n = 0; n < length; n++)
                words[n] = alphabet[roll_int(d, 0, 2)];
            trl_bam_hypothesis *h = trl__lists_add_hypothesis(l, words, (size_t)length, &err);
            h->language = -20 * (double)roll(d);
            h->first = -100 * (double)roll(d);
            h->again = -100 * (double)roll(d);
            h->bam = -100 * (double)roll(d);
            h->missing = roll_int(d, 0, 100);
        }
    }
    return l;
}

static void test_round_trip(void **state)
{
    (void)state;
    dice d = {.seed = 1};
    trl_bam_lists *l = random_lists(&d, 30), *back;
    must(trl_bam_lists_write(l, temp_path("written"), &err));
    must(trl_bam_lists_read(temp_path("written"), &back, &err));
    assert_int_equal(trl_bam_lists_count(back), 30);
    const trl_bam_run *a = trl_bam_lists_run(l), *b = trl_bam_lists_run(back);
    assert_true(a->hours == b->hours && a->weights.back_off == b->weights.back_off && a->gaussians == b->gaussians &&
                a->hit[1][2] == b->hit[1][2] && a->lost == b->lost && a->least_frames == b->least_frames);
    for (size_t i = 0; i < 30; i++) {
        trl_bam_list x = trl_bam_lists_get(l, i), y = trl_bam_lists_get(back, i);
        assert_string_equal(x.id, y.id);
        assert_int_equal(x.count, y.count);
        for (size_t k = 0; k < x.count; k++) {
            const trl_bam_hypothesis *p = &x.hypotheses[k], *q = &y.hypotheses[k];
            assert_true(p->language == q->language && p->first == q->first && p->again == q->again &&
                        p->bam == q->bam && p->missing == q->missing && p->count == q->count);
            for (size_t n = 0; n < p->count; n++)
                assert_string_equal(p->words[n], q->words[n]);
        }
    }
    trl_bam_lists_destroy(l);
    trl_bam_lists_destroy(back);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edit_distance(const char *const *a, size_t n, const char *const *b, size_t m)
{
    size_t row[16];
    for (size_t k = 0; k <= m; k++)
        row[k] = k;
    for (size_t i = 0; i < n; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t k = 0; k < m; k++) {
            size_t above = row[k + 1];
            row[k + 1] = least(corner + (strcmp(a[i], b[k]) != 0), least(row[k], above) + 1);
            corner = above;
        }
    }
    return row[m];
}

/* Equations 2 to 4, and the first of the best. */
static size_t best_of(trl_bam_list list, trl_bam_weights w, int again)
{
    size_t best = 0;
    double scores[8];
    for (size_t k = 0; k < list.count; k++) {
        const trl_bam_hypothesis *h = &list.hypotheses[k];
        double second = again ? h->again : h->bam - w.back_off * h->missing;
        scores[k] = 1 / w.lm_weight * (w.lambda * h->first + (1.0 - w.lambda) * second) + h->language;
        best = scores[k] > scores[best] ? k : best;
    }
    return best;
}

static void test_tune(void **state)
{
    (void)state;
    trl_pool *pool;
    must(trl_pool_create(3, &pool, &err));
    for (uint64_t seed = 0; seed < 5; seed++) {
        dice d = {.seed = seed};
        trl_bam_lists *l = random_lists(&d, 25);
        const char *said[26][7];
        size_t lengths[26], listless = 0, least_errors = SIZE_MAX, oracle = 0, best;
        char text[4000] = "";
        for (int i = 0; i < 26; i++) { /* the last has no list; some are a hypothesis */
            trl_bam_list list = trl_bam_lists_get(l, (size_t)(i % 25));
            const trl_bam_hypothesis *h = &list.hypotheses[list.count - 1];
            lengths[i] = h->count;
            snprintf(text + strlen(text), sizeof text - strlen(text), "u%02d", i);
            for (size_t n = 0; n < h->count; n++) {
                said[i][n] = i % 3 ? "a" : h->words[n];
                snprintf(text + strlen(text), sizeof text - strlen(text), " %s", said[i][n]);
            }
            snprintf(text + strlen(text), sizeof text - strlen(text), "\n");
        }
        listless = lengths[25];
        temp_write("ref", text, strlen(text));
        trl_transcripts *reference;
        must(trl_transcripts_read(temp_path("ref"), TRL_TRANSCRIPTS_TEXT, &reference, &err));
        must(trl_bam_lists_score(l, reference, 0, pool, &err));
        trl_bam_grid grid = trl_bam_grid_defaults();
        trl_bam_point points[6 * 6 * 4];
        must(trl_bam_tune(l, &grid, pool, points, &best, &err));
        for (size_t p = 0; p < 144; p++) {
            size_t errors = listless, again = listless;
            size_t slow = p / 24, middle = p / 4 % 6;
            trl_bam_weights w = {0.2 * (double)slow, 0.2 * (double)middle, 7 + 5 * (double)(p % 4)};
            assert_true(fabs(points[p].weights.lambda - w.lambda) < 1e-9 &&
                        fabs(points[p].weights.back_off - w.back_off) < 1e-9 &&
                        points[p].weights.lm_weight == w.lm_weight);
            for (size_t i = 0; i < 25; i++) {
                trl_bam_list list = trl_bam_lists_get(l, i);
                const trl_bam_hypothesis *h = &list.hypotheses[best_of(list, points[p].weights, 0)];
                errors += edit_distance(said[i], lengths[i], h->words, h->count);
                h = &list.hypotheses[best_of(list, points[p].weights, 1)];
                again += edit_distance(said[i], lengths[i], h->words, h->count);
            }
            assert_int_equal(trl_errors(points[p].counts), errors);
            assert_int_equal(trl_errors(trl_bam_errors_again(l, &points[p].weights)), again);
            assert_int_equal(points[p].counts.utterances, 26);
            least_errors = least(errors, least_errors);
        }
        assert_int_equal(trl_errors(points[best].counts), least_errors);
        for (size_t p = 0; p < 144; p++) /* no other is as good and leaves more to the first pass */
            assert_true(trl_errors(points[p].counts) > least_errors ||
                        points[p].weights.lambda <= points[best].weights.lambda);
        for (size_t i = 0; i < 25; i++) {
            trl_bam_list list = trl_bam_lists_get(l, i);
            size_t fewest = SIZE_MAX;
            for (size_t k = 0; k < list.count; k++)
                fewest = least(fewest,
                               edit_distance(said[i], lengths[i], list.hypotheses[k].words, list.hypotheses[k].count));
            oracle += fewest;
        }
        assert_int_equal(trl_errors(trl_bam_errors_least(l)), oracle + listless);
        must(trl_bam_lists_score(l, reference, 1, pool, &err));
        assert_int_equal(trl_errors(trl_bam_errors_least(l)), 0); /* those with the truth alone */
        assert_true(trl_bam_errors_least(l).utterances >= 9 && trl_bam_errors_least(l).utterances < 25);
        trl_transcripts_destroy(reference);
        temp_write("ref", "u00 a\n", 6);
        must(trl_transcripts_read(temp_path("ref"), TRL_TRANSCRIPTS_TEXT, &reference, &err));
        assert_int_equal(trl_bam_lists_score(l, reference, 0, pool, &err), TRL_EINVAL);
        assert_non_null(strstr(err.text, "no transcript in the reference"));
        trl_transcripts_destroy(reference);
        trl_bam_lists_destroy(l);
    }
    trl_pool_destroy(pool);
}

static void test_weights(void **state)
{
    (void)state;
    const trl_bam_weights wrong[] = {{-0.1, 0, 10}, {1.1, 0, 10},        {NAN, 0, 10}, {0.5, -1, 10},
                                     {0.5, 0, 0},   {0.5, INFINITY, 10}, {0.5, 0, NAN}};
    trl_bam_weights good = trl_bam_weights_defaults();
    must(trl_bam_weights_check(&good, &err));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(trl_bam_weights_check(&wrong[i], &err), TRL_EINVAL);
}

/* Whatever can't be had, nothing is left behind and the reason is said. */
static void test_memory(void **state)
{
    (void)state;
    dice d = {.seed = 2};
    trl_bam_lists *l = random_lists(&d, 3), *back;
    must(trl_bam_lists_write(l, temp_path("written"), &err));
    static const char text[] = "a\t1\t2\t1\tx y\na\t2\t2\t1\tx\n";
    temp_write("lists", text, sizeof text - 1);
    for (int kind = 0; kind < 2; kind++)
        for (long n = 1, code = TRL_ENOMEM; code != 0; n++) {
            trl__memory_fail_after(n);
            code = trl_bam_lists_read(temp_path(kind ? "written" : "lists"), &back, &err);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
            if (code == 0)
                trl_bam_lists_destroy(back);
        }
    trl_bam_lists_destroy(l);
}

/* ---- [001] Appendix A and eq. 1 ---- */

/* P(chi-square > x) for 2 m degrees of freedom: a Poisson sum. */
static double chi_square_tail(int m, double x)
{
    double sum = 0;
    for (int i = 0; i < m; i++)
        sum += exp(i * log(x / 2) - lgamma(i + 1.0) - x / 2);
    return sum;
}

static double variance_off(int n, double q)
{
    double freedom = n - 1;
    return 1 - chi_square_tail((n - 1) / 2, freedom * (1 - q)) + chi_square_tail((n - 1) / 2, freedom * (1 + q));
}

static void test_sizes(void **state)
{
    (void)state;
    /* Table VIII, but for its last row, where it prints 95. */
    static const double p[] = {0.05, 0.06, 0.07, 0.08, 0.10, 0.15};
    static const int table[] = {1537, 983, 670, 479, 271, 92};
    for (int i = 0; i < 6; i++) {
        double n = trl_bam_frames_for_variance(p[i], p[i]);
        int above = (int)n + (int)n % 2 + 1, below = (int)n - (int)n % 2 - 1; /* odd: the closed form's */
        assert_int_equal(lround(trl_bam_frames_for_mean(p[i], p[i])), table[i]);
        assert_true(variance_off(above, p[i]) < p[i] && variance_off(below, p[i]) >= p[i]);
    }
    trl_bam_options o = trl_bam_defaults();
    assert_int_equal(trl_bam_components(&o, 4000), 26);
    assert_int_equal(trl_bam_components(&o, 18000), 42);
    assert_int_equal(trl_bam_components(&o, 256000), 92);
    o.alpha = 0.7;
    o.beta = 0.1;
    assert_int_equal(trl_bam_components(&o, 256000), 611);
    o.most_frames = 262144;
    assert_in_range(trl_bam_components(&o, 262144), 620, 621); /* 620.8: the paper cuts it off */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text),       cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_round_trip), cmocka_unit_test(test_tune),
                                       cmocka_unit_test(test_memory),     cmocka_unit_test(test_weights),
                                       cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
