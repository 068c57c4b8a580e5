/* Edit distance between a string and all paths of an acyclic machine at once: a cell for each state and each number of words of the
 * reference that are done with, filled in topological order. Exact; O(arcs * words).
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/string_table.h"
#include "decode/score_data.h"

#include <math.h>
#include <string.h>
#include <trellis/lattice_oracle.h>

#define FAR UINT32_MAX
#define MOST_LABEL ((int32_t)1 << 28)
#define MOST_CELLS ((size_t)1 << 31)
enum { BEGIN, SILENT, PAIR, DELETION, INSERTION };

struct trl_oracle_words {
    int letters;
    trl__strings texts; /* with letters that are the same made the same */
    int32_t *first;     /* by text: the first label that has it */
    int32_t *same;      /* by label: the first one of its text */
    int32_t count;      /* labels behind these stand for themselves */
};

typedef struct cell {
    uint32_t errors; /* FAR: not reached */
    uint32_t arc;    /* the last one, but for BEGIN and DELETION */
    uint8_t way;
} cell;

typedef struct table {
    trl_lattice_view lattice;
    const trl_oracle_words *words;
    const int32_t *said;
    size_t count, stride;
    cell *cells; /* by state, then words that are done with */
} table;

/* ---- Words ---- */

/* The number of the word's text, -1: it is new and may not be added, -2: out of memory. */
static long text_number(const trl_oracle_words *w, trl__strings *add_to, const char *word)
{
    char room[TRL__LETTERS_BYTES], *copy = trl__strdup(word);
    if (!copy)
        return -2;
    size_t length = strlen(copy);
    const char *text = trl__fold_letters(w->letters, copy, &length, room);
    long number = add_to ? trl__strings_add(add_to, text, length) : trl__strings_find(&w->texts, text, length);
    trl__free(copy);
    return add_to && number < 0 ? -2 : number;
}

static int fill_words(trl_oracle_words *w, const trl_symbols *symbols, trl_error *err)
{
    size_t entries = trl_symbols_count(symbols), known = 0;
    for (size_t i = 0; i < entries; i++) {
        int32_t label = trl_symbols_label(symbols, i);
        if (label > MOST_LABEL)
            return trl__fail(err, TRL_ELIMIT, "the table of words has the label %d; %d is the largest here", (int)label,
                             (int)MOST_LABEL);
        w->count = label >= w->count ? label + 1 : w->count;
    }
    w->first = trl__alloc(entries + 1, sizeof *w->first);
    w->same = trl__alloc((size_t)w->count + 1, sizeof *w->same);
    if (!w->first || !w->same)
        return trl__fail_memory(err);
    for (int32_t label = 0; label < w->count; label++)
        w->same[label] = label;
    for (size_t i = 0; i < entries; i++, known = w->texts.count) {
        int32_t label = trl_symbols_label(symbols, i);
        long text = text_number(w, &w->texts, trl_symbols_name(symbols, label));
        if (text < 0)
            return trl__fail_memory(err);
        if ((size_t)text == known)
            w->first[text] = label;
        w->same[label] = w->first[text];
    }
    return 0;
}

int trl_oracle_words_create(const trl_symbols *symbols, int letters, trl_oracle_words **out, trl_error *err)
{
    *out = NULL;
    if (letters < TRL_LETTERS_USUAL || letters > TRL_LETTERS_ALL)
        return trl__fail(err, TRL_EINVAL, "there are no letters number %d", letters);
    trl_oracle_words *w = trl__alloc_zero(1, sizeof *w);
    int code = w ? 0 : trl__fail_memory(err);
    if (w)
        w->letters = letters == TRL_LETTERS_USUAL ? TRL_LETTERS_ASCII : letters;
    if (code == 0)
        code = fill_words(w, symbols, err);
    if (code < 0)
        trl_oracle_words_destroy(w);
    else
        *out = w;
    return code;
}

void trl_oracle_words_destroy(trl_oracle_words *words)
{
    if (!words)
        return;
    trl__strings_free(&words->texts);
    trl__free(words->first);
    trl__free(words->same);
    trl__free(words);
}

int trl_oracle_words_find(const trl_oracle_words *words, const char *word, int32_t *label, trl_error *err)
{
    long text = text_number(words, NULL, word);
    *label = text < 0 ? -1 : words->first[text];
    return text == -2 ? trl__fail_memory(err) : 0;
}

static int32_t plain_label(const table *t, int32_t label)
{
    return t->words && label < t->words->count ? t->words->same[label] : label;
}

/* ---- The search ---- */

static cell *cell_at(const table *t, int32_t state, size_t done)
{
    return &t->cells[(size_t)state * t->stride + done];
}

static void improve(cell *c, uint32_t errors, uint32_t arc, uint8_t way)
{
    if (errors < c->errors)
        *c = (cell){errors, arc, way};
}

static void follow(table *t, int32_t state, uint32_t a)
{
    const trl_lattice_arc *arc = &t->lattice.arcs[a];
    const cell *from = cell_at(t, state, 0);
    cell *to = cell_at(t, arc->next, 0);
    int32_t word = plain_label(t, arc->word);
    for (size_t j = 0; j <= t->count; j++) {
        if (arc->word == 0) {
            improve(&to[j], from[j].errors, a, SILENT);
            continue;
        }
        if (j < t->count)
            improve(&to[j + 1], from[j].errors + (word != t->said[j]), a, PAIR);
        improve(&to[j], from[j].errors + 1, a, INSERTION);
    }
}

/* Every cell of a state that is reached has a number, since deletions lead from the first to all others. */
static void fill(table *t)
{
    for (size_t i = 0; i < (size_t)t->lattice.states * t->stride; i++)
        t->cells[i] = (cell){FAR, 0, BEGIN};
    cell_at(t, 0, 0)->errors = 0;
    for (int32_t s = 0; s < t->lattice.states; s++) {
        cell *here = cell_at(t, s, 0);
        for (size_t j = 1; j <= t->count; j++)
            improve(&here[j], here[j - 1].errors + 1, 0, DELETION);
        for (uint32_t a = t->lattice.first[s]; a < t->lattice.first[s + 1]; a++)
            follow(t, s, a);
    }
}

static int32_t best_end(const table *t)
{
    int32_t best = -1;
    for (int32_t s = 0; s < t->lattice.states; s++)
        if (t->lattice.ends[s].graph != INFINITY &&
            (best < 0 || cell_at(t, s, t->count)->errors < cell_at(t, best, t->count)->errors))
            best = s;
    return best;
}

/* The state whose arc it is. */
static int32_t source_of(const trl_lattice_view *l, uint32_t arc)
{
    int32_t low = 0, high = l->states - 1;
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (l->first[middle] <= arc)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void count_way(const table *t, const cell *c, size_t done, trl_counts *counts)
{
    int right = c->way == PAIR && plain_label(t, t->lattice.arcs[c->arc].word) == t->said[done - 1];
    counts->correct += (uint64_t)right;
    counts->substitutions += c->way == PAIR && !right;
    counts->deletions += c->way == DELETION;
    counts->insertions += c->way == INSERTION;
}

/* Words are written from the end; there is room for one per state. */
static void walk_back(const table *t, int32_t *words, trl_oracle_path *out)
{
    const trl_lattice_view *l = &t->lattice;
    int32_t state = best_end(t);
    size_t done = t->count, at = (size_t)l->states;
    out->graph = (double)l->ends[state].graph;
    out->acoustic = (double)l->ends[state].acoustic;
    for (const cell *c; (c = cell_at(t, state, done))->way != BEGIN;) {
        count_way(t, c, done, &out->counts);
        done -= c->way == PAIR || c->way == DELETION;
        if (c->way == DELETION)
            continue;
        const trl_lattice_arc *arc = &l->arcs[c->arc];
        out->graph += (double)arc->graph;
        out->acoustic += (double)arc->acoustic;
        if (arc->word > 0)
            words[--at] = arc->word;
        state = source_of(l, c->arc);
    }
    out->count = (size_t)l->states - at;
    memmove(words, words + at, out->count * sizeof *words);
    out->words = words;
}

static int search(table *t, trl_oracle_path *out, trl_error *err)
{
    size_t states = (size_t)t->lattice.states;
    if (t->stride > MOST_CELLS / states)
        return trl__fail(err, TRL_ELIMIT, "a lattice of %zu states and a reference of %zu words are too large", states,
                         t->count);
    t->cells = trl__alloc(states * t->stride, sizeof *t->cells);
    int32_t *words = trl__alloc(states, sizeof *words);
    if (!t->cells || !words) {
        trl__free(t->cells);
        trl__free(words);
        return trl__fail_memory(err);
    }
    fill(t);
    walk_back(t, words, out);
    trl__free(t->cells);
    return 0;
}

int trl_lattice_oracle(const trl_lattice *lattice, const trl_oracle_words *words, const int32_t *said, size_t count,
                       trl_oracle_path *out, trl_error *err)
{
    table t = {.lattice = trl_lattice_look(lattice), .words = words, .said = said};
    t.count = count;
    t.stride = count + 1;
    *out = (trl_oracle_path){.counts = {.words = count, .utterances = 1}};
    if (t.lattice.states == 0)
        out->counts.deletions = count;
    int code = t.lattice.states > 0 ? search(&t, out, err) : 0;
    out->counts.wrong = trl_errors(out->counts) > 0;
    return code;
}

void trl_oracle_path_free(trl_oracle_path *path)
{
    trl__free(path->words);
    *path = (trl_oracle_path){0};
}
