/* Laws of training, over many small random corpora: Baum-Welch's likelihood never falls; nor does the best path's where
 * components share its frames, nor the joint score of best path and best components in Viterbi training when states score by
 * their best component. Floors, pruning and dropping are off. */
#include "cmocka_test.h"
#include "small_trainer.h"

enum { CASES = RANDOM_CASES(1000), ROUNDS = 5 };

static void check_never_falls(trl_em em)
{
    int compared = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        trainer t;
        int64_t floored;
        make_trainer(&t, seed, em, "cpu");
        iterate(&t, 1, 1, &floored);
        double last = -INFINITY;
        for (int i = 0; i < ROUNDS; i++) {
            double score = iterate(&t, 0, 0, &floored);
            if (score < last - 1e-5 * (1 + fabs(last)))
                fail_msg("seed %d, iteration %d: %.9g after %.9g", (int)seed, i, score, last);
            compared += isfinite(last);
            last = floored > 0 ? -INFINITY : score; /* a floor may cost likelihood */
        }
        free_trainer(&t);
    }
    assert_true(compared > CASES * 2);
}

static void test_baum_welch_never_falls(void **state)
{
    (void)state;
    check_never_falls(TRL_EM_BAUM_WELCH);
}

static void test_best_path_never_falls(void **state)
{
    (void)state;
    check_never_falls(TRL_EM_SHARED);
}

static void test_joint_score_never_falls(void **state)
{
    (void)state;
    check_never_falls(TRL_EM_VITERBI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_baum_welch_never_falls),
                                       cmocka_unit_test(test_best_path_never_falls),
                                       cmocka_unit_test(test_joint_score_never_falls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
