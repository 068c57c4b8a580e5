/* Puts the checksums of changed streams of M-phones right, as container_repair.h does those of containers. */
#ifndef TEST_STREAM_REPAIR_H
#define TEST_STREAM_REPAIR_H

#include "base/bytes.h"

#include <stddef.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* The checksums of headers and of the records behind them, as far as sizes lead. */
static inline void stream_repair(uint8_t *bytes, size_t size)
{
    size_t names = size >= 40 ? trl__le32(bytes + 36) : SIZE_MAX, at = 40;
    if (size < at || names > size - at || size - at - names < 8)
        return;
    trl__put_le64(bytes + at + names, XXH3_64bits_withSeed(bytes + at, names, XXH3_64bits(bytes, at)));
    at += names + 8;
    while (size - at >= 12) {
        size_t body = trl__le32(bytes + at);
        if (body == 0)
            stream_repair(bytes + at + 12, size - at - 12);
        if (body == 0 || body > size - at - 12)
            return;
        trl__put_le64(bytes + at + 4, XXH3_64bits(bytes + at + 12, body));
        at += 12 + body;
    }
}

#endif
