/* Loops, last. The arc by which a state of an HMM is left comes with its first frame; the others follow it: staying is
 * a loop on the state that the arc leads to. So a state of the graph can be entered by arcs that stay the same way
 * only. One that is entered in several ways is several: each with its loop and an epsilon to the one without loop, or
 * with copies of its arcs where these are no more.
 *
 * A path then has, for each state of an HMM, the transition that leaves it, then those of staying: Kaldi's order
 * ("reordered").
 */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/network.h"

typedef struct closer {
    const trl__network_job *job;
    const trl_fst *in;
    trl_fst *out;
    trl_error *err;
    trl__tuples states; /* by state of the result: state of the machine before, loop (transition id; 0: none) */
    uint32_t *loops;    /* by state of the machine before: how many there are, not counting none */
    uint8_t *bare;      /* by the same: entered without a loop, too */
} closer;

static int32_t loop_of(const closer *c, trl_arc a)
{
    return a.ilabel ? c->job->loop[a.ilabel] : 0;
}

/* Counts in how many ways each state is entered. */
static int count_loops(closer *c)
{
    int32_t states = trl_fst_states(c->in);
    trl__tuples seen = {.width = 2};
    c->loops = trl__alloc_zero((size_t)states + 1, sizeof *c->loops);
    c->bare = trl__alloc_zero((size_t)states + 1, 1);
    int failed = !c->loops || !c->bare;
    for (int32_t s = 0; !failed && s < states; s++)
        for (uint32_t i = 0; !failed && i < trl_fst_arc_count(c->in, s); i++) {
            trl_arc a = trl_fst_arc(c->in, s, i);
            size_t known = seen.count;
            failed = trl__tuples_add(&seen, (int32_t[]){a.next, loop_of(c, a)}) < 0;
            if (loop_of(c, a) == 0)
                c->bare[a.next] = 1;
            else
                c->loops[a.next] += seen.count > known;
        }
    trl__tuples_free(&seen);
    return failed ? trl__fail_memory(c->err) : 0;
}

/* Do all that stand for this state have copies of its arcs? With epsilons there are loops + ways arcs, with copies
 * loops * ways. */
static int has_copies(const closer *c, int32_t state)
{
    size_t ways = trl_fst_arc_count(c->in, state) + !isinf(trl_fst_final(c->in, state).value);
    size_t loops = c->loops[state];
    return loops + c->bare[state] <= 1 || loops * ways <= loops + (c->bare[state] ? 0 : ways);
}

static int32_t find_state(closer *c, int32_t state, int32_t loop)
{
    size_t known = c->states.count;
    int64_t number = trl__tuples_add(&c->states, (int32_t[]){state, loop});
    if (number < 0)
        return trl__fail_memory(c->err);
    int32_t added = (int32_t)number;
    int code = (size_t)number < known ? 0 : trl__network_add_state(c->job, c->out, &added, c->err);
    return code < 0 ? code : added;
}

static int add_arc(closer *c, int32_t from, trl_arc a, int32_t loop)
{
    a.next = find_state(c, a.next, loop);
    return a.next < 0 ? a.next : trl_fst_add_arc(c->out, from, a, c->err);
}

static int expand(closer *c, int32_t from)
{
    const int32_t *key = trl__tuples_get(&c->states, from);
    int32_t state = key[0], loop = key[1];
    trl_arc stay = {loop, 0, {c->job->cost[loop], 0}, from};
    int code = loop ? trl_fst_add_arc(c->out, from, stay, c->err) : 0;
    if (code == 0 && loop && !has_copies(c, state))
        return add_arc(c, from, (trl_arc){0, 0, {0, 0}, state}, 0);
    for (uint32_t i = 0; code == 0 && i < trl_fst_arc_count(c->in, state); i++) {
        trl_arc a = trl_fst_arc(c->in, state, i);
        code = add_arc(c, from, a, loop_of(c, a));
    }
    return code < 0 ? code : trl_fst_set_final(c->out, from, trl_fst_final(c->in, state), c->err);
}

static int add_loops(closer *c)
{
    int code = count_loops(c);
    if (code == 0)
        code = trl__network_new(0, &c->out, c->err);
    int32_t start = code < 0 ? code : find_state(c, trl_fst_start(c->in), 0);
    code = start < 0 ? start : trl_fst_set_start(c->out, start, c->err);
    for (int32_t s = 0; code == 0 && s < trl_fst_states(c->out); s++)
        code = expand(c, s);
    return code;
}

int trl__network_close(const trl__network_job *job, const trl_fst *states, trl_graph **out, trl_error *err)
{
    closer c = {.job = job, .in = states, .err = err, .states = {.width = 2}};
    int code = add_loops(&c);
    trl__tuples_free(&c.states);
    trl__free(c.loops);
    trl__free(c.bare);
    if (code == 0)
        code = trl__graph_from_machine(job->model, c.out, out, err);
    trl_fst_destroy(c.out);
    return code;
}
