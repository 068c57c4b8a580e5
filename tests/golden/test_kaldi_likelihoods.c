/* Likelihoods of Kaldi's own monophone model of AN4, against those that Kaldi computed of the same features
 * (gmm-compute-likes), for every instruction set. Kaldi's text has seven digits. */
#include "backend/backend.h"
#include "cmocka_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <trellis/feature_file.h>

static trl_error err;

static const char *golden(const char *name)
{
    static char paths[4][1000];
    static unsigned next;
    const char *shared = getenv("TRELLIS_SHARED");
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/golden/kaldi/an4-mono/%s", shared ? shared : ".", name);
    return path;
}

/* The largest difference over all frames and tied states of an utterance. */
static double compare(trl__stream *stream, const trl__parameters *parameters, const trl_matrix *frames,
                      const trl_matrix *expected)
{
    int32_t rows = (int32_t)expected->cols, count = (int32_t)frames->rows;
    int32_t stride = (count / TRL__ROW_PAD + 2) * TRL__ROW_PAD;
    trl__row *row = calloc((size_t)rows, sizeof *row);
    float *scores = calloc((size_t)rows * (size_t)stride, sizeof *scores);
    for (int32_t r = 0; r < rows; r++)
        row[r] = (trl__row){.tied = r, .first = 0, .end = count, .offset = (int64_t)r * stride};
    trl__search s = {.frames = frames, .end = count, .rows = rows, .row = row, .scores = scores};
    assert_int_equal(trl__stream_frames(stream, parameters, &s, 1, &err), 0);
    assert_int_equal(trl__stream_score(stream, parameters, &s, 1, &err), 0);
    assert_int_equal(trl__stream_wait(stream, &err), 0);
    double most = 0;
    for (int32_t r = 0; r < rows; r++)
        for (int32_t t = 0; t < count; t++)
            most = fmax(most, fabs((double)scores[r * stride + t] - (double)trl_matrix_row(expected, (size_t)t)[r]));
    free(row);
    free(scores);
    return most;
}

static void check_level(const char *level, const trl_model *model)
{
    trl__device *device;
    trl__parameters *parameters;
    trl__stream *stream;
    trl_feature_reader *features, *likelihoods;
    if (trl__device_open(level, 0, &device, &err) < 0)
        return; /* not on this machine */
    assert_int_equal(trl__device_load_model(device, model, NULL, &parameters, &err), 0);
    assert_int_equal(trl__stream_create(device, &stream, &err), 0);
    assert_int_equal(trl_feature_reader_open(golden("feats3.ark"), &features, &err), 0);
    char place[1100];
    snprintf(place, sizeof place, "ark:%s", golden("likes3_mono.txt"));
    assert_int_equal(trl_feature_reader_open(place, &likelihoods, &err), 0);
    const char *id, *same;
    trl_matrix frames = {0}, expected = {0};
    int utterances = 0;
    while (trl_feature_reader_next(features, &id, &frames, &err) > 0) {
        assert_int_equal(trl_feature_reader_next(likelihoods, &same, &expected, &err), 1);
        assert_string_equal(id, same);
        assert_int_equal(expected.cols, trl_model_tied_states(model));
        double difference = compare(stream, parameters, &frames, &expected);
        if (!(difference < 1e-3))
            fail_msg("%s, %s: %g nat off", level, id, difference);
        utterances++;
    }
    assert_int_equal(utterances, 3);
    trl_matrix_free(&frames);
    trl_matrix_free(&expected);
    trl_feature_reader_close(features);
    trl_feature_reader_close(likelihoods);
    trl__stream_destroy(stream);
    trl__parameters_free(parameters);
    trl__device_close(device);
}

static void test_likelihoods_are_kaldis(void **state)
{
    (void)state;
    static const char *const levels[] = {"cpu:ref", "cpu:scalar", "cpu:base", "cpu:avx2", "cpu:avx512", "cpu"};
    FILE *there = fopen(golden("final.mdl"), "rb");
    if (!there) {
        print_message("skipped: Kaldi's files are not there\n");
        skip();
    }
    fclose(there);
    trl_model *model;
    assert_int_equal(trl_model_read_kaldi(golden("final.mdl"), golden("phones.txt"), &model, &err), 0);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        check_level(levels[i], model);
    trl_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_likelihoods_are_kaldis)};
    return RUN(tests);
}
