/* Blocks of scores that a search will soon ask for: threads that have nothing to search make them before it does.
 *
 * What a token needs in the next frame is known some time before that frame's turn comes; and a tied state that is wanted when its block of scores is nearly used up wants the next
 * one, as a rule. The search lists both. Whoever has time takes blocks from the list and makes them; when the search comes to one, it finds it made, takes it itself or waits for it. So
 * little is made in vain, and nothing twice.
 *
 * One thread lists and forgets. Any may take. Nothing is locked: who takes a block changes its stage by comparing. */
#ifndef TRL_DECODE_FORESEEN_H
#define TRL_DECODE_FORESEEN_H

#include "base/team.h"

#include <stdatomic.h>
#include <stdint.h>

typedef enum trl__block_stage { TRL__NOT_LISTED, TRL__LISTED, TRL__TAKEN, TRL__MADE } trl__block_stage;

typedef struct trl__foreseen {
    atomic_int *stage;       /* by tied state */
    uint32_t *begin;         /* by tied state that is listed: the first frame of its block */
    atomic_int *queue;       /* tied states, a ring; what was taken elsewhere stays in it */
    uint32_t size;           /* of the ring, a power of two */
    atomic_uint count, next; /* that came into the ring; that left it */
    int32_t tied_states;
    trl__team *team; /* those who may take blocks */
} trl__foreseen;

int trl__foreseen_create(trl__foreseen *foreseen, int32_t tied_states); /* -1: no memory */
void trl__foreseen_free(trl__foreseen *foreseen);

/* Nothing is listed; nobody may be at work. */
void trl__foreseen_clear(trl__foreseen *foreseen);

/* Listed, taken or made, and not yet forgotten. If it is not, whoever had taken it is done with it. */
static inline int trl__foreseen_is_listed(const trl__foreseen *f, int32_t tied)
{
    return atomic_load_explicit(&f->stage[tied], memory_order_acquire) != TRL__NOT_LISTED;
}

/* The block of a tied state that begins with a frame; it has none. Where the ring is full it can only be taken by its name. */
static inline void trl__foreseen_list(trl__foreseen *f, int32_t tied, uint32_t begin)
{
    uint32_t count = atomic_load_explicit(&f->count, memory_order_relaxed);
    f->begin[tied] = begin;
    atomic_store_explicit(&f->stage[tied], TRL__LISTED, memory_order_release);
    if (count - atomic_load_explicit(&f->next, memory_order_relaxed) < f->size) {
        atomic_store_explicit(&f->queue[count % f->size], tied, memory_order_relaxed);
        atomic_store_explicit(&f->count, count + 1, memory_order_release);
    }
}

/* Returns 1 if the block of a tied state was to be had: the caller makes it. */
static inline int trl__foreseen_take(trl__foreseen *f, int32_t tied)
{
    int stage = TRL__LISTED;
    return atomic_compare_exchange_strong(&f->stage[tied], &stage, TRL__TAKEN);
}

/* Takes up to `most` of those that are next; returns how many. *next: the one behind them, as things are; -1: none. */
int32_t trl__foreseen_take_next(trl__foreseen *foreseen, int32_t *tied, int32_t most, int32_t *next);

/* What was taken is made, or could not be and is forgotten. */
static inline void trl__foreseen_made(trl__foreseen *f, int32_t tied, int is_made)
{
    atomic_store(&f->stage[tied], is_made ? TRL__MADE : TRL__NOT_LISTED);
}

/* Waits for what somebody has taken, and forgets it. Returns 1 if it is made. */
int trl__foreseen_await(trl__foreseen *foreseen, int32_t tied);

/* Forgets what is listed, at whatever stage. */
void trl__foreseen_drop(trl__foreseen *foreseen, int32_t tied);

#endif
