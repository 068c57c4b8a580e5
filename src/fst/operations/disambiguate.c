/* Disambiguation: one path for each input, with the weight of all that there were (Mohri and Riley, "On the
 * disambiguation of weighted automata", 2015).
 *
 * Two states share a future when some string leads from both to an end. The subset construction with heads gives a
 * machine with the paths of the old one, but each path weighs what all paths of its string weigh together: a state
 * knows the states beside its head that matter for that. Of the paths of a string one is then to stay. Where several of
 * them come together (in a state, or by ending), only the arc from the state with the lowest head stays. That loses no
 * string: each of these heads is among what the others' states know, so whatever leads to one of them leads to the
 * lowest as well.
 *
 * Both searches are over pairs of states that one string leads to: O(pairs of arcs with the same label), at worst the
 * square of the machine.
 */
#include "fst/arc_order.h"
#include "fst/subset_construction.h"

#include <trellis/fst_paths.h>

TRL__EACH(int, fst_disambiguate,
          (const trl_fst *fst, const trl_determinize_options *options, trl_fst **out, trl_error *err));

/* Pairs of states, the lower one first. */
static int64_t add_pair(trl__tuples *pairs, int32_t a, int32_t b)
{
    return trl__tuples_add(pairs, (int32_t[]){a < b ? a : b, a < b ? b : a});
}

/* ---- States with a common future ---- */

typedef struct futures {
    const trl_fst *fst;
    trl__tuples pairs;  /* all that one string leads to from the start */
    int32_t *from, *to; /* arcs between pairs */
    size_t count, from_capacity, to_capacity;
} futures;

static int add_step(futures *f, int32_t from, int32_t a, int32_t b)
{
    int64_t to = add_pair(&f->pairs, a, b);
    if (to < 0 || TRL_GROW(f->from, f->from_capacity, f->count + 1) < 0 ||
        TRL_GROW(f->to, f->to_capacity, f->count + 1) < 0)
        return -1;
    f->from[f->count] = from;
    f->to[f->count++] = (int32_t)to;
    return 0;
}

/* All pairs that the arcs of two states with equal input labels lead to. */
static int step_on(futures *f, int32_t pair)
{
    const int32_t *key = trl__tuples_get(&f->pairs, pair);
    int32_t a = key[0], b = key[1];
    const arc *x = arcs_of(f->fst, a), *y = arcs_of(f->fst, b);
    uint32_t begin = 0, count = arc_count(f->fst, b);
    for (uint32_t i = 0; i < arc_count(f->fst, a); i++) {
        while (begin < count && y[begin].ilabel < x[i].ilabel)
            begin++;
        for (uint32_t k = begin; k < count && y[k].ilabel == x[i].ilabel; k++)
            if (add_step(f, pair, x[i].next, y[k].next) < 0)
                return -1;
    }
    return 0;
}

static int both_final(const trl_fst *fst, const int32_t *pair)
{
    return !is_zero(final_of(fst, pair[0])) && !is_zero(final_of(fst, pair[1]));
}

/* Back from the pairs that end together, along steps sorted by where they lead. */
static int mark_ending(const futures *f, uint8_t *ends)
{
    size_t pairs = f->pairs.count, waiting = 0;
    size_t *first = trl__alloc_zero(pairs + 2, sizeof *first);
    int32_t *entering = trl__alloc(f->count, sizeof *entering), *queue = trl__alloc(pairs, sizeof *queue);
    int ready = first && entering && queue;
    for (size_t i = 0; ready && i < f->count; i++)
        first[f->to[i] + 2]++;
    for (size_t i = 2; ready && i < pairs + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; ready && i < f->count; i++)
        entering[first[f->to[i] + 1]++] = f->from[i];
    for (size_t i = 0; ready && i < pairs; i++)
        if (both_final(f->fst, trl__tuples_get(&f->pairs, (int64_t)i))) {
            ends[i] = 1;
            queue[waiting++] = (int32_t)i;
        }
    while (ready && waiting > 0) {
        int32_t pair = queue[--waiting];
        for (size_t i = first[pair]; i < first[pair + 1]; i++)
            if (!ends[entering[i]]) {
                ends[entering[i]] = 1;
                queue[waiting++] = entering[i];
            }
    }
    trl__free(first);
    trl__free(entering);
    trl__free(queue);
    return ready ? 0 : -1;
}

static int find_related(const trl_fst *fst, trl__tuples *related, trl_error *err)
{
    futures f = {.fst = fst, .pairs = {.width = 2}};
    int failed = add_pair(&f.pairs, fst->start, fst->start) < 0;
    for (size_t i = 0; !failed && i < f.pairs.count; i++)
        failed = step_on(&f, (int32_t)i) < 0;
    uint8_t *ends = failed ? NULL : trl__alloc_zero(f.pairs.count, 1);
    failed = !ends || mark_ending(&f, ends) < 0;
    for (size_t i = 0; !failed && i < f.pairs.count; i++)
        if (ends[i])
            failed = trl__tuples_add(related, trl__tuples_get(&f.pairs, (int64_t)i)) < 0;
    trl__free(ends);
    trl__tuples_free(&f.pairs);
    trl__free(f.from);
    trl__free(f.to);
    return failed ? trl__fail_memory(err) : 0;
}

/* ---- Paths that come together ---- */

typedef struct search {
    trl_fst *fst;
    const int32_t *head; /* by state */
    trl__tuples pairs;   /* of states that one string leads to */
    uint8_t *gone;       /* by place in the array of arcs, and behind them by state: this end */
    int32_t *merged;     /* by state: the state it is one with; or itself */
    int any_merged;
} search;

/* Of two ways on to the same, that of the state with the higher head goes. */
static void drop_one(search *s, int32_t a, uint64_t of_a, int32_t b, uint64_t of_b)
{
    s->gone[s->head[a] > s->head[b] ? of_a : of_b] = 1;
}

/* An arc to a state that only writes what is left is part of an end. */
static int is_end(const search *s, const arc *a)
{
    return s->head[a->next] == TRL_NO_STATE;
}

static int ends(const search *s, int32_t state)
{
    int yes = !is_zero(final_of(s->fst, state));
    for (uint32_t i = 0; !yes && i < arc_count(s->fst, state); i++)
        yes = is_end(s, &arcs_of(s->fst, state)[i]);
    return yes;
}

/* Two states with one head that one string leads to are the same but for rounding. */
static int visit(search *s, int32_t a, int32_t b)
{
    if (a == b || s->head[a] != s->head[b])
        return add_pair(&s->pairs, a, b) < 0 ? -1 : 0;
    s->merged[a > b ? a : b] = a > b ? b : a;
    s->any_merged = 1;
    return 0;
}

static int look_at_arcs(search *s, int32_t a, int32_t b)
{
    const arc *x = arcs_of(s->fst, a), *y = arcs_of(s->fst, b);
    uint64_t first_a = s->fst->range[a].first, first_b = s->fst->range[b].first;
    uint32_t begin = 0, count = arc_count(s->fst, b);
    for (uint32_t i = 0; i < arc_count(s->fst, a); i++) {
        while (begin < count && y[begin].ilabel < x[i].ilabel)
            begin++;
        for (uint32_t k = begin; k < count && y[k].ilabel == x[i].ilabel; k++) {
            if (is_end(s, &x[i]) || is_end(s, &y[k]))
                continue;
            if (a != b && x[i].next == y[k].next)
                drop_one(s, a, first_a + i, b, first_b + k);
            if (visit(s, x[i].next, y[k].next) < 0)
                return -1;
        }
    }
    return 0;
}

static int look_at_pair(search *s, int32_t pair)
{
    const int32_t *key = trl__tuples_get(&s->pairs, pair);
    int32_t a = key[0], b = key[1];
    uint64_t end = s->fst->used;
    if (a != b && ends(s, a) && ends(s, b))
        drop_one(s, a, end + (uint64_t)a, b, end + (uint64_t)b);
    return look_at_arcs(s, a, b);
}

static int find_gone(search *s)
{
    trl__tuples_free(&s->pairs);
    memset(s->gone, 0, s->fst->used + (uint64_t)s->fst->states);
    s->any_merged = 0;
    for (int32_t q = 0; q < s->fst->states; q++)
        s->merged[q] = q;
    int failed = add_pair(&s->pairs, s->fst->start, s->fst->start) < 0;
    for (size_t i = 0; !failed && i < s->pairs.count; i++)
        failed = look_at_pair(s, (int32_t)i) < 0;
    return failed ? -1 : 0;
}

/* States that are the same become one, and the search begins anew. Each time there are fewer states. */
static int find_all_gone(search *s)
{
    int code = find_gone(s);
    while (code == 0 && s->any_merged) {
        for (int32_t q = 0; q < s->fst->states; q++) /* merged[q] is at most q, so it is final already */
            s->merged[q] = s->merged[s->merged[q]];
        for (int32_t q = 0; q < s->fst->states; q++)
            for (uint32_t i = 0; i < arc_count(s->fst, q); i++) {
                arc *a = &arcs_of(s->fst, q)[i];
                a->next = s->merged[a->next];
            }
        code = find_gone(s);
    }
    return code;
}

static void remove_gone(search *s)
{
    for (int32_t q = 0; q < s->fst->states; q++) {
        arc *arcs = arcs_of(s->fst, q);
        uint64_t first = s->fst->range[q].first;
        int no_end = s->gone[s->fst->used + (uint64_t)q];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < arc_count(s->fst, q); i++)
            if (!s->gone[first + i] && !(no_end && is_end(s, &arcs[i])))
                arcs[kept++] = arcs[i];
        s->fst->range[q].count = kept;
        if (no_end)
            set_final(s->fst, q, ZERO);
    }
}

static int keep_one_path(trl_fst *fst, const int32_t *head, trl_error *err)
{
    search s = {.fst = fst, .head = head, .pairs = {.width = 2}};
    s.merged = trl__alloc((size_t)fst->states, sizeof *s.merged);
    s.gone = trl__alloc(fst->used + (uint64_t)fst->states, 1);
    int failed = !s.merged || !s.gone || find_all_gone(&s) < 0;
    if (!failed)
        remove_gone(&s);
    trl__tuples_free(&s.pairs);
    trl__free(s.merged);
    trl__free(s.gone);
    return failed ? trl__fail_memory(err) : trl_fst_connect(fst, err);
}

/* ---- All together ---- */

static int disambiguate_trimmed(trl_fst *fst, const trl_determinize_options *options, trl_fst **out, trl_error *err)
{
    trl__heads heads = {.related = {.width = 2}};
    trl_determinize_options o = *options;
    o.has_prune = 0; /* paths weigh what they should when all is done */
    for (int32_t s = 0; s < fst->states; s++)
        trl__order_arcs(arcs_of(fst, s), arc_count(fst, s));
    int code = find_related(fst, &heads.related, err);
    if (code == 0)
        code = FN(subset_construction)(fst, &o, &heads, out, err);
    if (code == 0)
        code = keep_one_path(*out, heads.head, err);
    if (code == 0 && options->has_prune)
        code = trl_fst_prune(*out, options->prune, 0, err);
    trl__tuples_free(&heads.related);
    trl__free(heads.head);
    return code;
}

int FN(fst_disambiguate)(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out, trl_error *err)
{
    *out = NULL;
    if (options->kind == TRL_DETERMINIZE_NONFUNCTIONAL)
        return trl__fail(err, TRL_EINVAL,
                         "with several outputs for one input there is not one path for each input; disambiguate as "
                         "functional, or keep the best output");
    trl_fst *copy = NULL;
    int code = trl_fst_copy(fst, &copy, err);
    if (code == 0)
        code = trl_fst_connect(copy, err);
    if (code == 0 && copy->start == TRL_NO_STATE) {
        *out = copy;
        return 0;
    }
    if (code == 0)
        code = disambiguate_trimmed(copy, options, out, err);
    trl_fst_destroy(copy);
    if (code < 0) {
        trl_fst_destroy(*out);
        *out = NULL;
    }
    return code;
}

#if TRL__FIRST
int trl_fst_disambiguate(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out, trl_error *err)
{
    trl_determinize_options defaults = trl_determinize_defaults();
    options = options ? options : &defaults;
    TRL__DISPATCH(fst->semiring, fst_disambiguate, (fst, options, out, err));
}
#endif
