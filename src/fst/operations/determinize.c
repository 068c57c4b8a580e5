/* Weighted determinization: the subset construction with what each state of a subset still owes.
 *
 * A state of the result is a set of (state, string, weight): what has been read leads to those states, and on the way
 * there the string and the weight more than what the result has written. An arc of the result takes all arcs with its
 * label together, writes the first label that all of their strings begin with, costs the sum of their weights, and
 * leaves the rest in its subset (Mohri, "Finite-state transducers in language and speech processing", 1997). At an end,
 * strings that are left are written by arcs of their own.
 *
 * Subsets lie one behind the other in one array in the order they were found, and strings are numbers, so nothing is
 * allocated per state. A subset is built at the end of the array and taken back when it is there already. Weights are
 * compared as multiples of delta, but kept as they are. Several outputs of one input are the same state with several
 * strings. O(arcs of all subsets), times the logarithm of the largest label and state by radix sort.
 *
 * With pruning, states are taken in the order of the best path through them: the first time is then the best, as in A*,
 * and arcs that are on no path within the threshold never come into being.
 */
#include "fst/components.h"
#include "fst/distance.h"
#include "fst/label_strings.h"
#include "fst/step_sort.h"
#include "fst/subset_construction.h"
#include "fst/subset_table.h"

TRL__EACH(int, determinize,
          (const trl_fst *fst, const trl_determinize_options *options, trl_fst **out, trl_error *err));

#define END (-1) /* the state of an element that has been read to the end, and owes a string only */

typedef struct waiting {
    weight distance; /* of the best path through the state */
    int32_t state;
} waiting;

typedef struct builder {
    const trl_fst *fst;
    trl_determinize_options options;
    trl_fst *out;
    trl_error *err;
    trl__heads *heads; /* or NULL */
    int acceptor;
    trl__tuples strings;
    int32_t *letters; /* of the string at hand */
    size_t letter_capacity;
    trl__subsets subsets; /* by state of the result */

    trl__steps steps;

    uint8_t *coaccessible; /* found when it matters first */

    distance *to_end; /* pruning: by state of the machine */
    weight limit;
    weight *from_start; /* pruning: by state of the result */
    uint8_t *done;
    size_t from_capacity, done_capacity;
    waiting *heap;
    size_t heap_count, heap_capacity;
} builder;

/* ---- States of the result ---- */

static int too_many_states(builder *b)
{
    return trl__fail(b->err, TRL_ELIMIT,
                     "determinization needs more than %lld states; the machine may have no deterministic form (remove "
                     "epsilons, tell homophones apart, encode its labels, prune it) or needs a higher limit",
                     (long long)b->options.most_states);
}

/* The state of the subset that lies behind all others from `begin` on: old, or new. */
static int32_t find_state(builder *b, size_t begin, int32_t head)
{
    int64_t found = trl__subsets_find(&b->subsets, begin, head);
    if (found < 0)
        return trl__fail_memory(b->err);
    if (found < b->out->states)
        return (int32_t)found;
    if (found >= b->options.most_states)
        return too_many_states(b);
    if (b->to_end) {
        if (TRL_GROW(b->from_start, b->from_capacity, (size_t)found + 1) < 0 ||
            TRL_GROW(b->done, b->done_capacity, (size_t)found + 1) < 0)
            return trl__fail_memory(b->err);
        b->from_start[found] = ZERO;
        b->done[found] = 0;
    }
    return push_state(b->out, b->err);
}

/* ---- Building a subset ---- */

static int more_than_one_output(builder *b)
{
    return trl__fail(b->err, TRL_EINVAL,
                     "the transducer is not functional: it writes more than one output for some input; determinize it "
                     "as nonfunctional or disambiguate, or encode its labels");
}

/* Two outputs for one input lead to the state. Matters only if an end can be reached from there. */
static int check_conflict(builder *b, int32_t state)
{
    if (!b->coaccessible) {
        trl__components c;
        int code = trl__components_find(b->fst, &c, b->err);
        if (code < 0)
            return code;
        b->coaccessible = c.coaccessible;
        c.coaccessible = NULL;
        trl__components_free(&c);
    }
    return b->coaccessible[state] ? more_than_one_output(b) : 0;
}

/* Adds an element to the subset that begins at `begin`. Elements come sorted by state; equal ones become one, and those
 * of a state are kept in the order of their strings. */
static int add_element(builder *b, size_t begin, trl__element e)
{
    trl__element *all = b->subsets.elements;
    size_t at = b->subsets.used;
    for (; at > begin && all[at - 1].state == e.state && all[at - 1].string >= e.string; at--)
        if (all[at - 1].string == e.string) {
            all[at - 1].weight = plus(all[at - 1].weight, e.weight);
            return 0;
        }
    if (b->options.kind == TRL_DETERMINIZE_FUNCTIONAL && b->subsets.used > begin &&
        all[b->subsets.used - 1].state == e.state)
        return check_conflict(b, e.state);
    if (trl__subsets_push(&b->subsets, e) < 0)
        return trl__fail_memory(b->err);
    all = b->subsets.elements;
    memmove(all + at + 1, all + at, (b->subsets.used - 1 - at) * sizeof e);
    all[at] = e;
    return 0;
}

/* The label that a step's string begins with; 0: it is empty. */
static inline int32_t first_label(const builder *b, const trl__step *x)
{
    return x->string == TRL__EMPTY ? x->olabel : trl__string_first(&b->strings, x->string);
}

/* The string with a label behind it. The length is the delay between the two sides: mostly 0 or 1. */
static int32_t append(builder *b, int32_t string, int32_t label)
{
    size_t n = 0;
    if (label == 0)
        return string;
    for (; string != TRL__EMPTY; string = trl__string_rest(&b->strings, string)) {
        if (TRL_GROW(b->letters, b->letter_capacity, n + 1) < 0)
            return TRL__FAILED;
        b->letters[n++] = trl__string_first(&b->strings, string);
    }
    return trl__string_join(&b->strings, b->letters, n, trl__string_put(&b->strings, label, TRL__EMPTY));
}

/* What is left of its string when the arc writes `written`. */
static inline int32_t residual_string(builder *b, const trl__step *x, int32_t written)
{
    if (!written)
        return append(b, x->string, x->olabel);
    return x->string == TRL__EMPTY ? TRL__EMPTY : append(b, trl__string_rest(&b->strings, x->string), x->olabel);
}

/* What the steps have in common is what the arc says; the rest is the new subset, behind all others. */
static int make_subset(builder *b, const trl__step *x, size_t count, arc *a)
{
    size_t begin = b->subsets.used;
    a->weight = x[0].weight;
    a->olabel = first_label(b, &x[0]);
    for (size_t i = 1; i < count; i++) {
        a->weight = plus(a->weight, x[i].weight);
        a->olabel = a->olabel == first_label(b, &x[i]) ? a->olabel : 0;
    }
    if (is_zero(a->weight)) /* probabilities of both signs */
        a->weight = ONE;
    for (size_t i = 0; i < count; i++) {
        int32_t string = residual_string(b, &x[i], a->olabel);
        if (string == TRL__FAILED)
            return trl__fail_memory(b->err);
        int code = add_element(b, begin, (trl__element){x[i].next, string, divide(x[i].weight, a->weight)});
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- Pruning ---- */

static int is_beyond(const builder *b, weight w)
{
    return less(b->limit, w) && !nearly(b->limit, w, b->options.delta);
}

/* From the subset at `begin` to the ends. */
static weight distance_of(const builder *b, size_t begin)
{
    weight sum = ZERO;
    for (const trl__element *e = b->subsets.elements + begin; e < b->subsets.elements + b->subsets.used; e++)
        sum = plus(sum, e->state == END ? e->weight : times(e->weight, to_weight(b->to_end[e->state])));
    return sum;
}

static int heap_push(builder *b, waiting w)
{
    if (TRL_GROW(b->heap, b->heap_capacity, b->heap_count + 1) < 0)
        return trl__fail_memory(b->err);
    size_t at = b->heap_count++;
    for (; at > 0 && less(w.distance, b->heap[(at - 1) / 2].distance); at = (at - 1) / 2)
        b->heap[at] = b->heap[(at - 1) / 2];
    b->heap[at] = w;
    return 0;
}

static int32_t heap_pop(builder *b)
{
    int32_t state = b->heap[0].state;
    waiting last = b->heap[--b->heap_count];
    size_t at = 0;
    for (size_t child = 1; child < b->heap_count; child = 2 * at + 1) {
        child += child + 1 < b->heap_count && less(b->heap[child + 1].distance, b->heap[child].distance);
        if (!less(b->heap[child].distance, last.distance))
            break;
        b->heap[at] = b->heap[child];
        at = child;
    }
    b->heap[at] = last;
    return state;
}

/* A path to the state was found; `through` it is the weight of the best path on to the end. */
static int reach(builder *b, int32_t state, weight from_start, weight through)
{
    if (b->done[state] || !less(from_start, b->from_start[state]))
        return 0;
    b->from_start[state] = from_start;
    return heap_push(b, (waiting){through, state});
}

/* ---- Arcs of the result ---- */

/* An arc from `from` to the subset that lies behind all others. */
static int emit_arc(builder *b, int32_t from, arc a, size_t begin, int32_t head)
{
    weight here = ONE, through = ONE;
    if (b->to_end) {
        here = times(b->from_start[from], a.weight);
        through = times(here, distance_of(b, begin));
        if (is_zero(through) || is_beyond(b, through)) {
            b->subsets.used = begin;
            return 0;
        }
    }
    a.next = find_state(b, begin, head);
    if (a.next < 0)
        return a.next;
    int code = push_arc(b->out, from, a, b->err);
    return code < 0 || !b->to_end ? code : reach(b, a.next, here, through);
}

/* Of the steps to one state only the best stays. Steps are sorted by state; equally good: the first. */
static size_t keep_best(trl__step *x, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && x[kept - 1].next == x[i].next) {
            if (less(x[i].weight, x[kept - 1].weight))
                x[kept - 1] = x[i];
        } else {
            x[kept++] = x[i];
        }
    }
    return kept;
}

static int emit_steps(builder *b, int32_t from, trl__step *x, size_t count, int32_t head)
{
    if (b->options.kind == TRL_DETERMINIZE_DISAMBIGUATE)
        count = keep_best(x, count);
    size_t begin = b->subsets.used;
    arc a = {.ilabel = x[0].label};
    int code = make_subset(b, x, count, &a);
    if (code < 0)
        return code;
    if (b->acceptor)
        a.olabel = a.ilabel;
    return emit_arc(b, from, a, begin, head);
}

/* Does an arc of the machine read `label` and lead to `next`? Its arcs are sorted by label. */
static int has_arc(const trl_fst *fst, int32_t state, int32_t label, int32_t next)
{
    const arc *arcs = arcs_of(fst, state);
    uint32_t low = 0, high = arc_count(fst, state);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arcs[middle].ilabel < label)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < arc_count(fst, state) && arcs[low].ilabel == label && arcs[low].next != next)
        low++;
    return low < arc_count(fst, state) && arcs[low].ilabel == label;
}

static int share_a_future(const builder *b, int32_t x, int32_t y)
{
    trl__tuples pairs = b->heads->related;
    pairs.width = 2;
    return trl__tuples_find(&pairs, (int32_t[]){x < y ? x : y, x < y ? y : x}) >= 0;
}

/* One arc for each state that the head leads to with the label: with the steps whose states share a future with it. */
static int emit_heads(builder *b, int32_t from, const trl__step *x, size_t count)
{
    if (TRL_GROW(b->steps.others, b->steps.other_capacity, count) < 0)
        return trl__fail_memory(b->err);
    int32_t head = b->subsets.head[from];
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        if ((i > 0 && x[i].next == x[i - 1].next) || !has_arc(b->fst, head, x[i].label, x[i].next))
            continue;
        size_t related = 0;
        for (size_t k = 0; k < count; k++)
            if (share_a_future(b, x[i].next, x[k].next))
                b->steps.others[related++] = x[k];
        if (related > 0)
            code = emit_steps(b, from, b->steps.others, related, x[i].next);
    }
    return code;
}

/* ---- Steps of a state ---- */

/* All arcs of the state's subset. */
static int gather_steps(builder *b, int32_t state)
{
    b->steps.count = 0;
    for (size_t i = b->subsets.first[state]; i < b->subsets.first[state + 1]; i++) {
        trl__element e = b->subsets.elements[i];
        if (e.state == END)
            continue;
        const arc *arcs = arcs_of(b->fst, e.state);
        uint32_t count = arc_count(b->fst, e.state);
        if (b->steps.count + count > b->steps.capacity &&
            TRL_GROW(b->steps.all, b->steps.capacity, b->steps.count + count) < 0)
            return trl__fail_memory(b->err);
        for (uint32_t k = 0; k < count; k++) {
            weight w = times(e.weight, arcs[k].weight);
            if (!is_zero(w))
                b->steps.all[b->steps.count++] =
                    (trl__step){arcs[k].ilabel, arcs[k].next, e.string, b->acceptor ? 0 : arcs[k].olabel, w};
        }
    }
    return trl__steps_sort(&b->steps) < 0 ? trl__fail_memory(b->err) : 0;
}

static int expand(builder *b, int32_t state)
{
    int code = gather_steps(b, state);
    for (size_t i = 0, end; code == 0 && i < b->steps.count; i = end) {
        for (end = i + 1; end < b->steps.count && b->steps.all[end].label == b->steps.all[i].label;)
            end++;
        code = b->heads ? emit_heads(b, state, b->steps.all + i, end - i)
                        : emit_steps(b, state, b->steps.all + i, end - i, TRL_NO_STATE);
    }
    return code;
}

/* ---- Ends ---- */

/* The ends of the state's subset as steps, one for each string, which stands in `label`. */
static int gather_ends(builder *b, int32_t state)
{
    b->steps.count = 0;
    int32_t head = b->heads ? b->subsets.head[state] : TRL_NO_STATE;
    if (head != TRL_NO_STATE && is_zero(final_of(b->fst, head)))
        return 0;
    for (size_t i = b->subsets.first[state]; i < b->subsets.first[state + 1]; i++) {
        trl__element e = b->subsets.elements[i];
        weight w = e.state == END ? e.weight : times(e.weight, final_of(b->fst, e.state));
        if (is_zero(w))
            continue;
        if (TRL_GROW(b->steps.all, b->steps.capacity, b->steps.count + 1) < 0)
            return trl__fail_memory(b->err);
        b->steps.all[b->steps.count++] = (trl__step){.label = e.string, .weight = w};
    }
    if (trl__steps_sort(&b->steps) < 0)
        return trl__fail_memory(b->err);
    size_t kept = 0;
    for (size_t i = 0; i < b->steps.count; i++)
        if (kept > 0 && b->steps.all[kept - 1].label == b->steps.all[i].label)
            b->steps.all[kept - 1].weight = plus(b->steps.all[kept - 1].weight, b->steps.all[i].weight);
        else
            b->steps.all[kept++] = b->steps.all[i];
    if (b->options.kind == TRL_DETERMINIZE_DISAMBIGUATE)
        kept = keep_best(b->steps.all, kept);
    b->steps.count = kept;
    return b->options.kind == TRL_DETERMINIZE_FUNCTIONAL && kept > 1 ? more_than_one_output(b) : 0;
}

/* The state's final weight, and arcs that write what is left. */
static int emit_ends(builder *b, int32_t state)
{
    int code = gather_ends(b, state);
    int32_t label = b->options.subsequential_label;
    for (size_t i = 0; code == 0 && i < b->steps.count; i++) {
        trl__step x = b->steps.all[i];
        if (x.label == TRL__EMPTY) {
            if (!b->to_end || !is_beyond(b, times(b->from_start[state], x.weight)))
                set_final(b->out, state, x.weight);
            continue;
        }
        size_t begin = b->subsets.used;
        if (trl__subsets_push(&b->subsets, (trl__element){END, trl__string_rest(&b->strings, x.label), ONE}) < 0)
            return trl__fail_memory(b->err);
        code = emit_arc(b, state, (arc){label, trl__string_first(&b->strings, x.label), x.weight, TRL_NO_STATE}, begin,
                        TRL_NO_STATE);
        if (b->options.increment_subsequential) {
            if (label == INT32_MAX)
                return trl__fail(b->err, TRL_ELIMIT, "there are no subsequential labels left; begin with a lower one");
            label++;
        }
    }
    return code;
}

/* ---- All together ---- */

/* Arcs with the subsequential label 0 come first, so that arcs stay sorted. */
static int work_on(builder *b, int32_t state)
{
    int first = b->options.subsequential_label == 0;
    int code = first ? emit_ends(b, state) : expand(b, state);
    return code < 0 ? code : first ? expand(b, state) : emit_ends(b, state);
}

static int work_by_distance(builder *b)
{
    int code = 0;
    while (code == 0 && b->heap_count > 0) {
        int32_t state = heap_pop(b);
        if (b->done[state])
            continue;
        b->done[state] = 1;
        code = work_on(b, state);
    }
    return code;
}

static int work(builder *b)
{
    if (b->fst->start == TRL_NO_STATE)
        return 0;
    if (trl__subsets_push(&b->subsets, (trl__element){b->fst->start, TRL__EMPTY, ONE}) < 0)
        return trl__fail_memory(b->err);
    int32_t start = find_state(b, 0, b->heads ? b->fst->start : TRL_NO_STATE);
    int code = start < 0 ? start : trl_fst_set_start(b->out, start, b->err);
    if (b->to_end) {
        weight best = to_weight(b->to_end[b->fst->start]);
        b->limit = times(best, from_public(b->options.prune));
        code = code < 0 || is_zero(best) ? code : reach(b, start, ONE, best);
        return code < 0 ? code : work_by_distance(b);
    }
    for (int32_t s = 0; code == 0 && s < b->out->states; s++)
        code = work_on(b, s);
    return code;
}

static int is_acceptor(const trl_fst *fst)
{
    for (int32_t s = 0; s < fst->states; s++) {
        const arc *arcs = arcs_of(fst, s);
        for (uint32_t i = 0; i < arc_count(fst, s); i++)
            if (arcs[i].ilabel != arcs[i].olabel)
                return 0;
    }
    return 1;
}

static int check_options(const trl_determinize_options *o, trl_error *err)
{
    if (!(o->delta > 0) || o->delta > 1e9f)
        return trl__fail(err, TRL_EINVAL, "delta is %g; it must be positive", (double)o->delta);
    if (o->subsequential_label < 0)
        return trl__fail(err, TRL_EINVAL, "the subsequential label is %d; labels are not negative",
                         (int)o->subsequential_label);
    if (!HAS_PATH && (o->has_prune || o->kind == TRL_DETERMINIZE_DISAMBIGUATE))
        return trl__fail(
            err, TRL_EINVAL, "%s: the %s semiring has no best path; use the tropical or the lattice semiring",
            o->has_prune ? "pruning" : "disambiguating outputs", trl_semiring_name((trl_semiring)TRL__SEMIRING));
    if (o->has_prune && !is_member(from_public(o->prune)))
        return trl__fail(err, TRL_ENUMBER, "the pruning threshold is not in the semiring");
    return 0;
}

static void free_builder(builder *b)
{
    trl__tuples_free(&b->strings);
    trl__free(b->letters);
    trl__subsets_free(&b->subsets);
    trl__steps_free(&b->steps);
    trl__free(b->coaccessible);
    trl__free(b->to_end);
    trl__free(b->from_start);
    trl__free(b->done);
    trl__free(b->heap);
}

int FN(subset_construction)(const trl_fst *fst, const trl_determinize_options *options, trl__heads *heads,
                            trl_fst **out, trl_error *err)
{
    *out = NULL;
    int code = check_options(options, err);
    if (code < 0)
        return code;
    builder b = {.fst = fst, .options = *options, .heads = heads, .err = err, .strings = {.width = 2}};
    b.acceptor = is_acceptor(fst);
    b.options.most_states = trl__most_states(fst, options->most_states);
    code = trl__subsets_make(&b.subsets, fst->states, options->delta, heads != NULL) < 0
               ? trl__fail_memory(err)
               : trl__fst_like(fst, &b.out, err);
    if (code == 0 && options->has_prune && fst->start != TRL_NO_STATE)
        code = FN(distances)(fst, 1, TRL__DISTANCE_DELTA, &b.to_end, NULL, err);
    if (code == 0)
        code = work(&b);
    if (code == 0 && heads) {
        heads->head = b.subsets.head;
        b.subsets.head = NULL;
    }
    free_builder(&b);
    if (code < 0) {
        trl_fst_destroy(b.out);
        return code;
    }
    *out = b.out;
    return 0;
}

int FN(determinize)(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out, trl_error *err)
{
    return FN(subset_construction)(fst, options, NULL, out, err);
}

#if TRL__FIRST
trl_determinize_options trl_determinize_defaults(void)
{
    return (trl_determinize_options){.kind = TRL_DETERMINIZE_FUNCTIONAL, .delta = TRL_DELTA};
}

int trl_fst_determinize(const trl_fst *fst, const trl_determinize_options *options, trl_fst **out, trl_error *err)
{
    trl_determinize_options defaults = trl_determinize_defaults();
    options = options ? options : &defaults;
    TRL__DISPATCH(fst->semiring, determinize, (fst, options, out, err));
}
#endif
