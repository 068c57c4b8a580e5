/* A tree as sections of the model file:
 *
 *     tree        16 bytes: i32 width, centre, states, leaves
 *     tree_roots  i32 per unit and state: a node, or -1
 *     tree_nodes  16 bytes each: i32 position (-1: a leaf), set or tied state, yes, no
 *     set_names   each ended by a NUL
 *     sets        u64 words, units / 64 + 1 of them per set: bit u for unit u, the bit behind the last unit for none
 */
#include "model/tree_file.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

typedef struct file_tree {
    int32_t width, centre, states, leaves;
} file_tree;

_Static_assert(sizeof(file_tree) == 16 && sizeof(trl__tree_node) == 16, "the file's layout is the structs'");

/* ---- writing ---- */

static int write_sets(const trl__unit_sets *sets, trl__container_writer *writer, trl_error *err)
{
    int code = trl__container_begin(writer, "set_names", 0, err);
    for (int32_t i = 0; code == 0 && i < sets->count; i++)
        code = trl__container_write(writer, sets->names.texts[i], strlen(sets->names.texts[i]) + 1, err);
    size_t words = (size_t)sets->count * (size_t)sets->words;
    return code < 0 ? code : trl__container_add(writer, "sets", sets->bits, words * sizeof *sets->bits, err);
}

int trl__tree_write(const trl__tree *tree, trl__container_writer *writer, trl_error *err)
{
    const file_tree header = {tree->width, tree->centre, tree->states, tree->leaves};
    size_t roots = (size_t)tree->units * (size_t)tree->states;
    int code = trl__container_add(writer, "tree", &header, sizeof header, err);
    if (code == 0)
        code = trl__container_add(writer, "tree_roots", tree->root, roots * sizeof *tree->root, err);
    if (code == 0)
        code = trl__container_add(writer, "tree_nodes", tree->node, (size_t)tree->nodes * sizeof *tree->node, err);
    return code < 0 ? code : write_sets(&tree->sets, writer, err);
}

/* ---- reading ---- */

static int corrupt(const trl__container *file, const char *what, trl_error *err)
{
    return trl__fail(err, TRL_ECORRUPT, "%s: %s", trl__container_path(file), what);
}

static int read_header(const trl__container *file, size_t units, trl__tree **out, trl_error *err)
{
    const void *bytes;
    size_t count;
    int code = trl__container_array(file, "tree", sizeof(file_tree), &bytes, &count, err);
    if (code != 0)
        return code;
    const file_tree *header = bytes;
    if (count != 1 || header->states < 1 || units < 1 || units > (size_t)(INT32_MAX / header->states))
        return corrupt(file, "section 'tree' has a wrong size or impossible numbers", err);
    const void *roots;
    code = trl__container_array(file, "tree_roots", sizeof(int32_t), &roots, &count, err);
    if (code != 0)
        return code;
    if (count != units * (size_t)header->states)
        return corrupt(file, "the roots of the tree are not those of all units and states", err);
    code = trl__tree_create(header->width, header->centre, (int32_t)units, header->states, out, err);
    if (code < 0)
        return code;
    memcpy((*out)->root, roots, count * sizeof(int32_t));
    (*out)->leaves = header->leaves;
    return 0;
}

static int read_nodes(const trl__container *file, trl__tree *tree, trl_error *err)
{
    const void *nodes;
    size_t count;
    int code = trl__container_array(file, "tree_nodes", sizeof *tree->node, &nodes, &count, err);
    if (code != 0)
        return code;
    if (count < 1 || count > INT32_MAX)
        return corrupt(file, "the tree has no nodes, or too many", err);
    tree->node = trl__alloc(count, sizeof *tree->node);
    if (!tree->node)
        return trl__fail_memory(err);
    memcpy(tree->node, nodes, count * sizeof *tree->node);
    tree->nodes = (int32_t)count;
    return 0;
}

static int read_sets(const trl__container *file, trl__tree *tree, trl_error *err)
{
    const void *bits, *names;
    size_t count;
    uint64_t size;
    size_t words = (size_t)trl__unit_set_words(tree->units);
    int code = trl__container_array(file, "sets", words * sizeof(uint64_t), &bits, &count, err);
    if (code == 0)
        code = trl__container_section(file, "set_names", &names, &size, err);
    if (code != 0)
        return code;
    const char *name = names, *end = name + size;
    for (size_t i = 0; i < count; i++) {
        const char *stop = name < end ? memchr(name, '\0', (size_t)(end - name)) : NULL;
        if (!stop || trl__strings_find(&tree->sets.names, name, (size_t)(stop - name)) >= 0)
            return corrupt(file, "a set of units has no name, or another's", err);
        long number = trl__unit_sets_add(&tree->sets, name, (const uint64_t *)bits + i * words);
        if (number < 0)
            return trl__fail_memory(err);
        if ((size_t)number != i)
            return corrupt(file, "two sets of units are the same", err);
        name = stop + 1;
    }
    return name == end ? 0 : corrupt(file, "there are more names of sets than sets", err);
}

int trl__tree_read(const trl__container *file, size_t units, trl__tree **out, trl_error *err)
{
    *out = NULL;
    int code = read_header(file, units, out, err);
    if (code == 0)
        code = read_nodes(file, *out, err);
    if (code == 0)
        code = read_sets(file, *out, err);
    if (code < 0) {
        trl__tree_destroy(*out);
        *out = NULL;
    }
    return code;
}
