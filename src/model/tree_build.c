/* A tree from statistics: roots, growing (tree_grow.c), joining leaves again, numbering. See tree_build.h.
 *
 * Memory: one number per context, and the sums of one root's leaves per thread.
 */
#include "model/tree_build.h"
#include "model/sums.h"
#include "model/tree_grow.h"
#include "base/fail.h"
#include "base/memory.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LESS (1 - 1e-9) /* what is less by rounding alone is not less: the last split is not undone */

typedef struct builder {
    const trl_model *model;
    trl__growth growth;
    trl__tree *tree;
    int32_t *root_of;    /* unit * states + state: a root's number; -1: none */
    uint8_t *whole;      /* by root: it has silence or noise */
    int32_t *first_node; /* by root, and one more: its nodes in the tree */
    int32_t *origin;     /* by node of the tree: the node that grew */
    int32_t *same;       /* by leaf of the tree: the first leaf that it is tied to */
    double *loss;        /* by root: of likelihood, by joining */
} builder;

trl__tree_options trl__tree_defaults(void)
{
    return (trl__tree_options){.most_leaves = 2000, .least_frames = 100, .variance_floor = 0.01, .join_share = 1};
}

static int check_options(const trl__tree_options *o, trl_error *err)
{
    if (o->most_leaves < 1)
        return trl__fail(err, TRL_EINVAL, "most_leaves is %" PRId32 "; it must be at least 1", o->most_leaves);
    if (!(o->least_gain >= 0) || !(o->least_frames >= 0) || !(o->join_share >= 0))
        return trl__fail(err, TRL_EINVAL,
                         "least_gain is %g, least_frames %g, join_share %g; none of them may be negative",
                         o->least_gain, o->least_frames, o->join_share);
    return o->variance_floor >= DBL_MIN && isfinite(o->variance_floor)
               ? 0
               : trl__fail(err, TRL_EINVAL, "variance_floor is %g; it must be positive", o->variance_floor);
}

/* ---- roots ---- */

/* The first of the tied states that are one root. */
static int32_t find_first(int32_t *with, int32_t tied)
{
    while (with[tied] != tied)
        tied = with[tied] = with[with[tied]];
    return tied;
}

/* Tied states of the same unit's state belong together, and so do units' states with a tied state in common. */
static void group_tied_states(const trl_model *m, int32_t *with)
{
    for (int32_t j = 0; j < m->tied_states; j++)
        with[j] = j;
    for (int32_t i = 1; i < m->triples; i++)
        if (m->triple[i].unit == m->triple[i - 1].unit && m->triple[i].state == m->triple[i - 1].state)
            with[find_first(with, m->triple[i].tied)] = find_first(with, m->triple[i - 1].tied);
}

/* Numbers roots in the order of units and states. `label` names what a unit's state shares with others: a node of the
 * tree, or a tied state. */
static void number_roots(builder *b, const int32_t *label, int32_t *number)
{
    const trl_model *m = b->model;
    for (size_t at = 0; at < (size_t)b->tree->units * (size_t)b->tree->states; at++) {
        int32_t unit = (int32_t)(at / (size_t)b->tree->states);
        b->root_of[at] = -1;
        if (label[at] < 0)
            continue;
        if (number[label[at]] < 0)
            number[label[at]] = b->growth.roots++;
        b->root_of[at] = number[label[at]];
        if (m->unit_kind[unit] != TRL_UNIT_PHONE)
            b->whole[b->root_of[at]] = 1;
    }
}

static int find_roots(builder *b, trl_error *err)
{
    const trl_model *m = b->model;
    size_t pairs = (size_t)b->tree->units * (size_t)b->tree->states;
    size_t labels = (size_t)(m->tree ? m->tree->nodes : m->tied_states);
    int32_t *number = trl__alloc(labels, sizeof *number), *label = trl__alloc(pairs, sizeof *label);
    b->root_of = trl__alloc(pairs, sizeof *b->root_of);
    b->whole = trl__alloc_zero(pairs, sizeof *b->whole);
    int code = number && label && b->root_of && b->whole ? 0 : trl__fail_memory(err);
    if (code == 0) {
        for (size_t at = 0; at < pairs; at++)
            label[at] = -1;
        if (!m->tree)
            group_tied_states(m, number);
        for (int32_t i = 0; i < m->triples; i++) {
            const trl__triple *t = &m->triple[i];
            label[t->unit * b->tree->states + t->state] =
                m->tree ? m->tree->root[t->unit * m->tree->states + t->state] : find_first(number, t->tied);
        }
        memset(number, -1, labels * sizeof *number);
        number_roots(b, label, number);
    }
    trl__free(number);
    trl__free(label);
    return code;
}

/* The contexts of each root side by side, in the order of the statistics. */
static int sort_contexts(builder *b, trl_error *err)
{
    const trl__context_stats *stats = b->growth.stats;
    trl__growth *g = &b->growth;
    size_t contexts = stats->keys.count, *next = trl__alloc_zero((size_t)g->roots + 1, sizeof *next);
    g->order = trl__alloc(contexts, sizeof *g->order);
    if (!next || !g->order || TRL_GROW(g->node, g->capacity, (size_t)g->roots) < 0) {
        trl__free(next);
        return trl__fail_memory(err);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < contexts; i++) {
            const int32_t *key = trl__tuples_get(&stats->keys, (int64_t)i);
            int32_t root = b->root_of[key[stats->centre] * b->tree->states + key[stats->width]];
            if (pass == 0)
                next[root + 1]++;
            else
                g->order[next[root]++] = (int32_t)i;
        }
        for (int32_t r = 0; pass == 0 && r < g->roots; r++) {
            next[r + 1] += next[r];
            g->node[r] = (trl__growth_node){.first = next[r], .end = next[r + 1]};
        }
    }
    g->nodes = g->roots;
    trl__free(next);
    return 0;
}

/* ---- the nodes of the tree ---- */

/* The tree's number for a set of the questions; each is taken over when it is first asked about. */
static int32_t take_set(builder *b, int32_t set, int32_t *taken)
{
    const trl__unit_sets *sets = &b->growth.questions->sets;
    if (taken[set] < 0)
        taken[set] =
            trl__unit_sets_add(&b->tree->sets, sets->names.texts[set], sets->bits + (size_t)set * (size_t)sets->words);
    return taken[set];
}

/* Root after root, each level by level: children come behind their parents. */
static int lay_out(builder *b, int32_t *taken, trl_error *err)
{
    const trl__growth *g = &b->growth;
    trl__tree *t = b->tree;
    for (int32_t r = 0; r < g->roots; r++) {
        b->first_node[r] = t->nodes;
        b->origin[t->nodes++] = r;
        for (int32_t i = b->first_node[r]; i < t->nodes; i++) {
            const trl__growth_node *from = &g->node[b->origin[i]];
            t->node[i] = (trl__tree_node){.position = TRL__LEAF, .yes = -1, .no = -1};
            if (!from->taken)
                continue;
            int32_t set = take_set(b, from->set, taken);
            if (set < 0)
                return trl__fail_memory(err);
            t->node[i] = (trl__tree_node){from->position, set, t->nodes, t->nodes + 1};
            b->origin[t->nodes++] = from->yes;
            b->origin[t->nodes++] = from->no;
        }
    }
    b->first_node[g->roots] = t->nodes;
    return 0;
}

static int make_nodes(builder *b, trl_error *err)
{
    const trl__growth *g = &b->growth;
    size_t most = (size_t)g->roots + 2 * (size_t)g->splits, sets = (size_t)g->questions->sets.count;
    int32_t *taken = trl__alloc(sets, sizeof *taken);
    b->tree->node = trl__alloc(most, sizeof *b->tree->node);
    b->origin = trl__alloc(most, sizeof *b->origin);
    b->same = trl__alloc(most, sizeof *b->same);
    b->first_node = trl__alloc((size_t)g->roots + 1, sizeof *b->first_node);
    b->loss = trl__alloc_zero((size_t)g->roots, sizeof *b->loss);
    int code = taken && b->tree->node && b->origin && b->same && b->first_node && b->loss ? 0 : trl__fail_memory(err);
    if (code == 0) {
        memset(taken, -1, sets * sizeof *taken);
        code = lay_out(b, taken, err);
    }
    trl__free(taken);
    for (size_t at = 0; code == 0 && at < (size_t)b->tree->units * (size_t)b->tree->states; at++)
        b->tree->root[at] = b->root_of[at] < 0 ? -1 : b->first_node[b->root_of[at]];
    return code;
}

/* ---- joining leaves ---- */

static void sum_contexts(const trl__growth *g, const trl__growth_node *node, double *sums)
{
    size_t size = trl__sums_size(g->stats->dim);
    for (size_t i = node->first; i < node->end; i++)
        trl__sums_add(sums, g->stats->slots + (size_t)g->order[i] * size, size);
}

/* leaf[]: nodes of the tree with their sums; sets `same` of those that are joined. */
static int join_leaves(builder *b, size_t root, const int32_t *leaf, int32_t leaves, double *sums, trl__join *joins)
{
    const trl__growth *g = &b->growth;
    size_t size = trl__sums_size(g->stats->dim);
    memset(sums, 0, (size_t)leaves * size * sizeof *sums);
    for (int32_t i = 0; i < leaves; i++)
        sum_contexts(g, &g->node[b->origin[leaf[i]]], sums + (size_t)i * size);
    int32_t count = trl__sums_cluster(sums, leaves, g->stats->dim, g->options->variance_floor,
                                      LESS * g->options->join_share * g->last_gain, joins);
    for (int32_t j = 0; j < count; j++) {
        b->same[leaf[joins[j].from]] = leaf[joins[j].into];
        b->loss[root] += joins[j].loss;
    }
    return count;
}

static int join_root(void *user, size_t root, int worker, trl_error *err)
{
    builder *b = user;
    int32_t first = b->first_node[root], end = b->first_node[root + 1], leaves = 0;
    (void)worker;
    for (int32_t i = first; i < end; i++)
        b->same[i] = i;
    if (end - first == 1 || b->growth.options->join_share == 0)
        return 0;
    size_t most = ((size_t)(end - first) + 1) / 2;
    int32_t *leaf = trl__alloc(most, sizeof *leaf);
    double *sums = trl__alloc(most * trl__sums_size(b->growth.stats->dim), sizeof *sums);
    trl__join *joins = trl__alloc(most, sizeof *joins);
    for (int32_t i = first; leaf && i < end; i++)
        if (b->tree->node[i].position == TRL__LEAF)
            leaf[leaves++] = i;
    int code =
        leaf && sums && joins && join_leaves(b, root, leaf, leaves, sums, joins) >= 0 ? 0 : trl__fail_memory(err);
    trl__free(leaf);
    trl__free(sums);
    trl__free(joins);
    return code;
}

/* Tied states in the order of the leaves. A leaf is joined to one before it, which may have been joined to another. */
static int32_t number_leaves(builder *b)
{
    int32_t joined = 0;
    for (int32_t i = 0; i < b->tree->nodes; i++) {
        trl__tree_node *node = &b->tree->node[i];
        if (node->position != TRL__LEAF)
            continue;
        joined += b->same[i] != i;
        node->value = b->same[i] == i ? b->tree->leaves++ : b->tree->node[b->same[i]].value;
    }
    return joined;
}

/* ---- all of it ---- */

static void summarize(const builder *b, int32_t joined, trl__tree_summary *s)
{
    const trl__growth *g = &b->growth;
    *s = (trl__tree_summary){.contexts = (int32_t)g->stats->keys.count,
                             .roots = g->roots,
                             .leaves = b->tree->leaves,
                             .splits = g->splits,
                             .joined = joined};
    double before = 0, after = 0;
    for (int32_t r = 0; r < g->roots; r++) {
        s->frames += g->node[r].frames;
        before += g->node[r].likelihood;
        after -= b->loss[r];
    }
    for (int32_t i = 0; i < b->tree->nodes; i++)
        after += b->tree->node[i].position == TRL__LEAF ? g->node[b->origin[i]].likelihood : 0;
    s->before = s->frames > 0 ? before / s->frames : 0;
    s->after = s->frames > 0 ? after / s->frames : 0;
}

static int build(builder *b, trl__tree_summary *summary, trl_error *err)
{
    const trl_model *m = b->model;
    const trl__context_stats *stats = b->growth.stats;
    int32_t states = 1;
    for (int32_t u = 0; u < (int32_t)m->units.count; u++)
        if (trl__unit_topology(m, u)->states > states)
            states = trl__unit_topology(m, u)->states;
    int code = trl__tree_create(stats->width, stats->centre, (int32_t)m->units.count, states, &b->tree, err);
    if (code == 0)
        code = find_roots(b, err);
    b->growth.whole = b->whole;
    if (code == 0)
        code = sort_contexts(b, err);
    if (code == 0)
        code = trl__tree_grow(&b->growth, err);
    if (code == 0)
        code = make_nodes(b, err);
    if (code == 0)
        code = trl_pool_for(b->growth.options->pool, (size_t)b->growth.roots, join_root, b, err);
    if (code < 0)
        return code;
    int32_t joined = number_leaves(b);
    if (summary)
        summarize(b, joined, summary);
    return 0;
}

int trl__tree_build(const trl_model *model, const trl__context_stats *stats, const trl__questions *questions,
                    const trl__tree_options *options, trl__tree **out, trl__tree_summary *summary, trl_error *err)
{
    *out = NULL;
    int code = check_options(options, err);
    if (code == 0 && questions->sets.units != (int32_t)model->units.count)
        code = trl__fail(err, TRL_EINVAL, "the questions are about %" PRId32 " units, the model has %zu",
                         questions->sets.units, model->units.count);
    if (code == 0)
        code = trl__context_stats_check(stats, model, err);
    if (code < 0)
        return code;
    builder b = {.model = model, .growth = {.stats = stats, .questions = questions, .options = options}};
    code = build(&b, summary, err);
    trl__free(b.root_of);
    trl__free(b.whole);
    trl__free(b.first_node);
    trl__free(b.origin);
    trl__free(b.same);
    trl__free(b.loss);
    trl__free(b.growth.order);
    trl__free(b.growth.node);
    if (code < 0)
        trl__tree_destroy(b.tree);
    else
        *out = b.tree;
    return code;
}
