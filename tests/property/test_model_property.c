/* Laws of models, statistics, estimates and splits, over random models of every shape. */
#include "model_fixture.h"
#include "model/estimate.h"

#define CASES 300

static trl_error err;

/* ---- files ---- */

static void files_and_copies_keep_every_byte(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 6; seed++) { /* every file is synced */
        trl_model *m = random_model(seed), *read, *copy;
        assert_int_equal(trl_model_write(m, temp_path("first"), &err), 0);
        assert_int_equal(trl_model_read(temp_path("first"), &read, &err), 0);
        assert_int_equal(trl__model_copy(read, &copy, &err), 0);
        assert_same_model_file(m, read);
        assert_same_model_file(m, copy);
        assert_int_equal(trl_model_transitions(read), trl_model_transitions(m));
        assert_memory_equal(copy->triple, m->triple, (size_t)m->triples * sizeof *m->triple);
        assert_memory_equal(copy->transition_triple, m->transition_triple,
                            ((size_t)m->transitions + 1) * sizeof *m->transition_triple);
        assert_memory_equal(read->unit_triple, m->unit_triple, (m->units.count + 1) * sizeof *m->unit_triple);
        trl_model_destroy(m);
        trl_model_destroy(read);
        trl_model_destroy(copy);
    }
}

/* Every arc of every triple has one id, in order. */
static void ids_name_every_arc_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        trl_model *m = random_model(seed);
        int32_t id = 1;
        for (int32_t i = 0; i < m->triples; i++) {
            const trl__topology *t = trl__unit_topology(m, m->triple[i].unit);
            for (int32_t a = t->first[m->triple[i].state + 1]; a < t->first[m->triple[i].state + 2]; a++, id++) {
                trl_transition got = trl_model_transition(m, id);
                assert_int_equal(got.unit, m->triple[i].unit);
                assert_int_equal(got.state, m->triple[i].state);
                assert_int_equal(got.tied, m->triple[i].tied);
                assert_int_equal(got.to, t->arcs[a].to);
                assert_true(got.log_probability == (float)log((double)t->arcs[a].probability));
            }
        }
        assert_int_equal(trl_model_transitions(m), id - 1);
        trl_model_destroy(m);
    }
}

/* ---- statistics ---- */

#define FRAMES 400

/* Frame t of a random corpus: which Gaussian, which transition, which numbers. */
static int64_t gaussian_at(const trl_model *m, uint64_t seed, uint64_t t)
{
    return trl__random_bits(seed, 10, t) % (uint64_t)trl_model_gaussians(m);
}

static int32_t transition_at(const trl_model *m, uint64_t seed, uint64_t t)
{
    return 1 + (int32_t)(trl__random_bits(seed, 11, t) % (uint64_t)m->transitions);
}

static double value_at(const trl_model *m, uint64_t seed, uint64_t t, int32_t k)
{
    return 3 + 10 * (double)trl__random_normal(seed, 12, t * (uint64_t)m->dim + (uint64_t)k);
}

static void add_frame(trl__local_stats *local, const trl_model *m, uint64_t seed, uint64_t t)
{
    double *slot = trl__local_stats_slot(local, gaussian_at(m, seed, t));
    assert_non_null(slot);
    slot[0] += 1;
    for (int32_t k = 0; k < m->dim; k++) {
        double x = value_at(m, seed, t, k);
        slot[1 + k] += x;
        slot[1 + m->dim + k] += x * x;
    }
    trl__local_stats_transition(local, transition_at(m, seed, t), 1);
    local->totals.frames += 1;
    local->totals.log_likelihood += value_at(m, seed, t, 0);
}

/* Blocks of `block` frames, merged in order. They are gathered by `workers` objects in turn, from the last to the
 * first, as threads might. */
static trl__stats *gather(const trl_model *m, uint64_t seed, uint64_t block, int workers)
{
    trl__stats *stats;
    trl__local_stats *local[3];
    assert_int_equal(trl__stats_create(m, &stats, &err), 0);
    for (int w = 0; w < workers; w++)
        assert_int_equal(trl__local_stats_create(m, &local[w], &err), 0);
    for (uint64_t first = 0; first < FRAMES; first += block * (uint64_t)workers) {
        for (int w = workers - 1; w >= 0; w--) {
            trl__local_stats_zero(local[w]);
            for (uint64_t t = first + block * (uint64_t)w; t < first + block * (uint64_t)(w + 1) && t < FRAMES; t++)
                add_frame(local[w], m, seed, t);
        }
        for (int w = 0; w < workers; w++)
            trl__stats_merge(stats, local[w]);
    }
    for (int w = 0; w < workers; w++)
        trl__local_stats_destroy(local[w]);
    return stats;
}

static void assert_same_stats(const trl__stats *a, const trl__stats *b)
{
    size_t numbers = (size_t)a->gaussians * (size_t)a->dim * sizeof(double);
    assert_memory_equal(a->count, b->count, (size_t)a->gaussians * sizeof(double));
    assert_memory_equal(a->sum, b->sum, numbers);
    assert_memory_equal(a->square, b->square, numbers);
    assert_memory_equal(a->transition, b->transition, ((size_t)a->transitions + 1) * sizeof(double));
    assert_memory_equal(&a->totals, &b->totals, sizeof a->totals);
}

static void assert_near(const double *a, const double *b, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= tolerance * (1 + fabs(b[i]))))
            fail_msg("number %zu: %.17g and %.17g", i, a[i], b[i]);
}

/* The same blocks, whoever gathers them: the same bytes. Other blocks: the same counts, and sums up to rounding. */
static void blocks_add_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 3; seed++) {
        trl_model *m = random_model(seed);
        uint64_t block = 1 + trl__random_bits(seed, 13, 0) % 60;
        trl__stats *a = gather(m, seed, block, 1), *b = gather(m, seed, block, 3), *c = gather(m, seed, FRAMES, 1);
        size_t gaussians = (size_t)a->gaussians, numbers = gaussians * (size_t)a->dim;
        assert_same_stats(a, b);
        assert_memory_equal(a->count, c->count, gaussians * sizeof(double));
        assert_memory_equal(a->transition, c->transition, ((size_t)a->transitions + 1) * sizeof(double));
        assert_near(a->sum, c->sum, numbers, 1e-12);
        assert_near(a->square, c->square, numbers, 1e-12);
        assert_true(a->totals.frames == FRAMES);
        trl__stats_destroy(a);
        trl__stats_destroy(b);
        trl__stats_destroy(c);
        trl_model_destroy(m);
    }
}

static void statistics_files_keep_every_byte(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 6; seed++) {
        trl_model *m = random_model(seed);
        trl__stats *a = gather(m, seed, 50, 1), *b;
        assert_int_equal(trl__stats_write(a, temp_path("s"), &err), 0);
        assert_int_equal(trl__stats_read(temp_path("s"), &b, &err), 0);
        assert_same_stats(a, b);
        trl__stats_destroy(a);
        trl__stats_destroy(b);
        trl_model_destroy(m);
    }
}

/* ---- estimates ---- */

/* The mean and variance of the frames of one Gaussian, by their definition. */
static void check_gaussian(const trl_model *m, uint64_t seed, int32_t tied, int32_t component, double state_frames)
{
    int64_t g = m->first_gaussian[tied] + component;
    trl_gaussian got = trl_model_gaussian(m, tied, component);
    uint64_t frames[FRAMES];
    size_t count = 0;
    for (uint64_t t = 0; t < FRAMES; t++)
        if (gaussian_at(m, seed, t) == g)
            frames[count++] = t;
    for (int32_t k = 0; k < m->dim; k++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < count; i++)
            mean += value_at(m, seed, frames[i], k) / (double)count;
        for (size_t i = 0; i < count; i++)
            variance += pow(value_at(m, seed, frames[i], k) - mean, 2) / (double)count;
        assert_true(fabs((double)got.mean[k] - mean) <= 1e-6 * (1 + fabs(mean)));
        assert_true(fabs((double)got.variance[k] - variance) <= 1e-5 * (variance + 1e-4));
    }
    assert_true(fabs((double)got.weight - (double)count / state_frames) < 1e-6);
}

/* Where every Gaussian has frames, the estimate is what the definitions say. */
static void estimates_are_means_and_variances(void **state)
{
    (void)state;
    int checked = 0;
    for (uint64_t seed = 1; seed <= CASES / 3; seed++) {
        trl_model *m = random_model(seed);
        trl__stats *s = gather(m, seed, 60, 1);
        const trl__estimate_options o = {.least_variance = 1e-12, .least_probability = 1e-9};
        trl__estimate_result r;
        int complete = 1;
        for (int64_t g = 0; g < s->gaussians; g++)
            complete &= s->count[g] >= 2;
        if (trl__estimate(m, s, &o, &r, &err) < 0)
            fail_msg("%s", err.text);
        for (int32_t j = 0; complete && j < m->tied_states; j++) {
            double frames = 0;
            for (int32_t g = m->first_gaussian[j]; g < m->first_gaussian[j + 1]; g++)
                frames += s->count[g];
            for (int32_t c = 0; c < trl_model_components(m, j); c++)
                check_gaussian(m, seed, j, c, frames);
        }
        checked += complete;
        assert_int_equal(complete ? r.dropped + r.floored + r.kept_states : 0, 0);
        trl__stats_destroy(s);
        trl_model_destroy(m);
    }
    assert_true(checked > CASES / 6);
}

/* Whatever the data and the options: a valid model, transitions not below their floor, pools alike. */
static void estimates_are_always_models(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {seed, 1000};
        trl_model *m = random_model(seed);
        trl__stats *s = gather(m, seed, 60, 1);
        trl__estimate_options o = trl__estimate_defaults();
        o.least_count = roll(&d, 0, 80);
        o.variance_floor = roll_uniform(&d) * 0.1;
        o.least_probability = roll_uniform(&d) * 0.4;
        for (int32_t id = 1; id <= m->transitions; id++)
            s->transition[id] *= roll(&d, 0, 2);
        trl__estimate_result r;
        int64_t before = trl_model_gaussians(m);
        assert_int_equal(trl__estimate(m, s, &o, &r, &err), 0);
        if (trl__model_finish(m, "estimated", &err) < 0)
            fail_msg("seed %d: %s", (int)seed, err.text);
        assert_int_equal(r.gaussians + r.dropped, before);
        assert_int_equal(trl_model_gaussians(m), r.gaussians);
        for (int32_t id = 1; id <= m->transitions; id++) {
            const trl__triple *t = &m->triple[m->transition_triple[id]], *pool = &m->triple[t->pool];
            int32_t arcs = trl__arcs_of(trl__unit_topology(m, t->unit), t->state);
            double used = 0, floor = fmin(o.least_probability, 1.0 / arcs);
            for (int32_t i = 0; i < m->triples; i++)
                for (int32_t k = 0; m->triple[i].pool == t->pool && k < arcs; k++)
                    used += s->transition[m->triple[i].transition + k];
            if (used > 0)
                assert_true(exp((double)m->log_probability[id]) >= floor * (1 - 1e-6));
            if (used > 0)
                assert_true(m->log_probability[id] == m->log_probability[pool->transition + id - t->transition]);
        }
        trl__stats_destroy(s);
        trl_model_destroy(m);
    }
}

/* ---- splits ---- */

static double mixture_mean(const trl_model *m, int32_t tied, int32_t k, double *weight)
{
    double mean = 0;
    *weight = 0;
    for (int32_t c = 0; c < trl_model_components(m, tied); c++) {
        trl_gaussian g = trl_model_gaussian(m, tied, c);
        mean += (double)g.weight * (double)g.mean[k];
        *weight += (double)g.weight;
    }
    return mean;
}

static void check_split(const trl_model *before, const trl_model *after)
{
    for (int32_t j = 0; j < before->tied_states; j++) {
        int32_t components = trl_model_components(after, j);
        assert_true(components >= trl_model_components(before, j));
        for (int32_t k = 0; k < before->dim; k++) {
            double old_weight, weight, old = mixture_mean(before, j, k, &old_weight);
            assert_true(fabs(mixture_mean(after, j, k, &weight) - old) < 1e-4 * (1 + fabs(old)));
            assert_true(fabs(weight - old_weight) < 1e-5);
        }
        for (int32_t a = 0; a < components; a++)
            for (int32_t b = 0; b < a; b++)
                assert_memory_not_equal(trl_model_gaussian(after, j, a).mean, trl_model_gaussian(after, j, b).mean,
                                        (size_t)after->dim * sizeof(float));
    }
}

/* Splits keep each mixture's weight and mean, never make two equal components, and reach the number asked for. */
static void splits_keep_the_mean(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {seed, 2000};
        trl_model *m = random_model(seed), *grown;
        double count[8];
        int64_t limit = 0, total = trl_model_gaussians(m) + roll(&d, 0, 100);
        double least = roll(&d, 0, 20);
        for (int32_t j = 0; j < m->tied_states; j++) {
            count[j] = roll(&d, 1, 400);
            int64_t most = least > 0 ? (int64_t)(count[j] / least) : 1000;
            limit += most > trl_model_components(m, j) ? most : trl_model_components(m, j);
        }
        assert_int_equal(trl__model_copy(m, &grown, &err), 0);
        assert_int_equal(trl__split_to_total(grown, count, total, roll_uniform(&d), least, &err), 0);
        assert_int_equal(trl_model_gaussians(grown), total < limit ? total : limit);
        check_split(m, grown);
        assert_int_equal(trl__model_finish(grown, "grown", &err), 0);
        trl_model_destroy(grown);
        int32_t components = roll(&d, 1, 20);
        assert_int_equal(trl__model_copy(m, &grown, &err), 0);
        assert_int_equal(trl__split_to_components(grown, count, components, 0, &err), 0);
        check_split(m, grown);
        for (int32_t j = 0; j < m->tied_states; j++)
            assert_int_equal(trl_model_components(grown, j),
                             components > trl_model_components(m, j) ? components : trl_model_components(m, j));
        trl_model_destroy(grown);
        trl_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_copies_keep_every_byte),
        cmocka_unit_test(ids_name_every_arc_once),
        cmocka_unit_test(blocks_add_up),
        cmocka_unit_test(statistics_files_keep_every_byte),
        cmocka_unit_test(estimates_are_means_and_variances),
        cmocka_unit_test(estimates_are_always_models),
        cmocka_unit_test(splits_keep_the_mean),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
