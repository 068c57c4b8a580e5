/* Contexts: C∘(L∘G) without C. A state is one of the machine before and the units read last, one less than the tree's
 * window has. The next unit completes the window, and the HMM of the unit at its centre is read: the output is ahead of
 * the input by as many units as the window has behind its centre. At the start the centre is still empty (a symbol is
 * read), and at the end the window is filled up with TRL__NOTHING. Symbols are read as they come.
 *
 * An HMM is a unit with a triple for each state: windows between which the tree does not tell are one. Cost: O(states
 * and arcs of the result), and a look-up in the tree for each distinct window.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"

#include <string.h>

#define ENDED(left) (-1 - (left)) /* in place of a state: so many units of TRL__NOTHING are to come */

typedef struct expander {
    trl__network_job *job;
    const trl_fst *in;
    trl_fst *out;
    trl_error *err;
    int32_t width, centre;
    int32_t silent;     /* the symbol where there is no unit at the centre */
    trl__tuples states; /* by state of the result: state, units read last */
    trl__tuples windows;
    int32_t *hmm; /* by window */
    size_t hmm_capacity;
} expander;

/* ---- HMMs ---- */

static int32_t find_triple(const expander *x, const int32_t *window, int32_t state)
{
    const trl_model *model = x->job->model;
    int32_t unit = window[x->centre];
    if (!model->tree)
        return model->unit_triple[unit] + state;
    return trl__model_find_triple(model, unit, state, trl__tree_find(model->tree, window, state));
}

/* The number of the HMM at the window's centre, or a failure. */
static int32_t find_hmm(expander *x, const int32_t *window)
{
    int32_t key[TRL__STATES_MOST + 1];
    size_t known = x->windows.count;
    int64_t number = trl__tuples_add(&x->windows, window);
    if (number < 0)
        return trl__fail_memory(x->err);
    if ((size_t)number < known)
        return x->hmm[number];
    int32_t states = trl__shape_of(x->job->map, window[x->centre])->states;
    key[0] = window[x->centre];
    for (size_t s = 0; s + 1 < x->job->hmms.width; s++) {
        key[s + 1] = (int32_t)s < states ? find_triple(x, window, (int32_t)s) : -1;
        if ((int32_t)s < states && key[s + 1] < 0)
            return trl__fail(x->err, TRL_ECORRUPT, "the model's tree chooses a tied state that its unit does not have");
    }
    int64_t hmm = trl__tuples_add(&x->job->hmms, key);
    if (hmm < 0 || TRL_GROW(x->hmm, x->hmm_capacity, (size_t)number + 1) < 0)
        return trl__fail_memory(x->err);
    return x->hmm[number] = (int32_t)hmm;
}

/* ---- States ---- */

static int32_t find_state(expander *x, int32_t state, const int32_t *units)
{
    int32_t key[TRL__WIDEST_CONTEXT + 1] = {state};
    for (int32_t k = 0; k + 1 < x->width; k++)
        key[k + 1] = state == ENDED(0) ? TRL__NOTHING : units[k];
    size_t known = x->states.count;
    int64_t number = trl__tuples_add(&x->states, key);
    if (number < 0)
        return trl__fail_memory(x->err);
    int32_t added = (int32_t)number;
    int code = (size_t)number < known ? 0 : trl__network_add_state(x->job, x->out, &added, x->err);
    return code < 0 ? code : added;
}

/* Shifts the unit into the window, and adds the arc that reads what is then at its centre. */
static int add_arc(expander *x, int32_t from, const int32_t *units, int32_t unit, int32_t word, trl_weight weight,
                   int32_t next)
{
    int32_t window[TRL__WIDEST_CONTEXT], label = x->silent;
    for (int32_t k = 0; k + 1 < x->width; k++)
        window[k] = units[k];
    window[x->width - 1] = unit;
    if (window[x->centre] != TRL__NOTHING) {
        int32_t hmm = find_hmm(x, window);
        if (hmm < 0)
            return hmm;
        label = x->job->symbols + 1 + hmm;
    }
    int32_t to = find_state(x, next, window + 1);
    return to < 0 ? to : trl_fst_add_arc(x->out, from, (trl_arc){label, word, weight, to}, x->err);
}

static int add_end(expander *x, int32_t from, const int32_t *units, int32_t left, trl_weight weight)
{
    if (left == 0)
        return trl_fst_set_final(x->out, from, weight, x->err);
    return add_arc(x, from, units, TRL__NOTHING, 0, weight, ENDED(left - 1));
}

static int expand(expander *x, int32_t from)
{
    int32_t key[TRL__WIDEST_CONTEXT + 1], units = (int32_t)x->job->model->units.count;
    memcpy(key, trl__tuples_get(&x->states, from), x->states.width * sizeof *key);
    if (key[0] < 0)
        return add_end(x, from, key + 1, -1 - key[0], trl_weight_one(TRL_LOG));
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(x->in, key[0]); i++) {
        trl_arc a = trl_fst_arc(x->in, key[0], i);
        if (a.ilabel <= units) {
            code = add_arc(x, from, key + 1, a.ilabel - 1, a.olabel, a.weight, a.next);
        } else {
            int32_t to = find_state(x, a.next, key + 1);
            a.ilabel -= units;
            a.next = to;
            code = to < 0 ? to : trl_fst_add_arc(x->out, from, a, x->err);
        }
    }
    trl_weight final = trl_fst_final(x->in, key[0]);
    return code < 0 || isinf(final.value) ? code : add_end(x, from, key + 1, x->width - 1 - x->centre, final);
}

static int expand_all(expander *x)
{
    int32_t nothing[TRL__WIDEST_CONTEXT];
    for (int k = 0; k < TRL__WIDEST_CONTEXT; k++)
        nothing[k] = TRL__NOTHING;
    int code = trl__network_new(0, &x->out, x->err);
    int32_t start = code < 0 ? code : find_state(x, trl_fst_start(x->in), nothing);
    code = start < 0 ? start : trl_fst_set_start(x->out, start, x->err);
    for (int32_t s = 0; code == 0 && s < trl_fst_states(x->out); s++)
        code = expand(x, s);
    return code;
}

int trl__network_contexts(trl__network_job *job, const trl_fst *words, trl_fst **out, trl_error *err)
{
    const trl__tree *tree = job->model->tree;
    int32_t states = 0;
    for (int32_t t = 0; t < job->model->topologies; t++)
        states = job->model->topology[t].states > states ? job->model->topology[t].states : states;
    job->hmms.width = (size_t)states + 1;
    expander x = {.job = job,
                  .in = words,
                  .err = err,
                  .width = tree ? tree->width : 1,
                  .centre = tree ? tree->centre : 0,
                  .silent = ++job->symbols};
    x.states.width = x.windows.width = (size_t)x.width;
    int code = expand_all(&x);
    trl__tuples_free(&x.states);
    trl__tuples_free(&x.windows);
    trl__free(x.hmm);
    if (code < 0) {
        trl_fst_destroy(x.out);
        x.out = NULL;
    }
    *out = x.out;
    return code;
}
