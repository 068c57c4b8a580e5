/* Hopcroft's partition refinement in the form of Valmari ("Fast brief practical DFA minimization", 2012): beside the
 * partition of states into classes there is one of arcs into bundles, which have a label and lead to a class. A bundle
 * splits classes, into states that have an arc of it and those that have none; a class that was split splits the
 * bundles that lead to it. The smaller part is always the new one, so each arc moves O(log arcs) times: O(arcs log
 * arcs) in all.
 *
 * Only the new part of a bundle need split classes, because with one arc per label a state is in the new part or the
 * old. Where states have several, old parts must do so as well: all bundles again, until nothing changes.
 */
#include "fst/bisimulation.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

/* A partition of 0 … n - 1 whose sets are ranges of one array. Elements are marked by moving them to the front of their
 * set's range; then each set with some but not all marked is split. */
typedef struct partition {
    int32_t count;         /* sets */
    int32_t *element;      /* by place */
    int32_t *place, *set;  /* by element */
    int32_t *first, *past; /* by set: its range */
    int32_t *marked;       /* by set: how many are marked */
    int32_t *touched;      /* sets with marks */
    int32_t touched_count;
} partition;

static int make_partition(partition *p, int32_t n)
{
    size_t size = (size_t)n + 1;
    p->element = trl__alloc(size, sizeof *p->element);
    p->place = trl__alloc(size, sizeof *p->place);
    p->set = trl__alloc(size, sizeof *p->set);
    p->first = trl__alloc_zero(size, sizeof *p->first);
    p->past = trl__alloc_zero(size, sizeof *p->past);
    p->marked = trl__alloc_zero(size, sizeof *p->marked);
    p->touched = trl__alloc(size, sizeof *p->touched);
    return p->element && p->place && p->set && p->first && p->past && p->marked && p->touched ? 0 : -1;
}

static void free_partition(partition *p)
{
    trl__free(p->element);
    trl__free(p->place);
    trl__free(p->set);
    trl__free(p->first);
    trl__free(p->past);
    trl__free(p->marked);
    trl__free(p->touched);
}

/* The sets are those of key[], 0 … keys - 1, none of them empty; by counting. */
static void fill_partition(partition *p, int32_t n, const int32_t *key, int32_t keys)
{
    p->count = keys;
    for (int32_t i = 0; i < n; i++)
        p->past[key[i]]++;
    for (int32_t k = 0, sum = 0; k < keys; k++) {
        p->first[k] = sum;
        sum += p->past[k];
        p->past[k] = p->first[k];
    }
    for (int32_t i = 0; i < n; i++) {
        p->set[i] = key[i];
        p->place[i] = p->past[key[i]]++;
        p->element[p->place[i]] = i;
    }
}

static inline void mark(partition *p, int32_t e)
{
    int32_t s = p->set[e], i = p->place[e], j = p->first[s] + p->marked[s];
    if (i < j)
        return; /* marked before */
    p->element[i] = p->element[j];
    p->place[p->element[i]] = i;
    p->element[j] = e;
    p->place[e] = j;
    if (p->marked[s]++ == 0)
        p->touched[p->touched_count++] = s;
}

static void split(partition *p)
{
    while (p->touched_count > 0) {
        int32_t s = p->touched[--p->touched_count], middle = p->first[s] + p->marked[s], new = p->count;
        p->marked[s] = 0;
        if (middle == p->past[s])
            continue;
        if (middle - p->first[s] <= p->past[s] - middle) {
            p->first[new] = p->first[s];
            p->past[new] = p->first[s] = middle;
        } else {
            p->past[new] = p->past[s];
            p->first[new] = p->past[s] = middle;
        }
        for (int32_t i = p->first[new]; i < p->past[new]; i++)
            p->set[p->element[i]] = new;
        p->count++;
    }
}

typedef struct refinement {
    const trl__bisimulation *g;
    partition classes, bundles;
    int32_t *entering;       /* arcs, by the state they lead to */
    int32_t *first_entering; /* by state, and one more */
    int32_t looked_at;       /* classes that have split bundles */
} refinement;

static int find_entering(refinement *r)
{
    const trl__bisimulation *g = r->g;
    r->entering = trl__alloc((size_t)g->arcs + 1, sizeof *r->entering);
    r->first_entering = trl__alloc_zero((size_t)g->states + 2, sizeof *r->first_entering);
    if (!r->entering || !r->first_entering)
        return -1;
    int32_t *place = r->first_entering + 1; /* ends where the next begins */
    for (int32_t i = 0; i < g->arcs; i++)
        place[g->to[i]]++;
    for (int32_t s = 0, sum = 0; s < g->states; s++) {
        int32_t count = place[s];
        place[s] = sum;
        sum += count;
    }
    for (int32_t i = 0; i < g->arcs; i++)
        r->entering[place[g->to[i]]++] = i;
    return 0;
}

/* Bundles by the classes that have become smaller. */
static void split_bundles(refinement *r)
{
    for (; r->looked_at < r->classes.count; r->looked_at++) {
        int32_t past = r->classes.past[r->looked_at];
        for (int32_t i = r->classes.first[r->looked_at]; i < past; i++) {
            int32_t s = r->classes.element[i];
            for (int32_t k = r->first_entering[s]; k < r->first_entering[s + 1]; k++)
                mark(&r->bundles, r->entering[k]);
        }
        split(&r->bundles);
    }
}

static void refine(refinement *r)
{
    int32_t before;
    split_bundles(r);
    do {
        before = r->classes.count;
        for (int32_t b = 0; b < r->bundles.count; b++) {
            for (int32_t i = r->bundles.first[b]; i < r->bundles.past[b]; i++)
                mark(&r->classes, r->g->from[r->bundles.element[i]]);
            split(&r->classes);
            split_bundles(r);
        }
    } while (!r->g->deterministic && r->classes.count > before);
}

int32_t trl__bisimulation_find(const trl__bisimulation *g, int32_t *classes, trl_error *err)
{
    refinement r = {.g = g, .looked_at = 1};
    int32_t found = TRL_ENOMEM, begin = 0;
    for (int32_t s = 0; s < g->states; s++)
        begin = classes[s] >= begin ? classes[s] + 1 : begin;
    if (make_partition(&r.classes, g->states) == 0 && make_partition(&r.bundles, g->arcs) == 0 &&
        find_entering(&r) == 0) {
        fill_partition(&r.classes, g->states, classes, begin);
        fill_partition(&r.bundles, g->arcs, g->label, g->labels);
        refine(&r);
        memcpy(classes, r.classes.set, (size_t)g->states * sizeof *classes);
        found = r.classes.count;
    }
    free_partition(&r.classes);
    free_partition(&r.bundles);
    trl__free(r.entering);
    trl__free(r.first_entering);
    return found < 0 ? trl__fail_memory(err) : found;
}
