/* Model and statistics files: once as the bytes are, and once with the checksums put right. What is read must be usable. */
#include "model/statistics.h"
#include "../container_repair.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_model(trl_model *model)
{
    trl_model *copy;
    for (int32_t id = 1; id <= trl_model_transitions(model); id++) {
        trl_transition t = trl_model_transition(model, id);
        if (t.unit >= trl_model_units(model) || t.tied >= trl_model_tied_states(model))
            abort();
    }
    for (int32_t j = 0; j < trl_model_tied_states(model); j++)
        for (int32_t c = 0; c < trl_model_components(model, j); c++)
            if (!(trl_model_gaussian(model, j, c).variance[trl_model_dim(model) - 1] > 0))
                abort();
    for (int32_t u = 0; u < trl_model_units(model); u++)
        if (trl_model_find_unit(model, trl_model_unit(model, u).name) != u)
            abort();
    for (int32_t u = 0; model->tree && u < trl_model_units(model); u++) {
        int32_t window[TRL__WIDEST_CONTEXT];
        for (int32_t p = 0; p < TRL__WIDEST_CONTEXT; p++)
            window[p] = p == model->tree->centre ? u : p % (trl_model_units(model) + 1) - 1;
        for (int32_t s = 0; s < trl_model_unit(model, u).states; s++)
            if (trl__model_find_triple(model, u, s, trl_model_find_tied(model, window, s)) < 0)
                abort();
    }
    trl_model_tree(model);
    if (trl__model_copy(model, &copy, NULL) == 0)
        trl_model_destroy(copy);
}

static void read_all(const uint8_t *data, size_t size)
{
    trl__container *container;
    trl_model *model;
    trl__stats *stats;
    trl_error err;
    if (trl__container_from_memory("fuzz", data, size, "model", 3, &container, &err) == 0 &&
        trl__model_from_container(container, &model, &err) == 0) {
        use_model(model);
        trl_model_destroy(model);
    }
    if (trl__container_from_memory("fuzz", data, size, "statistics", 1, &container, &err) == 0 &&
        trl__stats_from_container(container, &stats, &err) == 0) {
        trl__stats_add(stats, stats, &err);
        trl__stats_destroy(stats);
    }
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
