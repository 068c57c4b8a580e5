/* Topological order by taking states whose arcs from before are all used up (Kahn 1962): O(states + arcs). */
#include "decode/lattice_draft.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* ---- filling ---- */

static int keep_transitions(trl__lattice_draft *d, const int32_t *transitions, uint32_t count, trl_error *err)
{
    return trl__keep_transitions(&d->transitions, &d->transition_count, &d->transition_capacity, transitions, count,
                                 err);
}

static void name_state(trl__lattice_draft *d, int32_t state)
{
    d->highest = state > d->highest ? state : d->highest;
}

int trl__draft_add_arc(trl__lattice_draft *d, int32_t from, const trl_lattice_arc *arc, const int32_t *transitions,
                       trl_error *err)
{
    uint32_t first = (uint32_t)d->transition_count;
    int code = keep_transitions(d, transitions, arc->duration, err);
    if (code < 0)
        return code;
    if (TRL_GROW(d->arcs, d->arc_capacity, d->arc_count + 1) < 0)
        return trl__fail_memory(err);
    d->arcs[d->arc_count] = (trl__draft_arc){from, *arc};
    d->arcs[d->arc_count++].arc.transition = first;
    name_state(d, from);
    name_state(d, arc->next);
    return 0;
}

int trl__draft_set_end(trl__lattice_draft *d, int32_t state, const trl_lattice_end *end, const int32_t *transitions,
                       trl_error *err)
{
    uint32_t first = (uint32_t)d->transition_count;
    int code = keep_transitions(d, transitions, end->duration, err);
    if (code < 0)
        return code;
    if (TRL_GROW(d->ends, d->end_capacity, d->end_count + 1) < 0)
        return trl__fail_memory(err);
    d->ends[d->end_count] = (trl__draft_end){state, *end};
    d->ends[d->end_count++].end.transition = first;
    name_state(d, state);
    return 0;
}

void trl__draft_clear(trl__lattice_draft *d)
{
    d->start = d->highest = 0;
    d->arc_count = d->end_count = d->transition_count = 0;
}

void trl__draft_free(trl__lattice_draft *d)
{
    trl__free(d->arcs);
    trl__free(d->ends);
    trl__free(d->transitions);
    *d = (trl__lattice_draft){0};
}

/* ---- numbers with gaps ---- */

static int compare_numbers(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int32_t rank_of(const int32_t *numbers, size_t count, int32_t number)
{
    const int32_t *found = bsearch(&number, numbers, count, sizeof *numbers, compare_numbers);
    return (int32_t)(found - numbers);
}

/* Where there are far fewer states than numbers, they are counted anew, in the same order. */
static int close_gaps(trl__lattice_draft *d, trl_error *err)
{
    size_t named = 1, count = 1, most = 2 * d->arc_count + d->end_count + 1;
    if ((size_t)d->highest < 2 * most)
        return 0;
    int32_t *numbers = trl__alloc(most, sizeof *numbers);
    if (!numbers)
        return trl__fail_memory(err);
    numbers[0] = d->start;
    for (size_t i = 0; i < d->arc_count; i++) {
        numbers[named++] = d->arcs[i].from;
        numbers[named++] = d->arcs[i].arc.next;
    }
    for (size_t i = 0; i < d->end_count; i++)
        numbers[named++] = d->ends[i].state;
    qsort(numbers, named, sizeof *numbers, compare_numbers);
    for (size_t i = 1; i < named; i++)
        if (numbers[i] != numbers[count - 1])
            numbers[count++] = numbers[i];
    d->start = rank_of(numbers, count, d->start);
    for (size_t i = 0; i < d->arc_count; i++) {
        d->arcs[i].from = rank_of(numbers, count, d->arcs[i].from);
        d->arcs[i].arc.next = rank_of(numbers, count, d->arcs[i].arc.next);
    }
    for (size_t i = 0; i < d->end_count; i++)
        d->ends[i].state = rank_of(numbers, count, d->ends[i].state);
    d->highest = (int32_t)count - 1;
    trl__free(numbers);
    return 0;
}

/* ---- finishing ---- */

typedef struct sorter {
    const trl__lattice_draft *draft;
    int32_t states;
    size_t *first, *by_from; /* arcs of state s: by_from[first[s]] … first[s + 1] - 1, in the order they came */
    size_t *end;             /* by state: its end + 1; 0: none */
    int32_t *entering;       /* by state: arcs that enter it from states that are reached and not yet in order[] */
    int32_t *order, *number; /* the states that are reached, sorted; by state: its place there, or -1 */
    uint8_t *alive;          /* reached from the start; then also: leads to an end */
    int32_t count;           /* of order[] */
} sorter;

static int sorter_begin(sorter *s, trl_error *err)
{
    const trl__lattice_draft *d = s->draft;
    size_t states = (size_t)s->states;
    s->first = trl__alloc_zero(states + 2, sizeof *s->first);
    s->by_from = trl__alloc(d->arc_count + 1, sizeof *s->by_from);
    s->end = trl__alloc_zero(states, sizeof *s->end);
    s->entering = trl__alloc_zero(states, sizeof *s->entering);
    s->order = trl__alloc(states, sizeof *s->order);
    s->number = trl__alloc(states, sizeof *s->number);
    s->alive = trl__alloc_zero(states, sizeof *s->alive);
    if (!s->first || !s->by_from || !s->end || !s->entering || !s->order || !s->number || !s->alive)
        return trl__fail_memory(err);
    for (size_t a = 0; a < d->arc_count; a++)
        s->first[d->arcs[a].from + 2]++;
    for (size_t i = 2; i <= states + 1; i++)
        s->first[i] += s->first[i - 1];
    for (size_t a = 0; a < d->arc_count; a++)
        s->by_from[s->first[d->arcs[a].from + 1]++] = a;
    for (size_t i = 0; i < d->end_count; i++)
        s->end[d->ends[i].state] = d->ends[i].end.graph == INFINITY ? 0 : i + 1;
    return 0;
}

static void sorter_free(sorter *s)
{
    trl__free(s->first);
    trl__free(s->by_from);
    trl__free(s->end);
    trl__free(s->entering);
    trl__free(s->order);
    trl__free(s->number);
    trl__free(s->alive);
}

static const trl_lattice_arc *arc_at(const sorter *s, size_t i)
{
    return &s->draft->arcs[s->by_from[i]].arc;
}

/* Marks the states that are reached, and counts the arcs that enter them from such. */
static void reach(sorter *s)
{
    size_t head = 0, tail = 0;
    s->order[tail++] = s->draft->start;
    s->alive[s->draft->start] = 1;
    while (head < tail) {
        int32_t at = s->order[head++];
        for (size_t i = s->first[at]; i < s->first[at + 1]; i++) {
            int32_t next = arc_at(s, i)->next;
            s->entering[next]++;
            if (!s->alive[next]) {
                s->alive[next] = 1;
                s->order[tail++] = next;
            }
        }
    }
    s->count = (int32_t)tail;
}

static int is_sorted(const sorter *s)
{
    const trl__lattice_draft *d = s->draft;
    for (size_t a = 0; a < d->arc_count; a++)
        if (s->alive[d->arcs[a].from] && d->arcs[a].arc.next <= d->arcs[a].from)
            return 0;
    return 1;
}

static int sort_states(sorter *s, trl_error *err)
{
    int32_t head = 0, tail = 0, reached = s->count;
    if (is_sorted(s)) {
        for (int32_t i = 0; i < s->states; i++)
            if (s->alive[i])
                s->order[tail++] = i;
        return 0;
    }
    if (s->entering[s->draft->start] == 0)
        s->order[tail++] = s->draft->start;
    while (head < tail) {
        int32_t at = s->order[head++];
        for (size_t i = s->first[at]; i < s->first[at + 1]; i++)
            if (--s->entering[arc_at(s, i)->next] == 0)
                s->order[tail++] = arc_at(s, i)->next;
    }
    return tail == reached ? 0 : trl__fail(err, TRL_EFORMAT, "the lattice has a cycle");
}

/* Of the states that are reached, those that lead to an end keep their place. */
static int drop_dead_ends(sorter *s, trl_error *err)
{
    int32_t kept = 0;
    for (int32_t o = s->count; o-- > 0;) {
        int32_t at = s->order[o];
        int alive = s->end[at] > 0;
        for (size_t i = s->first[at]; !alive && i < s->first[at + 1]; i++)
            alive = s->alive[arc_at(s, i)->next]; /* later in order[]: it is known */
        s->alive[at] = (uint8_t)alive;
    }
    for (int32_t i = 0; i < s->states; i++)
        s->number[i] = -1;
    for (int32_t o = 0; o < s->count; o++) {
        int32_t at = s->order[o];
        if (!s->alive[at])
            continue;
        s->number[at] = kept;
        s->order[kept++] = at;
    }
    s->count = kept;
    return kept > 0 ? 0
                    : trl__fail(err, TRL_EFORMAT, "no path leads from the lattice's start to an end: it is cut off");
}

static int copy_state(const sorter *s, int32_t at, trl_lattice *lattice, trl_error *err)
{
    const trl__lattice_draft *d = s->draft;
    const trl_lattice_end *end = s->end[at] > 0 ? &d->ends[s->end[at] - 1].end : NULL;
    int code = trl__lattice_add_state(lattice, err);
    for (size_t i = s->first[at]; code == 0 && i < s->first[at + 1]; i++) {
        trl_lattice_arc arc = *arc_at(s, i);
        const int32_t *transitions = arc.duration > 0 ? d->transitions + arc.transition : NULL;
        if ((arc.next = s->number[arc.next]) >= 0)
            code = trl__lattice_add_arc(lattice, &arc, transitions, err);
    }
    if (code < 0 || !end)
        return code;
    return trl__lattice_set_end(lattice, end, end->duration > 0 ? d->transitions + end->transition : NULL, err);
}

static int copy_states(sorter *s, trl_lattice *lattice, trl_error *err)
{
    int code = sorter_begin(s, err);
    if (code < 0)
        return code;
    reach(s);
    code = sort_states(s, err);
    if (code == 0)
        code = drop_dead_ends(s, err);
    for (int32_t i = 0; code == 0 && i < s->count; i++)
        code = copy_state(s, s->order[i], lattice, err);
    return code;
}

int trl__draft_finish(trl__lattice_draft *draft, trl_symbols *words, trl_lattice **out, trl_error *err)
{
    trl_error reason;
    name_state(draft, draft->start);
    int code = trl__lattice_create(words, out, err);
    if (code == 0)
        code = close_gaps(draft, err);
    if (code == 0 && draft->arc_count + draft->end_count > 0) {
        sorter s = {.draft = draft, .states = draft->highest + 1};
        code = copy_states(&s, *out, err);
        sorter_free(&s);
    }
    if (code == 0 && (code = trl__lattice_finish(*out, &reason)) < 0) /* here a fault of the content */
        code = trl__fail(err, code == TRL_EINVAL ? TRL_EFORMAT : code, "%s", reason.text);
    if (code < 0) {
        trl_lattice_destroy(*out);
        *out = NULL;
    }
    return code;
}
