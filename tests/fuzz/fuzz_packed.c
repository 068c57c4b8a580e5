/* Packed feature files, and with them the container: once as the bytes are, and once with the checksums of header,
 * table and sections put right, so that what lies behind them is reached too. */
#include "feat/feature_format.h"
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

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

static void put_hash(uint8_t *to, const uint8_t *bytes, size_t size)
{
    uint64_t hash = XXH3_64bits(bytes, size);
    memcpy(to, &hash, sizeof hash);
}

static void repair(uint8_t *bytes, size_t size)
{
    uint64_t count = trl__le32(bytes + 36), table = trl__le64(bytes + 40);
    if (table > size || count * 48 > size - table)
        return;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *entry = bytes + table + 48 * i;
        uint64_t offset = trl__le64(entry + 16), length = trl__le64(entry + 24);
        if (!(entry[40] & 1) && offset <= size && length <= size - offset)
            put_hash(entry + 32, bytes + offset, (size_t)length);
    }
    put_hash(bytes + 48, bytes + table, (size_t)(48 * count));
    put_hash(bytes + 56, bytes, 56);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_all(data, size);
    uint8_t *copy = size >= 64 ? malloc(size) : NULL;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    repair(copy, size);
    read_all(copy, size);
    free(copy);
    return 0;
}
