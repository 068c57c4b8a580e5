/* Blocks of scores that a search will soon ask for: threads that have nothing to search make them before it does.
 *
 * What a token needs in the next frame is known some time before that frame's turn comes; and a tied state that is wanted when its block of scores is nearly used up wants the next
 * one, as a rule. The search lists both. Whoever has time takes blocks from the list and makes them; when the search comes to one, it finds it made, takes it itself or waits for it. So
 * little is made in vain.
 *
 * One thread, the search, lists and forgets. Any may take. Nothing is locked: who takes a block changes its stage by comparing. Whoever has taken one may lose its core; the search waits
 * some times as long as making the block takes, then makes it itself. Who comes too late finds another number in the block's stage, and keeps what it has made to itself. */
#ifndef TRL_DECODE_FORESEEN_H
#define TRL_DECODE_FORESEEN_H

#include "base/team.h"

#include <stdatomic.h>
#include <stdint.h>

/* The low bits of a block's stage; those above count how often it was listed. TAKEN: somebody computes it; PLACED: and now writes it where the search reads. */
typedef enum trl__block_stage {
    TRL__NOT_LISTED,
    TRL__LISTED,
    TRL__TAKEN,
    TRL__PLACED,
    TRL__MADE,
    TRL__STAGES = 8
} trl__block_stage;

/* Both in one cache line, as both go to whoever takes the block. */
typedef struct trl__listed_block {
    atomic_uint stage;
    atomic_uint begin; /* its first frame */
} trl__listed_block;

typedef struct trl__taken_block {
    int32_t tied, begin;
    uint32_t stage; /* as it was when it was taken */
} trl__taken_block;

/* Tied states in the order in which their blocks are taken; what was taken by its name stays in it. */
typedef struct trl__block_ring {
    atomic_int *tied;
    atomic_uint count, next; /* that came in; that left */
} trl__block_ring;

#define TRL__MOST_AT_ONCE 4

typedef enum trl__block_time { TRL__SOON, TRL__LATER, TRL__BLOCK_TIMES } trl__block_time;

typedef struct trl__foreseen {
    trl__listed_block *block; /* by tied state */
    trl__block_ring rings[TRL__BLOCK_TIMES];
    uint32_t size; /* of a ring, a power of two */
    int32_t tied_states;
    int patience;    /* looks before the search makes a block itself */
    trl__team *team; /* those who may take blocks */
} trl__foreseen;

int trl__foreseen_create(trl__foreseen *foreseen, int32_t tied_states); /* -1: no memory */
void trl__foreseen_free(trl__foreseen *foreseen);

/* Nothing is listed; nobody may be at work. */
void trl__foreseen_clear(trl__foreseen *foreseen);

static inline uint32_t trl__foreseen_stage(const trl__foreseen *f, int32_t tied)
{
    return atomic_load_explicit(&f->block[tied].stage, memory_order_acquire);
}

/* A stage with the same count. */
static inline uint32_t trl__at_stage(uint32_t stage, trl__block_stage now)
{
    return stage / TRL__STAGES * TRL__STAGES + (uint32_t)now;
}

/* Listed, taken or made, and not yet forgotten. */
static inline int trl__foreseen_is_listed(const trl__foreseen *f, int32_t tied)
{
    return trl__foreseen_stage(f, tied) % TRL__STAGES != TRL__NOT_LISTED;
}

static inline int32_t trl__foreseen_begin(const trl__foreseen *f, int32_t tied)
{
    return (int32_t)atomic_load_explicit(&f->block[tied].begin, memory_order_relaxed);
}

/* The block of a tied state that begins with a frame; it has none. Those that are wanted soon are taken first. Where the ring is full it can only be taken by its name. */
static inline void trl__foreseen_list(trl__foreseen *f, int32_t tied, uint32_t begin, trl__block_time time)
{
    trl__block_ring *ring = &f->rings[time];
    uint32_t count = atomic_load_explicit(&ring->count, memory_order_relaxed);
    uint32_t stage = atomic_load_explicit(&f->block[tied].stage, memory_order_relaxed) + TRL__STAGES;
    atomic_store_explicit(&f->block[tied].begin, begin, memory_order_relaxed);
    atomic_store_explicit(&f->block[tied].stage, trl__at_stage(stage, TRL__LISTED), memory_order_release);
    if (count - atomic_load_explicit(&ring->next, memory_order_relaxed) < f->size) {
        atomic_store_explicit(&ring->tied[count % f->size], tied, memory_order_relaxed);
        atomic_store_explicit(&ring->count, count + 1, memory_order_release);
    }
}

/* Returns 1 if the block of a tied state was to be had: the caller computes it. */
int trl__foreseen_take(trl__foreseen *foreseen, int32_t tied, trl__taken_block *taken);

/* How many blocks to take at a time: fewer towards the end, so that nobody waits long for another. */
static inline int32_t trl__foreseen_at_once(const trl__foreseen *f)
{
    const trl__block_ring *ring = &f->rings[TRL__SOON];
    uint32_t left = atomic_load_explicit(&ring->count, memory_order_relaxed) -
                    atomic_load_explicit(&ring->next, memory_order_relaxed);
    return left >= 8 * TRL__MOST_AT_ONCE ? TRL__MOST_AT_ONCE : left >= 16 ? (int32_t)left / 8 : 1;
}

/* Takes up to `most` of those that are next; returns how many. *next: the tied state behind them, as things are; -1: none. */
int32_t trl__foreseen_take_next(trl__foreseen *foreseen, trl__taken_block *taken, int32_t most, int32_t *next);

/* What was taken is computed. Returns 1: the caller puts it where it belongs, then says that it is made; 0: it came too late. */
int trl__foreseen_place(trl__foreseen *foreseen, const trl__taken_block *taken);

/* It is there; or it could not be made, placed or not, and is forgotten. */
void trl__foreseen_made(trl__foreseen *foreseen, const trl__taken_block *taken, int is_made);

/* Waits for what somebody has taken, and forgets it. Returns 1 if it is made; else the caller makes it. */
int trl__foreseen_await(trl__foreseen *foreseen, int32_t tied);

/* Forgets what is listed, at whatever stage. */
void trl__foreseen_drop(trl__foreseen *foreseen, int32_t tied);

#endif
