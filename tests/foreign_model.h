/* Random models of the kind that other programs' files can hold, and the comparison of two. */
#ifndef TEST_FOREIGN_MODEL_H
#define TEST_FOREIGN_MODEL_H

#include "model_fixture.h"

/* A left-to-right topology with skips; with `free_entry` it may be entered at any state and skipped. */
static inline void foreign_topology(dice *d, trl__topology *t, int free_entry)
{
    int32_t states = roll(d, 1, 5), arcs = 0;
    assert_int_equal(trl__topology_alloc(t, states, (states + 2) * (states + 1), NULL), 0);
    for (int32_t s = TRL_ENTRY; s < states; s++) {
        float shares[8];
        int32_t begin = arcs;
        for (int32_t to = s < 0 ? 0 : s; to <= states; to++)
            if (to == s + 1 || (s < 0 ? free_entry && roll(d, 0, 1) : to == s || roll(d, 0, 2) == 0))
                t->arcs[arcs++].to = to == states ? TRL_EXIT : to;
        roll_shares(d, shares, arcs - begin);
        for (int32_t a = begin; a < arcs; a++)
            t->arcs[a].probability = arcs - begin == 1 ? 1 : shares[a - begin];
        t->first[s + 2] = arcs;
    }
}

/* Every triple has its own probabilities, those of a pool the same. */
static inline void foreign_transitions(dice *d, trl_model *m)
{
    for (int32_t i = 0; i < m->triples; i++) {
        const trl__triple *t = &m->triple[i], *pool = &m->triple[t->pool];
        float shares[8];
        int32_t count = trl__arcs_of(trl__unit_topology(m, t->unit), t->state);
        roll_shares(d, shares, count);
        for (int32_t a = 0; a < count; a++)
            m->log_probability[t->transition + a] =
                t == pool ? (float)log((double)shares[a]) : m->log_probability[pool->transition + a];
    }
}

/* The unit's triples: tied states are new or old ones, numbered as they come; transitions are those of unit `like`, or its own (-1). */
static inline void foreign_triples(dice *d, trl_model *m, int32_t unit, int32_t like)
{
    for (int32_t s = 0; s < trl__unit_topology(m, unit)->states; s++) {
        int old = m->tied_states > 0 && roll(d, 0, 2) == 0;
        int32_t tied = old ? roll(d, 0, m->tied_states - 1) : m->tied_states++, pool = m->triples;
        for (int32_t i = 0; like >= 0 && i < m->triples; i++)
            if (m->triple[i].unit == like && m->triple[i].state == s)
                pool = m->triple[i].pool;
        m->triple[m->triples++] = (trl__triple){.unit = unit, .state = s, .tied = tied, .pool = pool};
    }
}

/* No context; silence first; units may share topologies, tied states and whole sets of transitions. */
static inline trl_model *foreign_model(uint64_t seed, int free_entry)
{
    dice d = {seed, 0};
    trl_model *m;
    trl_error err;
    assert_int_equal(trl__model_new(roll(&d, 1, 5), &m, NULL), 0);
    int32_t units = roll(&d, 1, 8);
    m->topologies = roll(&d, 1, 3);
    m->topology = trl__alloc_zero((size_t)m->topologies, sizeof *m->topology);
    for (int32_t t = 0; t < m->topologies; t++)
        foreign_topology(&d, &m->topology[t], free_entry);
    m->unit_kind = trl__alloc_zero((size_t)units, sizeof *m->unit_kind);
    m->unit_topology = trl__alloc_zero((size_t)units, sizeof *m->unit_topology);
    m->triple = trl__alloc_zero((size_t)units * 5, sizeof *m->triple);
    for (int32_t u = 0; u < units; u++) {
        char name[16];
        snprintf(name, sizeof name, u == 0 ? "sil" : "p%d", (int)u);
        assert_int_equal(trl__strings_add(&m->units, name, strlen(name)), u);
        m->unit_kind[u] = u == 0 ? TRL_UNIT_SILENCE : TRL_UNIT_PHONE;
        int32_t like = u > 0 && roll(&d, 0, 2) == 0 ? roll(&d, 0, u - 1) : -1;
        m->unit_topology[u] = like >= 0 ? m->unit_topology[like] : roll(&d, 0, m->topologies - 1);
        foreign_triples(&d, m, u, like);
    }
    random_mixtures(&d, m, 4);
    if (trl__model_finish(m, "random", &err) < 0)
        fail_msg("%s", err.text);
    foreign_transitions(&d, m);
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
