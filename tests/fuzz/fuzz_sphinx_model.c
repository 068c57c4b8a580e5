/* Any bytes as one of the files of a Sphinx model; the first byte says which. What a definition or options give is used. */
#include "model/sphinx_model.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_definition(trl__source *source)
{
    trl__sphinx_mdef mdef;
    trl_model *model;
    trl_error err;
    if (trl__sphinx_mdef_read(source, &mdef, &err) < 0)
        return;
    size_t count = (size_t)mdef.matrices * (size_t)mdef.states * ((size_t)mdef.states + 1);
    float *matrices =
        mdef.matrices < 1000 && mdef.names.count < 20 && mdef.senones < 1000 ? calloc(count, sizeof *matrices) : NULL;
    if (matrices && trl__model_new(1, &model, &err) == 0) {
        for (size_t i = 0; i < count; i++)
            matrices[i] = 1.0F / (float)(mdef.states + 1);
        model->tied_states = mdef.senones;
        trl__sphinx_array transitions = {.value = matrices};
        if (trl__sphinx_units(&mdef, &transitions, model, &err) == 0 && trl__sphinx_contexts(&mdef, model, &err) == 0 &&
            model->tree && trl__tree_check(model->tree, "fuzz", &err) < 0)
            abort();
        trl_model_destroy(model);
    }
    free(matrices);
    trl__sphinx_mdef_free(&mdef);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int32_t sizes[3] = {3, 2, 4};
    trl__source source;
    trl__sphinx_array array;
    trl_error err;
    char *description = NULL;
    if (size < 1 || trl__source_from_memory("fuzz", data + 1, size - 1, &source, &err) < 0)
        return 0;
    switch (data[0] % 5) {
    case 0: read_definition(&source); break;
    case 1:
    case 2:
        if (trl__sphinx_array_read(&source, data[0] % 5 == 1, &array, &err) == 0)
            trl__sphinx_array_free(&array);
        break;
    case 3:
        if (trl__sphinx_sendump_read(&source, sizes, &array, &err) == 0)
            trl__sphinx_array_free(&array);
        break;
    default:
        if (trl__sphinx_features(&source, NULL, 39, &description, &err) == 0)
            trl__free(description);
    }
    trl__source_close(&source);
    return 0;
}
