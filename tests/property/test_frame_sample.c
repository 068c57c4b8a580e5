/* Statistics from a sample of the frames: which frames it has, how many they are, that means stay what they are, and what it leaves alone. */
#include "align_case.h"

#define DIM 2
#define UTTERANCES 60
#define FRAMES 500

static align_case c;
static trl__local_stats *local;

static int set_up(void **state)
{
    (void)state;
    c.lexicon = lexicon_of("W A B\nV B C A\n");
    trl_model_options o = trl_model_defaults();
    dice d = {.seed = 5};
    must(trl_model_create(c.lexicon, NULL, DIM, &o, &c.model, &err));
    randomise_mixtures(c.model, &d, 1);
    open_case(&c, "cpu");
    must(trl__local_stats_create(c.model, &local, &err));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    trl__local_stats_destroy(local);
    close_case(&c);
    return 0;
}

/* Statistics of utterance u, added to `local`: of its equal path, or of all paths near it. */
static void gather(trl__aligner *aligner, uint64_t u, int soft)
{
    dice d = {.seed = 100 + u};
    trl_matrix frames = random_frames(&d, FRAMES, DIM);
    trl__search_result found;
    say(&c, (int32_t[]){roll_int(&d, 0, 1), roll_int(&d, 0, 1)}, 2);
    must(trl__aligner_begin(aligner, c.parameters, &frames, &c.graph, &err));
    must(trl__aligner_equal_path(aligner, &found, &err));
    assert_int_equal(found.status, TRL__ALIGNED);
    if (soft)
        must(trl__aligner_posteriors(
            aligner, &(trl__posterior_options){.margin = 30, .acoustic_scale = 1, .local = local}, NULL, &err));
    else
        must(trl__aligner_accumulate(aligner, local, NULL, &err));
    trl_matrix_free(&frames);
}

/* All utterances, with these shares. */
static trl__stats *gather_all(const float *sample, int soft)
{
    trl__stats *stats;
    must(trl__stats_create(c.model, &stats, &err));
    trl__local_stats_zero(local);
    for (uint64_t u = 0; u < UTTERANCES; u++) {
        trl__aligner_sample(c.aligner, sample, u);
        gather(c.aligner, u, soft);
    }
    trl__aligner_sample(c.aligner, NULL, 0);
    trl__stats_merge(stats, local);
    return stats;
}

static void fill(float *sample, float value)
{
    for (int32_t j = 0; j < c.model->tied_states; j++)
        sample[j] = value;
}

/* Frame t of the path counts when its random number is below its state's share, and then whole. */
static void the_sample_is_as_defined(void **state)
{
    (void)state;
    float sample[100];
    double count[100] = {0}, sum[100] = {0};
    for (int32_t j = 0; j < c.model->tied_states; j++)
        sample[j] = j % 3 == 0 ? 0.5f : j % 3 == 1 ? 0.1f : 1;
    trl__local_stats_zero(local);
    trl__aligner_sample(c.aligner, sample, 77);
    gather(c.aligner, 1, 0);
    dice d = {.seed = 101};
    trl_matrix frames = random_frames(&d, FRAMES, DIM);
    const int32_t *path = trl__aligner_path(c.aligner, NULL, NULL);
    int32_t counted = 0;
    for (int32_t t = 0; t < FRAMES; t++) {
        int32_t j = c.graph.node_tied[path[t]];
        if (trl__random_uniform(77, 0, (uint64_t)t) >= sample[j])
            continue;
        counted++;
        count[j]++;
        sum[j] += (double)trl_matrix_row(&frames, (size_t)t)[0];
    }
    assert_true(counted > FRAMES / 10 && counted < FRAMES);
    for (int32_t j = 0; j < c.model->tied_states; j++) {
        const double *slot = local->slot_of[j] < 0 ? NULL : local->slots + local->slot_of[j] * (1 + 2 * DIM);
        assert_true((slot ? slot[0] : 0) == count[j]);
        assert_true(fabs((slot ? slot[1] : 0) - sum[j]) < 1e-9);
    }
    trl__aligner_sample(c.aligner, NULL, 0);
    trl_matrix_free(&frames);
}

/* n frames of which each counts with probability p: p * n, give or take sqrt(n p (1 - p)). Frames lie evenly between -2 and 2,
 * variance 4/3: the mean of m of them is that of all give or take sqrt(4/3 / m). Six times that is never reached by chance. */
static void check_sample(const trl__stats *all, const trl__stats *some, double share)
{
    for (int32_t j = 0; j < c.model->tied_states; j++) {
        double n = all->count[j], m = some->count[j];
        if (n < 100)
            continue;
        assert_true(fabs(m - share * n) <= 6 * sqrt(n * share * (1 - share)));
        for (int32_t k = 0; k < DIM; k++)
            assert_true(fabs(some->sum[j * DIM + k] / m - all->sum[j * DIM + k] / n) <= 6 * sqrt(4.0 / 3 / m));
    }
    assert_true(some->totals.frames == UTTERANCES * FRAMES);
    assert_true(some->totals.joint == all->totals.joint);
    assert_true(some->totals.log_likelihood == all->totals.log_likelihood);
    for (int32_t id = 0; id <= c.model->transitions; id++)
        assert_true(some->transition[id] == all->transition[id]);
}

static void samples_are_fair(void **state)
{
    (void)state;
    float sample[100];
    for (int soft = 0; soft < 2; soft++) {
        trl__stats *all = gather_all(NULL, soft);
        for (int i = 1; i < 4; i++) {
            fill(sample, 0.25f * (float)i);
            trl__stats *some = gather_all(sample, soft);
            check_sample(all, some, 0.25 * i);
            trl__stats_destroy(some);
        }
        trl__stats_destroy(all);
    }
}

static void shares_of_one_and_none(void **state)
{
    (void)state;
    float sample[100];
    for (int soft = 0; soft < 2; soft++) {
        trl__stats *all = gather_all(NULL, soft), *some;
        size_t size = (size_t)all->gaussians * sizeof(double);
        fill(sample, 1);
        some = gather_all(sample, soft);
        assert_memory_equal(some->count, all->count, size);
        assert_memory_equal(some->sum, all->sum, DIM * size);
        assert_memory_equal(some->square, all->square, DIM * size);
        trl__stats_destroy(some);
        fill(sample, 0);
        sample[7] = 1; /* a state of A */
        some = gather_all(sample, soft);
        assert_true(all->count[7] > 0);
        for (int32_t j = 0; j < c.model->tied_states; j++)
            assert_true(some->count[j] == (j == 7 ? all->count[j] : 0));
        trl__stats_destroy(some);
        trl__stats_destroy(all);
    }
}

/* An utterance's sample is its own: whoever works on it, whatever went before. */
static void whoever_computes_it(void **state)
{
    (void)state;
    float sample[100];
    fill(sample, 0.5f);
    for (int soft = 0; soft < 2; soft++) {
        trl__aligner *other;
        must(trl__aligner_create(c.device, &other, &err));
        trl__aligner_sample(c.aligner, sample, 5);
        trl__local_stats_zero(local);
        gather(c.aligner, 5, soft);
        size_t size = local->slot_count * (1 + 2 * DIM) * sizeof(double);
        double *expected = malloc(size);
        memcpy(expected, local->slots, size);
        trl__aligner_sample(other, NULL, 0);
        gather(other, 9, soft);
        trl__aligner_sample(other, sample, 5);
        trl__local_stats_zero(local);
        gather(other, 5, soft);
        assert_int_equal(local->slot_count * (1 + 2 * DIM) * sizeof(double), size);
        assert_memory_equal(local->slots, expected, size);
        trl__aligner_sample(other, sample, 6);
        trl__local_stats_zero(local);
        gather(other, 5, soft);
        assert_true(memcmp(local->slots, expected, size) != 0); /* another seed, another sample */
        trl__aligner_destroy(other);
        free(expected);
    }
}

/* Frames by tied state are known whatever the sample, and from them comes the next one. */
static void occupancies_are_of_all_frames(void **state)
{
    (void)state;
    float sample[100];
    double count[100];
    trl__stats *all = gather_all(NULL, 0);
    fill(sample, 0.25f);
    for (int soft = 0; soft < 2; soft++) {
        trl__stats *some = gather_all(sample, soft), *whole = gather_all(NULL, soft);
        trl__stats_occupancies(some, c.model, count);
        for (int32_t j = 0; j < c.model->tied_states; j++)
            assert_true(fabs(count[j] - whole->count[j]) <= (soft ? 1e-3 * (1 + whole->count[j]) : 0));
        trl__stats_destroy(some);
        trl__stats_destroy(whole);
    }
    const double frames[4] = {0, 100, 101, 1000};
    assert_int_equal(trl__sample_shares(frames, 4, 100, sample), 2);
    assert_true(sample[0] == 1 && sample[1] == 1 && sample[2] == (float)(100.0 / 101) && sample[3] == 0.1f);
    trl__stats_occupancies(all, c.model, count);
    int32_t more = trl__sample_shares(count, c.model->tied_states, 1000, sample);
    assert_true(more > 0);
    trl__stats *some = gather_all(sample, 0);
    for (int32_t j = 0; j < c.model->tied_states; j++)
        if (all->count[j] > 1000)
            assert_true(fabs(some->count[j] - 1000) <= 6 * sqrt(1000));
        else
            assert_true(some->count[j] == all->count[j]);
    trl__stats_destroy(some);
    trl__stats_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_is_as_defined),      cmocka_unit_test(samples_are_fair),
        cmocka_unit_test(shares_of_one_and_none),        cmocka_unit_test(whoever_computes_it),
        cmocka_unit_test(occupancies_are_of_all_frames),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
