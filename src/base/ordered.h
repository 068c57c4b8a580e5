/* A parallel loop whose results are used one by one in the order of the items: many threads produce, one at a time
 * consumes.
 *
 * At most `window` results wait at once, so memory does not grow with the number of items. Result i is kept in slot
 * i % window from produce(i) to consume(i).
 */
#ifndef TRL_BASE_ORDERED_H
#define TRL_BASE_ORDERED_H

#include <trellis/pool.h>

typedef struct trl__ordered_work {
    size_t count, window;
    int (*produce)(void *user, size_t item, size_t slot, int worker, trl_error *err); /* any thread */
    int (*consume)(void *user, size_t item, size_t slot, trl_error *err);             /* in order, one at a time */
    void *user;
} trl__ordered_work;

/* Returns 0, or the failure with the lowest item, whichever function it came from: the same for every number of
 * threads. */
int trl__ordered_for(trl_pool *pool, const trl__ordered_work *work, trl_error *err);

#endif
