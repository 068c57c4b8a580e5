/* Which copies a path goes through depends on its neighbours on both sides. So all copies that what came before can
 * lead to are kept, run by run, each with the one before it, and the choice is made from the end backwards. Slots,
 * variants, places and states being given, exactly one path through the new graph has them. Cost: O(runs x copies of
 * a phone), which are few. */
#include "align/carry_path.h"
#include "base/fail.h"
#include "base/memory.h"

typedef struct stop {
    int32_t node;
    size_t before; /* stop; not used for the first run's */
} stop;

typedef struct carrier {
    const trl__graph *from, *to;
    stop *stops; /* run by run */
    size_t count, capacity;
    size_t last, end;         /* those of the run before */
    int32_t old_phone;        /* of `from`, whose copies are … */
    int32_t phone, phone_end; /* … these of `to` */
} carrier;

static void find_copies(carrier *c, int32_t old_phone)
{
    const trl__graph_phone *old = &c->from->phone[old_phone];
    const trl__graph_slot *slot = &c->to->slot[old->slot];
    c->old_phone = old_phone;
    c->phone = slot->first_phone;
    while (c->phone < slot->end_phone &&
           (c->to->phone[c->phone].variant != old->variant || c->to->phone[c->phone].place != old->place))
        c->phone++;
    c->phone_end = c->phone < slot->end_phone ? trl__graph_copies_end(c->to, c->phone) : c->phone;
}

/* The stop of the last run that an arc into `node` comes from; c->end: there is none. */
static size_t stop_before(const carrier *c, int32_t node, int is_first)
{
    const trl__graph *g = c->to;
    for (int32_t a = g->arc_first[node]; a < g->arc_first[node + 1]; a++) {
        if (is_first && g->arc_from[a] == TRL__START)
            return c->last;
        for (size_t i = c->last; i < c->end; i++)
            if (c->stops[i].node == g->arc_from[a])
                return i;
    }
    return c->end;
}

static int has_loop(const trl__graph *g, int32_t node)
{
    for (int32_t a = g->arc_first[node]; a < g->arc_first[node + 1]; a++)
        if (g->arc_from[a] == node)
            return 1;
    return 0;
}

/* The stops of a run. */
static int go_on(carrier *c, const trl__run *run, size_t number, trl_error *err)
{
    if (run->node < 0 || run->node >= c->from->nodes || run->frames < 1)
        return trl__fail(err, TRL_EINVAL, "run %zu of the path: %d frames in node %d are not possible", number,
                         (int)run->frames, (int)run->node);
    int32_t state = c->from->node_state[run->node];
    if (c->from->node_phone[run->node] != c->old_phone)
        find_copies(c, c->from->node_phone[run->node]);
    if (TRL_GROW(c->stops, c->capacity, c->count + (size_t)(c->phone_end - c->phone) + 1) < 0)
        return trl__fail_memory(err);
    for (int32_t p = c->phone; p < c->phone_end; p++) {
        int32_t node = c->to->phone[p].first_node + state;
        if (node >= c->to->phone[p].end_node || (run->frames > 1 && !has_loop(c->to, node)))
            continue;
        size_t before = stop_before(c, node, number == 0);
        if (before < c->end)
            c->stops[c->count++] = (stop){node, before};
    }
    c->last = c->end;
    c->end = c->count;
    if (c->last < c->end)
        return 0;
    return trl__fail(err, TRL_EINVAL, "run %zu of the path leads nowhere in the other model's graph", number);
}

static int carry(carrier *c, const trl__run *runs, size_t count, trl__run *out, trl_error *err)
{
    /* the start is a stop as well, at no node */
    if (TRL_GROW(c->stops, c->capacity, 1) < 0)
        return trl__fail_memory(err);
    c->stops[c->count++] = (stop){.node = c->to->nodes};
    c->end = 1;
    for (size_t i = 0; i < count; i++) {
        int code = go_on(c, &runs[i], i, err);
        if (code < 0)
            return code;
    }
    size_t at = stop_before(c, c->to->nodes, 0);
    if (count == 0 || at == c->end)
        return trl__fail(err, TRL_EINVAL, "the path of %zu runs does not end where the other model's graph does",
                         count);
    for (size_t i = count; i-- > 0; at = c->stops[at].before)
        out[i] = (trl__run){c->stops[at].node, runs[i].frames};
    return 0;
}

int trl__graph_carry_path(const trl__graph *from, const trl__run *runs, size_t count, const trl__graph *to,
                          trl__run *out, trl_error *err)
{
    carrier c = {.from = from, .to = to, .old_phone = -1};
    if (from->slots != to->slots)
        return trl__fail(err, TRL_EINVAL, "a path through %d slots has no place in a graph of %d", (int)from->slots,
                         (int)to->slots);
    int code = carry(&c, runs, count, out, err);
    trl__free(c.stops);
    return code;
}
