/* Random models with tied mixtures: those of model_fixture.h with codebooks in place of their mixtures. */
#ifndef TEST_SHARED_FIXTURE_H
#define TEST_SHARED_FIXTURE_H

#include "model_fixture.h"

static inline void random_codebooks(dice *d, trl_model *m)
{
    trl_error err;
    int32_t dims[TRL__STREAMS_MOST], streams = 0, left = m->dim;
    while (left > 0) {
        dims[streams] = streams == TRL__STREAMS_MOST - 1 ? left : roll(d, 1, left);
        left -= dims[streams++];
    }
    trl__shared_mixtures *s;
    assert_int_equal(
        trl__shared_mixtures_create(roll(d, 1, 4), roll(d, 1, 20), streams, dims, m->tied_states, &s, &err), 0);
    s->top = roll(d, 0, s->densities);
    s->floor = roll(d, 0, 1) ? (float)(20 * roll_uniform(d)) : 0;
    for (int32_t j = 0; j < m->tied_states; j++) {
        s->codebook[j] = roll(d, 0, s->codebooks - 1);
        for (int32_t i = 0; i < streams; i++) {
            float *weight = s->log_weight + ((size_t)j * (size_t)streams + (size_t)i) * (size_t)s->densities;
            roll_shares(d, weight, s->densities);
            for (int32_t k = 0; k < s->densities; k++)
                weight[k] = logf(weight[k]);
        }
    }
    for (size_t i = 0; i < (size_t)s->codebooks * (size_t)s->densities * (size_t)m->dim; i++) {
        s->mean[i] = trl__random_normal(d->seed, 4, i);
        s->variance[i] = (float)exp((double)trl__random_normal(d->seed, 5, i));
    }
    m->shared = s;
}

static inline trl_model *random_shared_model(uint64_t seed)
{
    dice d = {seed, 1000000};
    trl_error err;
    trl_model *m = random_model(seed), *copy = NULL;
    int32_t *none = trl__alloc_zero((size_t)m->tied_states + 1, sizeof *none);
    assert_non_null(none);
    trl__model_set_mixtures(m, none, NULL, NULL, NULL);
    random_codebooks(&d, m);
    if (trl__model_finish(m, "random", &err) < 0 || trl__model_copy(m, &copy, &err) < 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    trl_model_destroy(m); /* the copy is as good */
    return copy;
}

#endif
