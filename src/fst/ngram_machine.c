/* N-gram models as acceptors.
 *
 * The n-grams are put into a trie, whose nodes are numbered as they come: (node of all words but the last, last
 * word) -> node. A node with children is a history that something follows, and becomes a state; the others are
 * passed over on the way to the longest history that is a state, their back-off weights added to the arc. So the
 * weight of a sentence along the arcs, taking back-off arcs only where no other fits, is the product that the ARPA
 * format defines (Katz 1987), also where a pruned model lacks prefixes or suffixes of its n-grams. O(n-grams) but
 * for the look-ups of shorter histories, which are at most the order's.
 */
#include "fst/ngram_machine.h"

#include "base/fail.h"
#include "base/memory.h"
#include "fst/fst_data.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROOT 0 /* the empty history */

typedef trl__ngrams builder;
typedef trl__ngram_node node;

#define FAIL(b, ...) trl__source_fail((b)->source, (b)->err, __VA_ARGS__)

/* ---- Begin ---- */

int trl__ngrams_begin(trl__ngrams *b, trl__source *source, const trl_arpa_options *options, trl_error *err)
{
    trl_arpa_options *o = &b->options;
    *b = (trl__ngrams){.source = source, .index = {.width = 2}, .err = err};
    *o = *options;
    o->bos = o->bos ? o->bos : "<s>";
    o->eos = o->eos ? o->eos : "</s>";
    if (o->words)
        trl_symbols_share(o->words);
    if (o->semiring != TRL_TROPICAL && o->semiring != TRL_LOG)
        return trl__fail(b->err, TRL_EINVAL, "a language model is tropical or log, not %s",
                         trl_semiring_name(o->semiring));
    if (o->backoff < 0)
        return trl__fail(b->err, TRL_EINVAL, "the label of back-off arcs is negative: %" PRId32, o->backoff);
    int code = 0;
    if (!o->words) {
        o->add_words = o->keep_words = 1;
        code = trl_symbols_create("words", &o->words, b->err);
        if (code == 0)
            code = trl_symbols_add(o->words, "<eps>", 0, b->err);
    }
    if (code == 0 && TRL_GROW(b->nodes, b->capacity, 1) < 0)
        code = trl__fail_memory(b->err);
    if (code == 0)
        b->nodes[b->count++] = (node){.parent = ROOT, .word = TRL__NGRAM_NONE, .state = TRL_NO_STATE};
    return code;
}

int trl__ngrams_word(const trl__ngrams *b, const char *text, int32_t *word)
{
    const trl_arpa_options *o = &b->options;
    *word = strcmp(text, o->eos) == 0 ? TRL__NGRAM_END : strcmp(text, o->bos) == 0 ? TRL__NGRAM_BEGIN : TRL__NGRAM_NONE;
    if (*word != TRL__NGRAM_NONE)
        return 0;
    int64_t label = trl_symbols_find(o->words, text);
    if (label == TRL_NO_LABEL && o->add_words)
        return trl_symbols_add_next(o->words, text, word, b->err);
    if (label == TRL_EPSILON)
        return FAIL(b, TRL_EFORMAT, "the word %s has the label 0, which is epsilon's", text);
    *word = label == TRL_NO_LABEL ? TRL__NGRAM_NONE : (int32_t)label;
    return 0;
}

/* ---- The trie ---- */

static int32_t find_node(const builder *b, int32_t parent, int32_t word)
{
    int32_t key[4] = {parent, word}; /* the table takes as many as its width says */
    int64_t tuple = trl__tuples_find(&b->index, key);
    return tuple < 0 ? -1 : (int32_t)tuple + 1;
}

/* The node, new or old: its number, or a negative code. */
static int32_t add_node(builder *b, int32_t parent, int32_t word)
{
    int32_t there = find_node(b, parent, word);
    if (there >= 0)
        return there;
    if (b->count == INT32_MAX)
        return FAIL(b, TRL_ELIMIT, "more than %d n-grams", INT32_MAX);
    int32_t key[4] = {parent, word};
    if (TRL_GROW(b->nodes, b->capacity, b->count + 1) < 0 || trl__tuples_add(&b->index, key) < 0)
        return trl__fail_memory(b->err);
    b->nodes[b->count] = (node){.parent = parent, .word = word, .state = TRL_NO_STATE};
    b->nodes[parent].has_children = 1;
    return (int32_t)b->count++;
}

int trl__ngrams_add(trl__ngrams *b, const int32_t *words, int count, float cost, float backoff)
{
    for (int i = 0; i < count; i++)
        if (words[i] == TRL__NGRAM_NONE || (words[i] == TRL__NGRAM_BEGIN && i > 0) ||
            (words[i] == TRL__NGRAM_END && i < count - 1)) {
            b->skipped++;
            return 0;
        }
    int32_t at = ROOT;
    for (int i = 0; i < count && at >= 0; i++)
        at = add_node(b, at, words[i]);
    if (at < 0)
        return (int)at;
    node *n = &b->nodes[at];
    if (n->has_cost)
        return FAIL(b, TRL_EFORMAT, "this n-gram is there twice");
    n->has_cost = 1;
    n->cost = cost;
    n->backoff = backoff;
    return 0;
}

/* ---- The machine ---- */

/* The longest proper suffixes of all nodes; a node's parent comes before it. */
static void find_suffixes(builder *b)
{
    for (size_t i = 1; i < b->count; i++) {
        node *n = &b->nodes[i];
        int32_t at = n->parent, found = -1;
        while (at != ROOT && found < 0) {
            at = b->nodes[at].suffix;
            found = find_node(b, at, n->word);
        }
        n->suffix = found < 0 ? ROOT : found;
    }
}

/* Where one is after these words: the longest suffix that is a state. *cost grows by the back-off weights on the
 * way. */
static int32_t resolve(const builder *b, int32_t at, float *cost)
{
    while (b->nodes[at].state == TRL_NO_STATE) {
        *cost += b->nodes[at].backoff;
        at = b->nodes[at].suffix;
    }
    return b->nodes[at].state;
}

/* A history that is not listed itself, though longer n-grams begin with it, is reached at the cost that backing off
 * gives its last word. */
static float cost_by_backing_off(const builder *b, const node *n)
{
    int32_t at = n->parent, found = -1;
    float cost = 0;
    while (at != ROOT && (found < 0 || !b->nodes[found].has_cost)) {
        cost += b->nodes[at].backoff;
        at = b->nodes[at].suffix;
        found = find_node(b, at, n->word);
    }
    return found >= 0 && b->nodes[found].has_cost ? cost + b->nodes[found].cost : INFINITY;
}

/* Sentences begin after <s>, which is a state of its own only where that makes a difference. */
static int make_states(builder *b, trl_fst *fst)
{
    int code = 0;
    int32_t begin = find_node(b, ROOT, TRL__NGRAM_BEGIN), start = ROOT;
    for (size_t i = 0; code == 0 && i < b->count; i++) {
        int is_start = (int32_t)i == begin && b->nodes[i].backoff != 0;
        if (b->nodes[i].has_children || i == ROOT || is_start)
            code = trl_fst_add_state(fst, &b->nodes[i].state, b->err);
    }
    if (begin >= 0 && b->nodes[begin].state != TRL_NO_STATE)
        start = begin;
    return code < 0 ? code : trl_fst_set_start(fst, b->nodes[start].state, b->err);
}

typedef struct child {
    int32_t word, node;
} child;

static int compare_words(const void *a, const void *b)
{
    int32_t x = ((const child *)a)->word, y = ((const child *)b)->word;
    return (x > y) - (x < y);
}

/* All nodes by parent, then word; the children of p are sorted[first[p]] up to first[p + 1]. */
static void sort_nodes(const builder *b, child *sorted, uint32_t *first)
{
    for (size_t i = 1; i < b->count; i++)
        first[b->nodes[i].parent + 1]++;
    for (size_t i = 0; i < b->count; i++)
        first[i + 1] += first[i];
    for (size_t i = 1; i < b->count; i++) /* first[p] runs to the end of p's children … */
        sorted[first[b->nodes[i].parent]++] = (child){b->nodes[i].word, (int32_t)i};
    memmove(first + 1, first, b->count * sizeof *first); /* … which is where the next one's begin */
    first[0] = 0;
    for (size_t i = 0; i < b->count; i++)
        qsort(sorted + first[i], first[i + 1] - first[i], sizeof *sorted, compare_words);
}

static int add_backoff(const builder *b, trl_fst *fst, const node *n)
{
    int32_t label = b->options.backoff;
    float cost = n->backoff;
    int32_t to = resolve(b, n->suffix, &cost);
    if (isinf(cost))
        return 0;
    return trl_fst_add_arc(fst, n->state, (trl_arc){label, label, {cost, 0}, to}, b->err);
}

/* The arcs of a history, sorted by label: words, and the back-off between them. */
static int add_arcs(const builder *b, trl_fst *fst, int32_t at, const child *children, uint32_t count)
{
    const node *n = &b->nodes[at];
    int pending = at != ROOT, code = 0;
    for (uint32_t i = 0; code == 0 && i < count; i++) {
        int32_t word = children[i].word;
        const node *child_node = &b->nodes[children[i].node];
        float cost = child_node->has_cost ? child_node->cost : cost_by_backing_off(b, child_node);
        if (isinf(cost) || word == TRL__NGRAM_BEGIN)
            continue;
        if (word == TRL__NGRAM_END) {
            code = trl_fst_set_final(fst, n->state, (trl_weight){cost, 0}, b->err);
            continue;
        }
        if (pending && word >= b->options.backoff) {
            code = add_backoff(b, fst, n);
            pending = 0;
        }
        int32_t to = resolve(b, children[i].node, &cost);
        if (code == 0 && !isinf(cost))
            code = trl_fst_add_arc(fst, n->state, (trl_arc){word, word, {cost, 0}, to}, b->err);
    }
    return code == 0 && pending ? add_backoff(b, fst, n) : code;
}

static int make_machine(builder *b, trl_fst *fst)
{
    child *sorted = trl__alloc(b->count, sizeof *sorted);
    uint32_t *first = trl__alloc_zero(b->count + 1, sizeof *first);
    int code = sorted && first ? make_states(b, fst) : trl__fail_memory(b->err);
    if (code == 0) {
        find_suffixes(b);
        sort_nodes(b, sorted, first);
    }
    for (size_t i = 0; code == 0 && i < b->count; i++)
        if (b->nodes[i].state != TRL_NO_STATE)
            code = add_arcs(b, fst, (int32_t)i, sorted + first[i], first[i + 1] - first[i]);
    trl__free(sorted);
    trl__free(first);
    return code;
}

/* ---- End ---- */

static int finish_machine(trl__ngrams *b, trl_fst **out)
{
    int code = trl_fst_create(b->options.semiring, out, b->err);
    if (code == 0)
        code = make_machine(b, *out);
    if (code == 0 && b->options.keep_words)
        trl_fst_set_symbols(*out, trl_symbols_share(b->options.words), trl_symbols_share(b->options.words));
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

int trl__ngrams_finish(trl__ngrams *b, int code, trl_fst **out, uint64_t *skipped)
{
    if (code == 0)
        code = finish_machine(b, out);
    if (skipped)
        *skipped = b->skipped;
    trl_symbols_destroy(b->options.words);
    trl__tuples_free(&b->index);
    trl__free(b->nodes);
    return code;
}
