/* The reference of steps 2 and 3: as the formulas are written, node after node, in the log domain. */
#include "backend/cpu/cpu_backend.h"
#include "base/fail.h"

#include <math.h>

/* ---- Viterbi ---- */

/* The best way into a node at frame t, from the scores of frame t - 1; *which is its arc, counted within the node. */
static double best_arc(const trl__search *s, const double *before, int32_t node, int32_t t, uint32_t *which)
{
    double best = -INFINITY;
    *which = 0;
    for (int32_t a = s->arc_first[node]; a < s->arc_first[node + 1]; a++) {
        int32_t from = s->arc_from[a];
        double score = from == TRL__START ? (t == 0 ? 0 : -INFINITY) : before[from];
        score += (double)s->arc_weight[a];
        if (score > best) {
            best = score;
            *which = (uint32_t)(a - s->arc_first[node]);
        }
    }
    return best;
}

static int viterbi(trl__cpu_stream *stream, trl__search *s, trl_error *err)
{
    double *before = trl__scratch_get(&stream->work, (size_t)s->nodes, sizeof *before);
    if (!before)
        return trl__fail_memory(err);
    for (int32_t n = 0; n < s->nodes; n++) {
        int here = s->begin > 0 && n >= s->node_begin && n < s->node_end;
        before[n] = here ? s->alpha[n] : -INFINITY;
    }
    for (int32_t t = s->begin; t < s->end; t++) {
        for (int32_t n = s->node_begin; n < s->node_end; n++) {
            uint32_t which;
            s->alpha[n] = -INFINITY;
            if (!trl__in_band(s, n, t))
                continue;
            s->alpha[n] = best_arc(s, before, n, t, &which) + (double)trl__node_score(s, n, t);
            trl__set_back(s->back, s->back_offset[n] + (int64_t)(t - s->node_first[n]) * s->back_bits, s->back_bits,
                          which);
        }
        for (int32_t n = s->node_begin; n < s->node_end; n++)
            before[n] = s->alpha[n];
    }
    return 0;
}

/* ---- Forward and backward ---- */

static double log_add(double a, double b)
{
    double larger = a > b ? a : b, smaller = a > b ? b : a;
    return smaller == -INFINITY ? larger : larger + log1p(exp(smaller - larger));
}

/* alpha(t, n): all ways to be in node n at frame t. */
static void forward(const trl__search *s, double *alpha)
{
    size_t nodes = (size_t)s->nodes;
    for (int32_t t = 0; t < s->end; t++)
        for (int32_t n = 0; n < s->nodes; n++) {
            double total = -INFINITY;
            for (int32_t a = s->arc_first[n]; trl__in_band(s, n, t) && a < s->arc_first[n + 1]; a++) {
                double before = -INFINITY;
                if (s->arc_from[a] == TRL__START)
                    before = t == 0 ? 0 : -INFINITY;
                else if (t > 0)
                    before = alpha[(size_t)(t - 1) * nodes + (size_t)s->arc_from[a]];
                total = log_add(total, before + (double)s->arc_weight[a]);
            }
            alpha[(size_t)t * nodes + (size_t)n] =
                total == -INFINITY ? total : total + (double)trl__node_score(s, n, t);
        }
}

/* beta(t, n): all ways from node n at frame t to the end. Every arc hands what lies behind it to the node it comes
 * from, and is counted. */
static void backward(const trl__search *s, const double *alpha, double *beta)
{
    size_t nodes = (size_t)s->nodes;
    for (size_t i = 0; i < (size_t)s->end * nodes; i++)
        beta[i] = -INFINITY;
    for (int32_t t = s->end; t >= 0; t--)
        for (int32_t n = t == s->end ? s->nodes : 0; n < s->nodes + (t == s->end); n++)
            for (int32_t a = s->arc_first[n]; a < s->arc_first[n + 1]; a++) {
                int32_t from = s->arc_from[a];
                double behind = (double)s->arc_weight[a];
                if (n < s->nodes)
                    behind = trl__in_band(s, n, t)
                                 ? behind + beta[(size_t)t * nodes + (size_t)n] + (double)trl__node_score(s, n, t)
                                 : -INFINITY;
                if ((from == TRL__START) != (t == 0) || behind == -INFINITY)
                    continue;
                size_t before = t > 0 ? (size_t)(t - 1) * nodes + (size_t)from : 0;
                if (t > 0)
                    beta[before] = log_add(beta[before], behind);
                if (s->arc_count)
                    s->arc_count[a] += exp((t > 0 ? alpha[before] : 0) + behind - s->total);
            }
}

typedef struct both_ways {
    size_t cells;
    double *alpha, *beta;
} both_ways;

static void lay_out(void *user, trl__pieces *pieces)
{
    both_ways *w = user;
    w->alpha = trl__take(pieces, w->cells, sizeof *w->alpha);
    w->beta = trl__take(pieces, w->cells, sizeof *w->beta);
}

static int forward_backward(trl__cpu_stream *stream, trl__search *s, trl_error *err)
{
    size_t nodes = (size_t)s->nodes, cells = nodes * (size_t)s->end;
    both_ways work = {.cells = cells};
    if (trl__scratch_lay_out(&stream->work, lay_out, &work) < 0)
        return trl__fail_memory(err);
    double *alpha = work.alpha, *beta = work.beta;
    forward(s, alpha);
    s->total = -INFINITY;
    for (int32_t a = s->arc_first[s->nodes]; a < s->arc_first[s->nodes + 1]; a++)
        if (s->arc_from[a] != TRL__START)
            s->total = log_add(s->total, alpha[cells - nodes + (size_t)s->arc_from[a]] + (double)s->arc_weight[a]);
    for (int32_t a = 0; s->arc_count && a < s->arc_first[s->nodes + 1]; a++)
        s->arc_count[a] = 0;
    if (s->total > -INFINITY)
        backward(s, alpha, beta);
    for (size_t n = 0; n < nodes; n++)
        for (int32_t t = s->node_first[n]; t < s->node_end_frame[n]; t++) {
            size_t cell = (size_t)t * nodes + n;
            s->gamma[s->gamma_offset[n] + (t - s->node_first[n])] =
                s->total > -INFINITY ? (float)exp(alpha[cell] + beta[cell] - s->total) : 0;
        }
    return 0;
}

/* ---- Statistics ---- */

/* One frame into a Gaussian's sums, `count` times. */
static int add_frame(trl__local_stats *local, int32_t gaussian, const float *frame, double count, trl_error *err)
{
    size_t dim = (size_t)local->dim;
    double *slot = trl__local_stats_slot(local, gaussian);
    if (!slot)
        return trl__fail_memory(err);
    slot[0] += count;
    for (size_t k = 0; k < dim; k++) {
        slot[1 + k] += count * (double)frame[k];
        slot[1 + dim + k] += count * (double)frame[k] * (double)frame[k];
    }
    return 0;
}

/* A frame to all components of a tied state, by their shares of *gamma. */
static int add_shares(trl__cpu_stream *stream, const trl__gmm_work *work, const float *gamma, trl__local_stats *local,
                      trl_error *err)
{
    int code = 0;
    stream->kernel->shares(work, gamma);
    for (int32_t c = 0; code == 0 && c < trl__components(work->m, work->tied); c++)
        if (work->scratch[c * TRL__TILE] > 0)
            code = add_frame(local, work->m->first_gaussian[work->tied] + c,
                             trl_matrix_row(work->placed->source, (size_t)work->first),
                             (double)work->scratch[c * TRL__TILE], err);
    return code;
}

static int accumulate(trl__cpu_stream *stream, const trl__mixtures *m, trl__placed *placed, const trl__kept *kept,
                      trl__search *s, trl__local_stats *local, trl_error *err)
{
    (void)kept;
    const float whole = 1;
    float *share = trl__cpu_scratch(stream, m);
    double total = 0;
    if (!share)
        return trl__fail_memory(err);
    for (int32_t t = s->begin; t < s->end; t++) {
        int32_t tied = s->node_tied[s->path[t]], component;
        float score;
        trl__gmm_work work = {.m = m, .placed = placed, .scratch = share, .tied = tied, .first = t, .end = t + 1};
        stream->kernel->best(&work, &(trl__gmm_best){&component, &score});
        int code = 0;
        if (trl__is_sampled(s, tied, t) && s->shares)
            code = add_shares(stream, &work, &whole, local, err);
        else if (trl__is_sampled(s, tied, t))
            code = add_frame(local, m->first_gaussian[tied] + component, trl_matrix_row(s->frames, (size_t)t), 1, err);
        if (code < 0)
            return code;
        total += (double)score;
    }
    trl__add_path(s, total, local);
    return 0;
}

static int accumulate_soft(trl__cpu_stream *stream, const trl__mixtures *m, const trl__kept *kept, trl__search *s,
                           trl__local_stats *local, trl_error *err)
{
    (void)kept;
    trl__placed placed = {.source = s->frames};
    trl__gmm_work work = {.m = m, .placed = &placed, .scratch = trl__cpu_scratch(stream, m)};
    int code = work.scratch ? 0 : trl__fail_memory(err);
    for (int32_t n = 0; n < s->nodes; n++)
        for (int32_t t = s->node_first[n]; code == 0 && t < s->node_end_frame[n]; t++) {
            work.tied = s->node_tied[n];
            work.first = t;
            work.end = t + 1;
            if (trl__is_sampled(s, work.tied, t))
                code = add_shares(stream, &work, &s->gamma[s->gamma_offset[n] + (t - s->node_first[n])], local, err);
        }
    if (code == 0)
        trl__add_arc_counts(s, local);
    return code;
}

const trl__cpu_steps trl__cpu_steps_ref = {viterbi, accumulate, forward_backward, accumulate_soft};
