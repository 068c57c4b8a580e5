/* Which instruction set the kernels use. */
#ifndef TRL_BASE_CPU_H
#define TRL_BASE_CPU_H

typedef enum trl__cpu_level {
    TRL__CPU_REF,  /* the plain reference, for comparison */
    TRL__CPU_BASE, /* vector code for what every machine of the architecture has: SSE2, NEON */
    TRL__CPU_AVX2
} trl__cpu_level;

/* The best level of this machine, or what TRELLIS_CPU asks for when the machine has it. */
trl__cpu_level trl__cpu(void);

#endif
