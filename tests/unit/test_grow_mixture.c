/* A mixture by splitting: the same as expectation maximisation written down plainly, in double; and floors. */
#include "bam_fixture.h"

#define DIM 3
#define MOST 8

typedef struct plain {
    int count;
    double weight[MOST], mean[MOST][DIM], variance[MOST][DIM];
} plain;

static double log_density(const plain *p, int c, const float *x)
{
    double sum = log(p->weight[c]);
    for (int k = 0; k < DIM; k++) {
        double d = (double)x[k] - p->mean[c][k];
        sum -= 0.5 * (log(2 * 3.14159265358979323846 * p->variance[c][k]) + d * d / p->variance[c][k]);
    }
    return sum;
}

/* One iteration; returns the log-likelihood before it. */
static double iterate_plainly(plain *p, const float *frames, size_t count)
{
    double n[MOST] = {0}, s[MOST][DIM] = {{0}}, q[MOST][DIM] = {{0}}, likelihood = 0;
    for (size_t i = 0; i < count; i++) {
        double score[MOST], all = -INFINITY;
        for (int c = 0; c < p->count; c++)
            all = log_add(all, score[c] = log_density(p, c, frames + i * DIM));
        likelihood += all;
        for (int c = 0; c < p->count; c++) {
            double share = exp(score[c] - all);
            n[c] += share;
            for (int k = 0; k < DIM; k++) {
                s[c][k] += share * (double)frames[i * DIM + (size_t)k];
                q[c][k] += share * (double)frames[i * DIM + (size_t)k] * (double)frames[i * DIM + (size_t)k];
            }
        }
    }
    for (int c = 0; c < p->count; c++) {
        p->weight[c] = n[c] / (double)count;
        for (int k = 0; k < DIM; k++) {
            p->mean[c][k] = s[c][k] / n[c];
            p->variance[c][k] = fmax(q[c][k] / n[c] - p->mean[c][k] * p->mean[c][k], 1e-5);
        }
    }
    return likelihood;
}

/* Each in two, from the heaviest on, 0.2 standard deviations to either side. */
static void split_plainly(plain *p, int size)
{
    int halved[MOST] = {0};
    while (p->count < size) {
        int heavy = 0;
        for (int c = 1; c < p->count; c++)
            if (p->weight[c] > p->weight[heavy])
                heavy = c;
        double step = 0.2 / (1 << halved[heavy]);
        int new = p->count++;
        halved[new] = ++halved[heavy];
        p->weight[new] = p->weight[heavy] /= 2;
        for (int k = 0; k < DIM; k++) {
            double move = step * sqrt(p->variance[heavy][k]);
            p->variance[new][k] = p->variance[heavy][k];
            p->mean[new][k] = p->mean[heavy][k] - move;
            p->mean[heavy][k] += move;
        }
    }
}

static void grow_plainly(plain *p, const float *frames, size_t count, int target, int iterations)
{
    *p = (plain){.count = 1, .weight = {1}, .variance = {{1, 1, 1}}};
    iterate_plainly(p, frames, count);
    for (int size = 1; size < target;) {
        size = 2 * size < target ? 2 * size : target;
        split_plainly(p, size);
        double before = -INFINITY;
        for (int i = 0; i < iterations; i++) {
            double now = iterate_plainly(p, frames, count);
            assert_true(now >= before - 1e-6 * fabs(now));
            before = now;
        }
    }
}

static void check_equal(const trl_model *m, const plain *p, double tolerance)
{
    assert_int_equal(trl_model_components(m, 0), p->count);
    for (int c = 0; c < p->count; c++) {
        assert_true(fabs(exp((double)m->log_weight[c]) - p->weight[c]) < tolerance);
        for (int k = 0; k < DIM; k++) {
            assert_true(fabs((double)m->mean[c * DIM + k] - p->mean[c][k]) < tolerance);
            assert_true(fabs((double)m->variance[c * DIM + k] - p->variance[c][k]) < tolerance);
        }
    }
}

static double likelihood_of(const plain *p, const float *frames, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double all = -INFINITY;
        for (int c = 0; c < p->count; c++)
            all = log_add(all, log_density(p, c, frames + i * DIM));
        sum += all;
    }
    return sum;
}

/* Frames that neither has seen are as likely by one as by the other. */
static void check_held_out(const trl_model *m, const plain *p, const float *frames, size_t count)
{
    plain own = {.count = p->count};
    for (int c = 0; c < p->count; c++) {
        own.weight[c] = exp((double)m->log_weight[c]);
        for (int k = 0; k < DIM; k++) {
            own.mean[c][k] = (double)m->mean[c * DIM + k];
            own.variance[c][k] = (double)m->variance[c * DIM + k];
        }
    }
    double plainly = likelihood_of(p, frames, count);
    assert_true(fabs(likelihood_of(&own, frames, count) - plainly) < 1e-6 * fabs(plainly));
}

/* Three heaps. */
static float *make_frames(uint64_t seed, size_t count)
{
    float *frames = malloc(sizeof *frames * DIM * count);
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < DIM; k++)
            frames[i * DIM + (size_t)k] =
                (float)((int)(i % 3) * (k + 1)) + 0.5f * trl__random_normal(seed, (uint64_t)i, (uint64_t)k);
    return frames;
}

static trl__reservoir *sample_of(const float *frames, size_t count)
{
    trl__reservoir *r;
    must(trl__reservoir_create(count, DIM, &r, &err));
    for (size_t i = 0; i < count; i++)
        trl__reservoir_add(r, i + 1, frames + i * DIM);
    trl__reservoir_settle(r);
    return r;
}

static void test_plain(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        dice d = {.seed = seed};
        size_t count = (size_t)roll_int(&d, 300, 6000);
        float *frames = make_frames(seed, count), *others = make_frames(seed + 100, 2000);
        trl_bam_options o = trl_bam_defaults();
        trl__grower *grower;
        const trl_model *mixture;
        plain p;
        o.alpha = 0;
        o.beta = roll_int(&d, 1, MOST);
        o.iterations = roll_int(&d, 1, 3);
        trl__reservoir *r = sample_of(frames, count);
        must(trl__grower_create(DIM, &o, NULL, &grower, &err));
        must(trl__grow_mixture(grower, r, &mixture, &err));
        grow_plainly(&p, frames, count, (int)o.beta, o.iterations);
        check_equal(mixture, &p, 1e-3);
        check_held_out(mixture, &p, others, 2000);
        must(trl__grow_mixture(grower, r, &mixture, &err)); /* again in the same grower */
        check_equal(mixture, &p, 1e-3);
        trl__grower_destroy(grower);
        trl__reservoir_destroy(r);
        free(frames);
        free(others);
    }
}

/* Frames that are all the same, one frame alone, and values that are no numbers. */
static void test_odd(void **state)
{
    (void)state;
    float frames[DIM * 50];
    trl_bam_options o = trl_bam_defaults();
    trl__grower *grower;
    const trl_model *mixture;
    for (int i = 0; i < 50 * DIM; i++)
        frames[i] = 7;
    must(trl__grower_create(DIM, &o, NULL, &grower, &err));
    trl__reservoir *r = sample_of(frames, 50), *one = sample_of(frames, 1);
    must(trl__grow_mixture(grower, r, &mixture, &err));
    for (int i = 0; i < trl_model_components(mixture, 0) * DIM; i++)
        assert_true(mixture->variance[i] == 1e-5f);
    must(trl__grow_mixture(grower, one, &mixture, &err));
    assert_true(fabs((double)mixture->mean[0] - 7) < 0.01);
    r->frames[5] = NAN;
    assert_int_equal(trl__grow_mixture(grower, r, &mixture, &err), TRL_ENUMBER);
    trl__reservoir_destroy(r);
    trl__reservoir_destroy(one);
    trl__grower_destroy(grower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_odd)};
    return RUN(tests);
}
