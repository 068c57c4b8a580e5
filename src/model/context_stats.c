/* Sums per context: a table of keys, and beside it one row of numbers for each. See context_stats.h. */
#include "model/context_stats.h"
#include "model/model_data.h"
#include "model/sums.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int trl__context_stats_create(int32_t width, int32_t centre, int32_t dim, trl__context_stats **out, trl_error *err)
{
    *out = NULL;
    if (width < 1 || width > TRL__WIDEST_CONTEXT || centre < 0 || centre >= width)
        return trl__fail(err, TRL_EINVAL,
                         "a window of %" PRId32 " units with its centre at %" PRId32
                         "; it may have 1 to %d units, the centre among them",
                         width, centre, TRL__WIDEST_CONTEXT);
    if (dim < 1 || dim > TRL__DIM_MOST)
        return trl__fail(err, TRL_EINVAL, "frames have 1 to %d dimensions, not %" PRId32, TRL__DIM_MOST, dim);
    trl__context_stats *stats = trl__alloc_zero(1, sizeof *stats);
    if (!stats)
        return trl__fail_memory(err);
    *stats = (trl__context_stats){.width = width, .centre = centre, .dim = dim, .keys.width = (size_t)width + 1};
    *out = stats;
    return 0;
}

void trl__context_stats_destroy(trl__context_stats *stats)
{
    if (!stats)
        return;
    trl__tuples_free(&stats->keys);
    trl__free(stats->slots);
    trl__free(stats);
}

void trl__context_stats_zero(trl__context_stats *stats)
{
    stats->keys.count = 0;
    if (stats->keys.slot_count > 0)
        memset(stats->keys.slots, 0, stats->keys.slot_count * sizeof *stats->keys.slots);
}

/* Room is made before the key is added, so that there is never a key without its row. */
double *trl__context_stats_slot(trl__context_stats *stats, const int32_t *key)
{
    size_t size = trl__sums_size(stats->dim), before = stats->keys.count;
    if (TRL_GROW(stats->slots, stats->slot_capacity, (before + 1) * size) < 0)
        return NULL;
    int64_t number = trl__tuples_add(&stats->keys, key);
    if (number < 0)
        return NULL;
    double *slot = stats->slots + (size_t)number * size;
    if (stats->keys.count > before)
        memset(slot, 0, size * sizeof *slot);
    return slot;
}

void trl__context_stats_add(double *slot, int32_t dim, const float *frame)
{
    double *sum = slot + 1, *square = sum + dim;
    slot[0]++;
    for (int32_t k = 0; k < dim; k++) {
        double value = (double)frame[k];
        sum[k] += value;
        square[k] += value * value;
    }
}

int trl__context_stats_merge(trl__context_stats *stats, const trl__context_stats *other, trl_error *err)
{
    if (stats->width != other->width || stats->centre != other->centre || stats->dim != other->dim)
        return trl__fail(err, TRL_EINVAL,
                         "statistics of windows of %" PRId32 " units (centre %" PRId32 ") and %" PRId32
                         " dimensions can't be added to those of %" PRId32 " (%" PRId32 ") and %" PRId32,
                         other->width, other->centre, other->dim, stats->width, stats->centre, stats->dim);
    size_t size = trl__sums_size(stats->dim);
    for (size_t i = 0; i < other->keys.count; i++) {
        double *slot = trl__context_stats_slot(stats, trl__tuples_get(&other->keys, (int64_t)i));
        if (!slot)
            return trl__fail_memory(err);
        trl__sums_add(slot, other->slots + i * size, size);
    }
    return 0;
}

/* ---- checking ---- */

static int check_key(const trl__context_stats *stats, const int32_t *key, const trl_model *model, trl_error *err)
{
    int32_t unit = key[stats->centre], state = key[stats->width];
    for (int32_t p = 0; p < stats->width; p++)
        if (key[p] < (p == stats->centre ? 0 : TRL__NOTHING) || key[p] >= (int32_t)model->units.count)
            return trl__fail(err, TRL_EINVAL,
                             "the statistics have unit %" PRId32 " at position %" PRId32
                             " of a window, which the model "
                             "does not have",
                             key[p], p);
    return state >= 0 && state < trl__unit_topology(model, unit)->states
               ? 0
               : trl__fail(err, TRL_EINVAL,
                           "the statistics have state %" PRId32 " of unit %s, which the model does not have", state,
                           model->units.texts[unit]);
}

int trl__context_stats_check(const trl__context_stats *stats, const trl_model *model, trl_error *err)
{
    size_t size = trl__sums_size(stats->dim);
    for (size_t i = 0; i < stats->keys.count; i++) {
        const int32_t *key = trl__tuples_get(&stats->keys, (int64_t)i);
        const double *sums = stats->slots + i * size;
        int code = check_key(stats, key, model, err), finite = sums[0] >= 0;
        for (size_t k = 0; k < size; k++)
            finite = finite && isfinite(sums[k]);
        if (code == 0 && !finite)
            code = trl__fail(err, TRL_ENUMBER,
                             "the statistics of unit %s, state %" PRId32 ", have numbers that are not finite",
                             model->units.texts[key[stats->centre]], key[stats->width]);
        if (code < 0)
            return code;
    }
    return 0;
}
