/* Small models trained from nothing on OpenCL devices, in each shape of their kernels and by each method, are the processor's: the same
 * alignments in 99.9 % of the frames, and the same Gaussians within a thousandth of a standard deviation. */
#include "cmocka_test.h"
#include "device_fixture.h"
#include "small_trainer.h"

enum { CASES = WITH_DRIVERS ? 12 : 2, ROUNDS = 4, MOST_FRAMES = SMALL_UTTERANCES * 400 };

/* The paths of all utterances, one behind the other; returns how many frames they have. */
static size_t align_all(trainer *t, int32_t *node)
{
    const trl__search_options full = {.margin = TRL_MARGIN_FULL, .beam = 200, .combine = TRL__LOG_ADD};
    trl__parameters *p;
    size_t count = 0;
    assert_int_equal(trl__device_load_model(t->device, t->model, NULL, &p, &err), 0);
    for (size_t u = 0; u < SMALL_UTTERANCES; u++) {
        trl__search_result found;
        assert_int_equal(
            trl__graph_build(&t->graph, t->map, t->speech.lexicon, t->speech.words[u], t->speech.word_count[u], &err),
            0);
        assert_int_equal(trl__aligner_begin(t->aligner, p, &t->speech.frames[u], &t->graph, &err), 0);
        assert_int_equal(trl__aligner_search(t->aligner, &full, NULL, 0, &found, &err), 0);
        assert_int_equal(found.status, TRL__ALIGNED);
        memcpy(node + count, trl__aligner_path(t->aligner, NULL, NULL), t->speech.frames[u].rows * sizeof *node);
        count += t->speech.frames[u].rows;
    }
    trl__parameters_free(p);
    return count;
}

static size_t train_and_align(trainer *t, uint64_t seed, trl_em em, const char *device, int32_t *node)
{
    int64_t floored;
    make_trainer(t, seed, em, device);
    iterate(t, 1, 1, &floored);
    for (int i = 0; i < ROUNDS; i++)
        iterate(t, 0, 0, &floored);
    return align_all(t, node);
}

/* Means may differ by this share of a standard deviation, variances by this share of themselves. */
static void assert_same_model(const trl_model *a, const trl_model *b)
{
    int32_t gaussians = a->first_gaussian[a->tied_states];
    assert_int_equal(gaussians, b->first_gaussian[b->tied_states]);
    for (int32_t i = 0; i < gaussians * a->dim; i++) {
        double variance = (double)b->variance[i];
        if (!(fabs((double)a->mean[i] - (double)b->mean[i]) <= 1e-3 * sqrt(variance)) ||
            !(fabs((double)a->variance[i] - variance) <= 1e-3 * variance))
            fail_msg("Gaussian %d: mean %g, variance %g, not %g, %g", (int)(i / a->dim), (double)a->mean[i],
                     (double)a->variance[i], (double)b->mean[i], variance);
    }
}

static void check_device(const char *device, trl_em em)
{
    static int32_t expected[MOST_FRAMES], got[MOST_FRAMES];
    size_t frames = 0, equal = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        trainer own, other;
        size_t count = train_and_align(&own, seed, em, "cpu", expected);
        assert_int_equal(train_and_align(&other, seed, em, device, got), count);
        assert_same_model(other.model, own.model);
        for (size_t i = 0; i < count; i++)
            equal += got[i] == expected[i];
        frames += count;
        free_trainer(&own);
        free_trainer(&other);
    }
    if ((double)equal < 0.999 * (double)frames)
        fail_msg("%s: %zu of %zu frames are aligned alike", device, equal, frames);
}

static void models_are_the_processors(void **state)
{
    (void)state;
    const trl_em methods[] = {TRL_EM_VITERBI, TRL_EM_SHARED, TRL_EM_BAUM_WELCH};
    test_devices devices = {0};
    open_devices_of_drivers(&devices);
    for (size_t d = 0; d < devices.count; d++)
        for (size_t m = 0; m < 3; m++)
            check_device(devices.name[d], methods[m]);
    close_devices_of_test(&devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_the_processors)};
    return RUN(tests);
}
