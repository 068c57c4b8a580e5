/* Devices take many searches at once: ragged batches, large graphs, long utterances, and numbers that are none, against the
 * processor's reference one search at a time. */
#include "batch_outcome.h"
#include "cmocka_test.h"
#include "device_fixture.h"
#include "near_sums.h"

#include <trellis/likelihood.h>

static test_devices devices;
static trl__device *reference, *processor;

/* With TRELLIS_TEST_SMALL=1 tasks are tiny: under oclgrind, which interprets kernels, every one of their steps takes a thousand times as
 * long (tests/cli/test_oclgrind.sh). */
static int is_small(void)
{
    return getenv("TRELLIS_TEST_SMALL") != NULL;
}

static int open_all(void **state)
{
    (void)state;
    open_devices_of_drivers(&devices);
    return trl__device_open("cpu:ref", &reference, NULL) || trl__device_open("cpu", &processor, NULL);
}

static int close_all(void **state)
{
    (void)state;
    trl__device_close(reference);
    trl__device_close(processor);
    close_devices_of_test(&devices);
    return 0;
}

/* ---- Batches ---- */

static void ragged_batches_are_single_searches(void **state)
{
    (void)state;
    static outcome expected, got;
    const mixture_kind kinds[] = {{13, 4, 7, 2, 0, 0.5f},
                                  {39, 3, 70, 2, 0, 0.5f},
                                  {1, 1, 1, 1, 0, 1},
                                  {20, 2, 5, 1, 10, 1e-5f},
                                  {3, 2, 640, 4, 0, 0.1f}};
    const int lengths[MOST] = {1, 400, 2, 31, 32, 33, 7, 129, 64}, few[MOST] = {1, 9, 2, 3, 4, 5, 7, 35, 6};
    const int *lengths_now = is_small() ? few : lengths;
    for (size_t k = is_small() ? 2 : 0; k < sizeof kinds / sizeof *kinds; k++) {
        random_search *r[MOST];
        if (is_small() && k > 3)
            continue;
        for (size_t i = 0; i < MOST; i++) {
            r[i] = make_search(10 * k + i, lengths_now[i], kinds[k]);
            r[i]->s.stays = 1;
            r[i]->s.shares = 1;
        }
        run_batch(reference, r, MOST, 1, &expected);
        for (size_t d = 0; d < devices.count; d++)
            for (size_t at_once = is_small() ? MOST : 1; at_once <= MOST; at_once += 4) {
                run_batch(devices.device[d], r, MOST, at_once, &got);
                assert_near(got.log_likelihood, expected.log_likelihood, MOST, 1e-6, "log-likelihood");
                assert_near(got.total, expected.total, MOST, 1e-6, "sum of paths");
                for (size_t i = 0; i < MOST; i++) {
                    size_t bytes = (size_t)lengths_now[i] * sizeof(int32_t);
                    assert_memory_equal(got.path_node[i], expected.path_node[i], bytes);
                    assert_memory_equal(got.path_arc[i], expected.path_arc[i], bytes);
                }
                assert_near_sums(got.path, expected.path, 1e-3);
                assert_near_sums(got.all, expected.all, 1e-3);
                free_outcome(&got);
            }
        free_outcome(&expected);
        for (size_t i = 0; i < MOST; i++)
            random_search_free(r[i]);
    }
}

/* The same batch twice gives the same bytes: nothing depends on the order in which groups run. */
static void runs_are_the_same_bytes(void **state)
{
    (void)state;
    if (is_small())
        skip();
    static outcome first, second;
    random_search *r[MOST];
    for (size_t i = 0; i < MOST; i++) {
        r[i] = make_search(500 + i, 40 + 20 * (int)i, (mixture_kind){13, 4, 7, 2, 0, 0.5f});
        r[i]->s.shares = 1;
    }
    for (size_t d = 0; d < devices.count; d++) {
        run_batch(devices.device[d], r, MOST, MOST, &first);
        run_batch(devices.device[d], r, MOST, MOST, &second);
        size_t gaussians = (size_t)first.path->gaussians, sums = gaussians * (size_t)first.path->dim;
        assert_memory_equal(first.path->count, second.path->count, gaussians * sizeof(double));
        assert_memory_equal(first.path->sum, second.path->sum, sums * sizeof(double));
        assert_memory_equal(first.path->square, second.path->square, sums * sizeof(double));
        assert_memory_equal(first.all->sum, second.all->sum, sums * sizeof(double));
        assert_memory_equal(first.total, second.total, sizeof first.total);
        free_outcome(&first);
        free_outcome(&second);
    }
    for (size_t i = 0; i < MOST; i++)
        random_search_free(r[i]);
}

/* ---- Frames that are sent ahead ---- */

typedef struct ahead_case {
    random_search *r[MOST];
    trl__parameters *p;
    trl__stream *plain, *ahead;
} ahead_case;

/* Scores of searches [first, end) are the same bytes on a stream where nothing is sent ahead. */
static void assert_same_scores(ahead_case *a, size_t first, size_t end)
{
    trl__search s[MOST];
    size_t count = take_searches(a->r, first, end, s);
    for (int which = 0; which < 2; which++) {
        trl__stream *stream = which ? a->ahead : a->plain;
        static float expected[MOST][MOST_NODES][64];
        CHECK(trl__stream_frames(stream, a->p, s, count, &err));
        CHECK(trl__stream_score(stream, a->p, s, count, &err));
        CHECK(trl__stream_wait(stream, &err));
        for (size_t i = 0; i < count; i++)
            for (int32_t k = 0; k < s[i].rows; k++) {
                float *scores = s[i].scores + s[i].row[k].offset;
                size_t size = (size_t)(s[i].row[k].end - s[i].row[k].first) * sizeof *scores;
                if (which)
                    assert_memory_equal(scores, expected[i][k], size);
                memcpy(expected[i][k], scores, size);
                memset(scores, 0xff, size);
            }
    }
}

static void send_ahead(const ahead_case *a, size_t first, size_t end)
{
    trl__search s[MOST];
    trl__stream_frames_ahead(a->ahead, a->p, s, take_searches((random_search **)a->r, first, end, s));
}

static void check_ahead(ahead_case *a)
{
    assert_same_scores(a, 0, 3);
    send_ahead(a, 3, 6);
    assert_same_scores(a, 3, 6);
    send_ahead(a, 6, 9);
    assert_same_scores(a, 0, 2); /* others come first */
    assert_same_scores(a, 6, 8); /* some of those that were sent, and not all */
    assert_same_scores(a, 6, 9);
    send_ahead(a, 0, 2);
    send_ahead(a, 0, 9); /* more than there was room for */
    assert_same_scores(a, 0, 9);
    send_ahead(a, 1, 2); /* nobody waits for those, and more is sent from where they were */
    CHECK(trl__stream_frames(a->ahead, a->p, &a->r[1]->s, 1, &err));
    assert_same_scores(a, 0, 9);
    send_ahead(a, 3, 6);
    trl__stream_trim(a->ahead);
    assert_same_scores(a, 3, 6);
    send_ahead(a, 0, 3);
    send_ahead(a, 0, 0); /* from now on frames may change */
    a->r[1]->frames.data[0] += 1;
    assert_same_scores(a, 0, 3);
    send_ahead(a, 5, 6);
    assert_same_scores(a, 0, 1); /* as long, and another one */
    int32_t end = a->r[2]->s.end;
    a->r[2]->s.end = 1;
    send_ahead(a, 1, 4);
    a->r[2]->s.end = end; /* more of the same */
    assert_same_scores(a, 1, 4);
    a->r[5]->frames.data[0] = NAN; /* told when it is its turn */
    send_ahead(a, 5, 6);
    assert_int_equal(trl__stream_frames(a->ahead, a->p, &a->r[5]->s, 1, &err), TRL_ENUMBER);
    send_ahead(a, 6, 9); /* and never used */
}

static void frames_may_be_sent_ahead(void **state)
{
    (void)state;
    const int lengths[MOST] = {31, 9, 2, 33, 40, 31, 7, 35, 64}, few[MOST] = {5, 9, 2, 3, 4, 5, 7, 8, 6};
    for (size_t d = 0; d < devices.count; d++) {
        ahead_case a;
        for (size_t i = 0; i < MOST; i++)
            a.r[i] = make_search(800 + i, is_small() ? few[i] : lengths[i], (mixture_kind){13, 4, 7, 2, 0, 0.5f});
        CHECK(trl__device_load_model(devices.device[d], &a.r[0]->model, NULL, &a.p, &err));
        CHECK(trl__stream_create(devices.device[d], &a.plain, &err));
        CHECK(trl__stream_create(devices.device[d], &a.ahead, &err));
        check_ahead(&a);
        trl__stream_destroy(a.plain);
        trl__stream_destroy(a.ahead);
        trl__parameters_free(a.p);
        for (size_t i = 0; i < MOST; i++)
            random_search_free(a.r[i]);
    }
}

/* ---- Whole frames ---- */

static void score_whole_frames(trl__device *device, const trl_model *model, const trl_matrix *frames, int first,
                               int end, trl__combine combine,
                               float *scores) /* NOLINT(readability-non-const-parameter): the stream writes there */
{
    trl__stream *stream;
    trl__parameters *p;
    trl__row rows[8];
    for (int32_t i = 0; i < model->tied_states; i++)
        rows[i] = (trl__row){i, first, end, (int64_t)i * 64};
    trl__search s = {.frames = frames,
                     .end = (int32_t)frames->rows,
                     .combine = combine,
                     .rows = model->tied_states,
                     .row = rows,
                     .scores = scores,
                     .whole = 1};
    CHECK(trl__stream_create(device, &stream, &err));
    CHECK(trl__device_load_model(device, model, NULL, &p, &err));
    for (int twice = 0; twice < 2; twice++) { /* the first time parameters are put in order */
        CHECK(trl__stream_frames(stream, p, &s, 1, &err));
        CHECK(trl__stream_score(stream, p, &s, 1, &err));
        CHECK(trl__stream_wait(stream, &err));
    }
    trl__parameters_free(p);
    trl__stream_destroy(stream);
}

/* [004] 3.2.2: components that are no power of two, more of them than items, tiny variances, a stretch that crosses blocks of lanes. */
static void whole_frames_have_the_same_scores(void **state)
{
    (void)state;
    const mixture_kind kinds[] = {{13, 4, 7, 2, 0, 0.5f},
                                  {39, 3, 70, 2, 0, 0.5f},
                                  {1, 1, 1, 1, 0, 1},
                                  {20, 2, 5, 1, 10, 1e-5f},
                                  {3, 2, 640, 4, 0, 0.1f}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        chance c = {40 + k, 0};
        if (is_small() && k != 2 && k != 3)
            continue;
        trl_model model = random_mixtures(&c, kinds[k], 0);
        trl_matrix frames = random_frames(&c, &model, is_small() ? 9 : 300);
        int last = (int)frames.rows, first[] = {0, last - 9, last - 50 > 0 ? last - 50 : 0}, end[] = {1, last, last};
        assert_true(model.tied_states <= 8);
        for (int i = 0; i < 3; i++)
            for (size_t d = 0; d < devices.count; d++) {
                float expected[8 * 64], got[8 * 64];
                trl__combine combine = (i + (int)k) % 3 == 0 ? TRL__MAX : TRL__LOG_ADD;
                score_whole_frames(reference, &model, &frames, first[i], end[i], combine, expected);
                score_whole_frames(devices.device[d], &model, &frames, first[i], end[i], combine, got);
                for (int32_t s = 0; s < model.tied_states; s++)
                    for (int t = 0; t < end[i] - first[i]; t++) {
                        double a = (double)expected[s * 64 + t], b = (double)got[s * 64 + t];
                        if (!(fabs(a - b) <= 1e-5 * (1 + fabs(a)))) /* squares lose digits */
                            fail_msg("%s, kind %zu, state %d, frame %d: %.9g, not %.9g", devices.name[d], k, (int)s,
                                     first[i] + t, b, a);
                    }
            }
        free(frames.data);
        free_mixtures(&model);
    }
}

/* ---- A graph that local memory can't hold ---- */

#define LARGE 3000 /* nodes */

typedef struct large {
    trl__search s;
    trl_matrix frames;
    int32_t first[LARGE], end[LARGE], row_of[LARGE], arc_first[LARGE + 2], arc_from[3 * LARGE + 2];
    float weight[3 * LARGE + 2], *scores;
    double alpha[LARGE];
    int64_t back_offset[LARGE];
    trl__row row[7];
    int32_t path[50], path_arc[50];
    uint8_t back[LARGE * 50];
} large;

/* Arcs that leap so far that 50 frames are enough to get through. */
static void make_large(large *l, chance *c)
{
    int32_t arcs = 0, frames = 50;
    *l = (large){.frames = {.rows = 50}};
    for (int n = 0; n <= LARGE; n++) {
        l->arc_first[n] = arcs;
        const int from[3] = {n < LARGE ? n : n - 2, n - 1, n - 60 - pick(c, 60)};
        if (n == 0)
            l->arc_from[arcs++] = TRL__START;
        for (int a = 0; a < 3; a++)
            if (from[a] >= 0)
                l->arc_from[arcs++] = from[a];
    }
    l->arc_first[LARGE + 1] = arcs;
    for (int a = 0; a < arcs; a++)
        l->weight[a] = between(c, -3, 0);
    l->scores = malloc((size_t)7 * 64 * sizeof(float));
    for (int r = 0; r < 7; r++)
        l->row[r] = (trl__row){r, 0, frames, 64 * r};
    for (int i = 0; i < 7 * 64; i++)
        l->scores[i] = between(c, -20, 0);
    for (int n = 0; n < LARGE; n++) {
        l->end[n] = frames;
        l->row_of[n] = n % 7;
        l->back_offset[n] = (int64_t)n * 400;
    }
    l->s = (trl__search){.frames = &l->frames,
                         .end = frames,
                         .rows = 7,
                         .row = l->row,
                         .scores = l->scores,
                         .nodes = LARGE,
                         .node_end = LARGE,
                         .node_row = l->row_of,
                         .node_first = l->first,
                         .node_end_frame = l->end,
                         .arc_first = l->arc_first,
                         .arc_from = l->arc_from,
                         .arc_weight = l->weight,
                         .back_bits = 8,
                         .alpha = l->alpha,
                         .back = l->back,
                         .back_offset = l->back_offset,
                         .path = l->path,
                         .path_arc = l->path_arc};
}

static void search_large(trl__device *device, large *l)
{
    trl__stream *stream;
    CHECK(trl__stream_create(device, &stream, &err));
    CHECK(trl__stream_viterbi(stream, &l->s, 1, &err));
    CHECK(trl__stream_wait(stream, &err));
    assert_true(l->s.last_node >= 0);
    CHECK(trl__stream_backtrack(stream, &l->s, 1, &err));
    CHECK(trl__stream_wait(stream, &err));
    trl__stream_destroy(stream);
}

static void large_graphs_have_the_same_path(void **state)
{
    (void)state;
    if (is_small())
        skip();
    static large l;
    int32_t path[50];
    chance c = {77, 0};
    make_large(&l, &c);
    search_large(reference, &l);
    double best = l.s.log_likelihood;
    memcpy(path, l.path, sizeof path);
    for (size_t d = 0; d < devices.count; d++) {
        memset(l.path, 0, sizeof l.path);
        search_large(devices.device[d], &l);
        assert_true(l.s.log_likelihood == best);
        assert_memory_equal(l.path, path, sizeof path);
    }
    free(l.scores);
}

/* ---- A model that the device's memory can't hold ---- */

static void large_models_go_up_in_pages(void **state)
{
    (void)state;
    static outcome expected, got;
    const char *fake = getenv("TRELLIS_FAKE_CUDA");
    const char *const memories[] = {"1000000", "400000"}; /* bytes; the model has 1.5 million */
    random_search *r[3];
    if (is_small() || !fake || !fake[0])
        skip();
    for (size_t i = 0; i < 3; i++) {
        r[i] = make_search(700 + i, 12 + 9 * (int)i, (mixture_kind){39, 100, 48, 2, i == 2 ? 10 : 0, 0.5f});
        r[i]->s.stays = 1;
        r[i]->s.shares = 1;
    }
    run_batch(reference, r, 3, 1, &expected);
    for (size_t i = 0; i < 2; i++) {
        trl__device *device;
        setenv("FAKE_CUDA_MEMORY", memories[i], 1);
        CHECK(trl__device_open("cuda:1", &device, &err));
        run_batch(device, r, 3, i == 0 ? 3 : 1, &got);
        trl__device_close(device);
        unsetenv("FAKE_CUDA_MEMORY");
        assert_near(got.log_likelihood, expected.log_likelihood, 3, 1e-6, "log-likelihood");
        assert_near(got.total, expected.total, 3, 1e-6, "sum of paths");
        assert_near_sums(got.path, expected.path, 1e-3);
        assert_near_sums(got.all, expected.all, 1e-3);
        free_outcome(&got);
    }
    free_outcome(&expected);
    for (size_t i = 0; i < 3; i++)
        random_search_free(r[i]);
}

/* ---- Numbers that are none ---- */

static void bad_frames_are_refused(void **state)
{
    (void)state;
    chance c = {3, 0};
    trl_model model = random_mixtures(&c, (mixture_kind){5, 2, 3, 1, 0, 1}, 0);
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    for (size_t d = 0; d < devices.count; d++)
        for (size_t i = 0; i < 4; i++) {
            trl_matrix frames = random_frames(&c, &model, 9);
            trl__stream *stream;
            trl__parameters *p;
            frames.data[3 * frames.stride + 2] = bad[i];
            trl__search s = {.frames = &frames, .end = 9};
            CHECK(trl__stream_create(devices.device[d], &stream, &err));
            CHECK(trl__device_load_model(devices.device[d], &model, NULL, &p, &err));
            assert_int_equal(trl__stream_frames(stream, p, &s, 1, &err), TRL_ENUMBER);
            assert_non_null(strstr(err.text, "frame 3, column 2"));
            trl__parameters_free(p);
            trl__stream_destroy(stream);
            free(frames.data);
        }
    free_mixtures(&model);
}

/* Likelihoods of somebody else may be anything: infinities and NaN lead to the reference's path, or to none. */
static random_search *make_odd(uint64_t seed)
{
    const float odd[] = {-INFINITY, INFINITY, NAN};
    chance c = {seed, 1u << 28};
    random_search *r = random_search_make(seed, (graph_kind)pick(&c, GRAPH_KINDS), 1 + pick(&c, 9), 1 + pick(&c, 30),
                                          (mixture_kind){1, 3, 1, 1, 0, 1});
    for (int i = 0; i < r->s.rows; i++)
        for (int t = 0; t < r->row[i].end - r->row[i].first; t++)
            r->s.scores[r->row[i].offset + t] = pick(&c, 12) ? between(&c, -9, 0) : odd[seed % 3];
    return r;
}

/* *last: the node that the best path ends in. */
static int search_odd(trl__device *device, trl__search *s, int32_t *last)
{
    trl__stream *stream;
    CHECK(trl__stream_create(device, &stream, &err));
    CHECK(trl__stream_viterbi(stream, s, 1, &err));
    CHECK(trl__stream_wait(stream, &err));
    *last = s->last_node;
    int code = *last >= 0 ? trl__stream_backtrack(stream, s, 1, &err) : 0;
    if (code == 0)
        CHECK(trl__stream_wait(stream, &err));
    trl__stream_destroy(stream);
    return code;
}

static void odd_scores_lead_where_the_reference_goes(void **state)
{
    (void)state;
    int paths = 0;
    if (is_small())
        skip();
    for (uint64_t seed = 0; seed < 200; seed++) {
        random_search *r = make_odd(seed);
        const size_t frames = (size_t)r->s.end;
        int32_t path[30], path_arc[30];
        int32_t last, found;
        int code = search_odd(reference, &r->s, &last);
        double best = r->s.log_likelihood;
        memcpy(path, r->s.path, frames * sizeof *path);
        memcpy(path_arc, r->s.path_arc, frames * sizeof *path_arc);
        paths += last >= 0 && code == 0;
        for (size_t d = 0; d < devices.count; d++) {
            memset(r->s.path, 0x55, frames * sizeof *path);
            assert_int_equal(search_odd(devices.device[d], &r->s, &found), code);
            assert_int_equal(found, last);
            assert_true(r->s.log_likelihood == best || (isnan(best) && isnan(r->s.log_likelihood)));
            if (last < 0 || code < 0)
                continue;
            assert_memory_equal(r->s.path, path, frames * sizeof *path);
            assert_memory_equal(r->s.path_arc, path_arc, frames * sizeof *path_arc);
        }
        random_search_free(r);
    }
    if (paths <= 20)
        fail_msg("only %d paths", paths);
}

/* Where the reference has a number, the other one is near; where it has none, the other may be anything that is none. */
static int is_alike(double got, double expected)
{
    return isnan(expected) || (isfinite(expected) && fabs(got - expected) <= 1e-5 * (1 + fabs(expected)));
}

static void sum_odd(trl__device *device, trl__search *s)
{
    trl__stream *stream;
    CHECK(trl__stream_create(device, &stream, &err));
    CHECK(trl__stream_forward_backward(stream, s, 1, &err));
    CHECK(trl__stream_wait(stream, &err));
    trl__stream_destroy(stream);
}

static void odd_scores_have_the_references_sums(void **state)
{
    (void)state;
    int sums = 0;
    if (is_small())
        skip();
    for (uint64_t seed = 0; seed < 200; seed++) {
        random_search *r = make_odd(seed);
        static float gamma[MOST_NODES * 30];
        static double arc_count[MOST_ARCS];
        const int arcs = r->arc_first[r->s.nodes + 1];
        int64_t cells = 0;
        for (int n = 0; n < r->s.nodes; n++)
            cells += r->node_end[n] > r->node_first[n] ? r->node_end[n] - r->node_first[n] : 0;
        sum_odd(reference, &r->s);
        const double total = r->s.total;
        memcpy(gamma, r->s.gamma, (size_t)cells * sizeof *gamma);
        memcpy(arc_count, r->arc_count, (size_t)arcs * sizeof *arc_count);
        sums += isfinite(total);
        sum_odd(processor, &r->s); /* which is never given such scores; it comes to an end all the same */
        for (size_t d = 0; d < devices.count; d++) {
            memset(r->s.gamma, 0x55, (size_t)cells * sizeof *gamma);
            sum_odd(devices.device[d], &r->s);
            if (isfinite(total) != isfinite(r->s.total) || (isfinite(total) && !is_alike(r->s.total, total)))
                fail_msg("%s, seed %d: total %g, not %g", devices.name[d], (int)seed, r->s.total, total);
            if (!isfinite(total)) /* what is behind it means nothing then */
                continue;
            for (int64_t i = 0; i < cells; i++)
                if (!is_alike((double)r->s.gamma[i], (double)gamma[i]))
                    fail_msg("%s, seed %d: gamma %g, not %g", devices.name[d], (int)seed, (double)r->s.gamma[i],
                             (double)gamma[i]);
            for (int i = 0; i < arcs; i++)
                if (!is_alike(r->arc_count[i], arc_count[i]))
                    fail_msg("%s, seed %d: arc %g, not %g", devices.name[d], (int)seed, r->arc_count[i], arc_count[i]);
        }
        random_search_free(r);
    }
    if (sums <= 20)
        fail_msg("only %d sums", sums);
}

/* ---- Names ---- */

static void wrong_names_are_explained(void **state)
{
    (void)state;
    if (!WITH_DRIVERS)
        skip();
    trl__device *device;
    const char *const wrong[] = {"opencl:x", "opencl:0:fast", "opencl:0x", "opencl:-1", "opencl:999", "gpu", "opencl2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        err.text[0] = '\0';
        assert_true(trl__device_open(wrong[i], &device, &err) < 0);
        assert_null(device);
        assert_true(strlen(err.text) > 10);
    }
    if (is_small())
        return; /* the shape is chosen by a trial, which takes its time */
    CHECK(trl__device_open("auto", &device, &err));
    trl__device_close(device);
}

static void scores_must_come_from_the_stream(void **state)
{
    (void)state;
    random_search *r = make_search(1, 20, (mixture_kind){3, 2, 3, 1, 0, 1});
    for (size_t d = 0; d < devices.count; d++) {
        trl__stream *stream;
        trl__parameters *p;
        CHECK(trl__stream_create(devices.device[d], &stream, &err));
        CHECK(trl__device_load_model(devices.device[d], &r->model, NULL, &p, &err));
        assert_int_equal(trl__stream_score(stream, p, &r->s, 1, &err), TRL_EINVAL); /* no frames yet */
        CHECK(trl__stream_frames(stream, p, &r->s, 1, &err));
        r->s.stays = 1;
        CHECK(trl__stream_score(stream, p, &r->s, 1, &err));
        trl__search old = r->s;
        CHECK(trl__stream_score(stream, p, &r->s, 1, &err));
        assert_int_equal(trl__stream_viterbi(stream, &old, 1, &err), TRL_EINVAL);
        CHECK(trl__stream_viterbi(stream, &r->s, 1, &err));
        r->s.stays = 0;
        r->s.scores_at = 0;
        trl__parameters_free(p);
        trl__stream_destroy(stream);
    }
    random_search_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ragged_batches_are_single_searches),
        cmocka_unit_test(runs_are_the_same_bytes),
        cmocka_unit_test(frames_may_be_sent_ahead),
        cmocka_unit_test(whole_frames_have_the_same_scores),
        cmocka_unit_test(large_graphs_have_the_same_path),
        cmocka_unit_test(bad_frames_are_refused),
        cmocka_unit_test(odd_scores_lead_where_the_reference_goes),
        cmocka_unit_test(odd_scores_have_the_references_sums),
        cmocka_unit_test(wrong_names_are_explained),
        cmocka_unit_test(scores_must_come_from_the_stream),
        cmocka_unit_test(large_models_go_up_in_pages),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
