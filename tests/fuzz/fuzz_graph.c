/* Graph files: once as the bytes are, and once with the checksums put right. What is read must be usable. */
#include "../container_repair.h"
#include "decode/lazy_graph.h"
#include "decode/network.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STATES 300 /* of a composition */

static void compose(const trl_graph *g)
{
    trl__lazy_graph *lazy;
    if (trl__lazy_graph_create(g, 0, &lazy, NULL) < 0)
        return;
    if (trl__lazy_graph_begin(lazy, NULL) == 0) {
        const trl_graph *view = trl__lazy_graph_view(lazy);
        for (int32_t s = 0; s < view->states && s < STATES; s++) {
            if (trl__lazy_graph_want(lazy, s, NULL) < 0 || trl__lazy_graph_expand(lazy, NULL) < 0)
                break;
            for (uint64_t a = view->first[s]; a < view->end[s]; a++)
                if (view->arcs[a].next < 0 || view->arcs[a].next >= view->states)
                    abort();
        }
    }
    trl__lazy_graph_destroy(lazy);
}

static void use_graph(const trl_graph *g)
{
    trl_fst *fst;
    uint32_t properties;
    if (g->rows)
        compose(g);
    if (trl_graph_to_fst(g, &fst, NULL) < 0)
        return;
    if (trl_fst_verify(fst, NULL) < 0 || trl_fst_properties(fst, &properties, NULL) < 0)
        abort();
    for (uint64_t a = 0; a < trl_graph_arcs(g); a++)
        if (g->tied[g->arcs[a].transition] < 0 && g->arcs[a].transition)
            abort();
    trl_fst_destroy(fst);
    for (int32_t w = 0; g->spoken_word && w < g->words; w++)
        for (uint32_t i = g->spoken_word[w]; i < g->spoken_word[w + 1]; i++)
            for (uint32_t k = g->spoken_first[i]; k < g->spoken_first[i + 1]; k++)
                if (g->spoken_units[k] < 0)
                    abort();
}

static void read_all(const uint8_t *data, size_t size)
{
    trl__container *container;
    trl_graph *graph;
    trl_error err;
    if (trl__container_from_memory("fuzz", data, size, TRL__GRAPH_KIND, TRL__GRAPH_VERSION, &container, &err) < 0 ||
        trl__graph_from_container(container, &graph, &err) < 0)
        return;
    use_graph(graph);
    trl_graph_destroy(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    uint8_t *copy = size >= 64 ? malloc(size) : NULL;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    container_repair(copy, size);
    read_all(copy, size);
    free(copy);
    return 0;
}
