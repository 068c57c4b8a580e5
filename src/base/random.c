#include "base/random.h"

#include <math.h>

void trl__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t left = (uint64_t)0xD2511F53u * c0;
        uint64_t right = (uint64_t)0xCD9E8D57u * c2;
        uint32_t next0 = (uint32_t)(right >> 32) ^ c1 ^ k0;
        uint32_t next2 = (uint32_t)(left >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)right;
        c3 = (uint32_t)left;
        c0 = next0;
        c2 = next2;
        k0 += 0x9E3779B9u; /* the golden ratio */
        k1 += 0xBB67AE85u; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void block(uint64_t seed, uint64_t stream, uint64_t number, uint32_t out[4])
{
    const uint32_t counter[4] = {(uint32_t)number, (uint32_t)(number >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    trl__philox(counter, key, out);
}

uint32_t trl__random_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t out[4];
    block(seed, stream, index / 4, out);
    return out[index % 4];
}

float trl__random_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (float)(trl__random_bits(seed, stream, index) >> 8) * 0x1p-24f;
}

float trl__random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    /* Two uniforms make two normals: even indices take the cosine, odd ones the sine. */
    uint32_t out[4];
    block(seed, stream, index / 4, out);
    uint32_t pair = index % 4 / 2 * 2;
    double radius = sqrt(-2 * log(((double)out[pair] + 0.5) * 0x1p-32));
    double angle = 6.283185307179586 * (double)out[pair + 1] * 0x1p-32;
    return (float)(radius * (index % 2 ? sin(angle) : cos(angle)));
}
