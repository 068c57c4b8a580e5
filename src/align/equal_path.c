/* The equal path: the way through the first pronunciations that passes the most states, each for the same number of frames.
 * The most states, so that in a flat start every state gets data. Nodes are numbered so that arcs lead forwards (but for
 * loops, and odd arcs back inside a unit, which are not needed here): one pass finds the longest way. */
#include "align/utterance_graph.h"
#include "backend/backend.h"
#include "base/fail.h"
#include "base/memory.h"

typedef enum silences { AT_ENDS, NOWHERE, EVERYWHERE } silences;

typedef struct finder {
    const trl__graph *graph;
    silences silences;
    int longest;     /* 0: the shortest way */
    int32_t *states; /* by node and for the end: of the best way there; 0: none */
    int32_t *arc;    /* by node: the arc of it; -1: none */
} finder;

static int is_allowed(const finder *f, int32_t node)
{
    const trl__graph_phone *phone = &f->graph->phone[f->graph->node_phone[node]];
    if (phone->slot % 2 == 1)
        return phone->variant == 0;
    return f->silences == EVERYWHERE || f->graph->slots == 1 ||
           (f->silences == AT_ENDS && (phone->slot == 0 || phone->slot == f->graph->slots - 1));
}

/* The best arc into `node` from what comes before it. */
static void enter(finder *f, int32_t node)
{
    const trl__graph *g = f->graph;
    f->states[node] = 0;
    f->arc[node] = -1;
    if (node < g->nodes && !is_allowed(f, node))
        return;
    for (int32_t a = g->arc_first[node]; a < g->arc_first[node + 1]; a++) {
        int32_t from = g->arc_from[a];
        if (from >= node || (from != TRL__START && f->states[from] == 0))
            continue;
        int32_t states = from == TRL__START ? 1 : f->states[from] + 1;
        if (f->states[node] == 0 || (f->longest ? states > f->states[node] : states < f->states[node])) {
            f->states[node] = states;
            f->arc[node] = a;
        }
    }
}

static int32_t loop_of(const trl__graph *g, int32_t node)
{
    for (int32_t a = g->arc_first[node]; a < g->arc_first[node + 1]; a++)
        if (g->arc_from[a] == node)
            return a;
    return -1;
}

/* Frames left to share out over `loops` states when each state of the way has one; -1: they can't be. */
static int32_t count_spare(const finder *f, int32_t frames, int32_t *loops)
{
    const trl__graph *g = f->graph;
    int32_t states = f->states[g->nodes] - 1; /* the end counts as one */
    *loops = 0;
    if (states < 1 || states > frames)
        return -1;
    for (int32_t node = g->arc_from[f->arc[g->nodes]]; node != TRL__START; node = g->arc_from[f->arc[node]])
        *loops += loop_of(g, node) >= 0;
    return *loops > 0 || states == frames ? frames - states : -1;
}

/* Writes the way from its end to its start. Of `spare` frames the i-th of `loops` states gets the i-th equal part. */
static void write_path(const finder *f, int32_t frames, int32_t spare, int32_t loops, int32_t *path, int32_t *path_arc)
{
    const trl__graph *g = f->graph;
    int32_t t = frames - 1, looping = loops;
    for (int32_t node = g->arc_from[f->arc[g->nodes]]; node != TRL__START; node = g->arc_from[f->arc[node]]) {
        int32_t loop = loop_of(g, node), more = 0;
        if (loop >= 0 && loops > 0) { /* loops counts these; the analyzer can't know */
            more = (int32_t)((int64_t)spare * looping / loops - (int64_t)spare * (looping - 1) / loops);
            looping--;
        }
        for (; more > 0; more--, t--) {
            path[t] = node;
            path_arc[t] = loop;
        }
        path[t] = node;
        path_arc[t--] = f->arc[node];
    }
}

int trl__graph_equal_path(const trl__graph *graph, int32_t frames, int32_t *path, int32_t *path_arc, int32_t *last_arc,
                          trl_error *err)
{
    static const struct {
        silences silences;
        int longest;
    } tries[] = {{AT_ENDS, 1}, {NOWHERE, 1}, {EVERYWHERE, 1}, {EVERYWHERE, 0}};
    finder f = {.graph = graph};
    int32_t *block = trl__alloc(2 * ((size_t)graph->nodes + 1), sizeof *block);
    if (!block)
        return trl__fail_memory(err);
    f.states = block;
    f.arc = block + graph->nodes + 1;
    int32_t spare = -1, loops = 0;
    for (size_t i = 0; spare < 0 && i < sizeof tries / sizeof *tries; i++) {
        f.silences = tries[i].silences;
        f.longest = tries[i].longest;
        for (int32_t node = 0; node <= graph->nodes; node++)
            enter(&f, node);
        spare = count_spare(&f, frames, &loops);
    }
    if (spare >= 0) {
        *last_arc = f.arc[graph->nodes];
        write_path(&f, frames, spare, loops, path, path_arc);
    }
    trl__free(block);
    return spare >= 0
               ? 0
               : trl__fail(err, TRL_ELIMIT, "%d frames can't be shared out over the states of the words (%d at least)",
                           (int)frames, (int)graph->least_frames);
}
