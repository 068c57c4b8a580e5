/* NumPy files. */
#include "feat/feature_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_matrix frames = {0};
    trl_error err;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0)
        return 0;
    trl__npy_read(&source, &frames, &err);
    trl__source_close(&source);
    trl_matrix_free(&frames);
    return 0;
}
