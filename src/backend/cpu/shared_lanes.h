/* Log densities of the Gaussians of a codebook's stream, LANES of them at once. Included by one file per instruction set, which defines LANES and
 * KERNEL. Four registers of sums hide the latency of the additions. No step crosses lanes. */
#include "backend/cpu/shared_scores.h"

typedef float lanes __attribute__((vector_size(4 * LANES)));

#define SUMS 4 /* registers: SUMS * LANES divides TRL__SHARED_PAD */

static inline lanes load(const float *from)
{
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* mean and half: a row of `count` for each dimension. count is a multiple of TRL__SHARED_PAD. */
void KERNEL(const float *constant, const float *mean, const float *half, const float *frame, size_t dims, size_t count,
            float *out)
{
    for (size_t j = 0; j < count; j += (size_t)SUMS * LANES) {
        lanes sum[SUMS];
        for (int i = 0; i < SUMS; i++)
            sum[i] = load(constant + j + (size_t)i * LANES);
        for (size_t k = 0; k < dims; k++) {
            const float *m = mean + k * count + j, *h = half + k * count + j;
            for (int i = 0; i < SUMS; i++) {
                lanes difference = frame[k] - load(m + (size_t)i * LANES);
                sum[i] -= difference * difference * load(h + (size_t)i * LANES);
            }
        }
        for (int i = 0; i < SUMS; i++)
            memcpy(out + j + (size_t)i * LANES, &sum[i], sizeof sum[i]);
    }
}
