#include "audio/flac_end.h"

#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

#define HEADER_SIZE 26                /* bytes of the file up to the number of samples */
#define FRAME_MOST ((size_t)16 << 20) /* bytes; STREAMINFO has 24 bits for it */
#define FRAME_USUAL ((size_t)1 << 20) /* where it does not say */
#define TAG_SIZE 128                  /* of an ID3 tag, which may stand behind */

/* The cyclic redundancy check of so many bits, without reflection, from 0. */
static uint32_t crc(const uint8_t *bytes, size_t n, unsigned bits, uint32_t polynomial)
{
    uint32_t value = 0, top = 1u << (bits - 1), mask = (top << 1) - 1;
    for (size_t i = 0; i < n; i++) {
        value ^= (uint32_t)bytes[i] << (bits - 8);
        for (int bit = 0; bit < 8; bit++)
            value = (value & top ? value << 1 ^ polynomial : value << 1) & mask;
    }
    return value;
}

/* Does a frame begin here? Its header ends with a checksum of 8 bits. */
static int begins_frame(const uint8_t *h, size_t n)
{
    static const uint8_t block_bytes[16] = {[6] = 1, [7] = 2}, rate_bytes[16] = {[12] = 1, [13] = 2, [14] = 2};
    if (n < 6 || h[0] != 0xFF || (h[1] & 0xFE) != 0xF8)
        return 0;
    size_t number = 1; /* as in UTF-8 */
    while (number < 7 && h[4] & 0x80 && h[4] & 0x80 >> number)
        number++;
    size_t size = 4 + number + block_bytes[h[2] >> 4] + rate_bytes[h[2] & 15];
    return size < n && crc(h, size, 8, 0x07) == h[size];
}

/* A frame from somewhere in these bytes to their end: with the checksum of 16 bits behind it its own is 0. */
static int ends_with_frame(const uint8_t *bytes, size_t n)
{
    for (size_t at = n; at-- > 0;)
        if (begins_frame(bytes + at, n - at) && crc(bytes + at, n - at, 16, 0x8005) == 0)
            return 1;
    return 0;
}

int trl__flac_check_end(trl__sound_source *source, trl_error *err)
{
    uint8_t h[HEADER_SIZE];
    if (trl__sound_source_get(source, 0, h, sizeof h) < sizeof h || memcmp(h, "fLaC", 4) != 0 || h[21] & 15 || h[22] ||
        h[23] || h[24] || h[25])
        return 0;
    size_t most = (size_t)h[15] << 16 | (size_t)h[16] << 8 | h[17];
    most = (most > 0 && most < FRAME_MOST ? most : FRAME_USUAL) + TAG_SIZE;
    uint64_t first = source->size > most ? source->size - most : 0;
    size_t n = (size_t)(source->size - first);
    uint8_t *bytes = trl__alloc(n, 1);
    if (!bytes)
        return trl__fail_memory(err);
    n = trl__sound_source_get(source, first, bytes, n);
    int has_tag = n > TAG_SIZE && memcmp(bytes + n - TAG_SIZE, "TAG", 3) == 0;
    int is_whole = ends_with_frame(bytes, has_tag ? n - TAG_SIZE : n);
    trl__free(bytes);
    if (source->io_error)
        return trl__sound_source_fail(source, err);
    return is_whole ? 0
                    : trl__fail_byte(err, TRL_ECORRUPT, source->name, source->size,
                                     "the file does not end with a whole frame of FLAC: it was cut or damaged; copy or "
                                     "record it again");
}
