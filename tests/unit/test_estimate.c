/* From statistics to parameters, by hand-worked numbers; the rules for too little data; splitting. */
#include "model_fixture.h"
#include "model/estimate.h"

static trl_error err;

static const trl__estimate_options no_floors = {.least_variance = 1e-12, .least_probability = 1e-6};

static trl__stats *stats_of(const trl_model *m)
{
    trl__stats *stats;
    assert_int_equal(trl__stats_create(m, &stats, &err), 0);
    return stats;
}

/* SIL and SPN with one state, AA with one state: 3 tied states of 1 dimension; the last has so many components. */
static trl_model *example(int32_t components)
{
    trl_model_options o = trl_model_defaults();
    o.states = o.silence_states = 1;
    trl_model *m = model_of("A AA\n", 1, &o);
    const double count[3] = {0, 0, 1e6};
    assert_int_equal(trl__split_to_components(m, count, components, 1, &err), 0);
    return m;
}

static void put(trl__stats *s, int64_t g, double count, double mean, double variance)
{
    s->count[g] = count;
    s->sum[g] = count * mean;
    s->square[g] = count * (variance + mean * mean);
}

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}

static void expect(const trl_model *m, int32_t tied, int32_t component, double weight, double mean, double variance)
{
    trl_gaussian g = trl_model_gaussian(m, tied, component);
    if (!near((double)g.weight, weight) || !near((double)g.mean[0], mean) || !near((double)g.variance[0], variance))
        fail_msg("tied state %d, component %d: %g %g %g", tied, component, (double)g.weight, (double)g.mean[0],
                 (double)g.variance[0]);
}

static trl__estimate_result estimate(trl_model *m, trl__stats *s, const trl__estimate_options *o)
{
    trl__estimate_result result;
    if (trl__estimate(m, s, o, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(trl__model_finish(m, "estimated", &err), 0);
    assert_int_equal(trl_model_gaussians(m), result.gaussians);
    trl__stats_destroy(s);
    return result;
}

static void takes_means_variances_and_weights(void **state)
{
    (void)state;
    trl_model *m = example(2);
    trl__stats *s = stats_of(m);
    put(s, 0, 10, 5, 2);
    put(s, 1, 0, 0, 0);
    put(s, 2, 30, -1, 0.5);
    put(s, 3, 10, 1, 3);
    trl__estimate_result r = estimate(m, s, &no_floors);
    expect(m, 0, 0, 1, 5, 2);
    expect(m, 1, 0, 1, 0, 1); /* no data: as it was */
    expect(m, 2, 0, 0.75, -1, 0.5);
    expect(m, 2, 1, 0.25, 1, 3);
    assert_int_equal(r.gaussians, 4);
    assert_int_equal(r.kept_states, 1);
    assert_int_equal(r.dropped + r.floored, 0);
    assert_int_equal(r.kept_transitions, 3);
    trl_model_destroy(m);
}

/* Within the state: (30 * 0.5 + 10 * 3 + 2 * 9) / 42 = 1.5 where the third counts; it is below the least count here: 45 / 40 = 1.125. */
static void variances_borrow_from_their_state(void **state)
{
    (void)state;
    trl_model *m = example(3);
    trl__stats *s = stats_of(m);
    trl__estimate_options o = no_floors;
    o.least_count = 3;
    o.variance_prior = 10;
    put(s, 0, 10, 5, 2);
    put(s, 2, 30, -1, 0.5);
    put(s, 3, 10, 1, 3);
    put(s, 4, 2, 8, 9);
    estimate(m, s, &o);
    expect(m, 0, 0, 1, 5, 2); /* alone */
    expect(m, 2, 0, 0.75, -1, (30 * 0.5 + 10 * 1.125) / 40);
    expect(m, 2, 1, 0.25, 1, (10 * 3 + 10 * 1.125) / 20);
    trl_model_destroy(m);
}

static void drops_components_without_data(void **state)
{
    (void)state;
    trl_model *m = example(4);
    trl__stats *s = stats_of(m);
    trl__estimate_options o = no_floors;
    o.least_count = 3;
    put(s, 0, 2, 5, 2); /* the only component: stays as it was */
    put(s, 2, 2.9, -1, 0.5);
    put(s, 3, 3, 1, 3);
    put(s, 4, 0, 0, 0);
    put(s, 5, 9, 2, 4);
    trl__estimate_result r = estimate(m, s, &o);
    expect(m, 0, 0, 1, 0, 1);
    assert_int_equal(trl_model_components(m, 2), 2);
    expect(m, 2, 0, 0.25, 1, 3);
    expect(m, 2, 1, 0.75, 2, 4);
    assert_int_equal(r.dropped, 2);
    assert_int_equal(r.kept_states, 2);
    trl_model_destroy(m);
}

/* All below the least count: the one with the most frames stays, as it was, with all the weight. */
static void keeps_one_component(void **state)
{
    (void)state;
    trl_model *m = example(4);
    float mean = trl_model_gaussian(m, 2, 2).mean[0], variance = trl_model_gaussian(m, 2, 2).variance[0];
    trl__stats *s = stats_of(m);
    trl__estimate_options o = no_floors;
    o.least_count = 3;
    put(s, 3, 1, 8, 1);
    put(s, 4, 2, 9, 1);
    trl__estimate_result r = estimate(m, s, &o);
    assert_int_equal(trl_model_components(m, 2), 1);
    expect(m, 2, 0, 1, (double)mean, (double)variance);
    assert_int_equal(r.dropped, 3);
    assert_int_equal(r.kept_states, 3);
    trl_model_destroy(m);
}

/* Two Gaussians with 10 frames each at -2 and 2, no spread within: all data have variance 4. */
static void raises_variances_to_the_floor(void **state)
{
    (void)state;
    trl_model *m = example(2);
    trl__stats *s = stats_of(m);
    trl__estimate_options o = no_floors;
    o.variance_floor = 0.01;
    put(s, 2, 10, -2, 0);
    put(s, 3, 10, 2, 0);
    trl__estimate_result r = estimate(m, s, &o);
    expect(m, 2, 0, 0.5, -2, 0.04);
    expect(m, 2, 1, 0.5, 2, 0.04);
    assert_int_equal(r.floored, 2);
    s = stats_of(m);
    o.least_variance = 0.5;
    put(s, 2, 10, -1, 0.75);
    put(s, 3, 10, 1, 0.25);
    r = estimate(m, s, &o);
    expect(m, 2, 0, 0.5, -1, 0.75);
    expect(m, 2, 1, 0.5, 1, 0.5);
    assert_int_equal(r.floored, 1);
    trl_model_destroy(m);
}

static double probability(const trl_model *m, int32_t id)
{
    return exp((double)trl_model_transition(m, id).log_probability);
}

static void takes_transitions_from_frequencies(void **state)
{
    (void)state;
    trl_model *m = example(1);
    trl__stats *s = stats_of(m);
    trl__estimate_options o = no_floors;
    o.least_probability = 0.01;
    s->transition[1] = 60;
    s->transition[2] = 40;
    s->transition[3] = 1e9; /* leaving is too rare */
    s->transition[4] = 1;
    trl__estimate_result r = estimate(m, s, &o);
    assert_true(near(probability(m, 1), 0.6) && near(probability(m, 2), 0.4));
    assert_true(near(probability(m, 3), 0.99) && near(probability(m, 4), 0.01));
    assert_true(near(probability(m, 5), 0.75) && near(probability(m, 6), 0.25)); /* no data: as it was */
    assert_int_equal(r.kept_transitions, 1);
    trl_model_destroy(m);
}

static void pools_transitions(void **state)
{
    (void)state;
    trl_model *m = example(1);
    m->triple[0].pool = m->triple[1].pool = 2;
    trl__stats *s = stats_of(m);
    s->transition[1] = 10; /* 10 + 20 + 30 stay, 0 + 5 + 35 leave */
    s->transition[3] = 20;
    s->transition[4] = 5;
    s->transition[5] = 30;
    s->transition[6] = 35;
    trl__estimate_result r = estimate(m, s, &no_floors);
    for (int32_t id = 1; id <= 6; id += 2)
        assert_true(near(probability(m, id), 0.6) && near(probability(m, id + 1), 0.4));
    assert_int_equal(r.kept_transitions, 0);
    trl_model_destroy(m);
}

/* Four arcs with 0.9899, 0.0101, 0, 0 and a floor of 0.01: the last two take 0.02, which brings the second below the floor
 * too; then 0.03, and the first gives it all. */
static void floors_bring_others_below(void **state)
{
    (void)state;
    trl_model_options o = trl_model_defaults();
    o.silence_states = 5;
    o.silence_topology = TRL_TOPOLOGY_ERGODIC;
    trl_model *m = model_of("A AA\n", 1, &o);
    trl__stats *s = stats_of(m);
    trl__estimate_options e = no_floors;
    e.least_probability = 0.01;
    s->transition[1] = 989.9;
    s->transition[2] = 10.1;
    estimate(m, s, &e);
    assert_true(near(probability(m, 1), 0.97));
    for (int32_t id = 2; id <= 4; id++)
        assert_true(near(probability(m, id), 0.01));
    s = stats_of(m);
    e.least_probability = 0.9; /* impossible for all: equal shares */
    s->transition[1] = 5;
    estimate(m, s, &e);
    for (int32_t id = 1; id <= 4; id++)
        assert_true(near(probability(m, id), 0.25));
    trl_model_destroy(m);
}

static void refuses_what_it_can_not_use(void **state)
{
    (void)state;
    trl_model *m = example(1), *other = example(2);
    trl__stats *s = stats_of(m), *wrong = stats_of(other);
    trl__estimate_options o = trl__estimate_defaults();
    assert_true(o.least_count == 3 && o.variance_floor == 0.01 && o.least_variance == 1e-5);
    assert_int_equal(trl__estimate(m, wrong, &o, NULL, &err), TRL_EINVAL);
    assert_non_null(strstr(err.text, "4 Gaussians of 1 dimensions and 6 transitions, the model 3, 1 and 6"));
    o.least_variance = 0;
    assert_int_equal(trl__estimate(m, s, &o, NULL, &err), TRL_EINVAL);
    o = trl__estimate_defaults();
    o.least_probability = 1;
    assert_int_equal(trl__estimate(m, s, &o, NULL, &err), TRL_EINVAL);
    o = trl__estimate_defaults();
    put(s, 1, 10, 1e30, 0);
    s->square[1] = 1e300;
    assert_int_equal(trl__estimate(m, s, &o, NULL, &err), TRL_ENUMBER);
    assert_non_null(strstr(err.text, "tied state 1, component 0, dimension 0"));
    expect(m, 1, 0, 1, 0, 1); /* a failure changes nothing */
    trl__stats_destroy(s);
    trl__stats_destroy(wrong);
    trl_model_destroy(m);
    trl_model_destroy(other);
}

/* ---- splitting ---- */

static void splits_the_heaviest(void **state)
{
    (void)state;
    trl_model *m = example(2);
    expect(m, 2, 0, 0.5, 0.2, 1); /* 0.2 standard deviations to either side */
    expect(m, 2, 1, 0.5, -0.2, 1);
    m->log_weight[2] = logf(0.3f);
    m->log_weight[3] = logf(0.7f);
    m->variance[3] = 4;
    const double count[3] = {100, 100, 100};
    assert_int_equal(trl__split_to_components(m, count, 3, 10, &err), 0);
    expect(m, 2, 0, 0.3, 0.2, 1);
    expect(m, 2, 1, 0.35, -0.2 + 0.4, 4);
    expect(m, 2, 2, 0.35, -0.2 - 0.4, 4);
    assert_int_equal(trl_model_components(m, 0), 3);
    assert_int_equal(trl__split_to_components(m, count, 2, 10, &err), 0);
    assert_int_equal(trl_model_components(m, 2), 3); /* none shrinks */
    trl_model_destroy(m);
}

static void few_frames_carry_few_components(void **state)
{
    (void)state;
    trl_model *m = example(1);
    const double count[3] = {0, 39.9, 1e9};
    assert_int_equal(trl__split_to_components(m, count, 16, 10, &err), 0);
    assert_int_equal(trl_model_components(m, 0), 1);
    assert_int_equal(trl_model_components(m, 1), 3);
    assert_int_equal(trl_model_components(m, 2), 16);
    trl_model_destroy(m);
}

static void shares_out_by_occupancy(void **state)
{
    (void)state;
    trl_model *m = example(1);
    const double count[3] = {16, 81, 256}; /* to the power 0.25: 2, 3, 4 */
    assert_int_equal(trl__split_to_total(m, count, 90, 0.25, 0, &err), 0);
    assert_int_equal(trl_model_components(m, 0), 20);
    assert_int_equal(trl_model_components(m, 1), 30);
    assert_int_equal(trl_model_components(m, 2), 40);
    assert_int_equal(trl__split_to_total(m, count, 9, 0.25, 0, &err), 0);
    assert_int_equal(trl_model_gaussians(m), 90);
    assert_int_equal(trl__split_to_total(m, count, 1000, 0.25, 2, &err), 0); /* 20 and 40 are full; 256 / 2 */
    assert_int_equal(trl_model_components(m, 0), 20);
    assert_int_equal(trl_model_components(m, 1), 40);
    assert_int_equal(trl_model_components(m, 2), 128);
    trl_model_destroy(m);
}

/* [001] IV-B: 42 components at the fewest frames of a leaf, 18k, and 92 at the most, 256k. */
static void varmix_is_the_papers(void **state)
{
    (void)state;
    trl__varmix rule = trl__varmix_defaults();
    assert_int_equal(trl__varmix_components(&rule, 18000), 42);
    assert_int_equal(trl__varmix_components(&rule, 256000), 92);
    assert_int_equal(trl__varmix_components(&rule, 1e12), 92);
    rule = (trl__varmix){.alpha = 0.5, .beta = 2, .least_frames = 100, .most_frames = 10000};
    assert_int_equal(trl__varmix_components(&rule, 10000), 200);
    assert_int_equal(trl__varmix_components(&rule, 900), 60);
    assert_int_equal(trl__varmix_components(&rule, 100), 20);
    assert_int_equal(trl__varmix_components(&rule, 50), 10); /* 5 frames each, as at the threshold */
    assert_int_equal(trl__varmix_components(&rule, 12.6), 3);
    assert_int_equal(trl__varmix_components(&rule, 1), 1);
    assert_int_equal(trl__varmix_components(&rule, 0), 1);
    rule.least_frames = 0;
    assert_int_equal(trl__varmix_components(&rule, 50), 14); /* 14.1 */
    assert_int_equal(trl__varmix_components(&rule, 0), 1);
}

static void expect_sizes(const trl_model *m, int32_t a, int32_t b, int32_t c)
{
    assert_int_equal(trl_model_components(m, 0), a);
    assert_int_equal(trl_model_components(m, 1), b);
    assert_int_equal(trl_model_components(m, 2), c);
}

static void grows_by_frames(void **state)
{
    (void)state;
    trl_model *m = example(1);
    const trl__varmix rule = {.alpha = 0.5, .beta = 1, .least_frames = 0, .most_frames = 1e4};
    const double count[3] = {0, 144, 1e6}; /* 1, 12 and 100 components */
    assert_int_equal(trl__split_by_frames(m, count, &rule, 0.125, 10, &err), 0);
    expect_sizes(m, 1, 2, 13);
    assert_int_equal(trl__split_by_frames(m, count, &rule, 0.5, 10, &err), 0);
    expect_sizes(m, 1, 6, 50);
    assert_int_equal(trl__split_by_frames(m, count, &rule, 1, 20, &err), 0);
    expect_sizes(m, 1, 7, 100); /* 7 times 20 frames are there */
    assert_int_equal(trl__split_by_frames(m, count, &rule, 0.25, 10, &err), 0);
    expect_sizes(m, 1, 7, 100); /* none shrinks */
    trl_model_destroy(m);
}

static void survives_lack_of_memory(void **state)
{
    (void)state;
    const double count[3] = {100, 100, 100};
    trl_model *m = example(2);
    trl__stats *s = stats_of(m);
    put(s, 2, 30, -1, 0.5);
    int code = TRL_ENOMEM, failures = 0;
    for (long n = 1; code < 0; n++, failures += code < 0) {
        trl__memory_fail_after(n);
        code = trl__estimate(m, s, &no_floors, NULL, &err);
        trl__memory_fail_after(0);
        assert_true(code == 0 || code == TRL_ENOMEM);
        assert_int_equal(trl_model_components(m, 2), code < 0 ? 2 : 1);
    }
    const trl__varmix rule = {.alpha = 0.5, .beta = 1, .most_frames = 1e4};
    for (int which = 0; which < 3; which++) {
        code = TRL_ENOMEM;
        for (long n = 1; code < 0; n++, failures += code < 0) {
            trl__memory_fail_after(n);
            code = which == 0   ? trl__split_to_components(m, count, 2, 1, &err)
                   : which == 1 ? trl__split_to_total(m, count, 12, 0.5, 1, &err)
                                : trl__split_by_frames(m, count, &rule, 1, 1, &err);
            trl__memory_fail_after(0);
            assert_true(code == 0 || code == TRL_ENOMEM);
        }
        assert_int_equal(trl_model_gaussians(m), which == 0 ? 6 : which == 1 ? 12 : 30);
    }
    assert_true(failures >= 6 + 6 + 7 + 6);
    trl__stats_destroy(s);
    trl_model_destroy(m);
}

/* Enough tied states for many parts: everything is the same bytes, and every mean is its own sum's. */
static void threads_share_the_work(void **state)
{
    (void)state;
    char text[2000] = "";
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "W%d P%d\n", i, i);
    trl_model *models[2];
    trl__estimate_result results[2];
    for (int i = 0; i < 2; i++) {
        trl__estimate_options o = no_floors;
        trl_model *m = models[i] = model_of(text, 1, NULL);
        trl__stats *s = stats_of(m);
        assert_true(m->tied_states > 300);
        for (int32_t g = 0; g < m->tied_states; g++)
            put(s, g, g % 7, 0.1 * g, g % 5 == 0 ? 0 : 0.3 + g);
        o.least_count = 2;
        o.least_variance = 0.01;
        assert_int_equal(trl_pool_create(i == 0 ? 1 : 5, &o.pool, &err), 0);
        results[i] = estimate(m, s, &o);
        trl_pool_destroy(o.pool);
        for (int32_t g = 0; g < m->tied_states; g++)
            if (g % 7 >= 2)
                expect(m, g, 0, 1, 0.1 * g, g % 5 == 0 ? 0.01 : 0.3 + g);
            else
                expect(m, g, 0, 1, 0, 1);
    }
    size_t size = (size_t)models[0]->tied_states * sizeof(float);
    assert_memory_equal(models[0]->mean, models[1]->mean, size);
    assert_memory_equal(models[0]->variance, models[1]->variance, size);
    assert_memory_equal(&results[0], &results[1], sizeof *results);
    trl_model_destroy(models[0]);
    trl_model_destroy(models[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_means_variances_and_weights),
        cmocka_unit_test(variances_borrow_from_their_state),
        cmocka_unit_test(drops_components_without_data),
        cmocka_unit_test(keeps_one_component),
        cmocka_unit_test(raises_variances_to_the_floor),
        cmocka_unit_test(takes_transitions_from_frequencies),
        cmocka_unit_test(pools_transitions),
        cmocka_unit_test(floors_bring_others_below),
        cmocka_unit_test(refuses_what_it_can_not_use),
        cmocka_unit_test(splits_the_heaviest),
        cmocka_unit_test(few_frames_carry_few_components),
        cmocka_unit_test(shares_out_by_occupancy),
        cmocka_unit_test(varmix_is_the_papers),
        cmocka_unit_test(grows_by_frames),
        cmocka_unit_test(threads_share_the_work),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
