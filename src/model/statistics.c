/* Sums of frames by Gaussian, and uses of transitions: for a block of utterances (local), and for all (global).
 *
 * A local object costs memory for every Gaussian's number, but sums only for those that its block touched; emptying it
 * and adding it to the global sums costs what was touched.
 */
#include "model/statistics.h"
#include "base/fail.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

#define AHEAD 4 /* slots: what is fetched in advance */

/* ---- global ---- */

int trl__stats_create_shape(int32_t dim, int64_t gaussians, int32_t transitions, trl__stats **out, trl_error *err)
{
    *out = NULL;
    trl__stats *s = trl__alloc_zero(1, sizeof *s);
    if (!s)
        return trl__fail_memory(err);
    size_t count = (size_t)gaussians, numbers = count * (size_t)dim;
    s->dim = dim;
    s->gaussians = gaussians;
    s->transitions = transitions;
    s->count = trl__alloc_aligned(count, sizeof *s->count);
    s->sum = trl__alloc_large(numbers, sizeof *s->sum);
    s->square = trl__alloc_large(numbers, sizeof *s->square);
    s->transition = trl__alloc_aligned((size_t)transitions + 1, sizeof *s->transition);
    if (!s->count || !s->sum || !s->square || !s->transition) {
        trl__stats_destroy(s);
        return trl__fail_memory(err);
    }
    trl__stats_zero(s);
    *out = s;
    return 0;
}

int trl__stats_create(const trl_model *model, trl__stats **out, trl_error *err)
{
    return trl__stats_create_shape(model->dim, trl_model_gaussians(model), model->transitions, out, err);
}

void trl__stats_destroy(trl__stats *stats)
{
    if (!stats)
        return;
    trl__free(stats->count);
    trl__free(stats->sum);
    trl__free(stats->square);
    trl__free(stats->transition);
    trl__free(stats);
}

void trl__stats_zero(trl__stats *stats)
{
    size_t count = (size_t)stats->gaussians, numbers = count * (size_t)stats->dim;
    memset(stats->count, 0, count * sizeof *stats->count);
    memset(stats->sum, 0, numbers * sizeof *stats->sum);
    memset(stats->square, 0, numbers * sizeof *stats->square);
    memset(stats->transition, 0, ((size_t)stats->transitions + 1) * sizeof *stats->transition);
    stats->totals = (trl__totals){0};
}

static void add_array(double *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void add_totals(trl__totals *to, const trl__totals *from)
{
    to->frames += from->frames;
    to->log_likelihood += from->log_likelihood;
    to->joint += from->joint;
    to->utterances += from->utterances;
}

int trl__stats_add(trl__stats *stats, const trl__stats *other, trl_error *err)
{
    if (stats->dim != other->dim || stats->gaussians != other->gaussians || stats->transitions != other->transitions)
        return trl__fail(err, TRL_EINVAL,
                         "statistics of another model: %" PRId64 " Gaussians of %" PRId32 " dimensions and %" PRId32
                         " transitions, not %" PRId64 ", %" PRId32 " and %" PRId32,
                         other->gaussians, other->dim, other->transitions, stats->gaussians, stats->dim,
                         stats->transitions);
    size_t count = (size_t)stats->gaussians, numbers = count * (size_t)stats->dim;
    add_array(stats->count, other->count, count);
    add_array(stats->sum, other->sum, numbers);
    add_array(stats->square, other->square, numbers);
    add_array(stats->transition, other->transition, (size_t)stats->transitions + 1);
    add_totals(&stats->totals, &other->totals);
    return 0;
}

void trl__stats_occupancies(const trl__stats *stats, const trl_model *model, double *count)
{
    memset(count, 0, (size_t)model->tied_states * sizeof *count);
    for (int32_t id = 1; id <= model->transitions; id++)
        count[model->triple[model->transition_triple[id]].tied] += stats->transition[id];
}

int32_t trl__sample_shares(const double *count, int32_t tied_states, double most, float *sample)
{
    int32_t sampled = 0;
    for (int32_t j = 0; j < tied_states; j++) {
        sample[j] = count[j] > most ? (float)(most / count[j]) : 1;
        sampled += count[j] > most;
    }
    return sampled;
}

/* ---- local ---- */

static size_t slot_size(const trl__local_stats *local)
{
    return 1 + 2 * (size_t)local->dim;
}

int trl__local_stats_create(const trl_model *model, trl__local_stats **out, trl_error *err)
{
    *out = NULL;
    trl__local_stats *l = trl__alloc_zero(1, sizeof *l);
    if (!l)
        return trl__fail_memory(err);
    l->dim = model->dim;
    l->gaussians = trl_model_gaussians(model);
    l->transitions = model->transitions;
    l->slot_of = trl__alloc((size_t)l->gaussians, sizeof *l->slot_of);
    l->transition = trl__alloc_zero((size_t)l->transitions + 1, sizeof *l->transition);
    l->touched = trl__alloc((size_t)l->transitions + 1, sizeof *l->touched);
    if (!l->slot_of || !l->transition || !l->touched) {
        trl__local_stats_destroy(l);
        return trl__fail_memory(err);
    }
    for (int64_t g = 0; g < l->gaussians; g++)
        l->slot_of[g] = -1;
    *out = l;
    return 0;
}

void trl__local_stats_destroy(trl__local_stats *local)
{
    if (!local)
        return;
    trl__free(local->slot_of);
    trl__free(local->gaussian);
    trl__free(local->slots);
    trl__free(local->transition);
    trl__free(local->touched);
    trl__free(local);
}

void trl__local_stats_zero(trl__local_stats *local)
{
    for (size_t i = 0; i < local->slot_count; i++)
        local->slot_of[local->gaussian[i]] = -1;
    for (size_t i = 0; i < local->touched_count; i++)
        local->transition[local->touched[i]] = 0;
    local->slot_count = local->touched_count = 0;
    local->totals = (trl__totals){0};
}

/* Slots are visited without order: large pages make that cheaper. */
static int grow_slots(trl__local_stats *l, size_t needed)
{
    if (needed <= l->slot_capacity)
        return 0;
    size_t larger = 2 * needed;
    double *slots = trl__alloc_large(larger, sizeof *slots);
    if (!slots)
        return -1;
    if (l->slot_count > 0)
        memcpy(slots, l->slots, l->slot_count * slot_size(l) * sizeof *slots);
    trl__free(l->slots);
    l->slots = slots;
    l->slot_capacity = larger;
    return 0;
}

double *trl__local_stats_slot(trl__local_stats *local, int64_t gaussian)
{
    size_t size = slot_size(local);
    if (local->slot_of[gaussian] < 0) {
        size_t slot = local->slot_count;
        if (TRL_GROW(local->gaussian, local->gaussian_capacity, slot + 1) < 0 ||
            grow_slots(local, (slot + 1) * size) < 0)
            return NULL;
        memset(local->slots + slot * size, 0, size * sizeof *local->slots);
        local->gaussian[slot] = (int32_t)gaussian;
        local->slot_of[gaussian] = (int32_t)slot;
        local->slot_count++;
    }
    return local->slots + (size_t)local->slot_of[gaussian] * size;
}

void trl__local_stats_transition(trl__local_stats *local, int32_t id, double count)
{
    if (local->transition[id] == 0 && count != 0)
        local->touched[local->touched_count++] = id;
    local->transition[id] += count;
}

static void fetch(const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i += 8)
        __builtin_prefetch(numbers + i, 1, 2);
}

void trl__stats_merge(trl__stats *stats, const trl__local_stats *local)
{
    size_t dim = (size_t)stats->dim, size = slot_size(local);
    for (size_t i = 0; i < local->slot_count; i++) {
        if (i + AHEAD < local->slot_count) {
            size_t later = (size_t)local->gaussian[i + AHEAD];
            fetch(stats->count + later, 1);
            fetch(stats->sum + later * dim, dim);
            fetch(stats->square + later * dim, dim);
        }
        const double *slot = local->slots + i * size;
        size_t g = (size_t)local->gaussian[i];
        stats->count[g] += slot[0];
        add_array(stats->sum + g * dim, slot + 1, dim);
        add_array(stats->square + g * dim, slot + 1 + dim, dim);
    }
    for (size_t i = 0; i < local->touched_count; i++)
        stats->transition[local->touched[i]] += local->transition[local->touched[i]];
    add_totals(&stats->totals, &local->totals);
}
