/* A frame is linear in the static rows around it: derivatives, splicing and the transform are. Of a sound whose
 * static row s does not change, derivatives are 0 and neighbours are the same, so that the frame is B s + c. The row
 * whose frame is nearest to the mean m of silence, with differences counted in its deviations, solves (B' V B) s = B'
 * V (m - c), V being 1 / variance.
 *
 * The mean is that of the tied states of the units of silence; of inner states alone where there are some, since the
 * outer ones have frames of speech among theirs. */
#include "model/silence_mean.h"
#include "base/fail.h"
#include "base/lapack.h"
#include "base/memory.h"
#include "feat/frontend_tables.h"

#include <math.h>
#include <string.h>

typedef struct moments {
    double states;
    double *mean, *square; /* sums over states of first and second moments */
} moments;

static void add_gaussian(moments *m, double weight, const float *mean, const float *variance, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++) {
        double x = (double)mean[k];
        m->mean[k] += weight * x;
        m->square[k] += weight * (x * x + (double)variance[k]);
    }
}

static void add_own(moments *m, const trl_model *model, int32_t tied)
{
    size_t dim = (size_t)model->dim;
    for (int32_t g = model->first_gaussian[tied]; g < model->first_gaussian[tied + 1]; g++)
        add_gaussian(m, exp((double)model->log_weight[g]), model->mean + (size_t)g * dim,
                     model->variance + (size_t)g * dim, 0, dim);
}

static void add_shared(moments *m, const trl_model *model, int32_t tied)
{
    const trl__shared_mixtures *s = model->shared;
    size_t dim = (size_t)model->dim, from = 0, densities = (size_t)s->densities;
    for (int32_t stream = 0; stream < s->streams; stream++) {
        size_t to = from + (size_t)s->stream_dim[stream];
        const float *weights = s->log_weight + ((size_t)tied * (size_t)s->streams + (size_t)stream) * densities;
        double sum = 0;
        for (size_t d = 0; d < densities; d++)
            sum += exp((double)weights[d]);
        for (size_t d = 0; d < densities; d++) {
            size_t gaussian = ((size_t)s->codebook[tied] * densities + d) * dim;
            add_gaussian(m, exp((double)weights[d]) / sum, s->mean + gaussian, s->variance + gaussian, from, to);
        }
        from = to;
    }
}

static void add_silence(moments *m, const trl_model *model)
{
    for (int32_t i = 0; i < model->triples; i++) {
        const trl__triple *t = &model->triple[i];
        int32_t states = trl__unit_topology(model, t->unit)->states;
        if (model->unit_kind[t->unit] != TRL_UNIT_SILENCE || (states > 2 && (t->state == 0 || t->state == states - 1)))
            continue;
        if (model->shared)
            add_shared(m, model, t->tied);
        else
            add_own(m, model, t->tied);
        m->states++;
    }
}

/* How much coefficient i of every row adds to value k of the frame; i = statics: the constant. */
static double response(const trl_frontend_options *o, size_t statics, size_t k, size_t i)
{
    size_t width = statics * (1 + (size_t)o->deltas), places = 1 + (size_t)(o->splice_left + o->splice_right);
    if (o->transform.rows == 0)
        return i < statics && k % width == i;
    const float *row = trl_matrix_row(&o->transform, k);
    if (i == statics)
        return o->transform.cols > width * places ? (double)row[width * places] : 0;
    double sum = 0;
    for (size_t p = 0; p < places; p++)
        sum += (double)row[p * width + i];
    return sum;
}

/* The normal equations: an upper triangle, and the right side. */
static void make_equations(const trl_frontend_options *o, const moments *m, size_t dim, size_t n, double *triangle,
                           double *right)
{
    for (size_t k = 0; k < dim; k++) {
        double mean = m->mean[k] / m->states, variance = m->square[k] / m->states - mean * mean;
        double precision = 1 / fmax(variance, 1e-10), rest = mean - response(o, n, k, n), *to = triangle;
        for (size_t i = 0; i < n; i++) {
            double b = precision * response(o, n, k, i);
            right[i] += b * rest;
            for (size_t j = i; j < n; j++)
                *to++ += b * response(o, n, k, j);
        }
    }
}

int trl__silence_mean(const trl_model *model, trl_frontend_options *o, trl_error *err)
{
    size_t n = (size_t)trl__frontend_statics(o), dim = (size_t)model->dim;
    size_t width = n * (1 + (size_t)o->deltas) * (1 + (size_t)(o->splice_left + o->splice_right));
    if (n > TRL_MEAN_MOST ||
        (o->transform.rows > 0 ? o->transform.rows != dim || o->transform.cols < width : width != dim))
        return 0;
    double *memory = trl__alloc_zero(2 * dim + n + n * (n + 1) / 2, sizeof *memory);
    if (!memory)
        return trl__fail_memory(err);
    moments m = {.mean = memory, .square = memory + dim};
    double *right = m.square + dim, *triangle = right + n;
    trl_model first = trl__model_first_pass(model);
    add_silence(&m, &first);
    if (m.states > 0)
        make_equations(o, &m, dim, n, triangle, right);
    if (m.states > 0 && trl__cholesky_packed(triangle, n) == 0) {
        trl__cholesky_solve(triangle, n, right);
        o->silence_mean.count = (int)n;
        memcpy(o->silence_mean.value, right, n * sizeof *right);
    }
    trl__free(memory);
    return 0;
}
