/* Any bytes as a Kaldi archive of integers, read to the end or to the first error. */
#include "model/kaldi_alignment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__source source;
    trl__int_ark_reader *reader;
    trl_error err;
    const char *id;
    const int32_t *numbers;
    size_t count;
    if (trl__source_from_memory("fuzz", data, size, &source, &err) < 0 ||
        trl__int_ark_from_source(&source, &reader, &err) < 0)
        return 0;
    while (trl__int_ark_next(reader, &id, &numbers, &count, &err) > 0)
        ;
    trl__int_ark_close(reader);
    return 0;
}
