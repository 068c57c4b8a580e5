/* The scorer: what a search asks for on the way is, bit by bit, what all at once is; and a matrix is passed on as it is. */
#include "mixture_fixture.h"

#include "cmocka_test.h"
#include "decode/scorer.h"

#define FRAMES 75
#define TIED 12
#define DIM 5

static trl_error err;
static float expected[TIED * FRAMES]; /* scores of all frames at once */

static trl_matrix frames_of_chance(chance *c)
{
    trl_matrix m = {0};
    assert_int_equal(trl_matrix_resize(&m, FRAMES, DIM, &err), 0);
    for (size_t t = 0; t < FRAMES; t++)
        for (size_t k = 0; k < DIM; k++)
            trl_matrix_row(&m, t)[k] = gauss(c);
    return m;
}

/* Asks for random tied states in each frame; those that were asked for must be there, to the end of their block. */
static void compare_groups(trl__scorer *scorer, chance *c)
{
    for (int32_t begin = 0; begin < FRAMES;) {
        trl__score_group *g;
        trl__scorer_open(scorer, begin, &g);
        assert_true(g->frames > 0 && begin + g->frames <= FRAMES);
        int32_t until[TIED] = {0};
        for (int32_t f = 0; f < g->frames; f++) {
            int32_t wanted[TIED], count = 0, end = f + g->block < g->frames ? f + g->block : g->frames;
            for (int n = pick(c, 4); n > 0; n--) {
                int32_t tied = pick(c, TIED);
                if (until[tied] <= f) {
                    wanted[count++] = tied;
                    until[tied] = end;
                }
            }
            assert_int_equal(g->fill(g, 0, f, end, wanted, count, &err), 0);
            for (int32_t tied = 0; tied < TIED; tied++)
                if (until[tied] > f)
                    assert_true(g->scores[(size_t)tied * g->stride + (size_t)f % g->window * g->step] ==
                                expected[tied * FRAMES + begin + f]);
        }
        begin += g->frames;
    }
}

static void score_at_once(trl__device *device, const trl__parameters *parameters, const trl_matrix *frames)
{
    trl__stream *stream;
    trl__row rows[TIED];
    trl__search search = {.frames = frames, .end = FRAMES, .rows = TIED, .row = rows, .scores = expected};
    for (int32_t tied = 0; tied < TIED; tied++)
        rows[tied] = (trl__row){tied, 0, FRAMES, (int64_t)tied * FRAMES};
    assert_int_equal(trl__stream_create(device, &stream, &err), 0);
    assert_int_equal(trl__stream_frames(stream, parameters, &search, 1, &err), 0);
    assert_int_equal(trl__stream_score(stream, parameters, &search, 1, &err), 0);
    assert_int_equal(trl__stream_wait(stream, &err), 0);
    trl__stream_destroy(stream);
}

static void groups_have_the_scores_of_the_whole(void **state)
{
    (void)state;
    chance c = {3, 0};
    trl_model model = random_mixtures(&c, (mixture_kind){DIM, TIED, 9, 1, 0, 0.5f}, 1);
    trl_matrix frames = frames_of_chance(&c);
    trl__device *device;
    trl__parameters *parameters;
    trl__scorer *scorer;
    assert_int_equal(trl__device_open("cpu", &device, &err), 0);
    assert_int_equal(trl__device_load_model(device, &model, NULL, &parameters, &err), 0);
    assert_int_equal(trl__scorer_create(device, TIED, &scorer, &err), 0);
    assert_int_equal(trl__scorer_begin(scorer, parameters, &frames, &err), 0);
    score_at_once(device, parameters, &frames);
    for (int i = 0; i < 20; i++)
        compare_groups(scorer, &c);
    trl__scorer_destroy(scorer);
    trl__parameters_free(parameters);
    trl__device_close(device);
    trl_matrix_free(&frames);
    free_mixtures(&model);
}

/* Every score is minus its tied state. */
static int make_numbers(void *user, int worker, const trl__row *rows, int32_t count, float *scores, trl_error *error)
{
    (void)user, (void)worker, (void)error;
    for (int32_t i = 0; i < count; i++)
        for (int32_t f = rows[i].first; f < rows[i].end; f++)
            scores[rows[i].offset + f - rows[i].first] = (float)-rows[i].tied;
    return 0;
}

static void what_a_block_has_no_room_for_is_refused(void **state)
{
    (void)state;
    trl__scorer *scorer;
    trl__score_group *g;
    int32_t all[TIED + 1];
    for (int32_t i = 0; i <= TIED; i++)
        all[i] = i;
    assert_int_equal(trl__scorer_create(NULL, TIED, &scorer, &err), 0);
    for (int by_frame = 0; by_frame < 2; by_frame++) {
        trl__scorer_begin_making(scorer, &(trl__score_maker){.make = make_numbers, .by_frame = by_frame}, FRAMES);
        trl__scorer_open(scorer, 0, &g);
        assert_true(g->block < FRAMES);
        assert_int_equal(g->fill(g, 0, 0, FRAMES, all, 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, 0, g->block + 1, all, 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, -1, 1, all, 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, 1, 0, all, 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, FRAMES - 1, FRAMES + 1, all, 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, 0, 1, all, TIED + 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, 0, 1, &all[TIED], 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, 0, 1, &(int32_t){-1}, 1, &err), TRL_EINVAL);
        assert_int_equal(g->fill(g, 0, 0, g->block, all, TIED, &err), 0);
        assert_int_equal(g->fill(g, 0, FRAMES - 1, FRAMES, all, TIED, &err), 0);
        for (size_t tied = 0; tied < TIED; tied++)
            assert_true(g->scores[tied * g->stride] == -(float)tied &&
                        g->scores[tied * g->stride + (FRAMES - 1) % g->window * g->step] == -(float)tied);
    }
    trl__scorer_destroy(scorer);
}

static void a_matrix_is_passed_on(void **state)
{
    (void)state;
    chance c = {4, 0};
    trl_matrix likelihoods = frames_of_chance(&c);
    trl__scorer *scorer;
    trl__score_group *g;
    assert_int_equal(trl__scorer_create(NULL, DIM, &scorer, &err), 0);
    trl__scorer_begin_likelihoods(scorer, &likelihoods);
    trl__scorer_open(scorer, 7, &g);
    assert_null(g->until);
    assert_int_equal(g->frames, FRAMES - 7);
    for (size_t f = 0; f + 7 < FRAMES; f++)
        for (size_t tied = 0; tied < DIM; tied++)
            assert_true(g->scores[tied * g->stride + f * g->step] == trl_matrix_row(&likelihoods, f + 7)[tied]);
    trl__scorer_destroy(scorer);
    trl_matrix_free(&likelihoods);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_have_the_scores_of_the_whole),
        cmocka_unit_test(what_a_block_has_no_room_for_is_refused),
        cmocka_unit_test(a_matrix_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
