/* Trees as objects: finding leaves, checking, copying, and their sets of units. See tree.h. */
#include "model/tree.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- sets ---- */

static const uint64_t *row_of(const trl__unit_sets *sets, int32_t set)
{
    return sets->bits + (size_t)set * (size_t)sets->words;
}

/* Adds the name; where another set has it, with a number behind it: Nasal, Nasal.2, Nasal.3. */
static int add_name(trl__strings *names, const char *name)
{
    size_t size = strlen(name) + 24, count = names->count;
    char *numbered = trl__alloc(size, 1);
    if (!numbered)
        return -1;
    memcpy(numbered, name, strlen(name) + 1);
    for (int next = 2; trl__strings_find(names, numbered, strlen(numbered)) >= 0; next++)
        snprintf(numbered, size, "%s.%d", name, next);
    long number = trl__strings_add(names, numbered, strlen(numbered));
    trl__free(numbered);
    return number == (long)count ? 0 : -1;
}

int trl__unit_sets_add(trl__unit_sets *sets, const char *name, const uint64_t *bits)
{
    sets->words = trl__unit_set_words(sets->units);
    size_t words = (size_t)sets->words, size = words * sizeof *bits;
    long known = trl__strings_find(&sets->rows, (const char *)bits, size);
    if (known >= 0)
        return (int)known;
    if (sets->count == INT32_MAX || TRL_GROW(sets->bits, sets->capacity, ((size_t)sets->count + 1) * words) < 0 ||
        add_name(&sets->names, name) < 0 || trl__strings_add(&sets->rows, (const char *)bits, size) < 0)
        return -1;
    memcpy(sets->bits + (size_t)sets->count * words, bits, size);
    return sets->count++;
}

void trl__unit_sets_free(trl__unit_sets *sets)
{
    trl__free(sets->bits);
    trl__strings_free(&sets->rows);
    trl__strings_free(&sets->names);
    *sets = (trl__unit_sets){0};
}

/* ---- finding ---- */

int32_t trl__tree_find(const trl__tree *tree, const int32_t *window, int32_t state)
{
    int32_t i = tree->root[window[tree->centre] * tree->states + state];
    if (i < 0)
        return -1;
    const trl__tree_node *node = &tree->node[i];
    while (node->position != TRL__LEAF)
        node = &tree->node[trl__unit_set_has(&tree->sets, node->value, window[node->position]) ? node->yes : node->no];
    return node->value;
}

/* Into rising numbers, unless it is there. */
static int32_t insert(int32_t *numbers, int32_t count, int32_t number)
{
    int32_t low = 0, high = count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < count && numbers[low] == number)
        return count;
    memmove(numbers + low + 1, numbers + low, (size_t)(count - low) * sizeof *numbers);
    numbers[low] = number;
    return count + 1;
}

int32_t trl__tree_tied_states(const trl__tree *tree, int32_t unit, int32_t state, int32_t *out)
{
    int32_t later[TRL__DEEPEST_TREE + 1]; /* the other child of each node on the way here */
    int32_t waiting = 0, count = 0;
    int32_t i = tree->root[unit * tree->states + state];
    while (i >= 0) {
        const trl__tree_node *node = &tree->node[i];
        if (node->position == TRL__LEAF) {
            count = insert(out, count, node->value);
            i = waiting > 0 ? later[--waiting] : -1;
        } else if (node->position == tree->centre) {
            i = trl__unit_set_has(&tree->sets, node->value, unit) ? node->yes : node->no;
        } else {
            later[waiting++] = node->no;
            i = node->yes;
        }
    }
    return count;
}

/* ---- checking ---- */

static int refuse(const char *name, trl_error *err, const char *what)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: the tree: %s", name, what);
}

static int refuse_node(const char *name, trl_error *err, int32_t i, const char *what)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: node %" PRId32 " of the tree: %s", name, i, what);
}

static int check_shape(const trl__tree *t, const char *name, trl_error *err)
{
    if (t->width < 1 || t->width > TRL__WIDEST_CONTEXT || t->centre < 0 || t->centre >= t->width)
        return trl__fail(err, TRL_ECORRUPT,
                         "%s: the tree's window has %" PRId32 " units and its centre at %" PRId32
                         "; it may have 1 to %d and the centre inside",
                         name, t->width, t->centre, TRL__WIDEST_CONTEXT);
    if (t->units < 1 || t->states < 1 || (int64_t)t->units * t->states > INT32_MAX)
        return refuse(name, err, "impossible numbers of units and states");
    return t->nodes >= 1 && t->leaves >= 1 ? 0 : refuse(name, err, "it has no leaves");
}

static int check_sets(const trl__unit_sets *s, int32_t units, const char *name, trl_error *err)
{
    if (s->units != units || s->count < 0 || (s->count > 0 && s->words != trl__unit_set_words(units)) ||
        s->names.count != (size_t)s->count)
        return refuse(name, err, "the sets of units have the wrong size");
    for (int32_t i = 0; i < s->count; i++) {
        const char *text = s->names.texts[i];
        if (row_of(s, i)[units / 64] >> units % 64 > 1)
            return refuse(name, err, "a set has units that do not exist");
        if (text[0] == '\0' || trl__utf8_check(text, strlen(text)) != strlen(text) || strpbrk(text, "\r\n"))
            return refuse(name, err, "a set's name is empty, or no line of UTF-8");
    }
    return 0;
}

/* depth[i]: 0 as long as no one came by, else one more than the questions before it. Parents come first, so one pass
 * is enough. */
static int check_node(const trl__tree *t, int32_t i, int32_t *depth, const char *name, trl_error *err)
{
    const trl__tree_node *node = &t->node[i];
    if (depth[i] == 0)
        return refuse_node(name, err, i, "no way leads there");
    if (node->position == TRL__LEAF)
        return node->value >= 0 && node->value < t->leaves && node->yes == -1 && node->no == -1
                   ? 0
                   : refuse_node(name, err, i, "its tied state does not exist, or it has children");
    if (node->position < 0 || node->position >= t->width || node->value < 0 || node->value >= t->sets.count)
        return refuse_node(name, err, i, "its position or set does not exist");
    if (node->yes <= i || node->no <= i || node->yes >= t->nodes || node->no >= t->nodes || node->yes == node->no ||
        depth[node->yes] != 0 || depth[node->no] != 0)
        return refuse_node(name, err, i, "its children do not exist, stand before it, or are another node's too");
    if (depth[i] > TRL__DEEPEST_TREE)
        return trl__fail(err, TRL_ELIMIT, "%s: the tree is deeper than %d questions", name, TRL__DEEPEST_TREE);
    depth[node->yes] = depth[node->no] = depth[i] + 1;
    return 0;
}

static int check_nodes(const trl__tree *t, int32_t *depth, const char *name, trl_error *err)
{
    for (size_t r = 0; r < (size_t)t->units * (size_t)t->states; r++) {
        if (t->root[r] < -1 || t->root[r] >= t->nodes)
            return refuse(name, err, "a root does not exist");
        if (t->root[r] >= 0)
            depth[t->root[r]] = 1;
    }
    int code = 0;
    for (int32_t i = 0; code == 0 && i < t->nodes; i++)
        code = check_node(t, i, depth, name, err);
    return code;
}

static int check_leaves(const trl__tree *t, uint8_t *seen, const char *name, trl_error *err)
{
    for (int32_t i = 0; i < t->nodes; i++)
        if (t->node[i].position == TRL__LEAF)
            seen[t->node[i].value] = 1;
    for (int32_t j = 0; j < t->leaves; j++)
        if (!seen[j])
            return trl__fail(err, TRL_ECORRUPT, "%s: the tree has no leaf for tied state %" PRId32, name, j);
    return 0;
}

int trl__tree_check(const trl__tree *tree, const char *name, trl_error *err)
{
    int code = check_shape(tree, name, err);
    if (code == 0)
        code = check_sets(&tree->sets, tree->units, name, err);
    if (code == 0 && tree->leaves > tree->nodes)
        code = refuse(name, err, "it has fewer nodes than tied states");
    if (code < 0)
        return code;
    int32_t *depth = trl__alloc_zero((size_t)tree->nodes, sizeof *depth);
    uint8_t *seen = trl__alloc_zero((size_t)tree->leaves, sizeof *seen);
    code = depth && seen ? check_nodes(tree, depth, name, err) : trl__fail_memory(err);
    if (code == 0)
        code = check_leaves(tree, seen, name, err);
    trl__free(depth);
    trl__free(seen);
    return code;
}

/* ---- making, copying, freeing ---- */

int trl__tree_create(int32_t width, int32_t centre, int32_t units, int32_t states, trl__tree **out, trl_error *err)
{
    *out = NULL;
    trl__tree *tree = trl__alloc_zero(1, sizeof *tree);
    if (!tree)
        return trl__fail_memory(err);
    *tree = (trl__tree){.width = width, .centre = centre, .units = units, .states = states, .sets.units = units};
    size_t roots = (size_t)units * (size_t)states;
    tree->root = trl__alloc(roots, sizeof *tree->root);
    if (!tree->root) {
        trl__tree_destroy(tree);
        return trl__fail_memory(err);
    }
    for (size_t r = 0; r < roots; r++)
        tree->root[r] = -1;
    *out = tree;
    return 0;
}

static int copy_sets(const trl__unit_sets *from, trl__unit_sets *to)
{
    for (int32_t i = 0; i < from->count; i++)
        if (trl__unit_sets_add(to, from->names.texts[i], row_of(from, i)) < 0)
            return -1;
    return 0;
}

int trl__tree_copy(const trl__tree *tree, trl__tree **out, trl_error *err)
{
    trl__tree *copy;
    int code = trl__tree_create(tree->width, tree->centre, tree->units, tree->states, &copy, err);
    *out = NULL;
    if (code < 0)
        return code;
    copy->leaves = tree->leaves;
    copy->nodes = tree->nodes;
    copy->node = trl__alloc((size_t)tree->nodes, sizeof *copy->node);
    if (!copy->node || copy_sets(&tree->sets, &copy->sets) < 0) {
        trl__tree_destroy(copy);
        return trl__fail_memory(err);
    }
    memcpy(copy->root, tree->root, (size_t)tree->units * (size_t)tree->states * sizeof *tree->root);
    memcpy(copy->node, tree->node, (size_t)tree->nodes * sizeof *tree->node);
    *out = copy;
    return 0;
}

void trl__tree_destroy(trl__tree *tree)
{
    if (!tree)
        return;
    trl__free(tree->root);
    trl__free(tree->node);
    trl__unit_sets_free(&tree->sets);
    trl__free(tree);
}
