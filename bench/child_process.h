/* Work in a process of its own, to see how much memory it takes.
 *
 *     results *r = child_shared(sizeof *r);                 // what the child writes, the parent reads
 *     child_peaks peaks = child_run(work, r);               // waits; ends the program when the child fails
 *     child_shared_free(r, sizeof *r);
 */
#ifndef TRELLIS_BENCH_CHILD_PROCESS_H
#define TRELLIS_BENCH_CHILD_PROCESS_H

#include <stddef.h>

/* In MB: `own` memory, seen from outside every few milliseconds; `all` counts mapped files too, which the system can take back. */
typedef struct child_peaks {
    double own, all;
} child_peaks;

child_peaks child_run(void (*work)(void *user), void *user);

void *child_shared(size_t size); /* zero; the same memory in parent and child */
void child_shared_free(void *block, size_t size);

/* This process's own memory now, in MB, after what is free has gone back to the system. */
double child_own_mb(void);

#endif
