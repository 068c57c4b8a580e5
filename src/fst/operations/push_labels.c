/* Pushing of output labels. The potential of a state is the longest string that all outputs from it to the ends begin
 * with (towards the ends: that all outputs from the start to it end with). An arc takes in the potential of the state
 * it leads to and leaves out that of its own; where more than one label is then to be written, states that read nothing
 * follow it, shared by arcs that go on alike.
 *
 * Strings are lists of shared cells (label_strings.h), those towards the ends with the last label first, so that either
 * way the common part is at the front. Components in topological order; within a cyclic one again and again until
 * nothing gets shorter.
 */
#include "fst/components.h"
#include "fst/label_strings.h"
#include "fst/push_labels.h"
#include "fst/weighted.h"

TRL__EACH(int, push_labels, (trl_fst * fst, int to_final, int remove_affix, trl_error *err));

#define UNKNOWN (-3) /* no path, as far as is known */

typedef struct pushing {
    trl_fst *fst;
    trl_fst *out;
    int to_final;
    trl__tuples strings;
    int32_t *potential; /* by state */
    int32_t *letters;   /* of the string at hand */
    size_t letter_capacity;
    trl__tuples chains; /* (state, what is still to be written before it): states behind those of fst */
} pushing;

/* The longest common beginning. */
static int32_t common(pushing *p, int32_t a, int32_t b)
{
    size_t n = 0;
    if (a == b || a == UNKNOWN || b == UNKNOWN)
        return a == UNKNOWN ? b : a;
    for (; a != TRL__EMPTY && b != TRL__EMPTY; n++) {
        int32_t label = trl__string_first(&p->strings, a);
        if (label != trl__string_first(&p->strings, b))
            break;
        if (TRL_GROW(p->letters, p->letter_capacity, n + 1) < 0)
            return TRL__FAILED;
        p->letters[n] = label;
        a = trl__string_rest(&p->strings, a);
        b = trl__string_rest(&p->strings, b);
    }
    return trl__string_join(&p->strings, p->letters, n, TRL__EMPTY);
}

/* ---- Potentials ---- */

/* One look at the arcs of a state. Returns whether a potential changed, or TRL_ENOMEM. */
static int improve(pushing *p, int32_t s)
{
    int changed = 0;
    const arc *arcs = arcs_of(p->fst, s);
    for (uint32_t i = 0; i < arc_count(p->fst, s); i++) {
        int32_t from = p->to_final ? s : arcs[i].next, to = p->to_final ? arcs[i].next : s;
        if (p->potential[from] == UNKNOWN || p->potential[to] == TRL__EMPTY || is_zero(arcs[i].weight))
            continue;
        int32_t longer = trl__string_put(&p->strings, arcs[i].olabel, p->potential[from]);
        int32_t found = longer == TRL__FAILED ? TRL__FAILED : common(p, p->potential[to], longer);
        if (found == TRL__FAILED)
            return TRL_ENOMEM;
        changed |= found != p->potential[to];
        p->potential[to] = found;
    }
    return changed;
}

static int find_potentials(pushing *p, const trl__components *c, const int32_t *member, const int32_t *begin)
{
    for (int32_t s = 0; s < p->fst->states; s++)
        p->potential[s] = !p->to_final && !is_zero(final_of(p->fst, s)) ? TRL__EMPTY : UNKNOWN;
    if (p->to_final)
        p->potential[p->fst->start] = TRL__EMPTY;
    for (int32_t k = 0; k < c->count; k++) {
        int32_t at = p->to_final ? c->count - 1 - k : k;
        for (int changed = 1; changed;) {
            changed = 0;
            for (int32_t i = begin[at]; i < begin[at + 1]; i++) {
                int found = improve(p, member[i]);
                if (found < 0)
                    return found;
                changed |= found;
            }
            changed &= c->cyclic[at];
        }
    }
    return 0;
}

/* ---- The new arcs ---- */

/* What is left of a string when the potential, with which it begins, is taken away. */
static int32_t taken_off(const pushing *p, int32_t s, int32_t potential)
{
    if (s == potential)
        return TRL__EMPTY;
    for (; potential != TRL__EMPTY; potential = trl__string_rest(&p->strings, potential))
        s = trl__string_rest(&p->strings, s);
    return s;
}

/* Strings towards the ends are written from their last label on. */
static int32_t as_written(pushing *p, int32_t s)
{
    if (!p->to_final || s == TRL__EMPTY)
        return s;
    int32_t turned = TRL__EMPTY;
    for (; s != TRL__EMPTY && turned != TRL__FAILED; s = trl__string_rest(&p->strings, s))
        turned = trl__string_put(&p->strings, trl__string_first(&p->strings, s), turned);
    return turned;
}

/* An arc that writes a string before it is at `next`. */
static int emit(pushing *p, int32_t from, arc a, int32_t string, trl_error *err)
{
    a.olabel = 0;
    if (string != TRL__EMPTY) {
        int32_t rest = trl__string_rest(&p->strings, string);
        a.olabel = trl__string_first(&p->strings, string);
        if (rest != TRL__EMPTY) {
            int64_t chain = trl__tuples_add(&p->chains, (int32_t[]){a.next, rest});
            if (chain < 0 || chain >= INT32_MAX - p->fst->states)
                return trl__fail_memory(err);
            a.next = p->fst->states + (int32_t)chain;
        }
    }
    return push_arc(p->out, from, a, err);
}

static int emit_state(pushing *p, int32_t s, int32_t affix, trl_error *err)
{
    const arc *arcs = arcs_of(p->fst, s);
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < arc_count(p->fst, s); i++) {
        int32_t from = p->potential[p->to_final ? s : arcs[i].next], to = p->potential[p->to_final ? arcs[i].next : s];
        if (from == UNKNOWN || to == UNKNOWN || is_zero(arcs[i].weight)) { /* on no path */
            code = push_arc(p->out, s, arcs[i], err);
            continue;
        }
        int32_t string = trl__string_put(&p->strings, arcs[i].olabel, from);
        string = string == TRL__FAILED ? string : as_written(p, taken_off(p, string, to));
        code = string == TRL__FAILED ? trl__fail_memory(err) : emit(p, s, arcs[i], string, err);
    }
    weight final = final_of(p->fst, s);
    int32_t last = p->to_final && p->potential[s] != UNKNOWN ? p->potential[s] : TRL__EMPTY;
    if (code < 0 || is_zero(final))
        return code;
    last = last == TRL__EMPTY ? last : as_written(p, taken_off(p, last, affix));
    if (last == TRL__EMPTY)
        set_final(p->out, s, final);
    else if (last == TRL__FAILED)
        code = trl__fail_memory(err);
    else /* state 0 of the chains is the end */
        code = emit(p, s, (arc){0, 0, final, p->fst->states}, last, err);
    return code;
}

/* States that write what is left of a string, until no arc wants a new one. */
static int emit_chains(pushing *p, trl_error *err)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < p->chains.count; i++) {
        const int32_t *key = trl__tuples_get(&p->chains, (int64_t)i);
        int32_t next = key[0], string = key[1], s = push_state(p->out, err);
        if (s < 0)
            return s;
        if (next == TRL_NO_STATE)
            set_final(p->out, s, ONE);
        else
            code = emit(p, s, (arc){0, 0, ONE, next}, string, err);
    }
    return code;
}

/* What all outputs have in common: given back in front of the start, or, towards the ends, what is taken from each
 * end. */
static int32_t find_affix(pushing *p, int remove_affix)
{
    int32_t affix = UNKNOWN;
    if (!p->to_final && remove_affix)
        return TRL__EMPTY;
    if (!p->to_final) {
        affix = p->potential[p->fst->start];
        if (trl__fst_leads_to(p->fst, p->fst->start))
            return affix;
        p->potential[p->fst->start] = TRL__EMPTY; /* its own arcs write it */
        return TRL__EMPTY;
    }
    for (int32_t s = 0; remove_affix && s < p->fst->states && affix != TRL__FAILED; s++)
        if (!is_zero(final_of(p->fst, s)))
            affix = common(p, affix, p->potential[s]);
    return affix == UNKNOWN ? TRL__EMPTY : affix;
}

static int rebuild(pushing *p, int32_t affix, trl_error *err)
{
    int code = trl_fst_add_states(p->out, p->fst->states, err);
    p->out->start = p->fst->start;
    if (code == 0 && p->to_final && trl__tuples_add(&p->chains, (int32_t[]){TRL_NO_STATE, TRL__EMPTY}) < 0)
        code = trl__fail_memory(err);
    for (int32_t s = 0; code == 0 && s < p->fst->states; s++)
        code = emit_state(p, s, affix, err);
    int64_t front = 0;
    if (code == 0 && !p->to_final && affix != TRL__EMPTY) { /* a state before the start */
        front = trl__tuples_add(&p->chains, (int32_t[]){p->fst->start, affix});
        code = front < 0 ? trl__fail_memory(err) : 0;
        p->out->start = p->fst->states + (int32_t)front;
    }
    return code < 0 ? code : emit_chains(p, err);
}

int FN(push_labels)(trl_fst *fst, int to_final, int remove_affix, trl_error *err)
{
    if (fst->start == TRL_NO_STATE)
        return 0;
    pushing p = {.fst = fst, .to_final = to_final, .strings = {.width = 2}, .chains = {.width = 2}};
    trl__components c;
    int code = trl__components_find(fst, &c, err);
    if (code < 0)
        return code;
    int32_t *member = NULL, *begin = NULL;
    p.potential = trl__alloc((size_t)fst->states, sizeof *p.potential);
    code = p.potential && trl__components_members(&c, fst->states, &member, &begin) == 0
               ? find_potentials(&p, &c, member, begin)
               : TRL_ENOMEM;
    int32_t affix = code == 0 && p.potential[fst->start] != UNKNOWN ? find_affix(&p, remove_affix) : TRL__EMPTY;
    if (code < 0 || affix == TRL__FAILED)
        code = trl__fail_memory(err);
    if (code == 0)
        code = trl__fst_like(fst, &p.out, err);
    if (code == 0)
        code = rebuild(&p, affix, err);
    if (code == 0)
        trl__fst_swap(fst, p.out);
    trl_fst_destroy(p.out);
    trl__components_free(&c);
    trl__free(member);
    trl__free(begin);
    trl__free(p.potential);
    trl__free(p.letters);
    trl__tuples_free(&p.strings);
    trl__tuples_free(&p.chains);
    return code;
}

#if TRL__FIRST
int trl__fst_push_labels(trl_fst *fst, int to_final, int remove_affix, trl_error *err)
{
    TRL__DISPATCH(fst->semiring, push_labels, (fst, to_final, remove_affix, err));
}
#endif
