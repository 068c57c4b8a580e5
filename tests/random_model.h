/* For tests of model files: random models, and the comparison of two. */
#ifndef TEST_RANDOM_MODEL_H
#define TEST_RANDOM_MODEL_H

#include "temp_folder.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/model_data.h"
#include "model/topology.h"

#include <math.h>

/* Numbers that follow from a seed. */
typedef struct dice {
    uint64_t seed, next;
} dice;

static inline uint32_t roll(dice *d, uint32_t sides)
{
    return trl__random_bits(d->seed, 0, d->next++) % sides;
}

static inline float roll_normal(dice *d)
{
    return trl__random_normal(d->seed, 1, d->next++);
}

/* Random probabilities of `count` arcs. */
static inline void roll_distribution(dice *d, trl__arc *arcs, int32_t count)
{
    double sum = 0, value[128];
    for (int32_t i = 0; i < count; i++)
        sum += value[i] = 0.05 + trl__random_uniform(d->seed, 2, d->next++);
    for (int32_t i = 0; i < count; i++)
        arcs[i].probability = (float)(value[i] / sum);
}

/* A left-to-right topology with skips; with `free_entry` it may be entered at any state and skipped. */
static inline void roll_topology(dice *d, trl__topology *t, int free_entry)
{
    int32_t states = 1 + (int32_t)roll(d, 5), arcs = 0;
    assert_int_equal(trl__topology_alloc(t, states, (states + 2) * (states + 1), NULL), 0);
    for (int32_t s = -1; s < states; s++) {
        int32_t begin = arcs;
        for (int32_t to = s < 0 ? 0 : s; to <= states; to++)
            if (to == s + 1 || (s < 0 ? free_entry && roll(d, 2) : to == s || roll(d, 3) == 0))
                t->arcs[arcs++].to = to == states ? TRL_EXIT : to;
        if (s < 0 && !free_entry)
            t->arcs[0].probability = 1;
        else
            roll_distribution(d, t->arcs + begin, arcs - begin);
        t->first[s + 2] = arcs;
    }
}

static inline void roll_mixtures(dice *d, trl_model *m, int32_t tied_states)
{
    size_t dim = (size_t)m->dim, gaussians = 0;
    m->tied_states = tied_states;
    m->first_gaussian = trl__alloc_zero((size_t)tied_states + 1, sizeof *m->first_gaussian);
    for (int32_t j = 0; j < tied_states; j++)
        m->first_gaussian[j + 1] = (int32_t)(gaussians += 1 + roll(d, 4));
    m->log_weight = trl__alloc(gaussians, sizeof *m->log_weight);
    m->mean = trl__alloc(gaussians * dim, sizeof *m->mean);
    m->variance = trl__alloc(gaussians * dim, sizeof *m->variance);
    for (int32_t j = 0; j < tied_states; j++) {
        trl__arc weights[8];
        int32_t count = m->first_gaussian[j + 1] - m->first_gaussian[j];
        roll_distribution(d, weights, count);
        for (int32_t c = 0; c < count; c++)
            m->log_weight[m->first_gaussian[j] + c] = (float)log((double)weights[c].probability);
    }
    for (size_t i = 0; i < gaussians * dim; i++) {
        m->mean[i] = 10 * roll_normal(d);
        m->variance[i] = expf(2 * roll_normal(d));
    }
}

/* Every triple has its own probabilities, those of a pool the same. */
static inline void roll_transitions(dice *d, trl_model *m)
{
    for (int32_t i = 0; i < m->triples; i++) {
        const trl__triple *t = &m->triple[i], *pool = &m->triple[t->pool];
        trl__arc arcs[8];
        int32_t count = trl__arcs_of(trl__unit_topology(m, t->unit), t->state);
        roll_distribution(d, arcs, count);
        for (int32_t a = 0; a < count; a++)
            m->log_probability[t->transition + a] =
                t == pool ? (float)log((double)arcs[a].probability) : m->log_probability[pool->transition + a];
    }
}

/* Units that share topologies, tied states and, where they are the same HMM, transitions. The first is silence. */
static inline trl_model *roll_model(uint64_t seed, int free_entry)
{
    dice d = {seed, 0};
    trl_model *m;
    int32_t units = 1 + (int32_t)roll(&d, 8), tied_states = 0;
    assert_int_equal(trl__model_new(1 + (int32_t)roll(&d, 5), &m, NULL), 0);
    m->topologies = 1 + (int32_t)roll(&d, 3);
    m->topology = trl__alloc_zero((size_t)m->topologies, sizeof *m->topology);
    for (int32_t t = 0; t < m->topologies; t++)
        roll_topology(&d, &m->topology[t], free_entry);
    m->unit_kind = trl__alloc_zero((size_t)units, 1);
    m->unit_topology = trl__alloc_zero((size_t)units, sizeof *m->unit_topology);
    m->triple = trl__alloc_zero((size_t)units * 8, sizeof *m->triple);
    for (int32_t u = 0; u < units; u++) {
        char name[16];
        snprintf(name, sizeof name, u == 0 ? "sil" : "p%d", (int)u);
        assert_int_equal(trl__strings_add(&m->units, name, strlen(name)), u);
        m->unit_kind[u] = u == 0 ? TRL_UNIT_SILENCE : TRL_UNIT_PHONE;
        int32_t like =
            u > 0 && roll(&d, 3) == 0 ? (int32_t)roll(&d, (uint32_t)u) : -1; /* shares transitions with this unit */
        m->unit_topology[u] = like >= 0 ? m->unit_topology[like] : (int32_t)roll(&d, (uint32_t)m->topologies);
        int32_t states = trl__unit_topology(m, u)->states;
        for (int32_t s = 0; s < states; s++) {
            int32_t tied =
                tied_states > 0 && roll(&d, 3) == 0 ? (int32_t)roll(&d, (uint32_t)tied_states) : tied_states++;
            int32_t pool = m->triples;
            for (int32_t i = 0; like >= 0 && i < m->triples; i++)
                if (m->triple[i].unit == like && m->triple[i].state == s)
                    pool = m->triple[i].pool;
            m->triple[m->triples++] = (trl__triple){.unit = u, .state = s, .tied = tied, .pool = pool};
        }
    }
    roll_mixtures(&d, m, tied_states);
    trl_error err;
    if (trl__model_finish(m, "random", &err) < 0)
        fail_msg("%s", err.text);
    roll_transitions(&d, m);
    return m;
}

/* ---- Comparison ---- */

static inline void assert_same_arcs(const trl_model *a, const trl_model *b, int32_t u)
{
    const trl__topology *x = trl__unit_topology(a, u), *y = trl__unit_topology(b, u);
    assert_int_equal(x->states, y->states);
    assert_memory_equal(x->first, y->first, ((size_t)x->states + 2) * sizeof *x->first);
    for (int32_t i = 0; i < x->first[x->states + 1]; i++)
        assert_int_equal(x->arcs[i].to, y->arcs[i].to);
    for (int32_t i = 0; i < x->first[1]; i++)
        assert_true(x->arcs[i].probability == y->arcs[i].probability);
}

/* The same units, arcs and triples; pools too, unless they can't be said in the format. */
static inline void assert_same_structure(const trl_model *a, const trl_model *b, int pools)
{
    assert_int_equal(a->dim, b->dim);
    assert_int_equal(a->units.count, b->units.count);
    assert_int_equal(a->triples, b->triples);
    assert_int_equal(a->transitions, b->transitions);
    assert_int_equal(a->tied_states, b->tied_states);
    for (int32_t u = 0; u < (int32_t)a->units.count; u++) {
        assert_string_equal(a->units.texts[u], b->units.texts[u]);
        assert_int_equal(a->unit_kind[u], b->unit_kind[u]);
        assert_same_arcs(a, b, u);
    }
    for (int32_t i = 0; i < a->triples; i++) {
        assert_int_equal(a->triple[i].tied, b->triple[i].tied);
        assert_int_equal(a->triple[i].transition, b->triple[i].transition);
        if (pools)
            assert_int_equal(a->triple[i].pool, b->triple[i].pool);
    }
    assert_memory_equal(a->first_gaussian, b->first_gaussian, ((size_t)a->tied_states + 1) * sizeof(int32_t));
}

#endif
