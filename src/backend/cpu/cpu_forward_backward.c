/* Forward and backward probabilities within the bands: posteriors of nodes, expected counts of arcs.
 *
 * Probabilities of utterances are far below the smallest double, and those of two nodes at one frame can differ by
 * more than its range. So every number carries an exponent of its own: value * 2^(512 * exponent), with the value kept
 * within 2^±256. Sums and products of such numbers need one comparison more than those of doubles, and no logarithm or
 * exponential: one exponential per (node, frame), of its score, is all. Nothing can underflow. What every path of a
 * frame has in common is taken out first, so that the best numbers stay near 1: then nearly all exponents are 0, and
 * the comparisons are foreseen.
 *
 * Cost: about 5 ns per arc and frame in the band, both ways together; 32 bytes per (node, frame).
 */
#include "backend/cpu/node_window.h"
#include "base/fail.h"

#include <math.h>

#define UNIT 354.8913564466917 /* ln 2^512 */
#define MOST 1e12 /* of a score: whoever writes -1e30 means never, and exponents of many frames must not overflow */
#define LARGE 0x1p256
#define SMALL 0x1p-256
#define LOW 0x1p-100            /* the best alpha of a frame is raised when it falls below */
#define RISE 69.314718055994531 /* ln 2^100 */

typedef struct wide {
    double value;
    int64_t exponent;
} wide;

/* By its parts: a whole one that is loaded right behind would have to wait. */
static inline void put(wide *to, wide x)
{
    to->value = x.value;
    to->exponent = x.exponent;
}

static inline wide normal(wide x)
{
    if (x.value >= LARGE)
        return (wide){x.value * 0x1p-512, x.exponent + 1};
    if (x.value < SMALL)
        return x.value == 0 ? (wide){0, 0} : (wide){x.value * 0x1p512, x.exponent - 1};
    return x;
}

/* What differs by more than one unit is lost in the rounding. */
static inline wide plus(wide a, wide b)
{
    if (a.exponent == b.exponent)
        return (wide){a.value + b.value, a.exponent};
    if (a.value == 0 || b.value == 0)
        return a.value == 0 ? b : a;
    if (a.exponent < b.exponent)
        return (wide){b.value + (b.exponent - a.exponent == 1 ? a.value * 0x1p-512 : 0), b.exponent};
    return (wide){a.value + (a.exponent - b.exponent == 1 ? b.value * 0x1p-512 : 0), a.exponent};
}

static inline double within_most(double x)
{
    return x < -MOST ? -MOST : x > MOST ? MOST : x;
}

static inline wide exponential(double x)
{
    if (x == -INFINITY)
        return (wide){0, 0};
    if (!(x <= -170 || x >= 170)) /* what is no number too */
        return (wide){exp(x), 0};
    x = within_most(x);
    int64_t exponent = (int64_t)rint(x / UNIT);
    return (wide){exp(x - (double)exponent * UNIT), exponent};
}

static double logarithm(wide x)
{
    return x.value == 0 ? -INFINITY : log(x.value) + (double)x.exponent * UNIT;
}

/* The number itself, of a probability. */
static inline double plain(wide x)
{
    for (; x.exponent < 0 && x.value > 0; x.exponent++)
        x.value *= 0x1p-512;
    for (; x.exponent > 0 && x.value > 0 && x.value < INFINITY; x.exponent--)
        x.value *= 0x1p512;
    return x.value;
}

typedef struct arc {
    double weight;
    int32_t node; /* forward: it comes from; backward: it leads to */
    int32_t id;
} arc;

typedef struct node {
    const arc *in, *in_end;
    int64_t cell, score; /* where frame 0 would stand, in cells and in s->scores */
} node;

typedef struct search {
    trl__search *s;
    int32_t *out_first; /* by node, as arc_first: the arcs that leave it. The start is node `nodes` + 1 */
    arc *in, *out;
    node *node;
    wide *alpha, *score; /* by cell */
    wide *before, *now;  /* by node; [nodes] is the end, [nodes + 1] the start */
    trl__node_window window;
    uint8_t *plain; /* by frame: the exponents of all its cells are 0 */
    double common;  /* logarithm of what was taken out of all paths */
    wide one_over_total;
} search;

/* The arcs once more, sorted by the node they leave. */
static void turn_arcs(search *w)
{
    const trl__search *s = w->s;
    int32_t places = s->nodes + 2, arcs = s->arc_first[s->nodes + 1];
    for (int32_t i = 0; i <= places; i++)
        w->out_first[i] = 0;
    for (int32_t n = 0; n <= s->nodes; n++)
        for (int32_t a = s->arc_first[n]; a < s->arc_first[n + 1]; a++) {
            int32_t from = s->arc_from[a] == TRL__START ? s->nodes + 1 : s->arc_from[a];
            w->in[a] = (arc){exp((double)s->arc_weight[a]), from, a};
            w->out_first[from]++;
        }
    int32_t total = 0;
    for (int32_t i = 0; i < places; i++) {
        total += w->out_first[i];
        w->out_first[i] = total;
    }
    w->out_first[places] = arcs;
    for (int32_t n = s->nodes; n >= 0; n--)
        for (int32_t a = s->arc_first[n + 1] - 1; a >= s->arc_first[n]; a--)
            w->out[--w->out_first[w->in[a].node]] = (arc){w->in[a].weight, n, a};
}

static int64_t count_cells(const trl__search *s)
{
    int64_t cells = 0;
    for (int32_t n = 0; n < s->nodes; n++)
        if (s->node_end_frame[n] > s->node_first[n])
            cells += s->node_end_frame[n] - s->node_first[n];
    return cells;
}

static void lay_out(void *user, trl__pieces *pieces)
{
    search *w = user;
    const trl__search *s = w->s;
    size_t nodes = (size_t)s->nodes, places = nodes + 2, arcs = (size_t)s->arc_first[s->nodes + 1];
    size_t cells = (size_t)count_cells(s);
    w->out_first = trl__take(pieces, places + 1, sizeof *w->out_first);
    w->in = trl__take(pieces, arcs, sizeof *w->in);
    w->out = trl__take(pieces, arcs, sizeof *w->out);
    w->node = trl__take(pieces, nodes, sizeof *w->node);
    w->alpha = trl__take(pieces, cells, sizeof *w->alpha);
    w->score = trl__take(pieces, cells, sizeof *w->score);
    w->before = trl__take(pieces, places, sizeof *w->before);
    w->now = trl__take(pieces, places, sizeof *w->now);
    w->plain = trl__take(pieces, (size_t)s->end, sizeof *w->plain);
    trl__node_window_lay_out(&w->window, s, pieces);
}

static void set_up(search *w)
{
    const trl__search *s = w->s;
    trl__node_window_begin(&w->window, s, 0);
    turn_arcs(w);
    int64_t cell = 0;
    for (int32_t n = 0; n < s->nodes; n++) {
        const trl__row *row = s->rows > 0 ? &s->row[s->node_row[n]] : &(trl__row){0};
        w->node[n] = (node){.in = w->in + s->arc_first[n],
                            .in_end = w->in + s->arc_first[n + 1],
                            .cell = cell - s->node_first[n],
                            .score = row->offset - row->first};
        cell += s->node_end_frame[n] > s->node_first[n] ? s->node_end_frame[n] - s->node_first[n] : 0;
    }
}

static void clear(search *w)
{
    for (int32_t i = 0; i < w->s->nodes + 2; i++)
        w->before[i] = w->now[i] = (wide){0, 0};
}

static void swap(search *w)
{
    wide *swapped = w->before;
    w->before = w->now;
    w->now = swapped;
}

/* A product of three numbers is within the range of a double: normal() can wait. */
static inline wide product(wide a, wide b)
{
    return (wide){a.value * b.value, a.exponent + b.exponent};
}

static inline wide weighted(const arc *a, const wide *values)
{
    return (wide){a->weight * values[a->node].value, values[a->node].exponent};
}

/* `plainly`: all exponents are known to be 0. A constant: compilers make a function for either. */
static inline __attribute__((always_inline)) wide sum_over(const arc *from, const arc *end, const wide *values,
                                                           const int plainly)
{
    wide total = {0, 0};
    for (const arc *a = from; a < end; a++)
        if (plainly)
            total.value += a->weight * values[a->node].value;
        else
            total = plus(total, weighted(a, values));
    return total;
}

/* The best score of a frame: what is taken out of all. */
static double best_score(const search *w, int32_t t)
{
    const trl__search *s = w->s;
    double best = -INFINITY;
    for (int32_t i = 0; i < w->window.count; i++) {
        int32_t n = w->window.active[i];
        if (t < s->node_end_frame[n] && (double)s->scores[w->node[n].score + t] > best)
            best = (double)s->scores[w->node[n].score + t];
    }
    return best == -INFINITY ? 0 : within_most(best);
}

/* One frame forwards; returns whether all exponents are 0 still. */
static inline __attribute__((always_inline)) int advance(search *w, int32_t t, double common, double *top,
                                                         const int plainly)
{
    const trl__search *s = w->s;
    int64_t exponents = 0;
    double best = 0;
    for (int32_t i = 0; i < w->window.count; i++) {
        int32_t n = w->window.active[i];
        const node *own = &w->node[n];
        put(&w->now[n], (wide){0, 0});
        if (t >= s->node_end_frame[n])
            continue;
        wide score = exponential((double)s->scores[own->score + t] - common);
        wide alpha = normal(product(sum_over(own->in, own->in_end, w->before, plainly), score));
        exponents |= alpha.exponent | score.exponent;
        if (alpha.exponent == 0 && alpha.value > best)
            best = alpha.value;
        put(&w->score[own->cell + t], score);
        put(&w->alpha[own->cell + t], alpha);
        put(&w->now[n], alpha);
    }
    *top = best;
    return exponents == 0;
}

static void forward(search *w)
{
    const trl__search *s = w->s;
    double top = 1;
    int plainly = 1;
    clear(w);
    w->before[s->nodes + 1] = (wide){1, 0};
    for (int32_t t = 0; t < s->end; t++) {
        trl__node_window_step(&w->window, t);
        double common = best_score(w, t) - (top < LOW ? RISE : 0);
        w->common += common;
        plainly = plainly ? advance(w, t, common, &top, 1) : advance(w, t, common, &top, 0);
        w->plain[t] = (uint8_t)plainly;
        swap(w);
        if (t == 0)
            w->now[s->nodes + 1] = (wide){0, 0};
    }
}

/* The ways from a node at frame t to the end; each arc that leaves it is counted. `before` are the ways to the node, as
 * a share of all. */
static inline __attribute__((always_inline)) wide leave(const search *w, int32_t n, wide before, const int plainly)
{
    double *count = w->s->arc_count;
    wide total = {0, 0};
    for (const arc *a = w->out + w->out_first[n], *end = w->out + w->out_first[n + 1]; a < end; a++) {
        wide behind = weighted(a, w->before);
        if (plainly) {
            total.value += behind.value;
            if (count)
                count[a->id] += before.value * behind.value;
            continue;
        }
        total = plus(total, behind);
        if (count && behind.value > 0)
            count[a->id] += plain(product(before, behind));
    }
    return total;
}

/* One frame backwards; returns whether all exponents are 0 still. */
static inline __attribute__((always_inline)) int go_back(search *w, int32_t t, const int plainly)
{
    const trl__search *s = w->s;
    int64_t exponents = 0;
    for (int32_t i = 0; i < w->window.count; i++) {
        int32_t n = w->window.active[i];
        put(&w->now[n], (wide){0, 0});
        if (t < s->node_first[n])
            continue;
        int64_t cell = w->node[n].cell + t;
        wide before = product(w->alpha[cell], w->one_over_total), beta;
        if (plainly) {
            beta = leave(w, n, before, 1);
        } else {
            before = normal(before);
            beta = leave(w, n, before, 0);
        }
        wide gamma = product(before, beta), now = normal(product(beta, w->score[cell]));
        s->gamma[s->gamma_offset[n] + (t - s->node_first[n])] = (float)(plainly ? gamma.value : plain(gamma));
        exponents |= now.exponent;
        put(&w->now[n], now);
    }
    return exponents == 0;
}

static void backward(search *w)
{
    const trl__search *s = w->s;
    int plainly = w->one_over_total.exponent == 0;
    clear(w);
    w->before[s->nodes] = (wide){1, 0};
    for (int32_t step = 0; step < s->end; step++) {
        int32_t t = s->end - 1 - step;
        trl__node_window_step(&w->window, step);
        plainly = plainly && w->one_over_total.exponent == 0 && w->plain[t] ? go_back(w, t, 1) : go_back(w, t, 0);
        swap(w);
        if (step == 0)
            w->now[s->nodes] = (wide){0, 0};
    }
    leave(w, s->nodes + 1, w->one_over_total, 0);
}

static void no_path(const trl__search *s)
{
    for (int32_t n = 0; n < s->nodes; n++)
        for (int32_t t = s->node_first[n]; t < s->node_end_frame[n]; t++)
            s->gamma[s->gamma_offset[n] + (t - s->node_first[n])] = 0;
}

int trl__cpu_forward_backward(trl__cpu_stream *stream, trl__search *s, trl_error *err)
{
    search w = {.s = s};
    if (trl__scratch_lay_out(&stream->work, lay_out, &w) < 0)
        return trl__fail_memory(err);
    set_up(&w);
    for (int32_t a = 0; s->arc_count && a < s->arc_first[s->nodes + 1]; a++)
        s->arc_count[a] = 0;
    forward(&w);
    wide total = sum_over(w.in + s->arc_first[s->nodes], w.in + s->arc_first[s->nodes + 1], w.before, 0);
    s->total = logarithm(total) + w.common;
    if (total.value == 0) {
        no_path(s);
        return 0;
    }
    w.one_over_total = normal((wide){1 / total.value, -total.exponent});
    trl__node_window_begin(&w.window, s, 1);
    backward(&w);
    return 0;
}
