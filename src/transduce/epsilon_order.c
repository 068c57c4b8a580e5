/* The order in which arcs without input are followed: topological, cycles as one piece. The strongly connected
 * components are found on a copy of these arcs. In a cycle of negative cost there is no best path, and the sum of all
 * has no limit: refused (Bellman and Ford's search in each cyclic component, O(states * arcs) of it at worst). */
#include "base/fail.h"
#include "base/memory.h"
#include "fst/components.h"
#include "transduce/transducer_data.h"

#include <inttypes.h>

void trl__epsilons_free(trl__epsilons *e)
{
    trl__free(e->rank);
    trl__free(e->state);
    trl__free(e->first);
    trl__free(e->end);
    *e = (trl__epsilons){.symbol = -1};
}

static int copy_graph(const trl_transducer *t, trl_fst **out, trl_error *err)
{
    const trl__symbol *s = &t->symbol[0];
    int code = trl_fst_create(TRL_TROPICAL, out, err);
    if (code == 0)
        code = trl_fst_add_states(*out, t->states, err);
    for (uint64_t k = s->arc; code == 0 && k < s->arc + s->arcs; k++)
        code = trl_fst_add_arc(*out, (int32_t)t->source[k],
                               (trl_arc){0, 0, {t->arc[k].weight, 0}, (int32_t)t->arc[k].target}, err);
    return code;
}

/* Components come in reverse topological order: the last one's states get the first ranks. */
static void number_states(const trl_transducer *t, const trl__components *c, uint32_t *place, trl__epsilons *e)
{
    for (int32_t q = 0; q < t->states; q++)
        place[c->count - 1 - c->component[q]]++;
    for (int32_t i = 0, next = 0; i < c->count; i++) {
        int32_t size = (int32_t)place[i];
        for (int32_t r = next; r < next + size; r++) {
            e->first[r] = (uint32_t)next;
            e->end[r] = c->cyclic[c->count - 1 - i] ? (uint32_t)(next + size) : 0;
        }
        place[i] = (uint32_t)next;
        next += size;
    }
    for (int32_t q = 0; q < t->states; q++) {
        uint32_t rank = place[c->count - 1 - c->component[q]]++;
        e->rank[q] = rank;
        e->state[rank] = (uint32_t)q;
    }
}

/* Relaxes every arc of the component once, from distances of 0: 1 when something fell. */
static int relax(const trl_fst *graph, const trl__epsilons *e, uint32_t first, uint32_t end, double *distance)
{
    int moved = 0;
    for (uint32_t r = first; r < end; r++) {
        int32_t q = (int32_t)e->state[r];
        for (uint32_t i = 0; i < trl_fst_arc_count(graph, q); i++) {
            trl_arc a = trl_fst_arc(graph, q, i);
            double there = distance[q] + (double)a.weight.value;
            if (e->first[e->rank[a.next]] == first && there < distance[a.next] - 1e-9) {
                distance[a.next] = there;
                moved = 1;
            }
        }
    }
    return moved;
}

static int refuse_negative_cycles(const trl_transducer *t, const trl_fst *graph, const trl__epsilons *e, trl_error *err)
{
    double *distance = trl__alloc_zero((size_t)t->states + 1, sizeof *distance);
    if (!distance)
        return trl__fail_memory(err);
    int negative = 0;
    for (uint32_t r = 0; r < (uint32_t)t->states && !negative; r = e->end[r] ? e->end[r] : r + 1) {
        uint32_t rounds = 0;
        while (e->end[r] && !negative && relax(graph, e, r, e->end[r], distance))
            negative = ++rounds > e->end[r] - r;
        if (negative)
            trl__fail(err, TRL_ELIMIT,
                      "arcs without input make a cycle of negative cost through state %" PRIu32
                      ": there is no best path; change its weights",
                      e->state[r]);
    }
    trl__free(distance);
    return negative ? TRL_ELIMIT : 0;
}

static int order_states(trl_transducer *t, const trl_fst *graph, trl_error *err)
{
    trl__epsilons *e = &t->epsilons;
    trl__components c;
    size_t states = (size_t)t->states;
    int code = trl__components_find(graph, &c, err);
    if (code < 0)
        return code;
    uint32_t *place = trl__alloc_zero(states + 1, sizeof *place);
    e->rank = trl__alloc(states + 1, sizeof *e->rank);
    e->state = trl__alloc(states + 1, sizeof *e->state);
    e->first = trl__alloc(states + 1, sizeof *e->first);
    e->end = trl__alloc(states + 1, sizeof *e->end);
    if (!place || !e->rank || !e->state || !e->first || !e->end) {
        code = trl__fail_memory(err);
    } else {
        number_states(t, &c, place, e);
        e->has_cycles = !c.acyclic;
        code = c.acyclic ? 0 : refuse_negative_cycles(t, graph, e, err);
    }
    trl__free(place);
    trl__components_free(&c);
    return code;
}

int trl__epsilons_prepare(trl_transducer *t, trl_error *err)
{
    t->epsilons = (trl__epsilons){.symbol = -1};
    if (t->symbols == 0 || t->symbol[0].label != TRL_EPSILON)
        return 0;
    trl_fst *graph = NULL;
    int code = trl__transducer_check(t, 0, err);
    if (code == 0)
        code = copy_graph(t, &graph, err);
    if (code == 0)
        code = order_states(t, graph, err);
    trl_fst_destroy(graph);
    if (code == 0)
        t->epsilons.symbol = 0;
    else
        trl__epsilons_free(&t->epsilons);
    return code;
}
