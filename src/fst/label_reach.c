/* Allauzen, Riley, Schalkwyk, "A generalized composition algorithm for weighted finite-state transducers", 2009. */
#include "fst/label_reach.h"
#include "base/fail.h"
#include "fst/components.h"

#include <stdlib.h>
#include <trellis/fst_structure.h>

typedef struct finder {
    trl_fst *fst;
    trl__label_reach *reach;
    uint32_t *epsilons;  /* by state: how many arcs write nothing; they come first */
    trl__components c;   /* of these arcs alone */
    int32_t *order;      /* states by component */
    int32_t *first;      /* by component: in order[] */
    trl__interval *some; /* of what is being gathered */
    size_t some_count, some_capacity;
} finder;

/* ---- The order of labels ---- */

static int count_epsilons(finder *f)
{
    trl_fst *fst = f->fst;
    f->epsilons = trl__alloc((size_t)fst->states + 1, sizeof *f->epsilons);
    for (int32_t s = 0; f->epsilons && s < fst->states; s++) {
        uint32_t count = 0;
        while (count < fst->range[s].count && trl__arc_labels(fst, fst->range[s].first + count)[1] == 0)
            count++;
        f->epsilons[s] = count;
    }
    return f->epsilons ? 0 : -1;
}

/* While the others are hidden: states count their epsilons instead of their arcs. */
static void swap_counts(finder *f)
{
    for (int32_t s = 0; s < f->fst->states; s++) {
        uint32_t count = f->fst->range[s].count;
        f->fst->range[s].count = f->epsilons[s];
        f->epsilons[s] = count;
    }
}

static int find_components(finder *f, trl_error *err)
{
    swap_counts(f);
    int code = trl__components_find(f->fst, &f->c, err);
    swap_counts(f);
    return code;
}

static int order_states(finder *f)
{
    f->order = trl__alloc((size_t)f->fst->states + 1, sizeof *f->order);
    f->first = trl__alloc_zero((size_t)f->c.count + 2, sizeof *f->first);
    if (!f->order || !f->first)
        return -1;
    for (int32_t s = 0; s < f->fst->states; s++)
        f->first[f->c.component[s] + 2]++;
    for (int32_t i = 2; i <= f->c.count; i++)
        f->first[i] += f->first[i - 1];
    for (int32_t s = 0; s < f->fst->states; s++)
        f->order[f->first[f->c.component[s] + 1]++] = s;
    return 0;
}

static int number_labels(finder *f)
{
    for (int32_t k = 0; k < f->fst->states; k++) {
        int32_t s = f->order[k];
        trl__range range = f->fst->range[s];
        for (uint64_t i = range.first + f->epsilons[s]; i < range.first + range.count; i++) {
            int32_t *label = &trl__arc_labels(f->fst, i)[1];
            int64_t number = trl__tuples_add(&f->reach->labels, label);
            if (number < 0)
                return -1;
            *label = (int32_t)number + 1;
        }
    }
    return 0;
}

/* ---- What is reached ---- */

static int add_interval(finder *f, trl__interval interval)
{
    trl__interval *last = f->some_count > 0 ? &f->some[f->some_count - 1] : NULL;
    if (last && interval.first >= last->first && interval.first <= last->last + 1) { /* the usual case */
        last->last = interval.last > last->last ? interval.last : last->last;
        return 0;
    }
    if (TRL_GROW(f->some, f->some_capacity, f->some_count + 1) < 0)
        return -1;
    f->some[f->some_count++] = interval;
    return 0;
}

static int add_reach(finder *f, int32_t state)
{
    const trl__interval *end, *i = trl__label_reach_of(f->reach, state, &end);
    int code = 0;
    for (; code == 0 && i < end; i++)
        code = add_interval(f, *i);
    return code;
}

/* What the state itself writes, and what its epsilons lead to outside of its component. */
static int gather(finder *f, int32_t s, int32_t component, uint8_t *final)
{
    trl__range range = f->fst->range[s];
    int code = 0;
    *final |= !trl_weight_is_zero(f->fst->semiring, trl_fst_final(f->fst, s));
    for (uint32_t i = 0; code == 0 && i < range.count; i++) {
        int32_t label = trl__arc_labels(f->fst, range.first + i)[1];
        int32_t next = *trl__arc_next(f->fst, range.first + i);
        if (label != 0)
            code = add_interval(f, (trl__interval){label, label});
        else if (f->c.component[next] != component) {
            *final |= f->reach->final[next];
            code = add_reach(f, next);
        }
    }
    return code;
}

static int compare_intervals(const void *a, const void *b)
{
    const trl__interval *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Sorted, and joined where they touch. */
static void join_intervals(finder *f)
{
    size_t kept = 0;
    if (f->some_count > 1)
        qsort(f->some, f->some_count, sizeof *f->some, compare_intervals);
    for (size_t i = 0; i < f->some_count; i++) {
        if (kept > 0 && f->some[i].first <= f->some[kept - 1].last + 1) {
            if (f->some[i].last > f->some[kept - 1].last)
                f->some[kept - 1].last = f->some[i].last;
        } else
            f->some[kept++] = f->some[i];
    }
    f->some_count = kept;
}

static int store(finder *f, trl__reach *to, trl_error *err)
{
    trl__label_reach *r = f->reach;
    *to = (trl__reach){{1, 0}, (uint32_t)f->some_count, f->some_count > 1 ? (uint32_t)r->used : 0};
    if (f->some_count > 0)
        to->all = (trl__interval){f->some[0].first, f->some[f->some_count - 1].last};
    if (f->some_count < 2)
        return 0;
    if (r->used + f->some_count > UINT32_MAX)
        return trl__fail(err, TRL_ELIMIT, "too many sets of labels to look ahead; determinize the first machine");
    if (TRL_GROW(r->interval, r->capacity, r->used + f->some_count) < 0)
        return trl__fail_memory(err);
    memcpy(r->interval + r->used, f->some, f->some_count * sizeof *f->some);
    r->used += f->some_count;
    return 0;
}

/* The state to which this one can only move on; then both reach the same. */
static int32_t state_behind(const finder *f, int32_t s)
{
    const trl_fst *fst = f->fst;
    int32_t next = fst->range[s].count == 1 && f->epsilons[s] == 1 ? *trl__arc_next(fst, fst->range[s].first) : s;
    return next != s && trl_weight_is_zero(fst->semiring, trl_fst_final(fst, s)) ? next : TRL_NO_STATE;
}

/* Of all states of a component; those it leads to have theirs already. */
static int find_reach(finder *f, int32_t component, trl_error *err)
{
    trl__label_reach *r = f->reach;
    int32_t first = f->first[component], end = f->first[component + 1];
    int32_t behind = end - first == 1 ? state_behind(f, f->order[first]) : TRL_NO_STATE;
    uint8_t final = behind == TRL_NO_STATE ? 0 : r->final[behind];
    trl__reach reach = behind == TRL_NO_STATE ? (trl__reach){0} : r->of[behind];
    int code = 0;
    f->some_count = 0;
    for (int32_t k = first; code == 0 && behind == TRL_NO_STATE && k < end; k++)
        code = gather(f, f->order[k], component, &final);
    if (code < 0)
        return trl__fail_memory(err);
    if (behind == TRL_NO_STATE) {
        join_intervals(f);
        code = store(f, &reach, err);
    }
    for (int32_t k = first; k < end; k++) {
        r->of[f->order[k]] = reach;
        r->final[f->order[k]] = final;
    }
    return code;
}

static int find_all(finder *f, trl_error *err)
{
    trl__label_reach *r = f->reach;
    r->of = trl__alloc((size_t)f->fst->states + 1, sizeof *r->of);
    r->final = trl__alloc((size_t)f->fst->states + 1, sizeof *r->final);
    int code = r->of && r->final ? 0 : trl__fail_memory(err);
    for (int32_t c = 0; code == 0 && c < f->c.count; c++)
        code = find_reach(f, c, err);
    return code;
}

int trl__label_reach_find(trl_fst *fst, trl__label_reach *reach, trl_error *err)
{
    *reach = (trl__label_reach){.labels.width = 1};
    finder f = {.fst = fst, .reach = reach};
    int code = trl_fst_arcsort(fst, TRL_SIDE_OUTPUT, err);
    if (code == 0 && count_epsilons(&f) < 0)
        code = trl__fail_memory(err);
    if (code == 0)
        code = find_components(&f, err);
    if (code == 0 && (order_states(&f) < 0 || number_labels(&f) < 0))
        code = trl__fail_memory(err);
    if (code == 0)
        code = trl_fst_arcsort(fst, TRL_SIDE_OUTPUT, err);
    if (code == 0)
        code = find_all(&f, err);
    trl__components_free(&f.c);
    trl__free(f.epsilons);
    trl__free(f.order);
    trl__free(f.first);
    trl__free(f.some);
    if (code < 0)
        trl__label_reach_free(reach);
    return code;
}

int trl__label_reach_relabel(const trl__label_reach *reach, trl_fst *fst, trl_error *err)
{
    size_t size = trl__arc_size(fst);
    for (int32_t s = 0; s < fst->states; s++) {
        trl__range *range = &fst->range[s];
        uint64_t to = range->first;
        for (uint64_t from = range->first; from < range->first + range->count; from++) {
            int32_t *label = trl__arc_labels(fst, from);
            int64_t number = *label == 0 ? -1 : trl__tuples_find(&reach->labels, label);
            if (*label != 0 && number < 0)
                continue;
            *label = (int32_t)(number + 1);
            if (to != from)
                memcpy((char *)fst->arcs + to * size, label, size);
            to++;
        }
        range->count = (uint32_t)(to - range->first);
    }
    return trl_fst_arcsort(fst, TRL_SIDE_INPUT, err);
}

void trl__label_reach_free(trl__label_reach *reach)
{
    trl__tuples_free(&reach->labels);
    trl__free(reach->of);
    trl__free(reach->final);
    trl__free(reach->interval);
    *reach = (trl__label_reach){.labels.width = 1};
}
