/* Lexicon and grammar in one machine, L∘G, made as it comes out of determinization: each state of the grammar becomes
 * the root of a tree of all pronunciations of the words that may follow. A word is written where no other can come any
 * more. A word that ends where another goes on, or where another ends too, ends with a symbol; so does what else two
 * arcs of one state would have in common (two arcs with the same word), and arcs of the grammar without a word
 * (back-off) read a symbol too. So the result is deterministic, whatever the grammar is.
 *
 * Each state of the grammar has two roots: before silence, where silence may come or not, and behind it. Silence can be
 * said before each word and at the end, as in alignment.
 *
 * Weights are at the first arc where they can be (in the log semiring): an arc of a tree has the share of its words
 * among those of its state, so that what a state of the grammar sums up to, its roots do. Cost: O(phones of all arcs'
 * words), and sorting by pronunciation.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 5   /* words in a message */
#define TIE 0.001 /* cost: above rounding on the way to the graph, below what anybody means by a probability */

/* A pronunciation as units. The last one is silence. */
typedef struct said {
    const int32_t *units;
    int32_t length;
} said;

/* A way from a root to another. */
typedef struct way {
    int32_t rank; /* of its pronunciation in lexicographic order */
    int32_t word; /* label; 0: none */
    int32_t next; /* root */
    double cost;
} way;

/* Ways that have the first units in common, on the way to become a state. */
typedef struct branch {
    size_t first, end; /* in ways; those before `first` have their arcs */
    int32_t depth;     /* how many units */
    int wrote;         /* they have one word, which is written */
    double cost;       /* of all together */
    trl_arc arc;       /* that leads there from the branch below it on the stack */
    size_t first_arc;  /* of its own arcs on their stack */
    int32_t symbol;    /* of the next way that ends here */
} branch;

typedef struct tree_builder {
    trl__network_job *job;
    const trl_fst *grammar;
    trl_fst *out;
    trl_error *err;
    float silence; /* probability; 0: there is none */

    int32_t *units; /* of all pronunciations */
    said *sorted;   /* by rank */
    int32_t *rank;  /* by place in the lexicon, and one for silence */
    size_t places;
    int64_t *word; /* by label: of the lexicon; NOT_SAID, NOT_THERE */

    way *ways;
    size_t way_count, way_capacity;
    branch *branches; /* a stack */
    size_t branch_count, branch_capacity;
    trl_arc *arcs; /* a stack: of the branches, one behind the other */
    size_t arc_count, arc_capacity;
    uint32_t *slots; /* states of trees by their arcs: state + 1; 0: free */
    size_t slot_count, tree_states;
    int32_t labels;
} tree_builder;

enum { NOT_SAID = -1, NOT_THERE = -2 };

/* ---- Pronunciations ---- */

static int by_units(const void *a, const void *b)
{
    const said *x = a, *y = b;
    for (int32_t i = 0; i < x->length && i < y->length; i++)
        if (x->units[i] != y->units[i])
            return x->units[i] < y->units[i] ? -1 : 1;
    return x->length != y->length ? (x->length > y->length) - (x->length < y->length)
                                  : (x->units > y->units) - (x->units < y->units);
}

static void list_pronunciations(tree_builder *b)
{
    const trl_lexicon *lexicon = b->job->lexicon;
    int32_t *units = b->units;
    size_t place = 0;
    for (size_t w = 0; w < trl_lexicon_words(lexicon); w++)
        for (size_t v = 0; v < trl_lexicon_pronunciations(lexicon, w); v++) {
            trl_pronunciation p = trl_lexicon_pronunciation(lexicon, w, v);
            b->sorted[place++] = (said){units, (int32_t)p.length};
            for (size_t i = 0; i < p.length; i++)
                *units++ = trl__unit_of(b->job->map, p, i);
        }
    *units = b->job->map->silence;
    b->sorted[place] = (said){units, 1};
}

static int sort_pronunciations(tree_builder *b)
{
    const trl_lexicon *lexicon = b->job->lexicon;
    size_t total = 1, words = trl_lexicon_words(lexicon);
    b->places = trl_lexicon_first(lexicon, words);
    for (size_t w = 0; w < words; w++)
        for (size_t v = 0; v < trl_lexicon_pronunciations(lexicon, w); v++)
            total += trl_lexicon_pronunciation(lexicon, w, v).length;
    if (b->places >= INT32_MAX)
        return trl__fail(b->err, TRL_ELIMIT, "the lexicon has too many pronunciations");
    b->units = trl__alloc(total, sizeof *b->units);
    b->sorted = trl__alloc(b->places + 1, sizeof *b->sorted);
    b->rank = trl__alloc(b->places + 1, sizeof *b->rank);
    said *listed = trl__alloc(b->places + 1, sizeof *listed);
    if (!b->units || !b->sorted || !b->rank || !listed) {
        trl__free(listed);
        return trl__fail_memory(b->err);
    }
    list_pronunciations(b);
    memcpy(listed, b->sorted, (b->places + 1) * sizeof *listed);
    qsort(b->sorted, b->places + 1, sizeof *b->sorted, by_units);
    for (size_t i = 0; i <= b->places; i++) { /* all differ in where their units are */
        const said *at = bsearch(&listed[i], b->sorted, b->places + 1, sizeof *at, by_units);
        b->rank[i] = (int32_t)(at - b->sorted);
    }
    trl__free(listed);
    return 0;
}

/* ---- Words of the grammar ---- */

int trl__network_is_symbol(const char *name)
{
    if (*name++ != '#' || !*name)
        return 0;
    while (isdigit((unsigned char)*name))
        name++;
    return !*name;
}

static int is_unknown_word(const char *name)
{
    return strcmp(name, "<unk>") == 0 || strcmp(name, "<UNK>") == 0;
}

/* A word that takes no time could be said without end between two frames. */
static int check_length(const tree_builder *b, size_t word)
{
    for (size_t v = 0; v < trl_lexicon_pronunciations(b->job->lexicon, word); v++) {
        const said *p = &b->sorted[b->rank[trl_lexicon_first(b->job->lexicon, word) + v]];
        int32_t skipped = 0;
        while (skipped < p->length && trl__shape_of(b->job->map, p->units[skipped])->skip > -INFINITY)
            skipped++;
        if (skipped == p->length)
            return trl__fail(b->err, TRL_EUNSUPPORTED,
                             "the word %s can be said in no time: all its units may be passed over",
                             trl_lexicon_word(b->job->lexicon, word));
    }
    return 0;
}

static int look_up(tree_builder *b, int32_t label)
{
    if (b->word[label] != NOT_THERE)
        return 0;
    const char *name = trl_symbols_name(trl_fst_input_symbols(b->grammar), label);
    if (!name)
        return trl__fail(b->err, TRL_EINVAL, "the grammar's table has no word for label %d", (int)label);
    b->word[label] = trl_lexicon_find(b->job->lexicon, name);
    if (b->word[label] < 0) {
        b->word[label] = trl__network_is_symbol(name) ? NOT_SAID : NOT_THERE;
        return 0;
    }
    int code = trl__check_phones(b->job->map, b->job->lexicon, (size_t)b->word[label], b->err);
    return code < 0 ? code : check_length(b, (size_t)b->word[label]);
}

static int is_wordless(const tree_builder *b, int32_t label)
{
    return label == TRL_EPSILON || b->word[label] == NOT_SAID;
}

static int fail_missing(const tree_builder *b, const uint8_t *missing, size_t count, int is_all)
{
    char names[200] = "";
    size_t named = 0, length = 0;
    for (int32_t label = 0; label < b->labels && named < NAMED; label++)
        if (missing[label]) {
            int more = snprintf(names + length, sizeof names - length, "%s%s", named++ ? ", " : "",
                                trl_symbols_name(trl_fst_input_symbols(b->grammar), label));
            length += more > 0 ? (size_t)more : 0;
            if (length >= sizeof names)
                break;
        }
    return trl__fail(b->err, TRL_EINVAL, "the lexicon has no pronunciation of %s%zu word%s of the grammar: %s%s; %s",
                     is_all ? "any of the " : "", count, count == 1 ? "" : "s", names, count > named ? " …" : "",
                     is_all ? "they are of different vocabularies, or spelled differently (--fold-case)"
                            : "add them to the lexicon, or leave them out (--skip-missing)");
}

/* missing[label]: a word without pronunciation. */
static int read_arc(tree_builder *b, trl_arc a, uint8_t *missing)
{
    const int32_t sides[2] = {a.ilabel, a.olabel};
    for (int side = 0; side < 2; side++) {
        int code = sides[side] == TRL_EPSILON ? 0 : look_up(b, sides[side]);
        if (code < 0)
            return code;
    }
    if (a.ilabel != a.olabel && !(is_wordless(b, a.ilabel) && is_wordless(b, a.olabel)))
        return trl__fail(b->err, TRL_EINVAL, "the grammar reads one word and writes another; it must be an acceptor");
    missing[a.ilabel] = a.ilabel != TRL_EPSILON && b->word[a.ilabel] == NOT_THERE;
    return 0;
}

/* Without left_out, words without pronunciation are an error; <unk> never is. Nor may all words be left out. */
static int judge_missing(const tree_builder *b, uint8_t *missing, size_t *left_out)
{
    size_t count = 0, found = 0;
    for (int32_t label = 0; label < b->labels; label++) {
        const char *name = missing[label] ? trl_symbols_name(trl_fst_input_symbols(b->grammar), label) : "";
        missing[label] &= left_out || !is_unknown_word(name);
        count += missing[label];
        found += label != TRL_EPSILON && b->word[label] >= 0;
    }
    if (left_out)
        *left_out = count;
    return (left_out && found > 0) || count == 0 ? 0 : fail_missing(b, missing, count, found == 0 && count > 1);
}

static int32_t count_labels(const trl_fst *fst)
{
    int32_t most = 0;
    for (int32_t s = 0; s < trl_fst_states(fst); s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(fst, s); i++) {
            trl_arc a = trl_fst_arc(fst, s, i);
            most = a.ilabel > most ? a.ilabel : most;
            most = a.olabel > most ? a.olabel : most;
        }
    return most < INT32_MAX ? most + 1 : most;
}

static int find_words(tree_builder *b, size_t *left_out)
{
    if (!trl_fst_input_symbols(b->grammar))
        return trl__fail(b->err, TRL_EINVAL, "the grammar has no table of words; give it one");
    b->labels = count_labels(b->grammar);
    b->word = trl__alloc((size_t)b->labels + 1, sizeof *b->word);
    uint8_t *missing = trl__alloc_zero((size_t)b->labels + 1, 1);
    int code = b->word && missing ? 0 : trl__fail_memory(b->err);
    for (int32_t label = 0; code == 0 && label <= b->labels; label++)
        b->word[label] = NOT_THERE;
    for (int32_t s = 0; code == 0 && s < trl_fst_states(b->grammar); s++)
        for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(b->grammar, s); i++)
            code = read_arc(b, trl_fst_arc(b->grammar, s, i), missing);
    if (code == 0)
        code = judge_missing(b, missing, left_out);
    trl__free(missing);
    return code;
}

/* ---- Trees ---- */

static int32_t before_silence(const tree_builder *b, int32_t s)
{
    return b->silence > 0 ? 2 * s + 1 : 2 * s;
}

static int add_way(tree_builder *b, way w)
{
    if (TRL_GROW(b->ways, b->way_capacity, b->way_count + 1) < 0)
        return trl__fail_memory(b->err);
    b->ways[b->way_count++] = w;
    return 0;
}

/* All pronunciations of all words that may follow the state. */
static int gather_ways(tree_builder *b, int32_t s)
{
    const trl_lexicon *lexicon = b->job->lexicon;
    int code = 0;
    b->way_count = 0;
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(b->grammar, s); i++) {
        trl_arc a = trl_fst_arc(b->grammar, s, i);
        if (is_wordless(b, a.ilabel) || b->word[a.ilabel] == NOT_THERE || isinf(a.weight.value))
            continue;
        size_t word = (size_t)b->word[a.ilabel], first = trl_lexicon_first(lexicon, word);
        for (size_t v = 0; code == 0 && v < trl_lexicon_pronunciations(lexicon, word); v++)
            code = add_way(b, (way){b->rank[first + v], a.ilabel, before_silence(b, a.next),
                                    (double)a.weight.value -
                                        log((double)trl_lexicon_pronunciation(lexicon, word, v).probability)});
    }
    return code;
}

static int by_rank(const void *a, const void *b)
{
    const way *x = a, *y = b;
    return x->rank != y->rank   ? (x->rank > y->rank) - (x->rank < y->rank)
           : x->word != y->word ? (x->word > y->word) - (x->word < y->word)
                                : (x->next > y->next) - (x->next < y->next);
}

static int sound_alike(const tree_builder *b, const way *x, const way *y)
{
    const said *p = &b->sorted[x->rank], *q = &b->sorted[y->rank];
    return p->length == q->length && memcmp(p->units, q->units, (size_t)p->length * sizeof *p->units) == 0;
}

/* Words that sound the same and are equally likely (O and OH in a loop) can't be told apart, and rounding would choose
 * among them anew with each model. So the lexicon's first one is to be chosen: each further one costs TIE more. The ways
 * are sorted. */
static void break_ties(tree_builder *b)
{
    int words = 0;
    for (size_t i = 1, first = 0; i < b->way_count; i++) {
        way *w = &b->ways[i];
        int is_tie = sound_alike(b, w, &b->ways[first]) && w->cost == b->ways[first].cost;
        first = is_tie ? first : i;
        words = is_tie ? words + (w->word != b->ways[i - 1].word) : 0;
        w->cost += TIE * words;
    }
}

static double sum_of(const tree_builder *b, size_t first, size_t end)
{
    double least = INFINITY, sum = 0;
    for (size_t i = first; i < end; i++)
        least = b->ways[i].cost < least ? b->ways[i].cost : least;
    for (size_t i = first; i < end; i++)
        sum += exp(least - b->ways[i].cost);
    return least - log(sum);
}

static int add_arc(tree_builder *b, int32_t from, int32_t label, int32_t word, double cost, int32_t next)
{
    return trl_fst_add_arc(b->out, from, (trl_arc){label, word, {(float)cost, 0}, next}, b->err);
}

static int32_t symbol_label(tree_builder *b, int32_t symbol)
{
    b->job->symbols = symbol > b->job->symbols ? symbol : b->job->symbols;
    return (int32_t)b->job->model->units.count + symbol;
}

static int has_one_word(const tree_builder *b, size_t first, size_t end)
{
    while (first + 1 < end && b->ways[first].word == b->ways[first + 1].word)
        first++;
    return first + 1 == end;
}

/* States of trees with the same arcs are one, as far as weights go that round to the same: what two histories have in common behind their words is made once, so
 * that the machine is never larger than it will be. */
static uint64_t hash_arcs(const trl_arc *arcs, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t key[] = {arcs[i].ilabel, arcs[i].olabel, trl__network_rounded(arcs[i].weight.value),
                               arcs[i].next};
        hash = (hash ^ trl__tuple_hash(key, 4)) * 0x9E3779B97F4A7C15u;
    }
    return hash ^ hash >> 32;
}

static int has_arcs(const trl_fst *fst, int32_t state, const trl_arc *arcs, size_t count)
{
    int same = trl_fst_arc_count(fst, state) == count;
    for (uint32_t i = 0; same && i < count; i++) {
        trl_arc a = trl_fst_arc(fst, state, i);
        same = a.ilabel == arcs[i].ilabel && a.olabel == arcs[i].olabel && a.next == arcs[i].next &&
               trl__network_rounded(a.weight.value) == trl__network_rounded(arcs[i].weight.value);
    }
    return same;
}

static int enlarge_slots(tree_builder *b)
{
    size_t size = b->slot_count ? 2 * b->slot_count : 1024;
    uint32_t *slots = trl__alloc_zero(size, sizeof *slots);
    if (!slots)
        return trl__fail_memory(b->err);
    for (size_t i = 0; i < b->slot_count; i++) {
        if (b->slots[i] == 0)
            continue;
        int32_t state = (int32_t)b->slots[i] - 1;
        size_t count = trl_fst_arc_count(b->out, state);
        if (TRL_GROW(b->arcs, b->arc_capacity, b->arc_count + count) < 0) {
            trl__free(slots);
            return trl__fail_memory(b->err);
        }
        for (size_t k = 0; k < count; k++)
            b->arcs[b->arc_count + k] = trl_fst_arc(b->out, state, (uint32_t)k);
        size_t at = hash_arcs(b->arcs + b->arc_count, count) & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = b->slots[i];
    }
    trl__free(b->slots);
    b->slots = slots;
    b->slot_count = size;
    return 0;
}

static int copy_arcs(tree_builder *b, int32_t state, const trl_arc *arcs, size_t count)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++)
        code = trl_fst_add_arc(b->out, state, arcs[i], b->err);
    return code;
}

/* The state with the arcs on the stack from `first` on, new or old. */
static int find_state(tree_builder *b, size_t first, int32_t *state)
{
    size_t count = b->arc_count - first;
    if (3 * b->slot_count <= 4 * b->tree_states && enlarge_slots(b) < 0)
        return TRL_ENOMEM;
    size_t at = hash_arcs(b->arcs + first, count) & (b->slot_count - 1);
    for (; b->slots[at]; at = (at + 1) & (b->slot_count - 1))
        if (has_arcs(b->out, (int32_t)b->slots[at] - 1, b->arcs + first, count)) {
            *state = (int32_t)b->slots[at] - 1;
            return 0;
        }
    int code = trl__network_add_state(b->job, b->out, state, b->err);
    if (code == 0) {
        b->slots[at] = (uint32_t)*state + 1;
        b->tree_states++;
        code = copy_arcs(b, *state, b->arcs + first, count);
    }
    return code;
}

static int push_arc(tree_builder *b, trl_arc arc)
{
    if (TRL_GROW(b->arcs, b->arc_capacity, b->arc_count + 1) < 0)
        return trl__fail_memory(b->err);
    b->arcs[b->arc_count++] = arc;
    return 0;
}

static int push_branch(tree_builder *b, branch next)
{
    if (TRL_GROW(b->branches, b->branch_capacity, b->branch_count + 1) < 0)
        return trl__fail_memory(b->err);
    next.first_arc = b->arc_count;
    next.symbol = 1;
    b->branches[b->branch_count++] = next;
    return 0;
}

/* The ways from first to end have the next unit in common: an arc, or a branch that will be one. */
static int go_on(tree_builder *b, const branch *from, size_t first, size_t end)
{
    const way *w = &b->ways[first];
    int one = has_one_word(b, first, end);
    branch to = {.first = first, .end = end, .depth = from->depth + 1, .cost = sum_of(b, first, end)};
    to.wrote = from->wrote || one;
    to.arc = (trl_arc){b->sorted[w->rank].units[from->depth] + 1,
                       one && !from->wrote ? w->word : 0,
                       {(float)(to.cost - from->cost), 0},
                       w->next};
    int is_end = end == first + 1 && b->sorted[w->rank].length == to.depth;
    return is_end ? push_arc(b, to.arc) : push_branch(b, to);
}

/* The next arc of the branch on top: of a way that ends here, or of those that go on with one unit. */
static int grow(tree_builder *b)
{
    branch *top = &b->branches[b->branch_count - 1];
    const way *w = &b->ways[top->first];
    size_t first = top->first, end = first + 1;
    const said *said_here = &b->sorted[w->rank];
    if (said_here->length == top->depth) {
        top->first = end;
        return push_arc(b, (trl_arc){symbol_label(b, top->symbol++),
                                     top->wrote ? 0 : w->word,
                                     {(float)(w->cost - top->cost), 0},
                                     w->next});
    }
    int32_t unit = said_here->units[top->depth];
    while (end < top->end && b->sorted[b->ways[end].rank].units[top->depth] == unit)
        end++;
    top->first = end;
    const branch from = *top; /* the stack may move */
    return go_on(b, &from, first, end);
}

/* The branch on top has all its arcs, and becomes a state. */
static int close_branch(tree_builder *b)
{
    branch done = b->branches[--b->branch_count];
    int code = find_state(b, done.first_arc, &done.arc.next);
    b->arc_count = done.first_arc;
    return code < 0 ? code : push_arc(b, done.arc);
}

/* From the ways at hand; costs stay as they are at the root. States come after those that they lead to. */
static int grow_tree(tree_builder *b, int32_t root)
{
    if (b->way_count > 0)
        qsort(b->ways, b->way_count, sizeof *b->ways, by_rank);
    break_ties(b);
    b->arc_count = b->branch_count = 0;
    int code = push_branch(b, (branch){.end = b->way_count});
    while (code == 0 && (b->branch_count > 1 || b->branches[0].first < b->branches[0].end)) {
        const branch *top = &b->branches[b->branch_count - 1];
        code = top->first < top->end ? grow(b) : close_branch(b);
    }
    return code < 0 ? code : copy_arcs(b, root, b->arcs, b->arc_count);
}

/* ---- Roots ---- */

/* What leaves the state of the grammar without a word: its other arcs, and its end. */
static int add_wordless(tree_builder *b, int32_t s, int32_t root, double cost)
{
    int32_t symbol = 1;
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(b->grammar, s); i++) {
        trl_arc a = trl_fst_arc(b->grammar, s, i);
        if (is_wordless(b, a.ilabel) && !isinf(a.weight.value))
            code = add_arc(b, root, symbol_label(b, symbol++), 0, (double)a.weight.value + cost, 2 * a.next);
    }
    trl_weight final = trl_fst_final(b->grammar, s);
    if (code == 0 && !isinf(final.value))
        code = trl_fst_set_final(b->out, root, (trl_weight){final.value + (float)cost, 0}, b->err);
    return code;
}

/* The root before silence leads to the same trees, unless one of them begins with silence itself. */
static int add_silence(tree_builder *b, int32_t s)
{
    int32_t behind = 2 * s, before = 2 * s + 1, silence = b->job->map->silence;
    double spoken = -log1p(-(double)b->silence), silent = -log((double)b->silence);
    int alone = 1, code = 0;
    for (uint32_t i = 0; i < trl_fst_arc_count(b->out, behind); i++)
        alone &= trl_fst_arc(b->out, behind, i).ilabel != silence + 1;
    if (alone) {
        code = add_arc(b, before, silence + 1, 0, silent, behind);
        for (uint32_t i = 0; code == 0 && b->silence < 1 && i < trl_fst_arc_count(b->out, behind); i++) {
            trl_arc a = trl_fst_arc(b->out, behind, i);
            if (a.ilabel <= (int32_t)b->job->model->units.count)
                code = add_arc(b, before, a.ilabel, a.olabel, (double)a.weight.value + spoken, a.next);
        }
    } else {
        for (size_t i = 0; i < b->way_count; i++)
            b->ways[i].cost += spoken;
        b->way_count = b->silence < 1 ? b->way_count : 0;
        code = add_way(b, (way){b->rank[b->places], 0, behind, silent});
        if (code == 0)
            code = grow_tree(b, before);
    }
    return code < 0 || !(b->silence < 1) ? code : add_wordless(b, s, before, spoken);
}

static int build(tree_builder *b)
{
    int32_t states = trl_fst_states(b->grammar);
    if (states > INT32_MAX / 4)
        return trl__fail(b->err, TRL_ELIMIT, "the grammar has too many states");
    if (trl_fst_start(b->grammar) == TRL_NO_STATE)
        return trl__fail(b->err, TRL_EINVAL, "the grammar allows nothing, not even silence");
    int code = trl__network_new(2 * states, &b->out, b->err);
    for (int32_t s = 0; code == 0 && s < states; s++) {
        code = add_wordless(b, s, 2 * s, 0);
        if (code == 0)
            code = gather_ways(b, s);
        if (code == 0)
            code = grow_tree(b, 2 * s);
        if (code == 0 && b->silence > 0)
            code = add_silence(b, s);
    }
    if (code == 0)
        code = trl_fst_set_start(b->out, before_silence(b, trl_fst_start(b->grammar)), b->err);
    return code < 0 ? code : trl_fst_connect(b->out, b->err);
}

int trl__network_words(trl__network_job *job, const trl_fst *grammar, size_t *left_out, trl_fst **out, trl_error *err)
{
    tree_builder b = {.job = job,
                      .grammar = grammar,
                      .err = err,
                      .silence = job->map->silence >= 0 ? job->model->silence_between : 0};
    int code = sort_pronunciations(&b);
    if (code == 0)
        code = find_words(&b, left_out);
    if (code == 0)
        code = build(&b);
    if (code == 0 && trl_fst_start(b.out) == TRL_NO_STATE)
        code = trl__fail(err, TRL_EINVAL, "the grammar allows nothing that the lexicon has");
    trl__free(b.units);
    trl__free(b.sorted);
    trl__free(b.rank);
    trl__free(b.word);
    trl__free(b.ways);
    trl__free(b.branches);
    trl__free(b.arcs);
    trl__free(b.slots);
    if (code < 0) {
        trl_fst_destroy(b.out);
        b.out = NULL;
    }
    *out = b.out;
    return code;
}
