/* Lists of phrases and loops over them. Phrases are put into a tree; each node knows the weight of all phrases through it and
 * of those that end there, and the arcs' probabilities are quotients of these. A phrase that is there twice adds to the same
 * nodes. O(words of the phrases), and the sorting of each node's arcs.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/tuple_table.h"
#include "base/byte_source.h"
#include "decode/grammar_data.h"

#include <math.h>
#include <string.h>
#include <trellis/fst_structure.h>

#define ROOT 0
#define END_WORD "</s>"

/* ---- What all grammars share ---- */

int trl__grammar_words(const trl_grammar_options *options, trl_symbols **words, trl_error *err)
{
    *words = trl_symbols_share(options->words);
    if (*words)
        return 0;
    int code = trl_symbols_create("words", words, err);
    return code < 0 ? code : trl_symbols_add(*words, "<eps>", TRL_EPSILON, err);
}

int trl__grammar_label(trl_symbols *words, int add, const char *text, int32_t *label, trl_error *err)
{
    int64_t found = trl_symbols_find(words, text);
    if (found == TRL_NO_LABEL && add)
        return trl_symbols_add_next(words, text, label, err);
    *label = found == TRL_EPSILON ? TRL_NO_LABEL : (int32_t)found; /* <eps> is no word */
    return 0;
}

int trl__grammar_finish(trl_fst **fst, trl_symbols *words, trl_error *err)
{
    int code = trl_fst_connect(*fst, err);
    if (code == 0)
        code = trl_fst_arcsort(*fst, TRL_SIDE_INPUT, err);
    if (code == 0)
        trl_fst_set_symbols(*fst, trl_symbols_share(words), trl_symbols_share(words));
    if (code < 0) {
        trl_fst_destroy(*fst);
        *fst = NULL;
    }
    return code;
}

/* ---- The tree ---- */

typedef struct node {
    double through, ends; /* weights of phrases */
    int32_t parent, label;
    int32_t state;
    int has_children;
} node;

typedef struct tree {
    trl_symbols *words;
    int add_words;
    trl__tuples index; /* (parent, label): node - 1 */
    node *nodes;
    size_t count, capacity;
    int32_t *path; /* nodes of the phrase in hand */
    size_t path_length, path_capacity;
    double end; /* weight of a loop's end */
} tree;

static int begin_tree(tree *t, const trl_grammar_options *options, trl_error *err)
{
    static const trl_grammar_options defaults;
    options = options ? options : &defaults;
    *t = (tree){.add_words = options->add_words || !options->words, .index = {.width = 2}, .end = 1};
    int code = trl__grammar_words(options, &t->words, err);
    if (code == 0 && TRL_GROW(t->nodes, t->capacity, 1) < 0)
        code = trl__fail_memory(err);
    if (code == 0)
        t->nodes[t->count++] = (node){.parent = -1};
    return code;
}

static void free_tree(tree *t)
{
    trl_symbols_destroy(t->words);
    trl__tuples_free(&t->index);
    trl__free(t->nodes);
    trl__free(t->path);
}

/* One more word of the phrase in hand. */
static int add_word(tree *t, int32_t label, trl_error *err)
{
    int32_t parent = t->path_length ? t->path[t->path_length - 1] : ROOT;
    int32_t key[4] = {parent, label};
    int64_t at = trl__tuples_add(&t->index, key) + 1;
    if (at < 1 || TRL_GROW(t->path, t->path_capacity, t->path_length + 1) < 0 ||
        TRL_GROW(t->nodes, t->capacity, t->count + 1) < 0)
        return trl__fail_memory(err);
    if ((size_t)at == t->count)
        t->nodes[t->count++] = (node){.parent = parent, .label = label};
    t->path[t->path_length++] = (int32_t)at;
    return 0;
}

static void end_phrase(tree *t, double weight)
{
    t->nodes[ROOT].through += weight;
    for (size_t i = 0; i < t->path_length; i++)
        t->nodes[t->path[i]].through += weight;
    t->nodes[t->path[t->path_length - 1]].ends += weight;
    t->path_length = 0;
}

/* ---- The machine ---- */

static trl_weight cost_of(double part, double whole)
{
    return (trl_weight){(float)(log(whole) - log(part)), 0};
}

/* Nodes that are used and have children are states. */
static int make_states(tree *t, trl_fst *fst, trl_error *err)
{
    int code = 0;
    for (size_t i = 1; i < t->count; i++)
        if (t->nodes[i].through > 0)
            t->nodes[t->nodes[i].parent].has_children = 1;
    for (size_t i = 0; code == 0 && i < t->count; i++)
        if (t->nodes[i].has_children || i == ROOT)
            code = trl_fst_add_state(fst, &t->nodes[i].state, err);
    return code < 0 ? code : trl_fst_set_start(fst, t->nodes[ROOT].state, err);
}

/* Phrases end in the state `end`: a last one, or where the loop began. */
static int make_arcs(const tree *t, int loop, trl_fst *fst, double all, int32_t end, trl_error *err)
{
    int code = 0;
    for (size_t i = 1; code == 0 && i < t->count; i++) {
        const node *n = &t->nodes[i], *parent = &t->nodes[n->parent];
        if (n->through <= 0)
            continue;
        double whole = n->parent == ROOT ? all : parent->through;
        trl_arc arc = {n->label, n->label, cost_of(n->through, whole), n->has_children ? n->state : end};
        code = trl_fst_add_arc(fst, parent->state, arc, err);
        if (code < 0 || !n->has_children || n->ends <= 0)
            continue;
        trl_weight cost = cost_of(n->ends, n->through);
        code = loop ? trl_fst_add_arc(fst, n->state, (trl_arc){0, 0, cost, end}, err)
                    : trl_fst_set_final(fst, n->state, cost, err);
    }
    return code;
}

static int make_machine(tree *t, int loop, trl_fst **out, trl_error *err)
{
    double all = t->nodes[ROOT].through + (loop ? t->end : 0);
    int32_t end = 0;
    int code = trl_fst_create(TRL_TROPICAL, out, err);
    if (code == 0)
        code = make_states(t, *out, err);
    if (code == 0 && loop)
        code = trl_fst_set_final(*out, end, cost_of(t->end, all), err);
    else if (code == 0 && (code = trl_fst_add_state(*out, &end, err)) == 0)
        code = trl_fst_set_final(*out, end, trl_weight_one(TRL_TROPICAL), err);
    if (code == 0)
        code = make_arcs(t, loop, *out, all, end, err);
    if (code == 0)
        return trl__grammar_finish(out, t->words, err);
    trl_fst_destroy(*out);
    *out = NULL;
    return code;
}

/* ---- Files ---- */

/* "/2.5/": 1 and the weight; 0: it is a word; or an error. */
static int parse_weight(const trl__source *source, char *field, double *weight, trl_error *err)
{
    size_t length = strlen(field);
    if (length < 3 || field[0] != '/' || field[length - 1] != '/')
        return 0;
    field[length - 1] = '\0';
    if (trl__parse_double(field + 1, weight) < 0 || *weight < 0 || *weight > 1e30)
        return trl__source_fail(source, err, TRL_EFORMAT, "%s/ is no weight; one is a number that is not negative",
                                field);
    return 1;
}

static int read_phrase(tree *t, const trl__source *source, char *line, int loop, trl_error *err)
{
    char *field = trl__next_field(&line);
    double weight = 1;
    int code = field ? parse_weight(source, field, &weight, err) : 0;
    if (!field || code < 0)
        return code;
    if (code > 0 && !(field = trl__next_field(&line)))
        return trl__source_fail(source, err, TRL_EFORMAT, "a weight without words");
    if (loop && strcmp(field, END_WORD) == 0 && !trl__next_field(&line)) {
        t->end = weight;
        return 0;
    }
    for (code = 0; code == 0 && field; field = trl__next_field(&line)) {
        int32_t label;
        if (strcmp(field, END_WORD) == 0 || strcmp(field, "<s>") == 0)
            return trl__source_fail(source, err, TRL_EFORMAT, "%s in a phrase", field);
        code = trl__grammar_label(t->words, t->add_words, field, &label, err);
        if (code == 0 && label == TRL_NO_LABEL)
            return trl__source_fail(source, err, TRL_EFORMAT, "unknown word \"%s\"", field);
        if (code == 0)
            code = add_word(t, label, err);
    }
    if (code == 0)
        end_phrase(t, weight);
    return code;
}

static int read_phrases(const char *path, const trl_grammar_options *options, int loop, trl_fst **out, trl_error *err)
{
    trl__source source;
    tree t;
    char *line;
    size_t length;
    int code, more;
    *out = NULL;
    code = trl__source_open_packed(path, &source, err);
    if (code < 0)
        return code;
    code = begin_tree(&t, options, err);
    while (code == 0 && (more = trl__source_line(&source, &line, &length, err)) != 0)
        code = more < 0 ? more : read_phrase(&t, &source, line, loop, err);
    if (code == 0 && t.nodes[ROOT].through <= 0)
        code = trl__fail(err, TRL_EFORMAT, "%s: no phrases; there must be one on each line", path);
    if (code == 0 && loop && t.end <= 0)
        code = trl__fail(err, TRL_EFORMAT, "%s: the weight of " END_WORD " is 0, so that no sentence ends", path);
    if (code == 0)
        code = make_machine(&t, loop, out, err);
    free_tree(&t);
    trl__source_close(&source);
    return code;
}

int trl_grammar_read_list(const char *path, const trl_grammar_options *options, trl_fst **out, trl_error *err)
{
    return read_phrases(path, options, 0, out, err);
}

int trl_grammar_read_loop(const char *path, const trl_grammar_options *options, trl_fst **out, trl_error *err)
{
    return read_phrases(path, options, 1, out, err);
}

int trl_grammar_word_loop(const char *const *words, size_t count, const trl_grammar_options *options, trl_fst **out,
                          trl_error *err)
{
    tree t;
    *out = NULL;
    if (count == 0)
        return trl__fail(err, TRL_EINVAL, "a loop over no words");
    int code = begin_tree(&t, options, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        int32_t label;
        code = trl__grammar_label(t.words, t.add_words, words[i], &label, err);
        if (code == 0 && label == TRL_NO_LABEL)
            code = trl__fail(err, TRL_EFORMAT, "unknown word \"%s\"", words[i]);
        if (code == 0)
            code = add_word(&t, label, err);
        if (code == 0)
            end_phrase(&t, 1);
    }
    if (code == 0)
        code = make_machine(&t, 1, out, err);
    free_tree(&t);
    return code;
}
