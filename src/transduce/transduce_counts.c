/* Expected counts of a corpus: one number per arc and per final state. In files, a container of kind "counts", version
 * 1:
 *
 *     info      struct info below: which transducer, how many inputs, their weight
 *     arcs      u64 numbers of the arcs that have a count
 *     counts    double, as many
 *     finals    double by state
 */
#include "base/container.h"
#include "base/fail.h"
#include "base/memory.h"
#include "transduce/transducer_data.h"

#include <inttypes.h>
#include <math.h>

#define KIND "counts"
#define VERSION 1

struct trl_counts {
    uint64_t arcs, fingerprint;
    int32_t states;
    double *arc, *final; /* by arc, by state */
    double weight;
    uint64_t inputs, without;
};

typedef struct info {
    uint64_t arcs, states, fingerprint, inputs, without;
    double weight;
} info;

/* Of a transducer's shape, not its weights: counts of several rounds and parts belong to the same arcs. */
static uint64_t fingerprint(const trl_transducer *t)
{
    uint64_t hash = (uint64_t)t->states;
    for (uint32_t i = 0; i < t->symbols; i++) {
        const trl__symbol *s = &t->symbol[i];
        hash = (hash ^ (uint32_t)s->label) * 0x9E3779B97F4A7C15u;
        hash = (hash ^ hash >> 29 ^ s->arcs) * 0x9E3779B97F4A7C15u;
        hash = (hash ^ hash >> 31 ^ s->rows) * 0x9E3779B97F4A7C15u;
    }
    return hash;
}

int trl_counts_create(const trl_transducer *transducer, trl_counts **out, trl_error *err)
{
    *out = NULL;
    trl_counts *c = trl__alloc_zero(1, sizeof *c);
    if (!c)
        return trl__fail_memory(err);
    c->arcs = transducer->arcs;
    c->states = transducer->states;
    c->fingerprint = fingerprint(transducer);
    c->arc = trl__alloc_zero((size_t)c->arcs + 1, sizeof *c->arc);
    c->final = trl__alloc_zero((size_t)c->states + 1, sizeof *c->final);
    if (!c->arc || !c->final) {
        trl_counts_destroy(c);
        return trl__fail_memory(err);
    }
    *out = c;
    return 0;
}

void trl_counts_destroy(trl_counts *counts)
{
    if (!counts)
        return;
    trl__free(counts->arc);
    trl__free(counts->final);
    trl__free(counts);
}

void trl_counts_add(trl_counts *counts, const trl_transduction *result)
{
    if (!result->found) {
        counts->without++;
        return;
    }
    counts->inputs++;
    counts->weight += result->weight;
    for (size_t i = 0; i < result->arc_count; i++)
        counts->arc[result->arcs[i]] += result->counts[i];
    for (size_t i = 0; i < result->final_count; i++)
        counts->final[result->final_states[i]] += result->final_counts[i];
}

static int same_kind(const trl_counts *a, const trl_counts *b)
{
    return a->arcs == b->arcs && a->states == b->states && a->fingerprint == b->fingerprint;
}

int trl_counts_merge(trl_counts *into, const trl_counts *from, trl_error *err)
{
    if (!same_kind(into, from))
        return trl__fail(err, TRL_EINVAL, "counts of different transducers can't be added");
    for (uint64_t k = 0; k < into->arcs; k++)
        into->arc[k] += from->arc[k];
    for (int32_t q = 0; q < into->states; q++)
        into->final[q] += from->final[q];
    into->weight += from->weight;
    into->inputs += from->inputs;
    into->without += from->without;
    return 0;
}

double trl_counts_arc(const trl_counts *counts, uint64_t arc)
{
    return counts->arc[arc];
}

double trl_counts_final(const trl_counts *counts, int32_t state)
{
    return counts->final[state];
}

double trl_counts_weight(const trl_counts *counts)
{
    return counts->weight;
}

uint64_t trl_counts_inputs(const trl_counts *counts)
{
    return counts->inputs;
}

uint64_t trl_counts_without(const trl_counts *counts)
{
    return counts->without;
}

/* ---- In files ---- */

/* The arcs with a count, or their counts. */
static int write_nonzero(trl__container_writer *writer, const trl_counts *c, int values, trl_error *err)
{
    int code = trl__container_begin(writer, values ? "counts" : "arcs", 0, err);
    for (uint64_t k = 0; code == 0 && k < c->arcs; k++)
        if (c->arc[k] > 0)
            code = trl__container_write(writer, values ? (const void *)&c->arc[k] : (const void *)&k, sizeof k, err);
    return code;
}

int trl_counts_write(const trl_counts *c, const char *path, trl_error *err)
{
    trl__container_writer *writer;
    info head = {c->arcs, (uint64_t)c->states, c->fingerprint, c->inputs, c->without, c->weight};
    int code = trl__container_create(path, KIND, VERSION, &writer, err);
    if (code < 0)
        return code;
    code = trl__container_add(writer, "info", &head, sizeof head, err);
    if (code == 0)
        code = write_nonzero(writer, c, 0, err);
    if (code == 0)
        code = write_nonzero(writer, c, 1, err);
    if (code == 0)
        code = trl__container_add(writer, "finals", c->final, (size_t)c->states * sizeof *c->final, err);
    if (code == 0)
        return trl__container_commit(writer, err);
    trl__container_abort(writer);
    return code;
}

static int is_count(double value)
{
    return value >= 0 && value < INFINITY;
}

static int fill(const trl__container *container, trl_counts *c, trl_error *err)
{
    const void *head = NULL, *arcs = NULL, *values = NULL, *finals = NULL;
    size_t heads = 0, count = 0, value_count = 0, final_count = 0;
    int code = trl__container_array(container, "info", sizeof(info), &head, &heads, err);
    if (code == 0)
        code = trl__container_array(container, "arcs", sizeof(uint64_t), &arcs, &count, err);
    if (code == 0)
        code = trl__container_array(container, "counts", sizeof(double), &values, &value_count, err);
    if (code == 0)
        code = trl__container_array(container, "finals", sizeof(double), &finals, &final_count, err);
    if (code < 0)
        return code;
    const char *path = trl__container_path(container);
    const info *i = head;
    if (heads != 1 || value_count != count || !isfinite(i->weight))
        return trl__fail(err, TRL_ECORRUPT, "%s: sections do not belong together", path);
    if (i->arcs != c->arcs || i->states != (uint64_t)c->states || i->fingerprint != c->fingerprint)
        return trl__fail(err, TRL_EINVAL, "%s: counts of another transducer", path);
    if (final_count != (size_t)c->states)
        return trl__fail(err, TRL_ECORRUPT, "%s: sections do not belong together", path);
    for (size_t k = 0; k < count; k++) {
        uint64_t arc = ((const uint64_t *)arcs)[k];
        double value = ((const double *)values)[k];
        if (arc >= c->arcs || c->arc[arc] != 0 || !is_count(value))
            return trl__fail(err, TRL_ECORRUPT, "%s: entry %zu is no count of an arc", path, k);
        c->arc[arc] = value;
    }
    for (size_t q = 0; q < final_count; q++) {
        c->final[q] = ((const double *)finals)[q];
        if (!is_count(c->final[q]))
            return trl__fail(err, TRL_ECORRUPT, "%s: the count of final state %zu is none", path, q);
    }
    c->inputs = i->inputs;
    c->without = i->without;
    c->weight = i->weight;
    return 0;
}

int trl_counts_read(const char *path, const trl_transducer *transducer, trl_counts **out, trl_error *err)
{
    trl__container *container;
    *out = NULL;
    int code = trl__container_open(path, KIND, VERSION, &container, err);
    if (code < 0)
        return code;
    code = trl_counts_create(transducer, out, err);
    if (code == 0)
        code = fill(container, *out, err);
    if (code < 0) {
        trl_counts_destroy(*out);
        *out = NULL;
    }
    trl__container_close(container);
    return code;
}
