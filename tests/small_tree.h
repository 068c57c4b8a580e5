/* A small model with a tree, for tests: SIL, SPN, AA and B with three states each, looked at with a neighbour on
 * either side.
 *
 *     AA, state 0: is a phone to the left (the set "Phone")? tied state 6, else 12
 *     B, state 2:  is the end to the right ("End")? 13; else is AA there ("AA")? 14, else 11
 *     all others:  the tied state that they had
 */
#ifndef TEST_SMALL_TREE_H
#define TEST_SMALL_TREE_H

#include "model_fixture.h"

enum { SIL, SPN, AA, B, SMALL_UNITS, SMALL_TIED = 15 };

static inline trl__tree *small_tree(void)
{
    static const trl__tree_node asked[] = {
        {0, 0, 1, 2}, {TRL__LEAF, 6, -1, -1},  {TRL__LEAF, 12, -1, -1}, {2, 1, 4, 5}, {TRL__LEAF, 13, -1, -1},
        {2, 2, 6, 7}, {TRL__LEAF, 14, -1, -1}, {TRL__LEAF, 11, -1, -1}};
    const uint64_t phone = 1 << AA | 1 << B, end = 1 << SMALL_UNITS, aa = 1 << AA;
    trl__tree *t;
    assert_int_equal(trl__tree_create(3, 1, SMALL_UNITS, 3, &t, NULL), 0);
    assert_int_equal(trl__unit_sets_add(&t->sets, "Phone", &phone), 0);
    assert_int_equal(trl__unit_sets_add(&t->sets, "End", &end), 1);
    assert_int_equal(trl__unit_sets_add(&t->sets, "AA", &aa), 2);
    t->node = trl__alloc(18, sizeof *t->node);
    memcpy(t->node, asked, sizeof asked);
    t->nodes = 8;
    t->leaves = SMALL_TIED;
    for (int32_t r = 0; r < SMALL_UNITS * 3; r++) {
        t->root[r] = r == AA * 3 ? 0 : r == B * 3 + 2 ? 3 : t->nodes;
        if (t->root[r] == t->nodes)
            t->node[t->nodes++] = (trl__tree_node){TRL__LEAF, r, -1, -1};
    }
    return t;
}

static inline void small_triples(trl_model *m)
{
    static const int32_t more[][3] = {{AA, 0, 12}, {B, 2, 13}, {B, 2, 14}};
    m->triple = trl__alloc(SMALL_TIED, sizeof *m->triple);
    for (int32_t r = 0; r < SMALL_UNITS * 3; r++) {
        m->triple[m->triples++] = (trl__triple){.unit = r / 3, .state = r % 3, .tied = r};
        for (int i = 0; i < 3; i++)
            if (more[i][0] == r / 3 && more[i][1] == r % 3)
                m->triple[m->triples++] = (trl__triple){.unit = r / 3, .state = r % 3, .tied = more[i][2]};
    }
    for (int32_t i = 0; i < m->triples; i++)
        m->triple[i].pool = i;
}

/* Not finished: trl__model_finish is for the test to call. */
static inline trl_model *small_tree_model(void)
{
    dice d = {1, 0};
    trl_error err;
    trl_model *from = model_of("A AA B\n", 2, NULL), *m;
    assert_int_equal(trl__model_copy(from, &m, &err), 0);
    trl_model_destroy(from);
    trl__free(m->triple);
    trl__free(m->unit_triple);
    trl__free(m->transition_triple);
    trl__free(m->log_probability);
    m->unit_triple = m->transition_triple = NULL;
    m->log_probability = NULL;
    m->triples = 0;
    small_triples(m);
    m->tied_states = SMALL_TIED;
    m->tree = small_tree();
    random_mixtures(&d, m, 2);
    return m;
}

/* Finished, and with mixtures for a first pass. */
static inline trl_model *small_adapted_model(void)
{
    dice d = {2, 0};
    trl_error err;
    trl_model *m = small_tree_model();
    m->independent = (trl__model_mixtures){m->first_gaussian, m->log_weight, m->mean, m->variance, 0};
    m->first_gaussian = NULL;
    m->log_weight = m->mean = m->variance = NULL;
    random_mixtures(&d, m, 3);
    if (trl__model_finish(m, "small", &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

#endif
