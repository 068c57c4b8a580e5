/* Alternatives as sclite has them: of { a / b c / @ } any may be said, @ is nothing. The table of edit distance has a row for each word of
 * one network and a column for each of the other; a cell follows on any of the words before. Costs are floats that are added up in sclite's
 * order, since they decide which of two alignments with @ is the better one. O(n m) for few alternatives.
 */
#include "decode/word_network.h"
#include "base/fail.h"
#include "decode/transcripts.h"

#include <string.h>

#define MOST_CELLS ((size_t)1 << 26)
#define NEVER 1e9f

int trl__is_optional(const char *word)
{
    size_t length = strlen(word);
    return length > 2 && word[0] == '(' && word[length - 1] == ')';
}

int trl__is_network(const char *const *words, size_t count, int optional)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] == trl__alt_open || words[i] == trl__no_word || (optional && trl__is_optional(words[i])))
            return 1;
    return 0;
}

/* ---- The network of an utterance ---- */

typedef struct builder {
    trl__network *net;
    const char *const *words;
    const int32_t *ids;
    size_t count, next;
    int optional;
    trl_error *err;
} builder;

/* The words that end at some node: a range of the network's list. */
typedef struct node {
    size_t first, count;
} node;

static int append(builder *b, uint32_t word)
{
    trl__network *net = b->net;
    if (TRL_GROW(net->list, net->list_room, net->list_count + 1) < 0)
        return trl__fail_memory(b->err);
    net->list[net->list_count++] = word;
    return 0;
}

static int add_word(builder *b, node *at, uint32_t place)
{
    trl__network *net = b->net;
    if (TRL_GROW(net->words, net->room, net->count + 1) < 0)
        return trl__fail_memory(b->err);
    const char *text = b->words[b->next];
    net->words[net->count] = (trl__network_word){.text = text,
                                                 .id = b->ids[b->next],
                                                 .place = place,
                                                 .absent = text == trl__no_word,
                                                 .optional = b->optional && trl__is_optional(text),
                                                 .before = at->first,
                                                 .before_count = at->count};
    *at = (node){net->list_count, 1};
    b->next++;
    return append(b, (uint32_t)net->count++);
}

static int add_alternatives(builder *b, node *at, uint32_t place);

/* Up to a slash, a closing brace or the end. Readers have limited the depth of braces. */
static int add_sequence(builder *b, node *at, uint32_t place, int top)
{
    int code = 0;
    while (code == 0 && b->next < b->count) {
        const char *word = b->words[b->next];
        if (word == trl__alt_next || word == trl__alt_close)
            break;
        code = word == trl__alt_open ? add_alternatives(b, at, place) : add_word(b, at, place);
        place += (uint32_t)top;
    }
    if (top)
        b->net->places = place;
    return code;
}

static int add_alternatives(builder *b, node *at, uint32_t place)
{
    node ends[2] = {{0, 0}, {0, 0}};
    int code = 0;
    do {
        node end = *at;
        b->next++;
        code = add_sequence(b, &end, place, 0);
        /* The ends so far and the new one side by side at the end of the list. */
        ends[1].first = b->net->list_count;
        ends[1].count = ends[0].count + end.count;
        for (size_t i = 0; code == 0 && i < ends[0].count; i++)
            code = append(b, b->net->list[ends[0].first + i]);
        for (size_t i = 0; code == 0 && i < end.count; i++)
            code = append(b, b->net->list[end.first + i]);
        ends[0] = ends[1];
    } while (code == 0 && b->words[b->next] == trl__alt_next);
    b->next++;
    *at = ends[0];
    return code;
}

int trl__network_build(trl__network *net, const char *const *words, const int32_t *ids, size_t count, int optional,
                       trl_error *err)
{
    builder b = {net, words, ids, count, 0, optional, err};
    node at = {0, 1};
    if (TRL_GROW(net->words, net->room, 1) < 0)
        return trl__fail_memory(err);
    net->words[0] = (trl__network_word){.id = -1};
    net->count = 1;
    int code = append(&b, 0);
    if (code == 0)
        code = add_sequence(&b, &at, 0, 1);
    net->last = at.first;
    net->last_count = at.count;
    return code;
}

void trl__network_free(trl__network *net)
{
    trl__free(net->words);
    trl__free(net->list);
}

/* ---- The table ---- */

typedef struct cell {
    float cost;
    uint32_t said, heard; /* the cell before */
} cell;

typedef struct table {
    const trl__network *said, *heard;
    const trl__align_costs *costs;
    cell *cells; /* a row for each word of said */
} table;

static cell *at(const table *t, size_t said, size_t heard)
{
    return &t->cells[said * t->heard->count + heard];
}

static float gap_cost(const table *t, const trl__network_word *word)
{
    if (word->absent)
        return 0.001f;
    return (float)t->costs->gap * (word->optional ? 2.0f / 3.0f : 1.0f);
}

static float pair_cost(const table *t, const trl__network_word *said, const trl__network_word *heard)
{
    if (said->absent || heard->absent)
        return NEVER;
    return said->id == heard->id ? 0.0f : (float)t->costs->substitution;
}

/* The cheapest of the cells from which a pair, a deletion or an insertion comes here; of equal ones the first. */
static cell cheapest(const table *t, size_t said, size_t heard, int step_said, int step_heard)
{
    const trl__network_word *a = &t->said->words[said], *b = &t->heard->words[heard];
    cell best = {2 * NEVER, 0, 0};
    size_t rows = step_said ? a->before_count : 1, columns = step_heard ? b->before_count : 1;
    for (size_t i = 0; i < rows; i++) {
        uint32_t row = step_said ? t->said->list[a->before + i] : (uint32_t)said;
        for (size_t k = 0; k < columns; k++) {
            uint32_t column = step_heard ? t->heard->list[b->before + k] : (uint32_t)heard;
            float cost = at(t, row, column)->cost;
            if (cost < best.cost)
                best = (cell){cost, row, column};
        }
    }
    return best;
}

static void fill_cell(const table *t, size_t said, size_t heard)
{
    const trl__network_word *a = &t->said->words[said], *b = &t->heard->words[heard];
    cell none = {2 * NEVER, 0, 0}, pair = none, deletion = none, insertion = none;
    if (said > 0 && heard > 0) {
        pair = cheapest(t, said, heard, 1, 1);
        pair.cost += pair_cost(t, a, b);
    }
    if (said > 0) {
        deletion = cheapest(t, said, heard, 1, 0);
        deletion.cost += gap_cost(t, a);
    }
    if (heard > 0) {
        insertion = cheapest(t, said, heard, 0, 1);
        insertion.cost += gap_cost(t, b);
    }
    cell gap = deletion.cost < insertion.cost ? deletion : insertion;
    *at(t, said, heard) = (t->costs->keep_pairs ? pair.cost <= gap.cost : pair.cost < gap.cost) ? pair : gap;
}

static void best_end(const table *t, uint32_t *said, uint32_t *heard)
{
    float best = 2 * NEVER;
    for (size_t i = 0; i < t->said->last_count; i++)
        for (size_t k = 0; k < t->heard->last_count; k++) {
            uint32_t row = t->said->list[t->said->last + i], column = t->heard->list[t->heard->last + k];
            if (at(t, row, column)->cost < best) {
                best = at(t, row, column)->cost;
                *said = row;
                *heard = column;
            }
        }
}

/* What is absent leaves no step; a word that may be left out, and is, is right. */
static char kind_of(const table *t, const trl__network_step *step)
{
    const trl__network_word *a = &t->said->words[step->said], *b = &t->heard->words[step->heard];
    if (step->said && step->heard)
        return a->id == b->id ? 'C' : 'S';
    const trl__network_word *alone = step->said ? a : b;
    return alone->absent ? '\0' : alone->optional ? 'C' : step->said ? 'D' : 'I';
}

static size_t walk_back(const table *t, trl__network_step *steps)
{
    uint32_t said = 0, heard = 0;
    size_t count = 0;
    best_end(t, &said, &heard);
    while (said > 0 || heard > 0) {
        const cell *c = at(t, said, heard);
        trl__network_step step = {c->said == said ? 0 : said, c->heard == heard ? 0 : heard, '\0'};
        step.kind = kind_of(t, &step);
        if (step.kind)
            steps[count++] = step;
        said = c->said;
        heard = c->heard;
    }
    for (size_t k = 0; k < count / 2; k++) {
        trl__network_step swap = steps[k];
        steps[k] = steps[count - 1 - k];
        steps[count - 1 - k] = swap;
    }
    return count;
}

int trl__network_align(const trl__network *said, const trl__network *heard, const trl__align_costs *costs,
                       trl__scratch *scratch, trl__network_step *steps, size_t *count, trl_error *err)
{
    if (said->count > MOST_CELLS / heard->count)
        return trl__fail(err, TRL_ELIMIT, "with alternatives, %zu and %zu words are too many to align; split them",
                         said->count - 1, heard->count - 1);
    table t = {said, heard, costs, trl__scratch_get(scratch, said->count * heard->count, sizeof(cell))};
    if (!t.cells)
        return trl__fail_memory(err);
    *at(&t, 0, 0) = (cell){0, 0, 0};
    for (size_t i = 0; i < said->count; i++)
        for (size_t k = i == 0; k < heard->count; k++)
            fill_cell(&t, i, k);
    *count = walk_back(&t, steps);
    return 0;
}
