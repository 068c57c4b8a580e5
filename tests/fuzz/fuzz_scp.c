/* Kaldi scripts: the lines only, no file is opened. */
#include "feat/feature_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    trl__text text;
    trl_feature_reader *reader;
    trl_error err;
    if (trl__text_from_memory("fuzz", data, size, &text, &err) == 0 &&
        trl__scp_from_text(&text, "fuzz", &reader, &err) == 0)
        trl_feature_reader_close(reader);
    return 0;
}
