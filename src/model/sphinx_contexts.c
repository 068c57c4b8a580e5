/* From Sphinx's list of triphones to a tree that gives every context its tied states.
 *
 * Sphinx looks for the triphone itself; then at other places in the word; then, where a neighbour belongs to another word, with
 * silence for it; at last it takes the phone without context. Fillers count as silence. We do that once for each pair of
 * neighbours. Then each unit's state has a table, neighbours by neighbours, of tied states, and the tree asks first for
 * the left neighbour, among classes of those whose rows are the same, then for the right one: halves of the classes at each node, so that
 * a leaf is as many questions away as the logarithm of their number. Beyond the utterance is silence, unless both
 * neighbours are missing: then there is no context.
 *
 * O(units x neighbours²) look-ups.
 */
#include "model/sphinx_model.h"

#include "base/fail.h"
#include "base/log_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS_MOST 1000

typedef struct builder {
    const trl__sphinx_mdef *mdef;
    trl_model *model;
    trl__tree *tree;
    int32_t *triphone;  /* ((place * phones + base) * phones + left) * phones + right: phone, or 0 */
    int32_t neighbours; /* phones that are no fillers, then silence, then nothing */
    int32_t *neighbour; /* by number: a phone; silence; -1 */
    int32_t *of_unit;   /* by unit, and one more for nothing: the number of a neighbour */
    int32_t *phone_of;  /* by unit: phone without context */
    int32_t *place_of;  /* by unit */
    int32_t *table;     /* neighbours x neighbours: phones of mdef, for one unit */
    int32_t *tied;      /* the same: tied states, of one state */
    int32_t *class;     /* neighbours: what they are grouped in */
    uint8_t *reached;   /* by senone */
    uint64_t *bits;     /* a set */
    size_t capacity;    /* of nodes */
    trl_error *err;
} builder;

/* ---- Sphinx's rules ---- */

static int32_t find(const builder *b, int32_t base, int32_t left, int32_t right, int32_t place)
{
    size_t n = b->mdef->names.count;
    return b->triphone[(((size_t)place * n + (size_t)base) * n + (size_t)left) * n + (size_t)right];
}

/* At this place of the word, or else at any. */
static int32_t find_anywhere(const builder *b, int32_t base, int32_t left, int32_t right, int32_t place)
{
    int32_t phone = find(b, base, left, right, place);
    for (int32_t other = 0; phone == 0 && other < TRL__SPHINX_PLACES; other++)
        phone = find(b, base, left, right, other);
    return phone;
}

static int32_t nearest(const builder *b, int32_t base, int32_t left, int32_t right, int32_t place)
{
    int32_t silence = b->mdef->silence;
    if (left < 0 && right < 0)
        return base;
    left = left < 0 ? silence : left;
    right = right < 0 ? silence : right;
    if (left < 0 || right < 0)
        return base;
    int32_t phone = find_anywhere(b, base, left, right, place);
    if (phone == 0 && silence >= 0) {
        int first = place == TRL__SPHINX_BEGIN || place == TRL__SPHINX_SINGLE;
        int last = place == TRL__SPHINX_END || place == TRL__SPHINX_SINGLE;
        if (first || last)
            phone = find_anywhere(b, base, first ? silence : left, last ? silence : right, place);
    }
    return phone > 0 ? phone : base;
}

/* ---- Preparation ---- */

static int32_t place_of_name(const char *name)
{
    switch (name[strlen(name) - 1]) {
    case 'B': return TRL__SPHINX_BEGIN;
    case 'E': return TRL__SPHINX_END;
    case 'S': return TRL__SPHINX_SINGLE;
    default: return TRL__SPHINX_INSIDE;
    }
}

static int32_t phone_of_name(const builder *b, const char *name, int has_place)
{
    return (int32_t)trl__strings_find(&b->mdef->names, name, strlen(name) - (has_place ? 2 : 0));
}

static int is_filler(const trl__sphinx_mdef *mdef, int32_t phone)
{
    return mdef->filler[phone] || phone == mdef->silence;
}

static void find_units(builder *b)
{
    const trl_model *m = b->model;
    for (int32_t p = 0; p < (int32_t)b->mdef->names.count; p++)
        if (!is_filler(b->mdef, p))
            b->neighbour[b->neighbours++] = p;
    b->neighbour[b->neighbours++] = b->mdef->silence;
    b->neighbour[b->neighbours++] = -1;
    for (size_t u = 0; u < m->units.count; u++) {
        int has_place = m->unit_kind[u] == TRL_UNIT_PHONE && m->word_positions;
        b->phone_of[u] = phone_of_name(b, m->units.texts[u], has_place);
        b->place_of[u] = has_place ? place_of_name(m->units.texts[u]) : 0;
        b->of_unit[u] = b->neighbours - 2;
        for (int32_t i = 0; i < b->neighbours - 2; i++)
            if (b->neighbour[i] == b->phone_of[u])
                b->of_unit[u] = i;
    }
    b->of_unit[m->units.count] = b->neighbours - 1;
}

static int prepare(builder *b)
{
    size_t phones = b->mdef->names.count, units = b->model->units.count, n = phones + 2;
    if (phones > NEIGHBOURS_MOST)
        return trl__fail(b->err, TRL_ELIMIT, "%zu phones with triphones; at most %d", phones, NEIGHBOURS_MOST);
    b->triphone = trl__alloc_zero(TRL__SPHINX_PLACES * phones * phones, phones * sizeof *b->triphone);
    b->neighbour = trl__alloc(n, sizeof *b->neighbour);
    b->of_unit = trl__alloc(units + 1, sizeof *b->of_unit);
    b->phone_of = trl__alloc(units, sizeof *b->phone_of);
    b->place_of = trl__alloc(units, sizeof *b->place_of);
    b->table = trl__alloc(n * n, sizeof *b->table);
    b->tied = trl__alloc(n * n, sizeof *b->tied);
    b->class = trl__alloc(2 * n, sizeof *b->class);
    b->reached = trl__alloc_zero((size_t)b->mdef->senones, 1);
    b->bits = trl__alloc((size_t)trl__unit_set_words((int32_t)units), sizeof *b->bits);
    if (!b->triphone || !b->neighbour || !b->of_unit || !b->phone_of || !b->place_of || !b->table || !b->tied ||
        !b->class || !b->reached || !b->bits)
        return trl__fail_memory(b->err);
    for (int32_t i = (int32_t)phones; i < b->mdef->phones; i++) {
        const trl__sphinx_phone *p = &b->mdef->phone[i];
        b->triphone[(((size_t)p->place * phones + (size_t)p->base) * phones + (size_t)p->left) * phones +
                    (size_t)p->right] = i;
    }
    find_units(b);
    return 0;
}

/* ---- The tree ---- */

/* A node; its number, or a negative code. */
static int32_t add_node(builder *b, int32_t position, int32_t value)
{
    if (b->tree->nodes == INT32_MAX || TRL_GROW(b->tree->node, b->capacity, (size_t)b->tree->nodes + 1) < 0)
        return trl__fail_memory(b->err);
    b->tree->node[b->tree->nodes] = (trl__tree_node){position, value, -1, -1};
    return b->tree->nodes++;
}

/* The set of the units whose neighbour class lies in [from, to). */
static int add_set(builder *b, const int32_t *class, int32_t from, int32_t to)
{
    int32_t units = (int32_t)b->model->units.count;
    memset(b->bits, 0, (size_t)trl__unit_set_words(units) * sizeof *b->bits);
    for (int32_t u = 0; u <= units; u++)
        if (class[b->of_unit[u]] >= from && class[b->of_unit[u]] < to)
            b->bits[u / 64] |= (uint64_t)1 << u % 64;
    char *name = trl__unit_set_name(&b->model->units, b->model->word_positions, b->bits);
    int set = name ? trl__unit_sets_add(&b->tree->sets, name, b->bits) : -1;
    trl__free(name);
    return set < 0 ? trl__fail_memory(b->err) : set;
}

/* Groups equal rows of `width` numbers; class[i] becomes the group of row i, from 0. Returns how many. */
static int32_t group(const int32_t *rows, int32_t count, int32_t width, int32_t *class)
{
    int32_t classes = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t same = 0;
        while (same < i && memcmp(rows + (size_t)i * (size_t)width, rows + (size_t)same * (size_t)width,
                                  (size_t)width * sizeof *rows) != 0)
            same++;
        class[i] = same < i ? class[same] : classes++;
    }
    return classes;
}

static const int32_t *row_of_class(const builder *b, const int32_t *class, int32_t wanted)
{
    int32_t i = 0;
    while (class[i] != wanted)
        i++;
    return b->tied + (size_t)i * (size_t)b->neighbours;
}

/* Classes [from, to) of one side. On the left, a class has a row, and goes on with a tree of its right neighbours; on the right
 * (`row` given), it has a tied state. Returns a node, or a negative code. Recursion is as deep as the logarithm of the
 * number of classes, twice. */
static int32_t split(builder *b, const int32_t *row, const int32_t *class, int32_t from, int32_t to)
{
    if (to - from == 1 && row) {
        int32_t i = 0;
        while (class[i] != from)
            i++;
        return add_node(b, TRL__LEAF, row[i]);
    }
    if (to - from == 1) {
        int32_t *right = b->class + b->neighbours;
        row = row_of_class(b, class, from);
        return split(b, row, right, 0, group(row, b->neighbours, 1, right));
    }
    int32_t middle = from + (to - from) / 2, set = add_set(b, class, from, middle);
    if (set < 0)
        return set;
    int32_t node = add_node(b, row ? 2 : 0, set), child = node;
    if (child >= 0)
        child = split(b, row, class, from, middle);
    if (child < 0)
        return child;
    b->tree->node[node].yes = child;
    child = split(b, row, class, middle, to);
    if (child < 0)
        return child;
    b->tree->node[node].no = child;
    return node;
}

static void fill_table(builder *b, int32_t unit)
{
    int32_t n = b->neighbours, base = b->phone_of[unit];
    for (int32_t l = 0; l < n; l++)
        for (int32_t r = 0; r < n; r++)
            b->table[l * n + r] =
                is_filler(b->mdef, base) ? base : nearest(b, base, b->neighbour[l], b->neighbour[r], b->place_of[unit]);
}

static int add_state(builder *b, int32_t unit, int32_t state)
{
    for (int32_t i = 0; i < b->neighbours * b->neighbours; i++) {
        b->tied[i] = b->mdef->senone[b->mdef->phone[b->table[i]].senones + state];
        b->reached[b->tied[i]] = 1;
    }
    int32_t root = split(b, NULL, b->class, 0, group(b->tied, b->neighbours, b->neighbours, b->class));
    if (root < 0)
        return root;
    b->tree->root[unit * b->tree->states + state] = root;
    return 0;
}

/* ---- Triples ---- */

static int add_triples(trl_model *m, trl_error *err)
{
    int32_t *tied = trl__alloc((size_t)m->tied_states, sizeof *tied);
    size_t capacity = 0;
    if (!tied)
        return trl__fail_memory(err);
    for (int32_t u = 0; u < m->tree->units; u++)
        for (int32_t s = 0; s < m->tree->states; s++) {
            int32_t count = trl__tree_tied_states(m->tree, u, s, tied);
            if (TRL_GROW(m->triple, capacity, (size_t)m->triples + (size_t)count) < 0) {
                trl__free(tied);
                return trl__fail_memory(err);
            }
            for (int32_t i = 0; i < count; i++, m->triples++)
                m->triple[m->triples] = (trl__triple){.unit = u, .state = s, .tied = tied[i], .pool = m->triples};
        }
    trl__free(tied);
    return 0;
}

/* Without triphones: one triple for each state. */
static int add_plain_triples(const trl__sphinx_mdef *mdef, trl_model *m, trl_error *err)
{
    m->triple = trl__alloc(m->units.count * (size_t)mdef->states, sizeof *m->triple);
    if (!m->triple)
        return trl__fail_memory(err);
    for (int32_t u = 0; u < (int32_t)m->units.count; u++) {
        long phone = trl__strings_find(&mdef->names, m->units.texts[u], strlen(m->units.texts[u]));
        for (int32_t s = 0; s < mdef->states; s++, m->triples++)
            m->triple[m->triples] = (trl__triple){
                .unit = u, .state = s, .tied = mdef->senone[mdef->phone[phone].senones + s], .pool = m->triples};
    }
    return 0;
}

static int check_reached(const builder *b)
{
    int32_t never = 0;
    for (int32_t j = 0; j < b->mdef->senones; j++)
        never += !b->reached[j];
    return never == 0
               ? 0
               : trl__fail(b->err, TRL_EUNSUPPORTED, "%" PRId32 " of %" PRId32 " tied states belong to no context",
                           never, b->mdef->senones);
}

static void free_builder(builder *b)
{
    void *blocks[] = {b->triphone, b->neighbour, b->of_unit, b->phone_of, b->place_of,
                      b->table,    b->tied,      b->class,   b->reached,  b->bits};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        trl__free(blocks[i]);
}

int trl__sphinx_contexts(const trl__sphinx_mdef *mdef, trl_model *m, trl_error *err)
{
    if (mdef->phones == (int32_t)mdef->names.count)
        return add_plain_triples(mdef, m, err);
    builder b = {.mdef = mdef, .model = m, .err = err};
    int code = prepare(&b);
    if (code == 0)
        code = trl__tree_create(3, 1, (int32_t)m->units.count, mdef->states, &m->tree, err);
    b.tree = m->tree;
    for (int32_t u = 0; code == 0 && u < (int32_t)m->units.count; u++) {
        fill_table(&b, u);
        for (int32_t s = 0; code == 0 && s < mdef->states; s++)
            code = add_state(&b, u, s);
    }
    if (code == 0)
        code = check_reached(&b);
    if (code == 0) {
        m->tree->leaves = mdef->senones;
        code = add_triples(m, err);
    }
    free_builder(&b);
    return code;
}
