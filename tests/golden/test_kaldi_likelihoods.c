/* Likelihoods of Kaldi's own models of AN4, monophones and triphones, against those that Kaldi computed of the same
 * features (gmm-compute-likes), for every instruction set. Kaldi's text has seven digits. */
#include "backend/backend.h"
#include "cmocka_test.h"
#include "model/kaldi_io.h"

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
    snprintf(path, sizeof paths[0], "%s/golden/kaldi/%s", shared ? shared : ".", name);
    return path;
}

/* The largest difference over all frames and tied states of an utterance; of numbers beyond 1000, for which seven
 * digits are not enough, per 1000. */
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
        for (int32_t t = 0; t < count; t++) {
            double theirs = (double)trl_matrix_row(expected, (size_t)t)[r];
            most = fmax(most, fabs((double)scores[r * stride + t] - theirs) / fmax(1, fabs(theirs) / 1000));
        }
    free(row);
    free(scores);
    return most;
}

static void check_level(const char *level, const trl_model *model, const char *likelihoods, double most)
{
    trl__device *device;
    trl__parameters *parameters;
    trl__stream *stream;
    trl_feature_reader *features;
    trl__source source;
    trl__kaldi_in in = {&source, 0, &err};
    if (trl__device_open(level, &device, &err) < 0)
        return; /* not on this machine */
    assert_int_equal(trl__device_load_model(device, model, NULL, &parameters, &err), 0);
    assert_int_equal(trl__stream_create(device, &stream, &err), 0);
    assert_int_equal(trl_feature_reader_open(golden("an4-mono/feats3.ark"), &features, &err), 0);
    assert_int_equal(trl__source_open_packed(golden(likelihoods), &source, &err), 0);
    const char *id;
    char same[TRL__KALDI_TOKEN];
    trl_matrix frames = {0}, expected = {0};
    int utterances = 0;
    while (trl_feature_reader_next(features, &id, &frames, &err) > 0) {
        assert_int_equal(trl__kaldi_token(&in, same), 0);
        assert_int_equal(trl__kaldi_matrix(&in, &expected), 0);
        assert_string_equal(id, same);
        assert_int_equal(expected.cols, trl_model_tied_states(model));
        double difference = compare(stream, parameters, &frames, &expected);
        if (!(difference < most))
            fail_msg("%s, %s: %g nat off", level, id, difference);
        utterances++;
    }
    assert_int_equal(utterances, 3);
    trl_matrix_free(&frames);
    trl_matrix_free(&expected);
    trl_feature_reader_close(features);
    trl__source_close(&source);
    trl__stream_destroy(stream);
    trl__parameters_free(parameters);
    trl__device_close(device);
}

static void check_model(const char *mdl, const char *phones, const char *likelihoods, double most)
{
    static const char *const levels[] = {"cpu:ref", "cpu:scalar", "cpu:base", "cpu:avx2", "cpu:avx512", "cpu"};
    FILE *there = fopen(golden(mdl), "rb");
    if (!there) {
        print_message("skipped: Kaldi's files are not there\n");
        skip();
    }
    fclose(there);
    trl_model *model;
    assert_int_equal(trl_model_read_kaldi(golden(mdl), golden(phones), &model, &err), 0);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        check_level(levels[i], model, likelihoods, most);
    trl_model_destroy(model);
}

static void monophones_score_as_kaldis(void **state)
{
    (void)state;
    check_model("an4-mono/final.mdl", "an4-mono/phones.txt", "an4-mono/likes3_mono.txt", 1e-3);
}

static void triphones_score_as_kaldis(void **state)
{
    (void)state;
    /* Variances go down to 0.001; Kaldi itself, in float32, is 0.9e-3 off what double precision gives. */
    check_model("an4-tri1/final.mdl", "an4-tri1/phones.txt", "an4-tri1/likes3_tri1.txt.gz", 2e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(monophones_score_as_kaldis),
                                       cmocka_unit_test(triphones_score_as_kaldis)};
    return RUN(tests);
}
