/* From samples to static coefficients: the kernel, in one version per instruction set.
 *
 * The fast version (static_lanes.h) carries several frames at once through every step, one frame per SIMD lane; the
 * reference (static_ref.c) takes one frame at a time in double precision and is what the fast ones are compared with.
 */
#ifndef TRL_FEAT_STATIC_KERNEL_H
#define TRL_FEAT_STATIC_KERNEL_H

#include "feat/frontend_tables.h"
#include "feat/noise_removal.h"

#define TRL__MOST_LANES 8

/* Working memory of one thread: per step an array of `lanes` values at a time (floats; doubles in the reference). */
typedef struct trl__static_work {
    float *time;     /* [max(length + 8, fft / 2 + 1)]: the frames; afterwards the spectrum, |X(k)|² or |X(k)| */
    float *spectrum; /* [fft]: re, im of the packed transform */
    float *mel;      /* [mel_bins] */
    float *energy;   /* [1]: log energy */
    float *rows;     /* [static_dim]: the result */
} trl__static_work;

/* The steps, in order; each reads what the one before left in `work`. The samples are in 16-bit units; frame f starts
 * at samples + f * shift, and eight samples past the last frame may be read. */
typedef struct trl__static_kernel {
    const char *name;
    size_t lanes; /* frames it takes at once */
    void (*window)(const trl_frontend *frontend, trl__static_work *work, const float *samples, size_t count);
    void (*transform)(const trl_frontend *frontend, trl__static_work *work);
    void (*filterbank)(const trl_frontend *frontend, trl__static_work *work);
    void (*cepstra)(const trl_frontend *frontend, trl__static_work *work, size_t count, float *out, size_t stride);
} trl__static_kernel;

extern const trl__static_kernel trl__static_ref, trl__static_base, trl__static_avx2;

/* The kernel for this machine (or for TRELLIS_CPU). */
const trl__static_kernel *trl__static_kernel_choose(void);

/* Allocates the working memory: one block, which begins at work->time and is freed by trl__free(work->time). */
int trl__static_work_create(const trl_frontend *frontend, trl__static_work *work, trl_error *err);

/* All steps for up to kernel->lanes frames, which follow those before. */
static inline void trl__static_frames(const trl__static_kernel *kernel, const trl_frontend *frontend,
                                      trl__static_work *work, const float *samples, size_t count, float *out,
                                      size_t stride, trl__noise *noise)
{
    kernel->window(frontend, work, samples, count);
    kernel->transform(frontend, work);
    kernel->filterbank(frontend, work);
    for (size_t i = 0; noise && i < count; i++) {
        if (kernel->lanes == 1)
            trl__noise_remove_wide(noise, (double *)(void *)work->mel);
        else
            trl__noise_remove(noise, work->mel + i, kernel->lanes);
    }
    kernel->cepstra(frontend, work, count, out, stride);
}

#endif
