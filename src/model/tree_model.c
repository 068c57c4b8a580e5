/* A model with a tree: new triples and one Gaussian per tied state, all else as it was. See tree_build.h.
 *
 * Every context's sums are added at its leaf, and leaves' sums up to the roots, so that a leaf without frames finds the
 * nearest ancestor that has some. Memory: sums for every node.
 */
#include "model/estimate.h"
#include "model/sums.h"
#include "model/topology.h"
#include "model/tree_build.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- sums ---- */

typedef struct node_sums {
    const trl__tree *tree;
    int32_t dim;
    int32_t *parent; /* by node; -1: a root */
    int32_t *leaf;   /* by tied state: its first leaf */
    double *at;      /* by node, then by tied state, then one of all frames */
} node_sums;

static double *sums_at(const node_sums *s, int32_t row)
{
    return s->at + (size_t)row * trl__sums_size(s->dim);
}

static int32_t find_leaf(const trl__tree *tree, const int32_t *key)
{
    int32_t i = tree->root[key[tree->centre] * tree->states + key[tree->width]];
    while (tree->node[i].position != TRL__LEAF)
        i = trl__unit_set_has(&tree->sets, tree->node[i].value, key[tree->node[i].position]) ? tree->node[i].yes
                                                                                             : tree->node[i].no;
    return i;
}

static void add_up(const node_sums *s, const trl__context_stats *stats)
{
    const trl__tree *tree = s->tree;
    size_t size = trl__sums_size(s->dim);
    double *all = sums_at(s, tree->nodes + tree->leaves);
    for (size_t i = 0; i < stats->keys.count; i++) {
        int32_t leaf = find_leaf(tree, trl__tuples_get(&stats->keys, (int64_t)i));
        trl__sums_add(sums_at(s, leaf), stats->slots + i * size, size);
    }
    memset(s->leaf, -1, (size_t)tree->leaves * sizeof *s->leaf);
    memset(s->parent, -1, (size_t)tree->nodes * sizeof *s->parent);
    for (int32_t i = 0; i < tree->nodes; i++) {
        const trl__tree_node *node = &tree->node[i];
        if (node->position == TRL__LEAF) {
            s->leaf[node->value] = s->leaf[node->value] < 0 ? i : s->leaf[node->value];
            trl__sums_add(sums_at(s, tree->nodes + node->value), sums_at(s, i), size);
            trl__sums_add(all, sums_at(s, i), size);
        } else {
            s->parent[node->yes] = s->parent[node->no] = i;
        }
    }
    for (int32_t i = tree->nodes - 1; i >= 0; i--)
        if (s->parent[i] >= 0)
            trl__sums_add(sums_at(s, s->parent[i]), sums_at(s, i), size);
}

/* The tied state's own sums; else those of the nearest ancestor that has frames; else those of all frames. */
static const double *sums_of_tied(const node_sums *s, int32_t tied)
{
    const double *sums = sums_at(s, s->tree->nodes + tied);
    for (int32_t i = s->leaf[tied]; sums[0] <= 0 && i >= 0; i = s->parent[i])
        sums = sums_at(s, i);
    return sums[0] > 0 ? sums : sums_at(s, s->tree->nodes + s->tree->leaves);
}

/* ---- Gaussians ---- */

static int put_gaussians(trl_model *model, const node_sums *s, trl_error *err)
{
    const double *all = sums_at(s, s->tree->nodes + s->tree->leaves);
    const trl__estimate_options rule = trl__estimate_defaults();
    size_t dim = (size_t)s->dim, states = (size_t)s->tree->leaves;
    int32_t *first = trl__alloc_aligned(states + 1, sizeof *first);
    float *weight = trl__alloc_aligned(states, sizeof *weight);
    float *mean = trl__alloc_aligned(states * dim, sizeof *mean);
    float *variance = trl__alloc_aligned(states * dim, sizeof *variance);
    model->dim = s->dim;
    model->tied_states = (int32_t)states;
    trl__model_set_mixtures(model, first, weight, mean, variance);
    if (!first || !weight || !mean || !variance)
        return trl__fail_memory(err);
    first[0] = 0;
    for (size_t j = 0; j < states; j++) {
        const double *sums = sums_of_tied(s, (int32_t)j);
        first[j + 1] = (int32_t)j + 1;
        weight[j] = 0;
        for (size_t k = 0; k < dim; k++) {
            double m = sums[1 + k] / sums[0], m_all = all[1 + k] / all[0];
            double floor = rule.variance_floor * (all[1 + dim + k] / all[0] - m_all * m_all);
            mean[j * dim + k] = (float)m;
            variance[j * dim + k] = (float)fmax(sums[1 + dim + k] / sums[0] - m * m, fmax(floor, rule.least_variance));
        }
    }
    return 0;
}

static int estimate_leaves(trl_model *model, const trl__tree *tree, const trl__context_stats *stats, trl_error *err)
{
    size_t rows = (size_t)tree->nodes + (size_t)tree->leaves + 1;
    node_sums s = {.tree = tree, .dim = stats->dim};
    s.parent = trl__alloc((size_t)tree->nodes, sizeof *s.parent);
    s.leaf = trl__alloc((size_t)tree->leaves, sizeof *s.leaf);
    s.at = trl__alloc_zero(rows * trl__sums_size(stats->dim), sizeof *s.at);
    int code = s.parent && s.leaf && s.at ? 0 : trl__fail_memory(err);
    if (code == 0) {
        add_up(&s, stats);
        code =
            sums_at(&s, tree->nodes + tree->leaves)[0] > 0
                ? put_gaussians(model, &s, err)
                : trl__fail(err, TRL_EINVAL,
                            "the statistics have no frames, so there is nothing to estimate a model from; is there an "
                            "alignment of any utterance?");
    }
    trl__free(s.parent);
    trl__free(s.leaf);
    trl__free(s.at);
    return code;
}

/* ---- triples and transitions ---- */

/* The triples that the unit's state had: `count` of them. */
static const trl__triple *old_triples(const trl_model *old, int32_t unit, int32_t state, int32_t *count)
{
    const trl__triple *first = old->triple + old->unit_triple[unit], *end = old->triple + old->unit_triple[unit + 1];
    while (first->state < state)
        first++;
    *count = 0;
    while (first + *count < end && first[*count].state == state)
        ++*count;
    return first;
}

/* Arcs that were estimated together with others' still are: pool[] has the new pool for an old one that has several
 * members, -1 until it is known. */
static int32_t new_pool(const int32_t *members, int32_t *pool, const trl__triple *was, int32_t now)
{
    if (members[was->pool] < 2)
        return now;
    if (pool[was->pool] < 0)
        pool[was->pool] = now;
    return pool[was->pool];
}

static int make_triples(const trl_model *old, trl_model *model, const trl__tree *tree, int32_t *members, int32_t *pool,
                        int32_t *tied, trl_error *err)
{
    size_t capacity = 0;
    memset(pool, -1, (size_t)old->triples * sizeof *pool);
    for (int32_t i = 0; i < old->triples; i++)
        members[old->triple[i].pool]++;
    for (int32_t u = 0; u < tree->units; u++)
        for (int32_t s = 0; s < trl__unit_topology(old, u)->states; s++) {
            int32_t had, count = trl__tree_tied_states(tree, u, s, tied);
            const trl__triple *was = old_triples(old, u, s, &had);
            if (TRL_GROW(model->triple, capacity, (size_t)model->triples + (size_t)count) < 0)
                return trl__fail_memory(err);
            for (int32_t i = 0; i < count; i++, model->triples++)
                model->triple[model->triples] = (trl__triple){
                    .unit = u, .state = s, .tied = tied[i], .pool = new_pool(members, pool, was, model->triples)};
        }
    return 0;
}

static int replace_triples(const trl_model *old, trl_model *model, const trl__tree *tree, trl_error *err)
{
    trl__free(model->triple);
    trl__free(model->unit_triple);
    trl__free(model->transition_triple);
    trl__free(model->log_probability);
    model->triple = NULL;
    model->unit_triple = model->transition_triple = NULL;
    model->log_probability = NULL;
    model->triples = 0;
    int32_t *members = trl__alloc_zero((size_t)old->triples, sizeof *members);
    int32_t *pool = trl__alloc((size_t)old->triples, sizeof *pool);
    int32_t *tied = trl__alloc((size_t)tree->leaves, sizeof *tied);
    int code =
        members && pool && tied ? make_triples(old, model, tree, members, pool, tied, err) : trl__fail_memory(err);
    trl__free(members);
    trl__free(pool);
    trl__free(tied);
    return code;
}

/* As the unit's state had them; averaged where it had several triples. */
static int put_transitions(const trl_model *old, trl_model *model, trl_error *err)
{
    model->log_probability = trl__alloc_zero((size_t)model->transitions + 1, sizeof *model->log_probability);
    if (!model->log_probability)
        return trl__fail_memory(err);
    for (int32_t i = 0; i < model->triples; i++) {
        const trl__triple *now = &model->triple[i];
        int32_t had, arcs = trl__arcs_of(trl__unit_topology(model, now->unit), now->state);
        const trl__triple *was = old_triples(old, now->unit, now->state, &had);
        for (int32_t a = 0; a < arcs; a++) {
            double sum = 0;
            for (int32_t k = 0; k < had; k++)
                sum += exp((double)old->log_probability[was[k].transition + a]);
            model->log_probability[now->transition + a] =
                had == 1 ? old->log_probability[was->transition + a] : (float)log(sum / had);
        }
    }
    return 0;
}

/* ---- the model ---- */

static int check_shape(const trl_model *model, const trl__tree *tree, const trl__context_stats *stats, trl_error *err)
{
    int code = trl__tree_check(tree, "new tree", err);
    if (code < 0)
        return code;
    if (tree->width != stats->width || tree->centre != stats->centre)
        return trl__fail(err, TRL_EINVAL,
                         "the tree's window has %" PRId32 " units (centre %" PRId32 "), that of the statistics %" PRId32
                         " (%" PRId32 ")",
                         tree->width, tree->centre, stats->width, stats->centre);
    int same = tree->units == (int32_t)model->units.count;
    for (int32_t u = 0; same && u < tree->units; u++) {
        int32_t states = trl__unit_topology(model, u)->states;
        same = states <= tree->states;
        for (int32_t s = 0; same && s < states; s++)
            same = tree->root[u * tree->states + s] >= 0;
    }
    return same ? trl__context_stats_check(stats, model, err)
                : trl__fail(err, TRL_EINVAL, "the tree is of another model: its units or their states differ");
}

/* Takes over the tree. */
static int rebuild(const trl_model *old, trl_model *model, trl__tree *tree, const trl__context_stats *stats,
                   trl_error *err)
{
    model->tree = tree;
    int code = check_shape(old, tree, stats, err);
    if (code == 0)
        code = estimate_leaves(model, tree, stats, err);
    if (code == 0)
        code = replace_triples(old, model, tree, err);
    if (code == 0)
        code = trl__model_structure(model, "model with a tree", err);
    if (code == 0)
        code = put_transitions(old, model, err);
    return code < 0 ? code : trl__model_finish(model, "model with a tree", err);
}

int trl__model_with_tree(const trl_model *model, trl__tree *tree, const trl__context_stats *stats, trl_model **out,
                         trl_error *err)
{
    trl_model bare = *model, *made;
    *out = NULL;
    bare.tree = NULL;
    bare.independent = (trl__model_mixtures){0};
    int code = trl__model_copy(&bare, &made, err);
    if (code < 0) {
        trl__tree_destroy(tree);
        return code;
    }
    code = rebuild(model, made, tree, stats, err);
    if (code < 0)
        trl_model_destroy(made);
    else
        *out = made;
    return code;
}
