/* Any bytes as an HTK model file. What is accepted is a model that trl__model_finish has checked. */
#include "model/htk_mmf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__mmf_set set;
    trl_model *model = NULL;
    trl_error err;
    if (trl__mmf_parse("fuzz", (const char *)data, size, &set, &err) < 0)
        return 0;
    if (trl__mmf_model(&set, "fuzz", NULL, NULL, &model, &err) == 0)
        trl_model_destroy(model);
    trl__mmf_set_free(&set);
    return 0;
}
