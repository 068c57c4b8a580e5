/* One long string in parts, all at the same time (Ladner and Fischer, "Parallel prefix computation", 1980).
 *
 * A part of the input is a matrix: from each state before it to each state after it, the best path or the sum of all.
 * Threads make the matrices of their parts, n times the work of a search. Vectors then go from part to part through the
 * matrices, forward from the start and backward from the end; after that every part is an input of its own, with its
 * start and end weights given, and is searched by the frontier's way, again all at the same time. With s states and p
 * threads this is faster than one search when p is well above s.
 *
 * Between two parts a vector holds what is there before arcs without input were followed: the next part follows them.
 */
#include "base/fail.h"
#include "transduce/search.h"

#include <math.h>
#include <string.h>

#define ROUNDS 100000 /* of the closure, where arcs without input have cycles */
#define TINY 1e-200

typedef struct part {
    size_t step, steps;       /* of the plan */
    size_t columns;           /* states it may begin in: all, or only the start */
    double *x, *y, *z;        /* [state][column] */
    double *scale;            /* by column: logarithm of what its sums are divided by; then scratch by column, twice */
    int out_of_range;         /* a sum became too small for a double */
    trl_transduce_work *work; /* its own search */
    trl_transduction result;
} part;

typedef struct prefix {
    trl_transduce_work *w;
    trl_transduce_operation operation;
    int best; /* minimum instead of sum */
    size_t states, count;
    part *parts;
    double *before, *after; /* [part's beginning, and the end][state]: weights of coming here, and of going on */
} prefix;

/* ---- The matrix of a part ---- */

/* to[] gets what from[] becomes along an arc: a row of the matrix each. */
static void add_row(const prefix *p, size_t columns, const double *from, float weight, double *to)
{
    double step = (double)(p->best ? weight : trl__probability(weight));
    for (size_t c = 0; p->best && c < columns; c++)
        to[c] = from[c] + step < to[c] ? from[c] + step : to[c];
    for (size_t c = 0; !p->best && c < columns; c++)
        to[c] += from[c] * step;
}

static void fill(const prefix *p, const part *a, double *x)
{
    for (size_t i = 0; i < p->states * a->columns; i++)
        x[i] = p->best ? INFINITY : 0;
}

static void follow_symbol(const prefix *p, part *a, const trl__symbol *s)
{
    const trl_transducer *t = p->w->t;
    fill(p, a, a->y);
    for (uint64_t k = s->arc; k < s->arc + s->arcs; k++)
        add_row(p, a->columns, a->x + t->source[k] * a->columns, t->arc[k].weight,
                a->y + t->arc[k].target * a->columns);
    double *other = a->x;
    a->x = a->y;
    a->y = other;
}

/* In topological order, from `from` to `to`, which may be the same. */
static void follow_epsilons(const prefix *p, part *a, const double *from, double *to)
{
    const trl_transducer *t = p->w->t;
    const trl__symbol *s = &t->symbol[t->epsilons.symbol];
    for (size_t r = 0; r < p->states; r++) {
        uint32_t q = t->epsilons.state[r];
        int64_t row = trl__row_of(t, s, q);
        uint64_t k = row < 0 ? 0 : s->arc + t->row_first[s->row + (uint64_t)row];
        uint64_t end = row < 0 ? 0 : s->arc + t->row_first[s->row + (uint64_t)row + 1];
        for (; k < end; k++)
            add_row(p, a->columns, from + q * a->columns, t->arc[k].weight, to + t->arc[k].target * a->columns);
    }
}

static int same_matrix(const prefix *p, const part *a, const double *x, const double *y)
{
    for (size_t i = 0; i < p->states * a->columns; i++)
        if (x[i] != y[i] && !(fabs(x[i] - y[i]) <= 1e-14 * fmin(fabs(x[i]), fabs(y[i]))))
            return 0;
    return 1;
}

/* The closure of x; with cycles by repetition, z = x + E y. */
static int close_matrix(const prefix *p, part *a, trl_error *err)
{
    size_t bytes = p->states * a->columns * sizeof *a->x;
    if (p->w->t->epsilons.symbol < 0)
        return 0;
    if (!p->w->t->epsilons.has_cycles) {
        follow_epsilons(p, a, a->x, a->x);
        return 0;
    }
    memcpy(a->y, a->x, bytes);
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(a->z, a->x, bytes);
        follow_epsilons(p, a, a->y, a->z);
        double *other = a->y;
        a->y = a->z;
        a->z = other;
        if (same_matrix(p, a, a->y, a->z)) {
            memcpy(a->x, a->y, bytes);
            return 0;
        }
    }
    return trl__fail(err, TRL_ELIMIT,
                     "arcs without input make cycles whose probabilities do not add up to a finite number; lower them");
}

/* Sees when a sum falls too far behind its column's largest, and keeps that within 1e±30. */
static void normalize(const prefix *p, part *a)
{
    double *most = a->scale + a->columns, *least = most + a->columns;
    int moves = 0, exponent;
    for (size_t c = 0; c < a->columns; c++)
        most[c] = 0, least[c] = INFINITY;
    for (size_t q = 0; q < p->states; q++)
        for (size_t c = 0; c < a->columns; c++) {
            double x = a->x[q * a->columns + c];
            most[c] = x > most[c] ? x : most[c];
            x = x > 0 ? x : INFINITY;
            least[c] = x < least[c] ? x : least[c];
        }
    for (size_t c = 0; c < a->columns; c++) {
        a->out_of_range |= most[c] == INFINITY || least[c] < most[c] * TINY;
        frexp(most[c], &exponent);
        int moved = most[c] > 0 && (most[c] < 1e-30 || most[c] > 1e30);
        most[c] = moved ? ldexp(1, -exponent) : 1; /* the factor */
        a->scale[c] += moved ? exponent * 0.69314718055994530942 : 0;
        moves |= moved;
    }
    for (size_t q = 0; moves && q < p->states; q++)
        for (size_t c = 0; c < a->columns; c++)
            a->x[q * a->columns + c] *= most[c];
}

static void to_weights(const prefix *p, part *a)
{
    for (size_t i = 0; !p->best && i < p->states * a->columns; i++)
        a->x[i] = -log(a->x[i]) - a->scale[i % a->columns];
}

/* Rows become weights at the end, whatever they were on the way. */
static int make_matrix(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    const prefix *p = user;
    part *a = &p->parts[index];
    size_t size = p->states * a->columns;
    int code = 0;
    a->x = trl__alloc(size, sizeof *a->x);
    a->y = trl__alloc(size, sizeof *a->y);
    a->z = trl__alloc(size, sizeof *a->z);
    a->scale = trl__alloc_zero(3 * a->columns, sizeof *a->scale);
    if (!a->x || !a->y || !a->z || !a->scale)
        return trl__fail_memory(err);
    fill(p, a, a->x);
    for (size_t c = 0; c < a->columns; c++)
        a->x[(a->columns == 1 ? (size_t)p->w->t->start : c) * a->columns + c] = p->best ? 0 : 1;
    for (size_t i = a->step; code == 0 && i < a->step + a->steps; i++) {
        code = close_matrix(p, a, err);
        follow_symbol(p, a, &p->w->t->symbol[p->w->plan.step[i].symbol]);
        if (!p->best)
            normalize(p, a);
    }
    if (code == 0 && index == p->count - 1)
        code = close_matrix(p, a, err);
    to_weights(p, a);
    return code;
}

/* ---- Vectors from part to part ---- */

static double plus(const prefix *p, double a, double b)
{
    return p->best ? fmin(a, b) : trl__log_add(a, b);
}

/* Only differences count within a part; large numbers would lose digits. Returns what was taken off. */
static double make_relative(double *weights, size_t states)
{
    double least = INFINITY;
    for (size_t q = 0; q < states; q++)
        least = fmin(least, weights[q]);
    for (size_t q = 0; least < INFINITY && q < states; q++)
        weights[q] -= least;
    return least < INFINITY ? least : 0;
}

/* The sum over all ends: from the first boundary to the last. */
static double go_forward(prefix *p)
{
    const trl_transducer *t = p->w->t;
    double total = INFINITY, base = 0;
    for (size_t i = 0; i < p->count; i++) {
        const part *a = &p->parts[i];
        const double *from = p->before + i * p->states;
        double *to = p->before + (i + 1) * p->states;
        for (size_t q = 0; q < p->states; q++) {
            to[q] = INFINITY;
            for (size_t c = 0; c < a->columns; c++)
                to[q] = plus(p, to[q], a->x[q * a->columns + c] + from[a->columns == 1 ? (size_t)t->start : c]);
        }
        base += make_relative(to, p->states);
    }
    for (size_t q = 0; q < p->states; q++)
        total = plus(p, total, p->before[p->count * p->states + q] + (double)t->final[q]);
    return base + total;
}

/* The same from the last to the first. */
static double go_backward(prefix *p)
{
    double base = 0;
    for (size_t i = p->count; i-- > 0;) {
        const part *a = &p->parts[i];
        const double *from = p->after + (i + 1) * p->states;
        double *to = p->after + i * p->states;
        for (size_t c = 0; c < a->columns; c++) {
            double *sum = &to[a->columns == 1 ? (size_t)p->w->t->start : c];
            *sum = INFINITY;
            for (size_t q = 0; q < p->states; q++)
                *sum = plus(p, *sum, a->x[q * a->columns + c] + from[q]);
        }
        base += i > 0 ? make_relative(to, p->states) : 0;
    }
    return base + p->after[p->w->t->start];
}

/* ---- The parts' own searches ---- */

static int plan_part(const prefix *p, size_t index, trl__plan *plan)
{
    const part *a = &p->parts[index];
    int is_last = index == p->count - 1;
    size_t positions = a->steps + 1;
    if (TRL_GROW(plan->step, plan->step_capacity, a->steps + 1) < 0 ||
        TRL_GROW(plan->first, plan->first_capacity, positions + 1) < 0 ||
        TRL_GROW(plan->final, plan->final_capacity, positions) < 0 ||
        TRL_GROW(plan->out_first, plan->out_first_capacity, positions + 1) < 0 ||
        TRL_GROW(plan->out, plan->out_capacity, a->steps + 1) < 0)
        return -1;
    plan->positions = positions;
    plan->steps = a->steps;
    plan->closure_output = TRL__ANY_OUTPUT;
    plan->open_end = !is_last;
    plan->start_weights = p->before + index * p->states;
    plan->end_weights = is_last ? NULL : p->after + (index + 1) * p->states;
    for (uint32_t i = 0; i < positions; i++) {
        plan->final[i] = i == a->steps ? 0 : INFINITY;
        plan->first[i + 1] = i;
        plan->out_first[i] = i;
    }
    for (uint32_t i = 0; i < a->steps; i++) {
        plan->step[i] = p->w->plan.step[a->step + i];
        plan->step[i].from = i;
        plan->step[i].to = i + 1;
        plan->out[i] = i;
    }
    plan->first[0] = 0;
    plan->out_first[positions] = a->steps;
    return 0;
}

static int search_part(void *user, size_t index, int worker, trl_error *err)
{
    (void)worker;
    const prefix *p = user;
    part *a = &p->parts[index];
    int code = trl_transduce_create(p->w->t, NULL, &a->work, err);
    if (code == 0 && plan_part(p, index, &a->work->plan) < 0)
        code = trl__fail_memory(err);
    if (code < 0)
        return code;
    return p->best ? trl__best_search(a->work, err) : trl__path_sums(a->work, TRL_TRANSDUCE_COUNTS, &a->result, err);
}

/* From the last part to the first: each says in which state the one before it ends. */
static int join_paths(prefix *p, trl_transduction *result, trl_error *err)
{
    trl__out *out = &p->w->out;
    uint32_t state;
    size_t position;
    if (!trl__best_end(p->parts[p->count - 1].work, &position, &state))
        return 0;
    out->arc_count = 0;
    p->w->path_weight = (double)p->w->t->final[state];
    for (size_t i = p->count; i-- > 0;) {
        trl_transduce_work *work = p->parts[i].work;
        work->path_weight = 0;
        int code = trl__best_trace(work, p->parts[i].steps, state, &state, err);
        if (code < 0)
            return code;
        if (TRL_GROW(out->arcs, out->arc_capacity, out->arc_count + work->out.arc_count) < 0)
            return trl__fail_memory(err);
        if (work->out.arc_count > 0)
            memcpy(out->arcs + out->arc_count, work->out.arcs, work->out.arc_count * sizeof *out->arcs);
        out->arc_count += work->out.arc_count;
        p->w->path_weight += work->path_weight;
    }
    return trl__best_outputs(p->w, result, err);
}

static int join_counts(prefix *p, double total, trl_transduction *result, trl_error *err)
{
    trl__out *out = &p->w->out;
    const trl_transduction *last = &p->parts[p->count - 1].result;
    out->arc_count = 0;
    for (size_t i = 0; i < p->count; i++) {
        const trl_transduction *r = &p->parts[i].result;
        size_t needed = out->arc_count + r->arc_count;
        if (TRL_GROW(out->arcs, out->arc_capacity, needed) < 0 ||
            TRL_GROW(out->counts, out->count_capacity, needed) < 0)
            return trl__fail_memory(err);
        if (r->arc_count > 0) {
            memcpy(out->arcs + out->arc_count, r->arcs, r->arc_count * sizeof *r->arcs);
            memcpy(out->counts + out->arc_count, r->counts, r->arc_count * sizeof *r->counts);
        }
        out->arc_count = needed;
    }
    if (TRL_GROW(out->final_states, out->final_state_capacity, last->final_count) < 0 ||
        TRL_GROW(out->final_counts, out->final_count_capacity, last->final_count) < 0)
        return trl__fail_memory(err);
    if (last->final_count > 0) {
        memcpy(out->final_states, last->final_states, last->final_count * sizeof *last->final_states);
        memcpy(out->final_counts, last->final_counts, last->final_count * sizeof *last->final_counts);
    }
    *result = (trl_transduction){.found = 1,
                                 .weight = total,
                                 .arcs = out->arcs,
                                 .counts = out->counts,
                                 .arc_count = out->arc_count,
                                 .final_states = out->final_states,
                                 .final_counts = out->final_counts,
                                 .final_count = last->final_count};
    return 0;
}

/* ---- All ---- */

static int make_parts(prefix *p)
{
    size_t steps = p->w->plan.steps;
    p->parts = trl__alloc_zero(p->count, sizeof *p->parts);
    p->before = trl__alloc((p->count + 1) * p->states, sizeof *p->before);
    p->after = trl__alloc((p->count + 1) * p->states, sizeof *p->after);
    if (!p->parts || !p->before || !p->after)
        return -1;
    for (size_t i = 0; i < p->count; i++) {
        part *a = &p->parts[i];
        a->step = steps / p->count * i + (i < steps % p->count ? i : steps % p->count);
        a->steps = steps / p->count + (i < steps % p->count);
        a->columns = i == 0 ? 1 : p->states;
    }
    for (size_t q = 0; q < p->states; q++) {
        p->before[q] = (int32_t)q == p->w->t->start ? 0 : INFINITY;
        p->after[p->count * p->states + q] = (double)p->w->t->final[q];
    }
    return 0;
}

static void free_parts(prefix *p)
{
    for (size_t i = 0; p->parts && i < p->count; i++) {
        part *a = &p->parts[i];
        trl__free(a->x);
        trl__free(a->y);
        trl__free(a->z);
        trl__free(a->scale);
        trl_transduce_destroy(a->work);
    }
    trl__free(p->parts);
    trl__free(p->before);
    trl__free(p->after);
}

static int run(prefix *p, trl_transduction *result, trl_error *err)
{
    trl_pool *pool = p->w->options.pool;
    int code = trl_pool_for(pool, p->count, make_matrix, p, err);
    for (size_t i = 0; code == 0 && i < p->count; i++)
        if (p->parts[i].out_of_range)
            return trl__path_sums(p->w, p->operation, result, err);
    if (code < 0)
        return code;
    double total = p->operation == TRL_TRANSDUCE_BACKWARD ? go_backward(p) : go_forward(p);
    if (total == INFINITY)
        return 0;
    if (p->operation == TRL_TRANSDUCE_FORWARD || p->operation == TRL_TRANSDUCE_BACKWARD) {
        *result = (trl_transduction){.found = 1, .weight = total};
        return 0;
    }
    if (!p->best)
        go_backward(p);
    code = trl_pool_for(pool, p->count, search_part, p, err);
    if (code < 0)
        return code;
    return p->best ? join_paths(p, result, err) : join_counts(p, total, result, err);
}

int trl__prefix(trl_transduce_work *w, trl_transduce_operation operation, trl_transduction *result, trl_error *err)
{
    for (size_t i = 0; i < w->plan.steps; i++)
        if (w->plan.step[i].to != i + 1 || w->plan.step[i].output != TRL__ANY_OUTPUT)
            return trl__fail(err, TRL_EINVAL,
                             "method prefix reads strings only, without a given output; use another method");
    if (operation != TRL_TRANSDUCE_VITERBI && trl__is_wide(w->t))
        return trl__path_sums(w, operation, result, err);
    size_t threads = w->options.pool ? (size_t)trl_pool_threads(w->options.pool) : 1, parts = threads < 2 ? 2 : threads;
    prefix p = {.w = w,
                .operation = operation,
                .best = operation == TRL_TRANSDUCE_VITERBI,
                .states = (size_t)w->t->states,
                .count = w->plan.steps < parts ? 1 : parts};
    int code = make_parts(&p) < 0 ? trl__fail_memory(err) : run(&p, result, err);
    free_parts(&p);
    return code;
}
