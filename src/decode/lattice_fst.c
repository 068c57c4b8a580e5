#include "decode/lattice_fst.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>

/* ---- Words in, words out ---- */

static trl_weight weight_of(const trl_lattice_scale *scale, float graph, float acoustic, int32_t word)
{
    if (!scale)
        return (trl_weight){graph, acoustic};
    double cost = scale->graph * graph + scale->acoustic * acoustic + (word > 0 ? scale->insertion : 0);
    return (trl_weight){(float)cost, 0};
}

static int copy_arcs(const trl_lattice_view *l, const trl_lattice_scale *scale, trl_fst *fst, trl_error *err)
{
    int code = 0;
    for (int32_t s = 0; code == 0 && s < l->states; s++) {
        for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
            const trl_lattice_arc *arc = &l->arcs[a];
            trl_weight weight = weight_of(scale, arc->graph, arc->acoustic, arc->word);
            code = trl_fst_add_arc(fst, s, (trl_arc){arc->word, arc->word, weight, arc->next}, err);
        }
        if (code == 0 && l->ends[s].graph != INFINITY)
            code = trl_fst_set_final(fst, s, weight_of(scale, l->ends[s].graph, l->ends[s].acoustic, 0), err);
    }
    return code;
}

int trl_lattice_to_fst(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_fst **out, trl_error *err)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    int code = trl_fst_create(scale ? TRL_TROPICAL : TRL_LATTICE, out, err);
    if (code == 0 && l.states > 0)
        code = trl_fst_add_states(*out, l.states, err);
    if (code == 0 && l.states > 0)
        code = trl_fst_set_start(*out, 0, err);
    if (code == 0)
        code = copy_arcs(&l, scale, *out, err);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
        return code;
    }
    trl_fst_set_symbols(*out, trl_symbols_share(lattice->words), trl_symbols_share(lattice->words));
    return 0;
}

/* ---- Transitions in, words out ---- */

typedef struct expansion {
    const trl_lattice_view *lattice;
    trl_fst *fst;
    trl_error *err;
} expansion;

/* A chain from a state on: the first arc has word and costs, each reads a transition; `last` is where it ends, TRL_NO_STATE for a new state,
 * which *end becomes. */
static int add_chain(const expansion *x, int32_t from, trl_arc arc, uint32_t first, uint32_t count, int32_t last,
                     int32_t *end)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && (i < count || (i == 0 && last != TRL_NO_STATE)); i++) {
        int is_last = i + 1 >= count;
        arc.ilabel = count > 0 ? x->lattice->transitions[first + i] : 0;
        arc.next = last;
        if (!is_last || last == TRL_NO_STATE)
            code = trl_fst_add_state(x->fst, &arc.next, x->err);
        if (code == 0)
            code = trl_fst_add_arc(x->fst, from, arc, x->err);
        from = arc.next;
        arc.olabel = 0;
        arc.weight = (trl_weight){0, 0};
    }
    *end = from;
    return code;
}

static int expand_state(const expansion *x, int32_t s)
{
    const trl_lattice_view *l = x->lattice;
    int32_t end;
    int code = 0;
    for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
        const trl_lattice_arc *arc = &l->arcs[a];
        trl_arc head = {0, arc->word, {arc->graph, arc->acoustic}, 0};
        code = add_chain(x, s, head, arc->transition, arc->duration, arc->next, &end);
    }
    const trl_lattice_end *e = &l->ends[s];
    if (code < 0 || e->graph == INFINITY)
        return code;
    trl_weight costs = {e->graph, e->acoustic};
    code = add_chain(x, s, (trl_arc){0, 0, costs, 0}, e->transition, e->duration, TRL_NO_STATE, &end);
    if (code < 0)
        return code;
    return trl_fst_set_final(x->fst, end, e->duration > 0 ? (trl_weight){0, 0} : costs, x->err);
}

int trl__lattice_frames_fst(const trl_lattice *lattice, trl_fst **out, trl_error *err)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    expansion x = {.lattice = &l, .err = err};
    int code = trl_fst_create(TRL_LATTICE, &x.fst, err);
    *out = x.fst;
    if (code == 0 && l.states > 0)
        code = trl_fst_add_states(x.fst, l.states, err);
    if (code == 0 && l.states > 0)
        code = trl_fst_set_start(x.fst, 0, err);
    for (int32_t s = 0; code == 0 && s < l.states; s++)
        code = expand_state(&x, s);
    if (code < 0) {
        trl_fst_destroy(x.fst);
        *out = NULL;
    }
    return code;
}

/* ---- From machines ---- */

static int draft_state(const trl_fst *fst, int32_t s, trl__lattice_draft *draft, int transitions, trl_error *err)
{
    trl_semiring semiring = trl_fst_semiring(fst);
    uint32_t arcs = trl_fst_arc_count(fst, s);
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < arcs; i++) {
        trl_arc a = trl_fst_arc(fst, s, i);
        if (trl_weight_is_zero(semiring, a.weight))
            continue;
        trl_lattice_arc arc = {a.next, a.olabel, a.weight.value, a.weight.second, 0, transitions && a.ilabel > 0};
        code = trl__draft_add_arc(draft, s, &arc, &a.ilabel, err);
    }
    trl_weight final = trl_fst_final(fst, s);
    if (code < 0 || trl_weight_is_zero(semiring, final))
        return code;
    return trl__draft_set_end(draft, s, &(trl_lattice_end){final.value, final.second, 0, 0}, NULL, err);
}

int trl__lattice_draft_fst(const trl_fst *fst, trl__lattice_draft *draft, int transitions, trl_error *err)
{
    int code = 0;
    draft->start = trl_fst_start(fst) == TRL_NO_STATE ? 0 : trl_fst_start(fst);
    for (int32_t s = 0; code == 0 && trl_fst_start(fst) != TRL_NO_STATE && s < trl_fst_states(fst); s++)
        code = draft_state(fst, s, draft, transitions, err);
    return code;
}

int trl_lattice_from_fst(const trl_fst *fst, trl_lattice **out, trl_error *err)
{
    trl__lattice_draft draft = {0};
    trl_error reason;
    *out = NULL;
    if (trl_fst_semiring(fst) == TRL_REAL)
        return trl__fail(err, TRL_EINVAL, "a lattice has costs, not probabilities: map the machine to log or tropical");
    int code = trl__lattice_draft_fst(fst, &draft, 0, err);
    if (code == 0) {
        trl_symbols *words = (trl_symbols *)(uintptr_t)trl_fst_output_symbols(fst);
        code = trl__draft_finish(&draft, words, out, &reason);
        if (code < 0)
            code = trl__fail(err, code == TRL_EFORMAT ? TRL_EINVAL : code, "%s", reason.text);
    }
    trl__draft_free(&draft);
    return code;
}

/* ---- Scaled copies ---- */

static int copy_scaled(const trl_lattice_view *l, const trl_lattice_scale *scale, trl_lattice *to, trl_error *err)
{
    int code = 0;
    for (int32_t s = 0; code == 0 && s < l->states; s++) {
        code = trl__lattice_add_state(to, err);
        for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
            trl_lattice_arc arc = l->arcs[a];
            arc.graph = (float)(scale->graph * arc.graph + (arc.word > 0 ? scale->insertion : 0));
            arc.acoustic = (float)(scale->acoustic * arc.acoustic);
            code = trl__lattice_add_arc(to, &arc, arc.duration > 0 ? l->transitions + arc.transition : NULL, err);
        }
        trl_lattice_end end = l->ends[s];
        if (code < 0 || end.graph == INFINITY)
            continue;
        end.graph = (float)(scale->graph * end.graph);
        end.acoustic = (float)(scale->acoustic * end.acoustic);
        code = trl__lattice_set_end(to, &end, end.duration > 0 ? l->transitions + end.transition : NULL, err);
    }
    return code < 0 ? code : trl__lattice_finish(to, err);
}

int trl_lattice_rescale(const trl_lattice *lattice, const trl_lattice_scale *scale, trl_lattice **out, trl_error *err)
{
    trl_lattice_view l = trl_lattice_look(lattice);
    int code = trl__lattice_create(lattice->words, out, err);
    if (code == 0)
        code = copy_scaled(&l, scale, *out, err);
    if (code < 0) {
        trl_lattice_destroy(*out);
        *out = NULL;
        return code;
    }
    (*out)->reached_end = l.reached_end;
    return 0;
}
