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

/* Tied states in the order in which their blocks are taken; what was taken by its name stays in it. */
typedef struct trl__block_ring {
    atomic_int *tied;
    atomic_uint count, next; /* that came in; that left */
} trl__block_ring;

#define TRL__MOST_AT_ONCE 4

typedef enum trl__block_time { TRL__SOON, TRL__LATER, TRL__BLOCK_TIMES } trl__block_time;

typedef struct trl__foreseen {
    atomic_int *stage; /* by tied state */
    uint32_t *begin;   /* by tied state that is listed: the first frame of its block */
    trl__block_ring rings[TRL__BLOCK_TIMES];
    uint32_t size; /* of a ring, a power of two */
    int32_t tied_states;
    int32_t at_once; /* blocks that are taken at a time, at least 1 */
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

/* The block of a tied state that begins with a frame; it has none. Those that are wanted soon are taken first. Where the ring is full it can only be taken by its name. */
static inline void trl__foreseen_list(trl__foreseen *f, int32_t tied, uint32_t begin, trl__block_time time)
{
    trl__block_ring *ring = &f->rings[time];
    uint32_t count = atomic_load_explicit(&ring->count, memory_order_relaxed);
    f->begin[tied] = begin;
    atomic_store_explicit(&f->stage[tied], TRL__LISTED, memory_order_release);
    if (count - atomic_load_explicit(&ring->next, memory_order_relaxed) < f->size) {
        atomic_store_explicit(&ring->tied[count % f->size], tied, memory_order_relaxed);
        atomic_store_explicit(&ring->count, count + 1, memory_order_release);
    }
}

/* Nobody has anything to take that is wanted later. */
static inline int trl__foreseen_is_done(const trl__foreseen *f)
{
    const trl__block_ring *ring = &f->rings[TRL__LATER];
    return atomic_load_explicit(&ring->next, memory_order_relaxed) ==
           atomic_load_explicit(&ring->count, memory_order_relaxed);
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
