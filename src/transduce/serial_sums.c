/* The paper's Algorithm 2 as it stands: forward, backward and expected counts over every arc of every symbol, with one
 * cell per state and position, all in logarithms. It shares nothing with the frontier's way of doing it but the plan,
 * and is what that is compared with. O(positions * states) memory. */
#include "base/fail.h"
#include "transduce/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROUNDS 100000 /* of the closure, where arcs without input have cycles */

struct trl__serial {
    double *alpha, *beta, *before, *after; /* [position][state]; by state: scratch of the closure */
    size_t alpha_capacity, beta_capacity, before_capacity, after_capacity;
};

void trl__serial_free(struct trl__serial *serial)
{
    if (!serial)
        return;
    trl__free(serial->alpha);
    trl__free(serial->beta);
    trl__free(serial->before);
    trl__free(serial->after);
    trl__free(serial);
}

static int make(trl_transduce_work *w, int backward, trl_error *err)
{
    size_t states = (size_t)w->t->states, cells;
    if (!w->serial)
        w->serial = trl__alloc_zero(1, sizeof *w->serial);
    struct trl__serial *s = w->serial;
    if (__builtin_mul_overflow(w->plan.positions, states, &cells))
        return trl__fail(err, TRL_ELIMIT, "the input is too long for method serial; use another");
    if (!s || TRL_GROW(s->alpha, s->alpha_capacity, cells) < 0 || TRL_GROW(s->before, s->before_capacity, states) < 0 ||
        TRL_GROW(s->after, s->after_capacity, states) < 0 ||
        (backward && TRL_GROW(s->beta, s->beta_capacity, cells) < 0))
        return trl__fail_memory(err);
    for (size_t i = 0; i < cells; i++)
        s->alpha[i] = INFINITY;
    for (size_t i = 0; backward && i < cells; i++)
        s->beta[i] = INFINITY;
    return trl__nodes_begin(w) < 0 ? trl__fail_memory(err) : 0;
}

/* ---- Steps ---- */

/* A step's cells: where it begins, where it leads. */
static void forward_step(const trl_transduce_work *w, const trl__step *step, const double *from, double *to)
{
    const trl_transducer *t = w->t;
    double weight = (double)step->weight;
    if (step->symbol == TRL__STAY)
        for (int32_t q = 0; q < t->states; q++)
            to[q] = trl__log_add(to[q], from[q] + weight);
    if (step->symbol < 0)
        return;
    const trl__symbol *s = &t->symbol[step->symbol];
    for (uint64_t k = s->arc; k < s->arc + s->arcs; k++) {
        double alpha = from[t->source[k]];
        if (alpha == INFINITY || (step->output != TRL__ANY_OUTPUT && t->output[k] != step->output))
            continue;
        double *cell = &to[t->arc[k].target];
        *cell = trl__log_add(*cell, alpha + weight + (double)t->arc[k].weight);
    }
}

static void backward_step(const trl_transduce_work *w, const trl__step *step, double *from, const double *to)
{
    const trl_transducer *t = w->t;
    double weight = (double)step->weight;
    if (step->symbol == TRL__STAY)
        for (int32_t q = 0; q < t->states; q++)
            from[q] = trl__log_add(from[q], to[q] + weight);
    if (step->symbol < 0)
        return;
    const trl__symbol *s = &t->symbol[step->symbol];
    for (uint64_t k = s->arc; k < s->arc + s->arcs; k++) {
        double beta = to[t->arc[k].target];
        if (beta == INFINITY || (step->output != TRL__ANY_OUTPUT && t->output[k] != step->output))
            continue;
        double *cell = &from[t->source[k]];
        *cell = trl__log_add(*cell, beta + weight + (double)t->arc[k].weight);
    }
}

/* ---- Arcs without input ---- */

/* Adds to `after` what `before` becomes along the closure's arcs of the state with this rank. */
static void follow_rank(const trl_transduce_work *w, uint32_t rank, int backward, const double *before, double *after)
{
    const trl_transducer *t = w->t;
    const trl__symbol *s = &t->symbol[t->epsilons.symbol];
    uint32_t q = t->epsilons.state[rank];
    int64_t row = trl__row_of(t, s, q);
    if (row < 0)
        return;
    for (uint64_t k = t->row_first[s->row + (uint64_t)row]; k < t->row_first[s->row + (uint64_t)row + 1]; k++) {
        trl__symbol_arc arc = t->arc[s->arc + k];
        uint32_t from = backward ? arc.target : q, to = backward ? q : arc.target;
        if (before[from] < INFINITY &&
            (w->plan.closure_output == TRL__ANY_OUTPUT || t->output[s->arc + k] == w->plan.closure_output))
            after[to] = trl__log_add(after[to], before[from] + (double)arc.weight);
    }
}

static int close_cells(const trl_transduce_work *w, size_t position, double *cells, int backward, trl_error *err)
{
    uint32_t states = (uint32_t)w->t->states;
    double *before = w->serial->before, *after = w->serial->after;
    if (!trl__plan_closes(w, position))
        return 0;
    if (!w->t->epsilons.has_cycles) {
        for (uint32_t i = 0; i < states; i++)
            follow_rank(w, backward ? states - 1 - i : i, backward, cells, cells);
        return 0;
    }
    memcpy(before, cells, states * sizeof *before);
    for (int round = 0, moved = 1; moved; round++) {
        if (round == ROUNDS)
            return trl__fail(err, TRL_ELIMIT,
                             "arcs without input make cycles whose probabilities do not add up to a finite number; "
                             "lower them");
        memcpy(after, cells, states * sizeof *after);
        for (uint32_t i = 0; i < states; i++)
            follow_rank(w, i, backward, before, after);
        moved = 0;
        for (uint32_t q = 0; q < states; q++)
            moved |= before[q] != after[q] && !(fabs(before[q] - after[q]) <= 1e-12);
        memcpy(before, after, states * sizeof *before);
    }
    memcpy(cells, before, states * sizeof *cells);
    return 0;
}

/* ---- Passes ---- */

static int forward(const trl_transduce_work *w, trl_error *err)
{
    size_t states = (size_t)w->t->states;
    double *alpha = w->serial->alpha;
    int code = 0;
    if (w->plan.start_weights)
        memcpy(alpha, w->plan.start_weights, states * sizeof *alpha);
    else
        alpha[w->t->start] = 0;
    for (size_t p = 0; code == 0 && p < w->plan.positions; p++) {
        for (size_t i = w->plan.first[p]; i < w->plan.first[p + 1]; i++)
            forward_step(w, &w->plan.step[i], alpha + w->plan.step[i].from * states, alpha + p * states);
        code = close_cells(w, p, alpha + p * states, 0, err);
    }
    return code;
}

static int backward(const trl_transduce_work *w, trl_error *err)
{
    size_t states = (size_t)w->t->states;
    double *beta = w->serial->beta;
    int code = 0;
    for (size_t p = w->plan.positions; code == 0 && p-- > 0;) {
        double *cells = beta + p * states;
        for (uint32_t q = 0; q < states; q++)
            cells[q] = trl__end_weight(w, q) + (double)w->plan.final[p];
        for (size_t i = w->plan.out_first[p]; i < w->plan.out_first[p + 1]; i++) {
            const trl__step *step = &w->plan.step[w->plan.out[i]];
            backward_step(w, step, cells, beta + step->to * states);
        }
        code = close_cells(w, p, cells, 1, err);
    }
    return code;
}

/* ---- Counts ---- */

static int add_count(trl__out *out, uint64_t arc, double count)
{
    if (!(count > 0))
        return 0;
    if (TRL_GROW(out->arcs, out->arc_capacity, out->arc_count + 1) < 0 ||
        TRL_GROW(out->counts, out->count_capacity, out->arc_count + 1) < 0)
        return -1;
    out->arcs[out->arc_count] = arc;
    out->counts[out->arc_count++] = count;
    return 0;
}

static int count_arcs(trl_transduce_work *w, int32_t symbol, int32_t output, double weight, const double *from,
                      const double *to, double total)
{
    const trl_transducer *t = w->t;
    if (symbol < 0)
        return 0;
    const trl__symbol *s = &t->symbol[symbol];
    for (uint64_t k = s->arc; k < s->arc + s->arcs; k++) {
        double alpha = from[t->source[k]], beta = to[t->arc[k].target];
        if (alpha == INFINITY || beta == INFINITY || (output != TRL__ANY_OUTPUT && t->output[k] != output))
            continue;
        if (add_count(&w->out, k, exp(total - alpha - weight - (double)t->arc[k].weight - beta)) < 0)
            return -1;
    }
    return 0;
}

static int count_ends(trl_transduce_work *w, size_t position, const double *alpha, double total)
{
    trl__out *out = &w->out;
    for (uint32_t q = 0; w->plan.final[position] < INFINITY && q < (uint32_t)w->t->states; q++) {
        double end = alpha[q] + trl__end_weight(w, q) + (double)w->plan.final[position];
        if (end == INFINITY)
            continue;
        if (TRL_GROW(out->final_states, out->final_state_capacity, out->final_count + 1) < 0 ||
            TRL_GROW(out->final_counts, out->final_count_capacity, out->final_count + 1) < 0)
            return -1;
        out->final_states[out->final_count] = (int32_t)q;
        out->final_counts[out->final_count++] = exp(total - end);
    }
    return 0;
}

static int count_all(trl_transduce_work *w, double total)
{
    size_t states = (size_t)w->t->states;
    const double *alpha = w->serial->alpha, *beta = w->serial->beta;
    for (size_t i = 0; i < w->plan.steps; i++) {
        const trl__step *step = &w->plan.step[i];
        if (count_arcs(w, step->symbol, step->output, (double)step->weight, alpha + step->from * states,
                       beta + step->to * states, total) < 0)
            return -1;
    }
    for (size_t p = 0; p < w->plan.positions; p++)
        if (count_arcs(w, trl__plan_closes(w, p) ? 0 : -1, w->plan.closure_output, 0, alpha + p * states,
                       beta + p * states, total) < 0 ||
            count_ends(w, p, alpha + p * states, total) < 0)
            return -1;
    return 0;
}

/* ---- All ---- */

static double forward_total(const trl_transduce_work *w)
{
    size_t states = (size_t)w->t->states;
    double total = INFINITY;
    for (size_t p = 0; p < w->plan.positions; p++)
        for (uint32_t q = 0; w->plan.final[p] < INFINITY && q < states; q++)
            total = trl__log_add(total,
                                 w->serial->alpha[p * states + q] + trl__end_weight(w, q) + (double)w->plan.final[p]);
    return total;
}

static double backward_total(const trl_transduce_work *w)
{
    double total = INFINITY;
    if (!w->plan.start_weights)
        return w->serial->beta[w->t->start];
    for (size_t q = 0; q < (size_t)w->t->states; q++)
        total = trl__log_add(total, w->plan.start_weights[q] + w->serial->beta[q]);
    return total;
}

int trl__serial_sums(trl_transduce_work *w, trl_transduce_operation operation, trl_transduction *result, trl_error *err)
{
    int code = make(w, operation != TRL_TRANSDUCE_FORWARD, err);
    if (code == 0 && operation != TRL_TRANSDUCE_BACKWARD)
        code = forward(w, err);
    if (code == 0 && operation != TRL_TRANSDUCE_FORWARD)
        code = backward(w, err);
    if (code < 0)
        return code;
    double total = operation == TRL_TRANSDUCE_BACKWARD ? backward_total(w) : forward_total(w);
    if (total == INFINITY)
        return 0;
    *result = (trl_transduction){.found = 1, .weight = total};
    if (operation != TRL_TRANSDUCE_COUNTS)
        return 0;
    if (count_all(w, total) < 0)
        return trl__fail_memory(err);
    result->arcs = w->out.arcs;
    result->counts = w->out.counts;
    result->arc_count = w->out.arc_count;
    result->final_states = w->out.final_states;
    result->final_counts = w->out.final_counts;
    result->final_count = w->out.final_count;
    return 0;
}
