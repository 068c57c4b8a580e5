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

typedef struct new_work {
    const trl_frontend *f;
    trl__static_work *work;
} new_work;

static void lay_out(void *user, trl__pieces *pieces)
{
    const new_work *new = user;
    const trl_frontend *f = new->f;
    trl__static_work *work = new->work;
    size_t value = TRL__MOST_LANES * sizeof(float); /* also enough for the reference's doubles, one frame at a time */
    size_t frame = (size_t)f->length + 8, bins = (size_t)f->fft / 2 + 1;
    work->time = trl__take(pieces, frame > bins ? frame : bins, value);
    work->spectrum = trl__take(pieces, (size_t)f->fft, value);
    work->mel = trl__take(pieces, (size_t)f->options.mel_bins, value);
    work->energy = trl__take(pieces, 1, value);
    work->rows = trl__take(pieces, (size_t)f->static_dim, value);
}

int trl__static_work_create(const trl_frontend *f, trl__static_work *work, trl_error *err)
{
    return trl__lay_out(lay_out, &(new_work){f, work}) ? 0 : trl__fail_memory(err);
}
