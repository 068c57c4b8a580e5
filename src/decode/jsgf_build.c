/* The machine of a JSGF grammar: each part of the tree becomes paths from one state to another, and rules are put in where
 * they are used. Nothing but a part itself leads into the state it begins at, so parts do not disturb each other. A rule that
 * is in hand already is at its end when the one in hand is, if both lead to the same state: then an epsilon leads back to
 * where that one began (right recursion). Any other recursion would need a stack, and is refused. The machine's size is that
 * of the grammar with all rules put in, which is limited.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/grammar_data.h"

#include <math.h>
#include <string.h>

#define MOST_STATES ((int32_t)1 << 24)
#define HALF 0.69314718055994530942 /* cost of probability 1/2 */
#define NONE (-1)

/* A rule that is being put in. */
typedef struct open_rule {
    int32_t rule, start, end;
} open_rule;

typedef struct builder {
    const trl__jsgf *grammar;
    trl_fst *fst;
    int32_t most_states;
    int depth;
    open_rule *open;
    size_t count, capacity;
    trl_error *err;
} builder;

static int fail_at(const builder *b, const trl__jsgf_node *n, int code, const char *before, const char *rule,
                   const char *behind)
{
    return trl__fail(b->err, code, "%s:%d:%d: %s%s%s", b->grammar->name, (int)n->line, (int)n->column, before, rule,
                     behind);
}

static int new_state(builder *b, const trl__jsgf_node *n, int32_t *state)
{
    if (trl_fst_states(b->fst) < b->most_states)
        return trl_fst_add_state(b->fst, state, b->err);
    return fail_at(b, n, TRL_ELIMIT, "the grammar is too large with all rules put in; the limit is reached here", "",
                   "");
}

static int add_arc(builder *b, int32_t from, int32_t label, double cost, int32_t to)
{
    return trl_fst_add_arc(b->fst, from, (trl_arc){label, label, {(float)cost, 0}, to}, b->err);
}

/* Paths of a node from one state to another; `cost` is on each of them. */
static int put_node(builder *b, int32_t node, int32_t from, int32_t to, double cost);

static int put_sequence(builder *b, const trl__jsgf_node *n, int32_t from, int32_t to, double cost)
{
    int code = 0;
    for (int32_t child = n->child; code == 0 && child != NONE; child = b->grammar->nodes[child].next) {
        int32_t next = to;
        if (b->grammar->nodes[child].next != NONE)
            code = new_state(b, n, &next);
        if (code == 0)
            code = put_node(b, child, from, next, cost);
        from = next;
        cost = 0;
    }
    return code;
}

static int put_choice(builder *b, const trl__jsgf_node *n, int32_t from, int32_t to, double cost)
{
    double all = 0;
    int code = 0;
    for (int32_t child = n->child; child != NONE; child = b->grammar->nodes[child].next)
        all += b->grammar->nodes[child].weight;
    for (int32_t child = n->child; code == 0 && child != NONE; child = b->grammar->nodes[child].next) {
        double weight = b->grammar->nodes[child].weight;
        if (weight > 0)
            code = put_node(b, child, from, to, cost + log(all) - log(weight));
    }
    return code;
}

/* Before each round it is decided whether there is one. */
static int put_star(builder *b, const trl__jsgf_node *n, int32_t from, int32_t to, double cost)
{
    int32_t loop;
    int code = new_state(b, n, &loop);
    if (code == 0)
        code = add_arc(b, from, TRL_EPSILON, cost, loop);
    if (code == 0)
        code = add_arc(b, loop, TRL_EPSILON, HALF, to);
    return code < 0 ? code : put_node(b, n->child, loop, loop, HALF);
}

/* After each round it is decided whether there is another. */
static int put_plus(builder *b, const trl__jsgf_node *n, int32_t from, int32_t to, double cost)
{
    int32_t begin, end;
    int code = new_state(b, n, &begin);
    if (code == 0)
        code = new_state(b, n, &end);
    if (code == 0)
        code = add_arc(b, from, TRL_EPSILON, cost, begin);
    if (code == 0)
        code = add_arc(b, end, TRL_EPSILON, HALF, begin);
    if (code == 0)
        code = add_arc(b, end, TRL_EPSILON, HALF, to);
    return code < 0 ? code : put_node(b, n->child, begin, end, 0);
}

static int put_rule(builder *b, const trl__jsgf_node *n, int32_t from, int32_t to, double cost)
{
    const char *name = b->grammar->names.texts[n->value];
    int32_t node = b->grammar->rules[n->value].node, start;
    if (node == NONE)
        return fail_at(b, n, TRL_EFORMAT, "the rule <", name, "> is not defined");
    for (size_t i = 0; i < b->count; i++) {
        if (b->open[i].rule != n->value)
            continue;
        if (b->open[i].end == to)
            return add_arc(b, from, TRL_EPSILON, cost, b->open[i].start);
        return fail_at(b, n, TRL_EFORMAT, "<", name,
                       "> contains itself, and not as the last thing of an alternative: that is no finite grammar");
    }
    int code = new_state(b, n, &start);
    if (code == 0 && TRL_GROW(b->open, b->capacity, b->count + 1) < 0)
        code = trl__fail_memory(b->err);
    if (code == 0)
        code = add_arc(b, from, TRL_EPSILON, cost, start);
    if (code < 0)
        return code;
    b->open[b->count++] = (open_rule){n->value, start, to};
    code = put_node(b, node, start, to, 0);
    b->count--;
    return code;
}

static int put_kind(builder *b, const trl__jsgf_node *n, int32_t from, int32_t to, double cost)
{
    int code;
    switch (n->kind) {
    case TRL__JSGF_WORD: return add_arc(b, from, n->value, cost, to);
    case TRL__JSGF_NULL: return add_arc(b, from, TRL_EPSILON, cost, to);
    case TRL__JSGF_VOID: return 0;
    case TRL__JSGF_RULE: return put_rule(b, n, from, to, cost);
    case TRL__JSGF_SEQUENCE: return put_sequence(b, n, from, to, cost);
    case TRL__JSGF_CHOICE: return put_choice(b, n, from, to, cost);
    case TRL__JSGF_STAR: return put_star(b, n, from, to, cost);
    case TRL__JSGF_PLUS: return put_plus(b, n, from, to, cost);
    case TRL__JSGF_OPTIONAL:
        code = add_arc(b, from, TRL_EPSILON, cost + HALF, to);
        return code < 0 ? code : put_node(b, n->child, from, to, cost + HALF);
    }
    return 0;
}

/* A rule or a bracket takes up to three nodes, one in the other. */
static int put_node(builder *b, int32_t node, int32_t from, int32_t to, double cost)
{
    const trl__jsgf_node *n = &b->grammar->nodes[node];
    if (b->depth == 3 * TRL__JSGF_DEEPEST)
        return fail_at(b, n, TRL_ELIMIT, "rules and brackets are too deep in each other", "", "");
    b->depth++;
    int code = put_kind(b, n, from, to, cost);
    b->depth--;
    return code;
}

/* ---- The rules to begin with ---- */

static int is_meant(const trl__jsgf *g, size_t rule, const char *wanted)
{
    const char *name = g->names.texts[rule];
    size_t length = strlen(name);
    if (g->rules[rule].node == NONE)
        return 0;
    if (!wanted)
        return g->rules[rule].is_public;
    return strcmp(name, wanted) == 0 ||
           (wanted[0] == '<' && strncmp(name, wanted + 1, length) == 0 && strcmp(wanted + 1 + length, ">") == 0);
}

static int put_all(builder *b, const char *wanted)
{
    const trl__jsgf *g = b->grammar;
    int32_t start, end, meant = 0;
    for (size_t i = 0; i < g->names.count; i++)
        meant += is_meant(g, i, wanted);
    if (meant == 0 && wanted)
        return trl__fail(b->err, TRL_ENOENT, "%s: there is no rule %s", g->name, wanted);
    if (meant == 0)
        return trl__fail(b->err, TRL_EFORMAT, "%s: none of the rules is public, and none was asked for", g->name);
    int code = trl_fst_add_state(b->fst, &start, b->err);
    if (code == 0)
        code = trl_fst_add_state(b->fst, &end, b->err);
    if (code == 0)
        code = trl_fst_set_start(b->fst, start, b->err);
    if (code == 0)
        code = trl_fst_set_final(b->fst, end, trl_weight_one(TRL_TROPICAL), b->err);
    for (size_t i = 0; code == 0 && i < g->names.count; i++) {
        trl__jsgf_node use = {.kind = TRL__JSGF_RULE, .value = (int32_t)i};
        if (is_meant(g, i, wanted))
            code = put_rule(b, &use, start, end, log(meant));
    }
    return code;
}

static int build(const trl__jsgf *grammar, const char *rule, const trl_grammar_options *options, trl_symbols *words,
                 trl_fst **out, trl_error *err)
{
    builder b = {
        .grammar = grammar, .most_states = options->most_states > 0 ? options->most_states : MOST_STATES, .err = err};
    int code = trl_fst_create(TRL_TROPICAL, &b.fst, err);
    if (code == 0)
        code = put_all(&b, rule);
    trl__free(b.open);
    if (code < 0) {
        trl_fst_destroy(b.fst);
        return code;
    }
    code = trl__grammar_finish(&b.fst, words, err);
    if (code == 0 && trl_fst_start(b.fst) == TRL_NO_STATE) {
        trl_fst_destroy(b.fst);
        return trl__fail(err, TRL_EFORMAT, "%s: the grammar has no sentence: there is no way to an end", grammar->name);
    }
    *out = b.fst;
    return code;
}

int trl__grammar_jsgf(const char *name, const trl__text *text, const char *rule, const trl_grammar_options *options,
                      trl_fst **out, trl_error *err)
{
    static const trl_grammar_options defaults;
    trl_symbols *words;
    trl__jsgf grammar;
    *out = NULL;
    options = options ? options : &defaults;
    int code = trl__grammar_words(options, &words, err);
    if (code == 0) {
        code = trl__jsgf_parse(name, text, words, options->add_words || !options->words, &grammar, err);
        if (code == 0)
            code = build(&grammar, rule, options, words, out, err);
        trl__jsgf_free(&grammar);
    }
    trl_symbols_destroy(words);
    return code;
}

int trl_grammar_read_jsgf(const char *path, const char *rule, const trl_grammar_options *options, trl_fst **out,
                          trl_error *err)
{
    trl__text text;
    *out = NULL;
    int code = trl__text_read(path, &text, err);
    if (code < 0)
        return code;
    code = trl__grammar_jsgf(path, &text, rule, options, out, err);
    trl__text_free(&text);
    return code;
}
