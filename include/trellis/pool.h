/* A pool of threads that share out the items of a loop.
 *
 *     static int twice(void *user, size_t index, int worker, trl_error *err)
 *     {
 *         ((int *)user)[index] *= 2;
 *         return 0;
 *     }
 *
 *     trl_pool_create(0, &pool, &err);                   // as many threads as the machine has cores
 *     trl_pool_for(pool, count, twice, numbers, &err);
 *     trl_pool_destroy(pool);
 *
 * Items are handed out one by one in rising order, so uneven items balance themselves. A loop inside an item of
 * another loop is safe and shares the same threads.
 *
 * Indices: item index 0 … count-1; worker 0 … trl_pool_threads()-1, unique among the threads that work on one loop,
 * so that scratch[worker] belongs to one item at a time. A loop inside an item keeps its thread's number.
 */
#ifndef TRELLIS_POOL_H
#define TRELLIS_POOL_H

#include <stddef.h>
#include <trellis/error.h>

TRL_BEGIN_DECLS

typedef struct trl_pool trl_pool;

/* One item. Returns 0, or a negative code after explaining it in err (never NULL here). */
typedef int (*trl_pool_fn)(void *user, size_t index, int worker, trl_error *err);

/* threads counts the caller too: 1 runs everything in the calling thread, 0 means one per core.
 * Returns 0, TRL_EINVAL, TRL_ENOMEM. */
TRL_API int trl_pool_create(int threads, trl_pool **out, trl_error *err);
TRL_API void trl_pool_destroy(trl_pool *pool);
TRL_API int trl_pool_threads(const trl_pool *pool);

/* Runs fn for every index. After the first failure no new items start; the failure with the lowest index is
 * reported, so the outcome is the same for every number of threads. A NULL pool means one thread.
 * Thread rule: any thread may call it, at the same time as others and from inside an item. */
TRL_API int trl_pool_for(trl_pool *pool, size_t count, trl_pool_fn fn, void *user, trl_error *err);

TRL_END_DECLS

#endif
