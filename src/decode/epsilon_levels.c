/* Levels: an arc that reads nothing leads to a higher one. A search that takes the states of a frame level by level knows a state's best cost
 * before it goes on from there. Found by taking away states that nothing leads to any more: O(states + arcs). */
#include "base/fail.h"
#include "base/memory.h"
#include "decode/graph_data.h"

static void count_entries(const trl_graph *g, int32_t *entries)
{
    for (int32_t s = 0; s < g->states; s++)
        for (uint64_t i = g->first[s]; i < g->emitting[s]; i++)
            entries[g->arcs[i].next]++;
}

/* Returns how many states are taken, all unless there is a cycle. */
static int32_t take_states(trl_graph *g, int32_t *entries, int32_t *taken)
{
    int32_t count = 0;
    for (int32_t s = 0; s < g->states; s++)
        if (entries[s] == 0)
            taken[count++] = s;
    for (int32_t k = 0; k < count; k++) {
        int32_t s = taken[k], level = g->level[s];
        g->levels = level >= g->levels ? level + 1 : g->levels;
        for (uint64_t i = g->first[s]; i < g->emitting[s]; i++) {
            int32_t next = g->arcs[i].next;
            g->level[next] = level >= g->level[next] ? level + 1 : g->level[next];
            if (--entries[next] == 0)
                taken[count++] = next;
        }
    }
    return count;
}

int trl__graph_set_levels(trl_graph *g, trl_error *err)
{
    size_t states = (size_t)g->states;
    int32_t *entries = trl__alloc_zero(states + 1, sizeof *entries);
    int32_t *taken = trl__alloc(states + 1, sizeof *taken);
    trl__free(g->level);
    g->level = trl__alloc_zero(states + 1, sizeof *g->level);
    g->levels = 0;
    int code = entries && taken && g->level ? 0 : trl__fail_memory(err);
    if (code == 0) {
        count_entries(g, entries);
        if (take_states(g, entries, taken) < g->states)
            code = trl__fail(err, TRL_EINVAL, "arcs of the machine that read nothing form a cycle");
    }
    trl__free(entries);
    trl__free(taken);
    return code;
}
