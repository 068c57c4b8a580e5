/* Pictures of trees in Graphviz's language: questions as boxes, yes to the left, no to the right, tied states below. */
#include "model/model_data.h"
#include "base/dot_text.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <trellis/file.h>

#define LINE 28 /* characters of a label's line, about */
#define LINES 5 /* of the name of a set; more are cut */

typedef struct drawing {
    const trl_model *model;
    trl_file *file;
    trl_error *err;
    uint64_t *bits;   /* the units that share the root in hand */
    int32_t *waiting; /* nodes to be drawn */
} drawing;

/* A long text in lines, broken at blanks; what is too long ends in dots. */
static int put_lines(const drawing *d, const char *text)
{
    int code = 0;
    for (int line = 1; code == 0 && *text; line++) {
        size_t length = strlen(text), end = length < LINE ? length : LINE;
        while (end < length && text[end] != ' ')
            end++;
        code = trl_file_print(d->file, d->err, "\\n");
        if (code == 0)
            code = trl__dot_text(d->file, text, end, d->err);
        if (code == 0 && line == LINES && end < length)
            return trl_file_print(d->file, d->err, " …");
        text += end;
        while (*text == ' ')
            text++;
    }
    return code;
}

static void position_text(const trl__tree *tree, int32_t position, char text[32])
{
    int32_t away = position - tree->centre, steps = away < 0 ? -away : away;
    const char *side = away < 0 ? "left" : "right";
    if (away == 0)
        snprintf(text, 32, "the unit itself");
    else if (steps == 1)
        snprintf(text, 32, "%s", side);
    else
        snprintf(text, 32, "%s, %" PRId32 " away", side, steps);
}

static int draw_leaf(const drawing *d, int32_t node, int32_t tied)
{
    int32_t count = trl_model_components(d->model, tied);
    return trl_file_print(d->file, d->err,
                          "n%" PRId32 " [label = \"tied state %" PRId32 "\\n%" PRId32
                          " Gaussian%s\", shape = ellipse, style = filled, fillcolor = lightgrey];\n",
                          node, tied, count, count == 1 ? "" : "s");
}

static int draw_question(const drawing *d, int32_t index)
{
    const trl__tree *tree = d->model->tree;
    const trl__tree_node *node = &tree->node[index];
    char position[32];
    position_text(tree, node->position, position);
    int code = trl_file_print(d->file, d->err, "n%" PRId32 " [label = \"%s in", index, position);
    if (code == 0)
        code = put_lines(d, tree->sets.names.texts[node->value]);
    return code < 0 ? code
                    : trl_file_print(d->file, d->err,
                                     "\"];\nn%" PRId32 " -> n%" PRId32 " [label = \"yes\"];\nn%" PRId32 " -> n%" PRId32
                                     " [label = \"no\", style = dashed];\n",
                                     index, node->yes, index, node->no);
}

/* A root and all below it. There are never more waiting than the tree is deep. */
static int draw_nodes(const drawing *d, int32_t root)
{
    int32_t waiting = 0;
    int code = 0;
    d->waiting[waiting++] = root;
    while (code == 0 && waiting > 0) {
        int32_t i = d->waiting[--waiting];
        const trl__tree_node *node = &d->model->tree->node[i];
        if (node->position == TRL__LEAF) {
            code = draw_leaf(d, i, node->value);
        } else {
            code = draw_question(d, i);
            d->waiting[waiting++] = node->no;
            d->waiting[waiting++] = node->yes;
        }
    }
    return code;
}

/* "AA, state 0" above the root of one or several units. */
static int draw_root(const drawing *d, int32_t root, int32_t state)
{
    char *name = trl__unit_set_name(&d->model->units, d->model->word_positions, d->bits);
    if (!name)
        return trl__fail_memory(d->err);
    int code = trl_file_print(d->file, d->err, "r%" PRId32 "_%" PRId32 " [shape = plaintext, label = \"", root, state);
    if (code == 0)
        code = trl_file_print(d->file, d->err, "state %" PRId32 " of", state);
    if (code == 0)
        code = put_lines(d, name);
    trl__free(name);
    return code < 0 ? code
                    : trl_file_print(d->file, d->err, "\"];\nr%" PRId32 "_%" PRId32 " -> n%" PRId32 ";\n", root, state,
                                     root);
}

/* Is it the unit's name, or that of its phone, without the place? */
static int is_wanted(const trl_model *m, int32_t unit, const char *wanted)
{
    const char *name = m->units.texts[unit];
    size_t length = wanted ? strlen(wanted) : 0;
    if (!wanted || strcmp(name, wanted) == 0)
        return 1;
    return m->word_positions && trl_model_find_unit(m, wanted) < 0 && strncmp(name, wanted, length) == 0 &&
           name[length] == '_' && name[length + 1] != '\0' && strchr("BIES", name[length + 1]) &&
           name[length + 2] == '\0';
}

/* Each root once, with all wanted units that share it. The same root may serve several states. */
static int draw_state(const drawing *d, const char *wanted, int32_t state, uint8_t *drawn, int *found)
{
    const trl__tree *tree = d->model->tree;
    int code = 0;
    for (int32_t u = 0; code == 0 && u < tree->units; u++) {
        int32_t root = tree->root[u * tree->states + state];
        if (root < 0 || !is_wanted(d->model, u, wanted))
            continue;
        int first = 1;
        memset(d->bits, 0, (size_t)trl__unit_set_words(tree->units) * sizeof *d->bits);
        for (int32_t v = 0; v < tree->units; v++)
            if (tree->root[v * tree->states + state] == root && is_wanted(d->model, v, wanted)) {
                first = first && v >= u;
                d->bits[v / 64] |= (uint64_t)1 << v % 64;
            }
        *found = 1;
        if (!first)
            continue;
        code = draw_root(d, root, state);
        if (code == 0 && !drawn[root])
            code = draw_nodes(d, root);
        drawn[root] = 1;
    }
    return code;
}

static int nothing_found(const char *unit, int32_t state, trl_error *err)
{
    if (!unit)
        return trl__fail(err, TRL_ENOENT, "no unit of the model has a state %" PRId32, state);
    if (state < 0)
        return trl__fail(err, TRL_ENOENT, "the model has no unit '%s'", unit);
    return trl__fail(err, TRL_ENOENT, "the model has no unit '%s' with a state %" PRId32, unit, state);
}

static int draw_all(const drawing *d, const char *unit, int32_t state, uint8_t *drawn)
{
    int32_t states = d->model->tree->states;
    int found = 0;
    int code = trl_file_print(d->file, d->err,
                              "digraph tree {\nnode [shape = box, fontname = \"sans-serif\", fontsize = 11];\nedge "
                              "[fontname = \"sans-serif\", fontsize = 10];\n");
    for (int32_t s = 0; code == 0 && s < states; s++)
        if (state < 0 || s == state)
            code = draw_state(d, unit, s, drawn, &found);
    if (code == 0 && !found)
        return nothing_found(unit, state, d->err);
    return code < 0 ? code : trl_file_print(d->file, d->err, "}\n");
}

int trl_model_draw_tree(const trl_model *model, const char *unit, int32_t state, const char *path, trl_error *err)
{
    drawing d = {.model = model, .err = err};
    if (!model->tree)
        return trl__fail(err, TRL_EINVAL, "the model has no tree: its tied states do not depend on context");
    uint8_t *drawn = trl__alloc_zero((size_t)model->tree->nodes, sizeof *drawn);
    d.bits = trl__alloc((size_t)trl__unit_set_words(model->tree->units), sizeof *d.bits);
    d.waiting = trl__alloc(TRL__DEEPEST_TREE + 2, sizeof *d.waiting);
    int code = drawn && d.bits && d.waiting ? trl_file_create(path, &d.file, err) : trl__fail_memory(err);
    if (code == 0) {
        code = draw_all(&d, unit, state, drawn);
        if (code == 0)
            code = trl_file_commit(d.file, err);
        else
            trl_file_abort(d.file);
    }
    trl__free(drawn);
    trl__free(d.bits);
    trl__free(d.waiting);
    return code;
}
