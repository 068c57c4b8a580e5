/* The aligner's statuses, retries, paths from elsewhere, counts; and an hour of sound in bounded memory. */
#include "align_case.h"

#include <sys/resource.h>

static align_case c;

static int tear_down(void **state)
{
    (void)state;
    close_case(&c);
    return 0;
}

/* Words of three phones; every tied state is one Gaussian with a mean of its own. */
static void make_speech_model(int phones, int dim)
{
    char text[2000];
    size_t size = 0;
    dice d = {.seed = 9};
    for (int w = 0; w + 2 < phones; w++)
        size += (size_t)snprintf(text + size, sizeof text - size, "W%d P%d P%d P%d\n", w, w, w + 1, w + 2);
    trl_model_options o = trl_model_defaults();
    c.lexicon = lexicon_of(text);
    must(trl_model_create(c.lexicon, NULL, dim, &o, &c.model, &err));
    randomise_mixtures(c.model, &d, 1);
    for (int64_t i = 0; i < (int64_t)c.model->tied_states * dim; i++)
        c.model->variance[i] = 0.05f;
    open_case(&c, "cpu");
}

/* Frames around the means of a path's states. */
static void speak(const trl__run *runs, size_t count, dice *d)
{
    size_t frames = 0, t = 0;
    for (size_t i = 0; i < count; i++)
        frames += (size_t)runs[i].frames;
    must(trl_matrix_resize(&c.frames, frames, (size_t)c.model->dim, &err));
    for (size_t i = 0; i < count; i++)
        for (int32_t f = 0; f < runs[i].frames; f++, t++)
            for (int32_t k = 0; k < c.model->dim; k++)
                trl_matrix_row(&c.frames, t)[k] =
                    c.model->mean[c.graph.node_tied[runs[i].node] * c.model->dim + k] + 0.2f * (roll(d) - 0.5f);
}

/* A path through the words, with silence before every second one, some frames in each state. */
static trl__run *random_path(size_t *count, dice *d)
{
    trl__run *runs = malloc((size_t)c.graph.nodes * sizeof *runs);
    *count = 0;
    for (int32_t s = 0; s < c.graph.slots; s++)
        for (int32_t n = c.graph.slot[s].first_node; n < c.graph.slot[s].end_node; n++)
            if (s % 4 != 0)
                runs[(*count)++] = (trl__run){n, roll_int(d, 2, 6)};
    return runs;
}

static void test_too_short(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    dice d = {.seed = 1};
    say(&c, (int32_t[]){0, 1}, 2);
    c.frames = random_frames(&d, 17, 4);
    begin_case(&c);
    assert_int_equal(c.graph.least_frames, 18);
    assert_int_equal(search_case(&c, TRL_MARGIN_FULL, 100, NULL, 0).status, TRL__TOO_SHORT);
    assert_int_equal(search_case(&c, TRL_MARGIN_AUTO, 100, NULL, 0).status, TRL__TOO_SHORT);
    assert_null(trl__aligner_path(c.aligner, NULL, NULL));
    trl__search_result equal;
    must(trl__aligner_equal_path(c.aligner, &equal, &err));
    assert_int_equal(equal.status, TRL__TOO_SHORT);
}

static void test_no_path(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    say(&c, (int32_t[]){0}, 1);
    must(trl_matrix_resize(&c.frames, 40, (size_t)c.model->tied_states, &err));
    for (size_t i = 0; i < 40 * c.frames.cols; i++)
        c.frames.data[i] = i / c.frames.cols == 20 ? -INFINITY : -1;
    must(trl__aligner_begin_likelihoods(c.aligner, &c.frames, 1, &c.graph, &err));
    trl__search_result r = search_case(&c, TRL_MARGIN_AUTO, 100, NULL, 0);
    assert_int_equal(r.status, TRL__NO_PATH);
    assert_int_equal(r.redone, 3);
    assert_int_equal(trl__aligner_accumulate(c.aligner, NULL, NULL, &err), TRL_EINVAL);
}

/* The first tile likes the first silence so much that a narrow beam keeps nothing else, and then it is too late. */
static void test_beam_is_widened(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    say(&c, (int32_t[]){0, 1, 0, 1}, 4); /* 36 states */
    must(trl_matrix_resize(&c.frames, 64, (size_t)c.model->tied_states, &err));
    for (size_t t = 0; t < 64; t++)
        for (size_t j = 0; j < c.frames.cols; j++)
            trl_matrix_row(&c.frames, t)[j] = t < 32 && j == 0 ? -1 : -2;
    must(trl__aligner_begin_likelihoods(c.aligner, &c.frames, 1, &c.graph, &err));
    trl__search_result full = search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0);
    trl__search_result beam = search_case(&c, TRL_MARGIN_AUTO, 1, NULL, 0);
    assert_int_equal(full.redone, 0);
    assert_int_equal(beam.status, TRL__ALIGNED);
    assert_true(beam.redone == 3);
    assert_true(fabs(full.log_likelihood - beam.log_likelihood) < 1e-4);
}

/* Likelihoods from a file are what the model would have said: the same path and score. */
static void test_likelihoods_from_elsewhere(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    dice d = {.seed = 2};
    trl_matrix likelihoods = {0};
    say(&c, (int32_t[]){0, 2, 1}, 3);
    c.frames = random_frames(&d, 80, 4);
    begin_case(&c);
    trl__search_result own = search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0);
    must(trl_matrix_resize(&likelihoods, 80, (size_t)c.model->tied_states, &err));
    for (size_t t = 0; t < 80; t++)
        for (int32_t j = 0; j < c.model->tied_states; j++)
            trl_matrix_row(&likelihoods, t)[j] = (float)(0.5 * state_score(c.model, j, trl_matrix_row(&c.frames, t)));
    must(trl__aligner_begin_likelihoods(c.aligner, &likelihoods, 2, &c.graph, &err));
    trl__search_result other = search_case(&c, TRL_MARGIN_AUTO, 1e9, NULL, 0);
    assert_true(fabs(own.log_likelihood - other.log_likelihood) < 1e-2);
    likelihoods.cols = (size_t)c.graph.tied_end - 1;
    assert_int_equal(trl__aligner_begin_likelihoods(c.aligner, &likelihoods, 1, &c.graph, &err), TRL_EINVAL);
    trl_matrix_free(&likelihoods);
}

/* Some networks write a huge negative number where they mean never: the only path that is left has all the probability,
 * even where every state is impossible at one frame. */
static void test_likelihoods_that_mean_never(void **state)
{
    (void)state;
    enum { FRAMES = 36 };
    float slot[FRAMES], phone[FRAMES];
    double total;
    make_speech_model(5, 4);
    say(&c, (int32_t[]){0}, 1);
    int32_t word = c.graph.slot[1].first_node;
    must(trl_matrix_resize(&c.frames, FRAMES, (size_t)c.model->tied_states, &err));
    for (int32_t t = 0; t < FRAMES; t++)
        for (size_t j = 0; j < c.frames.cols; j++) {
            int said = t != 18 && j == (size_t)c.graph.node_tied[word + t / 4];
            trl_matrix_row(&c.frames, (size_t)t)[j] = said ? -1 : t % 4 ? -1e30f : -3e38f;
        }
    must(trl__aligner_begin_likelihoods(c.aligner, &c.frames, 1, &c.graph, &err));
    assert_int_equal(search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0).status, TRL__ALIGNED);
    trl__posterior_options o = {.margin = TRL_MARGIN_FULL, .acoustic_scale = 1, .slot = slot, .phone = phone};
    must(trl__aligner_posteriors(c.aligner, &o, &total, &err));
    assert_true(isfinite(total));
    for (int t = 0; t < FRAMES; t++)
        assert_true(slot[t] > 0.999f && phone[t] > 0.999f);
}

static void test_paths_from_elsewhere(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    dice d = {.seed = 3};
    say(&c, (int32_t[]){0}, 1); /* nodes: silence 0-2, word 3-11, silence 12-14 */
    c.frames = random_frames(&d, 20, 4);
    begin_case(&c);
    trl__run good[9], bad[9];
    for (int i = 0; i < 9; i++)
        good[i] = (trl__run){3 + i, i == 4 ? 12 : 1};
    must(trl__aligner_set_path(c.aligner, good, 9, &err));
    const int32_t *path = trl__aligner_path(c.aligner, NULL, NULL);
    assert_int_equal(path[0], 3);
    assert_int_equal(path[4], 7);
    assert_int_equal(path[15], 7);
    assert_int_equal(path[19], 11);
    assert_int_equal(search_case(&c, 3, 0, good, 9).status, TRL__ALIGNED);

    struct {
        int at;
        trl__run run;
    } faults[] = {{2, {99, 1}}, {2, {-1, 1}}, {2, {5, 0}}, {2, {5, 2}}, {2, {6, 1}}, {8, {10, 1}}, {4, {7, INT32_MAX}}};
    trl__search_options o = {.margin = 3};
    trl__search_result r;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        memcpy(bad, good, sizeof bad);
        bad[faults[i].at] = faults[i].run;
        assert_int_equal(trl__aligner_set_path(c.aligner, bad, 9, &err), TRL_EINVAL);
        assert_null(trl__aligner_path(c.aligner, NULL, NULL));
    }
    bad[4].frames = 11;
    assert_int_equal(trl__aligner_search(c.aligner, &o, bad, 9, &r, &err), TRL_EINVAL);
    assert_int_equal(trl__aligner_set_path(c.aligner, good, 8, &err), TRL_EINVAL);
    assert_int_equal(trl__aligner_search(c.aligner, &o, good, 8, &r, &err), TRL_EINVAL);
}

/* What the flat start counts: every frame leaves its state once, every state is left once. */
static void test_counts_of_an_equal_path(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    dice d = {.seed = 4};
    say(&c, (int32_t[]){0}, 1);
    c.frames = random_frames(&d, 30, 4); /* 15 states, two frames each */
    begin_case(&c);
    trl__search_result r;
    trl__local_stats *local;
    trl__stats *stats;
    must(trl__aligner_equal_path(c.aligner, &r, &err));
    must(trl__local_stats_create(c.model, &local, &err));
    must(trl__stats_create(c.model, &stats, &err));
    double joint;
    must(trl__aligner_accumulate(c.aligner, local, &joint, &err));
    trl__stats_merge(stats, local);
    for (int32_t n = 0; n < c.graph.nodes; n++) {
        int32_t id =
            trl__model_triple(c.model, c.graph.phone[c.graph.node_phone[n]].unit, c.graph.node_state[n])->transition;
        int visits = c.graph.node_tied[n] < 3 ? 2 : 1; /* silence is there twice */
        assert_true(stats->transition[id] == visits);
        assert_true(stats->transition[id + 1] == visits);
        assert_true(stats->count[c.graph.node_tied[n]] == 2 * visits);
    }
    assert_true(stats->totals.frames == 30);
    assert_true(stats->totals.joint == joint && joint < 0);
    trl__stats_destroy(stats);
    trl__local_stats_destroy(local);
}

static void test_times_and_gaussians(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    dice d = {.seed = 5};
    say(&c, (int32_t[]){0, 0}, 2); /* silence and three phones: twelve tied states, each scored once */
    c.frames = random_frames(&d, 50, 4);
    begin_case(&c);
    search_case(&c, TRL_MARGIN_FULL, 0, NULL, 0);
    trl__step_times *times = trl__aligner_times(c.aligner);
    assert_true(times->gaussians == 12 * 50);
    assert_true(times->load > 0 && times->score > 0 && times->alpha > 0 && times->backtrack > 0);
}

/* ---- long utterances ---- */

static long peak_kilobytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void say_random(size_t words, dice *d)
{
    int32_t *random = malloc(words * sizeof *random);
    for (size_t i = 0; i < words; i++)
        random[i] = roll_int(d, 0, 9);
    say(&c, random, words);
    free(random);
}

static void test_an_hour(void **state)
{
    (void)state;
    make_speech_model(12, 4);
    dice d = {.seed = 6};
    size_t count, wrong = 0;
    say_random(9000, &d);
    trl__run *truth = random_path(&count, &d);
    speak(truth, count, &d);
    assert_in_range(c.frames.rows, 300000, 450000);
    assert_in_range(c.graph.nodes, 100000, 110000);
    long before = peak_kilobytes();
    begin_case(&c);
    trl__search_result r = search_case(&c, TRL_MARGIN_AUTO, 200, NULL, 0);
    assert_int_equal(r.status, TRL__ALIGNED);
    assert_int_equal(r.redone, 0);
    assert_int_equal(r.run_count, count);
    for (size_t i = 0; i < count; i++)
        wrong += r.runs[i].node != truth[i].node || r.runs[i].frames != truth[i].frames;
    assert_true(wrong * 100 < count);
    /* Windows of few hundred nodes, not of a hundred thousand: that would be 108,000 x 3600 Gaussian rows per tile. */
    assert_true(trl__aligner_times(c.aligner)->gaussians < 60.0 * (double)c.frames.rows);
    float *posterior = malloc(c.frames.rows * sizeof *posterior);
    trl__posterior_options o = {.margin = 20, .acoustic_scale = 0.1, .slot = posterior};
    must(trl__aligner_posteriors(c.aligner, &o, NULL, &err));
    double mean = 0;
    for (size_t t = 0; t < c.frames.rows; t++)
        mean += (double)posterior[t] / (double)c.frames.rows;
    assert_true(mean > 0.8 && mean <= 1);
    assert_in_range(peak_kilobytes() - before, 0,
                    1000000); /* in full it would be more than 9 GB of back-pointers alone */
    free(posterior);
    free(truth);
}

/* In pieces and as a whole (which statistics ask for) the posteriors are the same. */
static void test_pieces(void **state)
{
    (void)state;
    make_speech_model(12, 4);
    dice d = {.seed = 7};
    size_t count;
    say_random(250, &d);
    trl__run *truth = random_path(&count, &d);
    speak(truth, count, &d);
    assert_true(c.frames.rows > 7000);
    begin_case(&c);
    must(trl__aligner_set_path(c.aligner, truth, count, &err));
    trl__local_stats *local;
    must(trl__local_stats_create(c.model, &local, &err));
    float *both[4];
    for (int i = 0; i < 4; i++)
        both[i] = malloc(c.frames.rows * sizeof(float));
    double total;
    trl__posterior_options o = {.margin = 15, .acoustic_scale = 0.02, .slot = both[0], .phone = both[1]};
    must(trl__aligner_posteriors(c.aligner, &o, &total, &err));
    assert_true(isnan(total));
    o.slot = both[2];
    o.phone = both[3];
    o.local = local;
    must(trl__aligner_posteriors(c.aligner, &o, &total, &err));
    assert_true(total < 0);
    double doubt = 0;
    for (size_t t = 0; t < c.frames.rows; t++) {
        assert_true(fabsf(both[0][t] - both[2][t]) < 1e-4f);
        assert_true(fabsf(both[1][t] - both[3][t]) < 1e-4f);
        doubt += 1 - (double)both[0][t];
    }
    assert_true(doubt > 50); /* posteriors that are not all 1 */
    assert_true(fabs(local->totals.frames - (double)c.frames.rows) < 1e-9);
    must(trl__aligner_accumulate(c.aligner, local, NULL, &err)); /* the frames are the whole utterance's again */
    for (int i = 0; i < 4; i++)
        free(both[i]);
    trl__local_stats_destroy(local);
    free(truth);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    make_speech_model(5, 4);
    dice d = {.seed = 8};
    say(&c, (int32_t[]){0, 1}, 2);
    c.frames = random_frames(&d, 90, 4);
    trl__aligner *kept = c.aligner;
    for (long n = 1;; n++) {
        float posterior[90];
        trl__search_options o = {.margin = TRL_MARGIN_AUTO, .auto_margin = 4, .beam = 100};
        trl__posterior_options p = {.margin = 5, .acoustic_scale = 1, .slot = posterior};
        trl__search_result r;
        trl__aligner *a = NULL;
        trl__memory_fail_after(n);
        int code = trl__aligner_create(c.device, &a, &err);
        if (code == 0)
            code = trl__aligner_begin(a, c.parameters, &c.frames, &c.graph, &err);
        if (code == 0)
            code = trl__aligner_search(a, &o, NULL, 0, &r, &err);
        if (code == 0)
            code = trl__aligner_search(a, &o, r.runs, r.run_count, &r, &err);
        if (code == 0)
            code = trl__aligner_posteriors(a, &p, NULL, &err);
        trl__memory_fail_after(0);
        trl__aligner_destroy(a);
        if (code == 0)
            break;
        assert_int_equal(code, TRL_ENOMEM);
        assert_true(n < 200);
    }
    c.aligner = kept;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_too_short, tear_down),
        cmocka_unit_test_teardown(test_no_path, tear_down),
        cmocka_unit_test_teardown(test_beam_is_widened, tear_down),
        cmocka_unit_test_teardown(test_likelihoods_from_elsewhere, tear_down),
        cmocka_unit_test_teardown(test_likelihoods_that_mean_never, tear_down),
        cmocka_unit_test_teardown(test_paths_from_elsewhere, tear_down),
        cmocka_unit_test_teardown(test_counts_of_an_equal_path, tear_down),
        cmocka_unit_test_teardown(test_times_and_gaussians, tear_down),
        cmocka_unit_test_teardown(test_an_hour, tear_down),
        cmocka_unit_test_teardown(test_pieces, tear_down),
        cmocka_unit_test_teardown(test_every_allocation_may_fail, tear_down),
    };
    return RUN(tests);
}
