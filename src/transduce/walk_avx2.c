/* The loops compiled for AVX2: a count of bits is one instruction, probabilities are made eight at a time. */
#define KERNEL trl__walk_avx2
#include "transduce/walk_loops.h"
