/* Any bytes as a Kaldi model, binary or text. */
#include "model/kaldi_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_model *model = NULL;
    trl_error err;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0)
        return 0;
    if (trl__kaldi_model_read(&source, NULL, NULL, NULL, &model, &err) == 0)
        trl_model_destroy(model);
    trl__source_close(&source);
    return 0;
}
