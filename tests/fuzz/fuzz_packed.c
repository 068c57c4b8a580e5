/* Packed feature files, and with them the container: once as the bytes are, and once with the checksums of header,
 * table and sections put right, so that what lies behind them is reached too. */
#include "feat/feature_format.h"
#include "../container_repair.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const uint8_t *data, size_t size)
{
    trl__container *container;
    trl_feature_reader *reader;
    trl_matrix frames = {0};
    trl_error err;
    const char *id;
    if (trl__container_from_memory("fuzz", data, size, "features", 1, &container, &err) < 0 ||
        trl__packed_from_container(container, &reader, &err) < 0)
        return;
    while (trl_feature_reader_next(reader, &id, &frames, &err) != 0)
        trl_feature_reader_find(reader, "utt", &frames, &err);
    trl_matrix_free(&frames);
    trl_feature_reader_close(reader);
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
