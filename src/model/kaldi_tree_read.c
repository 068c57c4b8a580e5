/* Reads Kaldi's tree, binary or text, which chooses pdf-ids by the phones of a window and the pdf class (here: the
 * state).
 *
 *     ContextDependency N P ToPdf MAP EndContextDependency
 *     MAP: CE pdf | SE key [ values ] { MAP MAP } | TE key size ( MAP … ) | NULL
 *
 * Key -1 is the pdf class, keys 0 … N - 1 are places in the window, P is the phone itself. SE asks whether the value
 * is in a set, TE has a map for every value. Phones count from 1; 0 is beyond the utterance.
 *
 * Our tree has a root for every unit and state. It is the map that is reached by answering what Kaldi asks first,
 * about the phone and the pdf class; units that come to the same map share it. Below, questions about the pdf class
 * are answered, a table becomes a balanced tree of questions, and what a table has no map for goes with the phone
 * before it.
 */
#include "model/kaldi_model.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_PDF_CLASS = -1, MOST_DEPTH = TRL__DEEPEST_TREE + 64 };

typedef enum map_kind { CONSTANT, QUESTION, TABLE, NONE } map_kind;

typedef struct event_map {
    map_kind kind;
    int32_t key;         /* of a constant: the pdf-id */
    size_t first, count; /* of a question: its values */
    int32_t child, next; /* its first child, its parent's next; -1: none. A question's: yes, no */
    uint8_t asks_class;  /* it, or one below it, asks about the pdf class */
    int32_t node, state; /* the root that was made of it, and for which state; -1: none */
} event_map;

typedef struct reader {
    trl__kaldi_in in;
    const trl_model *model;
    trl__tree *tree;
    size_t node_capacity;
    event_map *maps;
    size_t count, capacity;
    int32_t *values; /* of all questions */
    size_t value_count, value_capacity;
    uint64_t *bits; /* of the set in hand */
} reader;

static int fail(reader *r, int code, const char *what)
{
    return trl__source_fail(r->in.source, r->in.err, code, "%s", what);
}

/* ---- Maps as they are in the file ---- */

static int read_map(reader *r, int depth, int32_t *out);

static int read_values(reader *r, event_map *map)
{
    int32_t *values;
    size_t count;
    int code = trl__kaldi_ints(&r->in, &values, &count);
    if (code < 0)
        return code;
    map->first = r->value_count;
    map->count = count;
    if (TRL_GROW(r->values, r->value_capacity, r->value_count + count + 1) < 0)
        code = trl__fail_memory(r->in.err);
    else if (count > 0)
        memcpy(r->values + r->value_count, values, count * sizeof *values);
    r->value_count += count;
    trl__free(values);
    return code;
}

/* `count` maps between two marks; maps may move meanwhile. */
static int read_children(reader *r, int32_t parent, uint32_t count, const char *begin, const char *end, int depth)
{
    int32_t last = -1, child = -1;
    int code = trl__kaldi_expect(&r->in, begin);
    for (uint32_t i = 0; code == 0 && i < count; i++, last = child) {
        code = read_map(r, depth + 1, &child);
        if (code < 0)
            return code;
        *(last < 0 ? &r->maps[parent].child : &r->maps[last].next) = child;
        r->maps[parent].asks_class |= r->maps[child].asks_class;
    }
    return code < 0 ? code : trl__kaldi_expect(&r->in, end);
}

static int read_key(reader *r, event_map *map)
{
    int code = trl__kaldi_int(&r->in, &map->key);
    if (code == 0 && (map->key < KEY_PDF_CLASS || map->key >= r->tree->width))
        return fail(r, TRL_EFORMAT, "a question about a place that the window does not have");
    map->asks_class = map->key == KEY_PDF_CLASS;
    return code;
}

static int read_head(reader *r, event_map *map, uint32_t *children)
{
    char token[TRL__KALDI_TOKEN];
    int code = trl__kaldi_token(&r->in, token);
    if (code < 0)
        return code;
    if (strcmp(token, "CE") == 0) {
        map->kind = CONSTANT;
        code = trl__kaldi_int(&r->in, &map->key);
        if (code == 0 && (map->key < 0 || map->key >= r->model->tied_states))
            return fail(r, TRL_EFORMAT, "a pdf-id that the model does not have");
    } else if (strcmp(token, "SE") == 0) {
        map->kind = QUESTION;
        *children = 2;
        code = read_key(r, map);
        if (code == 0)
            code = read_values(r, map);
    } else if (strcmp(token, "TE") == 0) {
        map->kind = TABLE;
        code = read_key(r, map);
        if (code == 0)
            code = trl__kaldi_unsigned(&r->in, children);
    } else if (strcmp(token, "NULL") != 0) {
        return trl__source_fail(r->in.source, r->in.err, TRL_EFORMAT, "expected CE, SE, TE or NULL, found %s", token);
    }
    return code;
}

static int read_map(reader *r, int depth, int32_t *out)
{
    event_map map = {.kind = NONE, .child = -1, .next = -1, .node = -1, .state = -1};
    uint32_t children = 0;
    if (depth > MOST_DEPTH)
        return fail(r, TRL_ELIMIT, "a tree that is deeper than can be read");
    int code = read_head(r, &map, &children);
    if (code < 0)
        return code;
    if (r->count >= INT32_MAX || TRL_GROW(r->maps, r->capacity, r->count + 1) < 0)
        return trl__fail_memory(r->in.err);
    *out = (int32_t)r->count;
    r->maps[r->count++] = map;
    if (map.kind == QUESTION)
        return read_children(r, *out, children, "{", "}", depth);
    return map.kind == TABLE ? read_children(r, *out, children, "(", ")", depth) : 0;
}

/* ---- Answers ---- */

/* The child of a map for a value of its key; -1: there is none. */
static int32_t answer(const reader *r, int32_t map, int32_t value)
{
    const event_map *m = &r->maps[map];
    int32_t child = m->child, steps = value;
    if (m->kind == QUESTION) {
        steps = 1;
        for (size_t i = 0; i < m->count; i++)
            if (r->values[m->first + i] == value)
                steps = 0;
    }
    for (; child >= 0 && steps > 0; steps--)
        child = r->maps[child].next;
    return child;
}

static int asks(const reader *r, int32_t map, int32_t key)
{
    return map >= 0 && (r->maps[map].kind == QUESTION || r->maps[map].kind == TABLE) && r->maps[map].key == key;
}

/* The map itself, or what it has for this pdf class; -1: nothing. */
static int32_t resolve(const reader *r, int32_t map, int32_t state)
{
    while (asks(r, map, KEY_PDF_CLASS))
        map = answer(r, map, state);
    return map >= 0 && r->maps[map].kind == NONE ? -1 : map;
}

/* ---- Our tree ---- */

static int convert(reader *r, int32_t map, int32_t state, int32_t *out);

/* Children come behind their parents: a node is added before them and filled behind them. */
static int add_node(reader *r, trl__tree_node node, int32_t *out)
{
    trl__tree *t = r->tree;
    if (t->nodes == INT32_MAX || TRL_GROW(t->node, r->node_capacity, (size_t)t->nodes + 1) < 0)
        return trl__fail_memory(r->in.err);
    *out = t->nodes;
    t->node[t->nodes++] = node;
    return 0;
}

static void clear_set(reader *r)
{
    memset(r->bits, 0, (size_t)trl__unit_set_words(r->tree->units) * sizeof *r->bits);
}

/* Phone 0 is the bit behind the last unit's; numbers above the phones' are disambiguation symbols. */
static void put_phone(reader *r, int32_t phone)
{
    int32_t units = r->tree->units, bit = phone == 0 ? units : phone - 1;
    if (phone >= 0 && bit <= units && (phone == 0 || bit < units))
        r->bits[bit / 64] |= (uint64_t)1 << bit % 64;
}

/* Makes the last node but those below it ask whether the phone at `position` is in the set in hand; or a leaf of it,
 * if the answer makes no difference: for this state, Kaldi's tree would have asked for nothing. */
static int ask(reader *r, int32_t node, int32_t position, int32_t yes, int32_t no)
{
    trl__tree *t = r->tree;
    if (t->node[yes].position == TRL__LEAF && t->node[no].position == TRL__LEAF &&
        t->node[yes].value == t->node[no].value) {
        t->node[node] = t->node[yes];
        t->nodes = node + 1;
        return 0;
    }
    char *name = trl__unit_set_name(&r->model->units, r->model->word_positions, r->bits);
    int set = name ? trl__unit_sets_add(&t->sets, name, r->bits) : -1;
    trl__free(name);
    t->node[node] = (trl__tree_node){.position = position, .value = set, .yes = yes, .no = no};
    return set < 0 ? trl__fail_memory(r->in.err) : 0;
}

static int convert_question(reader *r, int32_t map, int32_t state, int32_t *out)
{
    const event_map m = r->maps[map];
    int32_t yes = resolve(r, m.child, state), no = resolve(r, r->maps[m.child].next, state);
    if (yes < 0 || no < 0)
        return convert(r, yes < 0 ? no : yes, state, out);
    int code = add_node(r, (trl__tree_node){0}, out);
    if (code == 0)
        code = convert(r, yes, state, &yes);
    if (code == 0)
        code = convert(r, no, state, &no);
    if (code < 0)
        return code;
    clear_set(r);
    for (size_t i = 0; i < m.count; i++)
        put_phone(r, r->values[m.first + i]);
    return ask(r, *out, m.key, yes, no);
}

/* An entry of a table that has a map, and the first phone of those that go there. */
typedef struct entry {
    int32_t map, phone;
} entry;

/* Entries [begin, end) as a balanced tree. */
static int convert_entries(reader *r, int32_t position, const entry *entries, size_t begin, size_t end, int32_t state,
                           int32_t *out)
{
    if (end - begin == 1)
        return convert(r, entries[begin].map, state, out);
    size_t middle = begin + (end - begin) / 2;
    int32_t yes = -1, no = -1;
    int code = add_node(r, (trl__tree_node){0}, out);
    if (code == 0)
        code = convert_entries(r, position, entries, begin, middle, state, &yes);
    if (code == 0)
        code = convert_entries(r, position, entries, middle, end, state, &no);
    if (code < 0)
        return code;
    clear_set(r);
    for (int32_t phone = entries[begin].phone; phone < entries[middle].phone; phone++)
        put_phone(r, phone);
    return ask(r, *out, position, yes, no);
}

static int convert_table(reader *r, int32_t map, int32_t state, int32_t *out)
{
    size_t count = 0;
    entry *entries = trl__alloc((size_t)r->tree->units + 1, sizeof *entries);
    if (!entries)
        return trl__fail_memory(r->in.err);
    int32_t child = r->maps[map].child;
    for (int32_t phone = 0; child >= 0 && phone <= r->tree->units; phone++, child = r->maps[child].next) {
        int32_t resolved = resolve(r, child, state);
        if (resolved >= 0) {
            entries[count] = (entry){resolved, count == 0 ? 0 : phone};
            count++;
        }
    }
    int code = count > 0 ? convert_entries(r, r->maps[map].key, entries, 0, count, state, out)
                         : fail(r, TRL_EFORMAT, "a table without a map for any phone");
    trl__free(entries);
    return code;
}

static int convert(reader *r, int32_t map, int32_t state, int32_t *out)
{
    *out = -1;
    if (map < 0)
        return fail(r, TRL_EFORMAT, "a question that leads nowhere");
    if (r->maps[map].kind == CONSTANT)
        return add_node(r, (trl__tree_node){.position = TRL__LEAF, .value = r->maps[map].key, .yes = -1, .no = -1},
                        out);
    return r->maps[map].kind == QUESTION ? convert_question(r, map, state, out) : convert_table(r, map, state, out);
}

/* ---- Roots ---- */

/* Where the tree begins for a unit's state. What comes behind the question about the pdf class is no root's choice
 * any more but a split, even if it asks about the phone itself. */
static int32_t find_root(const reader *r, int32_t unit, int32_t state)
{
    int32_t map = 0, classed = 0;
    for (;;) {
        if (asks(r, map, KEY_PDF_CLASS)) {
            map = answer(r, map, state);
            classed = 1;
        } else if (!classed && asks(r, map, r->tree->centre)) {
            map = answer(r, map, unit + 1);
        } else {
            return resolve(r, map, state);
        }
    }
}

static int make_root(reader *r, int32_t unit, int32_t state)
{
    int32_t map = find_root(r, unit, state), node = -1, code = 0;
    if (map < 0)
        return trl__source_fail(r->in.source, r->in.err, TRL_EFORMAT,
                                "the tree knows nothing of phone %s, state %" PRId32, r->model->units.texts[unit],
                                state);
    int known = r->maps[map].node >= 0 && (!r->maps[map].asks_class || r->maps[map].state == state);
    if (!known) {
        code = convert(r, map, state, &node);
        r->maps[map].node = node;
        r->maps[map].state = state;
    }
    r->tree->root[unit * r->tree->states + state] = r->maps[map].node;
    return code;
}

static int make_roots(reader *r)
{
    int code = 0;
    for (int32_t s = 0; s < r->tree->states; s++)
        for (int32_t u = 0; code == 0 && u < r->tree->units; u++)
            if (s < trl__unit_topology(r->model, u)->states)
                code = make_root(r, u, s);
    return code;
}

/* ---- The file ---- */

static int read_file(reader *r)
{
    int32_t width = 0, centre = 0, root, states = 0;
    int code = trl__kaldi_expect(&r->in, "ContextDependency");
    if (code == 0)
        code = trl__kaldi_int(&r->in, &width);
    if (code == 0)
        code = trl__kaldi_int(&r->in, &centre);
    if (code == 0 && (width < 1 || width > TRL__WIDEST_CONTEXT || centre < 0 || centre >= width))
        return fail(r, TRL_EUNSUPPORTED, "a window of no phones, of too many, or without the phone itself");
    for (int32_t t = 0; t < r->model->topologies; t++)
        states = r->model->topology[t].states > states ? r->model->topology[t].states : states;
    if (code == 0)
        code = trl__tree_create(width, centre, (int32_t)r->model->units.count, states, &r->tree, r->in.err);
    if (code == 0)
        code = trl__kaldi_expect(&r->in, "ToPdf");
    if (code == 0)
        code = read_map(r, 0, &root);
    if (code == 0)
        code = trl__kaldi_expect(&r->in, "EndContextDependency");
    if (code == 0)
        code = trl__kaldi_end(&r->in);
    if (code < 0)
        return code;
    r->tree->leaves = r->model->tied_states;
    r->bits = trl__alloc((size_t)trl__unit_set_words(r->tree->units), sizeof *r->bits);
    return r->bits ? make_roots(r) : trl__fail_memory(r->in.err);
}

int trl__kaldi_tree_read(trl__source *source, const trl_model *model, trl__tree **out, trl_error *err)
{
    reader r = {.model = model};
    int code = trl__kaldi_begin(&r.in, source, err);
    if (code == 0)
        code = read_file(&r);
    if (code == 0)
        code = trl__tree_check(r.tree, source->name, err);
    trl__free(r.maps);
    trl__free(r.values);
    trl__free(r.bits);
    if (code < 0)
        trl__tree_destroy(r.tree);
    else
        *out = r.tree;
    return code;
}
