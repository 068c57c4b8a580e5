/* The static coefficients of a model's silence, found again from frames that were made of them. */
#include "model_fixture.h"

#include "front_end.h"
#include "model/silence_mean.h"

static trl_error err;

#define STATICS 4
static const float wanted[STATICS] = {-3.5f, 2, 0.25f, 7};

/* Frames of an unchanging sound by the front end itself. */
static trl_matrix constant_frames(const trl_frontend *f)
{
    float data[20 * STATICS];
    trl_matrix statics = {.data = data, .rows = 20, .cols = STATICS, .stride = STATICS};
    for (size_t t = 0; t < 20; t++)
        memcpy(data + t * STATICS, wanted, sizeof wanted);
    return finished(f, &statics, NULL);
}

static trl_static_mean mean_of(const trl_model *model, const trl_frontend_options *options)
{
    trl_frontend_options o = *options;
    assert_int_equal(trl__silence_mean(model, &o, &err), 0);
    return o.silence_mean;
}

static void check(const char *settings, size_t transform_rows)
{
    trl_frontend_options o = options_of(settings);
    if (transform_rows > 0)
        o.transform = random_matrix(transform_rows, STATICS * 3 * 5 + 1, 6);
    trl_frontend *f = frontend_from(&o);
    trl_matrix frames = constant_frames(f);
    trl_model *model = model_of("A a\nB b\n", trl_frontend_dim(f), NULL);
    size_t dim = frames.cols;
    for (int32_t i = 0; i < model->triples; i++) {
        const trl__triple *t = &model->triple[i];
        int is_inner_silence = model->unit_kind[t->unit] == TRL_UNIT_SILENCE && t->state == 1;
        for (int32_t g = model->first_gaussian[t->tied]; g < model->first_gaussian[t->tied + 1]; g++)
            for (size_t k = 0; k < dim; k++) {
                model->mean[(size_t)g * dim + k] = is_inner_silence ? trl_matrix_row(&frames, 10)[k] : 100;
                model->variance[(size_t)g * dim + k] = 0.5f + (float)k;
            }
    }
    trl_static_mean found = mean_of(model, &o);
    assert_int_equal(found.count, STATICS);
    for (size_t i = 0; i < STATICS; i++)
        if (!(fabs(found.value[i] - (double)wanted[i]) < 1e-3))
            fail_msg("%s: coefficient %zu is %g", settings, i, found.value[i]);
    trl_model_destroy(model);
    trl_matrix_free(&frames);
    trl_frontend_destroy(f);
    trl_matrix_free(&o.transform);
}

static void test_means_are_found(void **state)
{
    (void)state;
    check("num_ceps=4", 0);
    check("num_ceps=4 deltas=2", 0);
    check("num_ceps=4 deltas=1 splice_left=1 splice_right=2", 0);
    check("num_ceps=4 deltas=2 splice_left=2 splice_right=2", 9);
}

/* No silence, or frames of another kind: nothing is made up. */
static void test_no_mean(void **state)
{
    (void)state;
    trl_model_options m = trl_model_defaults();
    trl_model *model = model_of("A a\nB b\n", 12, &m);
    trl_frontend_options o = options_of("num_ceps=4 deltas=1"); /* 8 values, not 12 */
    assert_int_equal(mean_of(model, &o).count, 0);
    o = options_of("num_ceps=4 deltas=2");
    assert_int_equal(mean_of(model, &o).count, 4);
    for (size_t u = 0; u < 3; u++)
        model->unit_kind[u] = TRL_UNIT_PHONE;
    assert_int_equal(mean_of(model, &o).count, 0);
    trl_model_destroy(model);
}

/* For use, silence is filled in, by models that don't say so too; a stream needs something to do it with. */
static void test_for_use(void **state)
{
    (void)state;
    trl_frontend_options o;
    trl_model *model = model_of("A a\nB b\n", 12, NULL);
    for (int online = 0; online < 2; online++) {
        assert_int_equal(trl__model_set_text(&model->frontend, "num_ceps = 4\ndeltas = 2\n", &err), 0);
        assert_int_equal(trl_model_read_frontend(model, online, &o, &err), 0);
        assert_true(o.silence == TRL_SILENCE_FILL && o.silence_mean.count == 4);
        assert_int_equal(
            trl__model_set_text(&model->frontend, "num_ceps = 4\ndeltas = 2\nsilence_mean = 1,2,3,4\n", &err), 0);
        assert_int_equal(trl_model_read_frontend(model, online, &o, &err), 0);
        assert_true(o.silence_mean.value[2] == 3);
        assert_int_equal(trl__model_set_text(&model->frontend, "num_ceps = 4\ndeltas = 2\nsilence = as-is\n", &err), 0);
        assert_int_equal(trl_model_read_frontend(model, online, &o, &err), 0);
        assert_true(o.silence == TRL_SILENCE_AS_IS && o.silence_mean.count == 0);
    }
    trl_model_destroy(model);
}

/* A stream begins with the mean of training, where the model has it. */
static void test_prior_of_a_stream(void **state)
{
    (void)state;
    trl_frontend_options o;
    trl_model *model = model_of("A a\nB b\n", 12, NULL);
    for (int known = 0; known < 2; known++) {
        const char *text = known ? "num_ceps = 4\ndeltas = 2\ncmvn = speaker\ncmvn_prior = 9,8,7,6\n"
                                 : "num_ceps = 4\ndeltas = 2\ncmvn = speaker\n";
        assert_int_equal(trl__model_set_text(&model->frontend, text, &err), 0);
        assert_int_equal(trl_model_read_frontend(model, 0, &o, &err), 0);
        assert_true(o.cmvn == TRL_CMVN_SPEAKER && o.cmvn_prior_frames == 0);
        assert_int_equal(trl_model_read_frontend(model, 1, &o, &err), 0);
        assert_true(o.cmvn == TRL_CMVN_SLIDING && (o.cmvn_prior_frames > 0) == known);
    }
    trl_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means_are_found),
        cmocka_unit_test(test_no_mean),
        cmocka_unit_test(test_for_use),
        cmocka_unit_test(test_prior_of_a_stream),
    };
    return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
