/* Kaldi archives: any bytes, read to the end or to the first error. */
#include "feat/feature_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl_feature_reader *reader;
    trl_matrix frames = {0};
    trl_error err;
    const char *id;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0 ||
        trl__ark_from_source(&source, &reader, &err) < 0)
        return 0;
    while (trl_feature_reader_next(reader, &id, &frames, &err) > 0)
        ;
    trl_matrix_free(&frames);
    trl_feature_reader_close(reader);
    return 0;
}
