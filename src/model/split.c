/* Mixtures grow by splitting: the heaviest component becomes two with half its weight each, whose means go apart by
 * 0.2 standard deviations to either side. A component that is split again in the same call goes half as far each time,
 * so that no two come out equal.
 */
#include "model/estimate.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define DISTANCE 0.2 /* standard deviations */

typedef struct mixtures {
    int32_t *first_gaussian;
    float *log_weight, *mean, *variance;
    uint8_t *depth; /* by Gaussian: how often it was split in this call */
} mixtures;

static int32_t heaviest(const mixtures *to, int32_t first, int32_t end)
{
    int32_t best = first;
    for (int32_t g = first + 1; g < end; g++)
        if (to->log_weight[g] > to->log_weight[best])
            best = g;
    return best;
}

static void split_one(const mixtures *to, int32_t from, int32_t other, size_t dim)
{
    float *a = to->mean + (size_t)from * dim, *b = to->mean + (size_t)other * dim;
    const float *variance = to->variance + (size_t)from * dim;
    double distance = ldexp(DISTANCE, -to->depth[from]);
    to->depth[from] = to->depth[other] = (uint8_t)(to->depth[from] + 1);
    to->log_weight[from] = to->log_weight[other] = (float)((double)to->log_weight[from] - log(2));
    memcpy(to->variance + (size_t)other * dim, variance, dim * sizeof *variance);
    for (size_t k = 0; k < dim; k++) {
        double mean = (double)a[k], step = distance * sqrt((double)variance[k]);
        a[k] = (float)(mean + step);
        b[k] = (float)(mean - step);
    }
}

/* The state's old components, then as many splits as it takes. */
static void grow_state(const trl_model *model, int32_t tied, const mixtures *to)
{
    size_t dim = (size_t)model->dim, from = (size_t)model->first_gaussian[tied];
    int32_t first = to->first_gaussian[tied], count = trl_model_components(model, tied);
    memcpy(to->log_weight + first, model->log_weight + from, (size_t)count * sizeof *to->log_weight);
    memcpy(to->mean + (size_t)first * dim, model->mean + from * dim, (size_t)count * dim * sizeof *to->mean);
    memcpy(to->variance + (size_t)first * dim, model->variance + from * dim,
           (size_t)count * dim * sizeof *to->variance);
    for (int32_t next = first + count; next < to->first_gaussian[tied + 1]; next++)
        split_one(to, heaviest(to, first, next), next, dim);
}

/* Every tied state j to target[j] components, none fewer than it has. Takes over `target`. */
static int split_to(trl_model *model, int32_t *target, trl_error *err)
{
    mixtures to = {.first_gaussian = trl__alloc_aligned((size_t)model->tied_states + 1, sizeof *to.first_gaussian)};
    int64_t total = 0;
    for (int32_t j = 0; to.first_gaussian && j < model->tied_states; j++) {
        to.first_gaussian[j] = (int32_t)total;
        total += target[j];
        if (total > INT32_MAX) {
            trl__free(target);
            trl__free(to.first_gaussian);
            return trl__fail(err, TRL_ELIMIT, "more than %d Gaussians", INT32_MAX);
        }
    }
    trl__free(target);
    size_t gaussians = (size_t)total, numbers = gaussians * (size_t)model->dim;
    to.log_weight = trl__alloc_aligned(gaussians, sizeof *to.log_weight);
    to.mean = trl__alloc_aligned(numbers, sizeof *to.mean);
    to.variance = trl__alloc_aligned(numbers, sizeof *to.variance);
    to.depth = trl__alloc_zero(gaussians, sizeof *to.depth);
    if (!to.first_gaussian || !to.log_weight || !to.mean || !to.variance || !to.depth) {
        trl__free(to.first_gaussian);
        trl__free(to.log_weight);
        trl__free(to.mean);
        trl__free(to.variance);
        trl__free(to.depth);
        return trl__fail_memory(err);
    }
    to.first_gaussian[model->tied_states] = (int32_t)total;
    for (int32_t j = 0; j < model->tied_states; j++)
        grow_state(model, j, &to);
    trl__free(to.depth);
    trl__model_set_mixtures(model, to.first_gaussian, to.log_weight, to.mean, to.variance);
    return 0;
}

/* ---- how many ---- */

/* The most components that so many frames can carry, but no fewer than there are. */
static int64_t most_components(double count, double least_frames, int32_t now)
{
    double most = least_frames > 0 ? floor(count / least_frames) : INT32_MAX;
    return most >= INT32_MAX ? INT32_MAX : most <= now ? now : (int64_t)most;
}

int trl__split_to_components(trl_model *model, const double *count, int32_t components, double least_frames,
                             trl_error *err)
{
    int32_t *target = trl__alloc((size_t)model->tied_states, sizeof *target);
    if (!target)
        return trl__fail_memory(err);
    for (int32_t j = 0; j < model->tied_states; j++) {
        int32_t now = trl_model_components(model, j);
        int64_t most = most_components(count[j], least_frames, now);
        target[j] = components < now ? now : components < most ? components : (int32_t)most;
    }
    return split_to(model, target, err);
}

/* A tied state that may still grow; the one with the largest share per component gets the next. */
typedef struct candidate {
    double share; /* count ^ power */
    int64_t most;
    int32_t tied, components;
} candidate;

/* Does a come before b? By share / components, then by number. */
static int before(const candidate *a, const candidate *b)
{
    double left = a->share * b->components, right = b->share * a->components;
    return left != right ? left > right : a->tied < b->tied;
}

/* Lets heap[i] sink to its place: every parent comes before its two children. */
static void sink(candidate *heap, int32_t count, int32_t i)
{
    for (int32_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &heap[i]))
            return;
        candidate kept = heap[i];
        heap[i] = heap[child];
        heap[child] = kept;
    }
}

/* Hands out components one by one: O(components * log(states)). */
static void hand_out(candidate *heap, int32_t states, int64_t left, int32_t *target)
{
    for (int32_t i = states / 2; i-- > 0;)
        sink(heap, states, i);
    while (left > 0 && states > 0 && heap[0].share > 0) {
        if (heap[0].components < heap[0].most) {
            target[heap[0].tied] = ++heap[0].components;
            left--;
        } else {
            heap[0] = heap[--states];
        }
        sink(heap, states, 0);
    }
}

int trl__split_to_total(trl_model *model, const double *count, int64_t total, double power, double least_frames,
                        trl_error *err)
{
    int32_t states = model->tied_states;
    int32_t *target = trl__alloc((size_t)states, sizeof *target);
    candidate *heap = trl__alloc((size_t)states, sizeof *heap);
    if (!target || !heap) {
        trl__free(target);
        trl__free(heap);
        return trl__fail_memory(err);
    }
    for (int32_t j = 0; j < states; j++) {
        target[j] = trl_model_components(model, j);
        heap[j] = (candidate){.share = pow(count[j], power),
                              .most = most_components(count[j], least_frames, target[j]),
                              .tied = j,
                              .components = target[j]};
    }
    hand_out(heap, states, total - trl_model_gaussians(model), target);
    trl__free(heap);
    return split_to(model, target, err);
}

trl__varmix trl__varmix_defaults(void)
{
    return (trl__varmix){.alpha = 0.3, .beta = 2.2, .least_frames = 500, .most_frames = 256000};
}

int32_t trl__varmix_components(const trl__varmix *rule, double frames)
{
    double counted = fmax(fmin(frames, rule->most_frames), rule->least_frames);
    double components = rule->beta * pow(counted, rule->alpha);
    if (frames < rule->least_frames)
        components *= frames / rule->least_frames;
    return components >= INT32_MAX ? INT32_MAX : components >= 1 ? (int32_t)lround(components) : 1;
}

int trl__split_by_frames(trl_model *model, const double *count, const trl__varmix *rule, double share,
                         double least_frames, trl_error *err)
{
    int32_t *target = trl__alloc((size_t)model->tied_states, sizeof *target);
    if (!target)
        return trl__fail_memory(err);
    for (int32_t j = 0; j < model->tied_states; j++) {
        int32_t now = trl_model_components(model, j);
        double most = (double)most_components(count[j], least_frames, 1);
        double wanted = ceil(share * fmin(most, trl__varmix_components(rule, count[j])));
        target[j] = wanted > now ? (int32_t)wanted : now;
    }
    return split_to(model, target, err);
}
