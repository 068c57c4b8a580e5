#include "decode/foreseen.h"
#include "base/memory.h"

#include <sched.h>

#define PATIENCE 128 /* looks: some microseconds */

int trl__foreseen_create(trl__foreseen *f, int32_t tied_states)
{
    *f = (trl__foreseen){.tied_states = tied_states, .size = 1, .patience = PATIENCE};
    while (f->size < (uint32_t)tied_states)
        f->size *= 2;
    f->block = trl__alloc_zero((size_t)tied_states + 1, sizeof *f->block);
    for (int i = 0; i < TRL__BLOCK_TIMES; i++)
        f->rings[i].tied = trl__alloc(f->size, sizeof *f->rings[i].tied);
    return f->block && f->rings[TRL__SOON].tied && f->rings[TRL__LATER].tied ? 0 : -1;
}

void trl__foreseen_free(trl__foreseen *f)
{
    trl__free(f->block);
    for (int i = 0; i < TRL__BLOCK_TIMES; i++)
        trl__free(f->rings[i].tied);
}

void trl__foreseen_clear(trl__foreseen *f)
{
    for (int32_t tied = 0; tied < f->tied_states; tied++)
        atomic_store_explicit(&f->block[tied].stage, TRL__NOT_LISTED, memory_order_relaxed);
    for (int i = 0; i < TRL__BLOCK_TIMES; i++) {
        atomic_store(&f->rings[i].count, 0);
        atomic_store(&f->rings[i].next, 0);
    }
}

/* ---- taking ---- */

int trl__foreseen_take(trl__foreseen *f, int32_t tied, trl__taken_block *taken)
{
    uint32_t stage = trl__foreseen_stage(f, tied);
    if (stage % TRL__STAGES != TRL__LISTED)
        return 0;
    *taken = (trl__taken_block){tied, trl__foreseen_begin(f, tied), trl__at_stage(stage, TRL__TAKEN)};
    return atomic_compare_exchange_strong(&f->block[tied].stage, &stage, taken->stage);
}

/* As below, of one ring, behind `count` others. */
static int32_t take_from(trl__foreseen *f, trl__block_ring *ring, trl__taken_block *taken, int32_t count, int32_t most,
                         int32_t *next)
{
    uint32_t place = atomic_load(&ring->next);
    while (place != atomic_load(&ring->count)) {
        int32_t first = atomic_load_explicit(&ring->tied[place % f->size], memory_order_relaxed);
        if (count == most) {
            *next = first;
            return count;
        }
        if (!atomic_compare_exchange_weak(&ring->next, &place, place + 1))
            continue;
        count += trl__foreseen_take(f, first, &taken[count]);
        place++;
    }
    return count;
}

int32_t trl__foreseen_take_next(trl__foreseen *f, trl__taken_block *taken, int32_t most, int32_t *next)
{
    int32_t count = 0;
    *next = -1;
    for (int i = 0; i < TRL__BLOCK_TIMES && *next < 0; i++)
        count = take_from(f, &f->rings[i], taken, count, most, next);
    return count;
}

int trl__foreseen_place(trl__foreseen *f, const trl__taken_block *taken)
{
    uint32_t stage = taken->stage;
    return atomic_compare_exchange_strong(&f->block[taken->tied].stage, &stage, trl__at_stage(stage, TRL__PLACED));
}

void trl__foreseen_made(trl__foreseen *f, const trl__taken_block *taken, int is_made)
{
    uint32_t stage = taken->stage;
    if (is_made)
        atomic_store(&f->block[taken->tied].stage, trl__at_stage(stage, TRL__MADE));
    else
        atomic_compare_exchange_strong(&f->block[taken->tied].stage, &stage, trl__at_stage(stage, TRL__NOT_LISTED));
}

/* ---- the search ---- */

/* It has left TAKEN, after so many looks at most: else it is forgotten, and whoever has it comes too late. */
static uint32_t leave_taken(trl__foreseen *f, int32_t tied, int looks)
{
    uint32_t stage = trl__foreseen_stage(f, tied);
    for (; stage % TRL__STAGES == TRL__TAKEN && looks > 0; looks--) {
        trl__relax();
        stage = trl__foreseen_stage(f, tied);
    }
    uint32_t forgotten = trl__at_stage(stage, TRL__NOT_LISTED);
    if (stage % TRL__STAGES == TRL__TAKEN && atomic_compare_exchange_strong(&f->block[tied].stage, &stage, forgotten))
        return forgotten;
    return stage;
}

static int forget(trl__foreseen *f, int32_t tied, int looks)
{
    uint32_t stage = leave_taken(f, tied, looks);
    for (int i = 0; stage % TRL__STAGES == TRL__PLACED; i++) { /* a few hundred bytes are being written */
        if (i > f->patience)
            sched_yield();
        trl__relax();
        stage = trl__foreseen_stage(f, tied);
    }
    atomic_store_explicit(&f->block[tied].stage, trl__at_stage(stage, TRL__NOT_LISTED), memory_order_relaxed);
    return stage % TRL__STAGES == TRL__MADE;
}

int trl__foreseen_await(trl__foreseen *f, int32_t tied)
{
    return forget(f, tied, f->patience);
}

void trl__foreseen_drop(trl__foreseen *f, int32_t tied)
{
    trl__taken_block unused;
    if (!trl__foreseen_take(f, tied, &unused))
        forget(f, tied, 0);
    else
        trl__foreseen_made(f, &unused, 0);
}
