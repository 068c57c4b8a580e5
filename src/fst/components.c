/* Tarjan, "Depth-first search and linear graph algorithms", 1972, with a stack of its own in place of recursion. */
#include "fst/components.h"
#include "base/fail.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

typedef struct frame {
    int32_t state;
    uint32_t arc; /* the next one to follow */
} frame;

/* What is known of a state, together because an arc asks for both. */
typedef struct found_state {
    int32_t order; /* when it was found, from 1; 0: not yet */
    int32_t low;   /* the earliest it is known to reach; of a complete component, later than all */
} found_state;

typedef struct search {
    const trl_fst *fst;
    trl__components *out;
    size_t arc_size;
    found_state *state;
    int32_t *open; /* states whose component is not complete */
    frame *path;
    int32_t found, open_count, depth;
} search;

static int32_t next_of(const search *s, int32_t state, uint32_t arc)
{
    return *trl__arc_next(s->fst, s->fst->range[state].first + arc);
}

static int is_final(const trl_fst *fst, int32_t state)
{
    size_t size = fst->semiring == TRL_LATTICE ? sizeof(trl_weight) : sizeof(float);
    float value;
    memcpy(&value, (const char *)fst->final + (size_t)state * size, sizeof value);
    return value != (fst->semiring == TRL_REAL ? 0 : INFINITY);
}

static void enter(search *s, int32_t state, int reached)
{
    s->state[state].order = s->state[state].low = ++s->found;
    s->out->accessible[state] = (uint8_t)reached;
    s->out->coaccessible[state] = (uint8_t)is_final(s->fst, state);
    s->open[s->open_count++] = state;
    s->path[s->depth++] = (frame){state, 0};
}

/* All that was opened since `root` is one component; if one of its states reaches an end, all do. */
static void close_component(search *s, int32_t root)
{
    trl__components *c = s->out;
    int32_t first = s->open_count;
    uint8_t reaches = 0;
    do
        reaches |= c->coaccessible[s->open[--first]];
    while (s->open[first] != root);
    c->cyclic[c->count] = s->open_count - first > 1;
    for (int32_t i = first; i < s->open_count; i++) {
        s->state[s->open[i]].low = INT32_MAX;
        c->component[s->open[i]] = c->count;
        c->coaccessible[s->open[i]] = reaches;
    }
    s->open_count = first;
    c->count++;
}

static void learn(search *s, int32_t state, int32_t next)
{
    if (s->state[next].low < s->state[state].low)
        s->state[state].low = s->state[next].low;
    s->out->coaccessible[state] |= s->out->coaccessible[next];
}

static void search_from(search *s, int32_t start, int reached)
{
    enter(s, start, reached);
    while (s->depth > 0) {
        frame *top = &s->path[s->depth - 1];
        if (top->arc < s->fst->range[top->state].count) {
            int32_t next = next_of(s, top->state, top->arc++);
            if (s->state[next].order == 0)
                enter(s, next, reached);
            else
                learn(s, top->state, next);
            continue;
        }
        int32_t state = top->state;
        if (s->state[state].low == s->state[state].order)
            close_component(s, state);
        if (--s->depth > 0)
            learn(s, s->path[s->depth - 1].state, state);
    }
}

/* A component of one state is cyclic when an arc leads back to it. */
static void find_loops(search *s)
{
    trl__components *c = s->out;
    for (int32_t q = 0; q < s->fst->states; q++)
        for (uint32_t i = 0; i < s->fst->range[q].count; i++)
            if (next_of(s, q, i) == q)
                c->cyclic[c->component[q]] = 1;
    c->acyclic = 1;
    for (int32_t i = 0; i < c->count; i++)
        c->acyclic &= !c->cyclic[i];
}

static int make(search *s, size_t states)
{
    trl__components *c = s->out;
    c->component = trl__alloc(states + 1, sizeof *c->component);
    c->accessible = trl__alloc_zero(states + 1, 1);
    c->coaccessible = trl__alloc_zero(states + 1, 1);
    c->cyclic = trl__alloc_zero(states + 1, 1);
    s->state = trl__alloc_zero(states + 1, sizeof *s->state);
    s->open = trl__alloc(states + 1, sizeof *s->open);
    s->path = trl__alloc(states + 1, sizeof *s->path);
    if (!c->component || !c->accessible || !c->coaccessible || !c->cyclic || !s->state || !s->open || !s->path)
        return -1;
    memset(c->component, 0xff, (states + 1) * sizeof *c->component);
    return 0;
}

int trl__components_find(const trl_fst *fst, trl__components *out, trl_error *err)
{
    *out = (trl__components){0};
    search s = {.fst = fst, .out = out};
    int code = make(&s, (size_t)fst->states);
    if (code == 0) {
        if (fst->start != TRL_NO_STATE)
            search_from(&s, fst->start, 1);
        for (int32_t q = 0; q < fst->states; q++)
            if (s.state[q].order == 0)
                search_from(&s, q, 0);
        find_loops(&s);
    }
    trl__free(s.state);
    trl__free(s.open);
    trl__free(s.path);
    if (code < 0) {
        trl__components_free(out);
        return trl__fail_memory(err);
    }
    return 0;
}

int trl__components_members(const trl__components *c, int32_t states, int32_t **member, int32_t **begin)
{
    *member = trl__alloc((size_t)states, sizeof **member);
    *begin = trl__alloc_zero((size_t)c->count + 2, sizeof **begin);
    if (!*member || !*begin)
        return -1;
    int32_t *next = *begin + 1; /* where a component's next member goes; in the end, where it ends */
    for (int32_t s = 0; s < states; s++)
        next[c->component[s] + 1]++;
    for (int32_t i = 1; i < c->count; i++)
        next[i] += next[i - 1];
    for (int32_t s = 0; s < states; s++)
        (*member)[next[c->component[s]]++] = s;
    return 0;
}

void trl__components_free(trl__components *components)
{
    trl__free(components->component);
    trl__free(components->accessible);
    trl__free(components->coaccessible);
    trl__free(components->cyclic);
    *components = (trl__components){0};
}
