#include "decode/lattice_subsets.h"
#include "base/fail.h"

#include <math.h>

#define NEAR 1e-3 /* costs of members as near as this are the same: many roundings of floats */

/* ---- traces ---- */

int trl__add_trace(trl__determinizer *d, uint32_t before, int32_t transition, uint32_t *out, trl_error *err)
{
    if (d->trace_count == TRL__NO_TRACE)
        return trl__fail(err, TRL_ELIMIT, "the lattice is too large; choose a narrower lattice beam");
    if (d->trace_count == d->trace_capacity && TRL_GROW(d->traces, d->trace_capacity, d->trace_count + 1) < 0)
        return trl__fail_memory(err);
    d->traces[d->trace_count] = (trl__trace){before, transition};
    *out = (uint32_t)d->trace_count++;
    return 0;
}

uint32_t trl__walk_back(const trl__determinizer *d, uint32_t at, int32_t steps)
{
    while (steps-- > 0)
        at = d->traces[at].before;
    return at;
}

int trl__common_time(trl__determinizer *d, const trl__member *m, uint32_t count, int32_t from, int32_t *out,
                     trl_error *err)
{
    const int32_t *time = d->raw->time;
    uint32_t *at = trl__scratch_get(&d->walk, count, sizeof *at), walking = 0;
    int32_t least = time[m[0].state], common;
    if (!at)
        return trl__fail_memory(err);
    for (uint32_t i = 1; i < count; i++)
        least = time[m[i].state] < least ? time[m[i].state] : least;
    common = least;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = trl__walk_back(d, m[i].trace, time[m[i].state] - least);
        if (walking == 0 || node != at[walking - 1])
            at[walking++] = node;
    }
    for (int32_t t = least; walking > 1 && t > from; t--) {
        int32_t transition = d->traces[at[0]].transition;
        uint32_t still = 0;
        for (uint32_t i = 0; i < walking; i++) {
            trl__trace node = d->traces[at[i]];
            if (node.transition != transition)
                common = t - 1;
            if (still == 0 || node.before != at[still - 1])
                at[still++] = node.before;
        }
        walking = still;
    }
    *out = common;
    return 0;
}

/* Do two traces of so many frames agree behind the first `from`? */
static int same_rest(const trl__determinizer *d, uint32_t a, uint32_t b, int32_t frames, int32_t from)
{
    for (; a != b && frames > from; frames--) {
        if (d->traces[a].transition != d->traces[b].transition)
            return 0;
        a = d->traces[a].before;
        b = d->traces[b].before;
    }
    return 1;
}

/* ---- subsets ---- */

static uint64_t hash_members(const trl__member *m, uint32_t count, int32_t time)
{
    uint64_t hash = (uint64_t)(uint32_t)time + 1;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ (uint32_t)m[i].state) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
}

static int is_same(const trl__determinizer *d, const trl__subset *s, const trl__member *m, uint32_t count, int32_t time)
{
    const trl__member *own = d->members + s->first;
    if (s->count != count || s->time != time)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (own[i].state != m[i].state || fabs(own[i].graph - m[i].graph) > NEAR ||
            d->scale * fabs(own[i].acoustic - m[i].acoustic) > NEAR)
            return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!same_rest(d, own[i].trace, m[i].trace, d->raw->time[m[i].state], time))
            return 0;
    return 1;
}

static int enlarge_table(trl__determinizer *d, trl_error *err)
{
    size_t size = d->slot_count ? 2 * d->slot_count : 256;
    uint32_t *slots = trl__alloc_zero(size, sizeof *slots);
    if (!slots)
        return trl__fail_memory(err);
    for (size_t i = 0; i < d->subset_count; i++) {
        size_t at = d->subsets[i].hash & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = (uint32_t)i + 1;
    }
    trl__free(d->slots);
    d->slots = slots;
    d->slot_count = size;
    return 0;
}

int trl__find_subset(trl__determinizer *d, size_t first, uint32_t count, int32_t time, int32_t *out, int *is_new,
                     trl_error *err)
{
    const trl__member *m = d->members + first;
    uint64_t hash = hash_members(m, count, time);
    *is_new = 0;
    if (2 * d->subset_count >= d->slot_count && enlarge_table(d, err) < 0)
        return TRL_ENOMEM;
    size_t at = hash & (d->slot_count - 1);
    for (; d->slots[at]; at = (at + 1) & (d->slot_count - 1)) {
        *out = (int32_t)d->slots[at] - 1;
        if (d->subsets[*out].hash == hash && is_same(d, &d->subsets[*out], m, count, time))
            return 0;
    }
    if (d->subset_count == INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "the lattice is too large; choose a narrower lattice beam");
    if (TRL_GROW(d->subsets, d->subset_capacity, d->subset_count + 1) < 0)
        return trl__fail_memory(err);
    *out = (int32_t)d->subset_count++;
    d->slots[at] = (uint32_t)d->subset_count;
    d->subsets[*out] = (trl__subset){.first = first, .count = count, .time = time, .hash = hash, .end_graph = INFINITY};
    *is_new = 1;
    return 0;
}

/* ---- the heap of arcs ---- */

static int is_better(const trl__determinizer *d, uint32_t a, uint32_t b)
{
    return d->arcs[a].total != d->arcs[b].total ? d->arcs[a].total < d->arcs[b].total : a < b;
}

int trl__push_arc(trl__determinizer *d, uint32_t arc, trl_error *err)
{
    if (TRL_GROW(d->heap, d->heap_capacity, d->heap_count + 1) < 0)
        return trl__fail_memory(err);
    size_t at = d->heap_count++;
    for (; at > 0 && is_better(d, arc, d->heap[(at - 1) / 2]); at = (at - 1) / 2)
        d->heap[at] = d->heap[(at - 1) / 2];
    d->heap[at] = arc;
    return 0;
}

uint32_t trl__pop_arc(trl__determinizer *d)
{
    uint32_t top = d->heap[0], last = d->heap[--d->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < d->heap_count; child = 2 * at + 1) {
        if (child + 1 < d->heap_count && is_better(d, d->heap[child + 1], d->heap[child]))
            child++;
        if (!is_better(d, d->heap[child], last))
            break;
        d->heap[at] = d->heap[child];
        at = child;
    }
    d->heap[at] = last;
    return top;
}
