#include "feat/static_kernel.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/memory.h"

const trl__static_kernel *trl__static_kernel_choose(void)
{
    switch (trl__cpu()) {
    case TRL__CPU_REF: return &trl__static_ref;
#if TRELLIS_SIMD
    case TRL__CPU_AVX2:
    case TRL__CPU_AVX512: return &trl__static_avx2;
#endif
    default: return &trl__static_base;
    }
}

int trl__static_work_create(const trl_frontend *f, trl__static_work *work, trl_error *err)
{
    size_t value = TRL__MOST_LANES; /* floats; also enough for the reference's doubles, one frame at a time */
    size_t frame = (size_t)f->length + 8, bins = (size_t)f->fft / 2 + 1;
    size_t time = (frame > bins ? frame : bins) * value, spectrum = (size_t)f->fft * value;
    size_t mel = (size_t)f->options.mel_bins * value, rows = (size_t)f->static_dim * value;
    float *memory = trl__alloc_aligned(time + spectrum + mel + value + rows, sizeof *memory);
    if (!memory)
        return trl__fail_memory(err);
    work->time = memory;
    work->spectrum = work->time + time;
    work->mel = work->spectrum + spectrum;
    work->energy = work->mel + mel;
    work->rows = work->energy + value;
    return 0;
}
