/* Numbers in files, byte by byte: the same on every machine, whatever the alignment. */
#ifndef TRL_BASE_BYTES_H
#define TRL_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t trl__le16(const unsigned char *b)
{
    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t trl__le32(const unsigned char *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t trl__le64(const unsigned char *b)
{
    return (uint64_t)trl__le32(b) | (uint64_t)trl__le32(b + 4) << 32;
}

static inline uint16_t trl__be16(const unsigned char *b)
{
    return (uint16_t)(b[0] << 8 | b[1]);
}

static inline uint32_t trl__be32(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static inline float trl__float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double trl__double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t trl__bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t trl__bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline void trl__put_le32(unsigned char *b, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        b[i] = (unsigned char)(value >> 8 * i);
}

static inline void trl__put_le64(unsigned char *b, uint64_t value)
{
    trl__put_le32(b, (uint32_t)value);
    trl__put_le32(b + 4, (uint32_t)(value >> 32));
}

static inline void trl__put_be16(unsigned char *b, uint16_t value)
{
    b[0] = (unsigned char)(value >> 8);
    b[1] = (unsigned char)value;
}

static inline void trl__put_be32(unsigned char *b, uint32_t value)
{
    trl__put_be16(b, (uint16_t)(value >> 16));
    trl__put_be16(b + 2, (uint16_t)value);
}

#endif
