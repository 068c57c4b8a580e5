#include "base/fail.h"
#include "base/memory.h"
#include "decode/lattice_data.h"

#include <math.h>
#include <string.h>

trl_lattice_scale trl_lattice_scale_times(trl_lattice_scale scale, double factor)
{
    return (trl_lattice_scale){factor * scale.acoustic, factor * scale.graph, factor * scale.insertion};
}

int trl__lattice_create(trl_symbols *words, trl_lattice **out, trl_error *err)
{
    *out = trl__alloc_zero(1, sizeof **out);
    if (!*out)
        return trl__fail_memory(err);
    (*out)->words = trl_symbols_share(words);
    (*out)->reached_end = 1;
    return 0;
}

void trl_lattice_destroy(trl_lattice *lattice)
{
    if (!lattice)
        return;
    trl_symbols_destroy(lattice->words);
    trl__free(lattice->first);
    trl__free(lattice->arcs);
    trl__free(lattice->ends);
    trl__free(lattice->time);
    trl__free(lattice->transitions);
    trl__free(lattice);
}

trl_lattice_view trl_lattice_look(const trl_lattice *l)
{
    return (trl_lattice_view){l->states, l->frames,      l->first, l->arcs,       l->ends,
                              l->time,   l->transitions, l->words, l->reached_end};
}

/* ---- building ---- */

int trl__lattice_add_state(trl_lattice *l, trl_error *err)
{
    size_t states = (size_t)l->states;
    if (l->states == INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "a lattice has at most 2^31 - 1 states");
    if (TRL_GROW(l->first, l->first_capacity, states + 2) < 0 || TRL_GROW(l->ends, l->end_capacity, states + 1) < 0)
        return trl__fail_memory(err);
    l->first[states] = l->first[states + 1] = (uint32_t)l->arc_count;
    l->ends[states] = (trl_lattice_end){INFINITY, INFINITY, 0, 0};
    l->states++;
    return 0;
}

int trl__keep_transitions(int32_t **list, size_t *used, size_t *capacity, const int32_t *transitions, uint32_t count,
                          trl_error *err)
{
    if (count > UINT32_MAX - *used)
        return trl__fail(err, TRL_ELIMIT, "a lattice has at most 2^32 - 1 transitions; prune it");
    if (trl__grow((void **)list, capacity, *used + count, sizeof **list) < 0)
        return trl__fail_memory(err);
    if (count > 0)
        memcpy(*list + *used, transitions, count * sizeof *transitions);
    *used += count;
    return 0;
}

static int add_transitions(trl_lattice *l, const int32_t *transitions, uint32_t count, trl_error *err)
{
    return trl__keep_transitions(&l->transitions, &l->transition_count, &l->transition_capacity, transitions, count,
                                 err);
}

int trl__lattice_add_arc(trl_lattice *l, const trl_lattice_arc *arc, const int32_t *transitions, trl_error *err)
{
    uint32_t first = (uint32_t)l->transition_count;
    if (l->arc_count == UINT32_MAX - 1)
        return trl__fail(err, TRL_ELIMIT, "a lattice has at most 2^32 - 2 arcs; prune it");
    if (TRL_GROW(l->arcs, l->arc_capacity, l->arc_count + 1) < 0)
        return trl__fail_memory(err);
    int code = add_transitions(l, transitions, arc->duration, err);
    if (code < 0)
        return code;
    l->arcs[l->arc_count] = *arc;
    l->arcs[l->arc_count++].transition = first;
    l->first[l->states] = (uint32_t)l->arc_count;
    return 0;
}

int trl__lattice_set_end(trl_lattice *l, const trl_lattice_end *end, const int32_t *transitions, trl_error *err)
{
    uint32_t first = (uint32_t)l->transition_count;
    int code = add_transitions(l, transitions, end->duration, err);
    if (code < 0)
        return code;
    l->ends[l->states - 1] = *end;
    l->ends[l->states - 1].transition = first;
    return 0;
}

/* ---- the finished lattice ---- */

static int check_arc(const trl_lattice *l, int32_t state, const trl_lattice_arc *arc, trl_error *err)
{
    if (arc->next <= state || arc->next >= l->states)
        return trl__fail(err, TRL_EINVAL,
                         "an arc of lattice state %d leads to state %d of %d; it must lead to a higher one", (int)state,
                         (int)arc->next, (int)l->states);
    if (arc->word < 0)
        return trl__fail(err, TRL_EINVAL, "an arc of lattice state %d has the word %d", (int)state, (int)arc->word);
    if (!isfinite(arc->graph) || !isfinite(arc->acoustic))
        return trl__fail(err, TRL_ENUMBER, "an arc of lattice state %d has a cost that is not finite", (int)state);
    return 0;
}

/* A frame count that all ways have to agree on; -1: none came yet. */
static int agree(int32_t *time, int64_t frames, int32_t state, trl_error *err)
{
    if (frames > INT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "a lattice has more than 2^31 - 1 frames");
    if (*time >= 0 && *time != frames)
        return trl__fail(err, TRL_EINVAL, "ways to lattice state %d have %d and %lld frames", (int)state, (int)*time,
                         (long long)frames);
    *time = (int32_t)frames;
    return 0;
}

static int finish_state(trl_lattice *l, int32_t s, int32_t *frames, trl_error *err)
{
    int code = 0;
    const trl_lattice_end *end = &l->ends[s];
    if (l->time[s] < 0)
        return trl__fail(err, TRL_EINVAL, "no way leads to lattice state %d", (int)s);
    for (uint32_t a = l->first[s]; code == 0 && a < l->first[s + 1]; a++) {
        const trl_lattice_arc *arc = &l->arcs[a];
        code = check_arc(l, s, arc, err);
        if (code == 0)
            code = agree(&l->time[arc->next], (int64_t)l->time[s] + arc->duration, arc->next, err);
    }
    if (code < 0 || end->graph == INFINITY)
        return code;
    if (!isfinite(end->graph) || !isfinite(end->acoustic))
        return trl__fail(err, TRL_ENUMBER, "the end at lattice state %d has a cost that is not finite", (int)s);
    return agree(frames, (int64_t)l->time[s] + end->duration, s, err);
}

int trl__lattice_finish(trl_lattice *l, trl_error *err)
{
    int32_t frames = -1;
    int code = 0;
    trl__free(l->time);
    l->time = trl__alloc((size_t)l->states + 1, sizeof *l->time);
    if (!l->time)
        return trl__fail_memory(err);
    for (int32_t s = 0; s < l->states; s++)
        l->time[s] = s == 0 ? 0 : -1;
    for (int32_t s = 0; code == 0 && s < l->states; s++)
        code = finish_state(l, s, &frames, err);
    if (code == 0 && l->states > 0 && frames < 0)
        return trl__fail(err, TRL_EINVAL, "the lattice has no end");
    l->frames = frames < 0 ? 0 : frames;
    return code;
}
