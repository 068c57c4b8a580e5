/* Writes the tree that belongs to a model: from the phones of a window and the pdf class (here: the state) to pdf-id.
 *
 * Units whose states have the same roots (without context: tied states) form a set, and above the roots the tree is
 * the one that Kaldi makes of such sets: a table over the states for a set by itself (TE -1); where every set is a
 * single phone, a table over phones (TE); else a question whether the phone is in the first half of the sets (SE),
 * and a tree for each half. Below, the nodes of our tree are questions (SE) and leaves (CE).
 */
#include "model/kaldi_model.h"
#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_PDF_CLASS = -1 };

typedef struct tree {
    const trl_model *model;
    trl__kaldi_out *out;
    int32_t width, centre; /* of the window */
    size_t sets;
    int32_t *first;  /* sets + 1: where each begins in `units` */
    int32_t *units;  /* set by set, rising */
    int32_t *phones; /* scratch for a question: all, and none */
} tree;

/* ---- Sets ---- */

/* What tells two units' states apart: the root, or without a tree the tied state. */
static int32_t root_of(const trl_model *m, int32_t unit, int32_t state)
{
    return m->tree ? m->tree->root[unit * m->tree->states + state] : trl__model_triple(m, unit, state)->tied;
}

/* By unit, its set: those of equal roots have the same, numbered as they come. */
static int find_sets(const trl_model *m, int32_t *set_of, size_t *sets, trl_error *err)
{
    trl__map map = {0};
    trl__arena arena = {0};
    int code = 0;
    *sets = 0;
    for (size_t u = 0; code == 0 && u < m->units.count; u++) {
        int32_t states = trl__unit_topology(m, (int32_t)u)->states;
        size_t size = (size_t)states * sizeof(int32_t);
        char *key = trl__arena_alloc(&arena, size);
        for (int32_t s = 0; key && s < states; s++) {
            int32_t root = root_of(m, (int32_t)u, s);
            memcpy(key + (size_t)s * sizeof root, &root, sizeof root);
        }
        uint64_t set = *sets;
        int added = key ? trl__map_add(&map, key, size, &set) : -1;
        if (added < 0)
            code = trl__fail_memory(err);
        else
            set_of[u] = (int32_t)set;
        *sets += added == 1;
    }
    trl__map_free(&map);
    trl__arena_free(&arena);
    return code;
}

/* Units by set: a counting sort. */
static void gather_sets(tree *t, const int32_t *set_of)
{
    size_t units = t->model->units.count;
    for (size_t u = 0; u < units; u++)
        t->first[set_of[u] + 1]++;
    for (size_t s = 0; s < t->sets; s++)
        t->first[s + 1] += t->first[s];
    for (size_t u = units; u-- > 0;)
        t->units[--t->first[set_of[u] + 1]] = (int32_t)u;
    for (size_t s = 0; s < t->sets; s++)
        t->first[s] = t->first[s + 1];
    t->first[t->sets] = (int32_t)units;
}

static int32_t set_size(const tree *t, size_t set)
{
    return t->first[set + 1] - t->first[set];
}

/* ---- Nodes ---- */

static void put_constant(tree *t, int32_t tied)
{
    trl__kaldi_put_token(t->out, "CE");
    trl__kaldi_put_int(t->out, tied);
}

/* Is the phone at this place one of t->phones? */
static void put_question(tree *t, int32_t position, size_t count)
{
    trl__kaldi_put_token(t->out, "SE");
    trl__kaldi_put_int(t->out, position);
    trl__kaldi_put_ints(t->out, t->phones, count);
}

/* A node of our tree and all below it; no deeper than TRL__DEEPEST_TREE. */
static void put_split(tree *t, int32_t index)
{
    const trl__tree *from = t->model->tree;
    const trl__tree_node *node = &from->node[index];
    size_t count = 0;
    if (node->position == TRL__LEAF) {
        put_constant(t, node->value);
        return;
    }
    for (int32_t phone = 0; phone <= from->units; phone++)
        if (trl__unit_set_has(&from->sets, node->value, phone - 1)) /* -1 is TRL__NOTHING, Kaldi's phone 0 */
            t->phones[count++] = phone;
    put_question(t, node->position, count);
    trl__kaldi_put_token(t->out, "{");
    put_split(t, node->yes);
    put_split(t, node->no);
    trl__kaldi_put_token(t->out, "}");
    trl__kaldi_put_line_end(t->out);
}

static void put_states(tree *t, size_t set)
{
    const trl_model *m = t->model;
    int32_t unit = t->units[t->first[set]], states = trl__unit_topology(m, unit)->states;
    trl__kaldi_put_token(t->out, "TE");
    trl__kaldi_put_int(t->out, KEY_PDF_CLASS);
    trl__kaldi_put_unsigned(t->out, (uint32_t)states);
    trl__kaldi_put_token(t->out, "(");
    for (int32_t s = 0; s < states; s++) {
        if (m->tree)
            put_split(t, root_of(m, unit, s));
        else
            put_constant(t, root_of(m, unit, s));
    }
    trl__kaldi_put_token(t->out, ")");
    trl__kaldi_put_line_end(t->out);
}

/* Sets of one phone each, by the phone's number; numbers between that belong elsewhere have none. */
static void put_table(tree *t, size_t begin, size_t end)
{
    int32_t next = 0;
    trl__kaldi_put_token(t->out, "TE");
    trl__kaldi_put_int(t->out, t->centre);
    trl__kaldi_put_unsigned(t->out, (uint32_t)t->units[t->first[end - 1]] + 2);
    trl__kaldi_put_token(t->out, "(");
    for (size_t set = begin; set < end; set++) {
        for (int32_t phone = t->units[t->first[set]] + 1; next < phone; next++)
            trl__kaldi_put_token(t->out, "NULL");
        put_states(t, set);
        next++;
    }
    trl__kaldi_put_token(t->out, ")");
    trl__kaldi_put_line_end(t->out);
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Is the phone in one of the sets [begin, middle)? */
static void put_choice(tree *t, size_t begin, size_t middle)
{
    size_t count = 0;
    for (int32_t i = t->first[begin]; i < t->first[middle]; i++)
        t->phones[count++] = t->units[i] + 1;
    qsort(t->phones, count, sizeof *t->phones, by_number);
    put_question(t, t->centre, count);
}

/* Depth: the logarithm of the number of sets. */
static void put_node(tree *t, size_t begin, size_t end)
{
    int single = 1;
    for (size_t s = begin; s < end; s++)
        single = single && set_size(t, s) == 1;
    if (end - begin == 1) {
        put_states(t, begin);
    } else if (single) {
        put_table(t, begin, end);
    } else {
        size_t middle = begin + (end - begin) / 2;
        put_choice(t, begin, middle);
        trl__kaldi_put_token(t->out, "{");
        put_node(t, begin, middle);
        put_node(t, middle, end);
        trl__kaldi_put_token(t->out, "}");
        trl__kaldi_put_line_end(t->out);
    }
}

/* ---- The file ---- */

static int check(const trl_model *m, trl_error *err)
{
    for (size_t u = 0; !m->tree && u < m->units.count; u++)
        if (m->unit_triple[u + 1] - m->unit_triple[u] != trl__unit_topology(m, (int32_t)u)->states)
            return trl__fail(
                err, TRL_EUNSUPPORTED,
                "unit %s has several tied states for one state, chosen by context: the tree that chooses is "
                "not in the model",
                m->units.texts[u]);
    return 0;
}

static void put_tree(tree *t)
{
    trl__kaldi_out *out = t->out;
    trl__kaldi_put_mark(out);
    trl__kaldi_put_token(out, "ContextDependency");
    trl__kaldi_put_int(out, t->width);  /* phones of context, itself included */
    trl__kaldi_put_int(out, t->centre); /* its place among them */
    trl__kaldi_put_token(out, "ToPdf");
    put_node(t, 0, t->sets);
    trl__kaldi_put_token(out, "EndContextDependency");
    trl__kaldi_put_line_end(out);
}

static int write_file(tree *t, const int32_t *set_of, const char *path, trl_error *err)
{
    int code = trl_file_create(path, &t->out->file, err);
    if (code < 0)
        return code;
    gather_sets(t, set_of);
    put_tree(t);
    if (t->out->code == 0)
        return trl_file_commit(t->out->file, err);
    trl_file_abort(t->out->file);
    return t->out->code;
}

int trl__kaldi_tree_write(const trl_model *m, const char *path, int binary, trl_error *err)
{
    size_t units = m->units.count;
    trl__kaldi_out out = {.text = !binary, .err = err};
    tree t = {.model = m, .out = &out, .width = 1};
    if (m->tree) {
        t.width = m->tree->width;
        t.centre = m->tree->centre;
    }
    int code = check(m, err);
    if (code < 0)
        return code;
    int32_t *set_of = trl__alloc(units, sizeof *set_of);
    t.first = trl__alloc_zero(units + 1, sizeof *t.first);
    t.units = trl__alloc(units, sizeof *t.units);
    t.phones = trl__alloc(units + 1, sizeof *t.phones);
    code = set_of && t.first && t.units && t.phones ? find_sets(m, set_of, &t.sets, err) : trl__fail_memory(err);
    if (code == 0)
        code = write_file(&t, set_of, path, err);
    trl__free(set_of);
    trl__free(t.first);
    trl__free(t.units);
    trl__free(t.phones);
    return code;
}
