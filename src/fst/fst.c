#include "base/fail.h"
#include "base/memory.h"
#include "fst/fst_data.h"

#include <string.h>

/* Arcs of all semirings but the lattice's; those are trl_arc itself. */
typedef struct plain_arc {
    int32_t ilabel, olabel;
    float weight;
    int32_t next;
} plain_arc;

static size_t weight_size(const trl_fst *fst)
{
    return fst->semiring == TRL_LATTICE ? sizeof(trl_weight) : sizeof(float);
}

/* ---- Life ---- */

int trl_fst_create(trl_semiring semiring, trl_fst **out, trl_error *err)
{
    *out = NULL;
    if ((int)semiring < 0 || semiring >= TRL_SEMIRINGS)
        return trl__fail(err, TRL_EINVAL, "there is no semiring %d", (int)semiring);
    trl_fst *fst = trl__alloc_zero(1, sizeof *fst);
    if (!fst)
        return trl__fail_memory(err);
    fst->semiring = semiring;
    fst->start = TRL_NO_STATE;
    *out = fst;
    return 0;
}

int trl__fst_like(const trl_fst *fst, trl_fst **out, trl_error *err)
{
    int code = trl_fst_create(fst->semiring, out, err);
    if (code == 0)
        trl_fst_set_symbols(*out, trl_symbols_share(fst->isymbols), trl_symbols_share(fst->osymbols));
    return code;
}

void trl_fst_destroy(trl_fst *fst)
{
    if (!fst)
        return;
    trl_symbols_destroy(fst->isymbols);
    trl_symbols_destroy(fst->osymbols);
    trl__free(fst->range);
    trl__free(fst->final);
    trl__free(fst->arcs);
    trl__free(fst);
}

void trl__fst_swap(trl_fst *a, trl_fst *b)
{
    trl_fst other = *a;
    *a = *b;
    *b = other;
}

int trl_fst_copy(const trl_fst *fst, trl_fst **out, trl_error *err)
{
    int code = trl__fst_like(fst, out, err);
    if (code < 0)
        return code;
    code = trl__fst_append(*out, fst, err);
    (*out)->start = fst->start;
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

/* ---- Building ---- */

int trl_fst_add_states(trl_fst *fst, int32_t count, trl_error *err)
{
    if (count < 0)
        return trl__fail(err, TRL_EINVAL, "%d states can't be added", (int)count);
    if (count > INT32_MAX - fst->states)
        return trl__fail(err, TRL_ELIMIT, "a transducer has at most %d states", INT32_MAX);
    size_t wanted = (size_t)fst->states + (size_t)count;
    if (trl__grow((void **)&fst->range, &fst->range_capacity, wanted, sizeof *fst->range) < 0 ||
        trl__grow(&fst->final, &fst->final_capacity, wanted, weight_size(fst)) < 0)
        return trl__fail_memory(err);
    trl_weight zero = trl_weight_zero(fst->semiring);
    for (size_t s = (size_t)fst->states; s < wanted; s++) {
        fst->range[s] = (trl__range){0};
        memcpy((char *)fst->final + s * weight_size(fst), &zero, weight_size(fst));
    }
    fst->states = (int32_t)wanted;
    return 0;
}

int trl_fst_add_state(trl_fst *fst, int32_t *state, trl_error *err)
{
    *state = fst->states;
    return trl_fst_add_states(fst, 1, err);
}

static int check_state(const trl_fst *fst, int32_t state, trl_error *err)
{
    if (state < 0 || state >= fst->states)
        return trl__fail(err, TRL_EINVAL, "there is no state %d; the transducer has %d", (int)state, (int)fst->states);
    return 0;
}

/* The array of arcs grows to hold `wanted`. */
static int grow_arcs(trl_fst *fst, uint64_t wanted)
{
    size_t capacity = fst->capacity;
    int code = wanted > SIZE_MAX / sizeof(trl_arc) ? -1 : trl__grow(&fst->arcs, &capacity, wanted, trl__arc_size(fst));
    fst->capacity = capacity;
    return code;
}

int trl__fst_make_room(trl_fst *fst, int32_t states, uint64_t arcs, trl_error *err)
{
    int code = trl__grow((void **)&fst->range, &fst->range_capacity, (size_t)states, sizeof *fst->range);
    if (code == 0)
        code = trl__grow(&fst->final, &fst->final_capacity, (size_t)states, weight_size(fst));
    if (code == 0 && arcs > fst->capacity)
        code = grow_arcs(fst, arcs);
    return code < 0 ? trl__fail_memory(err) : 0;
}

int trl__fst_append(trl_fst *fst, const trl_fst *other, trl_error *err)
{
    int32_t offset = fst->states, count = other->states;
    if (count > INT32_MAX - offset)
        return trl__fail(err, TRL_ELIMIT, "a transducer has at most %d states", INT32_MAX);
    int code = trl__fst_make_room(fst, offset + count, fst->used + trl_fst_arcs(other), err);
    if (code < 0)
        return code;
    size_t size = trl__arc_size(fst);
    if (count > 0)
        memcpy((char *)fst->final + (size_t)offset * weight_size(fst), other->final, (size_t)count * weight_size(fst));
    for (int32_t s = 0; s < count; s++) {
        trl__range range = other->range[s];
        if (range.count > 0)
            memcpy((char *)fst->arcs + fst->used * size, (const char *)other->arcs + range.first * size,
                   range.count * size);
        for (uint32_t i = 0; offset > 0 && i < range.count; i++)
            *trl__arc_next(fst, fst->used + i) += offset;
        fst->range[offset + s] = (trl__range){fst->used, range.count, range.count};
        fst->used += range.count;
    }
    fst->states = offset + count;
    return 0;
}

int trl__fst_reserve(trl_fst *fst, int32_t state, uint64_t count, trl_error *err)
{
    trl__range *range = &fst->range[state];
    uint64_t wanted = range->count + count;
    if (wanted > UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "state %d would have more than %u arcs", (int)state, UINT32_MAX);
    if (wanted <= range->room)
        return 0;
    if (range->room == 0)
        range->first = fst->used;
    if (range->first + range->room == fst->used) /* it lies at the end: push_arc goes on there */
        return range->first + wanted > fst->capacity && grow_arcs(fst, range->first + wanted) < 0
                   ? trl__fail_memory(err)
                   : 0;
    uint64_t room = 2 * (uint64_t)range->count > wanted ? 2 * (uint64_t)range->count : wanted;
    room = room > UINT32_MAX ? UINT32_MAX : room;
    if (grow_arcs(fst, fst->used + room) < 0)
        return trl__fail_memory(err);
    size_t size = trl__arc_size(fst);
    memcpy((char *)fst->arcs + fst->used * size, (char *)fst->arcs + range->first * size, range->count * size);
    *range = (trl__range){fst->used, range->count, (uint32_t)room};
    fst->used += room;
    return 0;
}

int trl_fst_add_arc(trl_fst *fst, int32_t state, trl_arc arc, trl_error *err)
{
    int code = check_state(fst, state, err);
    if (code < 0)
        return code;
    if (arc.ilabel < 0 || arc.olabel < 0 || arc.next < 0)
        return trl__fail(err, TRL_EINVAL,
                         "an arc of state %d has labels %d:%d and leads to state %d; none may be negative", (int)state,
                         (int)arc.ilabel, (int)arc.olabel, (int)arc.next);
    if (!trl_weight_is_member(fst->semiring, arc.weight))
        return trl__fail(err, TRL_ENUMBER, "the weight %g of an arc of state %d is not in the %s semiring",
                         (double)arc.weight.value, (int)state, trl_semiring_name(fst->semiring));
    code = trl__fst_reserve(fst, state, 1, err);
    if (code < 0)
        return code;
    trl__range *range = &fst->range[state];
    uint64_t at = range->first + range->count++;
    if (fst->semiring == TRL_LATTICE)
        ((trl_arc *)fst->arcs)[at] = arc;
    else
        ((plain_arc *)fst->arcs)[at] = (plain_arc){arc.ilabel, arc.olabel, arc.weight.value, arc.next};
    fst->used = at + 1 > fst->used ? at + 1 : fst->used;
    range->room = range->count > range->room ? range->count : range->room;
    return 0;
}

int trl_fst_set_start(trl_fst *fst, int32_t state, trl_error *err)
{
    int code = check_state(fst, state, err);
    if (code == 0)
        fst->start = state;
    return code;
}

int trl_fst_set_final(trl_fst *fst, int32_t state, trl_weight weight, trl_error *err)
{
    int code = check_state(fst, state, err);
    if (code < 0)
        return code;
    if (!trl_weight_is_member(fst->semiring, weight))
        return trl__fail(err, TRL_ENUMBER, "the final weight %g of state %d is not in the %s semiring",
                         (double)weight.value, (int)state, trl_semiring_name(fst->semiring));
    memcpy((char *)fst->final + (size_t)state * weight_size(fst), &weight, weight_size(fst));
    return 0;
}

void trl_fst_delete_arcs(trl_fst *fst, int32_t state)
{
    fst->range[state].count = 0;
}

void trl_fst_set_symbols(trl_fst *fst, trl_symbols *input, trl_symbols *output)
{
    trl_symbols *old_input = fst->isymbols, *old_output = fst->osymbols;
    fst->isymbols = input;
    fst->osymbols = output;
    trl_symbols_destroy(old_input);
    trl_symbols_destroy(old_output);
}

/* The numbers that the states get when those without keep[] are gone; -1 for these. Returns how many stay. */
static int32_t renumber(const trl_fst *fst, const uint8_t *keep, int32_t *number)
{
    int32_t count = 0;
    for (int32_t s = 0; s < fst->states; s++)
        number[s] = keep[s] ? count++ : TRL_NO_STATE;
    return count;
}

/* Arcs move towards the front of their range; ranges stay where they are. */
static void drop_arcs(trl_fst *fst, trl__range *range, const int32_t *number)
{
    size_t size = trl__arc_size(fst);
    uint64_t to = range->first;
    for (uint64_t from = range->first; from < range->first + range->count; from++) {
        int32_t next = number[*trl__arc_next(fst, from)];
        if (next == TRL_NO_STATE)
            continue;
        if (to < from)
            memcpy((char *)fst->arcs + to * size, (char *)fst->arcs + from * size, size);
        *trl__arc_next(fst, to++) = next;
    }
    range->count = (uint32_t)(to - range->first);
}

int trl__fst_keep(trl_fst *fst, const uint8_t *keep, trl_error *err)
{
    int32_t *number = trl__alloc((size_t)fst->states + 1, sizeof *number);
    if (!number)
        return trl__fail_memory(err);
    int32_t count = renumber(fst, keep, number);
    size_t size = weight_size(fst);
    for (int32_t s = 0; s < fst->states; s++) {
        if (number[s] == TRL_NO_STATE)
            continue;
        trl__range range = fst->range[s];
        drop_arcs(fst, &range, number);
        fst->range[number[s]] = range;
        memmove((char *)fst->final + (size_t)number[s] * size, (char *)fst->final + (size_t)s * size, size);
    }
    fst->start = fst->start == TRL_NO_STATE ? TRL_NO_STATE : number[fst->start];
    fst->states = count;
    trl__free(number);
    return 0;
}

int trl__fst_permute(trl_fst *fst, const int32_t *number, trl_error *err)
{
    trl_fst *out;
    int code = trl__fst_like(fst, &out, err);
    if (code == 0)
        code = trl__fst_make_room(out, fst->states, 0, err);
    if (code < 0) {
        trl_fst_destroy(out);
        return code;
    }
    size_t size = weight_size(fst);
    for (int32_t s = 0; s < fst->states; s++) {
        trl__range range = fst->range[s];
        out->range[number[s]] = range;
        memcpy((char *)out->final + (size_t)number[s] * size, (char *)fst->final + (size_t)s * size, size);
        for (uint64_t i = range.first; i < range.first + range.count; i++)
            *trl__arc_next(fst, i) = number[*trl__arc_next(fst, i)];
    }
    out->arcs = fst->arcs;
    out->used = fst->used;
    out->capacity = fst->capacity;
    out->states = fst->states;
    out->start = fst->start == TRL_NO_STATE ? TRL_NO_STATE : number[fst->start];
    fst->arcs = NULL;
    trl__fst_swap(fst, out);
    trl_fst_destroy(out);
    return 0;
}

int trl__fst_leads_to(const trl_fst *fst, int32_t state)
{
    for (int32_t s = 0; s < fst->states; s++)
        for (uint32_t i = 0; i < fst->range[s].count; i++)
            if (trl_fst_arc(fst, s, i).next == state)
                return 1;
    return 0;
}

/* ---- Reading ---- */

trl_semiring trl_fst_semiring(const trl_fst *fst)
{
    return fst->semiring;
}

int32_t trl_fst_states(const trl_fst *fst)
{
    return fst->states;
}

int32_t trl_fst_start(const trl_fst *fst)
{
    return fst->start;
}

uint64_t trl_fst_arcs(const trl_fst *fst)
{
    uint64_t count = 0;
    for (int32_t s = 0; s < fst->states; s++)
        count += fst->range[s].count;
    return count;
}

uint32_t trl_fst_arc_count(const trl_fst *fst, int32_t state)
{
    return fst->range[state].count;
}

trl_arc trl_fst_arc(const trl_fst *fst, int32_t state, uint32_t arc)
{
    uint64_t at = fst->range[state].first + arc;
    if (fst->semiring == TRL_LATTICE)
        return ((const trl_arc *)fst->arcs)[at];
    plain_arc a = ((const plain_arc *)fst->arcs)[at];
    return (trl_arc){a.ilabel, a.olabel, {a.weight, 0}, a.next};
}

trl_weight trl_fst_final(const trl_fst *fst, int32_t state)
{
    trl_weight weight = {0, 0};
    memcpy(&weight, (const char *)fst->final + (size_t)state * weight_size(fst), weight_size(fst));
    return weight;
}

const trl_symbols *trl_fst_input_symbols(const trl_fst *fst)
{
    return fst->isymbols;
}

const trl_symbols *trl_fst_output_symbols(const trl_fst *fst)
{
    return fst->osymbols;
}

int trl__fst_check_semirings(const trl_fst *a, const trl_fst *b, trl_error *err)
{
    if (a->semiring == b->semiring)
        return 0;
    return trl__fail(err, TRL_EINVAL,
                     "one machine is of the %s semiring, the other of the %s semiring; map one of them to the other's",
                     trl_semiring_name(a->semiring), trl_semiring_name(b->semiring));
}

int trl__fst_is_acceptor(const trl_fst *fst)
{
    for (int32_t s = 0; s < fst->states; s++) {
        trl__range range = fst->range[s];
        for (uint64_t i = range.first; i < range.first + range.count; i++)
            if (trl__arc_labels(fst, i)[0] != trl__arc_labels(fst, i)[1])
                return 0;
    }
    return 1;
}

static int verify_state(const trl_fst *fst, int32_t s, trl_error *err)
{
    if (!trl_weight_is_member(fst->semiring, trl_fst_final(fst, s)))
        return trl__fail(err, TRL_ENUMBER, "the final weight of state %d is not in the %s semiring", (int)s,
                         trl_semiring_name(fst->semiring));
    for (uint32_t i = 0; i < fst->range[s].count; i++) {
        trl_arc a = trl_fst_arc(fst, s, i);
        if (a.next < 0 || a.next >= fst->states)
            return trl__fail(err, TRL_EINVAL, "arc %u of state %d leads to state %d of %d", i, (int)s, (int)a.next,
                             (int)fst->states);
        if (a.ilabel < 0 || a.olabel < 0)
            return trl__fail(err, TRL_EINVAL, "arc %u of state %d has the labels %d:%d; none may be negative", i,
                             (int)s, (int)a.ilabel, (int)a.olabel);
        if (!trl_weight_is_member(fst->semiring, a.weight))
            return trl__fail(err, TRL_ENUMBER, "the weight of arc %u of state %d is not in the %s semiring", i, (int)s,
                             trl_semiring_name(fst->semiring));
    }
    return 0;
}

int trl_fst_verify(const trl_fst *fst, trl_error *err)
{
    if (fst->start < TRL_NO_STATE || fst->start >= fst->states)
        return trl__fail(err, TRL_EINVAL, "the start is state %d of %d", (int)fst->start, (int)fst->states);
    int code = 0;
    for (int32_t s = 0; code == 0 && s < fst->states; s++)
        code = verify_state(fst, s, err);
    return code;
}
