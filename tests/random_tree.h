/* For tests of contexts: random trees for models that have none. */
#ifndef TEST_RANDOM_TREE_H
#define TEST_RANDOM_TREE_H

#include "align_fixture.h"

typedef struct tree_grower {
    trl__tree *tree;
    size_t capacity;
    dice *d;
    int apart; /* no two leaves share a tied state */
} tree_grower;

static inline int32_t random_set(tree_grower *t)
{
    int32_t words = trl__unit_set_words(t->tree->units);
    uint64_t bits[8] = {0};
    assert_true(words <= 8);
    for (int32_t bit = 0; bit <= t->tree->units; bit++)
        bits[bit / 64] |= (uint64_t)roll_int(t->d, 0, 1) << bit % 64;
    char name[24];
    snprintf(name, sizeof name, "set%d", (int)t->tree->sets.count);
    int set = trl__unit_sets_add(&t->tree->sets, name, bits);
    assert_true(set >= 0);
    return set;
}

/* Questions about any position, up to `depth` of them; some leaves share a tied state. Returns the node. */
static inline int32_t grow_node(tree_grower *t, int depth)
{
    trl__tree *tree = t->tree;
    int32_t node = tree->nodes++;
    assert_int_equal(TRL_GROW(tree->node, t->capacity, (size_t)tree->nodes), 0);
    if (depth == 0) {
        int old = !t->apart && tree->leaves > 0 && roll_int(t->d, 0, 3) == 0;
        int32_t tied = old ? roll_int(t->d, 0, tree->leaves - 1) : tree->leaves++;
        tree->node[node] = (trl__tree_node){TRL__LEAF, tied, -1, -1};
        return node;
    }
    trl__tree_node asks = {.position = roll_int(t->d, 0, tree->width - 1), .value = random_set(t)};
    asks.yes = grow_node(t, roll_int(t->d, 0, depth - 1));
    asks.no = grow_node(t, depth - 1);
    tree->node[node] = asks;
    return node;
}

/* The triples that the tree's leaves make. */
static inline void set_triples(trl_model *m, const trl__tree *tree)
{
    int32_t *tied = trl__alloc((size_t)tree->leaves, sizeof *tied);
    size_t capacity = 0;
    trl__free(m->triple);
    m->triple = NULL;
    m->triples = 0;
    for (int32_t u = 0; u < tree->units; u++)
        for (int32_t s = 0; s < trl__unit_topology(m, u)->states; s++) {
            int32_t count = trl__tree_tied_states(tree, u, s, tied);
            assert_int_equal(TRL_GROW(m->triple, capacity, (size_t)(m->triples + count)), 0);
            for (int32_t i = 0; i < count; i++, m->triples++)
                m->triple[m->triples] = (trl__triple){.unit = u, .state = s, .tied = tied[i], .pool = m->triples};
        }
    trl__free(tied);
}

static inline trl__tree *empty_tree(const trl_model *m, int32_t width, int32_t centre)
{
    int32_t states = 0;
    trl__tree *tree;
    for (int32_t t = 0; t < m->topologies; t++)
        states = m->topology[t].states > states ? m->topology[t].states : states;
    must(trl__tree_create(width, centre, (int32_t)m->units.count, states, &tree, &err));
    return tree;
}

/* The model takes over the tree. Transitions are the topology's anew; the mixtures are there already. */
static inline void set_tree(trl_model *m, trl__tree *tree)
{
    set_triples(m, tree);
    m->tree = tree;
    trl__free(m->transition_triple);
    trl__free(m->unit_triple);
    trl__free(m->log_probability);
    m->transition_triple = m->unit_triple = NULL;
    m->log_probability = NULL;
    must(trl__model_finish(m, "a tree", &err));
}

/* Takes a window of `width` units, the unit itself at `centre`. Silence has no context of its own, or like the
 * phones. Some units share their roots. Mixtures are random. */
static inline void give_tree(trl_model *m, dice *d, int32_t width, int32_t centre, int depth)
{
    trl__tree *tree = empty_tree(m, width, centre);
    tree_grower grower = {.tree = tree, .d = d};
    int plain_silence = roll_int(d, 0, 1);
    for (int32_t u = 0; u < tree->units; u++) {
        int shared = u > 0 && m->unit_topology[u] == m->unit_topology[u - 1] && roll_int(d, 0, 2) == 0;
        for (int32_t s = 0; s < trl__unit_topology(m, u)->states; s++)
            tree->root[u * tree->states + s] =
                shared ? tree->root[(u - 1) * tree->states + s]
                       : grow_node(&grower, plain_silence && m->unit_kind[u] == TRL_UNIT_SILENCE ? 0 : depth);
    }
    m->tied_states = tree->leaves;
    randomise_mixtures(m, d, 2);
    set_tree(m, tree);
}

/* A tree of triphones whose leaves all have the Gaussian of their unit's state: the model says the same as before. */
static inline void give_idle_tree(trl_model *m, dice *d)
{
    trl__tree *tree = empty_tree(m, 3, 1);
    tree_grower grower = {.tree = tree, .d = d, .apart = 1};
    int32_t old[1000], leaves = 0, dim = m->dim;
    for (int32_t u = 0; u < tree->units; u++)
        for (int32_t s = 0; s < trl__unit_topology(m, u)->states; s++) {
            tree->root[u * tree->states + s] = grow_node(&grower, 3);
            assert_true(tree->leaves <= 1000);
            while (leaves < tree->leaves)
                old[leaves++] = trl__model_triple(m, u, s)->tied;
        }
    size_t room = (size_t)leaves * (size_t)dim;
    int32_t *first = trl__alloc((size_t)leaves + 1, sizeof *first);
    float *weight = trl__alloc((size_t)leaves, sizeof *weight), *mean = trl__alloc(room, sizeof *mean);
    float *variance = trl__alloc(room, sizeof *variance);
    for (int32_t j = 0; j < leaves; j++) {
        assert_int_equal(m->first_gaussian[old[j]], old[j]);
        first[j] = j;
        weight[j] = 0;
        memcpy(mean + (size_t)j * (size_t)dim, m->mean + (size_t)old[j] * (size_t)dim, (size_t)dim * sizeof *mean);
        memcpy(variance + (size_t)j * (size_t)dim, m->variance + (size_t)old[j] * (size_t)dim,
               (size_t)dim * sizeof *mean);
    }
    first[leaves] = leaves;
    m->tied_states = leaves;
    trl__model_set_mixtures(m, first, weight, mean, variance);
    set_tree(m, tree);
}

#endif
