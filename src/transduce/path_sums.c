/* Sums over all paths: forward, backward, expected counts (the paper's Algorithm 2), walking rows of live sources only.
 *
 * The forward pass copies the arcs it walks, as probabilities, one behind the other. Everything after that (adding up,
 * the way back, counts) goes through this copy in order and never again through the transducer, and backward looks at
 * states only that forward reached.
 *
 * Sums are kept as plain numbers, multiplied by a power of two at each position so that the largest is near 1: one
 * multiplication and one addition per arc in place of a logarithm and an exponential. This is right as long as no sum
 * becomes so small that a double can't hold it. That is seen (a sum at a position below TINY of the largest; weights
 * beyond ±TRL__WIDE), and then the input is worked on once more with logarithms: the same code, `log` set.
 *
 * Backward needs no such care: a beta below 1e-308 of the position's largest belongs to a node whose share is below
 * 1e-308 / TINY.
 *
 * Cycles of arcs without input are solved by repetition, component by component, x = b + E x.
 */
#include "base/fail.h"
#include "transduce/search.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define TINY 1e-200
#define LESS 1e-60 /* what comes into a position may be so much smaller: TINY * LESS * e^-TRL__WIDE is still a double */
#define OUT_OF_RANGE 1
#define ROUNDS 100000 /* of a cycle's repetition */
#define NO_ARC UINT64_MAX

typedef struct sums {
    trl_transduce_work *w;
    int log; /* numbers are negative logarithms */
    trl__sum_cells cells;
    double total; /* -log of the sum over all paths */
} sums;

/* ---- Numbers ---- */

static double zero(const sums *s)
{
    return s->log ? INFINITY : 0;
}

static double plus(const sums *s, double a, double b)
{
    return s->log ? trl__log_add(a, b) : a + b;
}

static double times(const sums *s, double a, double b)
{
    return s->log ? a + b : a * b;
}

/* An arc's weight as an edge has it. */
static float edge_value(const sums *s, float weight)
{
    return s->log ? weight : (float)exp(-(double)weight);
}

static double from_log(const sums *s, double weight)
{
    return s->log ? weight : exp(-weight);
}

/* ---- What was walked ---- */

static int make_room(trl_transduce_work *w, size_t runs, size_t edges)
{
    return TRL_GROW(w->runs, w->run_capacity, w->run_count + runs) < 0 ||
                   TRL_GROW(w->edges, w->edge_capacity, w->edge_count + edges + TRL__WALK_PAD) < 0
               ? -1
               : 0;
}

/* Appends arcs of a row that write `output`; neighbours make one run. */
static int append_row(sums *s, const trl__symbol *symbol, uint32_t source, uint32_t node, int32_t output)
{
    trl_transduce_work *w = s->w;
    const trl_transducer *t = w->t;
    int64_t row = trl__row_of(t, symbol, source);
    if (row < 0)
        return 0;
    uint64_t k = symbol->arc + t->row_first[symbol->row + (uint64_t)row];
    uint64_t end = symbol->arc + t->row_first[symbol->row + (uint64_t)row + 1];
    if (make_room(w, (size_t)(end - k), (size_t)(end - k)) < 0)
        return -1;
    for (trl__run *last = NULL; k < end; k++) {
        if (output != TRL__ANY_OUTPUT && t->output[k] != output)
            continue;
        if (!last || last->arc + last->count != k) {
            last = &w->runs[w->run_count++];
            *last = (trl__run){k, node, 0};
        }
        last->count++;
        w->edges[w->edge_count++] = (trl__edge){t->arc[k].target, edge_value(s, t->arc[k].weight)};
    }
    return 0;
}

static int append_stays(sums *s, size_t position)
{
    trl_transduce_work *w = s->w;
    size_t count = w->node_first[position + 1] - w->node_first[position];
    if (make_room(w, count, count) < 0)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        w->runs[w->run_count++] = (trl__run){NO_ARC, i, 1};
        w->edges[w->edge_count++] = (trl__edge){w->node_state[w->node_first[position] + i], edge_value(s, 0)};
    }
    return 0;
}

/* Arcs of the rows from w->hits[first] on. */
static size_t arcs_of_hits(const trl_transduce_work *w, const trl__symbol *symbol, size_t first, size_t hits)
{
    const uint32_t *row = w->t->row_first + symbol->row;
    size_t arcs = 0;
    for (size_t i = first; i < hits; i++)
        arcs += row[w->hits[i].row + 1] - row[w->hits[i].row];
    return arcs;
}

/* The rows of all sources that are alive. Most often there is room, and rows need not be looked at twice. */
static int append_alive(sums *s, const trl__symbol *symbol, size_t position)
{
    trl_transduce_work *w = s->w;
    trl__alive alive = trl__nodes_enter(w, position);
    size_t hits = w->walk->hits(w->t, symbol, &alive, w->hits), done = 0;
    trl__nodes_leave(w, position);
    if (make_room(w, hits, 0) < 0)
        return -1;
    if (w->shared && symbol->arcs >= w->huge && arcs_of_hits(w, symbol, 0, hits) >= w->huge) {
        size_t arcs = arcs_of_hits(w, symbol, 0, hits);
        if (make_room(w, 0, arcs) < 0)
            return -1;
        trl__shared_copy_rows(w, symbol, hits, !s->log);
        w->edge_count += arcs;
        w->run_count += hits;
        return 0;
    }
    while (done < hits) {
        size_t more = w->walk->copy_rows(w->t, symbol, w->hits + done, hits - done, !s->log, w->edges + w->edge_count,
                                         w->edge_capacity - TRL__WALK_PAD - w->edge_count, w->runs + w->run_count);
        for (size_t i = 0; i < more; i++)
            w->edge_count += w->runs[w->run_count++].count;
        done += more;
        if (done < hits && make_room(w, 0, arcs_of_hits(w, symbol, done, hits)) < 0)
            return -1;
    }
    return 0;
}

static int append_step(sums *s, const trl__step *step)
{
    trl_transduce_work *w = s->w;
    if (step->symbol == TRL__STAY)
        return append_stays(s, step->from);
    if (step->symbol < 0)
        return 0;
    const trl__symbol *symbol = &w->t->symbol[step->symbol];
    if (step->output == TRL__ANY_OUTPUT)
        return append_alive(s, symbol, step->from);
    size_t first = w->node_first[step->from], count = w->node_first[step->from + 1] - first;
    for (size_t i = 0; i < count; i++)
        if (append_row(s, symbol, w->node_state[first + i], (uint32_t)i, step->output) < 0)
            return -1;
    return 0;
}

/* ---- Forward: a step ---- */

static void add(sums *s, uint32_t state, double value)
{
    double *cell = &s->cells.sum[state];
    if (*cell == zero(s))
        s->cells.fresh[s->cells.count++] = state;
    *cell = plus(s, *cell, value);
}

static int follow_step(sums *s, size_t index, double factor, trl_error *err)
{
    trl_transduce_work *w = s->w;
    const trl__step *step = &w->plan.step[index];
    trl__walked *walked = &w->walked[index];
    *walked = (trl__walked){.run = w->run_count, .edge = w->edge_count, .factor = factor};
    if (append_step(s, step) < 0)
        return trl__fail_memory(err);
    walked->runs = w->run_count - walked->run;
    const double *alpha = w->node_alpha + w->node_first[step->from];
    const trl__run *runs = w->runs + walked->run;
    const trl__edge *edge = w->edges + walked->edge;
    if (!s->log && w->shared && w->edge_count - walked->edge >= w->huge)
        trl__shared_add_runs(w, walked, alpha, &s->cells);
    else if (!s->log)
        w->walk->add_runs(runs, walked->runs, edge, alpha, factor, &s->cells);
    for (size_t i = 0; s->log && i < walked->runs; i++)
        for (uint32_t k = 0; k < runs[i].count; k++, edge++)
            add(s, edge->target, alpha[runs[i].node] + factor + (double)edge->value);
    return 0;
}

/* ---- Forward: arcs without input ---- */

/* One round of a component's repetition: y = b + E x, by rank. */
static void repeat_component(sums *s, uint32_t first, uint32_t end, const double *x, double *y)
{
    const trl_transducer *t = s->w->t;
    const trl__epsilons *e = &t->epsilons;
    const trl__symbol *symbol = &t->symbol[e->symbol];
    int32_t output = s->w->plan.closure_output;
    for (uint32_t r = first; r < end; r++)
        y[r] = s->cells.sum[e->state[r]];
    for (uint32_t r = first; r < end; r++) {
        int64_t row = x[r] == zero(s) ? -1 : trl__row_of(t, symbol, e->state[r]);
        uint64_t k = row < 0 ? 0 : symbol->arc + t->row_first[symbol->row + (uint64_t)row];
        uint64_t stop = row < 0 ? 0 : symbol->arc + t->row_first[symbol->row + (uint64_t)row + 1];
        for (; k < stop; k++) {
            uint32_t to = e->rank[t->arc[k].target];
            if (to >= first && to < end && (output == TRL__ANY_OUTPUT || t->output[k] == output))
                y[to] = plus(s, y[to], times(s, x[r], (double)edge_value(s, t->arc[k].weight)));
        }
    }
}

/* The sums of a cyclic component, given what came from outside: into s->cells. */
static int solve_component(sums *s, uint32_t first, uint32_t end, trl_error *err)
{
    const uint32_t *state = s->w->t->epsilons.state;
    double *x = s->w->other, *y = s->w->third, *sum = s->cells.sum;
    int wrong = 1;
    for (uint32_t r = first; r < end; r++)
        x[r] = sum[state[r]];
    for (int round = 0; wrong; round++) {
        if (round == ROUNDS)
            return trl__fail(err, TRL_ELIMIT,
                             "arcs without input make a cycle through state %" PRIu32
                             " whose probabilities do not add up to a finite number; lower them",
                             state[first]);
        repeat_component(s, first, end, x, y);
        wrong = 0;
        for (uint32_t r = first; r < end; r++) {
            wrong |= y[r] != x[r] && !(fabs(y[r] - x[r]) <= (s->log ? 1e-12 : 1e-14 * y[r]));
            x[r] = y[r];
        }
    }
    for (uint32_t r = first; r < end; r++) {
        if (sum[state[r]] == zero(s) && x[r] != zero(s))
            s->cells.fresh[s->cells.count++] = state[r];
        sum[state[r]] = x[r];
        x[r] = y[r] = zero(s);
    }
    return 0;
}

/* Follows the arcs of one state; those that stay in its component are already in the sums. */
static int leave_state(sums *s, uint32_t rank, trl_error *err)
{
    trl_transduce_work *w = s->w;
    const trl__epsilons *e = &w->t->epsilons;
    uint32_t q = e->state[rank];
    size_t edge = w->edge_count;
    double from = s->cells.sum[q];
    if (from == zero(s))
        return 0;
    if (append_row(s, &w->t->symbol[e->symbol], q, q, w->plan.closure_output) < 0)
        return trl__fail_memory(err);
    for (; edge < w->edge_count; edge++) {
        uint32_t target = w->edges[edge].target, there = e->rank[target];
        if (e->end[rank] && e->first[there] == e->first[rank])
            continue;
        add(s, target, times(s, from, (double)w->edges[edge].value));
        trl__pending_set(w, target);
    }
    return 0;
}

static int close_position(sums *s, size_t position, trl_error *err)
{
    trl_transduce_work *w = s->w;
    const trl__epsilons *e = &w->t->epsilons;
    trl__walked *walked = &w->walked[w->plan.steps + position];
    *walked = (trl__walked){.run = w->run_count, .edge = w->edge_count};
    uint32_t rank;
    int code = 0;
    for (size_t i = 0; i < s->cells.count; i++)
        trl__pending_set(w, s->cells.fresh[i]);
    for (size_t word = 0; code == 0 && trl__pending_take(w, &word, &rank);) {
        if (e->end[rank] == 0) {
            code = leave_state(s, rank, err);
            continue;
        }
        uint32_t first = e->first[rank], end = e->end[rank];
        code = solve_component(s, first, end, err);
        for (uint32_t r = first; code == 0 && r < end; r++) {
            w->pending[r / 64] &= ~((uint64_t)1 << r % 64);
            code = leave_state(s, r, err);
        }
    }
    walked->runs = w->run_count - walked->run;
    return code;
}

/* ---- Forward: positions ---- */

/* The largest of a position's numbers becomes 0.5 … 1. Returns the smallest then, or -1 when all are 0 or one is
 * infinite. */
static double normalize(double *value, size_t count, double *base)
{
    double most = 0, least = INFINITY;
    int exponent;
    for (size_t i = 0; i < count; i++) {
        most = value[i] > most ? value[i] : most;
        least = value[i] < least ? value[i] : least;
    }
    if (!(most > 0 && most < INFINITY))
        return -1;
    frexp(most, &exponent);
    double factor = ldexp(1, -exponent);
    for (size_t i = 0; i < count; i++)
        value[i] *= factor;
    *base += exponent * 0.69314718055994530942;
    return least * factor;
}

static int end_position(sums *s, size_t position, double base, trl_error *err)
{
    trl_transduce_work *w = s->w;
    size_t first = w->nodes, count = s->cells.count;
    if (TRL_GROW(w->node_state, w->state_capacity, first + count) < 0 ||
        TRL_GROW(w->node_alpha, w->alpha_capacity, first + count) < 0)
        return trl__fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        uint32_t q = s->cells.fresh[i];
        w->node_state[first + i] = q;
        w->node_alpha[first + i] = s->cells.sum[q];
        s->cells.sum[q] = zero(s);
    }
    w->nodes += count;
    w->node_first[position + 1] = w->nodes;
    w->node_base[position] = base;
    if (s->log || count == 0)
        return 0;
    return normalize(w->node_alpha + first, count, &w->node_base[position]) < TINY ? OUT_OF_RANGE : 0;
}

static void place_starts(sums *s, double *base)
{
    const trl_transduce_work *w = s->w;
    const double *start = w->plan.start_weights;
    double least = INFINITY;
    for (uint32_t q = 0; start && q < (uint32_t)w->t->states; q++)
        least = fmin(least, start[q]);
    *base = 0;
    if (!start)
        add(s, (uint32_t)w->t->start, from_log(s, 0));
    if (!s->log && start)
        *base = -least;
    for (uint32_t q = 0; start && q < (uint32_t)w->t->states; q++)
        if (start[q] < INFINITY)
            add(s, q, from_log(s, start[q] + *base));
}

/* What the sums at a position are multiplied with, before they are known: the largest of what comes in. */
static double base_of(const sums *s, size_t position)
{
    const trl_transduce_work *w = s->w;
    double base = -INFINITY;
    for (size_t i = w->plan.first[position]; i < w->plan.first[position + 1]; i++) {
        const trl__step *step = &w->plan.step[i];
        if (w->node_first[step->from] < w->node_first[step->from + 1])
            base = fmax(base, w->node_base[step->from] - (double)step->weight);
    }
    return s->log || base == -INFINITY ? 0 : base;
}

static int search_position(sums *s, size_t position, trl_error *err)
{
    trl_transduce_work *w = s->w;
    double base = base_of(s, position);
    int code = 0;
    s->cells.count = 0;
    if (position == 0)
        place_starts(s, &base);
    for (size_t i = w->plan.first[position]; code == 0 && i < w->plan.first[position + 1]; i++) {
        const trl__step *step = &w->plan.step[i];
        double ahead = w->node_base[step->from] - (double)step->weight - base; /* how much less than the largest */
        w->walked[i] = (trl__walked){0};
        if (w->node_first[step->from] == w->node_first[step->from + 1])
            continue;
        if (!s->log && ahead < log(LESS))
            return OUT_OF_RANGE;
        code = follow_step(s, i, s->log ? (double)step->weight : exp(ahead), err);
    }
    w->walked[w->plan.steps + position] = (trl__walked){0};
    if (code == 0 && trl__plan_closes(w, position))
        code = close_position(s, position, err);
    return code < 0 ? code : end_position(s, position, base, err);
}

/* A node's number with its position's factor, as a weight. */
static double weight_of(const sums *s, double value, double base)
{
    return s->log ? value : -log(value) - base;
}

/* The sum over all ends. */
static void end_forward(sums *s)
{
    const trl_transduce_work *w = s->w;
    s->total = INFINITY;
    for (size_t p = 0; p < w->plan.positions; p++)
        for (size_t i = w->node_first[p]; w->plan.final[p] < INFINITY && i < w->node_first[p + 1]; i++) {
            double end = trl__end_weight(w, w->node_state[i]) + (double)w->plan.final[p];
            if (end < INFINITY)
                s->total = trl__log_add(s->total, weight_of(s, w->node_alpha[i], w->node_base[p]) + end);
        }
}

static int forward(sums *s, trl_error *err)
{
    trl_transduce_work *w = s->w;
    int code = 0;
    if (trl__nodes_begin(w) < 0 || make_room(w, 1, 1) < 0 ||
        TRL_GROW(w->walked, w->walked_capacity, w->plan.steps + w->plan.positions) < 0)
        return trl__fail_memory(err);
    for (size_t p = 0; code == 0 && p < w->plan.positions; p++)
        code = search_position(s, p, err);
    if (code == 0)
        end_forward(s);
    return code;
}

/* ---- Backward and counts ---- */

static void add_count(trl__out *out, uint64_t arc, double count)
{
    out->arcs[out->arc_count] = arc;
    out->counts[out->arc_count] = count;
    out->arc_count += count > 0 && arc != NO_ARC;
}

/* The same as the kernels, with logarithms, and for steps of a lattice that stay where they are. */
static void back_slowly(sums *s, const trl__walked *step, const double *beta, double factor, double *sum,
                        const double *alpha, double share, int counts)
{
    trl_transduce_work *w = s->w;
    const trl__run *runs = w->runs + step->run;
    const trl__edge *edge = w->edges + step->edge;
    for (size_t i = 0; i < step->runs; i++) {
        double all = zero(s);
        for (uint32_t k = 0; k < runs[i].count; k++, edge++) {
            double ahead = times(s, (double)edge->value, beta[edge->target]);
            all = plus(s, all, ahead);
            if (counts && ahead != zero(s)) {
                double value = times(s, times(s, alpha[runs[i].node], share), ahead);
                add_count(&w->out, runs[i].arc == NO_ARC ? NO_ARC : runs[i].arc + k, s->log ? exp(-value) : value);
            }
        }
        sum[runs[i].node] = plus(s, sum[runs[i].node], times(s, all, factor));
    }
}

static void back_step(sums *s, size_t index, double base, int counts)
{
    trl_transduce_work *w = s->w;
    const trl__step *step = &w->plan.step[index];
    const trl__walked *walked = &w->walked[index];
    double weight = (double)step->weight, *beta = w->other;
    double *sum = w->node_beta + w->node_first[step->from], *alpha = w->node_alpha + w->node_first[step->from];
    double factor = s->log ? weight : exp(w->beta_base[step->to] - weight - base);
    double share =
        s->log ? weight - s->total : exp(w->node_base[step->from] + w->beta_base[step->to] - weight + s->total);
    for (size_t i = w->node_first[step->to]; i < w->node_first[step->to + 1]; i++)
        beta[w->node_state[i]] = w->node_beta[i];
    if (s->log || step->symbol == TRL__STAY)
        back_slowly(s, walked, beta, factor, sum, alpha, share, counts);
    else if (counts)
        w->out.arc_count +=
            w->walk->count_runs(w->runs + walked->run, walked->runs, w->edges + walked->edge, beta, factor, sum, alpha,
                                share, w->out.arcs + w->out.arc_count, w->out.counts + w->out.arc_count);
    else
        w->walk->back_runs(w->runs + walked->run, walked->runs, w->edges + walked->edge, beta, factor, sum);
    for (size_t i = w->node_first[step->to]; i < w->node_first[step->to + 1]; i++)
        beta[w->node_state[i]] = zero(s);
}

/* One pass against the order of the closure, x = b + E x: 1 when something moved. Runs of one source lie together. */
static int back_closure_pass(sums *s, const trl__walked *closure, size_t edge_end, const double *b, double *x)
{
    const trl_transduce_work *w = s->w;
    int moved = 0;
    for (size_t i = closure->runs; i > 0;) {
        uint32_t q = w->runs[closure->run + i - 1].node;
        double all = b[q];
        for (; i > 0 && w->runs[closure->run + i - 1].node == q; i--)
            for (uint32_t k = w->runs[closure->run + i - 1].count; k > 0; k--) {
                const trl__edge *edge = &w->edges[--edge_end];
                all = plus(s, all, times(s, (double)edge->value, x[edge->target]));
            }
        moved |= x[q] != all && !(fabs(all - x[q]) <= (s->log ? 1e-12 : 1e-14 * all));
        x[q] = all;
    }
    return moved;
}

static void count_closure(sums *s, size_t position, const double *beta)
{
    trl_transduce_work *w = s->w;
    const trl__walked *closure = &w->walked[w->plan.steps + position];
    double share = s->log ? -s->total : exp(w->node_base[position] + w->beta_base[position] + s->total);
    double *alpha = w->third;
    const trl__edge *edge = w->edges + closure->edge;
    for (size_t i = w->node_first[position]; i < w->node_first[position + 1]; i++)
        alpha[w->node_state[i]] = w->node_alpha[i];
    for (size_t i = 0; i < closure->runs; i++) {
        const trl__run *run = &w->runs[closure->run + i];
        for (uint32_t k = 0; k < run->count; k++, edge++) {
            double value =
                times(s, times(s, alpha[run->node], share), times(s, (double)edge->value, beta[edge->target]));
            add_count(&w->out, run->arc + k, s->log ? exp(-value) : value);
        }
    }
    for (size_t i = w->node_first[position]; i < w->node_first[position + 1]; i++)
        alpha[w->node_state[i]] = zero(s);
}

static void back_closure(sums *s, size_t position, int counts)
{
    trl_transduce_work *w = s->w;
    const trl__walked *closure = &w->walked[w->plan.steps + position];
    size_t first = w->node_first[position], end = w->node_first[position + 1], edges = closure->edge;
    double *x = w->other, *b = w->third;
    if (closure->runs == 0)
        return;
    for (size_t i = 0; i < closure->runs; i++)
        edges += w->runs[closure->run + i].count;
    for (size_t i = first; i < end; i++)
        b[w->node_state[i]] = x[w->node_state[i]] = w->node_beta[i];
    for (int round = 0; round < ROUNDS && back_closure_pass(s, closure, edges, b, x); round++)
        ;
    for (size_t i = first; i < end; i++) {
        w->node_beta[i] = x[w->node_state[i]];
        b[w->node_state[i]] = zero(s);
    }
    if (counts)
        count_closure(s, position, x);
    for (size_t i = first; i < end; i++)
        x[w->node_state[i]] = zero(s);
}

/* The largest, in logarithms, of what can come back to a position: what its betas are divided by. */
static double back_base(const sums *s, size_t position)
{
    const trl_transduce_work *w = s->w;
    double base = -INFINITY;
    for (size_t i = w->node_first[position]; w->plan.final[position] < INFINITY && i < w->node_first[position + 1]; i++)
        base = fmax(base, -trl__end_weight(w, w->node_state[i]) - (double)w->plan.final[position]);
    for (size_t i = w->plan.out_first[position]; i < w->plan.out_first[position + 1]; i++) {
        const trl__step *step = &w->plan.step[w->plan.out[i]];
        base = fmax(base, w->beta_base[step->to] - (double)step->weight);
    }
    return base;
}

static int back_ends(sums *s, size_t position, double base, int counts)
{
    trl_transduce_work *w = s->w;
    for (size_t i = w->node_first[position]; i < w->node_first[position + 1]; i++) {
        double end = trl__end_weight(w, w->node_state[i]) + (double)w->plan.final[position];
        w->node_beta[i] = end < INFINITY ? from_log(s, end + (s->log ? 0 : base)) : zero(s);
        if (!counts || !(end < INFINITY))
            continue;
        trl__out *out = &w->out;
        if (TRL_GROW(out->final_states, out->final_state_capacity, out->final_count + 1) < 0 ||
            TRL_GROW(out->final_counts, out->final_count_capacity, out->final_count + 1) < 0)
            return -1;
        out->final_states[out->final_count] = (int32_t)w->node_state[i];
        out->final_counts[out->final_count++] =
            exp(s->total - end - weight_of(s, w->node_alpha[i], w->node_base[position]));
    }
    return 0;
}

static int backward(sums *s, int counts, trl_error *err)
{
    trl_transduce_work *w = s->w;
    if (TRL_GROW(w->node_beta, w->beta_capacity, w->nodes) < 0 ||
        TRL_GROW(w->beta_base, w->beta_base_capacity, w->plan.positions) < 0)
        return trl__fail_memory(err);
    if (counts && (TRL_GROW(w->out.arcs, w->out.arc_capacity, w->edge_count + 1) < 0 ||
                   TRL_GROW(w->out.counts, w->out.count_capacity, w->edge_count + 1) < 0))
        return trl__fail_memory(err);
    for (size_t p = w->plan.positions; p-- > 0;) {
        double base = back_base(s, p);
        double *beta = w->node_beta + w->node_first[p];
        size_t count = w->node_first[p + 1] - w->node_first[p];
        if (back_ends(s, p, base, counts) < 0)
            return trl__fail_memory(err);
        for (size_t i = w->plan.out_first[p]; base > -INFINITY && i < w->plan.out_first[p + 1]; i++)
            if (w->beta_base[w->plan.step[w->plan.out[i]].to] > -INFINITY)
                back_step(s, w->plan.out[i], base, counts);
        w->beta_base[p] = base;
        back_closure(s, p, counts);
        if (!s->log && normalize(beta, count, &w->beta_base[p]) < 0)
            w->beta_base[p] = -INFINITY;
    }
    return 0;
}

/* The sum over all starts: the same as end_forward's, from the other side. */
static double start_total(const sums *s)
{
    const trl_transduce_work *w = s->w;
    const double *start = w->plan.start_weights;
    double total = INFINITY;
    for (size_t i = 0; i < w->node_first[1]; i++) {
        uint32_t q = w->node_state[i];
        double from = start ? start[q] : (int32_t)q == w->t->start ? 0 : INFINITY;
        if (from < INFINITY && w->node_beta[i] != zero(s))
            total = trl__log_add(total, from + weight_of(s, w->node_beta[i], w->beta_base[0]));
    }
    return total;
}

/* ---- All ---- */

static int run(sums *s, trl_transduce_operation operation, trl_transduction *result, trl_error *err)
{
    trl_transduce_work *w = s->w;
    int code = forward(s, err);
    if (code != 0 || s->total == INFINITY)
        return code;
    if (operation != TRL_TRANSDUCE_FORWARD)
        code = backward(s, operation == TRL_TRANSDUCE_COUNTS, err);
    if (code < 0)
        return code;
    *result = (trl_transduction){.found = 1, .weight = s->total};
    if (operation == TRL_TRANSDUCE_BACKWARD)
        result->weight = start_total(s);
    if (operation == TRL_TRANSDUCE_COUNTS) {
        result->arcs = w->out.arcs;
        result->counts = w->out.counts;
        result->arc_count = w->out.arc_count;
        result->final_states = w->out.final_states;
        result->final_counts = w->out.final_counts;
        result->final_count = w->out.final_count;
    }
    return 0;
}

/* Cells are clear between inputs; after a failure and for logarithms they are made so. */
static void clear_cells(trl_transduce_work *w, double value)
{
    for (size_t q = 0; q < (size_t)w->t->states; q++)
        w->sum[q] = w->other[q] = w->third[q] = value;
    memset(w->pending, 0, trl__words(w->t->states) * sizeof *w->pending);
}

int trl__path_sums(trl_transduce_work *w, trl_transduce_operation operation, trl_transduction *result, trl_error *err)
{
    size_t states = (size_t)w->t->states;
    if (!w->third) {
        trl__free(w->sum);
        trl__free(w->other);
        w->sum = trl__alloc_zero(states + 1, sizeof *w->sum);
        w->other = trl__alloc_zero(states + 1, sizeof *w->other);
        w->third = trl__alloc_zero(states + 1, sizeof *w->third);
        if (!w->sum || !w->other || !w->third) {
            trl__free(w->third);
            w->third = NULL;
            return trl__fail_memory(err);
        }
    }
    sums s = {.w = w, .cells = {w->sum, w->fresh, 0}};
    int code = trl__is_wide(w->t) ? OUT_OF_RANGE : run(&s, operation, result, err);
    if (code == OUT_OF_RANGE) {
        s.log = 1;
        clear_cells(w, INFINITY);
        code = run(&s, operation, result, err);
        clear_cells(w, 0);
    } else if (code < 0) {
        clear_cells(w, 0);
    }
    return code;
}
