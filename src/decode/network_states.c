/* HMMs into transitions: H∘(C∘L∘G) without H. A state is one of the machine before, where HMMs begin, or (HMM, state in
 * it, where it leads): arcs that read the same HMM and lead to the same state share its states. An arc is the
 * transition by which a state is left, staying excepted: loops come last (network_close.c), because machines with loops
 * on them can neither be determinized well nor made small.
 *
 * Transitions are unit, state, tied state and arc, so units are told apart at once, and windows of a unit that differ
 * in later states only share the first ones: determinization brings them together, and joining states does so from the
 * other end.
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"
#include "model/topology.h"

#include <trellis/fst_optimize.h>

#define OUTSIDE (-1) /* in place of an HMM: the state is one of the machine before */

typedef struct expander {
    const trl__network_job *job;
    const trl_fst *in;
    trl_fst *out;
    trl_error *err;
    trl__tuples states; /* by state of the result: HMM, its state, state of the machine before */
} expander;

static int32_t find_state(expander *x, int32_t hmm, int32_t state, int32_t behind)
{
    size_t known = x->states.count;
    int64_t number = trl__tuples_add(&x->states, (int32_t[]){hmm, state, behind});
    if (number < 0)
        return trl__fail_memory(x->err);
    int32_t added = (int32_t)number;
    int code = (size_t)number < known ? 0 : trl__network_add_state(x->job, x->out, &added, x->err);
    return code < 0 ? code : added;
}

static int add_arc(expander *x, int32_t from, trl_arc arc, int32_t hmm, int32_t state, int32_t behind)
{
    arc.next = find_state(x, hmm, state, behind);
    return arc.next < 0 ? arc.next : trl_fst_add_arc(x->out, from, arc, x->err);
}

/* The arcs by which a state of the HMM is left; `arc` has the word, and what it costs to get there. */
static int leave_state(expander *x, int32_t from, trl_arc arc, int32_t hmm, int32_t state, int32_t behind)
{
    const int32_t *key = trl__tuples_get(&x->job->hmms, hmm);
    const trl__topology *topology = trl__unit_topology(x->job->model, key[0]);
    int32_t first = topology->first[state + 1];
    float cost = arc.weight.value;
    int code = 0;
    for (int32_t i = first; code == 0 && i < topology->first[state + 2]; i++) {
        int32_t to = topology->arcs[i].to;
        arc.ilabel = x->job->model->triple[key[state + 1]].transition + i - first;
        arc.weight.value = cost + x->job->cost[arc.ilabel];
        if (to != state)
            code = to == TRL_EXIT ? add_arc(x, from, arc, OUTSIDE, 0, behind) : add_arc(x, from, arc, hmm, to, behind);
    }
    return code;
}

static float scaled(const expander *x, float log_probability)
{
    return (float)(-x->job->options.transition_scale * (double)log_probability);
}

/* An HMM is entered: its first states are left at once, with their first frame. Passing over it reads a symbol of its
 * own. */
static int enter_hmm(expander *x, int32_t from, trl_arc arc, int32_t hmm)
{
    const trl__shape *shape = trl__shape_of(x->job->map, trl__tuples_get(&x->job->hmms, hmm)[0]);
    float cost = arc.weight.value;
    int32_t behind = arc.next;
    int code = 0;
    for (int32_t s = 0; code == 0 && s < shape->states; s++)
        if (shape->entry[s] > -INFINITY) {
            arc.weight.value = cost + scaled(x, shape->entry[s]);
            code = leave_state(x, from, arc, hmm, s, behind);
        }
    if (code == 0 && shape->skip > -INFINITY) {
        arc.ilabel = x->job->model->transitions + x->job->symbols + 1;
        arc.weight.value = cost + scaled(x, shape->skip);
        code = add_arc(x, from, arc, OUTSIDE, 0, behind);
    }
    return code;
}

static int expand(expander *x, int32_t from)
{
    const int32_t *key = trl__tuples_get(&x->states, from);
    int32_t hmm = key[0], state = key[1], behind = key[2];
    if (hmm != OUTSIDE)
        return leave_state(x, from, (trl_arc){0}, hmm, state, behind);
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(x->in, behind); i++) {
        trl_arc a = trl_fst_arc(x->in, behind, i);
        if (a.ilabel > x->job->symbols) {
            code = enter_hmm(x, from, a, a.ilabel - x->job->symbols - 1);
        } else {
            a.ilabel += x->job->model->transitions;
            code = add_arc(x, from, a, OUTSIDE, 0, a.next);
        }
    }
    return code < 0 ? code : trl_fst_set_final(x->out, from, trl_fst_final(x->in, behind), x->err);
}

static int expand_all(expander *x)
{
    int code = trl__network_new(0, &x->out, x->err);
    int32_t start = code < 0 ? code : find_state(x, OUTSIDE, 0, trl_fst_start(x->in));
    code = start < 0 ? start : trl_fst_set_start(x->out, start, x->err);
    for (int32_t s = 0; code == 0 && s < trl_fst_states(x->out); s++)
        code = expand(x, s);
    return code;
}

/* *fst becomes the deterministic machine. */
static int determinize(const trl__network_job *job, trl_fst **fst, trl_error *err)
{
    trl_fst *out;
    uint32_t properties;
    int code = trl_fst_properties(*fst, &properties, err);
    if (code < 0 || (properties & TRL_FST_IDETERMINISTIC))
        return code;
    trl_determinize_options o = trl_determinize_defaults();
    o.delta = TRL__NETWORK_DELTA;
    o.most_states = job->options.most_states;
    code = trl_fst_determinize(*fst, &o, &out, err);
    if (code < 0)
        return code;
    trl_fst_destroy(*fst);
    *fst = out;
    return 0;
}

static int erase_symbols(const trl__network_job *job, trl_fst *fst, trl_error *err)
{
    size_t count = (size_t)job->symbols + 1;
    int32_t *from = trl__alloc(count, sizeof *from), *to = trl__alloc_zero(count, sizeof *to);
    for (size_t i = 0; from && i < count; i++)
        from[i] = job->model->transitions + 1 + (int32_t)i;
    int code = from && to ? trl_fst_relabel(fst, TRL_SIDE_INPUT, from, to, count, err) : trl__fail_memory(err);
    trl__free(from);
    trl__free(to);
    return code;
}

int trl__network_states(const trl__network_job *job, const trl_fst *contexts, trl_fst **out, trl_error *err)
{
    expander x = {.job = job, .in = contexts, .err = err, .states = {.width = 3}};
    int code = expand_all(&x);
    trl__tuples_free(&x.states);
    if (code == 0)
        code = determinize(job, &x.out, err);
    if (code == 0)
        code = trl__network_join(x.out, err);
    if (code == 0)
        code = erase_symbols(job, x.out, err);
    if (code == 0)
        code = trl__network_shorten(x.out, err);
    if (code == 0)
        code = trl__network_join(x.out, err);
    if (code < 0) {
        trl_fst_destroy(x.out);
        x.out = NULL;
    }
    *out = x.out;
    return code;
}
