/* Epsilons that can be removed without making the machine larger:
 *
 *   - an arc into a state with a single way on: both become one, if one of them reads nothing and one writes nothing;
 *   - an epsilon that alone leads to its state: the state's arcs become those of the state before;
 *   - an epsilon to a bare end: the state before it is the end.
 *
 * Weights move towards the start. Done until nothing changes; each round is O(states + arcs). What stays is where many
 * ways meet many (back-off, the ends of words that go on as others).
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"

typedef struct pending {
    trl_arc arc;
    int shared; /* a copy: others may have one too */
} pending;

typedef struct shortener {
    const trl_fst *in;
    trl_fst *out;
    trl_error *err;
    uint32_t *entering; /* by state: arcs that lead there */
    pending *stack;     /* arcs of the state at hand, the next one last */
    size_t count, capacity;
    float final; /* of the state at hand */
    int changed;
} shortener;

static int push(shortener *x, trl_arc arc, int shared)
{
    if (TRL_GROW(x->stack, x->capacity, x->count + 1) < 0)
        return trl__fail_memory(x->err);
    x->stack[x->count++] = (pending){arc, shared};
    return 0;
}

static int push_arcs(shortener *x, int32_t state, int32_t word, float cost)
{
    int code = 0;
    for (uint32_t i = trl_fst_arc_count(x->in, state); code == 0 && i-- > 0;) {
        trl_arc a = trl_fst_arc(x->in, state, i);
        a.olabel = word ? word : a.olabel;
        a.weight.value += cost;
        code = push(x, a, 0);
    }
    return code;
}

/* Does the arc go on in one way, so that both can be one? */
static int can_merge(const shortener *x, trl_arc a, float final)
{
    if (!isinf(final) || trl_fst_arc_count(x->in, a.next) != 1)
        return 0;
    trl_arc b = trl_fst_arc(x->in, a.next, 0);
    return (a.ilabel == 0 || b.ilabel == 0) && (a.olabel == 0 || b.olabel == 0);
}

static int can_move(const shortener *x, int32_t state, pending p, float final)
{
    trl_arc a = p.arc;
    if (p.shared || a.ilabel != 0 || x->entering[a.next] != 1 || a.next == state || a.next == trl_fst_start(x->in) ||
        (!isinf(final) && (!isinf(x->final) || a.olabel != 0)))
        return 0;
    for (uint32_t i = 0; a.olabel != 0 && i < trl_fst_arc_count(x->in, a.next); i++)
        if (trl_fst_arc(x->in, a.next, i).olabel != 0)
            return 0;
    return 1;
}

static int take(shortener *x, int32_t state, pending p)
{
    trl_arc a = p.arc;
    float final = trl_fst_final(x->in, a.next).value;
    if (can_merge(x, a, final)) {
        trl_arc b = trl_fst_arc(x->in, a.next, 0);
        x->changed = 1;
        return push(x,
                    (trl_arc){a.ilabel ? a.ilabel : b.ilabel,
                              a.olabel ? a.olabel : b.olabel,
                              {a.weight.value + b.weight.value, 0},
                              b.next},
                    1);
    }
    if (can_move(x, state, p, final)) {
        x->changed = 1;
        if (!isinf(final))
            x->final = a.weight.value + final;
        return push_arcs(x, a.next, a.olabel, a.weight.value);
    }
    if (a.ilabel == 0 && a.olabel == 0 && isinf(x->final) && !isinf(final) && trl_fst_arc_count(x->in, a.next) == 0) {
        x->changed = 1;
        x->final = a.weight.value + final;
        return 0;
    }
    return trl_fst_add_arc(x->out, state, a, x->err);
}

static int shorten_state(shortener *x, int32_t state)
{
    x->final = trl_fst_final(x->in, state).value;
    x->count = 0;
    int code = push_arcs(x, state, 0, 0);
    while (code == 0 && x->count > 0)
        code = take(x, state, x->stack[--x->count]);
    return code < 0 ? code : trl_fst_set_final(x->out, state, (trl_weight){x->final, 0}, x->err);
}

static int shorten_once(shortener *x)
{
    int32_t states = trl_fst_states(x->in);
    x->entering = trl__alloc_zero((size_t)states + 1, sizeof *x->entering);
    if (!x->entering)
        return trl__fail_memory(x->err);
    for (int32_t s = 0; s < states; s++)
        for (uint32_t i = 0; i < trl_fst_arc_count(x->in, s); i++)
            x->entering[trl_fst_arc(x->in, s, i).next]++;
    int code = trl__network_new(states, &x->out, x->err);
    for (int32_t s = 0; code == 0 && s < states; s++)
        code = shorten_state(x, s);
    if (code == 0)
        code = trl_fst_set_start(x->out, trl_fst_start(x->in), x->err);
    return code < 0 ? code : trl_fst_connect(x->out, x->err);
}

int trl__network_shorten(trl_fst *fst, trl_error *err)
{
    shortener x = {.err = err, .changed = 1};
    int code = 0;
    while (code == 0 && x.changed) {
        x.in = fst;
        x.changed = 0;
        code = shorten_once(&x);
        if (code == 0)
            trl__fst_swap(fst, x.out);
        trl_fst_destroy(x.out);
        trl__free(x.entering);
        x.out = NULL;
        x.entering = NULL;
    }
    trl__free(x.stack);
    return code;
}
