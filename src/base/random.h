/* Counter-based random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
 *
 * A number depends only on (seed, stream, counter), so any thread can compute any part of a sequence: the result does
 * not depend on who computes what.
 */
#ifndef TRL_BASE_RANDOM_H
#define TRL_BASE_RANDOM_H

#include <stdint.h>

/* Ten rounds on a 128-bit counter with a 64-bit key: the cipher itself. */
void trl__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* 32 random bits: number `index` of `stream` under `seed`. */
uint32_t trl__random_bits(uint64_t seed, uint64_t stream, uint64_t index);

/* Uniform in [0, 1), 24 bits. */
float trl__random_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* Standard normal (Box-Muller). */
float trl__random_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif
