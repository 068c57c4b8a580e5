/* What can be done to every arc and final weight at once. O(states + arcs), and sorting where arcs are compared. */
#include "fst/weighted.h"

#include <stdlib.h>
#include <trellis/fst_structure.h>

TRL__EACH(int, fst_map, (trl_fst * fst, const trl_fst_map_options *options, trl_error *err));

/* ---- Weights, one by one ---- */

static weight power(weight w, double exponent)
{
#if TRL__SEMIRING == 2
    return (weight)pow(w, exponent);
#elif TRL__SEMIRING == 3
    return (weight){(float)(w.value * exponent), (float)(w.second * exponent)};
#else
    return (weight)(w * exponent);
#endif
}

/* What is impossible stays so. */
static weight mapped(weight w, const trl_fst_map_options *o)
{
    if (is_zero(w))
        return w;
    switch (o->kind) {
    case TRL_MAP_INVERT: return divide(ONE, w);
    case TRL_MAP_TIMES: return times(w, from_public(o->weight));
    case TRL_MAP_PLUS: return plus(w, from_public(o->weight));
    case TRL_MAP_POWER: return power(w, o->power);
    case TRL_MAP_QUANTIZE: return quantize(w, o->delta);
    case TRL_MAP_REMOVE_WEIGHTS: return ONE;
    default: return w;
    }
}

/* First without writing: a machine whose weights have no image stays as it is. */
static int map_weights(trl_fst *fst, const trl_fst_map_options *o, trl_error *err)
{
    for (int write = 0; write < 2; write++)
        for (int32_t s = 0; s < fst->states; s++) {
            weight final = mapped(final_of(fst, s), o);
            int right = is_member(final);
            if (write)
                set_final(fst, s, final);
            for (arc *a = arcs_of(fst, s), *end = a + arc_count(fst, s); a < end; a++) {
                weight w = mapped(a->weight, o);
                right &= is_member(w);
                if (write)
                    a->weight = w;
            }
            if (!right)
                return trl__fail(err, TRL_ENUMBER, "a weight of state %d would become none of the %s semiring", (int)s,
                                 trl_semiring_name(fst->semiring));
        }
    return 0;
}

static void clear_labels(trl_fst *fst, int output)
{
    for (int32_t s = 0; s < fst->states; s++)
        for (arc *a = arcs_of(fst, s), *end = a + arc_count(fst, s); a < end; a++)
            *(output ? &a->olabel : &a->ilabel) = 0;
}

/* ---- One end ---- */

static int add_superfinal(trl_fst *fst, trl_error *err)
{
    int32_t states = fst->states, end = push_state(fst, err);
    int code = end < 0 ? end : 0;
    for (int32_t s = 0; code == 0 && s < states; s++) {
        weight final = final_of(fst, s);
        if (is_zero(final))
            continue;
        set_final(fst, s, ZERO);
        code = push_arc(fst, s, (arc){0, 0, final, end}, err);
    }
    if (code == 0)
        set_final(fst, end, ONE);
    return code;
}

/* ---- Arcs side by side ---- */

static int compare_places(const arc *x, const arc *y)
{
    if (x->ilabel != y->ilabel)
        return x->ilabel < y->ilabel ? -1 : 1;
    if (x->olabel != y->olabel)
        return x->olabel < y->olabel ? -1 : 1;
    return (x->next > y->next) - (x->next < y->next);
}

static int compare_arcs(const void *a, const void *b)
{
    const arc *x = a, *y = b;
    int places = compare_places(x, y);
    return places ? places : less(x->weight, y->weight) ? -1 : less(y->weight, x->weight);
}

/* Sorts, and joins neighbours with the same labels and next state: all of them, or those with the same weight. */
static void join_arcs(trl_fst *fst, int all)
{
    for (int32_t s = 0; s < fst->states; s++) {
        arc *arcs = arcs_of(fst, s);
        uint32_t count = arc_count(fst, s), kept = 0;
        if (count > 1)
            qsort(arcs, count, sizeof *arcs, compare_arcs);
        for (uint32_t i = 0; i < count; i++) {
            arc *last = kept > 0 ? &arcs[kept - 1] : NULL;
            if (!last || compare_places(last, &arcs[i]) != 0 || (!all && !same(last->weight, arcs[i].weight)))
                arcs[kept++] = arcs[i];
            else if (all)
                last->weight = plus(last->weight, arcs[i].weight);
        }
        fst->range[s].count = kept;
    }
}

/* ---- Other semirings ---- */

static trl_weight convert(trl_weight w, trl_semiring to)
{
    double cost = TRL__SEMIRING == 2 ? -log((double)w.value) : (double)w.value + w.second;
    if (to == TRL__SEMIRING)
        return w;
    if (isinf(cost) && cost > 0)
        return trl_weight_zero(to);
    return (trl_weight){(float)(to == TRL_REAL ? exp(-cost) : cost), 0};
}

/* A machine of the other semiring in the place of this one. */
static int convert_all(trl_fst *fst, trl_semiring to, trl_error *err)
{
    trl_fst *out;
    int code = trl_fst_create(to, &out, err);
    if (code < 0)
        return code;
    code = trl__fst_make_room(out, fst->states, trl_fst_arcs(fst), err);
    if (code == 0)
        code = trl_fst_add_states(out, fst->states, err);
    for (int32_t s = 0; code == 0 && s < fst->states; s++) {
        code = trl_fst_set_final(out, s, convert(to_public(final_of(fst, s)), to), err);
        for (const arc *a = arcs_of(fst, s), *end = a + arc_count(fst, s); code == 0 && a < end; a++)
            code = trl_fst_add_arc(out, s, (trl_arc){a->ilabel, a->olabel, convert(to_public(a->weight), to), a->next},
                                   err);
    }
    if (code == 0) {
        out->start = fst->start;
        trl_fst_set_symbols(out, trl_symbols_share(fst->isymbols), trl_symbols_share(fst->osymbols));
        trl__fst_swap(fst, out);
    }
    trl_fst_destroy(out);
    return code;
}

int FN(fst_map)(trl_fst *fst, const trl_fst_map_options *o, trl_error *err)
{
    switch (o->kind) {
    case TRL_MAP_IDENTITY: return 0;
    case TRL_MAP_SUPERFINAL: return add_superfinal(fst, err);
    case TRL_MAP_ARC_SUM: join_arcs(fst, 1); return 0;
    case TRL_MAP_ARC_UNIQUE: join_arcs(fst, 0); return 0;
    case TRL_MAP_INPUT_EPSILON: clear_labels(fst, 0); return 0;
    case TRL_MAP_OUTPUT_EPSILON: clear_labels(fst, 1); return 0;
    case TRL_MAP_TO_TROPICAL: return convert_all(fst, TRL_TROPICAL, err);
    case TRL_MAP_TO_LOG: return convert_all(fst, TRL_LOG, err);
    case TRL_MAP_TO_REAL: return convert_all(fst, TRL_REAL, err);
    case TRL_MAP_TO_LATTICE: return convert_all(fst, TRL_LATTICE, err);
    default: return map_weights(fst, o, err);
    }
}

#if TRL__FIRST
int trl_fst_map(trl_fst *fst, const trl_fst_map_options *options, trl_error *err)
{
    if ((int)options->kind < 0 || options->kind > TRL_MAP_TO_LATTICE)
        return trl__fail(err, TRL_EINVAL, "there is no map %d", (int)options->kind);
    if (options->kind == TRL_MAP_QUANTIZE && !(options->delta > 0))
        return trl__fail(err, TRL_EINVAL, "weights can't be quantized to multiples of %g", (double)options->delta);
    TRL__DISPATCH(fst->semiring, fst_map, (fst, options, err));
}
#endif
