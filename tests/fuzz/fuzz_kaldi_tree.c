/* Any bytes as a Kaldi tree of a small model, binary or text. What is read must be usable. */
#include "model/kaldi_model.h"
#include "model/topology.h"

#include <stdlib.h>
#include <string.h>

enum { UNITS = 4, STATES = 3, TIED = 15 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_tree(const trl__tree *tree)
{
    int32_t window[TRL__WIDEST_CONTEXT], tied[TIED];
    for (int32_t u = 0; u < UNITS; u++)
        for (int32_t s = 0; s < STATES; s++)
            for (int32_t other = -1; other < UNITS; other++) {
                for (int32_t p = 0; p < tree->width; p++)
                    window[p] = p == tree->centre ? u : other;
                int32_t found = trl__tree_find(tree, window, s), count = trl__tree_tied_states(tree, u, s, tied);
                while (count > 0 && tied[count - 1] != found)
                    count--;
                if (count == 0)
                    abort();
            }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[UNITS] = {"SIL", "SPN", "AA", "B"};
    trl__topology topology = {.states = STATES};
    int32_t unit_topology[UNITS] = {0};
    trl_model model = {
        .unit_topology = unit_topology, .topology = &topology, .topologies = 1, .tied_states = TIED, .dim = 1};
    trl__source source;
    trl__tree *tree;
    trl_error err;
    for (int u = 0; u < UNITS; u++)
        if (trl__strings_add(&model.units, names[u], strlen(names[u])) != u)
            abort();
    if (trl__source_from_memory("fuzz", data, size, &source, &err) == 0) {
        if (trl__kaldi_tree_read(&source, &model, &tree, &err) == 0) {
            use_tree(tree);
            trl__tree_destroy(tree);
        }
        trl__source_close(&source);
    }
    trl__strings_free(&model.units);
    return 0;
}
