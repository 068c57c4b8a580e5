/* The M-step ([000] eqs. 4 to 7): means, variances, weights and transitions from the sums. The rules for too little data
 * are in estimate.h. Cost: two passes over the statistics, shared by the threads.
 */
#include "model/estimate.h"
#include "model/topology.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PART 64 /* tied states: what a thread takes at a time */

trl__estimate_options trl__estimate_defaults(void)
{
    return (trl__estimate_options){
        .least_count = 3, .variance_floor = 0.01, .least_variance = 1e-5, .least_probability = 0.01};
}

static int check_options(const trl__estimate_options *o, trl_error *err)
{
    if (!(o->variance_prior >= 0 && isfinite(o->variance_prior)))
        return trl__fail(err, TRL_EINVAL, "the prior of variances is a number of frames, not %g", o->variance_prior);
    if (!(o->least_count >= 0 && o->variance_floor >= 0 && isfinite(o->variance_floor) && o->least_variance > 0 &&
          isfinite(o->least_variance) && o->least_probability > 0 && o->least_probability < 1))
        return trl__fail(
            err, TRL_EINVAL,
            "least count %g and variance floor %g must not be negative, least variance %g must be positive, "
            "least probability %g between 0 and 1",
            o->least_count, o->variance_floor, o->least_variance, o->least_probability);
    return 0;
}

/* ---- mixtures ---- */

/* PART tied states, done by one thread; which one does not matter. */
typedef struct part {
    double frames;
    trl__estimate_result result;
} part;

typedef struct estimate {
    const trl_model *model;
    const trl__stats *stats;
    const trl__estimate_options *options;
    trl__estimate_result *result;
    part *parts;
    double *sums;                            /* by part: sums and squares of all its frames */
    double *floor, *all_mean, *all_variance; /* by dimension; one block */
    int32_t *first_gaussian;
    float *log_weight, *mean, *variance; /* of the new mixtures */
} estimate;

static int32_t part_end(const estimate *e, size_t number)
{
    int32_t end = ((int32_t)number + 1) * PART;
    return end < e->model->tied_states ? end : e->model->tied_states;
}

/* Frames of a tied state, and of those of its components that have enough. */
static double count_frames(const estimate *e, int32_t tied, double *enough)
{
    double frames = 0;
    *enough = 0;
    for (int32_t g = e->model->first_gaussian[tied]; g < e->model->first_gaussian[tied + 1]; g++) {
        frames += e->stats->count[g];
        *enough += e->stats->count[g] >= e->options->least_count ? e->stats->count[g] : 0;
    }
    return frames;
}

static int has_enough(const estimate *e, int32_t g)
{
    return e->stats->count[g] >= e->options->least_count && e->stats->count[g] > 0;
}

/* How many components a tied state will have. */
static int32_t count_components(const estimate *e, int32_t tied)
{
    int32_t first = e->model->first_gaussian[tied], end = e->model->first_gaussian[tied + 1], count = 0;
    double enough, frames = count_frames(e, tied, &enough);
    if (frames == 0)
        return e->options->unseen_as_all ? 1 : end - first;
    for (int32_t g = first; enough > 0 && g < end; g++)
        count += has_enough(e, g);
    return enough > 0 ? count : 1;
}

/* The part's sums of everything, and how many components its states will have. */
static int measure_part(void *user, size_t number, int worker, trl_error *err)
{
    const estimate *e = user;
    const trl__stats *s = e->stats;
    int32_t first = (int32_t)number * PART, end = part_end(e, number);
    double *sum = e->sums + number * 2 * (size_t)s->dim, *square = sum + s->dim;
    (void)worker, (void)err;
    for (int64_t g = e->model->first_gaussian[first]; g < e->model->first_gaussian[end]; g++) {
        e->parts[number].frames += s->count[g];
        for (int32_t k = 0; k < s->dim; k++) {
            sum[k] += s->sum[g * s->dim + k];
            square[k] += s->square[g * s->dim + k];
        }
    }
    for (int32_t j = first; j < end; j++)
        e->first_gaussian[j + 1] = count_components(e, j);
    return 0;
}

/* Mean and variance of all frames, which the sums of all Gaussians give; the floor is a share of the variance. */
static void measure_all(const estimate *e, size_t parts)
{
    size_t dim = (size_t)e->stats->dim;
    double frames = 0;
    for (size_t i = 0; i < parts; i++)
        frames += e->parts[i].frames;
    for (size_t k = 0; k < dim; k++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < parts; i++) {
            sum += e->sums[2 * i * dim + k];
            square += e->sums[(2 * i + 1) * dim + k];
        }
        double mean = frames > 0 ? sum / frames : 0;
        e->all_mean[k] = mean;
        e->all_variance[k] = frames > 0 ? square / frames - mean * mean : 0;
        e->floor[k] = fmax(e->options->variance_floor * e->all_variance[k], e->options->least_variance);
    }
}

/* Component `from` of the old model becomes the next one of the new, as it was … */
static void put_old(const estimate *e, int32_t from, float log_weight, int32_t *next)
{
    size_t dim = (size_t)e->model->dim, to = (size_t)(*next)++ * dim;
    e->log_weight[*next - 1] = log_weight;
    memcpy(e->mean + to, e->model->mean + (size_t)from * dim, dim * sizeof *e->mean);
    memcpy(e->variance + to, e->model->variance + (size_t)from * dim, dim * sizeof *e->variance);
}

/* One Gaussian like all frames, for a state that has none. */
static void put_all(estimate *e, int32_t *next)
{
    size_t dim = (size_t)e->model->dim, to = (size_t)*next * dim;
    e->log_weight[(*next)++] = 0;
    for (size_t k = 0; k < dim; k++) {
        e->mean[to + k] = (float)e->all_mean[k];
        e->variance[to + k] = (float)fmax(e->all_variance[k], e->floor[k]);
    }
}

/* Variances within the components of a tied state that have enough frames, all taken together. */
static void find_within(const estimate *e, int32_t tied, double *within)
{
    size_t dim = (size_t)e->model->dim;
    double frames = 0;
    memset(within, 0, dim * sizeof *within);
    for (int32_t g = e->model->first_gaussian[tied]; g < e->model->first_gaussian[tied + 1]; g++) {
        const double *sum = e->stats->sum + (size_t)g * dim, *square = e->stats->square + (size_t)g * dim;
        if (!has_enough(e, g))
            continue;
        frames += e->stats->count[g];
        for (size_t k = 0; k < dim; k++)
            within[k] += square[k] - sum[k] * sum[k] / e->stats->count[g];
    }
    for (size_t k = 0; k < dim; k++)
        within[k] /= frames;
}

/* A component with new parameters. within: NULL, or variances to borrow. */
static int put_new(estimate *e, int32_t from, double weight, const double *within, int32_t tied, int32_t *next,
                   trl_error *err)
{
    int32_t dim = e->model->dim;
    const double *sum = e->stats->sum + (size_t)from * (size_t)dim,
                 *square = e->stats->square + (size_t)from * (size_t)dim, count = e->stats->count[from];
    float *mean = e->mean + (size_t)*next * (size_t)dim, *variance = e->variance + (size_t)*next * (size_t)dim;
    e->log_weight[(*next)++] = (float)log(weight);
    for (int32_t k = 0; k < dim; k++) {
        double m = sum[k] / count, v = square[k] / count - m * m;
        if (within)
            v += (within[k] - v) * e->options->variance_prior / (count + e->options->variance_prior);
        if (v < e->floor[k]) {
            v = e->floor[k];
            e->result->floored++;
        }
        mean[k] = (float)m;
        variance[k] = (float)v;
        if (!isfinite(mean[k]) || !isfinite(variance[k]) || variance[k] <= 0)
            return trl__fail(err, TRL_ENUMBER,
                             "tied state %" PRId32 ", component %" PRId32 ", dimension %" PRId32
                             ": mean %g and variance %g can't be used; look for extreme values in the features",
                             tied, from - e->model->first_gaussian[tied], k, m, v);
    }
    return 0;
}

/* No component has enough: the one with the most frames stays as it was. */
static void put_largest(const estimate *e, int32_t first, int32_t end, int32_t *next)
{
    int32_t best = first;
    for (int32_t g = first + 1; g < end; g++)
        if (e->stats->count[g] > e->stats->count[best])
            best = g;
    put_old(e, best, 0, next);
}

static int estimate_state(estimate *e, int32_t tied, double *within, trl_error *err)
{
    int32_t first = e->model->first_gaussian[tied], end = e->model->first_gaussian[tied + 1];
    int32_t next = e->first_gaussian[tied];
    double enough, frames = count_frames(e, tied, &enough);
    int code = 0, unseen = frames == 0 && e->options->unseen_as_all;
    int borrows = enough > 0 && e->options->variance_prior > 0;
    if (borrows)
        find_within(e, tied, within);
    for (int32_t g = first; code == 0 && !unseen && g < end; g++)
        if (frames == 0)
            put_old(e, g, e->model->log_weight[g], &next);
        else if (enough > 0 && has_enough(e, g))
            code = put_new(e, g, e->stats->count[g] / enough, borrows ? within : NULL, tied, &next, err);
    if (unseen)
        put_all(e, &next);
    if (frames > 0 && enough == 0)
        put_largest(e, first, end, &next);
    e->result->kept_states += enough == 0;
    e->result->dropped += end - first - (next - e->first_gaussian[tied]);
    return code;
}

static int estimate_part(void *user, size_t number, int worker, trl_error *err)
{
    estimate own = *(const estimate *)user;
    double *within = own.sums + number * 2 * (size_t)own.stats->dim; /* its sums have been used */
    int code = 0;
    (void)worker;
    own.result = &own.parts[number].result;
    for (int32_t j = (int32_t)number * PART; code == 0 && j < part_end(&own, number); j++)
        code = estimate_state(&own, j, within, err);
    return code;
}

static int make_room(const trl_model *model, estimate *e, size_t parts, trl_error *err)
{
    size_t states = (size_t)model->tied_states, gaussians = (size_t)trl_model_gaussians(model);
    size_t dim = (size_t)model->dim;
    e->parts = trl__alloc_zero(parts + 1, sizeof *e->parts);
    e->sums = trl__alloc_zero(parts * 2 * dim + 1, sizeof *e->sums);
    e->floor = trl__alloc(3 * dim, sizeof *e->floor);
    e->first_gaussian = trl__alloc_aligned(states + 1, sizeof *e->first_gaussian);
    e->log_weight = trl__alloc_aligned(gaussians, sizeof *e->log_weight);
    e->mean = trl__alloc_large(gaussians * dim, sizeof *e->mean);
    e->variance = trl__alloc_large(gaussians * dim, sizeof *e->variance);
    if (!e->parts || !e->sums || !e->floor || !e->first_gaussian || !e->log_weight || !e->mean || !e->variance)
        return trl__fail_memory(err);
    e->all_mean = e->floor + dim;
    e->all_variance = e->all_mean + dim;
    return 0;
}

static int estimate_mixtures(trl_model *model, estimate *e, trl_error *err)
{
    size_t parts = ((size_t)model->tied_states + PART - 1) / PART;
    int code = make_room(model, e, parts, err);
    if (code == 0)
        code = trl_pool_for(e->options->pool, parts, measure_part, e, err);
    if (code < 0)
        return code;
    measure_all(e, parts);
    e->first_gaussian[0] = 0;
    for (int32_t j = 0; j < model->tied_states; j++)
        e->first_gaussian[j + 1] += e->first_gaussian[j];
    code = trl_pool_for(e->options->pool, parts, estimate_part, e, err);
    for (size_t i = 0; i < parts; i++) {
        e->result->dropped += e->parts[i].result.dropped;
        e->result->kept_states += e->parts[i].result.kept_states;
        e->result->floored += e->parts[i].result.floored;
    }
    e->result->gaussians = e->first_gaussian[model->tied_states];
    return code;
}

/* ---- transitions ---- */

/* Relative frequencies, none below `least`; what the raised ones need, the others give in proportion. */
static void share_out(double *p, int32_t count, double least)
{
    least = fmin(least, 1.0 / count);
    for (int changed = 1; changed;) {
        double raised = 0, rest = 0;
        changed = 0;
        for (int32_t k = 0; k < count; k++)
            *(p[k] <= least ? &raised : &rest) += p[k] <= least ? least : p[k];
        for (int32_t k = 0; k < count; k++) {
            double value = p[k] <= least ? least : p[k] * (1 - raised) / rest;
            changed |= p[k] > least && value <= least;
            p[k] = value;
        }
    }
}

/* Uses of each arc, summed over the pool into the counts of its first triple. */
static void pool_counts(const trl_model *model, const trl__stats *stats, double *count)
{
    for (int32_t i = 0; i < model->triples; i++) {
        const trl__triple *t = &model->triple[i], *pool = &model->triple[t->pool];
        int32_t arcs = trl__arcs_of(trl__unit_topology(model, t->unit), t->state);
        for (int32_t k = 0; k < arcs; k++)
            count[pool->transition + k] += stats->transition[t->transition + k];
    }
}

static int estimate_transitions(trl_model *model, const estimate *e, trl_error *err)
{
    double *count = trl__alloc_zero((size_t)model->transitions + 1, sizeof *count);
    if (!count)
        return trl__fail_memory(err);
    pool_counts(model, e->stats, count);
    for (int32_t i = 0; i < model->triples; i++) {
        const trl__triple *t = &model->triple[i];
        int32_t arcs = trl__arcs_of(trl__unit_topology(model, t->unit), t->state);
        double total = 0, *p = count + t->transition;
        for (int32_t k = 0; t->pool == i && k < arcs; k++)
            total += p[k];
        for (int32_t k = 0; k < arcs; k++)
            p[k] = total > 0 ? p[k] / total : 0;
        if (total > 0)
            share_out(p, arcs, e->options->least_probability);
        e->result->kept_transitions += t->pool == i && total == 0;
    }
    for (int32_t i = 0; i < model->triples; i++) {
        const trl__triple *t = &model->triple[i], *pool = &model->triple[t->pool];
        int32_t arcs = trl__arcs_of(trl__unit_topology(model, t->unit), t->state);
        for (int32_t k = 0; k < arcs; k++)
            if (count[pool->transition + k] > 0)
                model->log_probability[t->transition + k] = (float)log(count[pool->transition + k]);
    }
    trl__free(count);
    return 0;
}

/* ---- both ---- */

static int check_shape(const trl_model *model, const trl__stats *stats, trl_error *err)
{
    if (stats->dim == model->dim && stats->gaussians == trl_model_gaussians(model) &&
        stats->transitions == model->transitions)
        return 0;
    return trl__fail(err, TRL_EINVAL,
                     "the statistics have %" PRId64 " Gaussians of %" PRId32 " dimensions and %" PRId32
                     " transitions, the model %" PRId64 ", %" PRId32 " and %" PRId32,
                     stats->gaussians, stats->dim, stats->transitions, trl_model_gaussians(model), model->dim,
                     model->transitions);
}

int trl__estimate(trl_model *model, const trl__stats *stats, const trl__estimate_options *options,
                  trl__estimate_result *result, trl_error *err)
{
    trl__estimate_result unused;
    estimate e = {.model = model, .stats = stats, .options = options, .result = result ? result : &unused};
    *e.result = (trl__estimate_result){0};
    int code = check_options(options, err);
    if (code == 0)
        code = check_shape(model, stats, err);
    if (code == 0)
        code = estimate_mixtures(model, &e, err);
    if (code == 0)
        code = estimate_transitions(model, &e, err);
    trl__free(e.parts);
    trl__free(e.sums);
    trl__free(e.floor);
    if (code == 0) {
        trl__model_set_mixtures(model, e.first_gaussian, e.log_weight, e.mean, e.variance);
        return 0;
    }
    trl__free(e.first_gaussian);
    trl__free(e.log_weight);
    trl__free(e.mean);
    trl__free(e.variance);
    return code;
}
