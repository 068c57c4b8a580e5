/* Which instruction set the kernels use. */
#ifndef TRL_BASE_CPU_H
#define TRL_BASE_CPU_H

typedef enum trl__cpu_level {
    TRL__CPU_REF,   /* the plain reference, for comparison */
    TRL__CPU_BASE,  /* vector code for what every machine of the architecture has: SSE2; NEON, and called that */
    TRL__CPU_AVX2,  /* with FMA */
    TRL__CPU_AVX512 /* F, DQ, BW and VL */
} trl__cpu_level;

/* The best level of this machine. */
trl__cpu_level trl__cpu_best(void);

/* The best level, or what TRELLIS_CPU asks for when the machine has it. */
trl__cpu_level trl__cpu(void);

/* "ref", "base" ("neon" on aarch64), "avx2", "avx512". */
const char *trl__cpu_level_name(trl__cpu_level level);

#endif
