/* Puts the checksums of a changed container right, so that what lies behind them is reached. */
#ifndef TEST_CONTAINER_REPAIR_H
#define TEST_CONTAINER_REPAIR_H

#include "base/bytes.h"

#include <stddef.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline void put_hash(uint8_t *to, const uint8_t *bytes, size_t size)
{
    uint64_t hash = XXH3_64bits(bytes, size);
    memcpy(to, &hash, sizeof hash);
}

/* `bytes` has at least the 64 bytes of a header. */
static inline void container_repair(uint8_t *bytes, size_t size)
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

#endif
