/* Random trees and models with them. Beside each tree stand its leaves as rules, by which it can be looked up without
 * it. */
#ifndef TEST_TREE_FIXTURE_H
#define TEST_TREE_FIXTURE_H

#include "foreign_model.h"

#define DEEPEST 6

/* A leaf: what was asked on the way there, and answered so. */
typedef struct tree_rule {
    int32_t root, tied, asked;
    struct {
        int32_t position, set, answer;
    } step[DEEPEST];
} tree_rule;

typedef struct grown_tree {
    trl__tree *tree;
    tree_rule *rules;
    size_t rule_count, rule_capacity, node_capacity;
} grown_tree;

/* ---- growing ---- */

static inline void random_sets(dice *d, trl__unit_sets *sets)
{
    size_t words = (size_t)trl__unit_set_words(sets->units);
    uint64_t *bits = calloc(words, sizeof *bits);
    for (int i = roll(d, 1, 8); i > 0; i--) {
        char name[16];
        memset(bits, 0, words * sizeof *bits);
        for (int32_t u = 0; u <= sets->units; u++)
            if (roll(d, 0, 2) == 0)
                bits[u / 64] |= (uint64_t)1 << u % 64;
        snprintf(name, sizeof name, "Q%d", roll(d, 0, 3));
        assert_true(trl__unit_sets_add(sets, name, bits) >= 0);
    }
    free(bits);
}

static inline int32_t grow_node(dice *d, grown_tree *g, tree_rule *way, int centre_too)
{
    trl__tree *t = g->tree;
    int32_t index = t->nodes++;
    assert_int_equal(TRL_GROW(t->node, g->node_capacity, (size_t)t->nodes), 0);
    if (way->asked == DEEPEST || roll(d, 0, 2) == 0) {
        int again = t->leaves > 0 && g->rule_count > 0 && g->rules[g->rule_count - 1].root == way->root;
        way->tied = again && roll(d, 0, 3) == 0 ? g->rules[g->rule_count - 1].tied : t->leaves++;
        assert_int_equal(TRL_GROW(g->rules, g->rule_capacity, g->rule_count + 1), 0);
        g->rules[g->rule_count++] = *way;
        t->node[index] = (trl__tree_node){TRL__LEAF, way->tied, -1, -1};
        return index;
    }
    int32_t position = roll(d, 0, t->width - 1), set = roll(d, 0, t->sets.count - 1), step = way->asked++;
    if (position == t->centre && !centre_too)
        position = (position + 1) % t->width;
    way->step[step].position = position;
    way->step[step].set = set;
    way->step[step].answer = 1;
    int32_t yes = grow_node(d, g, way, centre_too);
    way->step[step].answer = 0;
    int32_t no = grow_node(d, g, way, centre_too);
    way->asked = step;
    t->node[index] = (trl__tree_node){position, set, yes, no};
    return index;
}

/* states: by unit. Some units have the roots of the one before. */
static inline grown_tree grow_tree(dice *d, int32_t units, const int32_t *states, int centre_too)
{
    grown_tree g = {0};
    int32_t most = 1, width = roll(d, 1, 5);
    for (int32_t u = 0; u < units; u++)
        most = states[u] > most ? states[u] : most;
    assert_int_equal(trl__tree_create(width, roll(d, 0, width - 1), units, most, &g.tree, NULL), 0);
    random_sets(d, &g.tree->sets);
    for (int32_t u = 0; u < units; u++) {
        int like = u > 0 && states[u] == states[u - 1] && roll(d, 0, 2) == 0;
        for (int32_t s = 0; s < states[u]; s++) {
            tree_rule way = {.root = u * most + s};
            g.tree->root[u * most + s] = like ? g.tree->root[(u - 1) * most + s] : grow_node(d, &g, &way, centre_too);
        }
    }
    return g;
}

static inline void free_grown(grown_tree *g)
{
    trl__tree_destroy(g->tree);
    trl__free(g->rules);
    *g = (grown_tree){0};
}

/* ---- looking up by rules ---- */

/* The unit whose roots these are. */
static inline int32_t owner(const trl__tree *t, int32_t unit, int32_t state)
{
    while (unit > 0 && t->root[(unit - 1) * t->states + state] == t->root[unit * t->states + state])
        unit--;
    return unit;
}

/* window NULL: whatever the neighbours are; then only what is asked about the unit counts. */
static inline int rule_holds(const grown_tree *g, const tree_rule *rule, int32_t unit, int32_t state,
                             const int32_t *window)
{
    const trl__tree *t = g->tree;
    if (rule->root != owner(t, unit, state) * t->states + state)
        return 0;
    for (int32_t i = 0; i < rule->asked; i++) {
        int32_t position = rule->step[i].position;
        if (!window && position != t->centre)
            continue;
        int32_t there = window ? window[position] : unit, bit = there == TRL__NOTHING ? t->units : there;
        uint64_t word = t->sets.bits[rule->step[i].set * t->sets.words + bit / 64];
        if ((int32_t)(word >> bit % 64 & 1) != rule->step[i].answer)
            return 0;
    }
    return 1;
}

static inline int32_t find_by_rules(const grown_tree *g, const int32_t *window, int32_t state)
{
    int32_t found = -1;
    for (size_t i = 0; i < g->rule_count; i++)
        if (rule_holds(g, &g->rules[i], window[g->tree->centre], state, window)) {
            assert_int_equal(found, -1);
            found = g->rules[i].tied;
        }
    return found;
}

/* By tied state: 1 where the unit's state can have it. */
static inline void mark_by_rules(const grown_tree *g, int32_t unit, int32_t state, uint8_t *marks)
{
    for (int32_t j = 0; j < g->tree->leaves; j++)
        marks[j] = 0;
    for (size_t i = 0; i < g->rule_count; i++)
        if (rule_holds(g, &g->rules[i], unit, state, NULL))
            marks[g->rules[i].tied] = 1;
}

static inline void random_window(dice *d, const trl__tree *t, int32_t *window)
{
    for (int32_t p = 0; p < t->width; p++)
        window[p] = roll(d, p == t->centre ? 0 : -1, t->units - 1);
}

/* ---- models ---- */

static inline void tree_model_units(dice *d, trl_model *m, int32_t *states)
{
    int32_t units = roll(d, 2, 8);
    m->topologies = roll(d, 1, 2);
    m->topology = trl__alloc_zero((size_t)m->topologies, sizeof *m->topology);
    for (int32_t t = 0; t < m->topologies; t++)
        foreign_topology(d, &m->topology[t], 0);
    m->unit_kind = trl__alloc_zero((size_t)units, sizeof *m->unit_kind);
    m->unit_topology = trl__alloc_zero((size_t)units, sizeof *m->unit_topology);
    for (int32_t u = 0; u < units; u++) {
        char name[16];
        snprintf(name, sizeof name, u == 0 ? "sil" : "p%d", (int)u);
        assert_int_equal(trl__strings_add(&m->units, name, strlen(name)), u);
        m->unit_kind[u] = u == 0 ? TRL_UNIT_SILENCE : TRL_UNIT_PHONE;
        m->unit_topology[u] = roll(d, 0, m->topologies - 1);
        states[u] = m->topology[m->unit_topology[u]].states;
    }
}

/* A triple for each mark. Returns 1 if every tied state has one. */
static inline int tree_model_triples(trl_model *m, const grown_tree *g)
{
    size_t capacity = 0;
    uint8_t *marks = calloc((size_t)g->tree->leaves, 1), *used = calloc((size_t)g->tree->leaves, 1);
    for (int32_t u = 0; u < g->tree->units; u++)
        for (int32_t s = 0; s < trl__unit_topology(m, u)->states; s++) {
            mark_by_rules(g, u, s, marks);
            for (int32_t j = 0; j < g->tree->leaves; j++) {
                if (!marks[j])
                    continue;
                assert_int_equal(TRL_GROW(m->triple, capacity, (size_t)m->triples + 1), 0);
                m->triple[m->triples] = (trl__triple){.unit = u, .state = s, .tied = j, .pool = m->triples};
                m->triples++;
                used[j] = 1;
            }
        }
    int all = !memchr(used, 0, (size_t)g->tree->leaves);
    free(marks);
    free(used);
    return all;
}

/* A model with a tree; `grown` has the tree's rules, and owns nothing of the model. Some have mixtures for a first
 * pass. */
static inline trl_model *random_tree_model(uint64_t seed, grown_tree *grown)
{
    dice d = {seed, 0};
    trl_error err;
    for (;;) {
        trl_model *m;
        int32_t states[8];
        assert_int_equal(trl__model_new(roll(&d, 1, 4), &m, NULL), 0);
        tree_model_units(&d, m, states);
        *grown = grow_tree(&d, (int32_t)m->units.count, states, roll(&d, 0, 1));
        m->tree = grown->tree;
        m->tied_states = grown->tree->leaves;
        if (!tree_model_triples(m, grown)) { /* a leaf that no unit comes to */
            trl_model_destroy(m);
            trl__free(grown->rules);
            continue;
        }
        random_mixtures(&d, m, 3);
        if (roll(&d, 0, 1)) {
            m->independent = (trl__model_mixtures){m->first_gaussian, m->log_weight, m->mean, m->variance, 0};
            m->first_gaussian = NULL;
            m->log_weight = m->mean = m->variance = NULL;
            random_mixtures(&d, m, 4);
        }
        if (trl__model_finish(m, "random", &err) < 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        return m;
    }
}

#endif
