/* Composition: pairs of states, from the pair of starts on; an arc where the first machine writes what the second
 * reads.
 *
 * Labels meet by merging the arcs of both states, by looking for those of the smaller in the larger, or, where the
 * second machine has labels that stand for others, by asking it for every label of the first. Epsilons need no partner,
 * and so the same path could be walked in several orders; a filter, the third part of a state, forbids all but one
 * (Mohri, Pereira, Riley, "Weighted automata in text and speech processing", 1996; Allauzen, Mohri, "3-way
 * composition", 2008). Where a lexicon writes its words late, most pairs lead nowhere. Looking ahead (look_ahead.h)
 * leaves these out, takes an arc of the second machine as soon as no other can follow, and pays the best of its weights
 * at once (Allauzen, Riley, Schalkwyk, "A generalized composition algorithm for weighted finite-state transducers",
 * 2009). O(pairs that are reached * (arcs of the smaller + matches)).
 */
#include "fst/look_ahead.h"
#include "fst/product.h"

#include <trellis/fst_compose.h>
#include <trellis/fst_structure.h>

TRL__EACH(int, fst_compose,
          (const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst *out, trl_error *err));

typedef struct composition {
    side a, b; /* the first's output and the second's input side */
    product p;
    const trl_compose_options *o;
    int special;      /* labels of the second machine stand for others */
    int rewrite_both; /* it is an acceptor: where a label is stood for, it is written, too */
    ahead *ahead;     /* or NULL */
    trl_error *err;
} composition;

/* ---- Epsilons ---- */

/* The filter after the first machine, the second, or both have moved by epsilon; NEVER: that is forbidden. */
typedef struct moves {
    int32_t first, second, both;
} moves;

#define NEVER (-1)

/* Filter 1: the second machine has moved, and the first may not before they meet. */
static moves sequence(int32_t filter, int first)
{
    int32_t after = first & SIDE_ALL_EPSILON ? NEVER : first & SIDE_NO_EPSILON ? 0 : 1;
    return (moves){filter == 0 ? 0 : NEVER, after, NEVER};
}

/* Filter 1: the first machine has moved, and the second may not. */
static moves alternative(int32_t filter, int second)
{
    int32_t after = second & SIDE_ALL_EPSILON ? NEVER : second & SIDE_NO_EPSILON ? 0 : 1;
    return (moves){after, filter == 0 ? 0 : NEVER, NEVER};
}

/* Both move at once as long as they can; filters 1 and 2: the first or the second goes on alone, and the other may
 * not. */
static moves together(int32_t filter, int first, int second)
{
    if (filter != 0)
        return (moves){filter == 1 ? 1 : NEVER, filter == 2 ? 2 : NEVER, NEVER};
    return (moves){second & SIDE_NO_EPSILON    ? 0
                   : second & SIDE_ALL_EPSILON ? NEVER
                                               : 1,
                   first & SIDE_NO_EPSILON    ? 0
                   : first & SIDE_ALL_EPSILON ? NEVER
                                              : 2,
                   0};
}

static moves allowed(trl_compose_filter kind, int32_t filter, int first, int second)
{
    switch (kind) {
    case TRL_FILTER_ALT_SEQUENCE: return alternative(filter, second);
    case TRL_FILTER_MATCH: return together(filter, first, second);
    case TRL_FILTER_TRIVIAL: return (moves){0, 0, 0};
    case TRL_FILTER_NULL: return (moves){NEVER, NEVER, 0};
    default: return sequence(filter, first);
    }
}

/* ---- Looking ahead ---- */

/* Filters of states in which the second machine has read a label that the first has yet to write. */
static inline int32_t owing(int32_t label)
{
    return label + 1;
}

static inline int32_t owed(int32_t filter) /* 0: none */
{
    return filter > 1 ? filter - 1 : 0;
}

/* 1 where what comes next is decided by the arcs of the second state alone: it may not, or can't, move by epsilon. */
static int is_settled(composition *c, int32_t b, int32_t filter)
{
    int traits = side_traits(&c->b, b, 0);
    if (!traits)
        return trl__fail_memory(c->err);
    return filter == 1 || (traits & SIDE_NO_EPSILON);
}

static int leads_on(composition *c, int32_t a, int32_t b, int32_t filter)
{
    const arc *only;
    int settled = is_settled(c, b, filter);
    return settled > 0 ? ahead_count(c->ahead, &c->b, a, b, &only) > 0 : settled < 0 ? settled : 1;
}

static int meet(composition *c, const arc *x, const arc *y, int32_t filter)
{
    arc joined = {x->ilabel, y->olabel, times(x->weight, y->weight), TRL_NO_STATE};
    if (c->ahead) {
        int code = leads_on(c, x->next, y->next, filter);
        if (code <= 0)
            return code;
    }
    return product_arc(&c->p, joined, x->next, y->next, filter, c->err);
}

/* The first machine moves alone. Where the second can then read one label only, it does so now. */
static int move_first(composition *c, const arc *x, int32_t b, int32_t filter)
{
    const arc *only = NULL;
    int count = c->ahead ? ahead_count(c->ahead, &c->b, x->next, b, &only) : 2;
    arc moved = {x->ilabel, 0, x->weight, TRL_NO_STATE};
    if (count == 0)
        return 0;
    if (count > 1)
        return product_arc(&c->p, moved, x->next, b, filter, c->err);
    moved.olabel = only->olabel;
    moved.weight = times(x->weight, only->weight);
    return product_arc(&c->p, moved, x->next, only->next, owing(only->ilabel), c->err);
}

/* The first machine goes on until it has written the label that it owes. */
static int pay(composition *c, int32_t a, int32_t b, int32_t filter)
{
    int code = 0;
    arc stay = {0, 0, ONE, b};
    for (const arc *x = arcs_of(c->a.fst, a), *end = x + arc_count(c->a.fst, a); code == 0 && x < end; x++) {
        if (x->olabel == owed(filter))
            code = meet(c, x, &stay, 0);
        else if (x->olabel == 0 && ahead_writes(c->ahead, x->next, owed(filter)))
            code = product_arc(&c->p, (arc){x->ilabel, 0, x->weight, TRL_NO_STATE}, x->next, b, filter, c->err);
    }
    return code;
}

/* The start pays nothing ahead, for lack of an arc in front of it. */
static int find_potential(composition *c, int32_t a, int32_t b, int32_t filter)
{
    ahead *h = c->ahead;
    int settled = c->p.state == 0 || owed(filter) ? 0 : is_settled(c, b, filter);
    if (settled < 0)
        return settled;
    if (TRL_GROW(h->potential, h->capacity, (size_t)c->p.state + 1) < 0)
        return trl__fail_memory(c->err);
    h->potential[c->p.state] = settled ? ahead_best(h, &c->b, a, b) : ONE;
    return 0;
}

/* ---- Epsilons that meet ---- */

static int meet_epsilons(composition *c, int32_t a, int32_t b, const moves *m)
{
    const arc *x = arcs_of(c->a.fst, a), *x_end = x + arc_count(c->a.fst, a);
    const arc *y_first = arcs_of(c->b.fst, b), *y_end = y_first + arc_count(c->b.fst, b);
    arc stay_a = {0, 0, ONE, a};
    int code = 0, sorted_a = c->a.traits[a] & SIDE_SORTED, sorted_b = c->b.traits[b] & SIDE_SORTED;
    int second = !(c->b.traits[b] & SIDE_NO_EPSILON) && c->o->phi != 0;
    for (const arc *y = y_first; code == 0 && second && m->second != NEVER && y < y_end; y++)
        if (y->ilabel == 0)
            code = meet(c, &stay_a, y, m->second);
        else if (sorted_b)
            break;
    for (; code == 0 && !(c->a.traits[a] & SIDE_NO_EPSILON) && x < x_end; x++) {
        if (x->olabel != 0) {
            if (sorted_a)
                break;
            continue;
        }
        if (m->first != NEVER)
            code = move_first(c, x, b, m->first);
        for (const arc *y = y_first; code == 0 && second && m->both != NEVER && y < y_end; y++)
            if (y->ilabel == 0)
                code = meet(c, x, y, m->both);
            else if (sorted_b)
                break;
    }
    return code;
}

/* ---- Labels ---- */

/* Both are sorted and of like size. */
static int merge(composition *c, int32_t a, int32_t b)
{
    const arc *x = arcs_of(c->a.fst, a), *x_end = x + arc_count(c->a.fst, a);
    const arc *y = arcs_of(c->b.fst, b), *y_end = y + arc_count(c->b.fst, b);
    int code = 0;
    while (code == 0 && x < x_end && y < y_end) {
        if (x->olabel < y->ilabel || x->olabel == 0)
            x++;
        else if (y->ilabel < x->olabel)
            y++;
        else {
            for (const arc *z = y; code == 0 && z < y_end && z->ilabel == x->olabel; z++)
                code = meet(c, x, z, 0);
            x++;
        }
    }
    return code;
}

static int look_in_second(composition *c, int32_t a, int32_t b)
{
    const arc *x = arcs_of(c->a.fst, a), *x_end = x + arc_count(c->a.fst, a);
    const arc *first = arcs_of(c->b.fst, b), *end = first + arc_count(c->b.fst, b);
    int code = 0;
    for (; code == 0 && x < x_end; x++)
        if (x->olabel != 0)
            for (const arc *y = first + side_find(&c->b, b, x->olabel, 0);
                 code == 0 && y < end && y->ilabel == x->olabel; y++)
                code = meet(c, x, y, 0);
    return code;
}

static int look_in_first(composition *c, int32_t a, int32_t b)
{
    const arc *y = arcs_of(c->b.fst, b), *y_end = y + arc_count(c->b.fst, b);
    const arc *first = arcs_of(c->a.fst, a), *end = first + arc_count(c->a.fst, a);
    int code = 0;
    for (; code == 0 && y < y_end; y++)
        if (y->ilabel != 0)
            for (const arc *x = first + side_find(&c->a, a, y->ilabel, 1);
                 code == 0 && x < end && x->olabel == y->ilabel; x++)
                code = meet(c, x, y, 0);
    return code;
}

static int meet_labels(composition *c, int32_t a, int32_t b)
{
    int sorted_a = c->a.traits[a] & SIDE_SORTED, sorted_b = c->b.traits[b] & SIDE_SORTED;
    uint32_t count_a = arc_count(c->a.fst, a), count_b = arc_count(c->b.fst, b);
    if (!sorted_a && !sorted_b)
        return trl__fail(c->err, TRL_EINVAL,
                         "state %d of the first machine is not sorted by output label, nor state %d of the second by "
                         "input label; sort one of the machines",
                         (int)a, (int)b);
    if (sorted_a && sorted_b && count_a / 4 <= count_b && count_b / 4 <= count_a)
        return merge(c, a, b);
    return sorted_b && (!sorted_a || count_a <= count_b) ? look_in_second(c, a, b) : look_in_first(c, a, b);
}

/* ---- Labels that stand for others ---- */

/* The first arc with that label, or NULL. */
static const arc *first_with(const composition *c, int32_t b, int32_t label)
{
    if (label < 0 || arc_count(c->b.fst, b) == 0)
        return NULL;
    uint32_t at = side_find(&c->b, b, label, 0);
    const arc *y = arcs_of(c->b.fst, b) + at;
    return at < arc_count(c->b.fst, b) && y->ilabel == label ? y : NULL;
}

/* The arc meets all arcs of the state with the label `with`; `before` is the weight of the failure arcs that led
 * there. */
static int meet_each(composition *c, const arc *x, int32_t b, const arc *y, weight before)
{
    const arc *end = arcs_of(c->b.fst, b) + arc_count(c->b.fst, b);
    int32_t with = y->ilabel;
    int code = 0;
    for (; code == 0 && y < end && y->ilabel == with; y++) {
        arc taken = *y;
        taken.weight = times(before, y->weight);
        if (with != x->olabel && c->rewrite_both)
            taken.olabel = x->olabel;
        code = meet(c, x, &taken, 0);
    }
    return code;
}

static int side_check(composition *c, int32_t b)
{
    int traits = side_traits(&c->b, b, 0);
    if (!traits)
        return trl__fail_memory(c->err);
    if (!(traits & SIDE_SORTED))
        return trl__fail(c->err, TRL_EINVAL,
                         "state %d of the second machine is not sorted by input label, as phi, rho and sigma need it",
                         (int)b);
    return 0;
}

/* One label: in the state itself, by sigma too; else by rho; else where the failure arc leads. A failure arc back to
 * its own state reads the label. */
static int meet_specially(composition *c, const arc *x, int32_t b)
{
    weight before = ONE;
    int code = 0;
    for (int32_t steps = 0; code == 0; steps++) {
        const arc *y = first_with(c, b, x->olabel), *sigma = first_with(c, b, c->o->sigma);
        if (y)
            code = meet_each(c, x, b, y, before);
        if (code == 0 && sigma)
            code = meet_each(c, x, b, sigma, before);
        if (y || sigma || code < 0)
            return code;
        if ((y = first_with(c, b, c->o->rho)))
            return meet_each(c, x, b, y, before);
        if (!(y = first_with(c, b, c->o->phi)))
            return 0;
        if (y->next == b)
            return meet_each(c, x, b, y, before);
        if (steps > c->b.fst->states)
            return trl__fail(c->err, TRL_EINVAL,
                             "the failure arcs of the second machine (label %d) form a cycle, at state %d",
                             (int)c->o->phi, (int)b);
        before = times(before, y->weight);
        b = y->next;
        code = side_check(c, b);
    }
    return code;
}

static int meet_labels_specially(composition *c, int32_t a, int32_t b)
{
    const arc *x = arcs_of(c->a.fst, a), *end = x + arc_count(c->a.fst, a);
    int code = side_check(c, b);
    for (; code == 0 && x < end; x++) {
        if (x->olabel == 0)
            continue;
        if (x->olabel == c->o->phi || x->olabel == c->o->rho || x->olabel == c->o->sigma)
            return trl__fail(c->err, TRL_EINVAL,
                             "the first machine writes label %d (state %d), which stands for others in the second",
                             (int)x->olabel, (int)a);
        code = meet_specially(c, x, b);
    }
    return code;
}

/* A state that is not final ends as the state does to which its failure arcs lead. */
static weight final_behind_failure(composition *c, int32_t b, trl_error *err, int *code)
{
    weight before = ONE;
    for (int32_t steps = 0; steps <= c->b.fst->states; steps++) {
        if (!is_zero(final_of(c->b.fst, b)))
            return times(before, final_of(c->b.fst, b));
        if ((*code = side_check(c, b)) < 0)
            return ZERO;
        const arc *y = first_with(c, b, c->o->phi);
        if (!y || y->next == b)
            return ZERO;
        before = times(before, y->weight);
        b = y->next;
    }
    *code = trl__fail(err, TRL_EINVAL, "the failure arcs of the second machine (label %d) form a cycle, at state %d",
                      (int)c->o->phi, (int)b);
    return ZERO;
}

/* ---- All of it ---- */

static int expand(composition *c)
{
    const int32_t *tuple = product_tuple(&c->p);
    int32_t a = tuple[0], b = tuple[1], filter = tuple[2];
    int first = side_traits(&c->a, a, 1), second = side_traits(&c->b, b, 0), code = 0;
    if (!first || !second)
        return trl__fail_memory(c->err);
    if (c->ahead)
        code = find_potential(c, a, b, filter);
    if (code < 0)
        return code;
    if (c->ahead && owed(filter))
        return pay(c, a, b, filter);
    weight final_a = final_of(c->a.fst, a);
    if (!is_zero(final_a)) {
        weight final_b = c->o->phi == TRL_NO_LABEL ? final_of(c->b.fst, b) : final_behind_failure(c, b, c->err, &code);
        if (!is_zero(final_b))
            set_final(c->p.out, c->p.state, times(final_a, final_b));
    }
    if (c->o->phi == 0) /* its epsilons are failure arcs */
        second = (second & ~SIDE_ALL_EPSILON) | SIDE_NO_EPSILON;
    if (code == 0 && !(first & second & SIDE_NO_EPSILON)) {
        moves m = allowed(c->o->filter, filter, first, second);
        code = meet_epsilons(c, a, b, &m);
    }
    if (code < 0)
        return code;
    return c->special ? meet_labels_specially(c, a, b) : meet_labels(c, a, b);
}

static int run(composition *c, const trl_fst *a, const trl_fst *b, trl_fst *out)
{
    int code = product_open(&c->p, out, c->o->most_states, c->err);
    if (side_open(&c->a, a) < 0)
        code = trl__fail_memory(c->err);
    if (side_open(&c->b, b) < 0)
        code = trl__fail_memory(c->err);
    if (code == 0)
        code = product_start(&c->p, (int32_t[]){a->start, b->start, 0}, c->err);
    while (code == 0 && (code = product_next(&c->p, c->err)) > 0)
        code = expand(c);
    side_close(&c->a);
    side_close(&c->b);
    product_close(&c->p);
    return code;
}

int FN(fst_compose)(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst *out,
                    trl_error *err)
{
    composition c = {.o = options, .err = err};
    if (a->start == TRL_NO_STATE || b->start == TRL_NO_STATE)
        return 0;
    c.special = options->phi >= 0 || options->rho >= 0 || options->sigma >= 0;
    c.rewrite_both = c.special && trl__fst_is_acceptor(b);
    if (!options->look_ahead)
        return run(&c, a, b, out);
    ahead h;
    trl_compose_options o = *options;
    o.filter = TRL_FILTER_ALT_SEQUENCE;
    c.o = &o;
    c.ahead = &h;
    int code = ahead_open(&h, a, b, err);
    if (code == 0)
        code = run(&c, h.a, h.b, out);
    if (code == 0)
        ahead_settle(&h, out);
    ahead_close(&h);
    return code;
}

#if TRL__FIRST
trl_compose_options trl_compose_defaults(void)
{
    return (trl_compose_options){.connect = 1, .phi = TRL_NO_LABEL, .rho = TRL_NO_LABEL, .sigma = TRL_NO_LABEL};
}

static int check(const trl_compose_options *o, trl_error *err)
{
    if (o->rho == 0 || o->sigma == 0)
        return trl__fail(err, TRL_EINVAL, "epsilon can't stand for other labels");
    if (o->look_ahead && (o->phi >= 0 || o->rho >= 0 || o->sigma >= 0))
        return trl__fail(err, TRL_EINVAL, "looking ahead does not go together with labels that stand for others");
    if (o->look_ahead && o->filter != TRL_FILTER_AUTO && o->filter != TRL_FILTER_ALT_SEQUENCE)
        return trl__fail(err, TRL_EINVAL, "looking ahead needs the filter alt_sequence");
    return 0;
}

/* The label's names must agree where both machines name it; what epsilon is called does not matter. */
static int check_symbols(const trl_symbols *written, const trl_symbols *read, trl_error *err)
{
    if (!written || !read || written == read)
        return 0;
    for (size_t i = 0; i < trl_symbols_count(written); i++) {
        int32_t label = trl_symbols_label(written, i);
        const char *here = trl_symbols_name(written, label), *there = trl_symbols_name(read, label);
        if (label != TRL_EPSILON && there && strcmp(here, there) != 0)
            return trl__fail(err, TRL_EINVAL,
                             "label %d is \"%s\" in the first machine's output symbols, but \"%s\" in the second's "
                             "input symbols; relabel one of them",
                             (int)label, here, there);
    }
    return 0;
}

static int dispatch(const trl_fst *a, const trl_fst *b, const trl_compose_options *o, trl_fst *out, trl_error *err)
{
    TRL__DISPATCH(a->semiring, fst_compose, (a, b, o, out, err));
}

int trl_fst_compose(const trl_fst *a, const trl_fst *b, const trl_compose_options *options, trl_fst **out,
                    trl_error *err)
{
    trl_compose_options defaults = trl_compose_defaults();
    options = options ? options : &defaults;
    *out = NULL;
    int code = trl__fst_check_semirings(a, b, err);
    if (code == 0)
        code = check(options, err);
    if (code == 0)
        code = check_symbols(a->osymbols, b->isymbols, err);
    if (code == 0)
        code = trl_fst_create(a->semiring, out, err);
    if (code != 0)
        return code;
    trl_fst_set_symbols(*out, trl_symbols_share(a->isymbols), trl_symbols_share(b->osymbols));
    code = dispatch(a, b, options, *out, err);
    if (code == 0 && options->connect)
        code = trl__fst_drop_dead_ends(*out, err); /* all are reached from the start */
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}
#endif
