/* Models for tests: from a small lexicon, or random ones of every shape. Everything asserts that it worked. */
#ifndef TEST_MODEL_FIXTURE_H
#define TEST_MODEL_FIXTURE_H

#include "temp_folder.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/model_data.h"
#include "model/topology.h"

#include <math.h>

static inline trl_lexicon *lexicon_of(const char *text)
{
    trl_error err;
    trl_lexicon *lexicon;
    temp_write("lexicon.txt", text, strlen(text));
    if (trl_lexicon_read(temp_path("lexicon.txt"), NULL, &lexicon, &err) < 0)
        fail_msg("%s", err.text);
    return lexicon;
}

/* With NULL: the default options. */
static inline trl_model *model_of(const char *lexicon_text, int32_t dim, const trl_model_options *options)
{
    trl_error err;
    trl_model *model;
    trl_model_options defaults = trl_model_defaults();
    trl_lexicon *lexicon = lexicon_of(lexicon_text);
    if (trl_model_create(lexicon, NULL, dim, options ? options : &defaults, &model, &err) < 0)
        fail_msg("%s", err.text);
    trl_lexicon_destroy(lexicon);
    return model;
}

static inline void *bytes_of_model(const trl_model *m, size_t *size)
{
    trl_error err;
    if (trl_model_write(m, temp_path("m"), &err) < 0)
        fail_msg("%s", err.text);
    return temp_read("m", size);
}

/* To the byte, as files. */
static inline void assert_same_model_file(const trl_model *a, const trl_model *b)
{
    size_t a_size, b_size;
    void *a_bytes = bytes_of_model(a, &a_size), *b_bytes = bytes_of_model(b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a_bytes, b_bytes, a_size);
    free(a_bytes);
    free(b_bytes);
}

/* Random numbers in their order. */
typedef struct dice {
    uint64_t seed, next;
} dice;

static inline int32_t roll(dice *d, int32_t least, int32_t most)
{
    return least + (int32_t)(trl__random_bits(d->seed, 0, d->next++) % (uint32_t)(most - least + 1));
}

static inline double roll_uniform(dice *d)
{
    return ((double)trl__random_uniform(d->seed, 1, d->next++) + 1e-3) / 1.002;
}

/* `count` positive floats that sum up to 1. */
static inline void roll_shares(dice *d, float *shares, int32_t count)
{
    double sum = 0, parts[64];
    for (int32_t i = 0; i < count; i++)
        sum += parts[i] = 0.05 + roll_uniform(d);
    for (int32_t i = 0; i < count; i++)
        shares[i] = (float)(parts[i] / sum);
}

/* Every state stays or goes on, and may go anywhere else; some can be passed over. */
static inline void random_topology(dice *d, trl__topology *t)
{
    int32_t states = roll(d, 1, 5), arcs = 0;
    assert_int_equal(trl__topology_alloc(t, states, (states + 1) * (states + 1), NULL), 0);
    for (int32_t source = TRL_ENTRY; source < states; source++) {
        float shares[8];
        int32_t first = arcs;
        for (int32_t to = 0; to <= states; to++)
            if (to == source + 1 || roll(d, 0, 3) == 0)
                t->arcs[arcs++].to = to == states ? TRL_EXIT : to;
        roll_shares(d, shares, arcs - first);
        for (int32_t a = first; a < arcs; a++)
            t->arcs[a].probability = shares[a - first];
        t->first[source + 2] = arcs;
    }
}

static inline void random_units(dice *d, trl_model *m)
{
    int32_t units = roll(d, 1, 6);
    m->topologies = roll(d, 1, 3);
    m->topology = trl__alloc_zero((size_t)m->topologies, sizeof *m->topology);
    m->unit_kind = trl__alloc((size_t)units, sizeof *m->unit_kind);
    m->unit_topology = trl__alloc((size_t)units, sizeof *m->unit_topology);
    m->triple = trl__alloc((size_t)units * 5 * 2, sizeof *m->triple);
    m->tied_states = roll(d, 2, 8);
    for (int32_t t = 0; t < m->topologies; t++)
        random_topology(d, &m->topology[t]);
    for (int32_t u = 0; u < units; u++) {
        char name[32];
        int length = snprintf(name, sizeof name, "%s%d", u % 2 ? "\xc3\xb8" : "AA", u);
        assert_int_equal(trl__strings_add(&m->units, name, (size_t)length), u);
        m->unit_kind[u] = (uint8_t)roll(d, 0, 2);
        m->unit_topology[u] = roll(d, 0, m->topologies - 1);
        for (int32_t s = 0; s < m->topology[m->unit_topology[u]].states; s++) {
            int32_t tied = roll(d, 0, m->tied_states - 2), both = roll(d, 0, 3) == 0;
            for (int32_t i = 0; i <= both; i++, m->triples++)
                m->triple[m->triples] =
                    (trl__triple){.unit = u, .state = s, .tied = tied + i, .pool = m->triples - (i && roll(d, 0, 1))};
        }
    }
}

static inline void random_mixtures(dice *d, trl_model *m, int32_t most)
{
    int32_t next = 0;
    size_t room = (size_t)m->tied_states * (size_t)most, numbers = room * (size_t)m->dim;
    int32_t *first = trl__alloc_aligned((size_t)m->tied_states + 1, sizeof *first);
    float *weight = trl__alloc_aligned(room, sizeof *weight), *mean = trl__alloc_aligned(numbers, sizeof *mean);
    float *variance = trl__alloc_aligned(numbers, sizeof *variance);
    for (int32_t j = 0; j < m->tied_states; j++) {
        int32_t components = roll(d, 1, most);
        first[j] = next;
        roll_shares(d, weight + next, components);
        next += components;
    }
    first[m->tied_states] = next;
    for (int32_t g = 0; g < next; g++)
        weight[g] = logf(weight[g]);
    for (size_t i = 0; i < (size_t)next * (size_t)m->dim; i++) {
        mean[i] = trl__random_normal(d->seed, 2, i);
        variance[i] = (float)exp(2 * (double)trl__random_normal(d->seed, 3, i));
    }
    trl__model_set_mixtures(m, first, weight, mean, variance);
}

static inline trl_model *random_model(uint64_t seed)
{
    dice d = {seed, 0};
    trl_model *m;
    trl_error err;
    assert_int_equal(trl__model_new(roll(&d, 1, 7), &m, &err), 0);
    m->word_positions = (uint8_t)roll(&d, 0, 1);
    m->silence_between = (float)roll_uniform(&d);
    random_units(&d, m);
    random_mixtures(&d, m, 6);
    if (roll(&d, 0, 1) == 0) {
        assert_int_equal(trl__model_set_text(&m->frontend, "preset = mfcc\n", &err), 0);
        assert_int_equal(trl__model_set_text(&m->history, "{\"n\": 1}\n{\"n\": 2}\n", &err), 0);
    }
    if (trl__model_finish(m, "random", &err) < 0)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    return m;
}

#endif
