/* Which words can a state of the loop still write next? Sets of words, found from the states behind: a state's is the union of its arcs' words and of the sets of
 * the states that its other arcs lead to. Words are numbered by how they are said, so a branch of the tree of pronunciations has a range of them, and a few more
 * that are said there, too, in another way.
 *
 * A state from which one can end, or come round to itself, without a word has no set: anything may come. Equal sets are one. Cost: O(states and arcs, and ranges
 * where ways part). */
#include "decode/ngram_rows.h"

#include "base/fail.h"
#include "base/hash_map.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN UINT32_MAX
#define OPEN (UINT32_MAX - 1) /* on the stack */

typedef struct place {
    int32_t state;
    uint64_t arc; /* the next one to look at */
} place;

typedef struct finder {
    trl__ngram_rows *rows;
    const trl_graph *loop;
    trl_error *err;
    place *stack;
    size_t depth, stack_capacity;
    trl__word_range *found; /* of the state at hand */
    size_t found_count, found_capacity;
    size_t range_count, range_capacity, set_capacity, ahead_capacity;
    uint32_t *slots; /* set; 0: free */
    size_t slot_count;
} finder;

/* ---- Sets ---- */

static uint64_t hash_of(const trl__word_range *ranges, size_t count)
{
    return trl__hash((const char *)ranges, count * sizeof *ranges);
}

static int is_set(const finder *f, uint32_t set, const trl__word_range *ranges, size_t count)
{
    const trl__ngram_rows *r = f->rows;
    return r->set_first[set + 1] - r->set_first[set] == count &&
           memcmp(r->ranges + r->set_first[set], ranges, count * sizeof *ranges) == 0;
}

static int enlarge_slots(finder *f)
{
    const trl__ngram_rows *r = f->rows;
    size_t size = f->slot_count ? 2 * f->slot_count : 1024;
    uint32_t *slots = trl__alloc_zero(size, sizeof *slots);
    if (!slots)
        return -1;
    for (uint32_t set = 1; set < (uint32_t)r->sets; set++) {
        size_t at = hash_of(r->ranges + r->set_first[set], r->set_first[set + 1] - r->set_first[set]) & (size - 1);
        while (slots[at])
            at = (at + 1) & (size - 1);
        slots[at] = set;
    }
    trl__free(f->slots);
    f->slots = slots;
    f->slot_count = size;
    return 0;
}

/* One more set; returns 0 or -1. */
static int append_set(finder *f, const trl__word_range *ranges, size_t count)
{
    trl__ngram_rows *r = f->rows;
    if (f->range_count + count > UINT32_MAX || TRL_GROW(r->ranges, f->range_capacity, f->range_count + count + 1) < 0 ||
        TRL_GROW(r->set_first, f->set_capacity, (size_t)r->sets + 2) < 0 ||
        TRL_GROW(r->set_ahead, f->ahead_capacity, (size_t)r->sets + 1) < 0)
        return -1;
    float least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        r->ranges[f->range_count++] = ranges[i];
        for (int32_t w = ranges[i].begin; w < ranges[i].end; w++)
            least = fminf(least, r->ahead[w]);
    }
    r->set_ahead[r->sets] = least;
    r->set_first[++r->sets] = (uint32_t)f->range_count;
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const trl__word_range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The number of the set that was found; it is new or old. */
static int number_set(finder *f, uint32_t *set)
{
    trl__word_range *found = f->found;
    size_t kept = 0;
    qsort(found, f->found_count, sizeof *found, by_begin);
    for (size_t i = 1; i < f->found_count; i++)
        if (found[i].begin > found[kept].end)
            found[++kept] = found[i];
        else if (found[i].end > found[kept].end)
            found[kept].end = found[i].end;
    size_t count = kept + 1;
    if (3 * f->slot_count <= 4 * (size_t)f->rows->sets && enlarge_slots(f) < 0)
        return -1;
    size_t at = hash_of(found, count) & (f->slot_count - 1);
    for (; f->slots[at]; at = (at + 1) & (f->slot_count - 1))
        if (is_set(f, f->slots[at], found, count)) {
            *set = f->slots[at];
            return 0;
        }
    *set = f->slots[at] = (uint32_t)f->rows->sets;
    return append_set(f, found, count);
}

/* ---- States ---- */

static int add_ranges(finder *f, const trl__word_range *ranges, size_t count)
{
    if (TRL_GROW(f->found, f->found_capacity, f->found_count + count) < 0)
        return -1;
    memcpy(f->found + f->found_count, ranges, count * sizeof *ranges);
    f->found_count += count;
    return 0;
}

/* All behind the state is known, but for what leads round to it. */
static int close_state(finder *f, int32_t s)
{
    const trl_graph *g = f->loop;
    trl__ngram_rows *r = f->rows;
    uint32_t last = 0;
    size_t parts = 0; /* words and different sets */
    f->found_count = 0;
    r->reach[s] = 0;
    if (isfinite(g->final[s]))
        return 0;
    for (uint64_t i = g->first[s]; i < g->end[s]; i++) {
        const trl__network_arc *a = &g->arcs[i];
        const trl__word_range own = {a->word, a->word + 1};
        if (!a->word && (a->next == s || (last != 0 && r->reach[a->next] == last)))
            continue;
        if (!a->word && ((last = r->reach[a->next]) == 0 || last == OPEN))
            return 0;
        parts++;
        if ((a->word ? add_ranges(f, &own, 1)
                     : add_ranges(f, r->ranges + r->set_first[last], r->set_first[last + 1] - r->set_first[last])) < 0)
            return -1;
    }
    if (parts > 1 || (parts == 1 && last == 0))
        return number_set(f, &r->reach[s]);
    r->reach[s] = last;
    return 0;
}

static int push(finder *f, int32_t state)
{
    if (TRL_GROW(f->stack, f->stack_capacity, f->depth + 1) < 0)
        return -1;
    f->stack[f->depth++] = (place){state, f->loop->first[state]};
    f->rows->reach[state] = OPEN;
    return 0;
}

/* All states that the state leads to without a word, then the state. */
static int visit(finder *f, int32_t state)
{
    const trl_graph *g = f->loop;
    int failed = push(f, state);
    while (!failed && f->depth > 0) {
        place *top = &f->stack[f->depth - 1];
        if (top->arc == g->end[top->state]) {
            f->depth--;
            failed = close_state(f, top->state);
            continue;
        }
        const trl__network_arc *a = &g->arcs[top->arc++];
        if (!a->word && f->rows->reach[a->next] == UNSEEN)
            failed = push(f, a->next);
    }
    return failed;
}

int trl__ngram_rows_set_reach(trl__ngram_rows *r, const trl_graph *loop, trl_error *err)
{
    finder f = {.rows = r, .loop = loop, .err = err};
    int failed = 0;
    r->loop_states = loop->states;
    r->reach = trl__alloc_aligned((size_t)loop->states, sizeof *r->reach);
    if (!r->reach || TRL_GROW(r->set_first, f.set_capacity, 1) < 0)
        return trl__fail_memory(err);
    r->set_first[0] = 0;
    failed = append_set(&f, NULL, 0); /* number 0 */
    for (int32_t s = 0; s < loop->states; s++)
        r->reach[s] = UNSEEN;
    for (int32_t s = 0; !failed && s < loop->states; s++)
        if (r->reach[s] == UNSEEN)
            failed = visit(&f, s);
    r->reach[loop->start] = 0; /* so that the costs of whole paths are the model's */
    trl__free(f.stack);
    trl__free(f.found);
    trl__free(f.slots);
    return failed ? trl__fail_memory(err) : 0;
}
