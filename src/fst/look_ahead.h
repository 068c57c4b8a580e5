/* Looking ahead in a composition: of what the first machine can write next, what does the second read here?
 *
 * Both machines are copied with labels renumbered so that what a state of the first can write is a few intervals
 * (label_reach.h), and arcs of the second in an interval are neighbours.
 */
#ifndef TRL_FST_LOOK_AHEAD_H
#define TRL_FST_LOOK_AHEAD_H

#include "fst/label_reach.h"
#include "fst/matching.h"

#include <float.h>

/* Many states of a lexicon can write any word: the best of many arcs is remembered. */
typedef struct found_best {
    trl__reach reach;
    int32_t b;     /* plus 1 */
    int32_t final; /* the end of the first machine can be reached */
    weight best;
} found_best;

#define AHEAD_FOUND 4096
#define AHEAD_MANY 64 /* arcs that are worth it */

typedef struct ahead {
    trl_fst *a, *b; /* renumbered copies */
    trl__label_reach reach;
    found_best *found; /* AHEAD_FOUND of them, by hash */
    weight *potential; /* by state of the result: what was paid ahead */
    size_t capacity;
} ahead;

static int ahead_open(ahead *h, const trl_fst *a, const trl_fst *b, trl_error *err)
{
    *h = (ahead){0};
    int code = trl_fst_copy(a, &h->a, err);
    if (code == 0)
        code = trl_fst_copy(b, &h->b, err);
    if (code == 0)
        code = trl__label_reach_find(h->a, &h->reach, err);
    if (code == 0)
        code = trl__label_reach_relabel(&h->reach, h->b, err);
    h->found = trl__alloc_zero(AHEAD_FOUND, sizeof *h->found);
    return code == 0 && !h->found ? trl__fail_memory(err) : code;
}

static void ahead_close(ahead *h)
{
    trl_fst_destroy(h->a);
    trl_fst_destroy(h->b);
    trl__label_reach_free(&h->reach);
    trl__free(h->found);
    trl__free(h->potential);
}

/* Arcs of the second's state that the first's state can write for, one after the other. */
typedef struct prospects {
    const trl__interval *interval, *last;
    const arc *first, *y, *end;
} prospects;

static prospects prospects_of(const ahead *h, int32_t a, int32_t b)
{
    prospects p = {.first = arcs_of(h->b, b)};
    p.y = p.first;
    p.end = p.first + arc_count(h->b, b);
    p.interval = trl__label_reach_of(&h->reach, a, &p.last);
    return p;
}

/* Whichever of the two lists is behind leaps to the other; NULL at the end. */
static inline const arc *prospects_next(prospects *p, const side *s, int32_t b)
{
    while (p->interval < p->last && p->y < p->end) {
        if (p->y->ilabel < p->interval->first)
            p->y = p->first + side_find(s, b, p->interval->first, 0);
        else if (p->y->ilabel > p->interval->last)
            p->interval = trl__interval_find(p->interval + 1, p->last, p->y->ilabel);
        else
            return p->y++;
    }
    return NULL;
}

static int ahead_final(const ahead *h, int32_t a, int32_t b)
{
    return h->reach.final[a] && !is_zero(final_of(h->b, b));
}

/* 0: the pair leads nowhere; 1: to one arc alone; 2: to more, or to an end. */
static int ahead_count(const ahead *h, const side *s, int32_t a, int32_t b, const arc **only)
{
    prospects p = prospects_of(h, a, b);
    *only = prospects_next(&p, s, b);
    if (ahead_final(h, a, b))
        return 2;
    return !*only ? 0 : prospects_next(&p, s, b) ? 2 : 1;
}

/* The best weight that the second machine may add next; one where dividing by it would make no sense. */
static weight ahead_search(const ahead *h, const side *s, int32_t a, int32_t b)
{
    prospects p = prospects_of(h, a, b);
    weight best = ahead_final(h, a, b) ? final_of(h->b, b) : ZERO;
    for (const arc *y; (y = prospects_next(&p, s, b));)
        best = less(y->weight, best) ? y->weight : best;
#if TRL__SEMIRING == 2
    return best < FLT_MIN ? ONE : best;
#else
    return is_zero(best) ? ONE : best;
#endif
}

static weight ahead_best(ahead *h, const side *s, int32_t a, int32_t b)
{
    trl__reach reach = h->reach.of[a];
    if (arc_count(h->b, b) < AHEAD_MANY)
        return ahead_search(h, s, a, b);
    int32_t key[] = {b, reach.all.first, reach.all.last};
    found_best *f = &h->found[trl__tuple_hash(key, 3) % AHEAD_FOUND];
    if (f->b != b + 1 || f->final != h->reach.final[a] || memcmp(&f->reach, &reach, sizeof reach) != 0)
        *f = (found_best){reach, b + 1, h->reach.final[a], ahead_search(h, s, a, b)};
    return f->best;
}

static int ahead_writes(const ahead *h, int32_t a, int32_t label)
{
    const trl__interval *last, *interval = trl__label_reach_of(&h->reach, a, &last);
    interval = trl__interval_find(interval, last, label);
    return interval < last && interval->first <= label;
}

/* What was paid ahead of a state is not paid behind it. */
static void ahead_settle(const ahead *h, trl_fst *out)
{
    for (int32_t s = 0; s < out->states; s++) {
        if (!is_zero(final_of(out, s)))
            set_final(out, s, divide(final_of(out, s), h->potential[s]));
        for (arc *x = arcs_of(out, s), *end = x + arc_count(out, s); x < end; x++)
            x->weight = divide(times(x->weight, h->potential[x->next]), h->potential[s]);
    }
}

#endif
