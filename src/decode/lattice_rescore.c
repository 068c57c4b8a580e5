/* Composition of a lattice with an n-gram model that is walked on demand. The acceptor of fst/arpa.c has a back-off arc (label 0, the first of its state)
 * from each history to the shorter one.
 *
 * Where that is taken only when no arc has the word, states of the result are pairs (state of the lattice, history): each has one successor per arc of the lattice, and what was deterministic
 * stays so. Where the cheapest way counts, a word string may lead to several histories, all suffixes of it, at different costs. The model is then determinized on the way (Mohri, "Finite-state transducers in
 * language and speech processing", 1997): instead of a history there is a set of them, each with what it costs more than the cheapest. A history that a longer one reaches by backing
 * off, at no higher cost, is left out; mostly one is left.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "base/tuple_table.h"
#include "decode/lattice_draft.h"

#include <math.h>
#include <trellis/fst_file.h>
#include <trellis/lattice_rescore.h>

#define ROOT 0 /* the empty history is the acceptor's first state */

struct trl_lattice_lm {
    trl_fst *fst;
    trl_symbols *words; /* the lattices' table, and the model's words behind */
    int64_t unknown;    /* label of <unk>, or TRL_NO_LABEL */
    char *path;
};

/* ---- The model ---- */

static int copy_words(const trl_symbols *words, trl_symbols **out, trl_error *err)
{
    int code = trl_symbols_create(trl_symbols_title(words), out, err);
    for (size_t i = 0; code == 0 && i < trl_symbols_count(words); i++) {
        int32_t label = trl_symbols_label(words, i);
        code = trl_symbols_add(*out, trl_symbols_name(words, label), label, err);
    }
    return code == 0 && !trl_symbols_name(*out, 0) ? trl_symbols_add(*out, "<eps>", 0, err) : code;
}

/* The arc of a history with this label, or 0. Arcs are sorted by label. */
static int find_arc(const trl_fst *fst, int32_t state, int32_t label, trl_arc *arc)
{
    uint32_t low = 0, high = trl_fst_arc_count(fst, state);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        *arc = trl_fst_arc(fst, state, middle);
        if (arc->ilabel == label)
            return 1;
        if (arc->ilabel < label)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static void find_unknown(trl_lattice_lm *lm)
{
    static const char *const names[] = {"<unk>", "<UNK>"};
    trl_arc arc;
    lm->unknown = TRL_NO_LABEL;
    for (size_t i = 0; i < 2 && lm->unknown == TRL_NO_LABEL; i++) {
        int64_t label = trl_symbols_find(lm->words, names[i]);
        if (label > 0 && find_arc(lm->fst, ROOT, (int32_t)label, &arc))
            lm->unknown = label;
    }
}

int trl_lattice_lm_read(const char *path, const trl_symbols *words, trl_lattice_lm **out, trl_error *err)
{
    trl_lattice_lm *lm = *out = NULL;
    if (!(lm = trl__alloc_zero(1, sizeof *lm)) || !(lm->path = trl__strdup(path))) {
        trl__free(lm);
        return trl__fail_memory(err);
    }
    int code = copy_words(words, &lm->words, err);
    if (code == 0)
        code = trl_fst_read_arpa(path, &(trl_arpa_options){.words = lm->words, .add_words = 1}, &lm->fst, NULL, err);
    if (code < 0) {
        trl_lattice_lm_destroy(lm);
        return code;
    }
    find_unknown(lm);
    *out = lm;
    return 0;
}

void trl_lattice_lm_destroy(trl_lattice_lm *lm)
{
    if (!lm)
        return;
    trl_fst_destroy(lm->fst);
    trl_symbols_destroy(lm->words);
    trl__free(lm->path);
    trl__free(lm);
}

/* The label that the model knows the word by; TRL_NO_LABEL: none. */
static int64_t label_of(const trl_lattice_lm *lm, int32_t word)
{
    trl_arc arc;
    return find_arc(lm->fst, ROOT, word, &arc) ? word : lm->unknown;
}

/* Backs off to the shorter history: its cost, or INFINITY at the end. */
static double back_off(const trl_lattice_lm *lm, int32_t *history)
{
    trl_arc arc;
    if (*history == ROOT || !find_arc(lm->fst, *history, TRL_EPSILON, &arc))
        return INFINITY;
    *history = arc.next;
    return (double)arc.weight.value;
}

/* ---- Sets of histories ---- */

#define MOST_HISTORIES 32         /* suffixes of a word string that are histories; ARPA files have up to 20 words */
#define UNITS 65536.0             /* of costs in a set's key: its members are compared to 2^-16 */
#define MOST_COST (INT32_MAX / 4) /* in units */

typedef struct histories {
    int32_t state[MOST_HISTORIES];
    double cost[MOST_HISTORIES];
    int count;
} histories;

static void add_history(histories *set, int32_t state, double cost)
{
    int i = 0;
    while (i < set->count && set->state[i] != state)
        i++;
    if (i == MOST_HISTORIES)
        return;
    if (i == set->count) {
        set->state[set->count++] = state;
        set->cost[i] = INFINITY;
    }
    set->cost[i] = cost < set->cost[i] ? cost : set->cost[i];
}

/* From a set on with a word; nothing is left where it can't be read. */
static void read_word(const trl_lattice_lm *lm, trl_backoff backoff, const histories *from, int32_t label,
                      histories *to)
{
    trl_arc arc;
    to->count = 0;
    for (int i = 0; i < from->count; i++) {
        int32_t at = from->state[i];
        int found = 0;
        for (double cost = from->cost[i]; !isinf(cost) && !(found && backoff == TRL_BACKOFF_NEEDED);
             cost += back_off(lm, &at))
            if ((found = find_arc(lm->fst, at, label, &arc)))
                add_history(to, arc.next, cost + (double)arc.weight.value);
    }
}

/* The cost of the sentence's end after a set. */
static double read_end(const trl_lattice_lm *lm, trl_backoff backoff, const histories *from)
{
    double best = INFINITY;
    for (int i = 0; i < from->count; i++) {
        int32_t at = from->state[i];
        int found = 0;
        for (double cost = from->cost[i]; !isinf(cost) && !(found && backoff == TRL_BACKOFF_NEEDED);
             cost += back_off(lm, &at)) {
            double end = (double)trl_fst_final(lm->fst, at).value;
            found = !isinf(end);
            best = cost + end < best ? cost + end : best;
        }
    }
    return best;
}

/* Is member i reached from another by backing off, at no higher cost? Chains only lead down, so of two members one at most is. */
static int is_covered(const trl_lattice_lm *lm, const histories *set, int i)
{
    for (int k = 0; k < set->count; k++) {
        int32_t at = set->state[k];
        double cost = set->cost[k];
        if (k == i)
            continue;
        while (!isinf(cost += back_off(lm, &at)))
            if (at == set->state[i] && cost <= set->cost[i] + 1 / UNITS)
                return 1;
    }
    return 0;
}

/* Leaves out what is covered, takes the least cost off all and returns it. Members get the order of their states. */
static double settle(const trl_lattice_lm *lm, histories *set)
{
    histories kept = {.count = 0};
    double least = INFINITY;
    for (int i = 0; i < set->count; i++)
        least = set->cost[i] < least ? set->cost[i] : least;
    for (int i = 0; i < set->count; i++) {
        if (is_covered(lm, set, i))
            continue;
        int at = kept.count++;
        for (; at > 0 && kept.state[at - 1] > set->state[i]; at--) {
            kept.state[at] = kept.state[at - 1];
            kept.cost[at] = kept.cost[at - 1];
        }
        kept.state[at] = set->state[i];
        kept.cost[at] = set->cost[i] - least;
    }
    *set = kept;
    return least;
}

/* ---- The composition ---- */

typedef struct product {
    trl_lattice_view lattice;
    const trl_lattice_lm *lm;
    trl_backoff backoff;
    double factor;
    trl__tuples sets;  /* lists of histories: (state, cost in units, number of the rest or -1) */
    trl__tuples pairs; /* (state of the lattice, list), as they are met */
    trl__lattice_draft draft;
    trl_error *err;
} product;

/* The number of a set, from its last member to its first; -1: out of memory. */
static int64_t number_of(product *p, const histories *set)
{
    int64_t list = -1;
    for (int i = set->count; i-- > 0;) {
        double units = set->cost[i] * UNITS;
        int32_t cost = units < MOST_COST ? (int32_t)lround(units) : MOST_COST;
        list = trl__tuples_add(&p->sets, (int32_t[]){set->state[i], cost, (int32_t)list});
        if (list < 0)
            return -1;
    }
    return list;
}

static void set_of(const product *p, int64_t list, histories *set)
{
    for (set->count = 0; list >= 0 && set->count < MOST_HISTORIES; set->count++) {
        const int32_t *member = trl__tuples_get(&p->sets, list);
        set->state[set->count] = member[0];
        set->cost[set->count] = member[1] / UNITS;
        list = member[2];
    }
}

/* The pair's number, or -1: out of memory. */
static int64_t pair_of(product *p, int32_t state, const histories *set)
{
    int64_t list = number_of(p, set);
    return list < 0 ? -1 : trl__tuples_add(&p->pairs, (int32_t[]){state, (int32_t)list});
}

static const int32_t *transitions_of(const product *p, uint32_t first, uint32_t count)
{
    return count > 0 ? p->lattice.transitions + first : NULL;
}

static int fail_word(const product *p, int32_t word)
{
    const char *name = trl_symbols_name(p->lm->words, word);
    if (name)
        return trl__fail(p->err, TRL_EINVAL, "%s has neither the word %s nor <unk>", p->lm->path, name);
    return trl__fail(p->err, TRL_EINVAL, "the table of words has no name for %d, a word of the lattice", (int)word);
}

static int add_arc(product *p, int32_t from, const histories *set, trl_lattice_arc arc)
{
    histories after = *set;
    double cost = 0;
    if (arc.word > 0) {
        int64_t label = label_of(p->lm, arc.word);
        if (label == TRL_NO_LABEL || !trl_symbols_name(p->lm->words, arc.word))
            return fail_word(p, arc.word);
        read_word(p->lm, p->backoff, set, (int32_t)label, &after);
        cost = settle(p->lm, &after);
    }
    if (isinf(cost))
        return 0;
    int64_t next = pair_of(p, arc.next, &after);
    if (next < 0)
        return trl__fail_memory(p->err);
    arc.next = (int32_t)next;
    arc.graph = (float)((double)arc.graph + p->factor * cost);
    return trl__draft_add_arc(&p->draft, from, &arc, transitions_of(p, arc.transition, arc.duration), p->err);
}

static int expand(product *p, int32_t pair)
{
    const trl_lattice_view *l = &p->lattice;
    int32_t state = trl__tuples_get(&p->pairs, pair)[0];
    histories set;
    int code = 0;
    set_of(p, trl__tuples_get(&p->pairs, pair)[1], &set);
    for (uint32_t a = l->first[state]; code == 0 && a < l->first[state + 1]; a++)
        code = add_arc(p, pair, &set, l->arcs[a]);
    trl_lattice_end end = l->ends[state];
    double cost = code == 0 && end.graph != INFINITY ? read_end(p->lm, p->backoff, &set) : INFINITY;
    if (isinf(cost))
        return code;
    end.graph = (float)((double)end.graph + p->factor * cost);
    return trl__draft_set_end(&p->draft, pair, &end, transitions_of(p, end.transition, end.duration), p->err);
}

static int compose(product *p)
{
    histories start = {.state = {trl_fst_start(p->lm->fst)}, .cost = {0}, .count = 1};
    int code = pair_of(p, 0, &start) < 0 ? trl__fail_memory(p->err) : 0;
    for (size_t i = 0; code == 0 && i < p->pairs.count; i++)
        code = expand(p, (int32_t)i);
    if (code == 0 && p->draft.end_count == 0)
        return trl__fail(p->err, TRL_EINVAL, "%s gives no path of the lattice a probability", p->lm->path);
    return code;
}

int trl_lattice_rescore(const trl_lattice *lattice, const trl_lattice_lm *lm, trl_backoff backoff, double factor,
                        trl_lattice **out, trl_error *err)
{
    product p = {.lattice = trl_lattice_look(lattice),
                 .lm = lm,
                 .backoff = backoff,
                 .factor = factor,
                 .sets = {.width = 3},
                 .pairs = {.width = 2},
                 .err = err};
    int code = 0;
    *out = NULL;
    if (!isfinite(factor))
        return trl__fail(err, TRL_EINVAL, "the factor of a language model must be a number");
    if (p.lattice.states > 0)
        code = compose(&p);
    if (code == 0)
        code = trl__draft_finish(&p.draft, lattice->words, out, err);
    if (code == 0)
        (*out)->reached_end = lattice->reached_end;
    trl__tuples_free(&p.sets);
    trl__tuples_free(&p.pairs);
    trl__draft_free(&p.draft);
    return code;
}
