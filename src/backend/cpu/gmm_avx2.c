/* The lane kernel for AVX2 and FMA. */
#include "backend/cpu/gmm_kernel.h"
#include "backend/cpu/lanes_avx2.h"

#define KERNEL trl__gmm_avx2
#define KERNEL_NAME "avx2"

/* Four components times 24 frames need all 16 registers, which gcc 12 does not manage: it loads frames twice or spills
 * sums, and loses an eighth of the speed. So this one loop is written out: h into the sums, six rows per turn, the
 * rows that are left, scores out. A component's sums are in registers a, b and d, frames in 12 to 14, a parameter in
 * 15. */
/* clang-format off */
#define BEGIN(c, a, b, d)                              \
    "vbroadcastss " #c "*4(%[p]), %%ymm" #a "\n\t"     \
    "vmovaps %%ymm" #a ", %%ymm" #b "\n\t"             \
    "vmovaps %%ymm" #a ", %%ymm" #d "\n\t"
#define ADD(row, c, a, b, d)                               \
    "vbroadcastss 16*" #row "+" #c "*4(%[p]), %%ymm15\n\t" \
    "vfmadd231ps %%ymm12, %%ymm15, %%ymm" #a "\n\t"        \
    "vfmadd231ps %%ymm13, %%ymm15, %%ymm" #b "\n\t"        \
    "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #d "\n\t"
#define ROW(row)                                        \
    "vmovups " #row "*%c[stride](%[o]), %%ymm12\n\t"    \
    "vmovups " #row "*%c[stride]+32(%[o]), %%ymm13\n\t" \
    "vmovups " #row "*%c[stride]+64(%[o]), %%ymm14\n\t" \
    ADD(row, 0, 0, 1, 2) ADD(row, 1, 3, 4, 5) ADD(row, 2, 6, 7, 8) ADD(row, 3, 9, 10, 11)
#define END(c, a, b, d)                                      \
    "vmovups %%ymm" #a ", " #c "*%c[tile](%[scores])\n\t"    \
    "vmovups %%ymm" #b ", " #c "*%c[tile]+32(%[scores])\n\t" \
    "vmovups %%ymm" #d ", " #c "*%c[tile]+64(%[scores])\n\t"

static inline void whole_tile(const float *p, const float *next, const float *o, int64_t rows,
                              float *scores) /* NOLINT(readability-non-const-parameter): the assembly writes there */
{
    __asm__ volatile(
        BEGIN(0, 0, 1, 2) BEGIN(1, 3, 4, 5) BEGIN(2, 6, 7, 8) BEGIN(3, 9, 10, 11)
        "add $16, %[p]\n\t"
        "sub $6, %[rows]\n\t"
        "jl 2f\n\t"
        ".p2align 5\n"
        "1:\n\t"
        "prefetcht0 (%[next])\n\t"
        "prefetcht0 64(%[next])\n\t"
        ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5)
        "add $6*16, %[p]\n\t"
        "add $6*16, %[next]\n\t"
        "add $6*%c[stride], %[o]\n\t"
        "sub $6, %[rows]\n\t"
        "jge 1b\n"
        "2:\n\t"
        "add $6, %[rows]\n\t"
        "jz 4f\n"
        "3:\n\t"
        ROW(0)
        "add $16, %[p]\n\t"
        "add $%c[stride], %[o]\n\t"
        "dec %[rows]\n\t"
        "jnz 3b\n"
        "4:\n\t"
        END(0, 0, 1, 2) END(1, 3, 4, 5) END(2, 6, 7, 8) END(3, 9, 10, 11)
        : [p] "+r"(p), [next] "+r"(next), [o] "+r"(o), [rows] "+r"(rows)
        : [scores] "r"(scores), [stride] "i"(4 * TRL__STRIDE), [tile] "i"(4 * TRL__TILE)
        : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
/* clang-format on */
#define WHOLE_TILE whole_tile

#include "backend/cpu/gmm_lanes.h"
