/* For a program's main: large blocks go back to the system when they are freed. glibc raises its threshold with each one that is, and then keeps such blocks: a graph
 * that is made while searching would take half as much memory again. */
#ifndef TRELLIS_PROGRAMS_LARGE_BLOCKS_H
#define TRELLIS_PROGRAMS_LARGE_BLOCKS_H

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static inline void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

#endif
