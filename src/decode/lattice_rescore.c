/* Composition of a lattice with an n-gram model that is walked on demand: states of the result are pairs (state of the lattice, history). The
 * acceptor of fst/arpa.c has a back-off arc (label 0, the first of its state) from each history to the shorter one; it is taken only
 * where no arc has the word, so each pair has one successor per arc of the lattice, and what was deterministic stays so.
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

/* Goes on from a history with a word: its cost, or INFINITY. */
static double read_word(const trl_lattice_lm *lm, int32_t *history, int32_t label)
{
    double cost = 0;
    trl_arc arc;
    while (!find_arc(lm->fst, *history, label, &arc)) {
        if (*history == ROOT || !find_arc(lm->fst, *history, TRL_EPSILON, &arc))
            return INFINITY;
        cost += (double)arc.weight.value;
        *history = arc.next;
    }
    *history = arc.next;
    return cost + (double)arc.weight.value;
}

/* The cost of the sentence's end after a history. */
static double read_end(const trl_lattice_lm *lm, int32_t history)
{
    double cost = 0;
    trl_arc arc;
    while (isinf(trl_fst_final(lm->fst, history).value)) {
        if (history == ROOT || !find_arc(lm->fst, history, TRL_EPSILON, &arc))
            return INFINITY;
        cost += (double)arc.weight.value;
        history = arc.next;
    }
    return cost + (double)trl_fst_final(lm->fst, history).value;
}

/* ---- The composition ---- */

typedef struct product {
    trl_lattice_view lattice;
    const trl_lattice_lm *lm;
    double factor;
    trl__tuples pairs; /* (state of the lattice, history), as they are met */
    trl__lattice_draft draft;
    trl_error *err;
} product;

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

static int add_arc(product *p, int32_t from, int32_t history, trl_lattice_arc arc)
{
    double cost = 0;
    if (arc.word > 0) {
        int64_t label = label_of(p->lm, arc.word);
        if (label == TRL_NO_LABEL || !trl_symbols_name(p->lm->words, arc.word))
            return fail_word(p, arc.word);
        cost = read_word(p->lm, &history, (int32_t)label);
    }
    if (isinf(cost))
        return 0;
    int64_t next = trl__tuples_add(&p->pairs, (int32_t[]){arc.next, history});
    if (next < 0)
        return trl__fail_memory(p->err);
    arc.next = (int32_t)next;
    arc.graph = (float)((double)arc.graph + p->factor * cost);
    return trl__draft_add_arc(&p->draft, from, &arc, transitions_of(p, arc.transition, arc.duration), p->err);
}

static int expand(product *p, int32_t pair)
{
    const trl_lattice_view *l = &p->lattice;
    int32_t state = trl__tuples_get(&p->pairs, pair)[0], history = trl__tuples_get(&p->pairs, pair)[1];
    int code = 0;
    for (uint32_t a = l->first[state]; code == 0 && a < l->first[state + 1]; a++)
        code = add_arc(p, pair, history, l->arcs[a]);
    trl_lattice_end end = l->ends[state];
    double cost = code == 0 && end.graph != INFINITY ? read_end(p->lm, history) : INFINITY;
    if (isinf(cost))
        return code;
    end.graph = (float)((double)end.graph + p->factor * cost);
    return trl__draft_set_end(&p->draft, pair, &end, transitions_of(p, end.transition, end.duration), p->err);
}

static int compose(product *p)
{
    int code = trl__tuples_add(&p->pairs, (int32_t[]){0, trl_fst_start(p->lm->fst)}) < 0 ? trl__fail_memory(p->err) : 0;
    for (size_t i = 0; code == 0 && i < p->pairs.count; i++)
        code = expand(p, (int32_t)i);
    if (code == 0 && p->draft.end_count == 0)
        return trl__fail(p->err, TRL_EINVAL, "%s gives no path of the lattice a probability", p->lm->path);
    return code;
}

int trl_lattice_rescore(const trl_lattice *lattice, const trl_lattice_lm *lm, double factor, trl_lattice **out,
                        trl_error *err)
{
    product p = {.lattice = trl_lattice_look(lattice), .lm = lm, .factor = factor, .pairs = {.width = 2}, .err = err};
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
    trl__tuples_free(&p.pairs);
    trl__draft_free(&p.draft);
    return code;
}
