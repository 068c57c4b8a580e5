#include "decode/foreseen.h"
#include "base/memory.h"

#include <sched.h>

#define LOOKS 3000 /* before the core is left to others: whoever makes a block may have none */

int trl__foreseen_create(trl__foreseen *f, int32_t tied_states)
{
    *f = (trl__foreseen){.tied_states = tied_states, .size = 1, .at_once = 1};
    while (f->size < (uint32_t)tied_states)
        f->size *= 2;
    f->stage = trl__alloc_zero((size_t)tied_states + 1, sizeof *f->stage);
    f->begin = trl__alloc((size_t)tied_states + 1, sizeof *f->begin);
    for (int i = 0; i < TRL__BLOCK_TIMES; i++)
        f->rings[i].tied = trl__alloc(f->size, sizeof *f->rings[i].tied);
    return f->stage && f->begin && f->rings[TRL__SOON].tied && f->rings[TRL__LATER].tied ? 0 : -1;
}

void trl__foreseen_free(trl__foreseen *f)
{
    trl__free(f->stage);
    trl__free(f->begin);
    for (int i = 0; i < TRL__BLOCK_TIMES; i++)
        trl__free(f->rings[i].tied);
}

void trl__foreseen_clear(trl__foreseen *f)
{
    for (int32_t tied = 0; tied < f->tied_states; tied++)
        atomic_store_explicit(&f->stage[tied], TRL__NOT_LISTED, memory_order_relaxed);
    for (int i = 0; i < TRL__BLOCK_TIMES; i++) {
        atomic_store(&f->rings[i].count, 0);
        atomic_store(&f->rings[i].next, 0);
    }
}

/* As below, of one ring, behind `taken` others. */
static int32_t take_from(trl__foreseen *f, trl__block_ring *ring, int32_t *tied, int32_t taken, int32_t most,
                         int32_t *next)
{
    uint32_t place = atomic_load(&ring->next);
    while (place != atomic_load(&ring->count)) {
        int32_t first = atomic_load_explicit(&ring->tied[place % f->size], memory_order_relaxed);
        if (taken == most) {
            *next = first;
            return taken;
        }
        if (!atomic_compare_exchange_weak(&ring->next, &place, place + 1))
            continue;
        if (trl__foreseen_take(f, first))
            tied[taken++] = first;
        place++;
    }
    return taken;
}

int32_t trl__foreseen_take_next(trl__foreseen *f, int32_t *tied, int32_t most, int32_t *next)
{
    int32_t taken = 0;
    *next = -1;
    for (int i = 0; i < TRL__BLOCK_TIMES && *next < 0; i++)
        taken = take_from(f, &f->rings[i], tied, taken, most, next);
    return taken;
}

int trl__foreseen_await(trl__foreseen *f, int32_t tied)
{
    int stage, looks = 0;
    while ((stage = atomic_load_explicit(&f->stage[tied], memory_order_acquire)) == TRL__TAKEN)
        if (++looks > LOOKS)
            sched_yield();
        else
            trl__relax();
    atomic_store_explicit(&f->stage[tied], TRL__NOT_LISTED, memory_order_relaxed);
    return stage == TRL__MADE;
}

void trl__foreseen_drop(trl__foreseen *f, int32_t tied)
{
    int stage = TRL__LISTED;
    if (!atomic_compare_exchange_strong(&f->stage[tied], &stage, TRL__NOT_LISTED))
        trl__foreseen_await(f, tied);
}
