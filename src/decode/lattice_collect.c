/* The subsets of a determinization as a lattice. */
#include "base/fail.h"
#include "decode/lattice_subsets.h"

#include <math.h>

typedef struct sorted {
    int32_t *order;  /* subsets in topological order */
    int32_t *number; /* by subset: of the result; -1: none */
    double *ahead;   /* by subset: cost of the best way to it */
    double *rest;    /* and to the end */
} sorted;

/* Arcs that were never taken lead nowhere; every subset can be reached. */
static void sort_subsets(const trl__determinizer *d, sorted *s)
{
    size_t done = 0, known = 0;
    int32_t *missing = s->number; /* arcs into it that are still to come */
    for (size_t i = 0; i < d->subset_count; i++)
        missing[i] = 0;
    for (size_t a = 0; a < d->arc_count; a++)
        if (d->arcs[a].next >= 0)
            missing[d->arcs[a].next]++;
    s->order[known++] = 0;
    while (done < known) {
        const trl__subset *now = &d->subsets[s->order[done++]];
        for (size_t a = now->arc; a < now->arc + now->arcs; a++)
            if (d->arcs[a].next >= 0 && --missing[d->arcs[a].next] == 0)
                s->order[known++] = d->arcs[a].next;
    }
}

static double arc_cost(const trl__determinizer *d, const trl__word_arc *arc)
{
    return arc->graph + d->scale * arc->acoustic;
}

static double end_cost(const trl__determinizer *d, const trl__subset *s)
{
    return s->end_graph < INFINITY ? s->end_graph + d->scale * s->end_acoustic : INFINITY;
}

static void find_costs(const trl__determinizer *d, const sorted *s)
{
    for (size_t i = 0; i < d->subset_count; i++)
        s->ahead[i] = i == 0 ? 0 : INFINITY;
    for (size_t i = 0; i < d->subset_count; i++) {
        const trl__subset *now = &d->subsets[s->order[i]];
        for (size_t a = now->arc; a < now->arc + now->arcs; a++) {
            int32_t next = d->arcs[a].next;
            double cost = s->ahead[s->order[i]] + arc_cost(d, &d->arcs[a]);
            if (next >= 0 && cost < s->ahead[next])
                s->ahead[next] = cost;
        }
    }
    for (size_t i = d->subset_count; i-- > 0;) {
        const trl__subset *now = &d->subsets[s->order[i]];
        double rest = end_cost(d, now);
        for (size_t a = now->arc; a < now->arc + now->arcs; a++)
            if (d->arcs[a].next >= 0)
                rest = fmin(rest, arc_cost(d, &d->arcs[a]) + s->rest[d->arcs[a].next]);
        s->rest[s->order[i]] = rest;
    }
}

static int sort_result(trl__determinizer *d, sorted *s, trl_error *err)
{
    int32_t *numbers = trl__scratch_get(&d->numbers, 2 * d->subset_count, sizeof *numbers);
    double *costs = trl__scratch_get(&d->order, 2 * d->subset_count, sizeof *costs);
    if (!numbers || !costs)
        return trl__fail_memory(err);
    *s = (sorted){numbers, numbers + d->subset_count, costs, costs + d->subset_count};
    sort_subsets(d, s);
    find_costs(d, s);
    int32_t number = 0;
    for (size_t i = 0; i < d->subset_count; i++) {
        int32_t now = s->order[i];
        s->number[now] = s->ahead[now] + s->rest[now] <= d->limit ? number++ : -1;
    }
    return 0;
}

/* Transitions [first, end) of a trace that has `frames` of them. */
static int32_t *spell(trl__determinizer *d, uint32_t at, int32_t frames, int32_t first, int32_t end)
{
    int32_t *string = trl__scratch_get(&d->string, (size_t)(end - first) + 1, sizeof *string);
    at = trl__walk_back(d, at, frames - end);
    for (int32_t t = end; string && t > first; t--) {
        string[t - 1 - first] = d->traces[at].transition;
        at = d->traces[at].before;
    }
    return string;
}

static int write_arc(trl__determinizer *d, const sorted *s, const trl__word_arc *arc, trl_lattice *out, trl_error *err)
{
    if (arc->next < 0 || s->ahead[arc->from] + arc_cost(d, arc) + s->rest[arc->next] > d->limit)
        return 0;
    int32_t from = d->subsets[arc->from].time, to = d->subsets[arc->next].time;
    const trl_lattice_arc written = {.next = s->number[arc->next],
                                     .word = arc->word,
                                     .graph = (float)arc->graph,
                                     .acoustic = (float)arc->acoustic,
                                     .duration = (uint32_t)(to - from)};
    int32_t *string = spell(d, arc->trace, arc->trace_time, from, to);
    return string ? trl__lattice_add_arc(out, &written, string, err) : trl__fail_memory(err);
}

static int write_end(trl__determinizer *d, const sorted *s, int32_t number, trl_lattice *out, trl_error *err)
{
    const trl__subset *now = &d->subsets[number];
    int32_t frames = d->raw->frames;
    if (s->ahead[number] + end_cost(d, now) > d->limit || now->end_graph == INFINITY)
        return 0;
    const trl_lattice_end end = {(float)now->end_graph, (float)now->end_acoustic, 0, (uint32_t)(frames - now->time)};
    int32_t *string = spell(d, now->end_trace, frames, now->time, frames);
    return string ? trl__lattice_set_end(out, &end, string, err) : trl__fail_memory(err);
}

int trl__collect_subsets(trl__determinizer *d, trl_lattice *out, trl_error *err)
{
    sorted s = {0};
    int code = sort_result(d, &s, err);
    for (size_t i = 0; code == 0 && i < d->subset_count; i++) {
        int32_t number = s.order[i];
        const trl__subset *now = &d->subsets[number];
        if (s.number[number] < 0)
            continue;
        code = trl__lattice_add_state(out, err);
        for (size_t a = now->arc; code == 0 && a < now->arc + now->arcs; a++)
            code = write_arc(d, &s, &d->arcs[a], out, err);
        if (code == 0)
            code = write_end(d, &s, number, out, err);
    }
    return code;
}
